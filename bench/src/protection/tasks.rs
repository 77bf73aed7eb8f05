//! Timed tasks: one pass over a set of packets.

use super::max_datagram;
use crate::packets::Packet;
use crc32fast::Hasher;
use fastrand::Rng;
use std::hint::black_box;
use std::ops::Range;
use tightwire::packet::{Keys, Protection, Protocol};
use tightwire::{Wire, decode_into, encode};

#[derive(Clone, Copy)]
pub enum Gate {
    None,
    Id,
    Crc32,
    Sealed,
}

#[derive(Clone, Copy)]
pub enum Kind {
    /// Encodes and decodes below the protocol.
    Encode,
    Decode,
    Write(Gate),
    Read(Gate),
    /// Refuses random bytes with the length of datagrams.
    Refuse(Gate),
    /// Refuses datagrams with the right sequence number and a wrong tag, the most work that a
    /// unconnected sender can cause.
    RefuseForged,
    /// Computes the checksum of packets that are already encoded.
    Checksum,
}

pub trait Timed {
    /// Panics if the task does not process a set correctly.
    fn check(&mut self, set: usize);
    /// Prepares the input of the next run; never timed.
    fn prepare(&mut self, set: usize);
    fn run(&mut self);
    /// Returns the number of datagrams in a set.
    fn datagrams(&self) -> usize;
    /// Returns the bytes of all checked datagrams.
    fn bytes(&self) -> usize;
}

pub struct Task<P> {
    kind: Kind,
    sets: Vec<Vec<P>>,
    set: usize,
    writer: Protocol<P>,
    reader: Protocol<P>,
    arena: Vec<u8>,
    spans: Vec<Range<usize>>,
    slots: Vec<P>,
    rng: Rng,
    bytes: usize,
    /// State of the checksum over the protocol id, as the gate keeps it.
    protocol_id: Hasher,
    /// Sum of all results, so that no work is optimised out.
    sum: u32,
}

impl<P: Wire + Packet> Task<P> {
    pub fn new(kind: Kind, sets: Vec<Vec<P>>) -> Self {
        let gate = match kind {
            Kind::Write(gate) | Kind::Read(gate) | Kind::Refuse(gate) => gate,
            Kind::RefuseForged => Gate::Sealed,
            Kind::Encode | Kind::Decode | Kind::Checksum => Gate::None,
        };
        let count = sets[0].len();
        let slots = sets[sets.len() - 1].clone();
        let [writer, reader] = [Keys::client, Keys::server]
            .map(|keys| Protocol::new("bench", "1", protection(gate, keys([1; 32], [2; 32]))));
        let arena = vec![0; count * stride::<P>()];
        let spans = vec![0..0; count];
        let mut protocol_id = Hasher::new();
        protocol_id.update(&writer.identity().id().to_le_bytes());
        Self {
            kind,
            sets,
            set: 0,
            writer,
            reader,
            arena,
            spans,
            slots,
            rng: Rng::with_seed(9),
            bytes: 0,
            protocol_id,
            sum: 0,
        }
    }

    fn write(&mut self) {
        let packets = black_box(&mut self.sets[self.set]);
        let places = self.arena.chunks_exact_mut(stride::<P>());
        for (index, (packet, place)) in packets.iter_mut().zip(places).enumerate() {
            let start = index * stride::<P>();
            let length = self.writer.write(packet, place).expect("it is written").len();
            self.spans[index] = start..start + length;
        }
        black_box(&mut self.arena[..]);
    }

    fn encode(&mut self) {
        let packets = black_box(&mut self.sets[self.set]);
        let places = self.arena.chunks_exact_mut(stride::<P>());
        for (index, (packet, place)) in packets.iter_mut().zip(places).enumerate() {
            let start = index * stride::<P>();
            let length = encode(packet, place).expect("it is written").len();
            self.spans[index] = start..start + length;
        }
        black_box(&mut self.arena[..]);
    }

    fn read(&mut self) {
        let arena = black_box(&self.arena[..]);
        for (slot, span) in self.slots.iter_mut().zip(&self.spans) {
            self.reader.read(&arena[span.clone()], slot).expect("it is read");
        }
        black_box(&mut self.slots[..]);
    }

    fn decode(&mut self) {
        let arena = black_box(&self.arena[..]);
        for (slot, span) in self.slots.iter_mut().zip(&self.spans) {
            decode_into(&arena[span.clone()], slot).expect("it is read");
        }
        black_box(&mut self.slots[..]);
    }

    fn refuse(&mut self) {
        let arena = black_box(&self.arena[..]);
        for (slot, span) in self.slots.iter_mut().zip(&self.spans) {
            assert!(self.reader.read(&arena[span.clone()], slot).is_err());
        }
        black_box(&mut self.slots[..]);
    }

    fn checksum(&mut self) {
        let arena = black_box(&self.arena[..]);
        for span in &self.spans {
            let mut hasher = self.protocol_id.clone();
            hasher.update(&arena[span.clone()]);
            self.sum ^= hasher.finalize();
        }
        black_box(&mut self.sum);
    }
}

impl<P: Wire + Packet> Timed for Task<P> {
    fn check(&mut self, set: usize) {
        self.prepare(set);
        let before = self.reader.counters();
        self.run();
        let after = self.reader.counters();
        self.bytes += self.spans.iter().map(Range::len).sum::<usize>();
        let count = self.datagrams() as u64;
        let (read, refused) = (after.read - before.read, after.refused() - before.refused());
        match self.kind {
            Kind::Read(_) => assert_eq!((read, refused), (count, 0)),
            Kind::Refuse(_) | Kind::RefuseForged => assert_eq!((read, refused), (0, count)),
            _ => assert_eq!((read, refused), (0, 0)),
        }
        match self.kind {
            Kind::Write(_) => self.read(),
            Kind::Encode => self.decode(),
            Kind::Read(_) | Kind::Decode => {}
            Kind::Refuse(_) | Kind::RefuseForged | Kind::Checksum => return,
        }
        let mut pairs = self.sets[set].iter().zip(&self.slots);
        assert!(pairs.all(|(packet, read)| packet.is_close(read)), "it is not what was written");
    }

    fn prepare(&mut self, set: usize) {
        self.set = set;
        match self.kind {
            Kind::Encode | Kind::Write(_) => return,
            _ => self.write(),
        }
        for span in &self.spans {
            let datagram = &mut self.arena[span.clone()];
            match self.kind {
                Kind::Refuse(_) => self.rng.fill(datagram),
                Kind::RefuseForged => datagram[span.len() - 1] ^= 1,
                _ => {}
            }
        }
    }

    #[inline(never)]
    fn run(&mut self) {
        match self.kind {
            Kind::Encode => self.encode(),
            Kind::Decode => self.decode(),
            Kind::Write(_) => self.write(),
            Kind::Read(_) => self.read(),
            Kind::Refuse(_) | Kind::RefuseForged => self.refuse(),
            Kind::Checksum => self.checksum(),
        }
    }

    fn datagrams(&self) -> usize {
        self.spans.len()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

fn protection(gate: Gate, keys: Keys) -> Protection {
    match gate {
        Gate::None => Protection::None,
        Gate::Id => Protection::Id,
        Gate::Crc32 => Protection::Crc32,
        Gate::Sealed => Protection::Sealed(keys),
    }
}

/// Distance between the starts of two datagrams in bytes, with room for a writer of whole words.
const fn stride<P: Wire>() -> usize {
    (max_datagram::<P>() + 8).next_multiple_of(16)
}
