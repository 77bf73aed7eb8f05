//! borsh, by derive.

use super::Codec;
use borsh::{BorshDeserialize, BorshSerialize};
use std::hint::black_box;

/// Writes to a reused vector: the library is faster with it than with a slice.
#[derive(Default)]
pub struct Borsh {
    bytes: Vec<u8>,
}

impl<P: BorshSerialize + BorshDeserialize> Codec<P> for Borsh {
    const NAME: &'static str = "borsh";
    const LENDS: bool = true;

    fn write(&mut self, packet: &mut P, _buffer: &mut [u8]) -> usize {
        self.bytes.clear();
        borsh::to_writer(&mut self.bytes, packet).expect("borsh writes");
        black_box(&self.bytes).len()
    }

    fn store(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        let len = self.write(packet, &mut []);
        buffer[..len].copy_from_slice(&self.bytes);
        len
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        *slot = borsh::from_slice(&buffer[..len]).expect("borsh reads");
    }
}
