//! Decoding: finds the value whose interval contains the code, with few evaluations of the mixture.

use super::fixed::{FRACTION, ONE};
use super::mixture::Scale;

/// Returns the base-2 logarithm with 8 fraction bits, accurate to a tenth.
fn rough_log2(x: u64) -> i64 {
    let zeros = x.leading_zeros().min(63);
    ((63 - zeros) as i64) << 8 | ((x << zeros) >> 55 & 255) as i64
}

/// Estimates the value from the best component of the mixture alone, by the inverse of the logistic
/// function.
pub(super) fn guess(mean: i64, width: i64, code: u64, whole: u64) -> i64 {
    // 177 / 256 is the natural logarithm of 2.
    let offset = (width * 177 * (rough_log2(code | 1) - rough_log2(whole - code))) >> (8 + 8);
    (mean + offset + ONE / 2) >> FRACTION
}

/// Finds the value whose interval, scaled by `unit`, contains `code`; returns the value and the
/// mixed probabilities at the edges of its interval. Each step extrapolates as if all values were
/// as likely as the current one. A step is at most `width` long at first, and the limit grows
/// fourfold with every step. From the sixth step on, every other step bisects the remaining range.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn find(
    scale: &Scale,
    (code, unit): (u64, u64),
    guess: i64,
    width: i64,
    mut evaluate: impl FnMut(i64) -> (u64, u64),
) -> (i64, (u64, u64)) {
    let (mut low, mut high) = (0, scale.high);
    let mut value = guess.clamp(scale.first, scale.last);
    let mut most = width.clamp(1, 1 << 32) as u64;
    let mut steps = 0;
    loop {
        let mixed = evaluate(value);
        let (start, end) = scale.interval(value, mixed);
        let (start, end) = (start * unit, end * unit);
        let size = (end - start).max(1);
        let is_above = code >= end;
        if low >= high || (code >= start && !is_above) {
            return (value, mixed);
        }
        let missing = if is_above { code - start } else { start - code + size - 1 };
        // A quotient above 64 is replaced by `most`, which saves the division.
        let step = if missing >> 6 > size { most } else { (missing / size).min(most) } as i64;
        value = if is_above {
            low = value + 1;
            value + step
        } else {
            high = value - 1;
            value - step
        };
        steps += 1;
        if steps >= 5 && steps % 2 == 0 && low > 0 && high < scale.high {
            value = low + (high - low) / 2;
        }
        // The bounds never cross, since the intervals leave no gap.
        value = value.clamp(low.min(high), high.max(low));
        most = most.saturating_mul(4).min(1 << 32);
    }
}
