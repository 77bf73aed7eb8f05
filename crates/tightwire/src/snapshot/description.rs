//! A snapshot protocol as data, for those who read snapshots without the program.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::header::SPAN;
use super::layout::parts;
use super::protocol::{Declared, MAX_CLASSES};
use super::{Level, SnapshotConfig, SnapshotProtocol, SnapshotProtocolError};
use crate::at;
use crate::schema::Schema;
use crate::stream::{Stream, Target, Wire};

/// A [`SnapshotProtocol`] as data: its configuration, and its classes with their names and
/// [schemas](Schema). It is in captures, so that tools read snapshots without the program.
///
/// It is [`Wire`](trait@crate::Wire), in the form that docs/WIRE.md gives. One that comes from outside may
/// ask for anything: [`SnapshotProtocol::from_description`] is where it is judged.
///
/// ```
/// use tightwire::{SnapshotConfig, SnapshotDescription, SnapshotProtocol, Wire};
///
/// #[derive(Wire, Default)]
/// struct Door {
///     open: bool,
/// }
///
/// let protocol = SnapshotProtocol::builder(SnapshotConfig::default()).class::<Door>().build()?;
/// let mut buffer = [0; 256];
/// let sent = tightwire::encode(&protocol.description(), &mut buffer)?;
///
/// let received: SnapshotDescription = tightwire::decode(sent)?;
/// assert_eq!(received.classes().next().unwrap().0, "Door");
/// let again = SnapshotProtocol::from_description(&received)?;
/// assert_eq!(again.fingerprint(), protocol.fingerprint());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SnapshotDescription {
    fingerprint: u64,
    level: Level,
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

impl SnapshotDescription {
    /// The [fingerprint](SnapshotProtocol::fingerprint) of the protocol that was described.
    ///
    /// ```
    /// use tightwire::{SnapshotConfig, SnapshotProtocol};
    ///
    /// let protocol = SnapshotProtocol::builder(SnapshotConfig::default()).build()?;
    /// assert_eq!(protocol.description().fingerprint(), protocol.fingerprint());
    /// # Ok::<(), tightwire::SnapshotProtocolError>(())
    /// ```
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// How the protocol was configured.
    ///
    /// ```
    /// use tightwire::{SnapshotConfig, SnapshotProtocol};
    ///
    /// let config = SnapshotConfig { history: 100, ..SnapshotConfig::default() };
    /// let protocol = SnapshotProtocol::builder(config).build()?;
    /// assert_eq!(protocol.description().config(), config);
    /// # Ok::<(), tightwire::SnapshotProtocolError>(())
    /// ```
    #[must_use]
    pub fn config(&self) -> SnapshotConfig {
        SnapshotConfig {
            level: self.level,
            ticks_per_second: self.ticks_per_second,
            max_objects: usize::try_from(self.max_objects).unwrap_or(usize::MAX),
            history: self.history,
        }
    }

    /// The classes in their order: what they are called, and the layout of their objects.
    ///
    /// ```
    /// use tightwire::{SnapshotConfig, SnapshotProtocol, schema};
    ///
    /// let protocol = SnapshotProtocol::builder(SnapshotConfig::default()).class::<u16>().build()?;
    /// let description = protocol.description();
    /// assert!(description.classes().eq([("u16", &schema::<u16>())]));
    /// # Ok::<(), tightwire::SnapshotProtocolError>(())
    /// ```
    pub fn classes(&self) -> impl ExactSizeIterator<Item = (&str, &Schema)> {
        self.classes.iter().map(|class| (&*class.name, &class.schema))
    }
}

impl SnapshotProtocol {
    /// The protocol as data.
    ///
    /// ```
    /// use tightwire::{SnapshotConfig, SnapshotProtocol};
    ///
    /// let protocol = SnapshotProtocol::builder(SnapshotConfig::default()).class::<u16>().build()?;
    /// assert_eq!(protocol.description().classes().len(), 1);
    /// # Ok::<(), tightwire::SnapshotProtocolError>(())
    /// ```
    #[must_use]
    pub fn description(&self) -> SnapshotDescription {
        let SnapshotConfig { level, ticks_per_second, history, max_objects } = *self.config();
        let classes = self.classes().iter().map(|class| {
            let mut name = class.declared.name.to_string();
            // Rust's own names of types have any length.
            while name.len() > MAX_NAME {
                name.pop();
            }
            ClassDescription { name, schema: class.declared.schema.clone() }
        });
        SnapshotDescription {
            fingerprint: self.fingerprint(),
            level,
            ticks_per_second,
            history,
            max_objects: max_objects as u64,
            classes: classes.collect(),
        }
    }

    /// The protocol that was described, as far as it makes sense here. Its classes are no Rust types:
    /// look at objects with [`SnapshotReceiver::get_dynamic`](crate::SnapshotReceiver::get_dynamic).
    ///
    /// A description from outside may ask for anything, so there is less room than in the program itself:
    /// its classes have 65536 fields, elements and parts of conditions in all, the longest condition has
    /// 128, and what is learned of a packet takes at most 2 MiB. Of many or large objects, a receiver
    /// takes no more than 8 million numbers at once, whatever `max_objects` says.
    ///
    /// ```
    /// use tightwire::{Leaving, SnapshotConfig, SnapshotProtocol, SnapshotReceiver, SnapshotSender, Wire};
    ///
    /// #[derive(Wire, Default)]
    /// struct Door {
    ///     open: bool,
    /// }
    ///
    /// let protocol = SnapshotProtocol::builder(SnapshotConfig::default()).class::<Door>().build()?;
    /// let mut sender = SnapshotSender::new(&protocol);
    /// let client = sender.add_receiver(Leaving::Despawn);
    /// sender.begin_tick(1);
    /// sender.set(7, &Door { open: true })?;
    /// let packet = sender.snapshot(client, 1000).unwrap();
    ///
    /// let elsewhere = SnapshotProtocol::from_description(&protocol.description())?;
    /// let mut receiver = SnapshotReceiver::new(&elsewhere);
    /// receiver.handle_snapshot(packet)?;
    /// assert_eq!(receiver.get_dynamic(7).unwrap().to_string(), "Door { open: true }");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SnapshotProtocolError`], as for a protocol of types;
    /// [`TooLarge`](SnapshotProtocolError::TooLarge) beyond the limits above, and
    /// [`Fingerprint`](SnapshotProtocolError::Fingerprint) if it becomes another protocol than the one
    /// that was described.
    pub fn from_description(
        description: &SnapshotDescription,
    ) -> Result<Self, SnapshotProtocolError> {
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
            return Err(SnapshotProtocolError::Fingerprint { described, here });
        }
        Ok(protocol)
    }
}

/// The parts of the largest class that came as data, if all of them together are not too many.
pub(super) fn largest_of<'a>(
    classes: impl Iterator<Item = (&'a str, &'a Schema)>,
) -> Result<u64, SnapshotProtocolError> {
    let (mut all, mut largest) = (0u64, 1);
    for (name, schema) in classes {
        let parts = parts(schema.root());
        (all, largest) = (all.saturating_add(parts), parts.max(largest));
        if all > MAX_PARTS {
            return Err(SnapshotProtocolError::TooLarge { class: name.to_string() });
        }
    }
    Ok(largest)
}

/// Whether a receiver has room for a copy of what is learned for each packet that it remembers.
pub(super) fn check_learned(protocol: &SnapshotProtocol) -> Result<(), SnapshotProtocolError> {
    if protocol.plan().pristine.size() > MAX_LEARNED / SPAN {
        let class = protocol.classes().last().map(|class| class.declared.name.to_string());
        return Err(SnapshotProtocolError::TooLarge { class: class.unwrap_or_default() });
    }
    Ok(())
}

/// As docs/WIRE.md says.
impl Wire for SnapshotDescription {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.object(at!(this.fingerprint))?;
        stream.object(at!(this.level))?;
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
        // It is shown to people, and a terminal obeys control characters.
        if this.name.chars().any(char::is_control) {
            return stream.refuse();
        }
        stream.object(at!(this.schema))
    }
}

/// The bytes of a class's name.
const MAX_NAME: usize = 255;

/// What the classes of a description may take to be made and used.
const MAX_PARTS: u64 = 1 << 16;

/// The numbers of all objects of a receiver.
const MAX_CELLS: u64 = 1 << 23;

/// The bytes of what a receiver learns, with all its copies.
const MAX_LEARNED: usize = 512 << 20;
