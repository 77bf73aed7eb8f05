//! A server whose memory is counted, in a simulated network.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tightwire::Delivery;
use tightwire::link::LinkConfig;
use tightwire::quic::{
    Certificate, Filter, Network, Packet, Packets, Quic, QuicConfig, SimulatedSocket, Socket, Trust,
};
use tightwire::transport::{Connection, Event, NotSentError, Reason, Transport};

use crate::common::by_hand::HandPeer;

pub(crate) type Peer = HandPeer<SimulatedSocket>;

pub(crate) const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 7777);

/// A server and its clock.
pub(crate) struct TestBed {
    pub(crate) network: Network,
    certificate: Certificate,
    pub(crate) server: Quic<Metered>,
    pub(crate) now: Duration,
    /// Bytes that the server has allocated and not freed, and their maximum.
    pub(crate) memory: i64,
    pub(crate) most_memory: i64,
    pub(crate) connections: BTreeMap<SocketAddr, Connection>,
    pub(crate) ended: Vec<(Connection, Reason)>,
    pub(crate) refused: Vec<(SocketAddr, Reason)>,
    pub(crate) batches: Vec<(Connection, Delivery, Vec<u8>)>,
    /// Connections that are paused in each frame.
    pub(crate) paused: Vec<Connection>,
    /// Number of filters that silenced an address.
    pub(crate) silences: Arc<AtomicU32>,
    seed: u64,
}

impl TestBed {
    pub(crate) fn new(config: QuicConfig) -> Self {
        let network = Network::new(LinkConfig::default(), 1);
        let certificate = Certificate::self_signed(["game.example"]).unwrap();
        let silences = Arc::<AtomicU32>::default();
        let socket = network.socket(SERVER.into());
        let socket = Metered { socket, waiting: VecDeque::new(), silences: silences.clone() };
        let config = QuicConfig { seed: Some(1), ..config };
        let (mut server, mut memory) = (None, 0);
        count(&mut memory, || {
            server = Some(Quic::listen(socket, &certificate, config).unwrap());
        });
        server.as_mut().unwrap().hold_unauthenticated();
        Self {
            network,
            certificate,
            server: server.unwrap(),
            now: Duration::ZERO,
            memory,
            most_memory: memory,
            connections: BTreeMap::new(),
            ended: Vec::new(),
            refused: Vec::new(),
            batches: Vec::new(),
            paused: Vec::new(),
            silences,
            seed: 0,
        }
    }

    /// Returns a hand-written peer whose handshake is complete, and that is welcome.
    pub(crate) fn admitted(&mut self, address: impl Into<SocketAddr>) -> (Peer, Connection) {
        let (mut peer, connection) = self.connected(address);
        self.server.welcome(connection);
        self.run(20, &mut [&mut peer]);
        (peer, connection)
    }

    /// Returns a hand-written peer at this address.
    pub(crate) fn peer(&mut self, address: impl Into<SocketAddr>) -> Peer {
        self.seed += 1;
        HandPeer::new(self.network.socket(address.into()), SERVER.into(), self.seed)
    }

    /// Returns a hand-written peer whose handshake is complete.
    pub(crate) fn connected(&mut self, address: impl Into<SocketAddr>) -> (Peer, Connection) {
        let address = address.into();
        let mut peer = self.peer(address);
        for _ in 0..50 {
            self.step(&mut [&mut peer]);
            if let Some(connection) = self.connections.get(&address) {
                let connection = *connection;
                assert!(peer.is_connected());
                return (peer, connection);
            }
        }
        panic!("not connected: {:?} {:?}", self.refused, peer.closed);
    }

    /// Returns a client of this crate.
    pub(crate) fn honest(&self, address: impl Into<SocketAddr>) -> Quic<SimulatedSocket> {
        let trust = Trust::Pinned(vec![self.certificate.fingerprint()]);
        let (socket, config) = (self.network.socket(address.into()), QuicConfig::default());
        Quic::connect(socket, SERVER.into(), "game.example", &trust, config, self.now).unwrap()
    }

    /// Runs a millisecond in which the peers only receive.
    pub(crate) fn step(&mut self, peers: &mut [&mut Peer]) {
        self.now += Duration::from_millis(1);
        for peer in peers {
            peer.drive(self.now);
        }
        self.serve();
    }

    pub(crate) fn run(&mut self, milliseconds: u32, peers: &mut [&mut Peer]) {
        (0..milliseconds).for_each(|_| self.step(peers));
    }

    /// Lets the server send a batch.
    pub(crate) fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        let (mut sent, server) = (Ok(()), &mut self.server);
        count(&mut self.memory, || sent = server.send(to, delivery, batch));
        self.most_memory = self.most_memory.max(self.memory);
        sent
    }

    /// Runs the server's frame.
    pub(crate) fn serve(&mut self) {
        let (now, server) = (self.now, &mut self.server);
        count(&mut self.memory, || server.handle_input(now));
        self.most_memory = self.most_memory.max(self.memory);
        for connection in &self.paused {
            server.pause(*connection);
        }
        loop {
            let mut is_empty = false;
            count(&mut self.memory, || {
                let event = server.poll_event();
                is_empty = event.is_none();
                allocation_counter::opt_out(|| match event {
                    Some(Event::Connected { connection, address }) => {
                        self.connections.insert(address.unwrap(), connection);
                    }
                    Some(Event::Batch { from, delivery, batch }) => {
                        self.batches.push((from, delivery, batch.to_vec()));
                    }
                    Some(Event::Disconnected { connection, reason }) => {
                        self.ended.push((connection, reason));
                    }
                    Some(Event::Refused { address, reason }) => {
                        self.refused.push((address.unwrap(), reason));
                    }
                    _ => {}
                });
            });
            if is_empty {
                break;
            }
        }
        count(&mut self.memory, || server.handle_output(now));
        self.most_memory = self.most_memory.max(self.memory);
    }
}

/// Adds the bytes that `call` allocates and does not free.
fn count(memory: &mut i64, call: impl FnOnce()) {
    *memory += allocation_counter::measure(call).bytes_current;
}

/// Calls a function whose allocations are not counted, and returns its result.
fn allocation_counter_free<R>(call: impl FnOnce() -> R) -> R {
    let mut result = None;
    allocation_counter::opt_out(|| result = Some(call()));
    result.unwrap()
}

/// A socket with the order of the system: first come, first served. The memory of the network
/// itself is not counted.
#[derive(Debug)]
pub(crate) struct Metered {
    socket: SimulatedSocket,
    waiting: VecDeque<(SocketAddr, Vec<u8>)>,
    /// Number of filters that silenced an address.
    pub(crate) silences: Arc<AtomicU32>,
}

impl Socket for Metered {
    fn receive(&mut self, now: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        let Self { socket, waiting, .. } = self;
        allocation_counter::opt_out(|| {
            socket.receive(now, &mut |packet| {
                waiting.push_back((packet.from, packet.bytes.to_vec()));
                true
            });
        });
        while let Some((from, bytes)) = waiting.front() {
            let wants_more = take(Packet { from: *from, to: None, congestion: 0, bytes });
            allocation_counter::opt_out(|| drop(waiting.pop_front()));
            if !wants_more {
                return;
            }
        }
    }

    fn send(&mut self, now: Duration, packets: &Packets<'_>) -> bool {
        let mut is_sent = false;
        allocation_counter::opt_out(|| is_sent = self.socket.send(now, packets));
        is_sent
    }

    fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    fn finds_mtu(&self) -> bool {
        true
    }

    /// Counts filters, and drops nothing: packets that the operating system would drop are read and
    /// dropped by the endpoint.
    fn set_filter(&mut self, filter: &Filter) -> bool {
        let is_silent = allocation_counter_free(|| !format!("{filter:?}").contains("silenced: []"));
        self.silences.fetch_add(is_silent.into(), Ordering::Relaxed);
        true
    }

    fn next_time(&self) -> Option<Duration> {
        self.socket.next_time()
    }
}
