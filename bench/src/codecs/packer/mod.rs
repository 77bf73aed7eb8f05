//! A packer as a game writes it for itself, without a library: a 64-bit word that is flushed in
//! halves, a bounds check for each half, and a function for each packet and direction. It is safe
//! code which checks what it reads, and what the ratios of docs/PERFORMANCE.md are to.

mod packets;

use super::Codec;
use crate::quantise::Range;

pub struct Packer;

impl<P: Packed> Codec<P> for Packer {
    const NAME: &'static str = "packer by hand";
    const QUANTISES: bool = true;

    fn write(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        let mut writer = Writer { buffer, word: 0, used: 0, at: 0, is_full: false };
        assert!(packet.write(&mut writer), "the packer writes");
        writer.finish().expect("the packer writes")
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        let mut reader = Reader { packet: &buffer[..len], word: 0, held: 0, at: 0 };
        slot.read(&mut reader).expect("the packer reads");
        assert!(reader.is_at_end(), "the packer reads");
    }
}

/// A packet with a function for each direction.
pub trait Packed {
    /// Returns whether all values are in their ranges.
    fn write(&self, writer: &mut Writer) -> bool;
    /// Returns `None` if the packet is refused.
    fn read(&mut self, reader: &mut Reader) -> Option<()>;
}

pub struct Writer<'a> {
    buffer: &'a mut [u8],
    word: u64,
    used: u32,
    at: usize,
    is_full: bool,
}

impl Writer<'_> {
    /// Writes up to 32 bits.
    #[inline]
    fn bits(&mut self, value: u32, width: u32) {
        self.word |= u64::from(value) << self.used;
        self.used += width;
        if self.used >= 32 {
            match self.buffer.get_mut(self.at..self.at + 4) {
                Some(room) => room.copy_from_slice(&(self.word as u32).to_le_bytes()),
                None => self.is_full = true,
            }
            self.at += 4;
            self.word >>= 32;
            self.used -= 32;
        }
    }

    /// Writes an offset from `min`; returns whether the value is in its range.
    #[inline]
    fn int(&mut self, value: i32, min: i32, max: i32, width: u32) -> bool {
        self.bits(value.wrapping_sub(min) as u32, width);
        (min..=max).contains(&value)
    }

    /// Returns whether all values are finite.
    #[inline]
    fn ranged(&mut self, values: &[f32], range: Range, width: u32) -> bool {
        values.iter().all(|value| {
            self.bits(range.code(*value), width);
            value.is_finite()
        })
    }

    #[inline]
    fn floats(&mut self, values: &[f32]) {
        for value in values {
            self.bits(value.to_bits(), 32);
        }
    }

    fn finish(self) -> Option<usize> {
        let bytes = self.used.div_ceil(8) as usize;
        let room = self.buffer.get_mut(self.at..self.at + bytes)?;
        room.copy_from_slice(&self.word.to_le_bytes()[..bytes]);
        (!self.is_full).then_some(self.at + bytes)
    }
}

pub struct Reader<'a> {
    packet: &'a [u8],
    word: u64,
    held: u32,
    at: usize,
}

impl Reader<'_> {
    /// Reads up to 32 bits.
    #[inline]
    fn bits(&mut self, width: u32) -> Option<u32> {
        if self.held < width {
            let rest = self.packet.get(self.at..)?;
            let (next, bytes) = match rest.first_chunk() {
                Some(four) => (u32::from_le_bytes(*four), 4),
                None => {
                    let mut four = [0; 4];
                    four[..rest.len()].copy_from_slice(rest);
                    (u32::from_le_bytes(four), rest.len())
                }
            };
            self.word |= u64::from(next) << self.held;
            self.held += 8 * bytes as u32;
            self.at += bytes;
            if self.held < width {
                return None;
            }
        }
        let value = self.word & ((1 << width) - 1);
        self.word >>= width;
        self.held -= width;
        Some(value as u32)
    }

    #[inline]
    fn int(&mut self, min: i32, max: i32, width: u32) -> Option<i32> {
        let offset = self.bits(width)?;
        (offset <= (max - min) as u32).then(|| min + offset as i32)
    }

    #[inline]
    fn ranged<const N: usize>(&mut self, range: Range, width: u32) -> Option<[f32; N]> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = range.value(self.bits(width)?)?;
        }
        Some(values)
    }

    #[inline]
    fn floats<const N: usize>(&mut self) -> Option<[f32; N]> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = f32::from_bits(self.bits(32)?);
        }
        Some(values)
    }

    fn is_at_end(&self) -> bool {
        self.at == self.packet.len() && self.held < 8 && self.word == 0
    }
}
