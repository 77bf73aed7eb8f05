//! Classes of magnitudes.

/// Fraction bits of means and distances, which are in codes.
pub(super) const FRACTION: u32 = 8;

/// Returns the class of a magnitude with `FRACTION` bits: 0 below a quarter of a code, then one per
/// octave, at most `most`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn bucket(magnitude: f32, most: usize) -> usize {
    bucket_of_exponent(magnitude.to_bits() >> 23 & 255, most)
}

/// Returns the class of a magnitude by its exponent, which is 133 for 64.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn bucket_of_exponent(exponent: u32, most: usize) -> usize {
    (exponent as usize).saturating_sub(132).min(most)
}

/// Returns the larger of two magnitudes. Neither is NaN, for which `f32::max` takes three more instructions.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_the_length_in_bits_of_the_quarters() {
        for magnitude in 0..100_000u32 {
            let bits = (32 - (magnitude >> 6).leading_zeros()) as usize;
            assert_eq!(bucket(magnitude as f32, 99), bits);
            assert_eq!(bucket(-(magnitude as f32), 11), bits.min(11));
        }
        assert_eq!(bucket(f32::MAX, 13), 13);
    }
}
