//! Fast path for packets of a fixed layout: only codes, each at a fixed bit.

use alloc::vec::Vec;

use super::Column;
use super::cells::width;
use tightwire_core::stream::{ErrorKind, WriteError};

/// The columns of a packet that has only codes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Fixed {
    slots: Vec<CodeSlot>,
    /// Number of bits of every packet.
    pub(super) bits: usize,
}

/// Position of a code.
#[derive(Clone, Copy, PartialEq, Debug)]
struct CodeSlot {
    /// First byte of a word that has the whole code.
    byte: u32,
    /// Mask of the bits of the code, and the largest code.
    mask: u32,
    max: u32,
    /// First bit of the code in that word.
    shift: u8,
    /// First bit of the code in its word, with the packet split into consecutive words: the writer
    /// fills one after the other.
    word_shift: u8,
    /// Whether one of these words ends with the code, or within it.
    ends_word: bool,
}

/// Bytes of a word.
const WORD: usize = 8;

impl Fixed {
    pub(super) fn new(columns: &[Column]) -> Self {
        let bits = columns.iter().map(|column| width(column.max) as usize).sum::<usize>();
        // The word of a code near the end begins earlier, so that it ends with the packet.
        let last = bits.div_ceil(8).saturating_sub(WORD);
        let mut bit = 0;
        let slot = |column: &Column| {
            let (byte, width) = ((bit / 8).min(last), width(column.max));
            let (shift, word_shift) = (bit - 8 * byte, bit % (8 * WORD));
            bit += width as usize;
            CodeSlot {
                byte: byte as u32,
                mask: u32::MAX.unbounded_shr(u32::BITS - width),
                max: column.max,
                shift: shift as u8,
                word_shift: word_shift as u8,
                ends_word: word_shift + width as usize >= 8 * WORD,
            }
        };
        Self { slots: columns.iter().map(slot).collect(), bits }
    }

    /// Reads a packet; returns `false` if it is malformed.
    pub(super) fn read(&self, packet: &[u8], cells: &mut [u32]) -> bool {
        if packet.len() != self.bits.div_ceil(8) {
            return false;
        }
        let mut short = [0; WORD];
        if let Some(short) = short.get_mut(..packet.len()) {
            short.copy_from_slice(packet);
        }
        let packet = if packet.len() < WORD { &short[..] } else { packet };
        let mut is_right = true;
        for (cell, slot) in cells.iter_mut().zip(&self.slots) {
            let byte = slot.byte as usize;
            let Some(word) = packet.get(byte..).and_then(<[u8]>::first_chunk) else { return false };
            *cell = (u64::from_le_bytes(*word) >> (slot.shift & 63)) as u32 & slot.mask;
            is_right &= *cell <= slot.max;
        }
        // Bits behind the last code must be zero.
        let unused = 8 * self.bits.div_ceil(8) - self.bits;
        let last = packet.get(self.bits / 8).copied().unwrap_or(0);
        is_right && (unused == 0 || last >> (8 - unused) == 0)
    }

    /// Writes a packet; `cells` are as many as there are columns.
    pub(super) fn write<'b>(
        &self,
        cells: &[u32],
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], WriteError> {
        let capacity_bits = 8 * buffer.len() as u64;
        let Some((packet, _)) = buffer.split_at_mut_checked(self.bits.div_ceil(8)) else {
            return Err(WriteError::Full { needed_bits: self.bits as u64, capacity_bits });
        };
        let (words, rest) = packet.as_chunks_mut::<WORD>();
        let mut words = words.iter_mut();
        let (mut word, mut is_right) = (0u64, true);
        for (&cell, slot) in cells.iter().zip(&self.slots) {
            is_right &= cell <= slot.max;
            word |= u64::from(cell) << (slot.word_shift & 63);
            if slot.ends_word {
                if let Some(whole) = words.next() {
                    *whole = word.to_le_bytes();
                }
                word = u64::from(cell).unbounded_shr(u32::from(64 - slot.word_shift));
            }
        }
        if !is_right {
            return Err(WriteError::Value { kind: ErrorKind::OutOfRange, bit: 0 });
        }
        // The rest may still fill a whole word of bytes.
        match words.next() {
            Some(whole) => *whole = word.to_le_bytes(),
            None => rest.copy_from_slice(&word.to_le_bytes()[..rest.len()]),
        }
        Ok(packet)
    }
}
