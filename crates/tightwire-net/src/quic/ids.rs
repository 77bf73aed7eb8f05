//! The connection ids that this side gives out, and what packets look like that have one.

use core::time::Duration;
use std::hash::{BuildHasher, RandomState};

use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};

/// A keyed hash of words, so short that the filter of a socket can compute it. It need not withstand
/// who studies it: whoever makes an id that fits only has a packet looked at once more.
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

/// Gives out connection ids: a random word, and its hash, by which this side knows its own.
#[derive(Clone, Debug)]
pub(super) struct ConnectionIds {
    pub(super) hash: KeyedHash,
    random: RandomState,
    given: u64,
}

/// What can be seen of a packet from outside (RFC 9000, 17).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// It goes to an id that this side has given out.
    Ours,
    /// It may be the first of a connection, to an id that the other side chose.
    First,
    /// Nothing that a server has a use for.
    Other,
}

impl ConnectionIds {
    pub(super) fn new(hash: KeyedHash) -> Self {
        Self { hash, random: RandomState::new(), given: 0 }
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

impl ConnectionIdGenerator for ConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.given += 1;
        let word = self.random.hash_one(self.given) as u32;
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

/// Of an id.
pub(super) const LENGTH: usize = 8;
/// The bit of a packet that has what only the first ones of a connection need.
pub(super) const LONG: u8 = 0x80;
/// The bits of such a packet that are 0 in the very first.
pub(super) const KIND: u8 = 0x30;
/// Of QUIC: what clients of this crate speak.
pub(super) const VERSION: [u8; 4] = [0, 0, 0, 1];
/// The first packet has as many at least, so that nobody is answered with more than they sent.
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
