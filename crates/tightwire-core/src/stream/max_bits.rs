//! Worst-case sizes of an operation and of a shape, in bits.

use super::{Field, Int, Number, Op, Shape, SubsetCoding};

impl Op {
    /// Largest offset of an integer, a `bool` or an ordinal; `None` for any other operation, and
    /// for an invalid range.
    #[doc(hidden)]
    pub fn span(&self) -> Option<u128> {
        match *self {
            Self::Bits { width } => Some(u128::MAX.unbounded_shr(u128::BITS - width.min(64))),
            Self::Bool => Some(1),
            Self::Int { min, max } => span(min, max, 0),
            Self::Fixed { fraction_bits, min, max } => span(min, max, fraction_bits),
            Self::Enumerate { count } => (count as u128).checked_sub(1),
            _ => None,
        }
    }

    /// Largest size in bits of the operation, at any position in a packet: seven bits for each
    /// alignment. `u64::MAX` if the size is larger, or the description is invalid.
    ///
    /// ```
    /// use tightwire::stream::{Number, Op};
    ///
    /// let health = Op::Int { min: Number::Unsigned(0), max: Number::Unsigned(100) };
    /// assert_eq!(health.max_bits(), 7);
    /// assert_eq!(Op::String { max_len: 31 }.max_bits(), 5 + 7 + 8 * 31);
    /// ```
    #[must_use]
    pub fn max_bits(&self) -> u64 {
        let whole_bytes = |count: usize| 8u64.saturating_mul(count as u64).saturating_add(7);
        match *self {
            Self::Bits { width } => width.into(),
            Self::Bool => 1,
            Self::Int { min, max } => span(min, max, 0).map_or(u64::MAX, wide_width),
            Self::Fixed { fraction_bits, min, max } => {
                span(min, max, fraction_bits).map_or(u64::MAX, wide_width)
            }
            Self::Varint { bits, .. } => 8 * u64::from(bits.div_ceil(7)),
            Self::Float => 32,
            Self::Double => 64,
            Self::CompressedFloat(range) => range.width().into(),
            Self::Enumerate { count } => width((count as u64).saturating_sub(1)),
            Self::Vector { dimensions } => 32u64.saturating_mul(dimensions as u64),
            Self::CompressedVector { dimensions, range } => {
                u64::from(range.width()).saturating_mul(dimensions as u64)
            }
            Self::Quaternion => 128,
            Self::SmallestThree { bits } => 2 + 3 * u64::from(bits),
            Self::UnitVector { bits } => 2 * u64::from(bits),
            Self::Align => 7,
            Self::Bytes { len } | Self::Pod { size: len } => whole_bytes(len),
            Self::Blob { max_len } | Self::String { max_len } => {
                width(max_len as u64).saturating_add(whole_bytes(max_len))
            }
            Self::WideString { max_len } => {
                width(max_len as u64).saturating_add(32u64.saturating_mul(max_len as u64))
            }
            Self::Index { count } => index(count.into()),
            Self::IntRelative => 6 + 32,
            Self::Selection { len, coding } => selection(len as u64, coding),
            Self::Check { .. } => 32,
        }
    }
}

impl Shape {
    /// Largest size in bits of a value of this shape, equal to
    /// [`Wire::MAX_BITS`](crate::stream::Wire::MAX_BITS) of its type.
    ///
    /// ```
    /// use tightwire::Wire;
    ///
    /// type Form = [Option<u16>; 3];
    /// assert_eq!(Form::describe().max_bits(), Form::MAX_BITS);
    /// ```
    #[must_use]
    pub fn max_bits(&self) -> u64 {
        match self {
            Self::Op(op) => op.max_bits(),
            Self::Struct { fields, .. } => sum(fields),
            Self::Enum { variants, .. } => {
                let largest = variants.iter().map(|variant| sum(&variant.fields)).max();
                let ordinal = width((variants.len() as u64).saturating_sub(1));
                ordinal.saturating_add(largest.unwrap_or(0))
            }
            Self::Option(inner) => inner.max_bits().saturating_add(1),
            Self::Array { len, element } => element.max_bits().saturating_mul(*len),
            Self::List { max_len, element } => {
                element.max_bits().saturating_mul(*max_len).saturating_add(width(*max_len))
            }
            Self::Opaque { max_bits, .. } => *max_bits,
        }
    }
}

fn sum(fields: &[Field]) -> u64 {
    fields.iter().fold(0, |sum, field| sum.saturating_add(field.shape.max_bits()))
}

fn width(span: u64) -> u64 {
    (u64::BITS - span.leading_zeros()).into()
}

fn wide_width(span: u128) -> u64 {
    (u128::BITS - span.leading_zeros()).into()
}

/// Distance of the upper bound above the lower, in steps of 2^-fraction_bits.
fn span(min: Number, max: Number, fraction_bits: u32) -> Option<u128> {
    fn of<T: Int>(min: T, max: T, fraction_bits: u32) -> Option<u128> {
        let (min, max) = (min.scaled(fraction_bits)?, max.scaled(fraction_bits)?);
        (min <= max).then(|| max.offset_from(min))
    }
    match (min, max) {
        (Number::Unsigned(min), Number::Unsigned(max)) => of(min, max, fraction_bits),
        (Number::Signed(min), Number::Signed(max)) => of(min, max, fraction_bits),
        _ => None,
    }
}

/// Longest code of an index into an array of `count` elements.
fn index(count: u64) -> u64 {
    match count + 1 {
        0..=1 => 1,
        2..=5 => 2 + 2,
        6..=13 => 3 + 3,
        14..=29 => 4 + 4,
        30..=61 => 5 + 5,
        62..=125 => 6 + 6,
        end => 12.max(6 + width(end - 126)),
    }
}

/// An upper bound; not the least one for relative indices, whose differences cannot all be large.
fn selection(len: u64, coding: SubsetCoding) -> u64 {
    match coding {
        SubsetCoding::BitPerObject => len,
        SubsetCoding::CountAndIndex => {
            width(len).saturating_add(len.saturating_mul(width(len.saturating_sub(1))))
        }
        SubsetCoding::SentinelIndex => len.saturating_add(1).saturating_mul(width(len)),
        SubsetCoding::RelativeIndex => {
            len.saturating_add(1).saturating_mul(index(len.min(u64::MAX - 1)))
        }
        // The writer takes the shortest coding, and one bit per object is among them.
        SubsetCoding::Best => len.saturating_add(2),
    }
}
