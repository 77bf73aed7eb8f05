//! Arrays of `bool`s, eight at a time: one bit each, in the order of the array.

use super::{Stream, Target, check_not_failed};

/// The elements, packed into words.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn bools<S: Stream>(
    stream: &mut S,
    mut bools: Target<'_, S::Access, [bool]>,
) -> Result<(), S::Error> {
    let length = bools.len();
    // Whole bytes, and as many as one load reads at any position; an array that fits a word is one part.
    let most = if length <= 64 { 64 } else { 56 };
    let mut start = 0;
    while start < length {
        let end = length.min(start + most);
        let mut word = if S::WRITING { pack(&bools[start..end]) } else { 0 };
        stream.raw_fitting(&mut word, (end - start) as u32)?;
        if let Some(bools) = bools.when_reading() {
            unpack(word, &mut bools[start..end]);
        }
        start = end;
    }
    if length == 0 { check_not_failed(stream) } else { Ok(()) }
}

/// Packs up to 64 `bool`s, the first into the lowest bit.
#[cfg_attr(not(debug_assertions), inline(always))]
fn pack(bools: &[bool]) -> u64 {
    let (eights, rest) = bools.as_chunks();
    let mut word = u64::from(eight_to_byte(padded(rest))).unbounded_shl(8 * eights.len() as u32);
    for (index, &eight) in eights.iter().enumerate() {
        word |= u64::from(eight_to_byte(eight)) << (8 * index);
    }
    word
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn unpack(mut word: u64, bools: &mut [bool]) {
    let (eights, rest) = bools.as_chunks_mut();
    for eight in eights {
        *eight = byte_to_eight(word as u8);
        word >>= 8;
    }
    rest.copy_from_slice(&byte_to_eight(word as u8)[..rest.len()]);
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn padded(bools: &[bool]) -> [bool; 8] {
    let mut eight = [false; 8];
    eight[..bools.len()].copy_from_slice(bools);
    eight
}

/// Byte `i` is 0 or 1, and the multiplication moves it to bit `56 + i`; nothing else reaches the
/// highest byte.
#[cfg_attr(not(debug_assertions), inline(always))]
fn eight_to_byte(bools: [bool; 8]) -> u8 {
    (u64::from_le_bytes(bools.map(u8::from)).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// The byte is copied to all eight, each keeps its own bit, and the addition carries it to the
/// highest bit of its byte.
#[cfg_attr(not(debug_assertions), inline(always))]
fn byte_to_eight(byte: u8) -> [bool; 8] {
    let own = u64::from(byte).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    let ones = (own + 0x7f7f_7f7f_7f7f_7f7f) >> 7 & 0x0101_0101_0101_0101;
    ones.to_le_bytes().map(|one| one != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_every_length_survive() {
        for byte in 0..=u8::MAX {
            assert_eq!(byte_to_eight(byte), core::array::from_fn(|bit| byte >> bit & 1 != 0));
            assert_eq!(eight_to_byte(byte_to_eight(byte)), byte);
        }
        for length in 0..=64 {
            let word = 0x9e37_79b9_7f4a_7c15u64.unbounded_shr(64 - length);
            let mut bools = [false; 64];
            let bools = &mut bools[..length as usize];
            unpack(word, bools);
            assert_eq!(pack(bools), word);
        }
    }
}
