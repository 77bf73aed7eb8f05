//! Why a stream refuses.

use core::fmt;

use crate::bits::BitWriteError;

/// What was wrong with a value, on either side.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The packet ended before the value did.
    UnexpectedEnd,
    /// The buffer ended before the value did.
    Full,
    /// A number, a length, an ordinal or an index outside its declared range.
    OutOfRange,
    /// A set bit where alignment writes zeros.
    Padding,
    /// Text that is not well-formed UTF-8 or UTF-16.
    MalformedText,
    /// A zero character inside text.
    InteriorNul,
    /// An index that is not above the one before it.
    NotIncreasing,
    /// A variable-length integer with more groups than its value needs.
    Overlong,
    /// A float that is not finite, where only finite ones can be sent.
    NotFinite,
    /// Four numbers that are no rotation, or three that are no direction.
    NotUnit,
    /// A serialization check that did not come out: the two sides read and wrote differently.
    CheckFailed,
    /// Bytes after the end of the packet, or set bits in its last byte.
    TrailingData,
    /// The field was described wrongly, as by a reversed range: writing it in a debug build says how.
    Misuse,
    /// A value that a schema does not describe: serialized by hand, or sent under a condition that
    /// is not data.
    Undescribed,
    /// A tree of values that does not have the form that its schema says.
    Mismatch,
    /// A reason of the application's own, given to [`Stream::refuse`](crate::stream::Stream::refuse).
    Custom,
}

/// A refused read: what was wrong, and at which bit of the packet.
///
/// It is small and `Copy`, and says nothing of names: [`explain`](Self::explain) reads the same bytes
/// again and names the field.
///
/// ```
/// use tightwire::Stream;
/// use tightwire::stream::{ErrorKind, ReadError, ReadStream};
///
/// let mut stream = ReadStream::new(&[0x7f]);
/// let mut health = 50u8;
/// let refused = stream.int(&mut health, 0..=100);
/// assert_eq!(refused, Err(ReadError { kind: ErrorKind::OutOfRange, bit: 0 }));
/// assert_eq!(health, 50);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReadError {
    /// What was wrong.
    pub kind: ErrorKind,
    /// The bit, counted from the start of the packet, where the refused value begins; of a value
    /// of several parts, as a string, the part that the packet ends in. A derived type reads
    /// fields of fixed width together: for [`BitReadError`](ErrorKind::UnexpectedEnd) it is then
    /// where the word begins that the packet ends in, and [`explain`](crate::stream::explain) has the field.
    pub bit: u64,
}

/// A refused packet: why [`WriteStream::finish`](crate::stream::WriteStream::finish) hands out no bytes.
///
/// [`explain`](Self::explain) names the field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The buffer was too small.
    Full {
        /// The bits that the packet takes.
        needed_bits: u64,
        /// The bits that the buffer holds.
        capacity_bits: u64,
    },
    /// A value that its description does not allow; the first one, if there were several.
    Value {
        /// What was wrong.
        kind: ErrorKind,
        /// The bit of the packet where the value would have begun.
        bit: u64,
    },
}

impl ErrorKind {
    /// The kind as a reason for [`BitWriter`](crate::bits::BitWriter), which by itself refuses values
    /// that do not fit their width, for the reason 0.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) const fn reason(self) -> u8 {
        self as u8 + 1
    }

    /// The kind of a reason.
    pub(super) const fn from_reason(reason: u8) -> Self {
        // A kind that is missing here would be told as another one.
        const { assert!(KINDS.len() == ErrorKind::Custom as usize + 1) };
        const KINDS: [ErrorKind; 16] = [
            ErrorKind::UnexpectedEnd,
            ErrorKind::Full,
            ErrorKind::OutOfRange,
            ErrorKind::Padding,
            ErrorKind::MalformedText,
            ErrorKind::InteriorNul,
            ErrorKind::NotIncreasing,
            ErrorKind::Overlong,
            ErrorKind::NotFinite,
            ErrorKind::NotUnit,
            ErrorKind::CheckFailed,
            ErrorKind::TrailingData,
            ErrorKind::Misuse,
            ErrorKind::Undescribed,
            ErrorKind::Mismatch,
            ErrorKind::Custom,
        ];
        match reason {
            1..=16 => KINDS[reason as usize - 1],
            _ => Self::OutOfRange,
        }
    }

    /// What was wrong, and what to do about it, without the place.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::UnexpectedEnd => "the packet ends before this value does",
            Self::Full => "the buffer is full: give it a larger one",
            Self::OutOfRange => "the value is not in its declared range",
            Self::Padding => "a padding bit is set where the writer leaves zeros",
            Self::MalformedText => "the text is not well-formed Unicode",
            Self::InteriorNul => "the text contains a zero character",
            Self::NotIncreasing => "the index is not above the one before it: send indices sorted",
            Self::Overlong => "the integer is written with more bytes than it needs",
            Self::NotFinite => "the float is not finite: send it uncompressed, or not at all",
            Self::NotUnit => {
                "the numbers are no unit quaternion or vector: normalise before sending"
            }
            Self::CheckFailed => {
                "a serialization check failed: the sender writes other fields than are read"
            }
            Self::TrailingData => "data follows the end of the packet",
            Self::Misuse => {
                "the field's description makes no sense: writing it in a debug build says why"
            }
            Self::Undescribed => {
                "the schema does not describe this value: derive `Wire` for its type"
            }
            Self::Mismatch => "the tree of values does not have the form of its schema",
            Self::Custom => "the application refused the value",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.advice())
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused at bit {}: {}", self.bit, self.kind)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Full { needed_bits, capacity_bits } => {
                BitWriteError::Full { needed_bits, capacity_bits }.fmt(f)
            }
            Self::Value { kind, bit } => write!(f, "not written, at bit {bit}: {kind}"),
        }
    }
}

impl core::error::Error for ReadError {}
impl core::error::Error for WriteError {}

impl From<BitWriteError> for WriteError {
    fn from(refused: BitWriteError) -> Self {
        match refused {
            BitWriteError::Full { needed_bits, capacity_bits } => {
                Self::Full { needed_bits, capacity_bits }
            }
            BitWriteError::Value { bit } => Self::Value { kind: ErrorKind::OutOfRange, bit },
        }
    }
}
