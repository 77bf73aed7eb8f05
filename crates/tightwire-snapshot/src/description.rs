//! A snapshot protocol as data, for tools that read snapshots without the program.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::header::PACKET_WINDOW;
use super::layout::parts;
use super::protocol::{Declared, MAX_CLASSES};
use super::{Config, Level, Protocol, ProtocolError};
use tightwire_core::at;
use tightwire_core::schema::{Difference, DifferenceKind, Schema};
use tightwire_core::stream::{Stream, Target, Wire};

/// A [`Protocol`] as data: its configuration, and its classes with their names and
/// [schemas](Schema). Captures have it, so that tools read snapshots without the program.
///
/// It is [`Wire`](trait@tightwire_core::stream::Wire), in the form that docs/WIRE.md gives. A
/// description from outside may ask for anything: [`Protocol::from_description`] validates it.
///
/// ```
/// use tightwire::{snapshot, Wire};
///
/// #[derive(Wire, Default)]
/// struct Door {
///     open: bool,
/// }
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<Door>().build()?;
/// let mut buffer = [0; 256];
/// let sent = tightwire::encode(&protocol.description(), &mut buffer)?;
///
/// let received: snapshot::Description = tightwire::decode(sent)?;
/// assert_eq!(received.classes().next().unwrap().0, "Door");
/// let again = snapshot::Protocol::from_description(&received)?;
/// assert_eq!(again.fingerprint(), protocol.fingerprint());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Description {
    fingerprint: u64,
    /// New receivers may get snapshots at the level `Modeled`. Only informative: each packet has
    /// the level in its header.
    may_be_modeled: bool,
    ticks_per_second: u32,
    history: u32,
    max_objects: u64,
    classes: Vec<ClassDescription>,
}

#[derive(Clone, PartialEq, Debug, Default)]
struct ClassDescription {
    name: String,
    schema: Schema,
}

impl Description {
    /// Returns the [fingerprint](Protocol::fingerprint) of the described protocol.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns the configuration of the described protocol, as far as the description has it:
    /// [`level`](Config::level) is `Packed`, or `Auto` for both others, and
    /// [`snapshot_time`](Config::snapshot_time) the default.
    #[must_use]
    pub fn config(&self) -> Config {
        Config {
            level: if self.may_be_modeled { Level::Auto } else { Level::Packed },
            ticks_per_second: self.ticks_per_second,
            max_objects: usize::try_from(self.max_objects).unwrap_or(usize::MAX),
            history: self.history,
            ..Config::default()
        }
    }

    /// Iterates over the classes in their order: name and schema.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = (&str, &Schema)> {
        self.classes.iter().map(|class| (&*class.name, &class.schema))
    }

    /// Compares the protocol of this side with that of the other: settings first, then classes in
    /// their order, down to the field. Empty if both have the same
    /// [fingerprint](Self::fingerprint).
    ///
    /// ```
    /// use tightwire::snapshot;
    ///
    /// mod here {
    ///     #[derive(tightwire::Wire, Default)]
    ///     pub struct Door { #[wire(range = 0..=100)] pub angle: u8 }
    /// }
    /// mod there {
    ///     #[derive(tightwire::Wire, Default)]
    ///     pub struct Door { #[wire(range = 0..=200)] pub angle: u8 }
    /// }
    ///
    /// let builder = || snapshot::Protocol::builder(snapshot::Config::default());
    /// let here = builder().class::<here::Door>().build()?.description();
    /// let there = builder().class::<there::Door>().build()?.description();
    /// let line = "Door.angle: range 0..=100 (7 bits) here, 0..=200 (8 bits) there";
    /// assert_eq!(here.diff(&there)[0].to_string(), line);
    /// assert!(here.diff(&here).is_empty());
    /// # Ok::<(), tightwire::snapshot::ProtocolError>(())
    /// ```
    #[must_use]
    pub fn diff(&self, there: &Self) -> Vec<Difference> {
        let mut differences = Vec::new();
        if self.fingerprint == there.fingerprint {
            return differences;
        }
        let setting =
            |path, here, there| Difference::new(path, DifferenceKind::Setting, here, there);
        if self.ticks_per_second != there.ticks_per_second {
            let (here, other) = (self.ticks_per_second, there.ticks_per_second);
            differences.push(setting("ticks_per_second", here.to_string(), other.to_string()));
        }
        self.diff_classes(there, &mut differences);
        if !differences.iter().any(Difference::changes_bytes) {
            let hex = |fingerprint| format!("{fingerprint:016x}");
            let (here, other) = (hex(self.fingerprint), hex(there.fingerprint));
            differences.push(setting("form of snapshots", here, other));
        }
        differences
    }

    fn diff_classes(&self, there: &Self, differences: &mut Vec<Difference>) {
        let place = |place: usize| format!("class {place}");
        let find = |classes: &[ClassDescription], near: usize, name: &str| {
            let is_near = classes.get(near).is_some_and(|class| class.name == name);
            if is_near { Some(near) } else { classes.iter().position(|class| class.name == name) }
        };
        for (index, class) in self.classes.iter().enumerate() {
            let Some(other) = find(&there.classes, index, &class.name) else {
                differences.push(Difference::only_here(class.name.as_str(), place(index)));
                continue;
            };
            if other != index {
                let (name, kind) = (class.name.as_str(), DifferenceKind::Layout);
                differences.push(Difference::new(name, kind, place(index), place(other)));
            }
            let fields = class.schema.diff(&there.classes[other].schema);
            differences.extend(fields.iter().filter(|line| line.changes_bytes()).cloned());
        }
        for (index, class) in there.classes.iter().enumerate() {
            if find(&self.classes, index, &class.name).is_none() {
                differences.push(Difference::only_there(class.name.as_str(), place(index)));
            }
        }
    }
}

impl Protocol {
    /// Returns the protocol as data.
    #[must_use]
    pub fn description(&self) -> Description {
        let Config { level, ticks_per_second, history, max_objects, .. } = *self.config();
        let classes = self.classes().iter().map(|class| {
            let mut name = class.declared.name.to_string();
            // Rust's names of types have no limit.
            while name.len() > MAX_NAME {
                name.pop();
            }
            ClassDescription { name, schema: class.declared.schema.clone() }
        });
        Description {
            fingerprint: self.fingerprint(),
            may_be_modeled: level != Level::Packed,
            ticks_per_second,
            history,
            max_objects: max_objects as u64,
            classes: classes.collect(),
        }
    }

    /// Creates the described protocol, within limits. Its classes have no Rust types: read objects
    /// with [`Receiver::get_dynamic`](crate::Receiver::get_dynamic).
    ///
    /// A description from outside may ask for anything, so its limits are lower than the program's
    /// own: at most 65536 fields, elements and parts of conditions in all classes together, 128
    /// parts in the longest condition, and 2 MiB of learned state per packet. With many or large
    /// objects, a receiver takes no more than 8 million cells at once, whatever `max_objects` says.
    ///
    /// ```
    /// use tightwire::{snapshot, Wire};
    /// use tightwire::snapshot::Leaving;
    ///
    /// #[derive(Wire, Default)]
    /// struct Door {
    ///     open: bool,
    /// }
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<Door>().build()?;
    /// let mut sender = snapshot::Sender::new(&protocol);
    /// let client = sender.add_receiver(Leaving::Despawn);
    /// sender.begin_tick(1);
    /// sender.set(7, &Door { open: true })?;
    /// let packet = sender.snapshot(client, 1000).unwrap();
    ///
    /// let elsewhere = snapshot::Protocol::from_description(&protocol.description())?;
    /// let mut receiver = snapshot::Receiver::new(&elsewhere);
    /// receiver.handle_snapshot(packet)?;
    /// assert_eq!(receiver.get_dynamic(7).unwrap().to_string(), "Door { open: true }");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ProtocolError`], as for a protocol of types; [`TooLarge`](ProtocolError::TooLarge) beyond
    /// the limits above, and [`Fingerprint`](ProtocolError::Fingerprint) if the result differs from
    /// the protocol that was described.
    pub fn from_description(description: &Description) -> Result<Self, ProtocolError> {
        let largest = largest_of(description.classes())?;
        let mut config = description.config();
        config.max_objects = config.max_objects.min((MAX_CELLS / largest) as usize);
        let classes = description.classes.iter().map(|class| {
            let (name, schema) = (class.name.as_str().into(), class.schema.clone());
            (class.name.clone(), Declared { name, type_id: None, schema })
        });
        let protocol = Self::assemble(config, classes)?;
        check_learned(&protocol)?;
        let (described, here) = (description.fingerprint, protocol.fingerprint());
        if described != here {
            return Err(ProtocolError::Fingerprint { described, here });
        }
        Ok(protocol)
    }
}

/// Returns the number of parts of the largest class, or an error if all classes together have too
/// many.
pub(super) fn largest_of<'a>(
    classes: impl Iterator<Item = (&'a str, &'a Schema)>,
) -> Result<u64, ProtocolError> {
    let (mut all, mut largest) = (0u64, 1);
    for (name, schema) in classes {
        let parts = parts(schema.root());
        (all, largest) = (all.saturating_add(parts), parts.max(largest));
        if all > MAX_PARTS {
            return Err(ProtocolError::TooLarge { class: name.to_string() });
        }
    }
    Ok(largest)
}

/// Refuses a protocol whose learned state is too large to keep a copy for each remembered packet.
pub(super) fn check_learned(protocol: &Protocol) -> Result<(), ProtocolError> {
    if protocol.plan().pristine.size() > MAX_LEARNED / PACKET_WINDOW {
        let class = protocol.classes().last().map(|class| class.declared.name.to_string());
        return Err(ProtocolError::TooLarge { class: class.unwrap_or_default() });
    }
    Ok(())
}

/// The form of docs/WIRE.md.
impl Wire for Description {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.object(at!(this.fingerprint))?;
        stream.bool(at!(this.may_be_modeled))?;
        stream.object(at!(this.ticks_per_second))?;
        stream.object(at!(this.history))?;
        stream.varint(at!(this.max_objects))?;
        stream.array(at!(this.classes), MAX_CLASSES, Wire::serialize)
    }
}

impl Wire for ClassDescription {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.string(at!(this.name), MAX_NAME)?;
        // The name is shown to people, and a terminal obeys control characters.
        if this.name.chars().any(char::is_control) {
            return stream.refuse();
        }
        stream.object(at!(this.schema))
    }
}

/// Largest size of a class's name, in bytes.
const MAX_NAME: usize = 255;

/// Largest number of parts of all classes of a description: bounds the work to build and use them.
const MAX_PARTS: u64 = 1 << 16;

/// Largest number of cells of all objects of a receiver.
const MAX_CELLS: u64 = 1 << 23;

/// Largest size of a receiver's learned state, with all its copies, in bytes.
const MAX_LEARNED: usize = 512 << 20;
