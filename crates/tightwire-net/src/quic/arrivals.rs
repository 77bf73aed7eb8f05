//! Who may connect, by where they come from.
//!
//! Each packet has memory of its own, although one buffer for many would be faster: QUIC keeps parts of
//! packets, and would keep the whole buffer with them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use quinn_proto::Incoming;

use super::QuicConfig;
use super::slot::Slot;

/// Counts connections by where they come from.
///
/// Whoever has not answered yet may have said any address: such count only together, and make others
/// show where they are.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    sites: HashMap<IpAddr, Site>,
    /// Those that are incomplete, in all.
    handshakes: usize,
}

/// What comes from one place.
#[derive(Debug, Default)]
struct Site {
    /// Those that have answered.
    known: usize,
    /// Those that have not.
    unknown: usize,
}

/// How a connection is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Counted {
    #[default]
    Not,
    Unknown,
    Known,
}

pub(super) enum Decision {
    Accept,
    /// First it has to show that it is where it says.
    AskAgain,
    Refuse,
}

impl Arrivals {
    pub(super) fn decide(
        &self,
        incoming: &Incoming,
        connections: usize,
        config: &QuicConfig,
    ) -> Decision {
        let site = self.sites.get(&site_of(incoming.remote_address()));
        let (known, unknown) = site.map_or((0, 0), |site| (site.known, site.unknown));
        if connections >= config.max_connections || known >= config.max_per_address {
            return Decision::Refuse;
        }
        let is_crowded = self.handshakes >= config.max_handshakes || unknown >= MAX_UNKNOWN;
        if is_crowded && incoming.may_retry() { Decision::AskAgain } else { Decision::Accept }
    }

    pub(super) fn set_handshakes(&mut self, handshakes: usize) {
        self.handshakes = handshakes;
    }

    /// A connection was accepted.
    pub(super) fn add(&mut self, slot: &mut Slot, is_validated: bool) {
        self.handshakes += 1;
        let as_what = if is_validated { Counted::Known } else { Counted::Unknown };
        self.count(slot, as_what);
    }

    /// A connection may be complete now: who is has answered. `false` if there are too many such.
    pub(super) fn handle_progress(&mut self, slot: &mut Slot, config: &QuicConfig) -> bool {
        if slot.counted != Counted::Unknown || !slot.has_answered() {
            return true;
        }
        self.remove(slot);
        let site = self.sites.get(&site_of(slot.address));
        if site.is_some_and(|site| site.known >= config.max_per_address) {
            return false;
        }
        self.count(slot, Counted::Known);
        true
    }

    /// A connection has another address: it has answered from there, or QUIC would not say so.
    pub(super) fn handle_move(&mut self, slot: &mut Slot, address: SocketAddr) {
        let counted = slot.counted;
        self.remove(slot);
        slot.address = address;
        self.count(slot, counted);
    }

    /// A connection is over, or elsewhere.
    pub(super) fn remove(&mut self, slot: &mut Slot) {
        let key = site_of(slot.address);
        let Some(site) = self.sites.get_mut(&key) else { return };
        match core::mem::take(&mut slot.counted) {
            Counted::Not => {}
            Counted::Unknown => site.unknown -= 1,
            Counted::Known => site.known -= 1,
        }
        if site.known + site.unknown == 0 {
            self.sites.remove(&key);
        }
    }

    fn count(&mut self, slot: &mut Slot, as_what: Counted) {
        let site = self.sites.entry(site_of(slot.address)).or_default();
        match as_what {
            Counted::Not => {}
            Counted::Unknown => site.unknown += 1,
            Counted::Known => site.known += 1,
        }
        slot.counted = as_what;
    }
}

/// What is one place: an IPv4 address, or the network of an IPv6 address, of which one customer has
/// all.
fn site_of(address: SocketAddr) -> IpAddr {
    match address.ip().to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

/// From one place, of those who have not answered.
const MAX_UNKNOWN: usize = 4;
