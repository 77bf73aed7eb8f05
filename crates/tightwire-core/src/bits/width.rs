//! Number of bits that a range needs.

/// Returns the number of bits that hold every value of `min..=max`, coded as an offset from `min`.
///
/// Bounds of every integer type up to 64 bits, and of `i128`, fit the arguments;
/// [`bits_required_u128`] is for bounds that only `u128` can hold. A range of one value needs no
/// bits at all.
///
/// ```
/// use tightwire::bits::bits_required;
///
/// const HEALTH: u32 = bits_required(0, 1000);
/// assert_eq!(HEALTH, 10);
/// assert_eq!(bits_required(-100, 100), 8);
/// assert_eq!(bits_required(5, 5), 0);
/// ```
///
/// # Panics
///
/// In debug builds (and so in constants of debug builds) if the range is reversed.
#[must_use]
pub const fn bits_required(min: i128, max: i128) -> u32 {
    debug_assert!(min <= max, "bits_required: the range is reversed, swap min and max");
    width_of(max.wrapping_sub(min).cast_unsigned())
}

/// [`bits_required`] for bounds of type `u128`.
///
/// ```
/// assert_eq!(tightwire::bits::bits_required_u128(0, u128::MAX), 128);
/// ```
///
/// # Panics
///
/// In debug builds (and so in constants of debug builds) if the range is reversed.
#[must_use]
pub const fn bits_required_u128(min: u128, max: u128) -> u32 {
    debug_assert!(min <= max, "bits_required_u128: the range is reversed, swap min and max");
    width_of(max.wrapping_sub(min))
}

/// Width of the number `span`: of a field whose offsets are `0..=span`.
const fn width_of(span: u128) -> u32 {
    u128::BITS - span.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_power_of_two_costs_one_bit_more_than_the_number_below_it() {
        for width in 0..127 {
            let top = 1i128 << width;
            assert_eq!(bits_required(0, top - 1), width);
            assert_eq!(bits_required(0, top), width + 1);
            assert_eq!(bits_required(-top, -1), width);
            assert_eq!(bits_required_u128(7, 7 + (1 << width)), width + 1);
        }
    }

    #[test]
    fn the_full_range_of_each_type_costs_its_width() {
        assert_eq!(bits_required(i8::MIN.into(), i8::MAX.into()), 8);
        assert_eq!(bits_required(i16::MIN.into(), i16::MAX.into()), 16);
        assert_eq!(bits_required(i32::MIN.into(), i32::MAX.into()), 32);
        assert_eq!(bits_required(i64::MIN.into(), i64::MAX.into()), 64);
        assert_eq!(bits_required(i128::MIN, i128::MAX), 128);
        assert_eq!(bits_required(0, u64::MAX.into()), 64);
        assert_eq!(bits_required_u128(0, u128::MAX), 128);
    }
}
