//! Decoding: finds the value whose interval contains the code, with few evaluations of the mixture.

use super::bucket::FRACTION;
use super::logistic::{OCTAVES, cumulative, density, sum};
use super::mixture::{Edges, Lanes, PARTS};
use super::scale::Scale;
use wide::f32x8;

/// Finds the value whose interval, scaled by `unit`, contains `code`; returns the value and its
/// edges. Each step extrapolates as if all values were as likely as the current one. A step is at
/// most as long as the width of the best part at first, and the limit grows fourfold with every
/// step. From the third step on there is no limit, since far from all parts every value is equally
/// likely; from the fourth on, every other step bisects the remaining range.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn find(scale: &Scale, lanes: &Lanes, (code, unit): (u64, u64)) -> (i64, Edges) {
    let (guess, width) = guess(scale, lanes, code, unit << scale.bits);
    let (mut low, mut high) = (0, scale.high);
    let mut value = guess.clamp(scale.first, scale.last);
    let mut most = (width as i64 >> FRACTION).clamp(1, 1 << 32) as u64;
    let mut steps = 0;
    loop {
        let edges = lanes.edges(value);
        let (start, end) = scale.interval(value, edges.whole);
        let (start, end) = (start * unit, end * unit);
        let size = (end - start).max(1);
        let is_above = code >= end;
        if low >= high || (code >= start && !is_above) {
            return (value, edges);
        }
        let missing = if is_above { code - start } else { start - code + size - 1 };
        // A quotient above 64 is replaced by `most`, which saves the division.
        let is_far = missing >> 6 > size && steps < 2;
        let step = if is_far { most } else { (missing / size).min(most) } as i64;
        value = if is_above {
            low = value + 1;
            value + step
        } else {
            high = value - 1;
            value - step
        };
        steps += 1;
        if steps >= 4 && steps % 2 == 0 && low > 0 && high < scale.high {
            value = low + (high - low) / 2;
        }
        // The bounds never cross, since the intervals leave no gap.
        value = value.clamp(low.min(high), high.max(low));
        most = if steps < 2 { most.saturating_mul(4).min(1 << 32) } else { 1 << 32 };
    }
}

/// Estimates the value: by the best part alone, and then by a step of Newton's method on the
/// mixture. Also returns the width of that part, with 8 fraction bits. Only the decoder computes
/// this, and a bad estimate costs only time.
#[cfg_attr(not(debug_assertions), inline(always))]
fn guess(scale: &Scale, lanes: &Lanes, code: u64, whole: u64) -> (i64, f32) {
    // The best part has the weight 1.
    let best = lanes.weights.simd_eq(f32x8::splat(1.0)).to_bitmask().trailing_zeros();
    let best = best as usize % PARTS;
    let width = 1.0 / (lanes.inverse.to_array()[best] * OCTAVES);
    // Natural logarithm of the odds, with 8 fraction bits: 177 / 256 is that of 2.
    let odds = (177 * (rough_log2(code | 1) - rough_log2(whole - code))) >> 8;
    let start = lanes.means.to_array()[best] as f32 + width * (odds as f32) * (1.0 / 256.0);
    let mass = (scale.top - scale.bottom) as f32;
    let target = code as f32 / whole as f32 * mass + scale.bottom as f32;
    let distances = (f32x8::splat(start) - lanes.means.round_float()) * lanes.inverse;
    let cumulative = cumulative(distances);
    let slope = sum(density(cumulative) * lanes.weights * lanes.inverse) * lanes.unit * OCTAVES;
    let step = (target - lanes.mix(cumulative)) / (slope + 1e-6);
    let estimate = start + step.clamp(-2.0 * width, 2.0 * width);
    let half = 1 << (FRACTION - 1);
    (lanes.base + ((estimate.clamp(-1e9, 1e9) as i64 + half) >> FRACTION), width)
}

/// Returns the base-2 logarithm with 8 fraction bits, accurate to a tenth.
fn rough_log2(x: u64) -> i64 {
    let zeros = x.leading_zeros().min(63);
    ((63 - zeros) as i64) << 8 | ((x << zeros) >> 55 & 255) as i64
}
