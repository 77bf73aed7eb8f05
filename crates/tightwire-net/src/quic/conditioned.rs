//! A link conditioner: a simulated bad network in front of any socket.

use core::time::Duration;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Filter;
use super::socket::{Packet, Packets, Socket};
use crate::link::{Ends, Link, LinkConfig, LinkStats};

/// A [`Socket`] whose packets pass a [`Link`] in each direction, as over a bad network: to play a
/// game over Wi-Fi or a mobile network from the desk. All remote ends share the two links.
///
/// It has no thread: packets that are due pass whenever the endpoint receives, so call that about
/// every millisecond, or at [`Transport::next_time`](crate::transport::Transport::next_time). At most
/// 16 MiB are in flight in each direction; packets beyond are lost.
///
/// ```
/// use std::time::Duration;
/// use tightwire::link::LinkConfig;
/// use tightwire::quic::{Conditioned, Network, Packets, Socket};
///
/// // Any socket: here of a simulated network without faults, in a game `Udp::client(address)?`.
/// let network = Network::new(LinkConfig::default(), 7);
/// let mut there = network.socket(([10, 0, 0, 1], 7777).into());
/// let socket = network.socket(([10, 0, 0, 2], 1000).into());
///
/// let latency = Duration::from_millis(30);
/// let bad = LinkConfig { latency, loss: 0.05, ..LinkConfig::default() };
/// let mut socket = Conditioned::new(socket, bad, bad, 7);
/// for _ in 0..100 {
///     let (to, bytes) = (there.address(), b"hello");
///     socket.send(Duration::ZERO, &Packets { to, from: None, congestion: 0, bytes, size: 5 });
/// }
/// assert_eq!(socket.next_time(), Some(latency));
/// socket.receive(latency, &mut |_| true);
///
/// let mut received = 0;
/// there.receive(latency, &mut |_| { received += 1; true });
/// assert_eq!(received, socket.conditions().up_stats().delivered);
/// assert!((85..100).contains(&received));
/// ```
#[derive(Debug)]
pub struct Conditioned<S> {
    socket: S,
    conditions: Conditions,
}

/// The conditions of a [`Conditioned`] socket, which can change while it is used, also from another
/// thread, and their counters. Clones are the same conditions.
///
/// ```
/// use std::time::Duration;
/// use tightwire::link::LinkConfig;
/// use tightwire::quic::{Conditioned, Conditions, Udp};
///
/// let conditions = Conditions::new(LinkConfig::default(), LinkConfig::default(), 7);
/// let udp = Udp::client("127.0.0.1:7777".parse()?)?;
/// let socket = Conditioned::with(udp, conditions.clone());
///
/// // The network gets worse.
/// let slow = LinkConfig { latency: Duration::from_millis(150), ..LinkConfig::default() };
/// conditions.set_up(slow);
/// conditions.set_down(slow);
/// assert_eq!(conditions.down_stats().lost, 0);
/// # drop(socket);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Conditions {
    links: Arc<Mutex<LinkPair>>,
}

#[derive(Debug)]
struct LinkPair {
    /// Link of sent packets.
    up: Link,
    /// Link of received packets.
    down: Link,
}

impl<S: Socket> Conditioned<S> {
    /// Puts a link in front of `socket` for the packets that it sends, and one for those that it
    /// receives. The seed decides all random events.
    #[must_use]
    pub fn new(socket: S, up: LinkConfig, down: LinkConfig, seed: u64) -> Self {
        Self::with(socket, Conditions::new(up, down, seed))
    }

    /// Puts the links of `conditions` in front of `socket`.
    #[must_use]
    pub fn with(socket: S, conditions: Conditions) -> Self {
        Self { socket, conditions }
    }

    /// Returns the conditions, to change them later.
    #[must_use]
    pub fn conditions(&self) -> Conditions {
        self.conditions.clone()
    }
}

impl Conditions {
    /// Creates conditions for one socket: of the packets that it sends, and of those that it
    /// receives. The seed decides all random events.
    #[must_use]
    pub fn new(up: LinkConfig, down: LinkConfig, seed: u64) -> Self {
        let link = |config, way: u64| {
            let seed = seed.wrapping_add(way.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            Link::new(config, seed).with_max_in_flight(MAX_IN_FLIGHT)
        };
        let links = LinkPair { up: link(up, 1), down: link(down, 2) };
        Self { links: Arc::new(Mutex::new(links)) }
    }

    /// Changes the conditions of sent packets from now on.
    pub fn set_up(&self, config: LinkConfig) {
        self.lock().up.set_config(config);
    }

    /// Changes the conditions of received packets from now on.
    pub fn set_down(&self, config: LinkConfig) {
        self.lock().down.set_config(config);
    }

    /// Returns the counters of sent packets.
    #[must_use]
    pub fn up_stats(&self) -> LinkStats {
        self.lock().up.stats()
    }

    /// Returns the counters of received packets.
    #[must_use]
    pub fn down_stats(&self) -> LinkStats {
        self.lock().down.stats()
    }

    fn lock(&self) -> MutexGuard<'_, LinkPair> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the packets that have passed the link.
fn release(up: &mut Link, socket: &mut impl Socket, now: Duration) {
    while let Some((Ends { remote, local, congestion }, bytes)) = up.poll_between(now) {
        let size = bytes.len();
        // A packet without room in the socket is lost, as on a network.
        socket.send(now, &Packets { to: remote, from: local, congestion, bytes, size });
    }
}

impl<S: Socket> Socket for Conditioned<S> {
    fn receive(&mut self, now: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        let Self { socket, conditions } = self;
        let LinkPair { up, down } = &mut *conditions.lock();
        release(up, socket, now);
        // As many as an endpoint takes at once: a flood must not keep this call busy for ever.
        let mut left = MAX_PACKETS;
        socket.receive(now, &mut |packet| {
            let Packet { from: remote, to: local, congestion, bytes } = packet;
            down.handle_between(now, bytes, Ends { remote, local, congestion });
            left -= 1;
            left > 0
        });
        while let Some((Ends { remote, local, congestion }, bytes)) = down.poll_between(now) {
            if !take(Packet { from: remote, to: local, congestion, bytes }) {
                return;
            }
        }
    }

    fn send(&mut self, now: Duration, packets: &Packets<'_>) -> bool {
        let Self { socket, conditions } = self;
        let up = &mut conditions.lock().up;
        let &Packets { to: remote, from: local, congestion, bytes, size } = packets;
        for packet in bytes.chunks(size.max(1)) {
            up.handle_between(now, packet, Ends { remote, local, congestion });
        }
        release(up, socket, now);
        true
    }

    fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    fn max_packets(&self) -> usize {
        self.socket.max_packets()
    }

    fn finds_mtu(&self) -> bool {
        self.socket.finds_mtu()
    }

    fn set_filter(&mut self, filter: &Filter) -> bool {
        self.socket.set_filter(filter)
    }

    fn next_time(&self) -> Option<Duration> {
        let links = self.conditions.lock();
        let times = [links.up.next_time(), links.down.next_time(), self.socket.next_time()];
        times.into_iter().flatten().min()
    }
}

/// Bytes that are in flight in one direction at most.
const MAX_IN_FLIGHT: usize = 16 << 20;

/// Packets that one call takes from the socket at most.
const MAX_PACKETS: usize = 4096;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::link::Bandwidth;
    use crate::quic::{Network, Quic, QuicConfig, SimulatedSocket};
    use crate::transport::{Event, Transport};

    const MS: Duration = Duration::from_millis(1);

    fn addresses() -> [SocketAddr; 3] {
        [1, 2, 3].map(|host| SocketAddr::from(([10, 0, 0, host], 1000)))
    }

    /// A conditioned socket, and two others without faults.
    fn sockets(
        up: LinkConfig,
        down: LinkConfig,
    ) -> (Conditioned<SimulatedSocket>, [SimulatedSocket; 2]) {
        let network = Network::new(LinkConfig::default(), 1);
        let [here, one, two] = addresses().map(|address| network.socket(address));
        (Conditioned::new(here, up, down, 7), [one, two])
    }

    fn send(socket: &mut impl Socket, now: Duration, to: SocketAddr, bytes: &[u8], size: usize) {
        assert!(socket.send(now, &Packets { to, from: None, congestion: 2, bytes, size }));
    }

    fn received(socket: &mut impl Socket, now: Duration) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut all = Vec::new();
        socket.receive(now, &mut |packet| {
            all.push((packet.from, packet.bytes.to_vec()));
            true
        });
        all
    }

    #[test]
    fn each_direction_has_its_latency_and_each_packet_its_ends() {
        let late = |latency| LinkConfig { latency, ..LinkConfig::default() };
        let (mut here, [mut one, mut two]) = sockets(late(10 * MS), late(40 * MS));
        let [home, to_one, to_two] = addresses();
        send(&mut here, Duration::ZERO, to_one, b"aabbc", 2);
        send(&mut here, Duration::ZERO, to_two, b"dd", 2);
        assert_eq!(here.next_time(), Some(10 * MS));
        assert_eq!(received(&mut one, 9 * MS), []);
        assert_eq!(received(&mut here, 10 * MS), []);
        let bytes = [&b"aa"[..], b"bb", b"c"];
        assert_eq!(received(&mut one, 10 * MS), bytes.map(|bytes| (home, bytes.to_vec())));
        assert_eq!(received(&mut two, 10 * MS), [(home, b"dd".to_vec())]);

        send(&mut one, 10 * MS, home, b"e", 1);
        send(&mut two, 10 * MS, home, b"f", 1);
        assert_eq!(received(&mut here, 10 * MS), []);
        assert_eq!(here.next_time(), Some(50 * MS));
        let both = [(to_one, b"e".to_vec()), (to_two, b"f".to_vec())];
        assert_eq!(received(&mut here, 50 * MS), both);
        assert_eq!(here.next_time(), None);
    }

    #[test]
    fn memory_is_bounded_whatever_comes() {
        let far = LinkConfig { latency: Duration::from_secs(1000), ..LinkConfig::default() };
        let (mut here, [mut one, _]) = sockets(far, far);
        let [home, to_one, _] = addresses();
        for _ in 0..20_000 {
            send(&mut one, Duration::ZERO, home, &[7; 100], 100);
            send(&mut here, Duration::ZERO, to_one, &[7; 1200], 1200);
        }
        for _ in 0..10 {
            received(&mut here, Duration::ZERO);
        }
        let most = (MAX_IN_FLIGHT / 1500) as u64;
        for stats in [here.conditions().up_stats(), here.conditions().down_stats()] {
            assert_eq!((stats.sent, stats.overflowed), (20_000, 20_000 - most));
        }
        // What passed makes room again.
        let later = Duration::from_secs(1000);
        assert_eq!(received(&mut here, later).len() as u64, most);
        send(&mut here, later, to_one, &[7; 1200], 1200);
        assert_eq!(here.conditions().up_stats().overflowed, 20_000 - most);
    }

    #[test]
    fn one_call_takes_a_bounded_number_of_packets() {
        let (mut here, [mut one, _]) = sockets(LinkConfig::default(), LinkConfig::default());
        for _ in 0..MAX_PACKETS + 10 {
            send(&mut one, Duration::ZERO, addresses()[0], b"x", 1);
        }
        assert_eq!(received(&mut here, Duration::ZERO).len(), MAX_PACKETS);
        assert_eq!(received(&mut here, Duration::ZERO).len(), 10);
    }

    #[test]
    fn conditions_change_while_the_socket_is_used() {
        let (mut here, [mut one, _]) = sockets(LinkConfig::default(), LinkConfig::default());
        let conditions = here.conditions();
        let to = addresses()[1];
        send(&mut here, Duration::ZERO, to, b"first", 5);
        conditions.set_up(LinkConfig { loss: 1.0, ..LinkConfig::default() });
        send(&mut here, Duration::ZERO, to, b"second", 6);
        assert_eq!(received(&mut one, Duration::ZERO).len(), 1);
        assert_eq!((conditions.up_stats().sent, conditions.up_stats().lost), (2, 1));
    }

    #[test]
    fn quic_connects_and_keeps_its_promises_over_a_bad_socket() {
        let bandwidth = Some(Bandwidth { bytes_per_second: 200_000, queue_bytes: 50_000 });
        let bad = LinkConfig {
            latency: 40 * MS,
            jitter: 15 * MS,
            loss: 0.1,
            duplication: 0.05,
            reordering: 0.05,
            corruption: 0.02,
            bandwidth,
            ..LinkConfig::default()
        };
        let network = Network::new(LinkConfig::default(), 1);
        let [here, there, _] = addresses();
        let config = QuicConfig { seed: Some(7), ..QuicConfig::default() };
        let certificate = crate::quic::Certificate::self_signed(["game.example"]).unwrap();
        let trust = crate::quic::Trust::Pinned(vec![certificate.fingerprint()]);
        let mut server = Quic::listen(network.socket(there), &certificate, config).unwrap();
        let socket = Conditioned::new(network.socket(here), bad, bad, 7);
        let conditions = socket.conditions();
        let connect = Quic::connect(socket, there, "game.example", &trust, config, Duration::ZERO);
        let mut client = connect.unwrap();
        let (mut sent, mut received) = (0_u8, Vec::new());
        let mut connection = None;
        for millisecond in 0..10_000 {
            let now = millisecond * MS;
            client.handle_input(now);
            while let Some(event) = client.poll_event() {
                if let Event::Connected { connection: to, .. } = event {
                    connection = Some(to);
                }
            }
            if let Some(to) = connection
                && sent < 100
                && millisecond % 20 == 0
            {
                let ordered = crate::message::Delivery::ReliableOrdered;
                client.send(to, ordered, &[1, 0, sent]).unwrap();
                sent += 1;
            }
            client.handle_output(now);
            server.handle_input(now);
            while let Some(event) = server.poll_event() {
                if let Event::Batch { batch, .. } = event {
                    received.push(batch[2]);
                }
            }
            server.handle_output(now);
        }
        assert_eq!(received, (0..100).collect::<Vec<_>>());
        let stats = conditions.up_stats();
        assert!(stats.lost > 0 && stats.duplicated > 0 && stats.held_back > 0, "{stats:?}");
    }
}
