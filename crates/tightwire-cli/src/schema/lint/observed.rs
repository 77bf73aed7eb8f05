//! Advice from a capture: fields that never varied, and fields that used a part of their range.

use tightwire::FloatRange;
use tightwire::stream::{Number, Op, Shape};

use super::super::words;
use super::statistics::ENOUGH;
use super::{Linter, Saving};
use crate::terminal::counted;

impl Linter<'_> {
    /// Advises on a field if it has the same value in all packets, and returns whether it has.
    pub(super) fn never_varied(&mut self, shape: &Shape) -> bool {
        let seen = self.seen.and_then(|seen| seen.values(&self.path));
        let Some(values) = seen.filter(|values| values.count >= ENOUGH) else { return false };
        if !matches!(shape, Shape::Op(_) | Shape::Enum { .. }) {
            return false;
        }
        if values.varies {
            let range = values.range;
            if let (Some(range), Shape::Op(op)) = (range, shape) {
                self.smaller_than_declared(op, range);
            }
            return false;
        }
        let what = format!(
            "is {} in all {} of this capture: send it once, or behind `when`",
            values.first,
            counted(values.count, "value")
        );
        let saves = match shape {
            Shape::Op(
                Op::String { max_len } | Op::WideString { max_len } | Op::Blob { max_len },
            ) => words::width(*max_len as u64) + 8 * values.length,
            Shape::Op(op) => op.max_bits(),
            shape => words::bits(shape).0,
        };
        self.advise("never-varies", what, Saving::UpTo(saves));
        true
    }

    /// Returns whether the last advice was to narrow this field's range.
    pub(super) fn is_wider_than_seen(&self) -> bool {
        self.advice
            .last()
            .is_some_and(|advice| advice.rule == "wider-than-seen" && advice.path == self.path)
    }

    /// Advises on numbers that used only a part of their range.
    fn smaller_than_declared(&mut self, op: &Op, (low, high): (f64, f64)) {
        let bits = op.max_bits();
        let (better, what) = match *op {
            Op::Int { .. } | Op::Bits { .. } | Op::Varint { .. } => {
                // Above 2^53, an `f64` does not hold every integer.
                if low.abs().max(high.abs()) >= 2f64.powi(53) {
                    return;
                }
                let (min, max) = (low as i128, high as i128);
                let range = Op::Int { min: Number::Signed(min), max: Number::Signed(max) };
                (range.max_bits(), format!("`{min}..={max}`"))
            }
            Op::CompressedFloat(range) | Op::CompressedVector { range, .. } => {
                let Some(better) = float_range(low, high, range.resolution()) else { return };
                let dimensions = bits / u64::from(range.width()).max(1);
                (dimensions * u64::from(better.width()), in_words(better))
            }
            Op::Float | Op::Double | Op::Vector { .. } => {
                let Some(better) = float_range(low, high, 0.01) else { return };
                let dimensions = match *op {
                    Op::Vector { dimensions } => dimensions as u64,
                    _ => 1,
                };
                (dimensions * u64::from(better.width()), in_words(better))
            }
            _ => return,
        };
        // One bit is not worth advice: the values of the next session may need it.
        if better + 2 <= bits {
            // Printed as `f32`, the bounds have only the digits that were sent.
            let (low, high) = (low as f32, high as f32);
            let what = format!(
                "`{}` was from {low} to {high} in this capture: if it never exceeds that, {what} \
                 takes {better} bits instead of {bits}",
                words::operation(op)
            );
            self.advise("wider-than-seen", what, Saving::UpTo(bits - better));
        }
    }
}

/// Returns a range around the observed values, in round numbers.
fn float_range(low: f64, high: f64, resolution: f32) -> Option<FloatRange> {
    let most = low.abs().max(high.abs()).max(f64::from(resolution));
    let max = 2f64.powf(most.log2().ceil());
    let min = if low < 0.0 { -max } else { 0.0 };
    FloatRange::checked(min as f32, max as f32, resolution)
}

fn in_words(range: FloatRange) -> String {
    format!(
        "`min = {:?}, max = {:?}, resolution = {:?}`",
        range.min(),
        range.max(),
        range.resolution()
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn observed_values_get_a_rounded_range() {
        let range = float_range(-3.2, 100.5, 0.01).unwrap();
        assert_eq!((range.min(), range.max()), (-128.0, 128.0));
        assert_eq!(float_range(0.0, 0.0, 0.5).unwrap().max(), 0.5);
    }
}
