//! Keeps those who send too much from taking the time of the others.
//!
//! Packets are counted by source address before any work is done for them: addresses with connections
//! one by one, strangers in a table of fixed size. Packets beyond a limit are dropped unread.

use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::SocketAddr;

use super::filter::Filter;
use super::ids::{ConnectionIds, Form};
use super::watch::Watch;

/// Who may have a packet read: each address and port has so many each second, those with a
/// connection by themselves, and strangers in a table of fixed size. All strangers together have a
/// limit too: whoever has many ports, or makes up addresses, keeps newcomers out, but does not take
/// the time of those who are connected.
///
/// A packet counts for a connection only if it has an id that this side has given out, which strangers
/// who make up its address do not know. One who is connected does: where the network lets it send in the
/// name of others, it can use up what they have.
#[derive(Debug)]
pub(super) struct Flood {
    known: HashMap<SocketAddr, Known>,
    strangers: Vec<Bucket>,
    all_strangers: Bucket,
    hash: RandomState,
    ids: ConnectionIds,
    /// Clients take packets without an id of theirs too: a server that has forgotten them does not
    /// know it.
    is_server: bool,
    /// For each connection.
    per_second: u32,
    watch: Watch,
    pub(super) dropped: u64,
}

#[derive(Debug)]
struct Known {
    connections: u32,
    bucket: Bucket,
    /// The packets that were too many, of late.
    dropped: u32,
}

/// Fills over time, up to a quarter of a second.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    packets: f32,
    filled: Duration,
}

impl Flood {
    pub(super) fn new(per_second: u32, ids: ConnectionIds, is_server: bool) -> Self {
        Self {
            known: HashMap::new(),
            strangers: vec![Bucket::full(STRANGERS_PER_SECOND, Duration::ZERO); STRANGERS],
            all_strangers: Bucket::full(ALL_STRANGERS_PER_SECOND, Duration::ZERO),
            hash: RandomState::new(),
            watch: Watch::new(ids.hash, ALL_STRANGERS_PER_SECOND),
            ids,
            is_server,
            per_second,
            dropped: 0,
        }
    }

    /// An address has one more connection.
    pub(super) fn add(&mut self, address: SocketAddr, now: Duration) {
        let new =
            || Known { connections: 0, bucket: Bucket::full(self.per_second, now), dropped: 0 };
        self.known.entry(address).or_insert_with(new).connections += 1;
    }

    /// An address has one connection less.
    pub(super) fn remove(&mut self, address: SocketAddr) {
        let Some(known) = self.known.get_mut(&address) else { return };
        known.connections -= 1;
        if known.connections == 0 {
            self.known.remove(&address);
        }
    }

    /// Whether a packet of an address may be read.
    pub(super) fn admits(&mut self, address: SocketAddr, packet: &[u8], now: Duration) -> bool {
        let form = if self.is_server { self.ids.form(packet) } else { Form::Ours };
        let known = self.known.get_mut(&address).filter(|_| form == Form::Ours);
        let admitted = if let Some(Known { connections, bucket, dropped }) = known {
            let admitted = bucket.take(self.per_second.saturating_mul(*connections), now);
            *dropped = dropped.saturating_add(u32::from(!admitted));
            admitted
        } else if form == Form::Other {
            false
        } else {
            self.watch.see_stranger();
            let place = self.hash.hash_one(address) as usize % STRANGERS;
            self.strangers[place].take(STRANGERS_PER_SECOND, now)
                && self.all_strangers.take(ALL_STRANGERS_PER_SECOND, now)
        };
        self.dropped += u64::from(!admitted);
        admitted
    }

    /// What the socket should drop from now on, if that is something else than before.
    pub(super) fn filter(&mut self, now: Duration) -> Option<Filter> {
        if !self.is_server || !self.watch.is_due(now) {
            return None;
        }
        for (address, known) in &mut self.known {
            let most = self.per_second.saturating_mul(known.connections);
            self.watch.see_known(*address, known.dropped, most, now);
            known.dropped = 0;
        }
        self.watch.filter(now, self.known.keys())
    }
}

impl Bucket {
    fn full(per_second: u32, now: Duration) -> Self {
        Self { packets: per_second as f32 / 4.0, filled: now }
    }

    fn take(&mut self, per_second: u32, now: Duration) -> bool {
        let rate = per_second as f32;
        let elapsed = now.saturating_sub(self.filled).as_secs_f32();
        self.packets = (self.packets + elapsed * rate).min((rate / 4.0).max(1.0));
        self.filled = now;
        if self.packets < 1.0 {
            return false;
        }
        self.packets -= 1.0;
        true
    }
}

const STRANGERS: usize = 4096;
/// A handshake takes about five, twice as many if much is lost.
const STRANGERS_PER_SECOND: u32 = 200;
/// Two for each of 2000 newcomers. One that looks like the first of a connection takes about ten
/// microseconds until it is known to be none.
const ALL_STRANGERS_PER_SECOND: u32 = 4000;

#[cfg(test)]
mod tests {
    use quinn_proto::ConnectionIdGenerator;

    use super::super::ids::{FIRST_BYTES, KeyedHash};
    use super::*;

    fn ids() -> ConnectionIds {
        ConnectionIds::new(KeyedHash::new(7, [8, 9]))
    }

    fn first_packet() -> Vec<u8> {
        let mut packet = vec![0; FIRST_BYTES];
        packet[..5].copy_from_slice(&[0xc0, 0, 0, 0, 1]);
        packet
    }

    /// Of a connection of this side.
    fn known_packet() -> Vec<u8> {
        [&[0x40][..], &ids().generate_cid(), &[0; 20]].concat()
    }

    #[test]
    fn made_up_addresses_do_not_use_up_what_a_connection_has() {
        let mut flood = Flood::new(1000, ids(), true);
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        flood.add(address, Duration::ZERO);
        for _ in 0..10_000 {
            assert!(!flood.admits(address, &[0x40; 30], Duration::ZERO));
            flood.admits(address, &first_packet(), Duration::ZERO);
        }
        assert!(flood.admits(address, &known_packet(), Duration::ZERO));
    }

    #[test]
    fn strangers_with_many_ports_have_a_limit_together() {
        let mut flood = Flood::new(1000, ids(), true);
        let mut read = 0;
        for millisecond in 0..2_000 {
            let now = Duration::from_millis(millisecond);
            for port in 0..1000 {
                read +=
                    u32::from(flood.admits(([127, 0, 0, 1], port).into(), &first_packet(), now));
            }
        }
        let most = 2 * ALL_STRANGERS_PER_SECOND + ALL_STRANGERS_PER_SECOND / 4;
        assert!((most - 100..=most).contains(&read), "{read}");
        assert_eq!(flood.dropped, 2_000_000 - u64::from(read));
    }

    #[test]
    fn one_who_floods_is_dropped_and_the_others_are_not() {
        let mut flood = Flood::new(1000, ids(), true);
        let [quiet, loud, stranger] =
            [1, 2, 3].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        flood.add(quiet, Duration::ZERO);
        flood.add(loud, Duration::ZERO);
        let known = known_packet();
        let mut read = [0; 3];
        for millisecond in 0..10_000 {
            let now = Duration::from_millis(millisecond);
            read[0] += u32::from(flood.admits(quiet, &known, now));
            read[1] += (0..100).map(|_| u32::from(flood.admits(loud, &known, now))).sum::<u32>();
            read[2] += (0..100)
                .map(|_| u32::from(flood.admits(stranger, &first_packet(), now)))
                .sum::<u32>();
        }
        assert_eq!(read[0], 10_000);
        assert!((9_900..=10_300).contains(&read[1]), "{read:?}");
        assert!((1_990..=2_060).contains(&read[2]), "{read:?}");
        flood.remove(loud);
        flood.remove(quiet);
        assert!(flood.known.is_empty());
    }
}
