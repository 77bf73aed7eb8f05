//! Classes of a scene: its types, optionally without some hints, to measure the worth of a hint.

use std::error::Error;
use std::mem::take;

use clap::ValueEnum;
use tightwire::schema::Schema;
use tightwire::stream::{Hints, Shape};
use tightwire::{Wire, decode, encode, snapshot};

/// The classes of a protocol.
pub(super) enum Classes {
    /// Classes with all hints of their types.
    Whole(snapshot::Protocol),
    /// Classes with hints left out. No type has such a schema, so objects are set and read as
    /// trees.
    Bare(snapshot::Protocol),
}

/// Hints of a field for snapshots, named as their attributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Hint {
    Reference,
    Spatial,
    DerivativeOf,
    Wraps,
    Rotation,
}

impl Classes {
    /// Makes the classes of a protocol, without some of their types' hints.
    pub(super) fn new(whole: snapshot::Protocol, without: &[Hint]) -> Result<Self, Box<dyn Error>> {
        if without.is_empty() {
            return Ok(Self::Whole(whole));
        }
        let class = |class| Some((whole.class_name(class)?, whole.class_schema(class)?));
        let classes = (0..).map_while(class).map(|(name, schema)| (name, schema.root().clone()));
        let classes: Vec<_> = classes.collect();
        let mut there = Hint::value_variants().to_vec();
        there.retain(|hint| classes.clone().iter_mut().any(|(_, root)| hint.take_from(root)));
        if let Some(hint) = without.iter().find(|hint| !there.contains(hint)) {
            let there: Vec<_> = there.iter().map(Hint::name).collect();
            let (name, there) = (hint.name(), there.join(", "));
            return Err(format!("this scene has no hint {name}: it has {there}").into());
        }
        let mut builder = snapshot::Protocol::builder(*whole.config());
        for (name, mut root) in classes {
            for hint in without {
                hint.take_from(&mut root);
            }
            builder = builder.class_of(name, Schema::new(root)?);
        }
        Ok(Self::Bare(builder.build()?))
    }

    pub(super) fn protocol(&self) -> &snapshot::Protocol {
        match self {
            Self::Whole(protocol) | Self::Bare(protocol) => protocol,
        }
    }

    /// Sets an object of the class with this number.
    pub(super) fn set<T: Wire + 'static>(
        &self,
        sender: &mut snapshot::Sender,
        id: u32,
        class: u16,
        value: &mut T,
    ) -> Result<(), Box<dyn Error>> {
        let Some(schema) = self.bare_schema(class) else { return Ok(sender.set(id, value)?) };
        let tree = schema.decode(encode(value, &mut [0; LONGEST])?)?;
        Ok(sender.set_dynamic(id, class, &tree)?)
    }

    /// Returns an object of the receiver's world.
    pub(super) fn get<T: Wire + Default + 'static>(
        &self,
        receiver: &mut snapshot::Receiver,
        id: u32,
        class: u16,
    ) -> Option<T> {
        let Some(schema) = self.bare_schema(class) else { return receiver.get(id) };
        let tree = receiver.get_dynamic(id)?;
        decode(schema.encode(&tree, &mut [0; LONGEST]).ok()?).ok()
    }

    fn bare_schema(&self, class: u16) -> Option<&Schema> {
        match self {
            Self::Whole(_) => None,
            Self::Bare(protocol) => protocol.class_schema(class),
        }
    }
}

impl Hint {
    pub(super) fn name(&self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Removes the hint from a class, and returns whether the class had it. Only top-level fields
    /// of these classes have hints.
    fn take_from(self, class: &mut Shape) -> bool {
        let Shape::Struct { fields, .. } = class else { return false };
        let totals = fields.iter_mut().map(|field| self.take(&mut field.hints));
        totals.filter(|was_there| *was_there).count() > 0
    }

    fn take(self, hints: &mut Hints) -> bool {
        match self {
            Self::Reference => take(&mut hints.reference),
            Self::Spatial => take(&mut hints.spatial),
            Self::DerivativeOf => hints.derivative_of.take().is_some(),
            Self::Wraps => take(&mut hints.wraps),
            Self::Rotation => take(&mut hints.rotation),
        }
    }
}

/// Maximum length of an object in a scene, in bytes.
const LONGEST: usize = 64;
