//! A simulated network on a virtual clock.

use core::time::Duration;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::link::{Link, LinkConfig, LinkStats};

use super::socket::{Packet, Packets, Socket};

/// A simulated network with a [`Link`] for each direction between two addresses. A seed decides all
/// random events. Clones are the same network.
///
/// ```
/// use std::time::Duration;
/// use tightwire::link::LinkConfig;
/// use tightwire::quic::{Network, Packets, Socket};
///
/// let latency = Duration::from_millis(30);
/// let network = Network::new(LinkConfig { latency, ..LinkConfig::default() }, 7);
/// let mut here = network.socket(([10, 0, 0, 1], 1000).into());
/// let mut there = network.socket(([10, 0, 0, 2], 2000).into());
/// let packets =
///     Packets { to: there.address(), from: None, congestion: 0, bytes: b"hello", size: 5 };
/// here.send(Duration::ZERO, &packets);
///
/// let mut received = 0;
/// there.receive(Duration::from_millis(29), &mut |_| true);
/// assert_eq!(there.next_time(), Some(latency));
/// there.receive(latency, &mut |packet| {
///     assert_eq!((packet.from, packet.bytes), (here.address(), &b"hello"[..]));
///     received += 1;
///     true
/// });
/// assert_eq!(received, 1);
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    shared: Arc<Mutex<NetworkState>>,
}

#[derive(Debug)]
struct NetworkState {
    config: LinkConfig,
    seed: u64,
    /// Links by receiver and sender.
    links: BTreeMap<(SocketAddr, SocketAddr), Link>,
}

/// A socket in a [`Network`].
#[derive(Debug)]
pub struct SimulatedSocket {
    network: Network,
    address: SocketAddr,
}

impl Network {
    /// Creates a network whose links all have this configuration.
    #[must_use]
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        let shared = NetworkState { config, seed, links: BTreeMap::new() };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    /// Returns the socket with this address.
    #[must_use]
    pub fn socket(&self, address: SocketAddr) -> SimulatedSocket {
        SimulatedSocket { network: self.clone(), address }
    }

    /// Changes the configuration of all links.
    pub fn set_config(&self, config: LinkConfig) {
        let mut shared = self.lock();
        shared.config = config;
        shared.links.values_mut().for_each(|link| link.set_config(config));
    }

    /// Returns the counters of the packets from one address to another.
    #[must_use]
    pub fn stats(&self, from: SocketAddr, to: SocketAddr) -> LinkStats {
        self.lock().links.get(&(to, from)).map(Link::stats).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, NetworkState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NetworkState {
    fn link(&mut self, to: SocketAddr, from: SocketAddr) -> &mut Link {
        let (config, count) = (self.config, self.links.len() as u64);
        let seed = self.seed.wrapping_add(count.wrapping_mul(0x9e37_79b9));
        self.links.entry((to, from)).or_insert_with(|| Link::new(config, seed))
    }
}

impl SimulatedSocket {
    fn range(&self) -> impl std::ops::RangeBounds<(SocketAddr, SocketAddr)> + use<> {
        (self.address, SocketAddr::from(([0, 0, 0, 0], 0)))
            ..=(self.address, SocketAddr::from(([u16::MAX; 8], u16::MAX)))
    }
}

impl Socket for SimulatedSocket {
    fn receive(&mut self, now: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        let mut shared = self.network.lock();
        for ((_, from), link) in shared.links.range_mut(self.range()) {
            while let Some(bytes) = link.poll_datagram(now) {
                if !take(Packet { from: *from, to: None, congestion: 0, bytes }) {
                    return;
                }
            }
        }
    }

    fn send(&mut self, now: Duration, packets: &Packets<'_>) -> bool {
        let mut shared = self.network.lock();
        let link = shared.link(packets.to, self.address);
        for packet in packets.bytes.chunks(packets.size.max(1)) {
            link.handle_datagram(now, packet);
        }
        true
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn finds_mtu(&self) -> bool {
        true
    }

    fn next_time(&self) -> Option<Duration> {
        let shared = self.network.lock();
        shared.links.range(self.range()).filter_map(|(_, link)| link.next_time()).min()
    }
}
