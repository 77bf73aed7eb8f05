//! The classes of objects and the configuration that both sides share.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::{TypeId, type_name};

use xxhash_rust::xxh3::Xxh3;

use super::description::{check_learned, largest_of};
use super::layout::{Audience, Layout};
use super::modeled::Plan;
use super::packed::ClassPlan;
use super::scratch::with_scratch;
use super::{Config, ProtocolError, SetError};
use tightwire_core::schema::Schema;
use tightwire_core::stream::{Name, ReadError, Shape, Wire, decode_into, encode};

/// Version of the wire form of snapshots: changes with it.
const FORM: u8 = 7;

/// Largest number of classes: below the range of `u16`, and more than any game has.
pub(super) const MAX_CLASSES: usize = 1024;

/// The classes of objects that are replicated, and the configuration: built once, and given to
/// senders and receivers. A clone is the same protocol, and costs nothing.
///
/// ```
/// use tightwire::{snapshot, Wire};
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
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default())
///     .class::<Player>()
///     .class::<Door>()
///     .build()?;
/// # Ok::<(), tightwire::snapshot::ProtocolError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Protocol {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: Config,
    classes: Vec<ClassLayout>,
    /// Plan of all classes for the level `Modeled`.
    plan: Plan,
    fingerprint: u64,
}

#[derive(Debug)]
pub(super) struct ClassLayout {
    pub(super) declared: Declared,
    pub(super) layout: Layout,
    pub(super) plan: ClassPlan,
    /// Size of the longest packet of a value, in bytes.
    pub(super) max_bytes: usize,
    /// The audiences for which there are fields, besides all receivers.
    audiences: [Option<Audience>; 2],
}

/// Returns the audiences for which a layout has groups, besides all receivers.
fn audiences(layout: &Layout) -> [Option<Audience>; 2] {
    [Audience::Owner, Audience::Others].map(|it| layout.has_audience(it).then_some(it))
}

/// A class before its layout is built.
#[derive(Debug)]
pub(super) struct Declared {
    /// Name for people.
    pub(super) name: Name,
    /// `None` for a class that came as data.
    pub(super) type_id: Option<TypeId>,
    pub(super) schema: Schema,
}

/// Collects the classes of a [`Protocol`]. Both sides name the same ones in the same order.
#[derive(Debug)]
pub struct ProtocolBuilder {
    config: Config,
    /// The classes, with the names that errors use.
    classes: Vec<(String, Declared)>,
}

impl Protocol {
    /// Begins a protocol without classes.
    #[must_use]
    pub fn builder(config: Config) -> ProtocolBuilder {
        ProtocolBuilder { config, classes: Vec::new() }
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Returns the fingerprint, equal on both sides if they understand each other's snapshots. A
    /// session compares it: `SessionConfig::with_snapshots`.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.shared.fingerprint
    }

    /// Returns the name of the class at an index: the name of its type.
    ///
    /// ```
    /// use tightwire::{snapshot, Wire};
    ///
    /// #[derive(Wire, Default)]
    /// struct Door {
    ///     open: bool,
    /// }
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default())
    ///     .class::<Door>()
    ///     .class::<u16>()
    ///     .build()?;
    /// let names = [0, 1, 2].map(|class| protocol.class_name(class));
    /// assert_eq!(names, [Some("Door"), Some("u16"), None]);
    /// # Ok::<(), tightwire::snapshot::ProtocolError>(())
    /// ```
    #[must_use]
    pub fn class_name(&self, class: u16) -> Option<&str> {
        self.shared.classes.get(usize::from(class)).map(|class| &*class.declared.name)
    }

    /// Returns the schema of the class at an index.
    ///
    /// ```
    /// use tightwire::snapshot;
    /// use tightwire::schema::Schema;
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u16>().build()?;
    /// assert_eq!(protocol.class_schema(0), Some(&Schema::of::<u16>()));
    /// # Ok::<(), tightwire::snapshot::ProtocolError>(())
    /// ```
    #[must_use]
    pub fn class_schema(&self, class: u16) -> Option<&Schema> {
        self.shared.classes.get(usize::from(class)).map(|class| &class.declared.schema)
    }

    /// Whether a class has fields for this audience only.
    pub(super) fn has_audience(&self, class: u16, audience: Audience) -> bool {
        let class = self.shared.classes.get(usize::from(class));
        class.is_some_and(|class| class.audiences.contains(&Some(audience)))
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.shared.plan
    }

    pub(super) fn classes(&self) -> &[ClassLayout] {
        &self.shared.classes
    }

    /// Returns the index of a class in the protocol, as [`ObjectChange`](crate::ObjectChange) and
    /// `objects` have it.
    ///
    /// ```
    /// use tightwire::snapshot;
    ///
    /// let protocol =
    ///     snapshot::Protocol::builder(snapshot::Config::default()).class::<u16>().class::<bool>().build()?;
    /// assert_eq!((protocol.class_index::<bool>(), protocol.class_index::<u8>()), (Some(1), None));
    /// # Ok::<(), tightwire::snapshot::ProtocolError>(())
    /// ```
    #[must_use]
    pub fn class_index<T: 'static>(&self) -> Option<u16> {
        let is_t = |class: &ClassLayout| class.declared.type_id == Some(TypeId::of::<T>());
        self.shared.classes.iter().position(is_t).map(|class| class as u16)
    }

    /// Reads the cells of an object of a class into `value`; returns whether the class is that of
    /// `T`.
    pub(super) fn read_cells<T: Wire + 'static>(
        &self,
        class: u16,
        cells: &[u32],
        value: &mut T,
    ) -> Result<bool, ReadError> {
        if self.class_index::<T>() != Some(class) {
            return Ok(false);
        }
        let class = &self.classes()[usize::from(class)];
        with_scratch(class.max_bytes, |room| match class.layout.packet_of(cells, room) {
            Ok(packet) => decode_into(packet, value).map(|()| true),
            Err(_) => Ok(false),
        })
    }

    /// Quantises a value into cells; returns its class.
    pub(super) fn cells_of<T: Wire + 'static>(
        &self,
        value: &T,
        buffer: &mut Vec<u8>,
        cells: &mut Vec<u32>,
    ) -> Result<u16, SetError> {
        let name = type_name::<T>();
        let class = self.class_index::<T>().ok_or(SetError::NoClass { name })?;
        let layout = &self.classes()[usize::from(class)].layout;
        let most = T::MAX_BITS.div_ceil(8);
        let most = usize::try_from(most).unwrap_or(usize::MAX).next_multiple_of(8);
        if buffer.len() < most {
            buffer.resize(most, 0);
        }
        cells.resize(layout.columns.len(), 0);
        let packet = encode(value, buffer)
            .map_err(|error| SetError::Value { name, error: error.explain(value) })?;
        layout.cells_of(packet, cells).map_err(|error| SetError::Unreadable { name, error })?;
        Ok(class)
    }
}

#[cfg(test)]
impl Protocol {
    /// Creates a protocol of classes that have no types.
    pub(super) fn of_layouts(config: Config, layouts: Vec<Layout>) -> Self {
        let mut classes = Vec::<ClassLayout>::new();
        for layout in layouts {
            let plan = ClassPlan::new(&layout, classes.last().map(|class| &class.plan));
            let (name, schema) = ("test".into(), Schema::default());
            let declared = Declared { name, type_id: None, schema };
            let audiences = audiences(&layout);
            classes.push(ClassLayout { declared, layout, plan, max_bytes: 0, audiences });
        }
        let plan = Plan::new(classes.iter().map(|class| &class.layout));
        Self { shared: Arc::new(Shared { config, classes, plan, fingerprint: 0 }) }
    }
}

impl ProtocolBuilder {
    /// Adds a class: the objects that are a `T`.
    #[must_use]
    pub fn class<T: Wire + 'static>(mut self) -> Self {
        let schema = Schema::of::<T>();
        let name = match schema.root() {
            Shape::Struct { name, .. } | Shape::Enum { name, .. } => name.clone(),
            _ => type_name::<T>().into(),
        };
        let type_id = Some(TypeId::of::<T>());
        self.classes.push((type_name::<T>().into(), Declared { name, type_id, schema }));
        self
    }

    /// Adds a class without a Rust type: its objects are set with
    /// [`Sender::set_dynamic`](crate::Sender::set_dynamic). A class with the same schema as a type
    /// has the same snapshots.
    ///
    /// The schema may come from outside: the limits are those of [a
    /// description](Protocol::from_description).
    ///
    /// ```
    /// use tightwire::snapshot;
    /// use tightwire::schema::Schema;
    ///
    /// let builder = || snapshot::Protocol::builder(snapshot::Config::default());
    /// let by_schema = builder().class_of("count", Schema::of::<u16>()).build()?;
    /// let by_type = builder().class::<u16>().build()?;
    /// assert_eq!(by_schema.fingerprint(), by_type.fingerprint());
    /// assert_eq!(by_schema.class_name(0), Some("count"));
    /// # Ok::<(), tightwire::snapshot::ProtocolError>(())
    /// ```
    #[must_use]
    pub fn class_of(mut self, name: &str, schema: Schema) -> Self {
        let declared = Declared { name: name.into(), type_id: None, schema };
        self.classes.push((name.into(), declared));
        self
    }

    /// Builds the protocol.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`], with the class that cannot be replicated, and the reason.
    pub fn build(self) -> Result<Protocol, ProtocolError> {
        for (place, (name, class)) in self.classes.iter().enumerate() {
            let is_it = |(other, earlier): &(String, Declared)| match class.type_id {
                Some(_) => earlier.type_id == class.type_id,
                None => earlier.type_id.is_none() && other == name,
            };
            if self.classes[..place].iter().any(is_it) {
                return Err(ProtocolError::DuplicateClass { class: name.clone() });
            }
        }
        let is_data = |class: &&(String, Declared)| class.1.type_id.is_none();
        let data = self.classes.iter().filter(is_data);
        largest_of(data.clone().map(|(name, class)| (name.as_str(), &class.schema)))?;
        let has_data = data.count() > 0;
        let protocol = Protocol::assemble(self.config, self.classes.into_iter())?;
        if has_data {
            check_learned(&protocol)?;
        }
        Ok(protocol)
    }
}

impl Protocol {
    /// Builds a protocol of classes with the names that errors use.
    pub(super) fn assemble(
        config: Config,
        declared: impl ExactSizeIterator<Item = (String, Declared)>,
    ) -> Result<Self, ProtocolError> {
        let (history, rate) = (config.history as usize, config.ticks_per_second as usize);
        for (setting, value, least) in [
            ("history", history, 64),
            ("ticks_per_second", rate, 1),
            ("max_objects", config.max_objects, 1),
        ] {
            if value < least {
                return Err(ProtocolError::Config { setting, value, least });
            }
        }
        if declared.len() > MAX_CLASSES {
            return Err(ProtocolError::TooManyClasses);
        }
        let mut hash = Xxh3::new();
        hash.update(&[FORM]);
        hash.update(&config.ticks_per_second.to_le_bytes());
        let mut classes = Vec::<ClassLayout>::new();
        for (class, declared) in declared {
            let schema = &declared.schema;
            hash.update(&schema.fingerprint().to_le_bytes());
            let layout = match Layout::new(schema, config.ticks_per_second) {
                Ok(layout) => layout,
                Err(error) => return Err(ProtocolError::Layout { class, error }),
            };
            hash.update(&layout.fingerprint().to_le_bytes());
            let max_bytes = schema.max_bits().div_ceil(8) as usize;
            let plan = ClassPlan::new(&layout, classes.last().map(|class| &class.plan));
            let audiences = audiences(&layout);
            classes.push(ClassLayout { declared, layout, plan, max_bytes, audiences });
        }
        let plan = Plan::new(classes.iter().map(|class| &class.layout));
        let fingerprint = hash.digest();
        let shared = Shared { config, classes, plan, fingerprint };
        Ok(Self { shared: Arc::new(shared) })
    }
}
