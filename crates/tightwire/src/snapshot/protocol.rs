//! Which classes of objects there are.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::{TypeId, type_name};

use xxhash_rust::xxh3::Xxh3;

use super::layout::Layout;
use super::modeled::Plan;
use super::packed::ClassPlan;
use super::{Level, SetError, SnapshotConfig, SnapshotProtocolError};
use crate::schema::{Schema, schema};
use crate::stream::{Wire, encode};

/// Another number for each change of what snapshots look like.
const FORM: u8 = 1;

/// Fewer than a `u16` counts, and more than any game has.
const MAX_CLASSES: usize = 1024;

/// The classes of objects that are replicated, and how: made once, and given to whoever sends and
/// whoever receives. A clone is the same protocol, and costs nothing.
///
/// ```
/// use tightwire::{SnapshotConfig, SnapshotProtocol, Wire};
///
/// #[derive(Wire, Default)]
/// struct Player {
///     #[wire(spatial, min = -100.0, max = 100.0, resolution = 0.01)]
///     position: [f32; 3],
///     #[wire(range = 0..=100)]
///     health: u8,
/// }
///
/// #[derive(Wire, Default)]
/// struct Door {
///     open: bool,
/// }
///
/// let protocol = SnapshotProtocol::builder(SnapshotConfig::default())
///     .class::<Player>()
///     .class::<Door>()
///     .build()?;
/// # Ok::<(), tightwire::SnapshotProtocolError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SnapshotProtocol {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: SnapshotConfig,
    classes: Vec<ClassLayout>,
    /// Of all classes, for the level that learns.
    plan: Plan,
    fingerprint: u64,
}

#[derive(Debug)]
pub(super) struct ClassLayout {
    type_id: TypeId,
    pub(super) layout: Layout,
    pub(super) plan: ClassPlan,
    /// The bytes of the longest packet of a value.
    pub(super) max_bytes: usize,
    /// What its values look like to people.
    pub(super) schema: Schema,
}

/// Collects the classes of a [`SnapshotProtocol`]. Both sides name the same ones in the same order.
#[derive(Debug)]
pub struct SnapshotProtocolBuilder {
    config: SnapshotConfig,
    classes: Vec<(&'static str, TypeId, Schema)>,
}

impl SnapshotProtocol {
    /// Begins with no class.
    #[must_use]
    pub fn builder(config: SnapshotConfig) -> SnapshotProtocolBuilder {
        SnapshotProtocolBuilder { config, classes: Vec::new() }
    }

    /// What it was made with.
    #[must_use]
    pub fn config(&self) -> &SnapshotConfig {
        &self.shared.config
    }

    /// The same on both sides if they understand each other's snapshots: make it part of the version
    /// of a [`Protocol`](crate::Protocol) or a session.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.shared.fingerprint
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    pub(super) fn classes(&self) -> &[ClassLayout] {
        &self.shared.classes
    }

    pub(super) fn class_of<T: 'static>(&self) -> Option<u16> {
        let is_t = |class: &ClassLayout| class.type_id == TypeId::of::<T>();
        self.shared.classes.iter().position(is_t).map(|class| class as u16)
    }

    /// A value as cells; its class.
    pub(super) fn quantise<T: Wire + 'static>(
        &self,
        value: &mut T,
        buffer: &mut Vec<u8>,
        cells: &mut Vec<u32>,
    ) -> Result<u16, SetError> {
        let name = type_name::<T>();
        let class = self.class_of::<T>().ok_or(SetError::NoClass { name })?;
        let layout = &self.classes()[usize::from(class)].layout;
        let most = T::MAX_BITS.div_ceil(8);
        let most = usize::try_from(most).unwrap_or(usize::MAX).next_multiple_of(8);
        if buffer.len() < most {
            buffer.resize(most, 0);
        }
        cells.resize(layout.columns.len(), 0);
        let packet = encode(value, buffer).map_err(|error| SetError::Value { name, error })?;
        layout.cells_of(packet, cells).map_err(|error| SetError::Unreadable { name, error })?;
        Ok(class)
    }
}

#[cfg(test)]
impl SnapshotProtocol {
    /// Of classes that are no types.
    pub(super) fn of_layouts(config: SnapshotConfig, layouts: Vec<Layout>) -> Self {
        let mut classes = Vec::<ClassLayout>::new();
        for layout in layouts {
            let first_group = classes.last().map_or(0, |class| class.plan.next_group());
            let plan = ClassPlan::new(&layout, first_group);
            let (type_id, schema) = (TypeId::of::<()>(), Schema::default());
            classes.push(ClassLayout { type_id, layout, plan, max_bytes: 0, schema });
        }
        let plan = plan_of(&config, &classes);
        Self { shared: Arc::new(Shared { config, classes, plan, fingerprint: 0 }) }
    }
}

impl SnapshotProtocolBuilder {
    /// Adds a class: the objects that are a `T`.
    #[must_use]
    pub fn class<T: Wire + 'static>(mut self) -> Self {
        self.classes.push((type_name::<T>(), TypeId::of::<T>(), schema::<T>()));
        self
    }

    /// The protocol, if it makes sense.
    ///
    /// # Errors
    ///
    /// [`SnapshotProtocolError`], which says which class cannot be replicated, and why.
    pub fn build(self) -> Result<SnapshotProtocol, SnapshotProtocolError> {
        let config = self.config;
        if config.history < 64 || config.ticks_per_second == 0 || config.max_objects == 0 {
            return Err(SnapshotProtocolError::Config(config));
        }
        if self.classes.len() > MAX_CLASSES {
            return Err(SnapshotProtocolError::TooManyClasses);
        }
        let mut hash = Xxh3::new();
        let level = match config.level {
            Level::Packed => 0,
            Level::Modeled => 1,
        };
        hash.update(&[FORM, level]);
        hash.update(&config.ticks_per_second.to_le_bytes());
        let mut classes = Vec::<ClassLayout>::new();
        for (name, type_id, schema) in self.classes {
            if classes.iter().any(|class| class.type_id == type_id) {
                return Err(SnapshotProtocolError::Twice { class: name });
            }
            hash.update(&schema.fingerprint().to_le_bytes());
            let layout = Layout::new(&schema, config.ticks_per_second).map_err(|error| {
                SnapshotProtocolError::Layout { class: name, reason: error.to_string() }
            })?;
            hash.update(&layout.fingerprint().to_le_bytes());
            let max_bytes = schema.max_bits().div_ceil(8) as usize;
            let first_group = classes.last().map_or(0, |class| class.plan.next_group());
            let plan = ClassPlan::new(&layout, first_group);
            classes.push(ClassLayout { type_id, layout, plan, max_bytes, schema });
        }
        let (plan, fingerprint) = (plan_of(&config, &classes), hash.digest());
        let shared = Shared { config, classes, plan, fingerprint };
        Ok(SnapshotProtocol { shared: Arc::new(shared) })
    }
}

/// The level that learns nothing has no use for a plan, and for copies of what it would learn.
fn plan_of(config: &SnapshotConfig, classes: &[ClassLayout]) -> Plan {
    let classes = if config.level == Level::Modeled { classes } else { &[] };
    Plan::new(classes.iter().map(|class| &class.layout))
}
