//! Errors of the snapshot layer.

use alloc::string::String;
use core::error::Error;
use core::fmt;

use tightwire_core::schema::{DynamicError, ObjectId};
use tightwire_core::stream::{ExplainedError, ReadError};

/// Reason why a [`Protocol`](crate::Protocol) cannot be built.
///
/// ```
/// use tightwire::snapshot;
///
/// let config = snapshot::Config { history: 8, ..snapshot::Config::default() };
/// let refused = snapshot::Protocol::builder(config).build().unwrap_err();
/// assert_eq!(refused.to_string(), "`history` is 8, but must be at least 64");
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A number of the configuration is too small.
    Config {
        /// Name of the setting.
        setting: &'static str,
        /// Value of the setting.
        value: usize,
        /// The least that it has to be.
        least: usize,
    },
    /// There are more than 1024 classes.
    TooManyClasses,
    /// A class was given twice.
    DuplicateClass {
        /// Name of its type.
        class: String,
    },
    /// A class cannot be replicated.
    Layout {
        /// Name of its type.
        class: String,
        /// The field, the reason, and the remedy.
        error: LayoutError,
    },
    /// A description from outside exceeds its limits: the classes up to this one have too many
    /// fields, lists or variants in all.
    TooLarge {
        /// Name of the class.
        class: String,
    },
    /// The protocol that is built from a description has another fingerprint: the description was
    /// changed, or is of another version of this library.
    Fingerprint {
        /// Fingerprint of the protocol that was described.
        described: u64,
        /// Fingerprint of the protocol that was built.
        here: u64,
    },
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config { setting, value, least } => {
                write!(f, "`{setting}` is {value}, but must be at least {least}")
            }
            Self::TooManyClasses => {
                f.write_str("more than 1024 classes: make some of them one enum")
            }
            Self::DuplicateClass { class } => {
                write!(f, "class `{class}` was added twice: remove one")
            }
            Self::Layout { class, error } => write!(f, "`{class}` cannot be replicated: {error}"),
            Self::TooLarge { class } => write!(
                f,
                "the described classes up to `{class}` need too much memory: give lists and text \
                 smaller bounds"
            ),
            Self::Fingerprint { described, here } => write!(
                f,
                "the description is of protocol {described:016x}, but builds protocol \
                 {here:016x}: it is damaged, or was made by another version of this library"
            ),
        }
    }
}

impl Error for ProtocolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Layout { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Reason why the values of a class cannot be replicated, and the field.
///
/// ```
/// use tightwire::{Wire, snapshot};
/// use tightwire::snapshot::ProtocolError;
///
/// #[derive(Wire, Default)]
/// struct Door {
///     #[wire(owner)]
///     is_open: bool,
///     #[wire(when = self.is_open)]
///     color: u8,
/// }
/// let builder = snapshot::Protocol::builder(snapshot::Config::default());
/// let refused = builder.class::<Door>().build().unwrap_err();
/// let ProtocolError::Layout { error, .. } = refused else { unreachable!() };
/// assert_eq!(error.path, "color");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayoutError {
    /// Path of the field, as `Player.inventory[3].count`.
    pub path: String,
    /// The reason, and the remedy.
    pub reason: String,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl Error for LayoutError {}

/// Reason why an object was not set.
///
/// ```
/// use tightwire::snapshot;
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u8>().build()?;
/// let refused = snapshot::Sender::new(&protocol).set(7, &300u16).unwrap_err();
/// assert!(refused.to_string().contains("add `.class::<u16>()` on both sides"));
/// # Ok::<(), tightwire::snapshot::ProtocolError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SetError {
    /// The type is no class of the protocol.
    NoClass {
        /// Name of the type.
        name: &'static str,
    },
    /// The cells are not those of a value of the class, or there is no such class.
    Row {
        /// Index of the class.
        class: u16,
    },
    /// The value cannot be written.
    Value {
        /// Name of the type.
        name: &'static str,
        /// The field, its value, and its range.
        error: ExplainedError,
    },
    /// The type writes other bits than its schema describes.
    Unreadable {
        /// Name of the type.
        name: &'static str,
        /// Bit at which the packet does not match the schema.
        error: ReadError,
    },
    /// The protocol has no class at this index.
    NoSuchClass {
        /// The index.
        class: u16,
    },
    /// A tree is no value of its class.
    Tree {
        /// The path in the tree, and the reason.
        error: DynamicError,
    },
    /// There is no such object to edit.
    NoSuchObject {
        /// The id.
        id: ObjectId,
    },
    /// The number of objects is at [`Config::max_objects`](crate::Config::max_objects).
    TooManyObjects,
    /// The tick is frozen: a snapshot of it was sent.
    TickFrozen,
    /// Initial objects have to be set before the first tick or snapshot.
    AlreadyStarted,
    /// The object of an id that [`Sender::spawn`](crate::Sender::spawn) gave out despawned a short
    /// time ago.
    IdInQuarantine {
        /// The id.
        id: ObjectId,
    },
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoClass { name } => write!(
                f,
                "`{name}` is no class of the protocol: add `.class::<{name}>()` on both sides"
            ),
            Self::Row { class } => write!(
                f,
                "the row is no value of class {class}: it needs as many cells as the class has \
                 columns, each at most `column_max`"
            ),
            Self::Value { name, error } => write!(f, "`{name}` was not set: {error}"),
            Self::Unreadable { name, error } => {
                write!(f, "`{name}` writes other bits than its schema describes: {error}")
            }
            Self::NoSuchClass { class } => {
                write!(f, "the protocol has no class with index {class}: indices start at 0")
            }
            Self::Tree { error } => write!(f, "the tree was not set: {error}"),
            Self::NoSuchObject { id } => {
                write!(f, "there is no object {id} to edit: set all of it first")
            }
            Self::TooManyObjects => f.write_str(
                "too many objects: raise `Config::max_objects`; a despawned object counts until \
                 every receiver has acked its despawn",
            ),
            Self::TickFrozen => f.write_str(
                "the tick is frozen, since a snapshot of it was sent: set and remove objects \
                 before the first snapshot of a tick",
            ),
            Self::IdInQuarantine { id } => write!(
                f,
                "object {id} despawned a short time ago: let `spawn` choose an id, or lower \
                 `set_id_quarantine`"
            ),
            Self::AlreadyStarted => f.write_str(
                "initial objects must be set before the first tick of a sender, and before the \
                 first snapshot of a receiver",
            ),
        }
    }
}

impl Error for SetError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Value { error, .. } => Some(error),
            Self::Unreadable { error, .. } => Some(error),
            Self::Tree { error } => Some(error),
            _ => None,
        }
    }
}

/// Reason why a snapshot was refused. The world is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The snapshot is older than the newest one, or the same: normal on a network that reorders or
    /// duplicates.
    Late,
    /// The baseline packet did not arrive here, or is no longer kept: baselines never go back.
    UnknownBaseline,
    /// The packet is cut short, too long, or has a value out of range.
    Malformed(ReadError),
    /// The snapshot is of another sender than those before, or of one that restarted: call
    /// [`resync`](crate::Receiver::resync), or make a new receiver.
    OtherSender {
        /// The [epoch](crate::Sender::with_epoch) of the snapshots before.
        here: u32,
        /// The epoch of this snapshot. If it is the same, the sender restarted without a new epoch.
        sent: u32,
    },
    /// The check does not match: the packet was damaged, its baseline is of another sender or of
    /// one that restarted, or the two sides are of different versions.
    Check {
        /// Byte at which the check begins.
        at: usize,
        /// The check in the packet.
        sent: u16,
        /// The check of the decoded packet and its baseline.
        computed: u16,
    },
    /// The snapshot has more objects than the protocol allows.
    TooManyObjects,
    /// The decoded cells of an object are no value of its class.
    Object(ObjectId),
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late => f.write_str("late: a newer snapshot was already received"),
            Self::UnknownBaseline => {
                f.write_str("the baseline of the snapshot was not received, or has expired")
            }
            Self::OtherSender { here, sent } if here == sent => write!(
                f,
                "the sender restarted with the same epoch {sent}: call \
                 `Receiver::resync`, and give each sender its own epoch"
            ),
            Self::OtherSender { here, sent } => write!(
                f,
                "the sender has epoch {sent}, but earlier snapshots had epoch {here}: call \
                 `Receiver::resync`, or create a new receiver"
            ),
            Self::Malformed(error) => write!(f, "malformed: {error}"),
            Self::Check { at, sent, computed } => write!(
                f,
                "the check at byte {at} is {sent:#06x}, but the contents have {computed:#06x}: \
                 the snapshot is damaged, or of another sender or version"
            ),
            Self::TooManyObjects => f.write_str(
                "more objects than `Config::max_objects` allows: raise it on both sides",
            ),
            Self::Object(id) => write!(f, "object {id} has a value that its class does not allow"),
        }
    }
}

impl Error for ReceiveError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            _ => None,
        }
    }
}
