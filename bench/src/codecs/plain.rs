//! Codecs for structs without padding: zerocopy, and a plain copy, the lower bound.

use super::Codec;
use crate::packets::{Plain, Plains};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

pub struct Zerocopy;

impl Codec<Plains> for Zerocopy {
    const NAME: &'static str = "zerocopy";

    fn write(&mut self, packet: &mut Plains, buffer: &mut [u8]) -> usize {
        let plains = packet.plains.as_slice();
        plains.write_to_prefix(buffer).expect("zerocopy writes");
        size_of_val(plains)
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut Plains) {
        let plains = <[Plain]>::ref_from_bytes(&buffer[..len]).expect("zerocopy reads");
        slot.plains.clear();
        slot.plains.extend_from_slice(plains);
    }
}

pub struct Memcpy;

impl Codec<Plains> for Memcpy {
    const NAME: &'static str = "memcpy";

    fn write(&mut self, packet: &mut Plains, buffer: &mut [u8]) -> usize {
        let bytes = packet.plains.as_bytes();
        buffer[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut Plains) {
        let count = len / size_of::<Plain>();
        slot.plains.resize(count, Plain::new_zeroed());
        slot.plains.as_mut_bytes().copy_from_slice(&buffer[..len]);
    }
}
