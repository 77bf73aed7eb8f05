//! A bad network that changes, between real sockets.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tightwire::link::{Bursts, Link, LinkConfig, LinkStats};

use super::random::Random;

/// Everybody's packets go through it. It ends when it is dropped.
pub(crate) struct BadNetwork {
    pub(crate) address: SocketAddr,
    stop: Sender<()>,
    thread: JoinHandle<Passed>,
}

/// Counts of packets.
#[derive(Default)]
pub(crate) struct Passed {
    pub(crate) routes: usize,
    pub(crate) changes: u32,
    pub(crate) stats: LinkStats,
}

/// The route between one client and the server.
struct ProxyRoute {
    server_side: UdpSocket,
    /// To the server, and back.
    links: [Link; 2],
    used: Duration,
}

impl BadNetwork {
    pub(crate) fn new(server: SocketAddr, seed: u64) -> Self {
        let front = bind();
        let address = front.local_addr().unwrap();
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || run(&front, server, seed, &stopped));
        Self { address, stop, thread }
    }

    pub(crate) fn end(self) -> Passed {
        drop(self.stop);
        self.thread.join().unwrap()
    }
}

fn bind() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

fn run(front: &UdpSocket, server: SocketAddr, seed: u64, stopped: &Receiver<()>) -> Passed {
    let mut random = Random::new(seed);
    let (start, mut change) = (Instant::now(), Duration::ZERO);
    let mut routes: HashMap<SocketAddr, ProxyRoute> = HashMap::new();
    let mut passed = Passed::default();
    let mut config = LinkConfig::default();
    let mut buffer = vec![0; 2048];
    while stopped.try_recv() != Err(TryRecvError::Disconnected) {
        let now = start.elapsed();
        if now >= change {
            change = now + random.milliseconds(2000, 5000);
            config = random_link(&mut random);
            passed.changes += 1;
            let links = routes.values_mut().flat_map(|route| &mut route.links);
            links.for_each(|link| link.set_config(config));
        }
        // An error is that of a server that is not there.
        while let Some((length, from)) = receive(front, &mut buffer) {
            let route = routes.entry(from).or_insert_with(|| {
                let links = [0, 1].map(|_| Link::new(config, random.below(u64::MAX)));
                passed.routes += 1;
                ProxyRoute { server_side: bind(), links, used: now }
            });
            route.used = now;
            route.links[0].handle_datagram(now, &buffer[..length]);
        }
        for (client, ProxyRoute { server_side, links: [there, back], .. }) in &mut routes {
            while let Some((length, _)) = receive(server_side, &mut buffer) {
                back.handle_datagram(now, &buffer[..length]);
            }
            while let Some(datagram) = there.poll_datagram(now) {
                let _ = server_side.send_to(datagram, server);
            }
            while let Some(datagram) = back.poll_datagram(now) {
                let _ = front.send_to(datagram, client);
            }
        }
        routes.retain(|_, route| {
            let stays = now < route.used + FORGET;
            if !stays {
                route.links.iter().for_each(|link| passed.add(&link.stats()));
            }
            stays
        });
        thread::sleep(Duration::from_millis(1));
    }
    routes.values().flat_map(|route| &route.links).for_each(|link| passed.add(&link.stats()));
    passed
}

fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
    loop {
        match socket.recv_from(buffer) {
            Ok(received) => return Some(received),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return None,
            Err(_) => {}
        }
    }
}

/// Each time something else is bad, or a little of everything.
fn random_link(random: &mut Random) -> LinkConfig {
    let latency = random.milliseconds(1, 60);
    let mut config = LinkConfig { latency, ..LinkConfig::default() };
    let which = random.below(8);
    let is = |kind| which == kind || which == 6;
    if is(0) {
        config.jitter = random.milliseconds(1, 60);
    }
    if is(1) {
        config.loss = random.chance(0.15);
    }
    if is(2) {
        config.duplication = random.chance(0.2);
    }
    if is(3) {
        config.reordering = random.chance(0.2);
    }
    if is(4) {
        config.corruption = random.chance(0.05);
    }
    if is(5) {
        config.bursts = Some(Bursts { begin: 0.01, end: 0.1, loss: 0.8 });
    }
    config
}

impl Passed {
    fn add(&mut self, other: &LinkStats) {
        let stats = &mut self.stats;
        stats.sent += other.sent;
        stats.delivered += other.delivered;
        stats.lost += other.lost;
        stats.duplicated += other.duplicated;
        stats.held_back += other.held_back;
        stats.corrupted += other.corrupted;
    }
}

/// Idle time after which a route is dropped.
const FORGET: Duration = Duration::from_secs(30);
