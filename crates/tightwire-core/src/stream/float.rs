//! Floats: unquantised, or quantised to a range and a resolution.
//!
//! `FloatRange` is a value and not three arguments, so that a range has a name, is checked at
//! compile time, and serves many fields. Four floats at a time are quantised with `wide`, which has
//! the truncating conversion without an overflow check.

use core::hint::cold_path;

use wide::f32x4;

use super::{ErrorKind, Stream, Target, misuse};

/// Quantisation of a compressed float: a range, and the largest step between two values.
///
/// The coarsest resolution that a game tolerates takes the fewest bits. More than some 2^22 steps
/// are finer than the precision of an `f32` in the range, and only cost bits; the number of steps
/// stops at 2^32.
///
/// Declare it as a constant: then everything that does not depend on the value is computed at
/// compile time.
///
/// ```
/// use tightwire::FloatRange;
///
/// const POSITION: FloatRange = FloatRange::new(-256.0, 256.0, 0.001);
/// assert_eq!(POSITION.width(), 19);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FloatRange {
    min: f32,
    max: f32,
    resolution: f32,
    /// Largest code, for the top of the range; 0 if the declaration is invalid.
    max_code: u32,
}

const INVALID: &str = "FloatRange: needs finite min < max, and a positive resolution that divides them into finitely many steps";

impl FloatRange {
    /// Creates a range of values `min..=max` in steps of at most `resolution`.
    ///
    /// # Panics
    ///
    /// In debug builds, if the range is empty or not finite or the resolution is not positive.
    /// Release builds refuse to write or read such a field.
    #[must_use]
    pub const fn new(min: f32, max: f32, resolution: f32) -> Self {
        match Self::checked(min, max, resolution) {
            Some(range) => range,
            None => {
                debug_assert!(
                    false,
                    "FloatRange: needs finite min < max, and a positive resolution that divides them into finitely many steps"
                );
                Self { min, max, resolution, max_code: 0 }
            }
        }
    }

    /// Like [`new`](Self::new), for numbers that the program did not choose: returns `None` if they
    /// are invalid.
    ///
    /// ```
    /// use tightwire::FloatRange;
    ///
    /// assert!(FloatRange::checked(0.0, 10.0, 0.01).is_some());
    /// assert_eq!(FloatRange::checked(10.0, 0.0, 0.01), None);
    /// assert_eq!(FloatRange::checked(0.0, f32::NAN, 0.01), None);
    /// ```
    #[must_use]
    pub const fn checked(min: f32, max: f32, resolution: f32) -> Option<Self> {
        let delta = max - min;
        let values = delta / resolution;
        let valid = min < max
            && delta.is_finite()
            && resolution > 0.0
            && resolution.is_finite()
            && values.is_finite();
        if valid { Some(Self { min, max, resolution, max_code: steps(values) }) } else { None }
    }

    /// Lower bound.
    #[must_use]
    pub const fn min(self) -> f32 {
        self.min
    }

    /// Upper bound.
    #[must_use]
    pub const fn max(self) -> f32 {
        self.max
    }

    /// Resolution as declared; the effective one is the next finer that divides the range evenly.
    #[must_use]
    pub const fn resolution(self) -> f32 {
        self.resolution
    }

    /// Width of one value in bits.
    #[must_use]
    pub const fn width(self) -> u32 {
        u32::BITS - self.max_code.leading_zeros()
    }

    /// Largest code that a value can have.
    #[must_use]
    pub const fn max_code(self) -> u32 {
        self.max_code
    }

    /// Returns the code of the step nearest to `value`. Values outside the range are clamped to its
    /// bounds; the code of an infinity or NaN is unspecified.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn quantise(self, value: f32) -> u32 {
        self.quantise_four([value; 4])[0]
    }

    /// Returns the value of `code`. The largest code can be a rounding error above the upper bound.
    /// A code above [`max_code`](Self::max_code) is invalid, and its value unspecified.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn dequantise(self, code: u32) -> f32 {
        if self.max_code < SMALL_CODES {
            // The same quotient without a division. Quotients of two numbers below 2^22 are at
            // least 2^-47 away from any point where an `f32` rounds, and the two roundings here are
            // off by 2^-52.
            let position = (f64::from(code) * (1.0 / f64::from(self.max_code))) as f32;
            return position * (self.max - self.min) + self.min;
        }
        self.dequantise_four([code; 4])[0]
    }

    /// Quantises four values at a time, for vector units. Each step rounds to `f32`, in this order:
    /// the order is part of the wire format.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn quantise_four(self, values: [f32; 4]) -> [u32; 4] {
        let position = (f32x4::new(values) - self.min) / (self.max - self.min);
        let position = position.fast_max(f32x4::ZERO).fast_min(f32x4::ONE);
        let rounded = position * self.max_code as f32 + 0.5;
        // Truncation equals `floor`, since no value here is negative.
        if self.max_code < SMALL_CODES {
            rounded.fast_trunc_int().to_array().map(i32::cast_unsigned)
        } else {
            // From 2^23 steps on, the sum can round up to a code that does not exist.
            rounded.to_array().map(|rounded| (rounded as u32).min(self.max_code))
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn dequantise_four(self, codes: [u32; 4]) -> [f32; 4] {
        let codes = if self.max_code < SMALL_CODES {
            code_float(codes)
        } else {
            f32x4::new(codes.map(|code| code as f32))
        };
        (codes / self.max_code as f32 * (self.max - self.min) + self.min).to_array()
    }
}

/// Converts codes below [`SMALL_CODES`] into floats. The lowest bits of the float 2^23 count the
/// integers above it; a conversion instruction would wait for the previous contents of its register.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn code_float(codes: [u32; 4]) -> f32x4 {
    const SHIFT: f32 = (1 << 23) as f32;
    f32x4::new(codes.map(|code| f32::from_bits(SHIFT.to_bits() | code))) - SHIFT
}

/// Below this number of codes, every code plus one half is an exact float, and fits the conversion
/// of vector units.
pub(super) const SMALL_CODES: u32 = 1 << 22;

/// Returns the number of steps, rounded up: at least one, at most the largest `f32` below 2^32.
const fn steps(values: f32) -> u32 {
    let values = values.clamp(1.0, 4_294_967_040.0);
    let whole = values as u32;
    if whole as f32 == values { whole } else { whole + 1 }
}

/// The code of the step nearest to the value, in the fewest bits.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn compressed<S: Stream>(
    stream: &mut S,
    mut value: Target<'_, S::Access, f32>,
    range: FloatRange,
) -> Result<(), S::Error> {
    if range.max_code == 0 {
        return misuse(stream, INVALID);
    }
    if !S::QUANTISES {
        return stream.raw_fitting(&mut value.to_bits().into(), 32);
    }
    let mut code = 0;
    if S::WRITING {
        if (*value * 0.0).is_nan() {
            cold_path();
            stream.refuse_next(ErrorKind::NotFinite)?;
        }
        // The code of an infinity or NaN is unspecified; the refusal keeps it from being sent.
        code = u64::from(range.quantise(*value));
        return stream.raw_fitting(&mut code, range.width());
    }
    stream.raw_offset(&mut code, range.max_code.into())?;
    value.put(range.dequantise(code as u32));
    Ok(())
}

/// Several values of one range, one after the other, in one word if they fit.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn compressed_array<S: Stream, const N: usize>(
    stream: &mut S,
    values: &mut [f32; N],
    range: FloatRange,
) -> Result<(), S::Error> {
    if !S::QUANTISES {
        return super::vector::whole_slice(stream, values);
    }
    let mut codes = [0; N];
    if const { N == 0 || N > 4 } {
        return compressed_slice(stream, values, &mut codes, range);
    }
    if range.max_code == 0 {
        return misuse(stream, INVALID);
    }
    if S::WRITING {
        let four = widened(values);
        if !all_finite(four) {
            cold_path();
            stream.refuse_next(ErrorKind::NotFinite)?;
        }
        codes.copy_from_slice(&range.quantise_four(four)[..N]);
    }
    super::vector::codes(stream, &mut codes, range.width(), range.max_code)?;
    if S::READING {
        values.copy_from_slice(&range.dequantise_four(widened(&codes))[..N]);
    }
    Ok(())
}

/// Pads up to four numbers with the first one: an instruction, where padding with zeros takes three.
#[cfg_attr(not(debug_assertions), inline(always))]
fn widened<T: Copy, const N: usize>(numbers: &[T; N]) -> [T; 4] {
    let mut four = [numbers[0]; 4];
    four[..N].copy_from_slice(numbers);
    four
}

/// Like [`compressed_array`], with a length that is only known at run time; `codes` and `values`
/// have the same length.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn compressed_slice<S: Stream>(
    stream: &mut S,
    values: &mut [f32],
    codes: &mut [u32],
    range: FloatRange,
) -> Result<(), S::Error> {
    if !S::QUANTISES {
        return super::vector::whole_slice(stream, values);
    }
    if range.max_code == 0 {
        return misuse(stream, INVALID);
    }
    if S::WRITING {
        let mut finite = true;
        by_fours(values, codes, |values| {
            finite &= all_finite(values);
            range.quantise_four(values)
        });
        if !finite {
            cold_path();
            stream.refuse_next(ErrorKind::NotFinite)?;
        }
    }
    super::vector::codes(stream, codes, range.width(), range.max_code)?;
    if S::READING {
        by_fours(codes, values, |codes| range.dequantise_four(codes));
    }
    Ok(())
}

/// Whether all values are finite: zero times a finite number is zero, zero times anything else is
/// NaN.
#[cfg_attr(not(debug_assertions), inline(always))]
fn all_finite(values: [f32; 4]) -> bool {
    let values = f32x4::new(values);
    (values * 0.0).is_nan().none()
}

/// Maps four elements at a time, for vector units; the last chunk is padded with copies of its last
/// element.
#[cfg_attr(not(debug_assertions), inline(always))]
fn by_fours<T: Copy, U: Copy>(
    values: &[T],
    mapped: &mut [U],
    mut map: impl FnMut([T; 4]) -> [U; 4],
) {
    for (values, mapped) in values.chunks(4).zip(mapped.chunks_mut(4)) {
        let four = map(core::array::from_fn(|index| values[index.min(values.len() - 1)]));
        for (mapped, four) in mapped.iter_mut().zip(four) {
            *mapped = four;
        }
    }
}

/// The 32 bits of the float, unchanged.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn single<S: Stream>(
    stream: &mut S,
    mut value: Target<'_, S::Access, f32>,
) -> Result<(), S::Error> {
    let mut bits = u64::from(value.to_bits());
    stream.raw_bits(&mut bits, 32)?;
    value.put(f32::from_bits(bits as u32));
    Ok(())
}

/// The 64 bits of the double, unchanged.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn double<S: Stream>(
    stream: &mut S,
    mut value: Target<'_, S::Access, f64>,
) -> Result<(), S::Error> {
    let mut bits = value.to_bits();
    stream.raw_bits(&mut bits, 64)?;
    value.put(f64::from_bits(bits));
    Ok(())
}

/// Square root, correctly rounded on every platform.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn sqrt(value: f32) -> f32 {
    #[cfg(feature = "std")]
    return value.sqrt();
    #[cfg(not(feature = "std"))]
    return libm::sqrtf(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_code_reads_as_the_division_of_the_format_says() {
        for max_code in [1, 2, 3, 5, 100, 1000, 36_000, 511_999, 4_000_003, SMALL_CODES - 1] {
            let range = FloatRange { min: -3.0, max: 7.5, resolution: 0.01, max_code };
            for step in 0..2000 {
                let code = (u64::from(max_code) * step / 1999) as u32;
                let divided = code as f32 / max_code as f32 * 10.5 - 3.0;
                assert_eq!(range.dequantise(code), divided, "{code} of {max_code}");
                assert_eq!(range.dequantise_four([code; 4]), [divided; 4]);
            }
        }
    }
}
