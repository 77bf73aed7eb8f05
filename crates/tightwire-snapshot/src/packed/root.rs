//! A square root that is fast, accurate enough for a prediction, and the same on every machine.

/// Roots of `64/256 ..= 256/256`, in 1/65536.
const ROOTS: [u32; 194] = {
    let mut roots = [0; 194];
    let mut index = 0;
    while index < roots.len() {
        roots[index] = ((index as u64 + 64) << 24).isqrt() as u32;
        index += 1;
    }
    roots
};

/// Returns the root of `value`, off by less than one in 2^16 of itself.
///
/// Interpolates a table linearly: with the exact root of the standard library, encoding takes a
/// tenth longer (cubes_d, alternating runs), and packets are no smaller.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn root(value: u64) -> u64 {
    // An even shift, so that the root's shift is half of it; now the top byte is 64 or more.
    let shift = value.leading_zeros() & !1;
    let aligned = value.unbounded_shl(shift);
    let index = ((aligned >> 56) as usize).saturating_sub(64);
    let (low, high) = (ROOTS[index], ROOTS[index + 1]);
    let between = (aligned >> 40 & 0xffff) as u32;
    let root = u64::from(low) << 16;
    let root = root + u64::from(high - low) * u64::from(between);
    // 32 bits of root belong to an aligned value of 64 bits.
    root >> (shift / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_near() {
        let mut value = 1u64;
        while value < 1 << 62 {
            let exact = value.isqrt();
            let near = root(value);
            assert!(near.abs_diff(exact) <= 1 + (exact >> 15), "{value}: {near}, not {exact}");
            value += value / 97 + 1;
        }
        assert_eq!(root(0), 0);
        assert!(root(u64::MAX).abs_diff(u64::MAX.isqrt()) < 1 << 16);
    }
}
