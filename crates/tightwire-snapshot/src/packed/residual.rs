//! The residual of a prediction: one width for all components, then the components.
//!
//! The width is coded as its distance from the expected one, in unary: 0, +1, -1, +2, -2 and so on,
//! and straight on where one side ends. One width for a vector takes about as many bits as three
//! separate codes (positions of `cubes_a`, each with its best parameters: 235 bytes a frame,
//! against 229 to 234 of four such codes), and is two operations instead of six.

use tightwire_core::stream::Stream;

/// Maps a signed number to an unsigned one, small ones to small ones.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// Returns the bits of the widest value.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn width_of<const N: usize>(values: &[u64; N]) -> u32 {
    let all = values.iter().fold(0, |all, value| all | value);
    u64::BITS - all.leading_zeros()
}

/// Returns the expected width of a residual after a motion of about this many codes. Derived from
/// the positions and rotations of `cubes_a` and `cubes_d`: the prediction of a fast motion is
/// relatively better than that of a slow one.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn expected_width(motion: u64) -> u32 {
    let bits = u64::BITS - motion.leading_zeros();
    if bits <= 3 { bits + 1 } else { (bits + 6) / 2 }
}

/// Returns the index of `width` among `0..=top` in the order of distance from `expected`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn rank(width: u32, expected: u32, top: u32) -> u32 {
    let near = expected.min(top - expected);
    let distance = width.abs_diff(expected);
    if distance > near { distance + near } else { 2 * distance - u32::from(width > expected) }
}

/// The inverse of [`rank`].
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn width_at(rank: u32, expected: u32, top: u32) -> u32 {
    let near = expected.min(top - expected);
    if rank > 2 * near {
        let distance = rank - near;
        // Only the longer side is left.
        if near == expected && expected + distance <= top {
            expected + distance
        } else {
            expected.saturating_sub(distance)
        }
    } else if rank % 2 == 1 {
        expected + rank.div_ceil(2)
    } else {
        expected - rank / 2
    }
}

/// Codes the components, each below `2^top`; `top` is at most 33.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn residual<S: Stream, const N: usize>(
    stream: &mut S,
    values: &mut [u64; N],
    expected: u32,
    top: u32,
) -> Result<(), S::Error> {
    let (mut place, mut width) = (0, 0);
    if S::WRITING {
        width = width_of(values).min(top);
        place = rank(width, expected, top);
        return write(stream, place, top, values, width);
    }
    stream.raw_unary(&mut place, top)?;
    if S::READING {
        width = width_at(place, expected, top);
    }
    components(stream, values, width)
}

/// Writes the rank of the width and the components, in one step if they fit a word, as they mostly
/// do.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn write<S: Stream, const N: usize>(
    stream: &mut S,
    mut place: u32,
    limit: u32,
    values: &mut [u64; N],
    width: u32,
) -> Result<(), S::Error> {
    let bits = place + 1 + N as u32 * width;
    if N > 1 && place < limit && bits < u64::BITS {
        let mut word = (side_by_side(values, width) << 1 | 1) << place;
        return stream.raw_fitting(&mut word, bits);
    }
    stream.raw_unary(&mut place, limit)?;
    components(stream, values, width)
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn side_by_side<const N: usize>(values: &[u64; N], width: u32) -> u64 {
    let mut word = 0;
    for (index, value) in values.iter().enumerate() {
        word |= value << (index as u32 * width);
    }
    word
}

/// Codes the components in this width.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn components<S: Stream, const N: usize>(
    stream: &mut S,
    values: &mut [u64; N],
    width: u32,
) -> Result<(), S::Error> {
    if N == 1 {
        // A single number fills its width, so its highest bit is known.
        let highest = (1u64 << width) >> 1;
        let mut rest = values[0] & !highest;
        stream.raw_bits(&mut rest, width.saturating_sub(1))?;
        values[0] = rest | highest;
        return Ok(());
    }
    if width * N as u32 <= u64::BITS {
        let mut word = if S::WRITING { side_by_side(values, width) } else { 0 };
        stream.raw_bits(&mut word, width * N as u32)?;
        if S::READING {
            let mask = (1u64 << width) - 1;
            for (index, value) in values.iter_mut().enumerate() {
                *value = word.unbounded_shr(index as u32 * width) & mask;
            }
        }
        return Ok(());
    }
    wide(stream, values, width)
}

/// Codes component by component: vectors of great width are rare.
#[cold]
#[inline(never)]
fn wide<S: Stream>(stream: &mut S, values: &mut [u64], width: u32) -> Result<(), S::Error> {
    for value in values {
        stream.raw_bits(value, width)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_has_its_own_index() {
        for top in 0..=33 {
            for expected in 0..=top {
                let mut seen = vec![false; top as usize + 1];
                for width in 0..=top {
                    let place = rank(width, expected, top);
                    assert_eq!(width_at(place, expected, top), width, "{place} {expected} {top}");
                    assert!(!core::mem::replace(&mut seen[place as usize], true));
                }
            }
        }
    }
}
