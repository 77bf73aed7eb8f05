//! Admission of new connections, by their source address.

use core::time::Duration;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use quinn_proto::Incoming;

use super::QuicConfig;
use super::flood::{Rate, TokenBucket};
use super::slot::Slot;
use crate::transport::Connection;

/// Counts connections by source address.
///
/// Addresses that are not validated may be spoofed: they count only together, and above a limit new
/// connections must validate theirs. Unauthenticated connections have a limit of their own. When it
/// is reached, a validated attempt evicts the oldest unvalidated connection, or else the oldest of
/// the site with the most.
#[derive(Debug, Default)]
pub(super) struct Acceptor {
    sites: HashMap<Site, Count>,
    /// Unauthenticated connections, oldest first.
    unauthenticated: VecDeque<UnauthenticatedConnection>,
    /// Number of incomplete handshakes.
    handshakes: usize,
    /// Rate limit of handshakes: each costs as much as a hundred packets.
    accepted: TokenBucket,
}

/// Origin of connections: an IPv4 address, or an IPv6 network with the length of its prefix.
type Site = (IpAddr, u8);

/// Connections from one site.
#[derive(Debug, Default)]
struct Count {
    /// Number of validated connections.
    validated: usize,
    /// Number of unvalidated connections.
    unvalidated: usize,
    accepted: TokenBucket,
}

#[derive(Debug)]
struct UnauthenticatedConnection {
    connection: Connection,
    sites: [Site; 2],
    is_validated: bool,
    since: Duration,
}

/// State of a connection in the counts of its site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Counted {
    #[default]
    Not,
    Unvalidated,
    Validated,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    Accept,
    /// Accept, and evict this connection.
    Replace(Connection),
    /// Send a Retry: the client must validate its address.
    Retry,
    /// Drop the packet; the client retransmits.
    Ignore,
    Refuse,
}

/// A connection attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionAttempt {
    address: SocketAddr,
    /// Whether the address is validated.
    is_validated: bool,
    can_retry: bool,
}

impl From<&Incoming> for ConnectionAttempt {
    fn from(incoming: &Incoming) -> Self {
        Self {
            address: incoming.remote_address(),
            is_validated: incoming.remote_address_validated(),
            can_retry: incoming.may_retry(),
        }
    }
}

impl Acceptor {
    /// Decides about a connection attempt, with this many connections.
    pub(super) fn decide(
        &mut self,
        attempt: ConnectionAttempt,
        connections: usize,
        config: &QuicConfig,
        now: Duration,
    ) -> Decision {
        let replaced = match self.eviction(attempt.address, connections, config, now) {
            Ok(replaced) => replaced,
            // A Retry costs the client a round trip, and validates its address.
            Err(Decision::Ignore) if attempt.can_retry => return Decision::Retry,
            Err(decision) => return decision,
        };
        let [site, _] = sites_of(attempt.address);
        let unvalidated = self.sites.get(&site).map_or(0, |count| count.unvalidated);
        let is_crowded = self.handshakes >= config.max_handshakes || unvalidated >= MAX_UNVALIDATED;
        if (is_crowded || replaced.is_some()) && attempt.can_retry {
            return Decision::Retry;
        }
        // No connection is evicted for a spoofable address.
        if replaced.is_some() && !attempt.is_validated {
            return Decision::Refuse;
        }
        if !self.take_handshake_token(attempt, config, now) {
            return if attempt.can_retry { Decision::Retry } else { Decision::Ignore };
        }
        replaced.map_or(Decision::Accept, Decision::Replace)
    }

    /// Returns the connection to evict, if room is needed; or the decision if none can be evicted.
    fn eviction(
        &self,
        address: SocketAddr,
        connections: usize,
        config: &QuicConfig,
        now: Duration,
    ) -> Result<Option<Connection>, Decision> {
        for (site, most) in limited_sites_of(address, config.max_per_address) {
            let is_full = self.sites.get(&site).is_some_and(|count| count.validated >= most);
            let mut unauthenticated =
                self.unauthenticated.iter().filter(|one| one.sites.contains(&site));
            let too_many = (most / 2).max(MIN_UNAUTHENTICATED_PER_SITE);
            if is_full || unauthenticated.clone().count() >= too_many {
                // Many clients of one site that connect at once, such as after a restart, do not evict
                // each other.
                let is_old = |one: &&UnauthenticatedConnection| {
                    now.saturating_sub(one.since) >= GRACE_PERIOD
                };
                let found =
                    unauthenticated.find(|one| is_old(one) && (one.is_validated || !is_full));
                let otherwise = if is_full { Decision::Refuse } else { Decision::Ignore };
                return found.map(|one| Some(one.connection)).ok_or(otherwise);
            }
        }
        let is_full = connections >= config.max_connections;
        if !is_full && self.unauthenticated.len() < config.max_unauthenticated {
            return Ok(None);
        }
        self.eviction_candidate(now).map(Some).ok_or(Decision::Refuse)
    }

    /// Returns the unauthenticated connection that is least likely to be a player.
    fn eviction_candidate(&self, now: Duration) -> Option<Connection> {
        let unvalidated = self.unauthenticated.iter().find(|one| !one.is_validated);
        if let Some(one) = unvalidated.filter(|one| now.saturating_sub(one.since) >= GRACE_PERIOD) {
            return Some(one.connection);
        }
        let mut counts = HashMap::<Site, usize>::new();
        for one in &self.unauthenticated {
            *counts.entry(one.sites[1]).or_default() += 1;
        }
        let most = counts.values().copied().max().unwrap_or(0);
        let has_most = |one: &&UnauthenticatedConnection| counts.get(&one.sites[1]) == Some(&most);
        let oldest = self.unauthenticated.iter().find(has_most)?;
        // If every site has one connection, no site takes more than its share.
        let may_go = most > 1 || now.saturating_sub(oldest.since) >= GRACE_PERIOD;
        may_go.then_some(oldest.connection)
    }

    /// Takes a handshake token. Only validated attempts use up the budget of their site.
    fn take_handshake_token(
        &mut self,
        attempt: ConnectionAttempt,
        config: &QuicConfig,
        now: Duration,
    ) -> bool {
        if attempt.is_validated {
            for (site, most) in limited_sites_of(attempt.address, config.max_per_address) {
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

    /// Counts an accepted connection.
    pub(super) fn add(&mut self, slot: &mut Slot, is_validated: bool, now: Duration) {
        self.handshakes += 1;
        let counted = if is_validated { Counted::Validated } else { Counted::Unvalidated };
        self.count(slot, counted);
        self.unauthenticated.push_back(UnauthenticatedConnection {
            connection: slot.id,
            sites: sites_of(slot.address),
            is_validated,
            since: now,
        });
    }

    /// Handles the welcome of a connection.
    pub(super) fn handle_welcome(&mut self, connection: Connection) {
        self.unauthenticated.retain(|one| one.connection != connection);
    }

    /// Counts a connection as validated when its handshake completes; `false` if its site has too
    /// many.
    pub(super) fn handle_progress(&mut self, slot: &mut Slot, config: &QuicConfig) -> bool {
        if slot.counted != Counted::Unvalidated || !slot.is_validated() {
            return true;
        }
        self.uncount(slot);
        if let Some(one) = self.unauthenticated.iter_mut().find(|one| one.connection == slot.id) {
            one.is_validated = true;
        }
        let has_room = self.has_room(slot.address, config);
        if has_room {
            self.count(slot, Counted::Validated);
        }
        has_room
    }

    /// Moves a connection to its validated new address; `false` if the site has too many.
    pub(super) fn handle_migration(
        &mut self,
        slot: &mut Slot,
        address: SocketAddr,
        config: &QuicConfig,
    ) -> bool {
        let counted = slot.counted;
        self.uncount(slot);
        slot.address = address;
        if let Some(one) = self.unauthenticated.iter_mut().find(|one| one.connection == slot.id) {
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
            .all(|(site, most)| self.sites.get(&site).is_none_or(|count| count.validated < most))
    }

    /// Removes an ended connection.
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
                Counted::Unvalidated => count.unvalidated -= 1,
                Counted::Validated => count.validated -= 1,
            }
            if count.validated + count.unvalidated == 0 {
                self.sites.remove(&site);
            }
        }
    }

    fn count(&mut self, slot: &mut Slot, counted: Counted) {
        for site in distinct(sites_of(slot.address)) {
            let count = self.sites.entry(site).or_default();
            match counted {
                Counted::Not => {}
                Counted::Unvalidated => count.unvalidated += 1,
                Counted::Validated => count.validated += 1,
            }
        }
        slot.counted = counted;
    }
}

/// Returns the sites of an address: the IPv4 address, or the /64 and /48 networks of an IPv6
/// address.
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

/// Returns the sites of an address with their limits, if one address may have this many.
fn limited_sites_of(address: SocketAddr, most: usize) -> impl Iterator<Item = (Site, usize)> {
    let per_site = most.saturating_mul(NETWORKS_PER_SITE);
    distinct(sites_of(address)).zip([most, per_site])
}

/// Maximum number of unvalidated connections of one site.
const MAX_UNVALIDATED: usize = 4;
/// Maximum number of unauthenticated connections of one site: at least this many.
const MIN_UNAUTHENTICATED_PER_SITE: usize = 8;
/// Number of networks (/64) of one /48 site that can be full.
const NETWORKS_PER_SITE: usize = 4;
/// Time in which an honest client answers, unless its link is bad.
const GRACE_PERIOD: Duration = Duration::from_secs(1);
/// Limit of handshakes per second: each takes about 200 microseconds.
const HANDSHAKES_PER_SECOND: u32 = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(ip: &str) -> ConnectionAttempt {
        let ip: IpAddr = ip.parse().unwrap_or(IpAddr::V4([0; 4].into()));
        ConnectionAttempt { address: (ip, 1).into(), is_validated: true, can_retry: false }
    }

    fn unauthenticated(ips: impl Iterator<Item = String>, acceptor: &mut Acceptor) {
        for (number, ip) in ips.enumerate() {
            let address = attempt(&ip).address;
            acceptor.unauthenticated.push_back(UnauthenticatedConnection {
                connection: Connection(number as u64),
                sites: sites_of(address),
                is_validated: true,
                since: Duration::from_millis(number as u64),
            });
        }
    }

    const NOW: Duration = Duration::from_millis(500);

    #[test]
    fn the_oldest_connection_of_the_largest_site_is_evicted() {
        let config = QuicConfig { max_unauthenticated: 30, ..QuicConfig::default() };
        let mut acceptor = Acceptor::default();
        let ips = (0..30).map(|at| match at {
            0..5 => format!("10.0.0.{at}"),
            _ => format!("10.0.1.{}", at % 3),
        });
        unauthenticated(ips, &mut acceptor);
        let decision = acceptor.decide(attempt("10.9.9.9"), 30, &config, NOW);
        assert_eq!(decision, Decision::Replace(Connection(5)));
        // A spoofable address has to be validated first.
        let asked =
            ConnectionAttempt { is_validated: false, can_retry: true, ..attempt("10.9.9.9") };
        assert_eq!(acceptor.decide(asked, 30, &config, NOW), Decision::Retry);
        let forged = ConnectionAttempt { is_validated: false, ..attempt("10.9.9.9") };
        assert_eq!(acceptor.decide(forged, 30, &config, NOW), Decision::Refuse);
        // Unvalidated connections are evicted first.
        acceptor.unauthenticated[20].is_validated = false;
        let later = NOW + GRACE_PERIOD;
        let decision = acceptor.decide(attempt("10.9.9.9"), 30, &config, later);
        assert_eq!(decision, Decision::Replace(Connection(20)));
    }

    #[test]
    fn ipv6_networks_of_a_site_share_a_limit() {
        let config = QuicConfig { max_per_address: 32, ..QuicConfig::default() };
        let mut acceptor = Acceptor::default();
        unauthenticated((0..64).map(|at| format!("2001:db8:1:{at}::1")), &mut acceptor);
        let mut decide = |ip, now| acceptor.decide(attempt(ip), 64, &config, now);
        assert_eq!(decide("2001:db8:1:99::1", NOW), Decision::Ignore);
        let later = NOW + GRACE_PERIOD;
        assert_eq!(decide("2001:db8:1:99::1", later), Decision::Replace(Connection(0)));
        assert_eq!(decide("2001:db8:2:99::1", NOW), Decision::Accept);
    }

    #[test]
    fn connections_of_distinct_sites_are_not_evicted_at_once() {
        let config = QuicConfig { max_unauthenticated: 10, ..QuicConfig::default() };
        let mut acceptor = Acceptor::default();
        unauthenticated((0..10).map(|at| format!("10.0.0.{at}")), &mut acceptor);
        let mut decide = |now| acceptor.decide(attempt("10.9.9.9"), 10, &config, now);
        assert_eq!(decide(NOW), Decision::Refuse);
        assert_eq!(decide(NOW + GRACE_PERIOD), Decision::Replace(Connection(0)));
    }
}
