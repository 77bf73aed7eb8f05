//! The bitpacker: bits in and out of a byte slice, a word at a time.
//!
//! Bits fill a packet from the least significant bit of its first byte upwards. This layer knows
//! widths only; ranges, types and named errors belong to the streams above it.

mod reader;
mod width;
mod writer;

pub use reader::{BitReadError, BitReader};
pub use width::{bits_required, bits_required_u128};
pub use writer::{BitWriteError, BitWriter, Checkpoint};

/// The widest field that one 64-bit word holds at each of the eight bit positions in a byte.
const WORD_FIELD: u32 = 57;

/// The lowest `width` bits set; `width` is at most 63.
const fn low_mask(width: u32) -> u64 {
    (1 << width) - 1
}

/// Loads up to seven bytes into the upper bytes of a word.
///
/// Servers mostly read small packets of varying length. A loop over their bytes would mispredict
/// its end, so two loads overlap instead; the bits that they share are equal.
///
/// `"C"` tells the compiler that the call does not unwind, so that no caller needs code and tables to drop
/// its values then.
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "only Rust calls it")]
pub(crate) extern "C" fn short_word(data: &[u8]) -> u64 {
    low_word(data).unbounded_shl(u64::BITS - 8 * data.len() as u32)
}

/// Loads up to seven bytes into the lower bytes of a word.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn low_word(data: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (data.first_chunk(), data.last_chunk()) else {
        return shortest_word(data).unbounded_shr(u64::BITS - 8 * data.len() as u32);
    };
    let overlap = 8 * (data.len() - 4);
    u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << overlap
}

/// [`short_word`] of up to three bytes.
#[cold]
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "only Rust calls it")]
pub(crate) extern "C" fn shortest_word(data: &[u8]) -> u64 {
    let at = |index: usize| u64::from(data[index]) << (8 * index);
    match data.len() {
        0 => 0,
        length => (at(0) | at(length / 2) | at(length - 1)) << (64 - 8 * length),
    }
}

/// Whether a byte is zero. Checks eight bytes at a time: names and chat lines are short, and a loop
/// over bytes would mispredict its end.
#[inline]
pub(crate) fn contains_zero(bytes: &[u8]) -> bool {
    let last = match bytes.last_chunk() {
        Some(last) => u64::from_le_bytes(*last),
        // The missing bytes are filled with ones, which are not zero.
        None => low_word(bytes) | u64::MAX.unbounded_shl(bytes.len() as u32 * 8),
    };
    let (words, _) = bytes.as_chunks();
    words.iter().fold(zero_bytes(last), |found, word| found | zero_bytes(u64::from_le_bytes(*word)))
        != 0
}

/// Returns a number that is not 0 if a byte of the word is zero.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) const fn zero_bytes(word: u64) -> u64 {
    // A byte borrows from the bit above only if it is zero, or if a lower byte is zero.
    word.wrapping_sub(LOW_BITS) & !word & (LOW_BITS << 7)
}

/// Whether each byte of the word is an ASCII character, and none is zero.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) const fn is_ascii_without_zero(word: u64) -> bool {
    // A zero borrows the highest bit of its byte, which no other character of ASCII gets.
    (word | word.wrapping_sub(LOW_BITS)) & (LOW_BITS << 7) == 0
}

/// The lowest bit of each byte.
const LOW_BITS: u64 = u64::MAX / 255;
