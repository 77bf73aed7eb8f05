//! What can go wrong with snapshots.

use alloc::string::String;
use core::error::Error;
use core::fmt;

use super::Config;
use tightwire_core::schema::{DynamicError, ObjectId};
use tightwire_core::stream::{ExplainedError, ReadError};

/// Why there is no [`Protocol`](crate::Protocol).
///
/// ```
/// use tightwire::snapshot;
///
/// let config = snapshot::Config { history: 8, ..snapshot::Config::default() };
/// let refused = snapshot::Protocol::builder(config).build().unwrap_err();
/// assert!(refused.to_string().contains("`history` must be at least 64"));
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The history is too short, or another number is zero.
    Config(Config),
    /// There are more than 1024 classes.
    TooManyClasses,
    /// A class was given twice.
    Twice {
        /// The name of its type.
        class: String,
    },
    /// A class cannot be replicated.
    Layout {
        /// The name of its type.
        class: String,
        /// The field, why not, and what to do.
        reason: String,
    },
    /// A description asks for more than a file from outside gets: its classes have too many fields,
    /// lists or variants in all, up to this one.
    TooLarge {
        /// The name of the class.
        class: String,
    },
    /// A description does not become the protocol that was described: it was changed, or is of another
    /// version of this library.
    Fingerprint {
        /// Of the protocol that was described.
        described: u64,
        /// Of what became of it here.
        here: u64,
    },
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(config) => write!(
                f,
                "{config:?}: `history` must be at least 64, and the other numbers above zero"
            ),
            Self::TooManyClasses => {
                f.write_str("more than 1024 classes: make some of them one enum")
            }
            Self::Twice { class } => write!(f, "`{class}` is a class twice: leave one out"),
            Self::Layout { class, reason } => write!(f, "`{class}` cannot be replicated: {reason}"),
            Self::TooLarge { class } => write!(
                f,
                "classes from outside ask for too much memory, up to `{class}`: give lists and text \
                 smaller bounds"
            ),
            Self::Fingerprint { described, here } => write!(
                f,
                "the description is of a protocol {described:016x}, and makes {here:016x} here: it was \
                 damaged, or made by another version of this library"
            ),
        }
    }
}

impl Error for ProtocolError {}

/// Why an object was not set.
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
        /// The name of the type.
        name: &'static str,
    },
    /// The value cannot be written.
    Value {
        /// The name of the type.
        name: &'static str,
        /// The field, its value, and the values that are allowed.
        error: ExplainedError,
    },
    /// The type does not write what it describes.
    Unreadable {
        /// The name of the type.
        name: &'static str,
        /// Where its description does not fit.
        error: ReadError,
    },
    /// The protocol has no class at this place.
    NoSuchClass {
        /// The place.
        class: u16,
    },
    /// A tree is no value of its class.
    Tree {
        /// Where, and why not.
        error: DynamicError,
    },
    /// There are as many objects as the protocol allows.
    TooManyObjects,
    /// A receiver has its snapshot of this tick already, in which this is not.
    TickIsSent,
    /// What is known from the beginning has to be set before it.
    HasBegun,
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoClass { name } => write!(
                f,
                "`{name}` is no class of the protocol: add `.class::<{name}>()` on both sides"
            ),
            Self::Value { name, error } => write!(f, "a `{name}` that cannot be written: {error}"),
            Self::Unreadable { name, error } => {
                write!(f, "`{name}` does not write what it describes: {error}")
            }
            Self::NoSuchClass { class } => {
                write!(f, "the protocol has no class {class}: they are counted from 0")
            }
            Self::Tree { error } => write!(f, "a tree that cannot be written: {error}"),
            Self::TooManyObjects => f.write_str(
                "too many objects: raise `Config::max_objects`; those that are gone count \
                 until every receiver knows",
            ),
            Self::TickIsSent => f.write_str(
                "the tick is sent: set and remove objects before its first snapshot, or begin the next",
            ),
            Self::HasBegun => f.write_str(
                "initial objects are set before the first tick of a sender and the first snapshot of a \
                 receiver",
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

/// Why a snapshot was refused. The world is as it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReceiveError {
    /// It is older than the newest one, or the same: an honest network does that.
    Late,
    /// It is relative to a snapshot that is not here, or no longer: bases do not go back.
    UnknownBase,
    /// It is cut short, has too much, or says what cannot be.
    Malformed(ReadError),
    /// It is of another sender than the snapshots before, or of one that began anew: call
    /// [`resync`](crate::Receiver::resync), or make a new receiver.
    OtherSender {
        /// The [epoch](crate::Sender::with_epoch) of the snapshots before.
        here: u32,
        /// That of this one. If it is the same, the sender began anew without another.
        sent: u32,
    },
    /// It says something else than its sender meant, or is relative to others than those that are here: it was
    /// damaged, its sender is another one or began anew, or the two sides are not of the same version.
    Check {
        /// The byte where the check begins.
        at: usize,
        /// The check that is there.
        sent: u16,
        /// The check of what the snapshot says.
        computed: u16,
    },
    /// It is about more objects than the protocol allows.
    TooManyObjects,
    /// What it says of an object is no value of its class.
    Object(ObjectId),
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late => f.write_str("late: a newer snapshot is here already"),
            Self::UnknownBase => f.write_str("relative to a snapshot that is not here"),
            Self::OtherSender { here, sent } if here == sent => write!(
                f,
                "the sender began anew, with the epoch {sent} that it had before: call \
                 `Receiver::resync`, and give each sender an epoch of its own"
            ),
            Self::OtherSender { here, sent } => write!(
                f,
                "of a sender of epoch {sent}, and the snapshots before were of epoch {here}: call \
                 `Receiver::resync`, or make a new receiver"
            ),
            Self::Malformed(error) => write!(f, "malformed: {error}"),
            Self::Check { at, sent, computed } => write!(
                f,
                "the check at byte {at} is {sent:#06x}, and what it says has {computed:#06x}: the \
                 snapshot is damaged, or the sender is of another version, or not the one of the \
                 snapshots before"
            ),
            Self::TooManyObjects => f.write_str("more objects than `Config::max_objects` allows"),
            Self::Object(id) => write!(f, "object {id}: no value of its class"),
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
