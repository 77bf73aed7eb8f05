//! The logistic distribution, in lanes of `f32`.
//!
//! Both sides compute it and must get the same bits. So there are only `+`, `-`, `*`, `/` and
//! conversions, each of which IEEE 754 rounds in one way, and sums in the order that is written
//! here. No lane is NaN or out of the range of the integer that it is converted to, since machines
//! convert those differently.

use wide::{bytemuck, f32x4, f32x8, i32x8};

/// Fraction bits of distances from the mean, which are in octaves of the tail: as many as a `f32`
/// has, so that a distance is an exponent and a mantissa.
const FRACTION: u32 = 23;
/// Distance beyond which the tail is constant: 23 octaves.
const REACH: f32 = (23 << FRACTION) as f32;
/// Factor from distances in octaves of the tail to distances in widths of the distribution.
pub(super) const OCTAVES: f32 = core::f32::consts::LN_2 / (1 << FRACTION) as f32;

/// Returns the cumulative probability at a distance from the mean, less 1/2. It never decreases
/// with the distance, after rounding too: each step here keeps the order of its arguments.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn cumulative(distance: f32x8) -> f32x8 {
    let far = distance.abs().fast_min(f32x8::splat(REACH));
    // 2^-far, straight between whole octaves.
    let tail = from_bits(i32x8::splat(127 << FRACTION) - far.fast_trunc_int());
    let above = f32x8::splat(1.0) / (f32x8::splat(1.0) + tail) - f32x8::splat(0.5);
    above ^ (distance & f32x8::splat(-0.0))
}

/// Returns the density where the cumulative probability is `0.5 + cumulative`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn density(cumulative: f32x8) -> f32x8 {
    f32x8::splat(0.25) - cumulative * cumulative
}

/// Returns about 2^log for logarithms with 11 fraction bits, exact for whole ones.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn exp2(log: i32x8) -> f32x8 {
    from_bits((i32x8::splat(127 << 11) + log) << (FRACTION - 11))
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn from_bits(bits: i32x8) -> f32x8 {
    bytemuck::cast(bits)
}

/// Adds the lanes.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn sum(x: f32x8) -> f32 {
    let [a, b, c, d, e, f, g, h] = x.to_array();
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Returns the [`sum`]s of two vectors.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn sums(x: f32x8, y: f32x8) -> [f32; 2] {
    let [x, y]: [[f32x4; 2]; 2] = bytemuck::cast([x, y]);
    let ([a, b, c, d], [e, f, g, h]) = ((x[0] + x[1]).to_array(), (y[0] + y[1]).to_array());
    let [a, b, e, f] = (f32x4::new([a, b, e, f]) + f32x4::new([c, d, g, h])).to_array();
    let [x, y, ..] = (f32x4::new([a, e, 0.0, 0.0]) + f32x4::new([b, f, 0.0, 0.0])).to_array();
    [x, y]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_worlds::volume;

    fn at(distance: i32) -> f32 {
        cumulative(f32x8::splat(distance as f32)).to_array()[0]
    }

    /// All distances are whole numbers after the conversion, so these are all that there are.
    #[test]
    fn the_cumulative_probability_never_decreases() {
        let last = (23 << 23) + 64;
        let step = volume(1009usize, 1);
        let mut before = f32x8::splat(at(-last));
        for first in (-last..last).step_by(8 * step) {
            let distance: [i32; 8] = core::array::from_fn(|lane| first + (lane * step) as i32);
            let now = cumulative(i32x8::from(distance).round_float()).to_array();
            assert!(before.to_array()[7] <= now[0] && now.is_sorted(), "at {first}");
            before = f32x8::from(now);
        }
    }

    #[test]
    fn the_cumulative_probability_never_decreases_where_an_octave_ends() {
        for octave in -23..=23 {
            let end = octave << 23;
            let near: Vec<f32> = (end - 5000..end + 5000).map(at).collect();
            assert!(near.is_sorted(), "octave {octave}");
        }
    }

    #[test]
    fn the_cumulative_probability_is_nearly_logistic_and_symmetric() {
        for distance in (-(20 << 23)..20 << 23).step_by(10_007) {
            let exact = 1.0 / (1.0 + libm::exp(f64::from(-distance) * f64::from(OCTAVES))) - 0.5;
            assert!((f64::from(at(distance)) - exact).abs() < 0.02, "at {distance}");
            assert_eq!(at(distance), -at(-distance));
        }
        assert_eq!((at(i32::MAX), at(0)), (at(23 << 23), 0.0));
    }

    #[test]
    fn powers_are_exact_for_whole_logarithms() {
        let logs = [-16, -5, -1, 0, 1, 2, 15, 20];
        let powers = exp2(i32x8::from(logs.map(|log| log << 11))).to_array();
        assert_eq!(powers.map(f64::from), logs.map(|log| libm::exp2(f64::from(log))));
    }
}
