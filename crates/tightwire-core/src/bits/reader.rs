//! Reading bits out of a byte slice.
//!
//! A failure is stored in the position, so that the one bounds comparison of every read also
//! detects an earlier failure.

use core::fmt;

use super::{WORD_FIELD, low_mask, short_word, shortest_word};

/// Reads bits from a byte slice of any length, without padding behind it: no load goes past the
/// end.
///
/// A read loads the 64-bit word that starts at its byte. The last word of the packet is loaded when
/// the reader is created, so the end of the packet needs no slow path. After a failed read every
/// further read fails too.
///
/// Method grammar: nouns are getters, verbs read.
///
/// ```
/// use tightwire::bits::{BitReader, BitReadError};
///
/// let mut reader = BitReader::new(&[0x45, 0x1f]);
/// assert_eq!(reader.read_bits(3)?, 5);
/// assert_eq!(reader.read_bits(10)?, 1000);
/// assert_eq!(reader.remaining(), 3);
/// assert_eq!(reader.read_bits(4), Err(BitReadError));
/// assert_eq!(reader.read_bits(1), Err(BitReadError));
/// # Ok::<(), BitReadError>(())
/// ```
#[derive(Clone)]
pub struct BitReader<'a> {
    data: &'a [u8],
    /// Last eight bytes of the packet; a shorter packet is in the upper bytes.
    last_word: u64,
    /// Bits read so far. [`FAILED`] is set after a failure, so that the one comparison with `end`
    /// fails every further read.
    position: u64,
    /// Length of the packet in bits; 0 after a failure.
    end: u64,
}

/// Flag in `position` after a failure, beyond the end of any packet.
const FAILED: u64 = 1 << 62;

/// Error of a read: the packet ended before the value did, or the width was above 64.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BitReadError;

impl<'a> BitReader<'a> {
    /// Creates a reader at the first bit of `data`.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn new(data: &'a [u8]) -> Self {
        let last_word = match data.last_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => short_word(data),
        };
        Self { data, last_word, position: 0, end: data.len() as u64 * 8 }
    }

    /// Like [`new`](Self::new), for packets of which some are longer than a word and some shorter.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn of_any_length(data: &'a [u8]) -> Self {
        Self::from_parts(data, last_word(data), 0)
    }

    /// Number of bits read so far.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn position(&self) -> u64 {
        self.position & !FAILED
    }

    /// Number of bits left; 0 after a failure.
    #[must_use]
    #[inline]
    pub fn remaining(&self) -> u64 {
        self.end.saturating_sub(self.position)
    }

    /// Whether a read has failed.
    #[must_use]
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.position & FAILED != 0
    }

    /// Reads a field of `width` bits, `width` being `0..=64`.
    ///
    /// # Errors
    ///
    /// [`BitReadError`] if fewer than `width` bits are left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read_bits(&mut self, width: u32) -> Result<u64, BitReadError> {
        if width <= WORD_FIELD {
            return self.read_word(width);
        }
        // The field can span nine bytes: the ninth holds the bits beyond the first word.
        let start = (self.position >> 3) as usize;
        if let Some((&last, bytes)) = self.data.get(start..start + 9).and_then(<[u8]>::split_last)
            && let Ok(bytes) = bytes.try_into()
            && width <= u64::BITS
        {
            let shift = self.position & 7;
            let value = u64::from_le_bytes(bytes) >> shift | u64::from(last) << 1 << (63 - shift);
            self.position += u64::from(width);
            return Ok(value & u64::MAX >> (u64::BITS - width));
        }
        // Checked before the first half is read, so that a failed read consumes nothing.
        if self.position + u64::from(width) > self.end || width > u64::BITS {
            return self.refuse();
        }
        let low = self.read_word(32)?;
        let high = self.read_word(width - 32)?;
        Ok(low | high << 32)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read_word(&mut self, width: u32) -> Result<u64, BitReadError> {
        let start = (self.position >> 3) as usize;
        let bytes = self.data.get(start..start + 8).and_then(|bytes| bytes.try_into().ok());
        let (word, shift) = match bytes {
            // Eight bytes are left, so any field of up to `WORD_FIELD` bits is complete.
            Some(bytes) => (u64::from_le_bytes(bytes), self.position & 7),
            None => {
                let remaining = self.end.wrapping_sub(self.position);
                if i64::from(width) > remaining.cast_signed() {
                    return self.refuse();
                }
                // The bits left are the upper bits of `last_word`. If none are left, the width is
                // 0.
                (self.last_word, remaining.wrapping_neg() & 63)
            }
        };
        self.position += u64::from(width);
        Ok(word >> shift & low_mask(width))
    }

    /// Like [`read_bits`](Self::read_bits), for a field of at most 8 bits that often comes first in a packet.
    ///
    /// There it is read from the first byte, whatever the length of the packet, which is not predictable.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn read_first(&mut self, width: u32) -> Result<u64, BitReadError> {
        match self.data.first() {
            Some(&first) if self.position == 0 && width <= 8 => {
                self.position = u64::from(width);
                Ok(u64::from(first) & low_mask(width))
            }
            _ => self.read_bits(width),
        }
    }

    /// Returns at least the next [`WORD_FIELD`] bits without reading them; `None` if fewer than eight
    /// bytes are left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn ahead(&self) -> Option<u64> {
        let start = (self.position >> 3) as usize;
        let bytes = self.data.get(start..start + 8)?.try_into().ok()?;
        Some(u64::from_le_bytes(bytes) >> (self.position & 7))
    }

    /// Skips `width` of the bits that [`ahead`](Self::ahead) returned.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn skip(&mut self, width: u32) {
        self.position += u64::from(width.min(WORD_FIELD));
    }

    /// Reads a bit and, if it is set, a field of `width < 64` bits. Returns the bit, or `None` if the
    /// packet ends before the bit or the field; the position is then that of the part that is missing.
    /// Bits of the field beyond its width are unspecified.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn read_option(&mut self, width: u32) -> (Option<bool>, u64) {
        let (position, value) = option_at(self.data, self.last_word, self.position, width);
        self.position = position;
        if self.has_failed() {
            self.fail();
            return (None, 0);
        }
        (Some(value & IS_SOME != 0), value)
    }

    /// The packet, its last word and the position, for a function that is not inlined; a reader that has
    /// failed is behind the end of its packet.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn parts(&self) -> (&'a [u8], u64, u64) {
        (self.data, self.last_word, self.position)
    }

    /// Creates a reader from the [`parts`](Self::parts) of another one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn from_parts(data: &'a [u8], last_word: u64, position: u64) -> Self {
        Self { data, last_word, position, end: data.len() as u64 * 8 }
    }

    /// Goes on at the bit `position`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn go_to(&mut self, position: u64) {
        self.position = position;
    }

    /// Reads a unary number: counts zeros up to the next one bit, and consumes both. After `limit`
    /// zeros no one bit follows, and none is consumed.
    ///
    /// # Errors
    ///
    /// [`BitReadError`] if the packet ends before the one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read_unary(&mut self, limit: u32) -> Result<u32, BitReadError> {
        let mut zeros = 0;
        loop {
            // Fewer bits at the end of the packet, but at least one before the limit, so that a
            // read past the end fails.
            let ahead = (limit - zeros).min(WORD_FIELD).min(self.remaining().clamp(1, 64) as u32);
            let start = self.position;
            let bits = self.read_word(ahead)?;
            if bits != 0 {
                let run = bits.trailing_zeros();
                self.position = start + u64::from(run) + 1;
                return Ok(zeros + run);
            }
            zeros += ahead;
            if zeros == limit {
                return Ok(limit);
            }
        }
    }

    /// Skips to the next whole byte. Returns `Ok(false)` if a padding bit was set; the reader then
    /// has not moved, and every further read fails.
    ///
    /// # Errors
    ///
    /// [`BitReadError`] if the reader has already failed.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn align(&mut self) -> Result<bool, BitReadError> {
        let used = self.position & 7;
        if used == 0 {
            return if self.has_failed() { Err(BitReadError) } else { Ok(true) };
        }
        // One byte is enough, since padding never reaches into the next. Every string is aligned,
        // so this is hot.
        let Some(byte) = self.data.get((self.position >> 3) as usize) else { return self.refuse() };
        let is_zero = byte >> used == 0;
        if is_zero {
            self.position += 8 - used;
        } else {
            self.fail();
        }
        Ok(is_zero)
    }

    /// Returns the next `length` bytes of the packet without copying them; the position must be a
    /// whole byte.
    ///
    /// # Errors
    ///
    /// [`BitReadError`] if fewer bytes are left, or the position is within a byte: call
    /// [`align`](Self::align) first.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read_bytes(&mut self, length: usize) -> Result<&'a [u8], BitReadError> {
        let start = (self.position >> 3) as usize;
        let bytes = self.data.get(start..).and_then(|rest| rest.get(..length));
        match bytes {
            Some(bytes) if self.position & 7 == 0 && !self.has_failed() => {
                self.position += length as u64 * 8;
                Ok(bytes)
            }
            _ => self.refuse(),
        }
    }

    /// Whether the whole packet has been read, except for less than a byte of zero padding.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn is_at_end(&self) -> bool {
        let remaining = self.end.wrapping_sub(self.position);
        // The shift counts for less than 8 bits. One comparison for both, since every packet is asked.
        let padding = (self.last_word >> 1).wrapping_shr(!remaining as u32);
        (remaining >> 3 | padding) == 0
    }

    /// Makes every further read fail.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn fail(&mut self) {
        self.position |= FAILED;
        self.data = &[];
        self.end = 0;
    }

    /// Inlined, like every function that takes `self`: a call would force the state out of
    /// registers.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refuse<T>(&mut self) -> Result<T, BitReadError> {
        self.fail();
        Err(BitReadError)
    }
}

/// Returns the last eight bytes of a packet; a shorter packet is in the upper bytes.
///
/// Where the lengths are not predictable, a branch costs more than this: four bytes and more are loaded in
/// two halves, without one.
#[cfg_attr(not(debug_assertions), inline(always))]
fn last_word(data: &[u8]) -> u64 {
    let Some(high) = data.last_chunk() else { return shortest_word(data) };
    let end = data.len().max(8);
    let low = *data.get(end - 8..).and_then(<[u8]>::first_chunk).unwrap_or(high);
    // What both halves have is shifted out of the lower one.
    let overlap = 8 * (end - data.len());
    let low = (u64::from(u32::from_le_bytes(low)) << overlap) as u32;
    u64::from(low) | u64::from(u32::from_le_bytes(*high)) << 32
}

/// [`BitReader::read_option`] as a call, since the code of two reads would otherwise be repeated for every
/// option of every type. Returns the position, with [`FAILED`] after a failure, and the value, with
/// [`IS_SOME`] if there is one.
///
/// `"C"` tells the compiler that the call does not unwind, so that no caller needs code and tables to drop
/// its values then.
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "only Rust calls it")]
extern "C" fn option_at(data: &[u8], last_word: u64, position: u64, width: u32) -> (u64, u64) {
    let mut reader = BitReader::from_parts(data, last_word, position);
    match reader.read_word(1) {
        Ok(0) => (reader.position, 0),
        Ok(_) => match reader.read_bits(width) {
            Ok(value) => (reader.position, value | IS_SOME),
            Err(_) => (reader.position | FAILED, 0),
        },
        Err(_) => (reader.position | FAILED, 0),
    }
}

/// Flag in the value that [`option_at`] returns, above all of its bits.
const IS_SOME: u64 = 1 << 63;

impl fmt::Debug for BitReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BitReader")
            .field("position", &self.position())
            .field("remaining", &self.remaining())
            .field("has_failed", &self.has_failed())
            .finish()
    }
}

impl fmt::Display for BitReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the packet ends before this value does: it was cut short, or is of another type",
        )
    }
}

impl core::error::Error for BitReadError {}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn every_width_at_every_position_of_packets_of_every_length() {
        let bytes: Vec<u8> = (0..40u8).map(|i| i.wrapping_mul(151).wrapping_add(89)).collect();
        let bit = |index: u64| u64::from(bytes[(index / 8) as usize] >> (index % 8) & 1);
        for length in 0..bytes.len() {
            for start in 0..=length as u64 * 8 {
                for width in 0..=64 {
                    let mut reader = BitReader::new(&bytes[..length]);
                    reader.position = start;
                    let fits = start + u64::from(width) <= length as u64 * 8;
                    let expected = (0..u64::from(width))
                        .rev()
                        .filter(|_| fits)
                        .fold(0, |value, i| value << 1 | bit(start + i));
                    assert_eq!(
                        reader.read_bits(width),
                        if fits { Ok(expected) } else { Err(BitReadError) },
                        "{width} bits at bit {start} of {length} bytes",
                    );
                }
            }
        }
    }

    #[test]
    fn a_first_field_is_read_like_any_other() {
        let bytes: Vec<u8> = (0..12u8).map(|i| i.wrapping_mul(151).wrapping_add(89)).collect();
        for length in 0..bytes.len() {
            for start in 0..=8 {
                for width in 0..=8 {
                    let mut reader = BitReader::new(&bytes[..length]);
                    let mut first = BitReader::of_any_length(&bytes[..length]);
                    assert_eq!(first.last_word, reader.last_word);
                    let skipped = reader.read_bits(start);
                    assert_eq!(first.read_bits(start), skipped);
                    let place = (length, start, width);
                    assert_eq!(first.read_first(width), reader.read_bits(width), "{place:?}");
                    assert_eq!(first.position, reader.position, "{place:?}");
                }
            }
        }
    }

    #[test]
    fn after_a_refusal_even_values_of_no_bits_are_refused() {
        let mut reader = BitReader::new(&[0; 32]);
        assert_eq!(reader.read_bits(65), Err(BitReadError));
        assert!(reader.has_failed());
        assert_eq!(reader.read_bits(0), Err(BitReadError));
        assert_eq!(reader.read_bits(64), Err(BitReadError));
        assert_eq!(reader.read_bytes(0), Err(BitReadError));
        assert_eq!(reader.align(), Err(BitReadError));
        assert_eq!((reader.position(), reader.remaining()), (0, 0));
    }

    #[test]
    fn unary_counts_zeros_up_to_its_limit() {
        let mut packet = [0; 20];
        packet[12] = 0b1000_0001;
        let mut reader = BitReader::new(&packet);
        assert_eq!(reader.read_unary(1000), Ok(96));
        assert_eq!(reader.read_unary(6), Ok(6));
        assert_eq!(reader.read_unary(0), Ok(0));
        assert_eq!(reader.read_unary(1), Ok(0));
        assert_eq!(reader.position(), 104);
        assert_eq!(reader.read_unary(56), Ok(56));
        assert_eq!(reader.read_unary(1), Err(BitReadError));
        assert_eq!(reader.read_unary(0), Err(BitReadError), "after a refusal");
    }

    #[test]
    fn padding_must_be_zero() {
        let mut reader = BitReader::new(&[0b0000_0101, 0b0001_0001]);
        assert_eq!(reader.read_bits(3), Ok(5));
        assert_eq!(reader.align(), Ok(true));
        assert_eq!(reader.align(), Ok(true));
        assert_eq!(reader.read_bits(1), Ok(1));
        assert_eq!(reader.align(), Ok(false));
        assert_eq!(reader.position(), 9);
        assert_eq!(reader.read_bits(1), Err(BitReadError));
    }

    #[test]
    fn bytes_are_a_view_into_the_packet() {
        let packet = [1, 2, 3, 4];
        let mut reader = BitReader::new(&packet);
        assert_eq!(reader.read_bits(8), Ok(1));
        assert_eq!(reader.read_bytes(2), Ok(&packet[1..3]));
        assert_eq!(reader.read_bytes(2), Err(BitReadError));
        let mut reader = BitReader::new(&packet);
        assert_eq!(reader.read_bits(1), Ok(1));
        assert_eq!(reader.read_bytes(1), Err(BitReadError), "not at a whole byte");
    }
}
