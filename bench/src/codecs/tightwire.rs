//! Tightwire with derived types, and the packets without a declaration: a set of indices, and raw
//! bits.

use super::Codec;
use crate::packets::{BitFields, Indices, MAX_INDICES};
use tightwire::bits::{BitReader, BitWriter};
use tightwire::stream::{ReadStream, Selection, SubsetCoding, WriteStream};
use tightwire::{Stream, Wire, decode, decode_into, encode};

pub struct Tightwire;

impl<P: Wire> Codec<P> for Tightwire {
    const NAME: &'static str = "tightwire";
    const QUANTISES: bool = true;

    fn write(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        encode(packet, buffer).expect("tightwire writes").len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        // No slack: exactly the bytes of the packet, all of which must be read.
        decode_into(&buffer[..len], slot).expect("tightwire reads");
    }
}

/// Derived types, and a fresh value for each packet that is read.
pub struct TightwireFresh;

impl<P: Wire + Default> Codec<P> for TightwireFresh {
    const NAME: &'static str = "tightwire, fresh";
    const QUANTISES: bool = true;

    fn write(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        encode(packet, buffer).expect("tightwire writes").len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        *slot = decode(&buffer[..len]).expect("tightwire reads");
    }
}

/// Indices through a [`Selection`]; its conversions in both directions are timed.
pub struct TightwireIndices {
    selection: Selection,
}

impl Default for TightwireIndices {
    fn default() -> Self {
        Self { selection: Selection::new(MAX_INDICES) }
    }
}

impl Codec<Indices> for TightwireIndices {
    const NAME: &'static str = "tightwire selection";

    fn write(&mut self, packet: &mut Indices, buffer: &mut [u8]) -> usize {
        self.selection.clear();
        self.selection.extend(packet.entries.iter().map(|(index, _)| usize::from(*index)));
        let mut stream = WriteStream::new(buffer);
        let Ok(()) = stream.selection(&self.selection, SubsetCoding::Best);
        // Eight bytes are a word, and the rest one by one: the same bits.
        let (eights, rest) = packet.entries.as_chunks::<8>();
        for eight in eights {
            let Ok(()) = stream.object(&eight.map(|(_, value)| value));
        }
        for (_, value) in rest {
            let Ok(()) = stream.int(value, 0..=255);
        }
        stream.finish().expect("tightwire writes").len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut Indices) {
        let mut stream = ReadStream::new(&buffer[..len]);
        stream.selection(&mut self.selection, SubsetCoding::Best).expect("tightwire reads");
        slot.entries.clear();
        for index in self.selection.iter() {
            let mut value = 0;
            stream.int(&mut value, 0..=255).expect("tightwire reads");
            slot.entries.push((index as u16, value));
        }
        stream.finish().expect("tightwire reads");
    }
}

/// Indices in the ladder of the public `serialize` format: the same bytes as `serialize-official`.
pub struct TightwireRelative;

impl Codec<Indices> for TightwireRelative {
    const NAME: &'static str = "tightwire relative";

    fn write(&mut self, packet: &mut Indices, buffer: &mut [u8]) -> usize {
        let mut stream = WriteStream::new(buffer);
        let Ok(()) = stream.int(&packet.entries.len(), 0..=MAX_INDICES);
        let mut previous = None;
        for (index, value) in &packet.entries {
            let index = u32::from(*index);
            let Ok(()) = match previous {
                None => stream.int(&index, 0..=MAX_INDICES as u32 - 1),
                Some(previous) => stream.int_relative(previous, &index),
            };
            previous = Some(index);
            let Ok(()) = stream.int(value, 0..=255);
        }
        stream.finish().expect("tightwire writes").len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut Indices) {
        let mut stream = ReadStream::new(&buffer[..len]);
        let mut count = 0;
        stream.int(&mut count, 0..=MAX_INDICES).expect("tightwire reads");
        slot.entries.clear();
        let mut previous = None;
        for _ in 0..count {
            let (mut index, mut value) = (0u32, 0);
            match previous {
                None => stream.int(&mut index, 0..=MAX_INDICES as u32 - 1),
                Some(previous) => stream.int_relative(previous, &mut index),
            }
            .expect("tightwire reads");
            assert!(index < MAX_INDICES as u32, "tightwire reads");
            previous = Some(index);
            stream.int(&mut value, 0..=255).expect("tightwire reads");
            slot.entries.push((index as u16, value));
        }
        stream.finish().expect("tightwire reads");
    }
}

/// Indices one by one, each relative to the previous one.
pub struct TightwireIndex;

impl Codec<Indices> for TightwireIndex {
    const NAME: &'static str = "tightwire index";

    fn write(&mut self, packet: &mut Indices, buffer: &mut [u8]) -> usize {
        let mut stream = WriteStream::new(buffer);
        let Ok(()) = stream.int(&packet.entries.len(), 0..=MAX_INDICES);
        let mut previous = None;
        for (index, value) in &packet.entries {
            let index = u32::from(*index);
            let Ok(()) = stream.index(previous, &index, MAX_INDICES as u32);
            previous = Some(index);
            let Ok(()) = stream.int(value, 0..=255);
        }
        stream.finish().expect("tightwire writes").len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut Indices) {
        let mut stream = ReadStream::new(&buffer[..len]);
        let mut count = 0;
        stream.int(&mut count, 0..=MAX_INDICES).expect("tightwire reads");
        slot.entries.clear();
        let mut previous = None;
        for _ in 0..count {
            let (mut index, mut value) = (0, 0);
            stream.index(previous, &mut index, MAX_INDICES as u32).expect("tightwire reads");
            assert!(index < MAX_INDICES as u32, "tightwire reads");
            previous = Some(index);
            stream.int(&mut value, 0..=255).expect("tightwire reads");
            slot.entries.push((index as u16, value));
        }
        stream.finish().expect("tightwire reads");
    }
}

/// The bit writer and reader; every call is checked.
pub struct TightwireBits;

impl Codec<BitFields> for TightwireBits {
    const NAME: &'static str = "tightwire";
    const QUANTISES: bool = true;

    fn write(&mut self, packet: &mut BitFields, buffer: &mut [u8]) -> usize {
        let mut writer = BitWriter::new(buffer);
        for (value, width) in packet.values.iter().zip(&packet.widths) {
            writer.write_bits(u64::from(*value), u32::from(*width));
        }
        writer.finish().expect("tightwire writes").len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut BitFields) {
        let mut reader = BitReader::new(&buffer[..len]);
        for width in &slot.widths {
            slot.sum += reader.read_bits(u32::from(*width)).expect("all was written");
        }
    }
}
