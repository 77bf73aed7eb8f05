//! Floats: whole, or quantised to a range and a resolution.

use super::{ErrorKind, Stream, misuse};

/// How a compressed float is quantised: a range, and the largest step between two values.
///
/// The widest resolution that you can live with costs the fewest bits. Declare it as a constant:
/// then everything that does not depend on the value is computed at compile time.
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
    /// The largest code: the top of the range. Zero if the declaration makes no sense.
    max_code: u32,
}

impl FloatRange {
    /// Values of `min..=max` in steps of at most `resolution`.
    ///
    /// # Panics
    ///
    /// In debug builds, if the range is empty or not finite or the resolution is not positive.
    /// Release builds refuse to write or read such a field.
    #[must_use]
    pub const fn new(min: f32, max: f32, resolution: f32) -> Self {
        let delta = max - min;
        let values = delta / resolution;
        let valid = min < max && resolution > 0.0 && delta.is_finite() && values.is_finite();
        debug_assert!(valid, "FloatRange: needs finite min < max and a positive resolution");
        Self { min, max, resolution, max_code: if valid { steps(values) } else { 0 } }
    }

    /// The lower bound.
    #[must_use]
    pub const fn min(self) -> f32 {
        self.min
    }

    /// The upper bound.
    #[must_use]
    pub const fn max(self) -> f32 {
        self.max
    }

    /// The resolution asked for; the real one is the next finer that divides the range.
    #[must_use]
    pub const fn resolution(self) -> f32 {
        self.resolution
    }

    /// The bits of one value.
    #[must_use]
    pub const fn width(self) -> u32 {
        u32::BITS - self.max_code.leading_zeros()
    }

    /// The largest code that a value can have.
    #[must_use]
    pub const fn max_code(self) -> u32 {
        self.max_code
    }

    /// The code of the step nearest to `value`. Values outside the range count as its bounds.
    ///
    /// Each step rounds to `f32`, in this order: that is the wire format.
    #[must_use]
    #[inline(always)]
    pub const fn quantize(self, value: f32) -> u32 {
        let position = (value - self.min) / (self.max - self.min);
        // Written so that one `max` and one `min` instruction do it, and NaN becomes 0.
        let position = if position > 0.0 { position } else { 0.0 };
        let position = if position < 1.0 { position } else { 1.0 };
        let rounded = position * self.max_code as f32 + 0.5;
        // Truncation is `floor`, since nothing here is negative. The signed conversion is the one
        // that vector units have.
        let code = if self.max_code < 1 << 30 { rounded as i32 as u32 } else { rounded as u32 };
        // From 2^23 steps on, the sum can round up to a code that does not exist.
        if code < self.max_code { code } else { self.max_code }
    }

    /// The value that `code` stands for.
    #[must_use]
    #[inline(always)]
    pub const fn dequantize(self, code: u32) -> f32 {
        let code = if self.max_code < 1 << 30 { code as i32 as f32 } else { code as f32 };
        code / self.max_code as f32 * (self.max - self.min) + self.min
    }
}

/// The number of steps, rounded up: at least one, at most the largest `f32` below 2^32.
const fn steps(values: f32) -> u32 {
    let values = values.clamp(1.0, 4_294_967_040.0);
    let whole = values as u32;
    if whole as f32 == values { whole } else { whole + 1 }
}

/// The step nearest to the value, in the fewest bits.
#[inline(always)]
pub(super) fn compressed<S: Stream>(
    stream: &mut S,
    value: &mut f32,
    range: FloatRange,
) -> Result<(), S::Error> {
    let mut values = [*value];
    compressed_array(stream, &mut values, range)?;
    [*value] = values;
    Ok(())
}

/// Several values of one range, one after the other, in one word if they fit.
#[inline(always)]
pub(super) fn compressed_array<S: Stream, const N: usize>(
    stream: &mut S,
    values: &mut [f32; N],
    range: FloatRange,
) -> Result<(), S::Error> {
    if range.max_code == 0 {
        return misuse(stream, "FloatRange: needs finite min < max and a positive resolution");
    }
    let width = range.width();
    let mut codes = [0; N];
    if S::WRITING {
        if !values.iter().fold(true, |finite, value| finite & value.is_finite()) {
            let start = stream.position();
            stream.refuse_at(ErrorKind::NotFinite, start)?;
        }
        codes = values.map(|value| range.quantize(value));
    }
    super::vector::codes(stream, &mut codes, width, range.max_code)?;
    if S::READING {
        *values = codes.map(|code| range.dequantize(code));
    }
    Ok(())
}

/// The 32 bits of the float, any of them.
#[inline(always)]
pub(super) fn single<S: Stream>(stream: &mut S, value: &mut f32) -> Result<(), S::Error> {
    let mut bits = u64::from(value.to_bits());
    stream.raw_bits(&mut bits, 32)?;
    if S::READING {
        *value = f32::from_bits(bits as u32);
    }
    Ok(())
}

/// The 64 bits of the double, any of them.
#[inline(always)]
pub(super) fn double<S: Stream>(stream: &mut S, value: &mut f64) -> Result<(), S::Error> {
    let mut bits = value.to_bits();
    stream.raw_bits(&mut bits, 64)?;
    if S::READING {
        *value = f64::from_bits(bits);
    }
    Ok(())
}

/// The square root, correctly rounded on every platform.
#[inline(always)]
pub(super) fn sqrt(value: f32) -> f32 {
    #[cfg(feature = "std")]
    return value.sqrt();
    #[cfg(not(feature = "std"))]
    return libm::sqrtf(value);
}
