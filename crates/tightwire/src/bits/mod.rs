//! The bitpacker: bits in and out of a byte slice, a word at a time.
//!
//! Bits fill a packet from the least significant bit of its first byte upwards. Nothing here
//! knows about ranges, types or errors with names: that is the business of the streams above.

mod reader;
mod width;
mod writer;

pub use reader::{BitReader, UnexpectedEnd};
pub use width::{bits_required, bits_required_u128};
pub use writer::{BitWriter, Checkpoint, WriteRefused};

/// The widest field that one 64-bit word holds at each of the eight bit positions in a byte.
const WORD_FIELD: u32 = 57;

/// The lowest `width` bits set; `width` is at most 63.
const fn low_mask(width: u32) -> u64 {
    (1 << width) - 1
}
