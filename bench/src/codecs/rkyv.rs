//! rkyv, by derive. Reading is checked access and then full deserialization, since the
//! other libraries check their input and end with the same Rust value.

use super::Codec;
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator, to_bytes_in};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor::Error;
use rkyv::ser::{allocator::ArenaHandle, writer::Buffer};
use rkyv::{Archive, Deserialize, Serialize};

pub struct Rkyv;

impl<P> Codec<P> for Rkyv
where
    P: Archive + for<'b, 'a> Serialize<HighSerializer<Buffer<'b>, ArenaHandle<'a>, Error>>,
    P::Archived: for<'a> CheckBytes<HighValidator<'a, Error>>,
    P::Archived: Deserialize<P, HighDeserializer<Error>>,
{
    const NAME: &'static str = "rkyv";

    fn write(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        let written = to_bytes_in::<_, Error>(packet, Buffer::from(buffer));
        written.expect("rkyv writes").len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        let archived = rkyv::access::<P::Archived, Error>(&buffer[..len]).expect("rkyv reads");
        *slot = rkyv::deserialize::<P, Error>(archived).expect("rkyv deserializes");
    }
}
