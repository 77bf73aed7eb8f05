//! Errors of byte writers and byte readers.

use core::fmt;

use crate::stream::{ErrorKind, ReadError};

/// A refused operation on bytes: the reason, and where. The position of the writer or reader has
/// not moved.
///
/// ```
/// use tightwire::bytes::{ByteError, ByteReader};
///
/// let mut reader = ByteReader::new(&[1, 2, 3]);
/// assert_eq!(reader.read::<u16>(), Ok(0x0201));
/// let refused = reader.read::<u32>().unwrap_err();
/// assert_eq!(refused, ByteError::UnexpectedEnd { byte: 2, needed: 4 });
/// assert_eq!(refused.to_string(), "refused at byte 2: the data ends before the next 4 bytes do");
/// assert_eq!(reader.position(), 2);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ByteError {
    /// The buffer has no room for the write, and cannot grow that far.
    Full {
        /// Position of the write.
        byte: usize,
        /// Number of bytes that the write needs.
        needed: usize,
    },
    /// The data ends before the read does.
    UnexpectedEnd {
        /// Position of the read.
        byte: usize,
        /// Number of bytes that the read needs.
        needed: usize,
    },
    /// Data follows the end.
    TrailingData {
        /// Position where the end should be.
        byte: usize,
    },
    /// A position or a length is beyond the end.
    Outside {
        /// The requested position.
        byte: usize,
        /// Number of bytes in the data.
        len: usize,
    },
    /// A block wrote or read more than was reserved or required for it. The whole block is undone.
    Overrun {
        /// Position of the block.
        byte: usize,
        /// Length of the block in bytes.
        reserved: usize,
    },
    /// A value of unknown length was written at a position before the end, where it would overwrite
    /// other bytes.
    NotAtEnd {
        /// Position of the write.
        byte: usize,
        /// Position of the end.
        len: usize,
    },
    /// More reserved spaces wait to be filled than a writer tracks.
    TooManyReserved {
        /// Position of the space.
        byte: usize,
    },
    /// The reserved space has been filled, was cut off, or belongs to another writer.
    Stale,
    /// The value has another length than the reserved space.
    WrongLength {
        /// Length of the reserved space in bytes.
        reserved: usize,
        /// Length of the value in bytes.
        given: usize,
    },
    /// A reserved space was not filled.
    Unfilled {
        /// Position of the space.
        byte: usize,
    },
    /// A value that [`write_wire`](crate::bytes::ByteWriter::write_wire) was given is not allowed by
    /// its description: [`explain_write`](crate::stream::explain_write) names the field.
    Value {
        /// Reason of the refusal.
        kind: ErrorKind,
        /// Position where the value would have begun, in bits from the start of the buffer.
        bit: u64,
    },
    /// A value is not allowed by its description.
    Refused {
        /// Reason of the refusal.
        kind: ErrorKind,
        /// Position where the value begins, in bits from the start of the buffer.
        bit: u64,
    },
}

impl ByteError {
    /// Makes the error of a value that begins at a whole byte.
    pub(super) fn value(kind: ErrorKind, byte: usize) -> Self {
        Self::Refused { kind, bit: byte as u64 * 8 }
    }

    /// Makes the error of a stream that began at `byte`.
    pub(super) fn read(refused: ReadError, byte: usize) -> Self {
        Self::Refused { kind: refused.kind, bit: byte as u64 * 8 + refused.bit }
    }
}

impl fmt::Display for ByteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Full { byte, needed } => write!(
                f,
                "not written at byte {byte}: the buffer has no room for {needed} more bytes: use \
                 a larger buffer, or raise its maximum",
            ),
            Self::UnexpectedEnd { byte, needed } => {
                write!(f, "refused at byte {byte}: the data ends before the next {needed} bytes do",)
            }
            Self::TrailingData { byte } => {
                write!(f, "refused at byte {byte}: data follows the end")
            }
            Self::Outside { byte, len } => write!(
                f,
                "byte {byte} is beyond the end at byte {len}: seek to a written byte, or reserve \
                 space",
            ),
            Self::Overrun { byte, reserved } => write!(
                f,
                "refused at byte {byte}: the block is longer than the {reserved} bytes that it \
                 asked for: ask for more",
            ),
            Self::NotAtEnd { byte, len } => write!(
                f,
                "not written at byte {byte}: bits and values are appended at the end, which is \
                 byte {len}: seek there, or truncate",
            ),
            Self::TooManyReserved { byte } => {
                write!(
                    f,
                    "no space reserved at byte {byte}: fill the spaces that are reserved first",
                )
            }
            Self::Stale => f.write_str(
                "not filled: the reserved space is filled already, was truncated, or belongs to \
                 another writer",
            ),
            Self::WrongLength { reserved, given } => {
                write!(f, "not filled: {reserved} bytes are reserved, but {given} were given",)
            }
            Self::Unfilled { byte } => {
                write!(
                    f,
                    "the space reserved at byte {byte} is not filled: fill it before finishing"
                )
            }
            Self::Value { kind, bit } => {
                write!(f, "not written at bit {bit}: {kind} (`explain_write` names the field)")
            }
            Self::Refused { kind, bit } => {
                write!(f, "refused at bit {bit}: {kind}")
            }
        }
    }
}

impl core::error::Error for ByteError {}
