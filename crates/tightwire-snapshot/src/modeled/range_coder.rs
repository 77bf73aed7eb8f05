//! An arithmetic coder with a 64-bit interval, and the trait through which the model codes.

use alloc::vec::Vec;

use crate::trace::Marked;
use tightwire_core::stream::ErrorKind;

/// An encoder or a decoder: encoding writes the given value, decoding ignores it and returns the
/// value read. All model code is generic over this trait, so the two sides cannot differ.
pub(super) trait Coder: Marked {
    const DECODES: bool;

    /// Codes a bit whose probability of being set is `chance / 2^16`, `0 < chance < 2^16`.
    fn bit(&mut self, chance: u32, bit: bool) -> bool;

    /// Returns the position of the coded value in the range, and the unit of intervals of `2^bits`;
    /// 0 when encoding.
    fn target(&mut self, bits: u32) -> (u64, u64);

    /// Codes the interval `start..end` of `0..2^bits`, `bits` at most 41.
    fn narrow(&mut self, start: u64, end: u64, bits: u32);

    /// Whether the input has all bytes that were decoded, or the output has room for those encoded.
    fn is_sound(&self) -> bool;
}

/// Least width of the interval, so that a total of up to 2^41 loses nothing to rounding.
const NARROW: u64 = 1 << 56;

/// Bytes by which the output grows at once, if it has as much memory.
const GROWTH: usize = 1024;

/// Returns the part of a range that codes a bit, as its start and size. Without a branch, which would often be
/// mispredicted.
#[cfg_attr(not(debug_assertions), inline(always))]
fn part(range: u64, split: u64, bit: bool) -> (u64, u64) {
    let rest = 0u64.wrapping_sub(u64::from(!bit));
    (split & rest, split ^ ((split ^ (range - split)) & rest))
}

/// Returns the shift, in whole bytes, after which a range is at least `NARROW`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn settled_bits(range: u64) -> u32 {
    range.leading_zeros() & !7
}

pub(super) struct Encoder<'a> {
    /// Bytes behind `end` are memory for the next ones.
    out: &'a mut Vec<u8>,
    /// Index in `out` at which the code begins: a carry goes no further back.
    start: usize,
    /// Index in `out` at which the bytes that are settled end.
    end: usize,
    limit: usize,
    low: u64,
    range: u64,
}

impl<'a> Encoder<'a> {
    /// Appends to `out`, which may have `limit` bytes at most.
    pub(super) fn new(out: &'a mut Vec<u8>, limit: usize) -> Self {
        let start = out.len();
        Self { out, start, end: start, limit, low: 0, range: u64::MAX }
    }

    /// Writes the fewest bytes that identify the interval; returns whether all fit. The decoder
    /// reads zeros behind the end.
    pub(super) fn finish(mut self) -> bool {
        self.out.truncate(self.end);
        if self.low != 0 {
            // The end of the interval is not in it, and may be just where a carry would be.
            if self.low.checked_add(self.range - 1).is_none() {
                self.carry();
            } else {
                let top = (self.low >> 56) + u64::from(self.low << 8 != 0);
                self.out.push(top as u8);
            }
        }
        self.out.len() <= self.limit
    }

    /// Without a branch on the number of settled bytes, which would often be mispredicted.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take(&mut self, start: u64, size: u64) {
        let (low, carry) = self.low.overflowing_add(start);
        if carry {
            self.carry();
        }
        let Some(room) = self.out.get_mut(self.end..).and_then(<[u8]>::first_chunk_mut) else {
            return self.grow_and_take(low, size);
        };
        *room = low.to_be_bytes();
        let settled = settled_bits(size);
        self.end += settled as usize / 8;
        self.low = low << settled;
        self.range = size << settled;
    }

    /// Makes room for settled bytes. Memory is only allocated if there is none for eight bytes.
    #[cold]
    #[inline(never)]
    fn grow_and_take(&mut self, low: u64, size: u64) {
        let room = GROWTH.min(self.out.capacity() - self.end).max(size_of::<u64>());
        self.out.resize(self.end + room, 0);
        self.low = low;
        self.take(0, size);
    }

    fn carry(&mut self) {
        for byte in self.out[self.start..self.end].iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
    }
}

impl Marked for Encoder<'_> {}

impl Coder for Encoder<'_> {
    const DECODES: bool = false;

    fn is_sound(&self) -> bool {
        // A longer packet is not sent: no need to go on.
        self.end <= self.limit
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn bit(&mut self, chance: u32, bit: bool) -> bool {
        let split = (self.range >> 16) * u64::from(chance);
        let (start, size) = part(self.range, split, bit);
        self.take(start, size);
        bit
    }

    fn target(&mut self, _bits: u32) -> (u64, u64) {
        (0, 0)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn narrow(&mut self, start: u64, end: u64, bits: u32) {
        let unit = self.range >> bits;
        self.take(unit * start, unit * (end - start));
    }
}

pub(super) struct Decoder<'a> {
    input: &'a [u8],
    position: usize,
    /// Distance of the code from the low end of the interval.
    code: u64,
    range: u64,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        let mut decoder = Self { input, position: 0, code: 0, range: u64::MAX };
        for _ in 0..8 {
            decoder.shift();
        }
        decoder
    }

    /// Returns the bit up to which the input was read.
    pub(super) fn position(&self) -> u64 {
        8 * self.position.min(self.input.len()) as u64
    }

    /// Returns the bits that all symbols so far took: a fraction, since a symbol of a probability
    /// above a half takes less than one bit.
    pub(super) fn spent(&self) -> f64 {
        // Of the 8 bytes in `code`, the range is still open.
        8.0 * self.position as f64 - libm::log2(self.range as f64)
    }

    /// Refuses an input that is longer than an encoder would have written.
    pub(super) fn finish(&self) -> Result<(), ErrorKind> {
        if !self.is_sound() {
            Err(ErrorKind::UnexpectedEnd)
        } else if self.position < self.input.len() + 7 {
            Err(ErrorKind::TrailingData)
        } else {
            Ok(())
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn shift(&mut self) {
        let byte = self.input.get(self.position).copied().unwrap_or(0);
        self.position += 1;
        self.code = self.code << 8 | u64::from(byte);
    }

    /// Without a branch on the number of settled bytes, as the encoder.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take(&mut self, start: u64, size: u64) {
        self.code -= start;
        self.range = size;
        let Some(next) = self.input.get(self.position..).and_then(<[u8]>::first_chunk) else {
            return self.widen_at_end();
        };
        let settled = settled_bits(size);
        // In two steps, since none may be settled.
        self.code = self.code << settled | u64::from_be_bytes(*next) >> 1 >> (63 - settled);
        self.range <<= settled;
        self.position += settled as usize / 8;
    }

    /// Widens the interval with the last bytes of the input, and zeros behind them.
    #[cold]
    #[inline(never)]
    fn widen_at_end(&mut self) {
        while self.range < NARROW {
            self.range <<= 8;
            self.shift();
        }
    }
}

impl Marked for Decoder<'_> {}

impl Coder for Decoder<'_> {
    const DECODES: bool = true;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn bit(&mut self, chance: u32, _bit: bool) -> bool {
        let split = (self.range >> 16) * u64::from(chance);
        let bit = self.code < split;
        let (start, size) = part(self.range, split, bit);
        self.take(start, size);
        bit
    }

    fn target(&mut self, bits: u32) -> (u64, u64) {
        let unit = self.range >> bits;
        // Only hostile input is beyond the last whole unit.
        self.code = self.code.min((unit << bits) - 1);
        (self.code, unit)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn narrow(&mut self, start: u64, end: u64, bits: u32) {
        let unit = self.range >> bits;
        self.take(unit * start, unit * (end - start));
    }

    fn is_sound(&self) -> bool {
        // The encoder wrote every byte that it shifted out, but may have left out all of the 8 in
        // `code`.
        self.position <= self.input.len() + 8
    }
}
