//! Codecs: one file per library, and lists of the libraries that take part for each packet.

mod bitcode;
mod bitstream_io;
mod borsh;
mod packer;
mod plain;
mod postcard;
mod rkyv;
mod serialize_official;
mod speedy;
mod tightwire;
mod tightwire_by_hand;
mod wincode;

use crate::harness::{Lane, Runner};
use crate::packets::{
    BitFields, Bodies, ButtonInput, Indices, Message, Packet, Plains, PlayerInput, RawBodies, Squad,
};
use bitcode::Bitcode;
use bitstream_io::BitstreamIo;
use borsh::Borsh;
use packer::Packer;
use plain::{Memcpy, Zerocopy};
use postcard::Postcard;
use rkyv::Rkyv;
use serialize_official::{SerializeOfficial, SerializeOfficialBits, SerializeOfficialPlain};
use speedy::Speedy;
use tightwire::{
    Tightwire, TightwireBits, TightwireFresh, TightwireIndex, TightwireIndices, TightwireRelative,
};
use tightwire_by_hand::ByHand;
use wincode::Wincode;

/// Code with which one library writes and reads one packet.
pub trait Codec<P> {
    const NAME: &'static str;

    /// Whether the read packet need only be close to the written one.
    const QUANTISES: bool = false;

    /// Whether [`write`](Self::write) leaves the packet in a buffer of the library instead of the
    /// given one. [`store`](Self::store) must be implemented then.
    const LENDS: bool = false;

    /// Writes to the start of `buffer`, and returns the bytes used. The buffer starts at a multiple
    /// of 16 bytes, is a multiple of 16 bytes long and large enough. The packet is `&mut` for
    /// libraries that require it: it must not change.
    fn write(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize;

    /// Writes as `write` does, but never timed and always to `buffer`.
    fn store(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        self.write(packet, buffer)
    }

    /// Reads the packet in the first `len` bytes; `buffer` has at least 16 more. The slot holds a
    /// packet that was read before, whose memory may be reused.
    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P);
}

/// The codecs of one table.
pub type Lanes<P> = Vec<Box<dyn Lane<P>>>;

fn lane<P: Packet + 'static>(codec: impl Codec<P> + 'static) -> Box<dyn Lane<P>> {
    Box::new(Runner::new(codec))
}

// The others are compared to the first codec of each list.

pub fn bodies() -> Lanes<Bodies> {
    vec![
        lane(Tightwire),
        lane(ByHand),
        lane(Packer),
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
        lane(Packer),
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
        lane(TightwireFresh),
        lane(Packer),
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

/// Returns the codecs that need no code for the packet, and the packer.
pub fn buttons() -> Lanes<ButtonInput> {
    vec![
        lane(Tightwire),
        lane(Packer),
        lane(Bitcode::default()),
        lane(Postcard),
        lane(Rkyv),
        lane(Speedy),
        lane(Borsh::default()),
        lane(Wincode),
    ]
}

/// Returns the codecs that need no code for the packet, and the packer.
pub fn places() -> Lanes<Squad> {
    vec![
        lane(Tightwire),
        lane(Packer),
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
        lane(TightwireFresh),
        lane(Packer),
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

/// Returns the codecs for both sizes of index lists.
pub fn indices() -> Lanes<Indices> {
    vec![
        lane(TightwireIndices::default()),
        lane(TightwireIndex),
        lane(TightwireRelative),
        lane(Tightwire),
        lane(Packer),
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

/// Returns the libraries with a bit writer of their own.
pub fn bits() -> Lanes<BitFields> {
    vec![
        lane(TightwireBits),
        lane(Packer),
        lane(SerializeOfficialBits),
        lane(BitstreamIo::default()),
    ]
}
