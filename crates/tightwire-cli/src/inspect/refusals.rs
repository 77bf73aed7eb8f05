//! Refused packets by reason.

use tightwire::packet::PacketError;
use tightwire::stream::ErrorKind;

use super::reading::{CurrentDatagram, Refusal};

/// Maximum number of reasons: with the wrong schema, nearly every packet has its own.
const MAX_REASONS: usize = 32;

/// Maximum number of packets that are named for each reason.
const MAX_PACKETS: usize = 8;

/// Packets that were refused for the same reason.
#[derive(serde::Serialize, Clone, PartialEq, Debug)]
pub(crate) struct RefusalGroup {
    /// Reason of the first of these packets, in a sentence.
    pub(crate) reason: String,
    pub(crate) count: u64,
    /// Numbers of the first of these packets.
    pub(crate) packets: Vec<u64>,
    #[serde(skip)]
    key: Key,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Key {
    Gate(PacketError),
    Short,
    Field(usize, ErrorKind),
}

/// Reasons of all refused packets.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    reasons: Vec<RefusalGroup>,
    /// Number of packets whose reasons are beyond the limit.
    pub(crate) others: u64,
}

impl Refusals {
    pub(crate) fn add(&mut self, seen: &CurrentDatagram<'_>) {
        let key = match seen.refused {
            None => return,
            Some(Refusal::Gate(PacketError::TooShort { .. })) => Key::Short,
            Some(Refusal::Gate(refused)) => Key::Gate(refused),
            Some(Refusal::Field(error)) => Key::Field(seen.tally.refused_at().index(), error.kind),
        };
        let is_full = self.reasons.len() >= MAX_REASONS;
        match self.reasons.iter_mut().find(|reason| reason.key == key) {
            Some(reason) => {
                reason.count += 1;
                if reason.packets.len() < MAX_PACKETS {
                    reason.packets.push(seen.number);
                }
            }
            None if !is_full => self.reasons.push(RefusalGroup {
                reason: seen.reason().unwrap_or_default(),
                count: 1,
                packets: vec![seen.number],
                key,
            }),
            None => self.others += 1,
        }
    }

    /// Returns the reasons, the most frequent first.
    pub(crate) fn sorted(&self) -> Vec<&RefusalGroup> {
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|reason| core::cmp::Reverse(reason.count));
        reasons
    }
}
