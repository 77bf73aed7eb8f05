//! bitcode, by derive, with one reused `Buffer` per direction.

use super::Codec;
use bitcode::{Buffer, DecodeOwned, Encode};
use std::hint::black_box;

#[derive(Default)]
pub struct Bitcode {
    encoder: Buffer,
    decoder: Buffer,
}

impl<P: Encode + DecodeOwned> Codec<P> for Bitcode {
    const NAME: &'static str = "bitcode";
    // `encode` lends the bytes, ready to be sent: a copy is not its work.
    const LENDS: bool = true;

    fn write(&mut self, packet: &mut P, _buffer: &mut [u8]) -> usize {
        black_box(self.encoder.encode(packet)).len()
    }

    fn store(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        let bytes = self.encoder.encode(packet);
        buffer[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        *slot = self.decoder.decode(&buffer[..len]).expect("bitcode reads");
    }
}
