//! A simulated bad network in front of a real socket.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tightwire::link::{Link, LinkConfig, LinkStats};
use tightwire::quic::{Packet, Packets, Socket, Udp};

use super::shared::lock;

/// A client's UDP socket whose packets pass a [`Link`] in each direction.
#[derive(Debug)]
pub(super) struct BadLink {
    udp: Udp,
    server: SocketAddr,
    up: Link,
    down: Link,
    knobs: Arc<Knobs>,
}

/// Settings of a client's links, which may change at any time, and their counters.
#[derive(Debug, Default)]
pub(super) struct Knobs {
    config: Mutex<LinkConfig>,
    stats: Mutex<LinkStats>,
}

impl Knobs {
    pub(super) fn new(config: LinkConfig) -> Self {
        Self { config: Mutex::new(config), stats: Mutex::default() }
    }

    /// Changes the settings of both links from now on.
    pub(super) fn set_config(&self, config: LinkConfig) {
        *lock(&self.config) = config;
    }

    /// Returns the counters of both links together.
    pub(super) fn stats(&self) -> LinkStats {
        *lock(&self.stats)
    }
}

impl BadLink {
    /// Makes the links to a server; `seed` decides their losses and delays.
    pub(super) fn new(udp: Udp, server: SocketAddr, seed: u64, knobs: Arc<Knobs>) -> Self {
        let config = *lock(&knobs.config);
        let [up, down] = [1, 2].map(|way: u64| {
            Link::new(config, seed.wrapping_add(way.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        });
        Self { udp, server, up, down, knobs }
    }

    fn turn(&mut self) {
        let config = *lock(&self.knobs.config);
        self.up.set_config(config);
        self.down.set_config(config);
    }

    /// Sends the packets that passed the link.
    fn release(&mut self, now: Duration) {
        while let Some(bytes) = self.up.poll_datagram(now) {
            let (to, size) = (self.server, bytes.len());
            // A packet without room in the socket is lost, as on a network.
            self.udp.send(now, &Packets { to, from: None, congestion: 0, bytes, size });
        }
    }
}

impl Socket for BadLink {
    fn receive(&mut self, now: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        self.turn();
        self.release(now);
        let Self { udp, server, up, down, knobs } = self;
        udp.receive(now, &mut |packet| {
            if packet.from == *server {
                down.handle_datagram(now, packet.bytes);
            }
            true
        });
        while let Some(bytes) = down.poll_datagram(now) {
            if !take(Packet { from: *server, to: None, congestion: 0, bytes }) {
                break;
            }
        }
        *lock(&knobs.stats) = sum(up.stats(), down.stats());
    }

    fn send(&mut self, now: Duration, packets: &Packets<'_>) -> bool {
        for packet in packets.bytes.chunks(packets.size.max(1)) {
            self.up.handle_datagram(now, packet);
        }
        self.release(now);
        true
    }

    fn address(&self) -> SocketAddr {
        self.udp.address()
    }

    fn finds_mtu(&self) -> bool {
        self.udp.finds_mtu()
    }

    fn next_time(&self) -> Option<Duration> {
        [self.up.next_time(), self.down.next_time()].into_iter().flatten().min()
    }
}

fn sum(up: LinkStats, down: LinkStats) -> LinkStats {
    let mut sum = up;
    sum.sent += down.sent;
    sum.delivered += down.delivered;
    sum.lost += down.lost;
    sum.overflowed += down.overflowed;
    sum.duplicated += down.duplicated;
    sum.held_back += down.held_back;
    sum.corrupted += down.corrupted;
    sum
}
