//! Errors of streams.

use core::fmt;

use crate::bits::BitWriteError;

/// Reason why a value was refused, when writing or when reading.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The packet ended before the value did.
    UnexpectedEnd,
    /// The buffer ended before the value did.
    Full,
    /// A number, a length, an ordinal or an index is outside its declared range.
    OutOfRange,
    /// A padding bit is set where alignment writes zeros.
    Padding,
    /// Text is not well-formed UTF-8 or UTF-16.
    MalformedText,
    /// Text contains a NUL character.
    InteriorNul,
    /// An index is not above the previous one.
    NotIncreasing,
    /// A variable-length integer has more groups than its value needs.
    Overlong,
    /// A float is infinite or NaN where only finite ones can be sent.
    NotFinite,
    /// Four numbers are not a rotation, or three are not a direction.
    NotUnit,
    /// A check did not match: the two sides serialize different fields before it.
    CheckFailed,
    /// Bytes follow the end of the packet, or bits are set in the padding of its last byte.
    TrailingData,
    /// The field is described wrongly, such as by a reversed range. Writing it in a debug build
    /// panics with the mistake.
    Misuse,
    /// A schema does not describe this value: it is serialized by hand, or sent under a condition
    /// that is not data.
    Undescribed,
    /// A tree of values does not match its schema.
    Mismatch,
    /// The application refused the value by [`Stream::refuse`](crate::stream::Stream::refuse).
    Custom,
}

/// A refused read: the reason, and the bit of the packet.
///
/// The error is small and `Copy`, and contains no names: [`explain`](Self::explain) reads the same
/// bytes again and names the field.
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
    /// Reason of the refusal.
    pub kind: ErrorKind,
    /// Position where the refused value begins, in bits from the start of the packet. For a value
    /// of several parts, such as a string, it is the part in which the packet ends. A derived type
    /// reads fields of fixed width together: an [`UnexpectedEnd`](ErrorKind::UnexpectedEnd) then
    /// has the position of the word in which the packet ends, and
    /// [`explain`](crate::stream::explain) finds the field.
    pub bit: u64,
}

/// A refused write: why [`WriteStream::finish`](crate::stream::WriteStream::finish) returns no
/// bytes.
///
/// [`explain`](Self::explain) names the field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The buffer was too small.
    Full {
        /// Number of bits that the packet needs.
        needed_bits: u64,
        /// Number of bits that the buffer holds.
        capacity_bits: u64,
    },
    /// A value is not allowed by its description; the first such value of the packet.
    Value {
        /// Reason of the refusal.
        kind: ErrorKind,
        /// Position in bits where the value would have begun.
        bit: u64,
    },
}

impl ErrorKind {
    /// Converts the kind into a reason for [`BitWriter`](crate::bits::BitWriter). Reason 0 is
    /// taken: the writer itself uses it for values that do not fit their width.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) const fn reason(self) -> u8 {
        self as u8 + 1
    }

    /// Converts a reason of [`BitWriter`](crate::bits::BitWriter) back into a kind.
    pub(super) const fn from_reason(reason: u8) -> Self {
        // A kind missing from this list would be reported as another one.
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

    /// Returns a sentence that says what is wrong and what to do, without the position.
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
            Self::Misuse => "the field's parameters are invalid: a debug build names them",
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
            Self::Value { kind, bit } => {
                write!(f, "not written at bit {bit}: {kind} (`encode_explained` names the field)")
            }
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
