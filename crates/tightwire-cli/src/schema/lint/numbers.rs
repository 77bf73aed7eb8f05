//! Advice on numbers: ranges that waste almost a bit, missing ranges, resolutions that are too
//! fine.

use tightwire::FloatRange;
use tightwire::stream::{Number, Op};

use super::super::words;
use super::{Linter, Saving};

impl Linter<'_> {
    pub(super) fn number(&mut self, op: &Op) {
        match *op {
            Op::Int { min, max } if words::whole_type(min, max).is_some() => self.whole(op),
            Op::Bits { width: 32 | 64 } => self.whole(op),
            Op::Int { min, max } => self.integer(op, min, max),
            Op::Varint { bits: 8, .. } => {
                let what =
                    "a varint of 8 bits takes up to 16: without `varint` it takes 8".to_owned();
                self.advise("varint", what, Saving::UpTo(8));
            }
            Op::CompressedFloat(range) => self.float(range, 1),
            Op::CompressedVector { dimensions, range } => self.float(range, dimensions as u64),
            Op::Float | Op::Double => self.whole_floats(op, 1),
            Op::Quaternion | Op::Vector { dimensions: 4 } => {
                let better = Op::SmallestThree { bits: 10 };
                let what = format!(
                    "four whole floats: if they are a rotation, `smallest_three = 10` takes {} bits \
                     and is right to a fraction of a degree",
                    better.max_bits()
                );
                let saves = op.max_bits() - better.max_bits();
                self.advise("whole-float", what, Saving::UpTo(saves));
            }
            Op::Vector { dimensions } => self.whole_floats(op, dimensions as u64),
            Op::Enumerate { count } => self.variants(count),
            _ => {}
        }
    }

    /// Advises on a range of which a few values cost a bit.
    fn integer(&mut self, op: &Op, min: Number, max: Number) {
        let Some(fewer) = span(min, max).and_then(one_bit_fewer) else { return };
        let Some(new_max) = above(min, fewer) else { return };
        let better = Op::Int { min, max: new_max };
        let (bits, new_bits) = (op.max_bits(), better.max_bits());
        let what =
            format!("{min}..={max} takes {bits} bits where {min}..={new_max} takes {new_bits}");
        self.advise("wasted-bit", what, Saving::Always(bits.saturating_sub(new_bits)));
    }

    /// Advises on an integer with all values of its type.
    fn whole(&mut self, op: &Op) {
        if self.is_wider_than_seen() {
            return;
        }
        let bits = op.max_bits();
        let what = format!(
            "any {bits} bits: a `range` takes what its values need, and `varint` 8 bits for those \
             below 128"
        );
        self.advise("whole-integer", what, Saving::UpTo(bits.saturating_sub(8)));
    }

    fn float(&mut self, range: FloatRange, times: u64) {
        let (min, max, resolution) = (range.min(), range.max(), range.resolution());
        let width = range.width();
        let largest = min.abs().max(max.abs());
        let step = f32::from_bits(largest.to_bits() + 1) - largest;
        if resolution < step
            && let Some(better) = FloatRange::checked(min, max, step)
            && better.width() < width
        {
            let what = format!(
                "a resolution of {resolution} is finer than an f32 near {largest}, which has steps of \
                 {step}: that takes {} bits instead of {width}",
                better.width()
            );
            let saves = u64::from(width - better.width()) * times;
            return self.advise("too-fine", what, Saving::Always(saves));
        }
        if let Some(better) = coarser(range) {
            let what = format!(
                "{min}..={max} at {resolution} takes {width} bits where a resolution of {} takes {}",
                better.resolution(),
                better.width()
            );
            let saves = u64::from(width - better.width()) * times;
            self.advise("wasted-bit", what, Saving::Always(saves));
        }
    }

    fn whole_floats(&mut self, op: &Op, times: u64) {
        if self.is_wider_than_seen() {
            return;
        }
        let example = FloatRange::new(-1000.0, 1000.0, 0.01);
        let bits = op.max_bits() / times.max(1);
        let what = format!(
            "a whole float takes {bits} bits: with `min`, `max` and `resolution` it takes what they \
             need, {} for -1000..=1000 at 0.01",
            example.width()
        );
        let saves = bits.saturating_sub(example.width().into()) * times;
        self.advise("whole-float", what, Saving::UpTo(saves));
    }
}

/// Returns whether the operation has one value only.
pub(super) fn is_one_value(op: &Op) -> bool {
    match *op {
        Op::Bits { width } => width == 0,
        Op::Int { min, max } | Op::Fixed { min, max, .. } => span(min, max) == Some(0),
        Op::Enumerate { count } => count <= 1,
        Op::Vector { dimensions } | Op::CompressedVector { dimensions, .. } => dimensions == 0,
        _ => false,
    }
}

/// Returns the difference between the bounds of a range; `None` if they are invalid.
pub(super) fn span(min: Number, max: Number) -> Option<u128> {
    match (min, max) {
        (Number::Unsigned(min), Number::Unsigned(max)) => max.checked_sub(min),
        (Number::Signed(min), Number::Signed(max)) if min <= max => Some(max.abs_diff(min)),
        _ => None,
    }
}

fn above(min: Number, span: u128) -> Option<Number> {
    match min {
        Number::Unsigned(min) => min.checked_add(span).map(Number::Unsigned),
        Number::Signed(min) => min.checked_add_unsigned(span).map(Number::Signed),
        _ => None,
    }
}

/// Returns the bits of numbers up to `span`.
pub(super) fn width(span: u128) -> u64 {
    (u128::BITS - span.leading_zeros()).into()
}

/// Returns the largest number that takes one bit less, if it is not far below: most of that bit,
/// four fifths, is wasted.
pub(super) fn one_bit_fewer(span: u128) -> Option<u128> {
    let bits = u128::BITS - span.leading_zeros();
    let fits = u128::MAX.checked_shr(u128::BITS + 1 - bits).filter(|_| bits >= 2)?;
    (span - fits <= (fits + 1) / 7).then_some(fits)
}

/// Returns the range at a slightly coarser resolution that takes fewer bits.
fn coarser(range: FloatRange) -> Option<FloatRange> {
    let fits = one_bit_fewer(range.max_code().into())?;
    let exact = f64::from(range.max() - range.min()) / fits as f64;
    // Rounded up to four digits, which people can read.
    let unit = 10f64.powf(exact.log10().floor() - 3.0);
    let resolution = ((exact / unit).ceil() * unit) as f32;
    FloatRange::checked(range.min(), range.max(), resolution)
        .filter(|better| better.width() < range.width())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_few_values_above_a_power_of_two_waste_a_bit() {
        let fewer = [128, 127, 100, 1024, 1100, 1500, 8, 4, 2, 1, 0].map(one_bit_fewer);
        let expected = [Some(127), None, None, Some(1023), Some(1023), None, Some(7)];
        assert_eq!(fewer[..7], expected);
        assert_eq!(fewer[7..], [None; 4]);
        assert_eq!(one_bit_fewer(u128::MAX), None);
        assert_eq!(one_bit_fewer(1 << 127), Some(u128::MAX >> 1));
    }

    #[test]
    fn a_coarser_resolution_takes_fewer_bits() {
        let better = coarser(FloatRange::new(-256.0, 256.0, 0.5)).unwrap();
        assert_eq!((better.resolution(), better.width()), (0.5005, 10));
        assert_eq!(coarser(FloatRange::new(-256.0, 256.0, 0.01)), None);
    }
}
