//! Writing bits into a byte slice.

use core::fmt;
use core::hint::{cold_path, select_unpredictable};

use super::{contains_zero, low_word, zero_bytes};

/// Writes bits into a caller's byte slice of any length and alignment.
///
/// Bits collect in a 64-bit word. Every write stores the whole word and then checks without a
/// branch whether the word is full: with random widths a branch would be mispredicted. The writer
/// never writes past a slice that is too small; it goes on counting, and [`finish`](Self::finish)
/// reports how many bits are needed. Bytes of the slice behind the packet may be overwritten.
///
/// Method grammar: nouns are getters, verbs write; only `finish` returns errors.
///
/// ```
/// use tightwire::bits::{BitReader, BitWriter};
///
/// let mut buffer = [0; 16];
/// let mut writer = BitWriter::new(&mut buffer);
/// writer.write_bits(5, 3);
/// writer.write_bits(1000, 10);
/// assert_eq!(writer.position(), 13);
/// let packet = writer.finish()?;
/// assert_eq!(packet, [0x45, 0x1f]);
///
/// let mut reader = BitReader::new(packet);
/// assert_eq!(reader.read_bits(3)?, 5);
/// assert_eq!(reader.read_bits(10)?, 1000);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct BitWriter<'a> {
    data: &'a mut [u8],
    state: Checkpoint,
}

/// A position to roll back to: see [`BitWriter::checkpoint`].
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint {
    /// Index of the word of the slice that is being filled.
    word_index: usize,
    /// Contents of that word: the bits written so far, and zeros above them.
    word: u64,
    /// Number of bits written into the word, `0..64`.
    used: u32,
    /// Position in bits of the first refused value, shifted left by [`REASON_BITS`], and the reason
    /// below it; or [`NONE_REFUSED`]. One number instead of two, since the code of every field that
    /// can be refused carries it along.
    refused: u64,
}

/// Reasons why [`BitWriter::finish`] returns no bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BitWriteError {
    /// The slice was too small.
    Full {
        /// Number of bits written, including those that did not fit.
        needed_bits: u64,
        /// Number of bits that the slice holds.
        capacity_bits: u64,
    },
    /// A value was larger than its width, a width was above 64, or the caller refused the value.
    Value {
        /// Position in bits where the value would have started.
        bit: u64,
    },
}

impl<'a> BitWriter<'a> {
    /// Creates a writer at the first bit of `data`, whose contents do not matter.
    #[must_use]
    #[inline]
    pub fn new(data: &'a mut [u8]) -> Self {
        let state = Checkpoint { word_index: 0, word: 0, used: 0, refused: NONE_REFUSED };
        Self { data, state }
    }

    /// Number of bits written so far; more than [`capacity`](Self::capacity) after an overflow.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn position(&self) -> u64 {
        self.state.word_index as u64 * 64 + u64::from(self.state.used)
    }

    /// Number of bits that the slice holds.
    #[must_use]
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.data.len() as u64 * 8
    }

    /// Whether more bits were written than the slice holds.
    #[must_use]
    #[inline]
    pub fn has_overflowed(&self) -> bool {
        self.position() > self.capacity()
    }

    /// Position in bits of the first refused value; `None` if no value was refused.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn refused_at(&self) -> Option<u64> {
        self.refusal().map(|(bit, _)| bit)
    }

    /// Position and reason of the first refused value, the reason as given to
    /// [`refuse_because`](Self::refuse_because).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn refusal(&self) -> Option<(u64, u8)> {
        unpacked(self.state.refused)
    }

    /// Moves the slice and the state into another writer; this one has no bytes until that is moved back.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn take(&mut self) -> Self {
        Self { data: core::mem::take(&mut self.data), state: self.state }
    }

    /// Writes the lowest `width` bits of `value`, `width` being `0..=64`.
    ///
    /// A value that needs more bits, or a width above 64, is refused: `finish` then returns an
    /// error.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn write_bits(&mut self, value: u64, width: u32) {
        match LARGEST.get(width as usize) {
            Some(&largest) if value <= largest => self.push(value, width),
            _ => {
                // Also for 64 bits: it decides which way the compiler places first if the width is known only at
                // run time.
                cold_path();
                if width == u64::BITS {
                    self.push(value, u64::BITS);
                } else {
                    self.refuse(self.position());
                    self.push(0, width.min(u64::BITS));
                }
            }
        }
    }

    /// Writes the lowest `width <= 64` bits of `value`, which has no higher bits set.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn push(&mut self, value: u64, width: u32) {
        self.state.word |= value << self.state.used;
        let filled = self.state.word.to_le_bytes();
        match self.word_in_slice() {
            Some(bytes) => *bytes = filled,
            // The last bytes of a slice whose length is not a multiple of eight: `finish` stores
            // them.
            None => cold_path(),
        }
        let Checkpoint { word_index, word, used, .. } = &mut self.state;
        // The bits of `value` that do not fit into the word.
        let beyond = if width < u64::BITS {
            // For `used == 0` the shift gives `value` itself, but then the word does not become
            // full.
            value.wrapping_shr(used.wrapping_neg())
        } else {
            value >> 1 >> (63 - *used)
        };
        *used += width;
        *word = select_unpredictable(*used >= u64::BITS, beyond, *word);
        *word_index += (*used / u64::BITS) as usize;
        *used %= u64::BITS;
    }

    /// Writes `zeros` zero bits, and then a one bit unless `zeros` equals `limit`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn write_unary(&mut self, zeros: u32, limit: u32) {
        if zeros > limit {
            self.refuse(self.position());
        }
        let mut zeros_left = zeros;
        while zeros_left >= 63 {
            self.push(0, 63);
            zeros_left -= 63;
        }
        let one = u32::from(zeros < limit);
        self.push(u64::from(one) << zeros_left, zeros_left + one);
    }

    /// Writes zeros up to the next whole byte.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn align(&mut self) {
        self.push(0, self.state.used.wrapping_neg() % 8);
    }

    /// Aligns to a whole byte, then writes the lowest `width <= 56` bits like [`push`](Self::push), in one step.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn push_aligned(&mut self, value: u64, width: u32) {
        let padding = self.state.used.wrapping_neg() % 8;
        self.push(value << padding, padding + width);
    }

    /// Aligns to a whole byte, then copies `bytes`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        let (position, word) = copy_bytes(self.data, self.position(), self.state.word, bytes);
        self.go_to(position, word);
    }

    /// Like [`write_bytes`](Self::write_bytes), for text: returns `false` and writes nothing if it
    /// contains a zero character.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn write_text(&mut self, text: &[u8]) -> bool {
        let (position, word) = copy_text(self.data, self.position(), self.state.word, text);
        let is_text = position & HAS_ZERO == 0;
        if is_text {
            self.go_to(position, word);
        } else {
            cold_path();
        }
        is_text
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn go_to(&mut self, position: u64, word: u64) {
        self.state.word_index = (position / 64) as usize;
        self.state.used = (position % 64) as u32;
        self.state.word = word;
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn copy(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last_chunk() else {
            return self.push_aligned(low_word(bytes), bytes.len() as u32 * 8);
        };
        self.align();
        self.store_word();
        let start = self.state.word_index * 8 + self.state.used as usize / 8;
        let end = start.saturating_add(bytes.len());
        if let Some(room) = self.data.get_mut(start..end) {
            room.copy_from_slice(bytes);
        }
        self.end_copy(end, *last);
    }

    /// Copies eight bytes at a time, and checks them for zeros on the way: most text is so short that a call
    /// to copy it would take longer. Returns whether there is none; `None` without a copy if the text is
    /// shorter than a word or there is too little room.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn copy_words(&mut self, text: &[u8]) -> Option<bool> {
        let last = text.last_chunk()?;
        let start = self.position().div_ceil(8) as usize;
        let end = start.checked_add(text.len())?;
        self.data.get(..end)?;
        self.align();
        self.store_word();
        let room = self.data.get_mut(start..end)?;
        let mut zeros = zero_bytes(u64::from_le_bytes(*last));
        if text.len() <= 32 {
            // Four words that overlap as much as needed. The length of a name is not predictable, and the
            // end of a loop would be mispredicted.
            for at in [0, 8, 16] {
                let at = at.min(text.len() - last.len());
                let word = text.get(at..)?.first_chunk()?;
                zeros |= zero_bytes(u64::from_le_bytes(*word));
                *room.get_mut(at..)?.first_chunk_mut()? = *word;
            }
        } else {
            for (copy, word) in room.as_chunks_mut().0.iter_mut().zip(text.as_chunks().0) {
                zeros |= zero_bytes(u64::from_le_bytes(*word));
                *copy = *word;
            }
        }
        *room.last_chunk_mut()? = *last;
        self.end_copy(end, *last);
        Some(zeros == 0)
    }

    /// Goes on behind bytes that end at the byte `end`, the last of which are `last`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn end_copy(&mut self, end: usize, last: [u8; 8]) {
        self.state.word_index = end / 8;
        self.state.used = (end % 8 * 8) as u32;
        // The copy ended within a word, whose lower bits are the last bytes. They are taken from
        // the source: loading bytes that were just stored piece by piece would stall on the stores.
        self.state.word = u64::from_le_bytes(last).unbounded_shr(u64::BITS - self.state.used);
    }

    /// Bytes of the word that is being filled; `None` if the slice does not hold all eight.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn word_in_slice(&mut self) -> Option<&mut [u8; 8]> {
        self.data.as_chunks_mut().0.get_mut(self.state.word_index)
    }

    /// Stores the word that is being filled, or as many of its bytes as fit.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn store_word(&mut self) {
        let word = self.state.word;
        if let Some(bytes) = self.word_in_slice() {
            *bytes = word.to_le_bytes();
            return;
        }
        store_tail(self.data, self.state.word_index * 8, word);
    }

    /// Returns the current position, for [`rollback`](Self::rollback).
    ///
    /// ```
    /// use tightwire::bits::BitWriter;
    ///
    /// // Fill a packet until the next item does not fit.
    /// let mut buffer = [0; 2];
    /// let mut writer = BitWriter::new(&mut buffer);
    /// let mut items = 0;
    /// loop {
    ///     let before = writer.checkpoint();
    ///     writer.write_bits(0b101, 3);
    ///     if writer.has_overflowed() {
    ///         writer.rollback(before);
    ///         break;
    ///     }
    ///     items += 1;
    /// }
    /// assert_eq!((items, writer.position()), (5, 15));
    /// assert_eq!(writer.finish()?, [0b01_101_101, 0b0_101_101_1]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn checkpoint(&self) -> Checkpoint {
        self.state
    }

    /// Undoes everything written since `checkpoint`, including refusals and an overflow.
    ///
    /// A checkpoint of another writer, or one that a rollback has since undone, is a programming
    /// error: the bytes are then unspecified.
    #[inline]
    pub fn rollback(&mut self, checkpoint: Checkpoint) {
        self.state = checkpoint;
    }

    /// Returns the packet: the bytes written, with zeros in the unused bits of the last byte.
    ///
    /// # Errors
    ///
    /// [`BitWriteError`] if the slice was too small, or a value was refused.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn finish(self) -> Result<&'a [u8], BitWriteError> {
        self.finish_or(|refusal, needed_bits, capacity_bits| match refusal {
            Some((bit, _)) if needed_bits <= capacity_bits => BitWriteError::Value { bit },
            _ => BitWriteError::Full { needed_bits, capacity_bits },
        })
    }

    /// Like [`finish`](Self::finish), with an error made from the first refusal, the bits needed
    /// and the capacity in bits.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn finish_or<E>(
        mut self,
        refused: impl FnOnce(Option<(u64, u8)>, u64, u64) -> E,
    ) -> Result<&'a [u8], E> {
        self.store_word();
        let (position, refusal) = (self.position(), self.state.refused);
        Self::packet_or(self.data, position, refusal, refused)
    }

    /// Like [`finish`](Self::finish), without the packet: position and refusal, for
    /// [`packet_or`](Self::packet_or).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn finish_parts(mut self) -> (u64, u64) {
        self.store_word();
        (self.position(), self.state.refused)
    }

    /// The packet of `needed_bits` bits that was written into `data`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn packet_or<E>(
        data: &'a [u8],
        needed_bits: u64,
        refusal: u64,
        refused: impl FnOnce(Option<(u64, u8)>, u64, u64) -> E,
    ) -> Result<&'a [u8], E> {
        // Less code than `div_ceil`, which also guards against an overflow that no packet reaches.
        match data.get(..((needed_bits + 7) >> 3) as usize) {
            Some(packet) if refusal == NONE_REFUSED => Ok(packet),
            _ => {
                cold_path();
                Err(refused(unpacked(refusal), needed_bits, data.len() as u64 * 8))
            }
        }
    }

    /// Marks the value at `bit` as one that must not be sent: `finish` refuses the packet.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn refuse(&mut self, bit: u64) {
        self.refuse_because(bit, 0);
    }

    /// Like [`refuse`](Self::refuse), with a reason whose meaning the caller defines. Only the
    /// first refusal is kept.
    // Inlined, like every function that takes `self`: a call would force the state out of
    // registers.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn refuse_because(&mut self, bit: u64, reason: u8) {
        if self.state.refused == NONE_REFUSED {
            self.state.refused = bit.min(LAST_BIT) << REASON_BITS | u64::from(reason);
        }
    }
}

/// [`BitWriter::copy`] as a call, since its long code would otherwise be repeated for every string
/// of every type. The state is passed by value: taking its address would force it through memory
/// around every other field. Position and word fit into registers; a tuple of three parts would
/// not.
///
/// `"C"` tells the compiler that the call does not unwind, so that no caller needs code and tables to drop
/// its values then. So with the calls below.
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "only Rust calls it")]
extern "C" fn copy_bytes(data: &mut [u8], position: u64, word: u64, bytes: &[u8]) -> (u64, u64) {
    let mut writer = BitWriter::new(data);
    writer.go_to(position, word);
    writer.copy(bytes);
    (writer.position(), writer.state.word)
}

/// Like [`copy_bytes`], for text: returns [`HAS_ZERO`] instead if it contains a zero character.
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "only Rust calls it")]
extern "C" fn copy_text(data: &mut [u8], position: u64, word: u64, text: &[u8]) -> (u64, u64) {
    let mut writer = BitWriter::new(data);
    writer.go_to(position, word);
    let is_text = if text.len() < 8 {
        let width = 8 * text.len() as u32;
        let word = low_word(text);
        writer.push_aligned(word, width);
        // The missing bytes are filled with ones, which are not zero.
        zero_bytes(word | u64::MAX.unbounded_shl(width)) == 0
    } else if let Some(is_text) = writer.copy_words(text) {
        is_text
    } else {
        writer.copy(text);
        !contains_zero(text)
    };
    match is_text {
        true => (writer.position(), writer.state.word),
        false => (HAS_ZERO, 0),
    }
}

/// Flag beyond the end of any packet.
const HAS_ZERO: u64 = 1 << 63;

/// Stores as many bytes of `word` as fit at the end of a slice that is not made of whole words.
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "only Rust calls it")]
extern "C" fn store_tail(data: &mut [u8], start: usize, word: u64) {
    let room = data.get_mut(start..).unwrap_or_default();
    for (byte, value) in room.iter_mut().zip(word.to_le_bytes()) {
        *byte = value;
    }
}

/// Largest value of each width below 64. A look-up is cheaper than a shift, and a constant width is
/// folded at compile time.
const LARGEST: [u64; 64] = {
    let mut largest = [0; 64];
    let mut width = 0;
    while width < 64 {
        largest[width] = (1 << width) - 1;
        width += 1;
    }
    largest
};

/// Position and reason of a refusal.
#[cfg_attr(not(debug_assertions), inline(always))]
fn unpacked(refused: u64) -> Option<(u64, u8)> {
    (refused != NONE_REFUSED).then_some((refused >> REASON_BITS, refused as u8))
}

/// Value of `Checkpoint::refused` without a refusal, above every refusal.
const NONE_REFUSED: u64 = u64::MAX;

/// Width of a refusal's reason.
const REASON_BITS: u32 = 8;

/// Largest position that fits beside a reason, beyond the end of any packet.
const LAST_BIT: u64 = (u64::MAX >> REASON_BITS) - 1;

impl fmt::Debug for BitWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BitWriter")
            .field("position", &self.position())
            .field("capacity", &self.capacity())
            .field("state", &self.state)
            .finish()
    }
}

impl fmt::Display for BitWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { needed_bits, capacity_bits } => write!(
                f,
                "the buffer of {} bytes is too small, the packet needs {}: give it a larger one",
                capacity_bits / 8,
                needed_bits.div_ceil(8),
            ),
            Self::Value { bit } => {
                write!(f, "the value at bit {bit} was refused: it does not fit its width",)
            }
        }
    }
}

impl core::error::Error for BitWriteError {}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;

    use super::*;

    #[test]
    fn a_slice_of_any_length_at_any_alignment_is_filled_to_its_last_bit() {
        for offset in 0..8 {
            for length in 0..24 {
                let mut memory = vec![0xaa; offset + length + 8];
                let mut writer = BitWriter::new(&mut memory[offset..offset + length]);
                for _ in 0..length * 8 {
                    writer.write_bits(1, 1);
                }
                assert_eq!(writer.finish(), Ok(&*vec![0xff; length]));
                assert!(memory[..offset].iter().all(|&byte| byte == 0xaa));
                assert!(memory[offset + length..].iter().all(|&byte| byte == 0xaa));
            }
        }
    }

    #[test]
    fn an_overflow_writes_nothing_outside_and_says_what_was_needed() {
        for width in 1..=64 {
            let mut memory = [0xaa; 24];
            let mut writer = BitWriter::new(&mut memory[4..12]);
            for _ in 0..20 {
                writer.write_bits(u64::MAX >> (64 - width), width);
            }
            writer.write_bytes(&[0x55; 3]);
            let needed_bits = (20 * u64::from(width)).next_multiple_of(8) + 24;
            assert_eq!(
                writer.finish().err(),
                (needed_bits > 64)
                    .then_some(BitWriteError::Full { needed_bits, capacity_bits: 64 }),
            );
            assert!(memory[..4].iter().chain(&memory[12..]).all(|&byte| byte == 0xaa));
        }
    }

    #[test]
    fn a_value_above_its_width_is_refused_at_the_end_and_harms_no_neighbour() {
        let mut buffer = [0; 8];
        let mut writer = BitWriter::new(&mut buffer);
        writer.write_bits(1, 2);
        writer.write_bits(8, 3);
        writer.write_bits(16, 3);
        assert_eq!(writer.finish(), Err(BitWriteError::Value { bit: 2 }));
        assert_eq!(buffer[0], 1);

        let mut writer = BitWriter::new(&mut buffer);
        writer.write_bits(0, 65);
        assert_eq!(writer.finish(), Err(BitWriteError::Value { bit: 0 }));
    }

    #[test]
    fn a_rollback_takes_back_bits_bytes_overflow_and_mistakes() {
        let mut buffer = [0xff; 6];
        let mut writer = BitWriter::new(&mut buffer);
        writer.write_bits(0b11, 2);
        let before = writer.checkpoint();
        writer.write_bits(9, 3);
        writer.write_bytes(&[0xee; 40]);
        assert!(writer.has_overflowed());
        writer.write_bits(4, 2);
        writer.rollback(before);
        assert!(!writer.has_overflowed());
        writer.write_bits(0b0, 1);
        writer.align();
        assert_eq!(writer.finish(), Ok(&[0b011][..]));
    }
}
