//! Admission of new connections, by their source address.

use core::time::Duration;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use quinn_proto::Incoming;

use super::QuicConfig;
use super::flood::{Allowance, Rate};
use super::slot::Slot;
use crate::transport::Connection;

/// Numbers of connections by source address.
///
/// Whoever has not answered yet may have said any address: such count only together, and make others
/// show where they are. Those that are not welcome yet have a limit of their own. When it is reached, a
/// newcomer that has shown where it is takes the place of the one that is least likely to be a player:
/// the oldest that has not answered, or else the oldest of the place that has the most of them.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    sites: HashMap<Site, Count>,
    /// Those that are not welcome, the oldest first.
    strangers: VecDeque<Stranger>,
    /// Those that are incomplete, in all.
    handshakes: usize,
    /// A handshake takes as long as a hundred packets.
    accepted: Allowance,
}

/// An origin of connections: an IPv4 address, or a network of IPv6 addresses with so many bits in common.
type Site = (IpAddr, u8);

/// Connections from one site.
#[derive(Debug, Default)]
struct Count {
    /// Those that have answered.
    known: usize,
    /// Connections that have not answered.
    unknown: usize,
    accepted: Allowance,
}

#[derive(Debug)]
struct Stranger {
    connection: Connection,
    sites: [Site; 2],
    has_answered: bool,
    since: Duration,
}

/// Way in which a connection is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Counted {
    #[default]
    Not,
    Unknown,
    Known,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    Accept,
    /// Accept, in the place of this one.
    Replace(Connection),
    /// First it has to show that it is where it says.
    AskAgain,
    /// It comes again, and then there may be time for it.
    Ignore,
    Refuse,
}

/// A connection that asks to be accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newcomer {
    address: SocketAddr,
    /// It has shown that it is there.
    is_validated: bool,
    can_be_asked: bool,
}

impl From<&Incoming> for Newcomer {
    fn from(incoming: &Incoming) -> Self {
        Self {
            address: incoming.remote_address(),
            is_validated: incoming.remote_address_validated(),
            can_be_asked: incoming.may_retry(),
        }
    }
}

impl Arrivals {
    /// Decides about a newcomer, with this many connections.
    pub(super) fn decide(
        &mut self,
        newcomer: Newcomer,
        connections: usize,
        config: &QuicConfig,
        now: Duration,
    ) -> Decision {
        let replaced = match self.replaced(newcomer.address, connections, config, now) {
            Ok(replaced) => replaced,
            // To come again costs it a round trip, and shows that it is there.
            Err(Decision::Ignore) if newcomer.can_be_asked => return Decision::AskAgain,
            Err(decision) => return decision,
        };
        let [site, _] = sites_of(newcomer.address);
        let unknown = self.sites.get(&site).map_or(0, |count| count.unknown);
        let is_crowded = self.handshakes >= config.max_handshakes || unknown >= MAX_UNKNOWN;
        if (is_crowded || replaced.is_some()) && newcomer.can_be_asked {
            return Decision::AskAgain;
        }
        // Nobody has to go for an address that anybody can make up.
        if replaced.is_some() && !newcomer.is_validated {
            return Decision::Refuse;
        }
        if !self.has_time(newcomer, config, now) {
            return if newcomer.can_be_asked { Decision::AskAgain } else { Decision::Ignore };
        }
        replaced.map_or(Decision::Accept, Decision::Replace)
    }

    /// The one that would have to go; what else becomes of the newcomer if there is no room and none
    /// can.
    fn replaced(
        &self,
        address: SocketAddr,
        connections: usize,
        config: &QuicConfig,
        now: Duration,
    ) -> Result<Option<Connection>, Decision> {
        for (site, most) in limited_sites_of(address, config.max_per_address) {
            let is_full = self.sites.get(&site).is_some_and(|count| count.known >= most);
            let mut strangers = self.strangers.iter().filter(|one| one.sites.contains(&site));
            let too_many = (most / 2).max(FEW);
            if is_full || strangers.clone().count() >= too_many {
                // Many who come at once from one place, as after a restart, do not drive each other out.
                let is_old = |one: &&Stranger| now.saturating_sub(one.since) >= A_MOMENT;
                let found = strangers.find(|one| is_old(one) && (one.has_answered || !is_full));
                let otherwise = if is_full { Decision::Refuse } else { Decision::Ignore };
                return found.map(|one| Some(one.connection)).ok_or(otherwise);
            }
        }
        let is_full = connections >= config.max_connections;
        if !is_full && self.strangers.len() < config.max_strangers {
            return Ok(None);
        }
        self.least_likely(now).map(Some).ok_or(Decision::Refuse)
    }

    /// The stranger that is least likely to be a player.
    fn least_likely(&self, now: Duration) -> Option<Connection> {
        let unanswered = self.strangers.iter().find(|one| !one.has_answered);
        if let Some(one) = unanswered.filter(|one| now.saturating_sub(one.since) >= A_MOMENT) {
            return Some(one.connection);
        }
        let mut counts = HashMap::<Site, usize>::new();
        for one in &self.strangers {
            *counts.entry(one.sites[1]).or_default() += 1;
        }
        let most = counts.values().copied().max().unwrap_or(0);
        let has_most = |one: &&Stranger| counts.get(&one.sites[1]) == Some(&most);
        let oldest = self.strangers.iter().find(has_most)?;
        // Where all are alone, there is nobody who takes more than others.
        let may_go = most > 1 || now.saturating_sub(oldest.since) >= A_MOMENT;
        may_go.then_some(oldest.connection)
    }

    /// Whether there is time for a handshake. Only who is there uses up what its place has.
    fn has_time(&mut self, newcomer: Newcomer, config: &QuicConfig, now: Duration) -> bool {
        if newcomer.is_validated {
            for (site, most) in limited_sites_of(newcomer.address, config.max_per_address) {
                let rate = Rate::new(most as f32 / 2.0, (most as f32).max(16.0));
                let count = self.sites.get_mut(&site);
                if count.is_some_and(|count| !count.accepted.take(rate, now)) {
                    return false;
                }
            }
        }
        self.accepted.take(Rate::of(HANDSHAKES_PER_SECOND), now)
    }

    pub(super) fn set_handshakes(&mut self, handshakes: usize) {
        self.handshakes = handshakes;
    }

    /// A connection was accepted.
    pub(super) fn add(&mut self, slot: &mut Slot, is_validated: bool, now: Duration) {
        self.handshakes += 1;
        let as_what = if is_validated { Counted::Known } else { Counted::Unknown };
        self.count(slot, as_what);
        self.strangers.push_back(Stranger {
            connection: slot.id,
            sites: sites_of(slot.address),
            has_answered: is_validated,
            since: now,
        });
    }

    /// A connection is welcome.
    pub(super) fn handle_welcome(&mut self, connection: Connection) {
        self.strangers.retain(|one| one.connection != connection);
    }

    /// Counts a connection whose handshake is complete as one that has answered. `false` if its
    /// site has too many of these.
    pub(super) fn handle_progress(&mut self, slot: &mut Slot, config: &QuicConfig) -> bool {
        if slot.counted != Counted::Unknown || !slot.has_answered() {
            return true;
        }
        self.uncount(slot);
        if let Some(one) = self.strangers.iter_mut().find(|one| one.connection == slot.id) {
            one.has_answered = true;
        }
        let has_room = self.has_room(slot.address, config);
        if has_room {
            self.count(slot, Counted::Known);
        }
        has_room
    }

    /// A connection has another address, from which it has answered. `false` if there are too many.
    pub(super) fn handle_move(
        &mut self,
        slot: &mut Slot,
        address: SocketAddr,
        config: &QuicConfig,
    ) -> bool {
        let counted = slot.counted;
        self.uncount(slot);
        slot.address = address;
        if let Some(one) = self.strangers.iter_mut().find(|one| one.connection == slot.id) {
            one.sites = sites_of(address);
        }
        let has_room = self.has_room(address, config);
        if has_room {
            self.count(slot, counted);
        }
        has_room
    }

    fn has_room(&self, address: SocketAddr, config: &QuicConfig) -> bool {
        limited_sites_of(address, config.max_per_address)
            .all(|(site, most)| self.sites.get(&site).is_none_or(|count| count.known < most))
    }

    /// A connection is over.
    pub(super) fn remove(&mut self, slot: &mut Slot) {
        self.uncount(slot);
        self.handle_welcome(slot.id);
    }

    fn uncount(&mut self, slot: &mut Slot) {
        let counted = core::mem::take(&mut slot.counted);
        for site in distinct(sites_of(slot.address)) {
            let Some(count) = self.sites.get_mut(&site) else { continue };
            match counted {
                Counted::Not => {}
                Counted::Unknown => count.unknown -= 1,
                Counted::Known => count.known -= 1,
            }
            if count.known + count.unknown == 0 {
                self.sites.remove(&site);
            }
        }
    }

    fn count(&mut self, slot: &mut Slot, as_what: Counted) {
        for site in distinct(sites_of(slot.address)) {
            let count = self.sites.entry(site).or_default();
            match as_what {
                Counted::Not => {}
                Counted::Unknown => count.unknown += 1,
                Counted::Known => count.known += 1,
            }
        }
        slot.counted = as_what;
    }
}

/// The places that an address is in: of IPv6, what a customer has for one network, and what a site
/// has, which can make as many networks as it likes.
fn sites_of(address: SocketAddr) -> [Site; 2] {
    match address.ip().to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            let network = Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0);
            let site = Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0);
            [(network.into(), 64), (site.into(), 48)]
        }
        address => [(address, 32); 2],
    }
}

fn distinct([first, second]: [Site; 2]) -> impl Iterator<Item = Site> {
    core::iter::once(first).chain((first != second).then_some(second))
}

/// The places that an address is in, and how many there can be, if so many can be of one address.
fn limited_sites_of(address: SocketAddr, most: usize) -> impl Iterator<Item = (Site, usize)> {
    let of_site = most.saturating_mul(NETWORKS);
    distinct(sites_of(address)).zip([most, of_site])
}

/// From one place, of those who have not answered.
const MAX_UNKNOWN: usize = 4;
/// From one place, of those who are not welcome, or half of those who can be connected.
const FEW: usize = 8;
/// As many networks of a site in IPv6 can have all their connections.
const NETWORKS: usize = 4;
/// An honest newcomer has answered by then, or has a bad line.
const A_MOMENT: Duration = Duration::from_secs(1);
/// Each takes some 200 microseconds.
const HANDSHAKES_PER_SECOND: u32 = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn newcomer(ip: &str) -> Newcomer {
        let ip: IpAddr = ip.parse().unwrap_or(IpAddr::V4([0; 4].into()));
        Newcomer { address: (ip, 1).into(), is_validated: true, can_be_asked: false }
    }

    fn strangers(ips: impl Iterator<Item = String>, arrivals: &mut Arrivals) {
        for (number, ip) in ips.enumerate() {
            let address = newcomer(&ip).address;
            arrivals.strangers.push_back(Stranger {
                connection: Connection(number as u64),
                sites: sites_of(address),
                has_answered: true,
                since: Duration::from_millis(number as u64),
            });
        }
    }

    const NOW: Duration = Duration::from_millis(500);

    #[test]
    fn a_newcomer_takes_the_place_of_the_oldest_where_most_come_from() {
        let config = QuicConfig { max_strangers: 30, ..QuicConfig::default() };
        let mut arrivals = Arrivals::default();
        let ips = (0..30).map(|at| match at {
            0..5 => format!("10.0.0.{at}"),
            _ => format!("10.0.1.{}", at % 3),
        });
        strangers(ips, &mut arrivals);
        let decision = arrivals.decide(newcomer("10.9.9.9"), 30, &config, NOW);
        assert_eq!(decision, Decision::Replace(Connection(5)));
        // One that anybody may have made up first has to answer.
        let asked = Newcomer { is_validated: false, can_be_asked: true, ..newcomer("10.9.9.9") };
        assert_eq!(arrivals.decide(asked, 30, &config, NOW), Decision::AskAgain);
        let forged = Newcomer { is_validated: false, ..newcomer("10.9.9.9") };
        assert_eq!(arrivals.decide(forged, 30, &config, NOW), Decision::Refuse);
        // Whoever has not answered goes first.
        arrivals.strangers[20].has_answered = false;
        let later = NOW + A_MOMENT;
        let decision = arrivals.decide(newcomer("10.9.9.9"), 30, &config, later);
        assert_eq!(decision, Decision::Replace(Connection(20)));
    }

    #[test]
    fn the_networks_of_a_site_in_ipv6_are_one_place() {
        let config = QuicConfig { max_per_address: 32, ..QuicConfig::default() };
        let mut arrivals = Arrivals::default();
        strangers((0..64).map(|at| format!("2001:db8:1:{at}::1")), &mut arrivals);
        let mut decide = |ip, now| arrivals.decide(newcomer(ip), 64, &config, now);
        assert_eq!(decide("2001:db8:1:99::1", NOW), Decision::Ignore);
        let later = NOW + A_MOMENT;
        assert_eq!(decide("2001:db8:1:99::1", later), Decision::Replace(Connection(0)));
        assert_eq!(decide("2001:db8:2:99::1", NOW), Decision::Accept);
    }

    #[test]
    fn where_everybody_is_alone_nobody_has_to_go_at_once() {
        let config = QuicConfig { max_strangers: 10, ..QuicConfig::default() };
        let mut arrivals = Arrivals::default();
        strangers((0..10).map(|at| format!("10.0.0.{at}")), &mut arrivals);
        let mut decide = |now| arrivals.decide(newcomer("10.9.9.9"), 10, &config, now);
        assert_eq!(decide(NOW), Decision::Refuse);
        assert_eq!(decide(NOW + A_MOMENT), Decision::Replace(Connection(0)));
    }
}
