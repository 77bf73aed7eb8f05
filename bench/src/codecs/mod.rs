//! One file per library, and here which of them take part for which packet.

mod bitcode;
mod bitstream_io;
mod borsh;
mod plain;
mod postcard;
mod rkyv;
mod serialize_official;
mod speedy;
mod tightwire;
mod tightwire_by_hand;
mod wincode;

use crate::harness::{Lane, Runner};
use crate::packets::{BitFields, Bodies, Indices, Message, Packet, Plains, PlayerInput, RawBodies};
use bitcode::Bitcode;
use bitstream_io::BitstreamIo;
use borsh::Borsh;
use plain::{Memcpy, Zerocopy};
use postcard::Postcard;
use rkyv::Rkyv;
use serialize_official::{SerializeOfficial, SerializeOfficialBits, SerializeOfficialPlain};
use speedy::Speedy;
use tightwire::{Tightwire, TightwireBits, TightwireIndices};
use tightwire_by_hand::ByHand;
use wincode::Wincode;

/// How one library writes and reads one packet.
pub trait Codec<P> {
    const NAME: &'static str;

    /// Whether what is read need only be close to what was written.
    const QUANTISES: bool = false;

    /// Whether [`write`](Self::write) leaves the packet in a buffer of the library
    /// instead of the one given. [`store`](Self::store) then has to be written.
    const LENDS: bool = false;

    /// Writes to the start of `buffer` and returns the bytes used. The buffer starts
    /// at a multiple of 16 bytes, is a multiple of 16 bytes long and large enough.
    /// The packet is `&mut` for libraries which want it so: it must not change.
    fn write(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize;

    /// As `write`, but never timed and always to `buffer`.
    fn store(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        self.write(packet, buffer)
    }

    /// Reads the packet in the first `len` bytes; `buffer` has at least 16 more.
    /// The slot holds some packet read before, whose memory may be used again.
    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P);
}

/// The codecs of one table.
pub type Lanes<P> = Vec<Box<dyn Lane<P>>>;

fn lane<P: Packet + 'static>(codec: impl Codec<P> + 'static) -> Box<dyn Lane<P>> {
    Box::new(Runner::new(codec))
}

// The first codec of each list is the one the others are compared to.

pub fn bodies() -> Lanes<Bodies> {
    vec![
        lane(Tightwire),
        lane(ByHand),
        lane(SerializeOfficial),
        lane(SerializeOfficialPlain),
        lane(BitstreamIo::default()),
        lane(Bitcode::default()),
        lane(Postcard),
        lane(Rkyv),
        lane(Speedy),
        lane(Borsh::default()),
        lane(Wincode),
    ]
}

pub fn bodies_raw() -> Lanes<RawBodies> {
    vec![
        lane(Tightwire),
        lane(ByHand),
        lane(SerializeOfficial),
        lane(BitstreamIo::default()),
        lane(Bitcode::default()),
        lane(Postcard),
        lane(Rkyv),
        lane(Speedy),
        lane(Borsh::default()),
        lane(Wincode),
    ]
}

pub fn inputs() -> Lanes<PlayerInput> {
    vec![
        lane(Tightwire),
        lane(ByHand),
        lane(SerializeOfficial),
        lane(BitstreamIo::default()),
        lane(Bitcode::default()),
        lane(Postcard),
        lane(Rkyv),
        lane(Speedy),
        lane(Borsh::default()),
        lane(Wincode),
    ]
}

pub fn messages() -> Lanes<Message> {
    vec![
        lane(Tightwire),
        lane(ByHand),
        lane(SerializeOfficial),
        lane(BitstreamIo::default()),
        lane(Bitcode::default()),
        lane(Postcard),
        lane(Rkyv),
        lane(Speedy),
        lane(Borsh::default()),
        lane(Wincode),
    ]
}

/// For both sizes.
pub fn indices() -> Lanes<Indices> {
    vec![
        lane(TightwireIndices::default()),
        lane(Tightwire),
        lane(SerializeOfficial),
        lane(BitstreamIo::default()),
        lane(Bitcode::default()),
        lane(Postcard),
        lane(Rkyv),
        lane(Speedy),
        lane(Borsh::default()),
        lane(Wincode),
    ]
}

pub fn plain() -> Lanes<Plains> {
    vec![
        lane(Tightwire),
        lane(ByHand),
        lane(SerializeOfficial),
        lane(BitstreamIo::default()),
        lane(Bitcode::default()),
        lane(Postcard),
        lane(Rkyv),
        lane(Speedy),
        lane(Borsh::default()),
        lane(Wincode),
        lane(Zerocopy),
        lane(Memcpy),
    ]
}

/// Only the libraries with a bit writer of their own.
pub fn bits() -> Lanes<BitFields> {
    vec![lane(TightwireBits), lane(SerializeOfficialBits), lane(BitstreamIo::default())]
}
