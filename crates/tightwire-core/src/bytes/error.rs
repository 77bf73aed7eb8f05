//! Why a byte writer or a byte reader refuses.

use core::fmt;

use crate::stream::{ErrorKind, ReadError};

/// A refused operation on bytes: what was wrong, and where. The position is what it was before.
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
    /// The buffer has less room, and cannot grow that far.
    Full {
        /// Where it would have been written.
        byte: usize,
        /// The bytes that it takes from there.
        needed: usize,
    },
    /// The data ends before.
    UnexpectedEnd {
        /// Where it would have been read.
        byte: usize,
        /// The bytes that it takes from there.
        needed: usize,
    },
    /// Data follows the end.
    TrailingData {
        /// Where the end should have been.
        byte: usize,
    },
    /// A position or a length beyond what is there.
    Outside {
        /// The position that was asked for.
        byte: usize,
        /// The bytes that there are.
        len: usize,
    },
    /// A block wrote or read more than was reserved or required for it. Nothing of it counts.
    Overrun {
        /// Where the block begins.
        byte: usize,
        /// The bytes that it has.
        reserved: usize,
    },
    /// Something of a length that is not known before was to be written over what is there.
    NotAtEnd {
        /// Where it would have been written.
        byte: usize,
        /// The end.
        len: usize,
    },
    /// More space is set aside and not yet filled than a writer keeps account of.
    TooManyReserved {
        /// Where the space would have been.
        byte: usize,
    },
    /// The space is filled already, was cut off, or belongs to another writer.
    Stale,
    /// The space that was set aside has another length than what should fill it.
    WrongLength {
        /// The bytes that were set aside.
        reserved: usize,
        /// The bytes that came.
        given: usize,
    },
    /// Space was set aside and not filled.
    Unfilled {
        /// Where it begins.
        byte: usize,
    },
    /// A value that its description does not allow.
    Refused {
        /// What was wrong.
        kind: ErrorKind,
        /// The bit where the value begins, counted from the start of the buffer.
        bit: u64,
    },
}

impl ByteError {
    /// A value that begins with a whole byte.
    pub(super) fn value(kind: ErrorKind, byte: usize) -> Self {
        Self::Refused { kind, bit: byte as u64 * 8 }
    }

    /// What a stream refused that began at `byte`.
    pub(super) fn read(refused: ReadError, byte: usize) -> Self {
        Self::Refused { kind: refused.kind, bit: byte as u64 * 8 + refused.bit }
    }
}

impl fmt::Display for ByteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Full { byte, needed } => write!(
                f,
                "not written, at byte {byte}: the buffer has no room for {needed} bytes more: \
                 give it a larger one, or a higher maximum",
            ),
            Self::UnexpectedEnd { byte, needed } => {
                write!(f, "refused at byte {byte}: the data ends before the next {needed} bytes do",)
            }
            Self::TrailingData { byte } => {
                write!(f, "refused at byte {byte}: data follows the end")
            }
            Self::Outside { byte, len } => write!(
                f,
                "byte {byte} is outside of the {len} that there are: \
                 seek to what was written, or set space aside",
            ),
            Self::Overrun { byte, reserved } => write!(
                f,
                "refused at byte {byte}: the block went beyond its {reserved} bytes: ask for more",
            ),
            Self::NotAtEnd { byte, len } => write!(
                f,
                "not written, at byte {byte}: bits and values go to the end, which is {len}: \
                 seek there, or truncate",
            ),
            Self::TooManyReserved { byte } => {
                write!(f, "not set aside, at byte {byte}: fill what was set aside before",)
            }
            Self::Stale => f.write_str(
                "not filled: the space was filled already, was cut off, or is another writer's",
            ),
            Self::WrongLength { reserved, given } => {
                write!(f, "not filled: {reserved} bytes were set aside, and {given} came",)
            }
            Self::Unfilled { byte } => {
                write!(f, "the space that was set aside at byte {byte} is not filled: fill it")
            }
            Self::Refused { kind, bit } => {
                write!(f, "refused at bit {bit}: {kind}")
            }
        }
    }
}

impl core::error::Error for ByteError {}
