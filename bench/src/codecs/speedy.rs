//! speedy, by derive.

use super::Codec;
use speedy::{LittleEndian, Readable, Writable};

pub struct Speedy;

impl<P> Codec<P> for Speedy
where
    P: Writable<LittleEndian> + for<'a> Readable<'a, LittleEndian>,
{
    const NAME: &'static str = "speedy";

    fn write(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        // The slice form needs a second call for the length, and is still much faster than the
        // stream form.
        packet.write_to_buffer_with_ctx(LittleEndian {}, buffer).expect("speedy writes");
        packet.bytes_needed().expect("speedy measures")
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        *slot =
            P::read_from_buffer_with_ctx(LittleEndian {}, &buffer[..len]).expect("speedy reads");
    }
}
