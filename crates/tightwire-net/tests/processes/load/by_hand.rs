//! Peers with their own QUIC, which send the frames that cost the server the most.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use tightwire::Client;
use tightwire::Delivery;
use tightwire::message::InternalBatch;
use tightwire::quic::{Packet, Packets, Socket};
use tightwire::transport::{Connection, Event, NotSentError, Path, Reason, Transport};

use super::traffic::{Traffic, config, messages, token};
use crate::by_hand::{HandPeer, Level, frames};
use crate::process::{become_idle, orders, print_line};

/// Peers that attack in the same way.
pub(super) struct Group<'a> {
    /// Contents of their packets.
    kind: &'a str,
    pub(super) is_admitted: bool,
    pub(super) count: u32,
}

impl<'a> Group<'a> {
    /// Parses contents and number, as "packed-20"; admitted peers are "admitted-packed-1". Groups
    /// that attack at once have a plus between them.
    pub(super) fn all(kinds: &'a str) -> impl Iterator<Item = Self> {
        kinds.split('+').map(|group| {
            let (name, count) = group.rsplit_once('-').unwrap();
            let kind = name.strip_prefix("admitted-").unwrap_or(name);
            Self { kind, is_admitted: kind != name, count: count.parse().unwrap() }
        })
    }

    pub(super) fn is_half_open(&self) -> bool {
        self.kind == "half-open"
    }
}

/// Sends until the order to stop, and prints how much was sent.
pub(crate) fn run(address: SocketAddr, kinds: &str) {
    let orders = orders();
    let start = Instant::now();
    let mut all = Vec::new();
    for group in Group::all(kinds) {
        for _ in 0..group.count {
            all.push(Hostile::new(address, all.len() as u32, group.kind, group.is_admitted));
        }
    }
    // All of them are there when it begins.
    let mut is_ready = false;
    while orders.try_recv().is_err() {
        let mut are_there = true;
        for hostile in &mut all {
            are_there &= hostile.connect(start.elapsed());
        }
        if are_there && !is_ready {
            is_ready = true;
            print_line("ready");
        }
        thread::sleep(Duration::from_millis(1));
    }
    become_idle();
    let mut rounds = 0;
    while orders.try_recv().is_err() {
        for hostile in &mut all {
            hostile.attack(start.elapsed());
        }
        rounds += 1;
        if rounds == 1 {
            print_line("begun");
        }
    }
    let sum = |count: fn(&Hostile<'_>) -> u64| all.iter().map(count).sum::<u64>();
    let [sent, connections] = [sum(|one| one.sent), sum(|one| one.connections)];
    print_line(&format!("datagrams={sent} connections={connections}"));
}

struct Hostile<'a> {
    server: SocketAddr,
    number: u32,
    kind: &'a str,
    /// First message of a peer that is admitted, with a token of its own; `None` for the others.
    hello: Option<Vec<u8>>,
    peer: HandPeer<Plain>,
    since: Duration,
    has_sent_hello: bool,
    is_admitted: bool,
    fragment: u64,
    /// First packets to ids of a connection that is over.
    first_packets: Vec<Vec<u8>>,
    sent: u64,
    connections: u64,
}

impl<'a> Hostile<'a> {
    fn new(server: SocketAddr, number: u32, kind: &'a str, is_admitted: bool) -> Self {
        let peer = HandPeer::new(Plain::new(number, kind), server, u64::from(number) << 32);
        Self {
            server,
            number,
            kind,
            hello: is_admitted.then(hello),
            peer,
            since: Duration::ZERO,
            has_sent_hello: false,
            is_admitted: false,
            fragment: 0,
            first_packets: Vec::new(),
            sent: 0,
            connections: 1,
        }
    }

    /// Connects; returns whether the peer is as far as it goes.
    fn connect(&mut self, now: Duration) -> bool {
        if self.kind == "half-open" {
            return true;
        }
        self.peer.drive(now);
        let is_there = self.enter(now);
        if !is_there && now > self.since + Duration::from_secs(3) {
            self.again(now);
        }
        is_there
    }

    /// Runs the handshake of a client until it is admitted; returns whether the peer has done all
    /// that it will do.
    fn enter(&mut self, now: Duration) -> bool {
        if !self.peer.is_connected() {
            return false;
        }
        if self.kind == "first" && self.first_packets.is_empty() {
            self.end_first_connection(now);
            return false;
        }
        let Some(hello) = &self.hello else { return true };
        if !self.has_sent_hello {
            self.has_sent_hello = true;
            self.peer.send(now, Level::OneRtt, &frames::stream(0, 0, hello, false));
        }
        // Frames of a flood would end the connection before the server has read the first message.
        if !self.is_admitted && !self.peer.streams.is_empty() {
            self.is_admitted = true;
            let mut ready = Vec::new();
            InternalBatch::write(2, &(), &mut ready).unwrap();
            let frame = frames::stream(0, hello.len() as u64, &ready, false);
            self.peer.send(now, Level::OneRtt, &frame);
            self.since = now;
        }
        // Three frames of the server, in which its session reads the last message of the handshake.
        self.is_admitted && now > self.since + Duration::from_millis(50)
    }

    /// Closes the connection, and connects again: the server recognises its own ids of the one that
    /// is over, and no connection has them.
    fn end_first_connection(&mut self, now: Duration) {
        let ids = self.peer.issued.values().cloned();
        for id in ids.chain([self.peer.destination().to_vec()]) {
            let mut other = HandPeer::new(Plain::new(self.number, self.kind), self.server, 0);
            other.set_destination(&id);
            let payload = [frames::crypto(0, &[1; 100]), vec![0; 1100]].concat();
            self.first_packets.push(other.packet(Level::Initial, &payload));
        }
        self.peer.send(now, Level::OneRtt, &frames::close());
        self.again(now);
    }

    fn attack(&mut self, now: Duration) {
        self.peer.stops_half_way = self.kind == "half-open";
        self.peer.drive(now);
        if self.kind == "half-open" {
            // As many as there is time for, a few milliseconds apart.
            if now > self.since + Duration::from_millis(5) {
                self.again(now);
            }
            return;
        }
        let is_over = self.peer.closed.is_some();
        let is_there = self.enter(now);
        // They continue on ended connections for a while, and then reconnect.
        let patience = Duration::from_millis(if is_over { 200 } else { 1000 });
        if !is_there && now > self.since + patience {
            return self.again(now);
        }
        if !is_there && !is_over {
            return;
        }
        for at in 0..16 {
            if self.first_packets.is_empty() {
                let payload = self.payload();
                self.peer.send(now, Level::OneRtt, &payload);
            } else {
                self.peer.send_bytes(now, &self.first_packets[at % self.first_packets.len()]);
            }
            self.sent += 1;
        }
    }

    /// Connects again.
    fn again(&mut self, now: Duration) {
        self.connections += 1;
        let seed = u64::from(self.number) << 32 | self.connections;
        self.peer = HandPeer::new(Plain::new(self.number, self.kind), self.server, seed);
        (self.since, self.fragment) = (now, 0);
        (self.has_sent_hello, self.is_admitted) = (false, false);
        // A token is for one connection.
        self.hello = self.hello.is_some().then(hello);
    }

    fn payload(&mut self) -> Vec<u8> {
        match self.kind {
            "packed" => frames::packed(&frames::stream(1, 0, &[], false)),
            // As many as are no reason to be disconnected.
            "filled" => frames::packed(&frames::datagram(&[0, 0, 0])),
            // Each frame opens the streams before its own, as far as there can be any.
            "ahead" => {
                (1..=140).flat_map(|at| frames::stream(100_000 * at, 0, &[2], true)).collect()
            }
            _ => {
                let streams = if self.hello.is_some() { 1000 } else { 7 };
                (0..140)
                    .flat_map(|_| {
                        self.fragment += 1;
                        let (index, round) = (self.fragment % streams, self.fragment / streams);
                        frames::stream(1 + index, 1 + 2 * round, &[7], false)
                    })
                    .collect()
            }
        }
    }
}

/// A socket of the system, at an address of its own for half-open connections.
struct Plain(UdpSocket);

impl Plain {
    fn new(number: u32, kind: &str) -> Self {
        let host = if kind == "half-open" { 2 + number as u8 } else { 1 };
        let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, host), 0)).unwrap();
        socket.set_nonblocking(true).unwrap();
        Self(socket)
    }
}

impl Socket for Plain {
    fn receive(&mut self, _: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        let mut bytes = [0; 2000];
        loop {
            match self.0.recv_from(&mut bytes) {
                Ok((length, from)) => {
                    take(Packet { from, to: None, congestion: 0, bytes: &bytes[..length] });
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(_) => return,
            }
        }
    }

    fn send(&mut self, _: Duration, packets: &Packets<'_>) -> bool {
        self.0.send_to(packets.bytes, packets.to).is_ok()
    }

    fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    fn finds_mtu(&self) -> bool {
        true
    }
}

/// Returns the first stream of a client: its hello.
fn hello() -> Vec<u8> {
    let client = Client::builder(config()).register(messages).token(&token());
    let mut client = client.build(SentBatches::default()).unwrap();
    client.receive(Duration::ZERO, &mut Traffic::new(Instant::now()));
    client.transmit(Duration::ZERO);
    let (delivery, batch) = client.transport().sent.first().unwrap();
    [&[*delivery as u8], &batch[..]].concat()
}

/// A transport that keeps sent batches.
#[derive(Default)]
struct SentBatches {
    is_connected: bool,
    sent: Vec<(Delivery, Vec<u8>)>,
}

impl Transport for SentBatches {
    fn handle_input(&mut self, _: Duration) {}

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let connection = Connection(0);
        let is_new = !std::mem::replace(&mut self.is_connected, true);
        is_new.then_some(Event::Connected { connection, address: None })
    }

    fn send(
        &mut self,
        _: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        self.sent.push((delivery, batch.to_vec()));
        Ok(())
    }

    fn pause(&mut self, _: Connection) {}

    fn close(&mut self, _: Connection, _: &Reason) {}

    fn handle_output(&mut self, _: Duration) {}

    fn path(&self, _: Connection) -> Option<Path> {
        Some(Path { max_datagram: 1200, max_fragmented: 1 << 20, ..Path::default() })
    }

    fn next_time(&self) -> Option<Duration> {
        None
    }
}
