//! Integers: ranged, fixed point, variable-length.

use core::ops::RangeInclusive;

use super::{ErrorKind, Number, Stream, Target, check_not_failed, misuse};

/// The primitive integers, signed and unsigned, of every width.
pub trait Int: sealed::Sealed + Copy + PartialOrd + Default {
    /// Width of the type in bits.
    const BITS: u32;

    /// Smallest number of the type.
    #[doc(hidden)]
    const LOWEST: Self;

    /// Largest number of the type.
    #[doc(hidden)]
    const HIGHEST: Self;

    /// Width of the type in whole-byte packing, the same on every machine: a `usize` may come from
    /// a 64-bit one.
    #[doc(hidden)]
    const PLAIN_BITS: u32;

    /// Returns the distance of `self` above `min`, modulo the type's own range.
    #[doc(hidden)]
    fn offset_from(self, min: Self) -> u128;

    /// Returns the value that is `offset` above `min`.
    #[doc(hidden)]
    fn at_offset(min: Self, offset: u128) -> Self;

    /// Returns `self << bits`; `None` if a bit is lost.
    #[doc(hidden)]
    fn scaled(self, bits: u32) -> Option<Self>;

    /// Returns the value for traces and errors.
    #[doc(hidden)]
    fn number(self) -> Number;

    /// Returns the zigzag code, in which small magnitudes of either sign are small unsigned
    /// numbers: 0, -1, 1, -2, … for a signed type, the number itself for an unsigned type.
    #[doc(hidden)]
    fn zigzag(self) -> u128;

    /// Returns the value of a zigzag code; `None` if the type does not have it.
    #[doc(hidden)]
    fn from_zigzag(code: u128) -> Option<Self>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! int {
    ($unsigned:ty, $signed:ty, $plain_bits:literal) => {
        impl sealed::Sealed for $unsigned {}
        impl Int for $unsigned {
            const BITS: u32 = <$unsigned>::BITS;
            const LOWEST: Self = <$unsigned>::MIN;
            const HIGHEST: Self = <$unsigned>::MAX;
            const PLAIN_BITS: u32 = $plain_bits;

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn offset_from(self, min: Self) -> u128 {
                self.wrapping_sub(min) as u128
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn at_offset(min: Self, offset: u128) -> Self {
                min.wrapping_add(offset as $unsigned)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn scaled(self, bits: u32) -> Option<Self> {
                self.checked_shl(bits).filter(|scaled| scaled >> bits == self)
            }

            fn number(self) -> Number {
                Number::Unsigned(self as u128)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn zigzag(self) -> u128 {
                self as u128
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn from_zigzag(code: u128) -> Option<Self> {
                (code <= <$unsigned>::MAX as u128).then_some(code as $unsigned)
            }
        }

        impl sealed::Sealed for $signed {}
        impl Int for $signed {
            const BITS: u32 = <$signed>::BITS;
            const LOWEST: Self = <$signed>::MIN;
            const HIGHEST: Self = <$signed>::MAX;
            const PLAIN_BITS: u32 = $plain_bits;

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn offset_from(self, min: Self) -> u128 {
                self.wrapping_sub(min) as $unsigned as u128
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn at_offset(min: Self, offset: u128) -> Self {
                min.wrapping_add(offset as $signed)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn scaled(self, bits: u32) -> Option<Self> {
                self.checked_shl(bits).filter(|scaled| scaled >> bits == self)
            }

            fn number(self) -> Number {
                Number::Signed(self as i128)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn zigzag(self) -> u128 {
                (self << 1 ^ self >> (Self::BITS - 1)) as $unsigned as u128
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn from_zigzag(code: u128) -> Option<Self> {
                let code = <$unsigned>::from_zigzag(code)?;
                Some((code >> 1) as $signed ^ -((code & 1) as $signed))
            }
        }
    };
}

int!(u8, i8, 8);
int!(u16, i16, 16);
int!(u32, i32, 32);
int!(u64, i64, 64);
int!(u128, i128, 128);
int!(usize, isize, 64);

/// The lowest `width` bits of the number.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn bits<S: Stream>(
    stream: &mut S,
    mut value: Target<'_, S::Access, u64>,
    width: u32,
) -> Result<(), S::Error> {
    if width > u64::BITS {
        return misuse(stream, "bits: a field has at most 64 bits");
    }
    let mut bits = *value;
    stream.raw_bits(&mut bits, width)?;
    value.put(bits);
    Ok(())
}

/// One bit, set for `true`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn bool<S: Stream>(
    stream: &mut S,
    mut value: Target<'_, S::Access, bool>,
) -> Result<(), S::Error> {
    let mut bit = u64::from(*value);
    stream.raw_bits(&mut bit, 1)?;
    value.put(bit != 0);
    Ok(())
}

/// The hash of a name that both sides know.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn check<S: Stream>(stream: &mut S, name: &str) -> Result<(), S::Error> {
    if !stream.has_checks() {
        return check_not_failed(stream);
    }
    let start = stream.position();
    let expected = u64::from(check_value(name));
    let mut value = expected;
    stream.raw_bits(&mut value, 32)?;
    if value == expected { Ok(()) } else { stream.refuse_at(ErrorKind::CheckFailed, start) }
}

/// Returns the 32 bits of a check with this name.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn check_value(name: &str) -> u32 {
    xxhash_rust::const_xxh32::xxh32(name.as_bytes(), 0)
}

/// The offset from the start of the range, in the bits that the range needs.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn ranged<S: Stream, T: Int>(
    stream: &mut S,
    mut value: Target<'_, S::Access, T>,
    min: T,
    max: T,
) -> Result<(), S::Error> {
    if min > max {
        return misuse(stream, "int: the range is reversed, swap its bounds");
    }
    if !S::PACKS {
        return plain(stream, value, (min, max), plain_width(min, max));
    }
    let span = max.offset_from(min);
    let mut offset = value.offset_from(min);
    if T::BITS <= u64::BITS {
        let mut narrow = offset as u64;
        stream.raw_offset(&mut narrow, span as u64)?;
        offset = u128::from(narrow);
    } else {
        wide_offset(stream, &mut offset, span)?;
    }
    value.put(T::at_offset(min, offset));
    Ok(())
}

/// An offset of up to 128 bits: the lower 64 first.
#[cfg_attr(not(debug_assertions), inline(always))]
fn wide_offset<S: Stream>(stream: &mut S, offset: &mut u128, span: u128) -> Result<(), S::Error> {
    let start = stream.position();
    let mut value = *offset;
    if S::WRITING && value > span {
        stream.refuse_at(ErrorKind::OutOfRange, start)?;
        value = 0;
    }
    let width = u128::BITS - span.leading_zeros();
    let mut low = value as u64;
    let mut high = (value >> 64) as u64;
    stream.raw_bits(&mut low, width.min(64))?;
    stream.raw_bits(&mut high, width.saturating_sub(64))?;
    let read = u128::from(high) << 64 | u128::from(low);
    if S::READING && read > span {
        return stream.refuse_at(ErrorKind::OutOfRange, start);
    }
    *offset = read;
    Ok(())
}

/// The number itself in two's complement, for whole-byte packing.
fn plain<S: Stream, T: Int>(
    stream: &mut S,
    mut value: Target<'_, S::Access, T>,
    (min, max): (T, T),
    width: u32,
) -> Result<(), S::Error> {
    let start = stream.position();
    let mut whole = *value;
    if S::WRITING && !(min <= whole && whole <= max) {
        stream.refuse_at(ErrorKind::OutOfRange, start)?;
        whole = min;
    }
    let number = extended(whole) & u128::MAX.unbounded_shr(u128::BITS - width);
    let (mut low, mut high) = (number as u64, (number >> 64) as u64);
    stream.raw_bits(&mut low, width.min(u64::BITS))?;
    stream.raw_bits(&mut high, width.saturating_sub(u64::BITS))?;
    if !S::READING {
        return Ok(());
    }
    let mut read = u128::from(high) << 64 | u128::from(low);
    if width == 0 {
        read = extended(min);
    } else if min < T::default() {
        read = sign_extended(read, width).cast_unsigned();
    }
    let whole = T::at_offset(T::default(), read);
    // The field of a `usize` can be wider than the type.
    if extended(whole) != read || whole < min || whole > max {
        return stream.refuse_at(ErrorKind::OutOfRange, start);
    }
    value.put(whole);
    Ok(())
}

/// Extends a number to two's complement of 128 bits.
fn extended<T: Int>(number: T) -> u128 {
    let bits = number.offset_from(T::default());
    if number < T::default() { sign_extended(bits, T::BITS).cast_unsigned() } else { bits }
}

/// Width of the smallest integer type that holds the range; 0 for a range of one value.
fn plain_width<T: Int>(min: T, max: T) -> u32 {
    if min == max {
        return 0;
    }
    let bits = match (min.number(), max.number()) {
        (Number::Signed(min), Number::Signed(max)) if min < 0 => {
            // One more bit for the sign. The complement of a negative number has the bits that it
            // needs.
            1 + u128::BITS - (!min | if max < 0 { !max } else { max }).leading_zeros()
        }
        _ => u128::BITS - max.offset_from(T::default()).leading_zeros(),
    };
    bits.next_power_of_two().max(8)
}

/// Interprets the lowest `width` bits as a number in two's complement.
pub(super) fn sign_extended(bits: u128, width: u32) -> i128 {
    let above = u128::BITS - width.clamp(1, u128::BITS);
    (bits << above).cast_signed() >> above
}

/// A fixed-point number: a ranged integer whose bounds are given in whole units.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn fixed<S: Stream, T: Int>(
    stream: &mut S,
    value: Target<'_, S::Access, T>,
    fraction_bits: u32,
    units: RangeInclusive<T>,
) -> Result<(), S::Error> {
    match (units.start().scaled(fraction_bits), units.end().scaled(fraction_bits)) {
        (Some(min), Some(max)) => ranged(stream, value, min, max),
        _ => misuse(stream, "fixed: the bounds times 2^fraction_bits do not fit the type"),
    }
}

/// Seven bits at a time, lowest first; the eighth bit of each group says whether another group
/// follows.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn varint<S: Stream, T: Int>(
    stream: &mut S,
    mut value: Target<'_, S::Access, T>,
) -> Result<(), S::Error> {
    if !S::PACKS {
        return plain(stream, value, (T::LOWEST, T::HIGHEST), T::PLAIN_BITS);
    }
    let start = stream.position();
    let mut left = value.zigzag();
    let mut read = 0u128;
    for shift in (0..T::BITS).step_by(7) {
        let mut group = (left & 0x7f) as u64 | u64::from(left > 0x7f) << 7;
        left >>= 7;
        stream.raw_bits(&mut group, 8)?;
        let payload = u128::from(group & 0x7f);
        read |= payload << shift;
        if group & 0x80 == 0 {
            // A last group of zero is redundant; a bit beyond the type's width would be lost and
            // change the value.
            if S::READING && payload == 0 && shift > 0 {
                return stream.refuse_at(ErrorKind::Overlong, start);
            }
            return match T::from_zigzag(read) {
                Some(whole) if read >> shift == payload => {
                    value.put(whole);
                    Ok(())
                }
                _ => stream.refuse_at(ErrorKind::OutOfRange, start),
            };
        }
    }
    stream.refuse_at(ErrorKind::OutOfRange, start)
}
