//! The connection ids of this side, and the forms of packets.

use core::mem;
use core::time::Duration;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};

/// A keyed hash of words, so short that the filter of a socket can compute it. It need not be
/// secure against analysis: a forged id that fits only has its packet checked once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KeyedHash {
    pub(super) start: u32,
    pub(super) factors: [u32; 2],
}

impl KeyedHash {
    pub(super) fn new(start: u32, factors: [u32; 2]) -> Self {
        // Even ones would lose bits.
        Self { start, factors: factors.map(|factor| factor | 1) }
    }

    pub(super) fn random() -> Self {
        let random = RandomState::new();
        let word = |place: u32| random.hash_one(place) as u32;
        Self::new(word(0), [word(1), word(2)])
    }

    pub(super) fn hash(&self, words: impl IntoIterator<Item = u32>) -> u32 {
        words.into_iter().fold(self.start, |hash, word| {
            let hash = (hash ^ word).wrapping_mul(self.factors[0]);
            let hash = (hash ^ hash >> 15).wrapping_mul(self.factors[1]);
            hash ^ hash >> 16
        })
    }
}

/// Generates connection ids: a random word, and its hash, by which this side recognises its own.
#[derive(Clone, Debug)]
pub(super) struct ConnectionIds {
    pub(super) hash: KeyedHash,
    random: RandomState,
    generated: u64,
    issued: IssuedIds,
}

/// The ids of the connections that this side has, by their random word. Clones are the same.
///
/// The form of an id says only that this side may have made it: anyone that had a connection before, or
/// was sent a Retry, knows such ids, and from some of them others can be computed.
#[derive(Clone, Debug, Default)]
struct IssuedIds(Arc<Mutex<Issued>>);

#[derive(Debug, Default)]
struct Issued {
    /// Generated since the last call of [`ConnectionIds::issue`].
    new: Vec<u32>,
    /// The slot of each connection. An id that its peer has retired stays until the connection ends:
    /// the guard limits how many there are.
    slots: HashMap<u32, usize>,
}

/// Form of a packet, by its unencrypted part (RFC 9000, 17).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// The packet goes to an id of this side.
    Ours,
    /// The packet may be the first of a connection, to an id that the other side chose.
    First,
    /// The packet is of no use to a server.
    Other,
}

impl ConnectionIds {
    pub(super) fn new(hash: KeyedHash) -> Self {
        Self { hash, random: RandomState::new(), generated: 0, issued: IssuedIds::default() }
    }

    /// Records that the ids that were generated since the last call are those of the connection in
    /// this slot, and adds their words to `words`.
    pub(super) fn issue(&self, slot: usize, words: &mut Vec<u32>) {
        let mut issued = self.issued.lock();
        for word in mem::take(&mut issued.new) {
            issued.slots.insert(word, slot);
            words.push(word);
        }
    }

    /// Forgets the ids that were generated since the last call of [`issue`](Self::issue), as for a
    /// Retry: no connection has them.
    pub(super) fn discard(&self) {
        self.issued.lock().new.clear();
    }

    /// Forgets the ids of the connection in this slot.
    pub(super) fn forget(&self, slot: usize, words: &[u32]) {
        let mut issued = self.issued.lock();
        for word in words {
            if issued.slots.get(word) == Some(&slot) {
                issued.slots.remove(word);
            }
        }
    }

    /// Returns the slot of the connection that a packet of the form [`Form::Ours`] goes to; `None`
    /// if there is no such connection.
    pub(super) fn slot_of(&self, packet: &[u8]) -> Option<usize> {
        let at = if packet.first()? & LONG == 0 { 1 } else { 6 };
        let word = u32::from_be_bytes(*packet.get(at..)?.first_chunk()?);
        self.issued.lock().slots.get(&word).copied()
    }

    pub(super) fn form(&self, packet: &[u8]) -> Form {
        match packet {
            [first, rest @ ..] if first & LONG == 0 => {
                if self.is_ours(rest) {
                    Form::Ours
                } else {
                    Form::Other
                }
            }
            [first, a, b, c, d, length, rest @ ..] if [*a, *b, *c, *d] == VERSION => {
                if usize::from(*length) == LENGTH && self.is_ours(rest) {
                    Form::Ours
                } else if first & KIND == 0 && packet.len() >= FIRST_BYTES {
                    Form::First
                } else {
                    Form::Other
                }
            }
            _ => Form::Other,
        }
    }

    fn is_ours(&self, id: &[u8]) -> bool {
        let Some(([a, b, c, d, e, f, g, h], _)) = id.split_first_chunk() else { return false };
        let hash = self.hash.hash([u32::from_be_bytes([*a, *b, *c, *d])]);
        hash == u32::from_be_bytes([*e, *f, *g, *h])
    }
}

impl IssuedIds {
    fn lock(&self) -> MutexGuard<'_, Issued> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionIdGenerator for ConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.generated += 1;
        let word = self.random.hash_one(self.generated) as u32;
        self.issued.lock().new.push(word);
        let id = [word, self.hash.hash([word])].map(u32::to_be_bytes);
        ConnectionId::new(id.as_flattened())
    }

    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        if id.len() == LENGTH && self.is_ours(id) { Ok(()) } else { Err(InvalidCid) }
    }

    fn cid_len(&self) -> usize {
        LENGTH
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Bytes of an id.
pub(super) const LENGTH: usize = 8;
/// Bit of the long header, which only packets of a handshake have.
pub(super) const LONG: u8 = 0x80;
/// Bits of a long header that are 0 in the very first packet.
pub(super) const KIND: u8 = 0x30;
/// Version of QUIC that clients of this crate use.
pub(super) const VERSION: [u8; 4] = [0, 0, 0, 1];
/// Smallest size of a first packet, in bytes, so that an answer is never larger than the request.
pub(super) const FIRST_BYTES: usize = 1200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_of_this_side_are_recognised() {
        let mut ids = ConnectionIds::new(KeyedHash::random());
        let other = ConnectionIds::new(KeyedHash::random());
        for _ in 0..1000 {
            let id = ids.generate_cid();
            assert!(ids.validate(&id).is_ok() && other.validate(&id).is_err());
            let short = [&[0x40][..], &id].concat();
            let long = [&[0xe0, 0, 0, 0, 1, 8][..], &id].concat();
            for packet in [&short, &long] {
                assert_eq!(ids.form(packet), Form::Ours);
                assert_eq!(other.form(packet), Form::Other);
                assert_eq!(ids.form(&packet[..packet.len() - 1]), Form::Other);
            }
        }
    }

    #[test]
    fn packets_belong_to_the_connection_that_has_their_id() {
        let ids = ConnectionIds::new(KeyedHash::random());
        let mut generator = ids.clone();
        let mut packet = |is_long| {
            let start: &[u8] = if is_long { &[0xe0, 0, 0, 0, 1, 8] } else { &[0x40] };
            [start, &generator.generate_cid()].concat()
        };
        let [short, long, of_retry] = [packet(false), packet(true), packet(true)];
        ids.discard();
        let mut words = [Vec::new(), Vec::new()];
        let first = [packet(false), packet(true)];
        ids.issue(3, &mut words[0]);
        let second = packet(true);
        ids.issue(5, &mut words[1]);
        assert_eq!([&short, &long, &of_retry].map(|packet| ids.slot_of(packet)), [None; 3]);
        assert_eq!(first.each_ref().map(|packet| ids.slot_of(packet)), [Some(3); 2]);
        assert_eq!((ids.slot_of(&second), ids.slot_of(&second[..9]), ids.slot_of(&[])), {
            (Some(5), None, None)
        });
        ids.forget(5, &words[0]);
        ids.forget(3, &words[0]);
        assert_eq!([&first[0], &first[1], &second].map(|packet| ids.slot_of(packet)), {
            [None, None, Some(5)]
        });
    }

    #[test]
    fn a_first_packet_is_of_this_version_and_large() {
        let ids = ConnectionIds::new(KeyedHash::random());
        let mut first = vec![0; FIRST_BYTES];
        first[..7].copy_from_slice(&[0xc3, 0, 0, 0, 1, 5, 77]);
        assert_eq!(ids.form(&first), Form::First);
        assert_eq!(ids.form(&first[1..]), Form::Other);
        assert_eq!(ids.form(&first[..FIRST_BYTES - 1]), Form::Other);
        for (place, byte) in [(0, 0xd3), (0, 0xe3), (0, 0x43), (4, 2), (1, 1)] {
            let mut other = first.clone();
            other[place] = byte;
            assert_eq!(ids.form(&other), Form::Other, "{byte:x} at {place}");
        }
        assert_eq!(ids.form(&[]), Form::Other);
    }
}
