//! The bitpacker: bits in and out of a byte slice, a word at a time.
//!
//! Bits fill a packet from the least significant bit of its first byte upwards. Nothing here
//! knows about ranges, types or errors with names: that is the business of the streams above.

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

/// Up to seven bytes as the upper ones of a word.
///
/// Small packets of any length are what a server reads most, and a loop over their bytes would
/// mispredict its end: the halves overlap instead, and bits that meet are the same.
#[inline(never)]
pub(crate) fn short_word(data: &[u8]) -> u64 {
    let at = |index: usize| u64::from(data[index]) << (8 * index);
    let word = match (data.first_chunk(), data.last_chunk()) {
        (Some(first), Some(last)) => {
            let overlap = 8 * (data.len() - 4);
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << overlap
        }
        _ if data.is_empty() => return 0,
        _ => at(0) | at(data.len() / 2) | at(data.len() - 1),
    };
    word << (64 - 8 * data.len())
}
