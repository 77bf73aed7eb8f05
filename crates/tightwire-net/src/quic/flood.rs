//! Protection against floods: peers that send too much must not take the time of the others.
//!
//! Packets are counted by source address before any work is done for them: addresses with
//! connections one by one, others in a table of fixed size. Packets beyond a limit are dropped
//! unread.

use core::mem;
use core::time::Duration;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::SocketAddr;

use super::filter::Filter;
use super::flood_detector::FloodDetector;
use super::ids::{ConnectionIds, Form};

/// Rate limits of packets: each connection has its own, and other addresses have one each,
/// in a table of fixed size. All these together have a limit too: an attacker with many ports
/// or spoofed addresses keeps new clients out, but does not take the time of connected peers.
///
/// A packet counts for the connection whose id it has, and for no other: the id is known only to
/// receivers at the connection's address, while any address can be spoofed.
#[derive(Debug)]
pub(super) struct Flood {
    connected: HashMap<SocketAddr, ConnectedAddress>,
    unconnected: Vec<TokenBucket>,
    all_unconnected: TokenBucket,
    hash: RandomState,
    pub(super) ids: ConnectionIds,
    /// Clients also take packets without an id of theirs: a server that has lost its state does not
    /// know the id.
    is_server: bool,
    detector: FloodDetector,
    pub(super) dropped: u64,
}

/// Decision about a packet, before QUIC has seen it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PacketDecision {
    Drop,
    Read,
    /// Read, if the limits of the connection in this slot permit.
    Connection(usize),
}

/// An address with connections.
#[derive(Debug, Default)]
struct ConnectedAddress {
    connections: u32,
    /// Number of recent packets beyond the limit, and the limit per second.
    dropped: u32,
    per_second: u32,
}

/// Limit of packets per second, and of a burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    per_second: f32,
    burst: f32,
}

/// Token bucket of packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TokenBucket {
    used: f32,
    at: Duration,
}

/// Work of a connection in one input.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InputShare {
    /// The number of the input.
    input: u64,
    work: u32,
}

impl InputShare {
    /// Whether the connection has done less than `most` work in this input.
    pub(super) fn has_left(&mut self, input: u64, most: u32) -> bool {
        if self.input != input {
            *self = Self { input, work: 0 };
        }
        self.work < most
    }

    pub(super) fn charge(&mut self, work: u32) {
        self.work = self.work.saturating_add(work);
    }
}

impl Flood {
    pub(super) fn new(ids: ConnectionIds, is_server: bool) -> Self {
        Self {
            connected: HashMap::new(),
            unconnected: vec![TokenBucket::default(); BUCKETS],
            all_unconnected: TokenBucket::default(),
            hash: RandomState::new(),
            detector: FloodDetector::new(ids.hash, ALL_UNCONNECTED_PER_SECOND),
            ids,
            is_server,
            dropped: 0,
        }
    }

    /// Counts a new connection of an address.
    pub(super) fn add(&mut self, address: SocketAddr) {
        self.connected.entry(address).or_default().connections += 1;
    }

    /// Uncounts a connection of an address.
    pub(super) fn remove(&mut self, address: SocketAddr) {
        let Some(address_state) = self.connected.get_mut(&address) else { return };
        address_state.connections -= 1;
        if address_state.connections == 0 {
            self.connected.remove(&address);
        }
    }

    /// Moves a connection to another address, along with the packets that it sent beyond its limit:
    /// otherwise, one that moves back and forth would never be silenced.
    pub(super) fn migrate(&mut self, from: SocketAddr, to: SocketAddr) {
        let before = self.connected.get_mut(&from);
        let dropped = before.map(|state| (mem::take(&mut state.dropped), state.per_second));
        self.remove(from);
        self.add(to);
        if let (Some((dropped, per_second)), Some(state)) = (dropped, self.connected.get_mut(&to)) {
            state.dropped = state.dropped.saturating_add(dropped);
            state.per_second = state.per_second.max(per_second);
        }
    }

    /// Decides whether a packet from an address may be read, as far as its own connection, if it
    /// has one, permits.
    pub(super) fn admit(
        &mut self,
        address: SocketAddr,
        packet: &[u8],
        now: Duration,
    ) -> PacketDecision {
        let form = if self.is_server { self.ids.form(packet) } else { Form::Ours };
        let is_connected = form == Form::Ours && self.connected.contains_key(&address);
        // Without a look at the id, all packets to ids that no connection has would be read, if
        // only their sender has a connection, or spoofs the address of one that has.
        let slot = if is_connected && self.is_server { self.ids.slot_of(packet) } else { None };
        let admitted = if form == Form::Other || packet.len() > MAX_PACKET {
            false
        } else if slot.is_some() || (is_connected && !self.is_server) {
            true
        } else {
            // The filter of the socket passes packets of connected addresses in any case.
            if !is_connected {
                self.detector.count_unconnected();
            }
            let place = self.hash.hash_one(address) as usize % BUCKETS;
            self.unconnected[place].take(Rate::of(UNCONNECTED_PER_SECOND), now)
                && self.all_unconnected.take(Rate::of(ALL_UNCONNECTED_PER_SECOND), now)
        };
        self.dropped += u64::from(!admitted);
        match (admitted, slot) {
            (false, _) => PacketDecision::Drop,
            (true, Some(slot)) => PacketDecision::Connection(slot),
            (true, None) => PacketDecision::Read,
        }
    }

    /// Counts a packet beyond the limit of a connection; `address` is the connection's own if it
    /// came from there.
    pub(super) fn handle_dropped(&mut self, address: Option<SocketAddr>, rate: Rate) {
        self.dropped += 1;
        if let Some(address_state) = address.and_then(|address| self.connected.get_mut(&address)) {
            address_state.dropped = address_state.dropped.saturating_add(1);
            address_state.per_second = address_state.per_second.max(rate.per_second as u32);
        }
    }

    /// Returns the filter that the socket should use from now on; `None` if it has not changed.
    pub(super) fn filter(&mut self, now: Duration) -> Option<Filter> {
        if !self.is_server || !self.detector.is_due(now) {
            return None;
        }
        for (address, address_state) in &mut self.connected {
            let most = address_state.per_second.saturating_mul(address_state.connections);
            self.detector.check_connected(*address, address_state.dropped, most, now);
            (address_state.dropped, address_state.per_second) = (0, 0);
        }
        self.detector.filter(now, self.connected.keys())
    }
}

impl Rate {
    pub(super) fn new(per_second: f32, burst: f32) -> Self {
        Self { per_second, burst }
    }

    /// A rate of this many each second, and a quarter of them at once.
    pub(super) fn of(per_second: u32) -> Self {
        let per_second = per_second as f32;
        Self { per_second, burst: (per_second / 4.0).max(1.0) }
    }

    /// Returns the limit of an unauthenticated connection, with this many of them: all share
    /// one limit, except for the burst of first packets that a handshake needs.
    pub(super) fn of_unauthenticated(unconnected: usize) -> Self {
        let share = ALL_UNCONNECTED_PER_SECOND as f32 / unconnected.max(1) as f32;
        Self { per_second: share.min(MAX_UNAUTHENTICATED_RATE), burst: UNAUTHENTICATED_BURST }
    }
}

impl TokenBucket {
    pub(super) fn take(&mut self, rate: Rate, now: Duration) -> bool {
        let elapsed = now.saturating_sub(self.at).as_secs_f32();
        self.used = (self.used - elapsed * rate.per_second).max(0.0);
        self.at = now;
        if self.used + 1.0 > rate.burst {
            return false;
        }
        self.used += 1.0;
        true
    }

    /// Charges work that is worth this many packets more.
    pub(super) fn charge(&mut self, packets: f32) {
        self.used += packets;
    }
}

const BUCKETS: usize = 4096;
/// Limit of one address: a handshake takes about five packets, twice as many if much is lost.
const UNCONNECTED_PER_SECOND: u32 = 200;
/// Limit of all addresses without a connection: two packets for each of 2000 new clients. A forged
/// first packet takes about ten microseconds until it is refused.
const ALL_UNCONNECTED_PER_SECOND: u32 = 4000;
/// Limits of an unauthenticated connection: its handshake needs about ten packets, and a hundred
/// if the two sides have to exchange their descriptions.
const MAX_UNAUTHENTICATED_RATE: f32 = 50.0;
const UNAUTHENTICATED_BURST: f32 = 100.0;
/// Size of the largest packet that QUIC sends in our configuration, in bytes.
const MAX_PACKET: usize = 1500;

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

    /// Returns a packet to a new connection in a slot.
    fn packet_of(flood: &Flood, slot: usize) -> Vec<u8> {
        let packet = [&[0x40][..], &flood.ids.clone().generate_cid(), &[0; 20]].concat();
        flood.ids.issue(slot, &mut Vec::new());
        packet
    }

    #[test]
    fn spoofed_packets_do_not_use_up_a_connections_rate() {
        let mut flood = Flood::new(ids(), true);
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        flood.add(address);
        let packet = packet_of(&flood, 7);
        let mut admit = |packet: &[u8]| flood.admit(address, packet, Duration::ZERO);
        for _ in 0..10_000 {
            assert_eq!(admit(&[0x40; 30]), PacketDecision::Drop);
            admit(&first_packet());
        }
        assert_eq!(admit(&packet), PacketDecision::Connection(7));
        assert_eq!(admit(&[&packet[..], &[0; 1500]].concat()), PacketDecision::Drop);
    }

    #[test]
    fn ids_of_no_connection_count_as_unconnected() {
        let mut flood = Flood::new(ids(), true);
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        flood.add(address);
        let packet = packet_of(&flood, 7);
        let [word] = *packet[1..].as_chunks::<4>().0.first_chunk().unwrap_or(&[[0; 4]]);
        flood.ids.forget(7, &[u32::from_be_bytes(word)]);
        let read = (0..1000)
            .filter(|_| flood.admit(address, &packet, Duration::ZERO) == PacketDecision::Read)
            .count();
        assert_eq!(read, UNCONNECTED_PER_SECOND as usize / 4);
        // They are no flood of unconnected addresses, for which new clients would have to wait.
        let filter = flood.filter(Duration::ZERO);
        assert!(filter.is_some_and(|filter| filter.unconnected.is_none()));
        flood.remove(address);
        for _ in 0..1000 {
            flood.admit(address, &packet, Duration::from_millis(50));
        }
        let filter = flood.filter(Duration::from_millis(100));
        assert!(filter.is_some_and(|filter| filter.unconnected.is_some()));
    }

    #[test]
    fn unconnected_addresses_share_a_limit() {
        let mut flood = Flood::new(ids(), true);
        let mut read = 0;
        for millisecond in 0..2_000 {
            let now = Duration::from_millis(millisecond);
            for port in 0..1000 {
                let address = ([127, 0, 0, 1], port).into();
                let admission = flood.admit(address, &first_packet(), now);
                read += u32::from(admission == PacketDecision::Read);
            }
        }
        let most = 2 * ALL_UNCONNECTED_PER_SECOND + ALL_UNCONNECTED_PER_SECOND / 4;
        assert!((most - 100..=most).contains(&read), "{read}");
        assert_eq!(flood.dropped, 2_000_000 - u64::from(read));
    }

    #[test]
    fn connections_have_a_rate_and_pay_for_frames() {
        let (mut quiet, mut loud, mut packed) =
            (TokenBucket::default(), TokenBucket::default(), TokenBucket::default());
        let (rate, mut read) = (Rate::of(1000), [0; 3]);
        for millisecond in 0..10_000 {
            let now = Duration::from_millis(millisecond);
            read[0] += u32::from(quiet.take(rate, now));
            read[1] += (0..100).map(|_| u32::from(loud.take(rate, now))).sum::<u32>();
            if packed.take(rate, now) {
                packed.charge(9.0);
                read[2] += 1;
            }
        }
        assert_eq!(read[0], 10_000);
        assert!((9_900..=10_300).contains(&read[1]), "{read:?}");
        assert!((990..=1_030).contains(&read[2]), "{read:?}");
    }

    #[test]
    fn unauthenticated_connections_share_a_rate_after_their_burst() {
        let now = Duration::from_secs(1);
        for (unconnected, most) in [(1, 150), (80, 150), (400, 110), (4000, 101)] {
            let (mut one, rate) = (TokenBucket::default(), Rate::of_unauthenticated(unconnected));
            let mut read = (0..1000).filter(|_| one.take(rate, Duration::ZERO)).count();
            assert_eq!(read, 100);
            read += (0..1000).filter(|_| one.take(rate, now)).count();
            assert_eq!(read, most, "{unconnected}");
        }
    }

    #[test]
    fn only_packets_from_its_own_address_silence_a_connection() {
        let mut flood = Flood::new(ids(), true);
        let [loud, victim] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        flood.add(loud);
        flood.add(victim);
        assert!(flood.filter(Duration::ZERO).is_some_and(|filter| filter.silenced.is_empty()));
        for _ in 0..1000 {
            flood.handle_dropped(Some(loud), Rate::of(4000));
            flood.handle_dropped(None, Rate::of(4000));
        }
        let filter = flood.filter(Duration::from_millis(100));
        assert_eq!(filter.map(|filter| filter.silenced.len()), Some(1));
        flood.remove(loud);
        flood.remove(victim);
        assert!(flood.connected.is_empty());
    }
}
