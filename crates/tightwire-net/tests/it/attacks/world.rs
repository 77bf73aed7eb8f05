//! Common parts of these tests.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tightwire::Delivery;
use tightwire::link::LinkConfig;
use tightwire::quic::{
    Certificate, Network, Packet, Packets, Quic, QuicConfig, QuicError, SimulatedSocket, Socket,
    Trust,
};
use tightwire::transport::{Connection, Event, Reason, Transport};

pub(crate) const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 7777);

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A QUIC server in a simulated network.
pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) certificate: Certificate,
    pub(crate) server: Quic<SimulatedSocket>,
}

impl World {
    pub(crate) fn new(config: QuicConfig) -> Self {
        let network = Network::new(LinkConfig::default(), 1);
        let certificate = Certificate::self_signed(["game.example"]).unwrap();
        let server = Quic::listen(network.socket(SERVER.into()), &certificate, config).unwrap();
        Self { network, certificate, server }
    }

    pub(crate) fn client_at(
        &self,
        address: SocketAddr,
        config: QuicConfig,
        now: Duration,
    ) -> Quic<SimulatedSocket> {
        let trust = Trust::Pinned(vec![self.certificate.fingerprint()]);
        let socket = self.network.socket(address);
        Quic::connect(socket, SERVER.into(), "game.example", &trust, config, now).unwrap()
    }

    pub(crate) fn client(&self, now: Duration) -> Quic<SimulatedSocket> {
        self.client_at(([10, 9, 9, 9], 1000).into(), QuicConfig::default(), now)
    }
}

/// Returns all events of a transport as text.
pub(crate) fn drain(transport: &mut impl Transport) -> Vec<String> {
    let mut events = Vec::new();
    while let Some(event) = transport.poll_event() {
        events.push(format!("{event:?}"));
    }
    events
}

/// Connects a client, from `start` on; returns both numbers, and the time.
pub(crate) fn connect(
    world: &mut World,
    client: &mut Quic<SimulatedSocket>,
    start: Duration,
) -> (Connection, Connection, Duration) {
    let (mut here, mut there, mut now) = (None, None, start);
    for _ in 0..200 {
        now += ms(5);
        client.handle_input(now);
        while let Some(event) = client.poll_event() {
            match event {
                Event::Connected { connection, .. } => here = Some(connection),
                other => panic!("client: {other:?}"),
            }
        }
        client.handle_output(now);
        world.server.handle_input(now);
        while let Some(event) = world.server.poll_event() {
            match event {
                Event::Connected { connection, .. } => there = Some(connection),
                other => panic!("server: {other:?}"),
            }
        }
        world.server.handle_output(now);
        if let (Some(here), Some(there)) = (here, there) {
            return (here, there, now);
        }
    }
    panic!("not connected: {here:?} {there:?}");
}

/// A socket that records sent packets, and receives nothing.
pub(crate) struct Tap {
    pub(crate) address: SocketAddr,
    pub(crate) sent: Rc<RefCell<Vec<Vec<u8>>>>,
}

impl Socket for Tap {
    fn receive(&mut self, _: Duration, _: &mut dyn FnMut(Packet<'_>) -> bool) {}

    fn send(&mut self, _: Duration, packets: &Packets<'_>) -> bool {
        self.sent.borrow_mut().push(packets.bytes.to_vec());
        true
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn finds_mtu(&self) -> bool {
        true
    }
}

/// Returns first packets of handshakes that are never continued.
pub(crate) fn first_packets(count: usize) -> Vec<Vec<u8>> {
    (0..count)
        .map(|_| {
            let sent = Rc::new(RefCell::new(Vec::new()));
            let tap = Tap { address: ([1, 2, 3, 4], 5).into(), sent: sent.clone() };
            raw_connect(tap);
            sent.take().remove(0)
        })
        .collect()
}

pub(crate) fn raw_connect(tap: Tap) {
    let certificate = Certificate::self_signed(["game.example"]).unwrap();
    let trust = Trust::Pinned(vec![certificate.fingerprint()]);
    let config = QuicConfig::default();
    let mut quic =
        Quic::connect(tap, SERVER.into(), "game.example", &trust, config, ms(0)).unwrap();
    quic.handle_output(ms(0));
}

pub(crate) fn inject(network: &Network, from: SocketAddr, bytes: &[u8], now: Duration) {
    let packets =
        Packets { to: SERVER.into(), from: None, congestion: 0, bytes, size: bytes.len() };
    network.socket(from).send(now, &packets);
}

pub(crate) fn new_client_in_flood(address: SocketAddr) {
    let mut world = World::new(QuicConfig::default());
    let flood = first_packets(140);
    let mut client = world.client_at(address, QuicConfig::default(), ms(0));
    let mut connected = None;
    let mut events = Vec::new();
    for frame in 0..50 {
        let now = ms(100) * frame;
        for (index, bytes) in flood.iter().enumerate() {
            inject(&world.network, ([10, 1, 1, index as u8], 1000).into(), bytes, now);
        }
        client.handle_input(now);
        while let Some(event) = client.poll_event() {
            if let Event::Connected { .. } = event {
                connected.get_or_insert(now);
            }
            events.push(format!("{event:?}"));
        }
        client.handle_output(now);
        world.server.handle_input(now);
        drain(&mut world.server);
        world.server.handle_output(now);
    }
    assert!(connected.is_some_and(|time| time < ms(3000)), "{connected:?} {events:?}");
}

/// A client's socket that can stop receiving.
pub(crate) struct Deaf {
    pub(crate) socket: SimulatedSocket,
    pub(crate) is_deaf: Rc<RefCell<bool>>,
}

impl Socket for Deaf {
    fn receive(&mut self, now: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        let is_deaf = *self.is_deaf.borrow();
        self.socket.receive(now, &mut |packet| if is_deaf { true } else { take(packet) });
    }

    fn send(&mut self, now: Duration, packets: &Packets<'_>) -> bool {
        self.socket.send(now, packets)
    }

    fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    fn finds_mtu(&self) -> bool {
        true
    }
}

pub(crate) fn try_limits(config: QuicConfig) -> Result<(), QuicError> {
    let certificate = Certificate::self_signed(["game.example"]).unwrap();
    let network = Network::new(LinkConfig::default(), 1);
    let server = Quic::listen(network.socket(SERVER.into()), &certificate, config)?;
    let mut world = World { network, certificate, server };
    let mut client = world.client_at(([10, 9, 9, 9], 1000).into(), config, ms(1000));
    let (here, there, mut now) = connect(&mut world, &mut client, ms(1000));
    client.send(here, Delivery::ReliableOrderedFragmented, &[1, 0, 0, 0, 7]).unwrap();
    client.send(here, Delivery::Reliable, &[1, 0, 7]).unwrap();
    client.send(here, Delivery::ReliableOrdered, &[1, 0, 7]).unwrap();
    let mut came = 0;
    for _ in 0..100 {
        now += ms(5);
        client.handle_input(now);
        drain(&mut client);
        client.handle_output(now);
        world.server.handle_input(now);
        came += drain(&mut world.server).iter().filter(|event| event.contains("Batch")).count();
        world.server.handle_output(now);
    }
    world.server.close(there, &Reason::Left);
    world.server.handle_output(now);
    assert_eq!(came, 3, "of the three reliable deliveries");
    Ok(())
}

/// A socket that changes its address.
pub(crate) struct Moving {
    pub(crate) sockets: [SimulatedSocket; 2],
    pub(crate) place: Rc<RefCell<usize>>,
}

impl Socket for Moving {
    fn receive(&mut self, now: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        self.sockets[*self.place.borrow()].receive(now, take);
    }

    fn send(&mut self, now: Duration, packets: &Packets<'_>) -> bool {
        self.sockets[*self.place.borrow()].send(now, packets)
    }

    fn address(&self) -> SocketAddr {
        self.sockets[*self.place.borrow()].address()
    }

    fn finds_mtu(&self) -> bool {
        true
    }
}

/// A socket that has no room for a while.
pub(crate) struct Choked {
    pub(crate) socket: SimulatedSocket,
    pub(crate) is_choked: Rc<RefCell<bool>>,
}

impl Socket for Choked {
    fn receive(&mut self, now: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        self.socket.receive(now, take);
    }

    fn send(&mut self, now: Duration, packets: &Packets<'_>) -> bool {
        !*self.is_choked.borrow() && self.socket.send(now, packets)
    }

    fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    fn finds_mtu(&self) -> bool {
        true
    }
}
