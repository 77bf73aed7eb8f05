//! Reasons why a datagram is not read, or not written.

use core::fmt;

use crate::stream::{ErrorKind, ExplainedError, ReadError, WriteError};

/// Reason why a datagram was refused.
///
/// It is small and `Copy`, since anyone can cause any number of refusals.
/// [`Protocol::read_explained`](crate::packet::Protocol::read_explained) also names the field.
///
/// ```
/// use tightwire::packet::{Protection, Protocol, PacketError};
///
/// let mut protocol = Protocol::<bool>::new("arena", "1.0", Protection::Crc32);
/// let refused = protocol.read(&[1, 2], &mut false).unwrap_err();
/// assert_eq!(refused, PacketError::TooShort { length: 2, minimum: 4 });
/// assert_eq!(refused.to_string(), "too short: 2 bytes, where every packet has at least 4");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PacketError {
    /// The datagram is shorter than its protection.
    TooShort {
        /// Length of the datagram in bytes.
        length: usize,
        /// Smallest length of a datagram in bytes.
        minimum: usize,
    },
    /// The protocol id or the checksum is wrong: another game, another version, another protection,
    /// or damage.
    WrongProtocol,
    /// The datagram was read before, or its sequence number is older than the latest 960.
    Replayed {
        /// Sequence number of the datagram.
        sequence: u64,
    },
    /// The datagram was not sealed with the key and protocol of this connection, or was damaged.
    NotAuthentic,
    /// The datagram passed the protection, but its packet is not valid: the peer has a bug, or is
    /// malicious.
    Malformed(ReadError),
    /// Data follows the end of the packet.
    TrailingData {
        /// Bit where the packet should have ended.
        bit: u64,
    },
}

/// A [`PacketError`] that names the field, if a field was refused.
///
/// ```
/// use tightwire::Wire;
/// use tightwire::packet::{Protection, Protocol};
///
/// #[derive(Wire, Default)]
/// struct Player {
///     #[wire(range = 0..=100)]
///     health: u8,
/// }
///
/// let mut protocol = Protocol::<Player>::new("arena", "1.0", Protection::None);
/// let refused = protocol.read_explained(&[101], &mut Player::default()).unwrap_err();
/// assert_eq!(refused.to_string(), "malformed: Player.health at bit 0: 101 is not in 0..=100");
/// assert_eq!(refused.field().unwrap().path().as_deref(), Some("Player.health"));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct ExplainedPacketError {
    refused: PacketError,
    field: Option<ExplainedError>,
}

/// Reason why [`Protocol::write`](crate::packet::Protocol::write) wrote no datagram.
/// [`Protocol::write_explained`](crate::packet::Protocol::write_explained) also names the field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PacketWriteError {
    /// The datagram is longer than the buffer, or a value is not allowed.
    Packet(WriteError),
    /// The packet is longer than a sealed packet can be.
    TooLong {
        /// Length of the packet in bytes.
        length: usize,
        /// Largest length in bytes.
        limit: usize,
    },
    /// Every sequence number of the keys has been used: connect again with new keys.
    KeysUsedUp,
}

/// A [`PacketWriteError`] that names the field, if a field was refused.
///
/// ```
/// use tightwire::Wire;
/// use tightwire::packet::{Protection, Protocol};
///
/// #[derive(Wire)]
/// struct Player {
///     #[wire(range = 0..=100)]
///     health: u8,
/// }
///
/// let mut protocol = Protocol::<Player>::new("arena", "1.0", Protection::None);
/// let mut buffer = [0; Protocol::<Player>::MAX_BYTES];
/// let refused = protocol.write_explained(&Player { health: 101 }, &mut buffer).unwrap_err();
/// assert_eq!(refused.to_string(), "not written: Player.health at bit 0: 101 is not in 0..=100");
/// assert_eq!(refused.field().unwrap().path().as_deref(), Some("Player.health"));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct ExplainedPacketWriteError {
    refused: PacketWriteError,
    field: Option<ExplainedError>,
}

impl PacketError {
    #[cold]
    pub(super) fn packet(refused: ReadError) -> Self {
        match refused.kind {
            ErrorKind::TrailingData => Self::TrailingData { bit: refused.bit },
            _ => Self::Malformed(refused),
        }
    }
}

impl ExplainedPacketError {
    pub(super) fn new(refused: PacketError, field: Option<ExplainedError>) -> Self {
        Self { refused, field }
    }

    /// Reason of the refusal.
    #[must_use]
    pub fn refused(&self) -> PacketError {
        self.refused
    }

    /// The refused field, with a trace of the packet up to it; `None` if the protection refused the
    /// datagram.
    #[must_use]
    pub fn field(&self) -> Option<&ExplainedError> {
        self.field.as_ref()
    }
}

impl ExplainedPacketWriteError {
    pub(super) fn new(refused: PacketWriteError, field: Option<ExplainedError>) -> Self {
        Self { refused, field }
    }

    /// Reason of the refusal.
    #[must_use]
    pub fn refused(&self) -> PacketWriteError {
        self.refused
    }

    /// The value that is not allowed, or the first field that did not fit into the buffer, with a
    /// trace of the packet up to it; `None` if the datagram was not written for another reason.
    #[must_use]
    pub fn field(&self) -> Option<&ExplainedError> {
        self.field.as_ref()
    }
}

impl From<WriteError> for PacketWriteError {
    fn from(refused: WriteError) -> Self {
        Self::Packet(refused)
    }
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { length, minimum } => {
                write!(f, "too short: {length} bytes, where every packet has at least {minimum}")
            }
            Self::WrongProtocol => f.write_str(
                "wrong protocol id, or corrupt: if every packet is refused, compare the \
                 identities of both sides",
            ),
            Self::Replayed { sequence } => {
                write!(
                    f,
                    "replayed: sequence number {sequence} was received already, or is before the \
                     replay window"
                )
            }
            Self::NotAuthentic => f.write_str(
                "not authentic: sealed with another key or protocol, or modified in transit: if \
                 every packet is refused, compare the identities of both sides",
            ),
            Self::Malformed(refused) => write!(f, "malformed: {refused}"),
            Self::TrailingData { bit } => {
                write!(f, "trailing data: the packet ends at bit {bit}, and more follows")
            }
        }
    }
}

impl fmt::Display for ExplainedPacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.refused, &self.field) {
            (PacketError::Malformed(_), Some(field)) => write!(f, "malformed: {field}"),
            (refused, _) => refused.fmt(f),
        }
    }
}

impl fmt::Display for PacketWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet(WriteError::Value { kind, bit }) => write!(
                f,
                "not written at bit {bit}: {kind} (`Protocol::write_explained` names the field)"
            ),
            Self::Packet(refused) => refused.fmt(f),
            Self::TooLong { length, limit } => write!(
                f,
                "the packet has {length} bytes, but a sealed packet has at most {limit}: split it"
            ),
            Self::KeysUsedUp => f.write_str("the keys are used up: reconnect to get new keys"),
        }
    }
}

impl fmt::Display for ExplainedPacketWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.refused, &self.field) {
            (PacketWriteError::Packet(WriteError::Value { .. }), Some(field)) => {
                write!(f, "not written: {field}")
            }
            (refused, field) => match field.as_ref().and_then(ExplainedError::path) {
                Some(path) => write!(f, "{refused} (full at {path})"),
                None => refused.fmt(f),
            },
        }
    }
}

impl core::error::Error for PacketError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            _ => None,
        }
    }
}

impl core::error::Error for ExplainedPacketError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.field {
            Some(field) => Some(field),
            None => self.refused.source(),
        }
    }
}

impl core::error::Error for PacketWriteError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Packet(error) => Some(error),
            _ => None,
        }
    }
}

impl core::error::Error for ExplainedPacketWriteError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.field {
            Some(field) => Some(field),
            None => self.refused.source(),
        }
    }
}
