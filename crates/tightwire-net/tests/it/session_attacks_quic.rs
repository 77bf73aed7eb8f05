//! Sessions over QUIC with slow lines, odd limits and players that give up.

use std::time::Duration;

use tightwire::Delivery;
use tightwire::link::LinkConfig;
use tightwire::quic::{Certificate, Network, Quic, QuicConfig, SimulatedSocket, Trust};
use tightwire::transport::Reason;
use tightwire::{Client, Server, SessionConfig, SessionEvent};

use crate::common::game::{Level, ReceivedMessages, config, messages};

const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 7777);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A QUIC server in a simulated network.
struct World {
    network: Network,
    certificate: Certificate,
    server: Quic<SimulatedSocket>,
}

impl World {
    fn new(config: QuicConfig) -> Self {
        let network = Network::new(LinkConfig::default(), 1);
        let certificate = Certificate::self_signed(["game.example"]).unwrap();
        let server = Quic::listen(network.socket(SERVER.into()), &certificate, config).unwrap();
        Self { network, certificate, server }
    }

    fn client(&self, now: Duration) -> Quic<SimulatedSocket> {
        let trust = Trust::Pinned(vec![self.certificate.fingerprint()]);
        let socket = self.network.socket(([10, 9, 9, 9], 1000).into());
        let config = QuicConfig::default();
        Quic::connect(socket, SERVER.into(), "game.example", &trust, config, now).unwrap()
    }
}

#[test]
fn a_peer_is_not_too_slow_before_it_had_a_chance() {
    let world = World::new(QuicConfig::default());
    let session = config();
    let transport = world.client(ms(0));
    let mut client = Client::builder(session.clone()).register(messages).build(transport).unwrap();
    let mut server =
        Server::builder(session).open_to_anyone().register(messages).build(world.server).unwrap();
    let (mut here, mut there) = (ReceivedMessages::default(), ReceivedMessages::default());
    let (mut accepted, mut reasons) = (0, Vec::new());
    for frame in 0..600 {
        let now = ms(16) * frame;
        server.receive(now, &mut there);
        server.transmit(now);
        while let Some(event) = server.poll_event() {
            match event {
                SessionEvent::Connected { peer, .. } => {
                    for _ in 0..4 {
                        let level = Level { data: vec![7; 900_000] };
                        let route = Delivery::ReliableOrderedFragmented;
                        if server.send(peer, &level, route).is_ok() {
                            accepted += 1;
                        }
                    }
                }
                SessionEvent::Disconnected { reason, .. } => reasons.push((frame, reason)),
                _ => {}
            }
        }
        client.receive(now, &mut here);
        client.transmit(now);
    }
    assert_eq!(reasons, [], "{accepted} levels were accepted, {} came", here.texts.len());
    assert_eq!(here.texts.len(), accepted);
}

#[test]
fn a_peer_that_makes_progress_is_not_too_slow() {
    let world = World::new(QuicConfig::default());
    let bandwidth =
        Some(tightwire::link::Bandwidth { bytes_per_second: 100_000, queue_bytes: 32_000 });
    let latency = ms(20);
    world.network.set_config(LinkConfig { bandwidth, latency, ..LinkConfig::default() });
    let transport = world.client(ms(0));
    let mut client = Client::builder(config()).register(messages).build(transport).unwrap();
    let mut server =
        Server::builder(config()).open_to_anyone().register(messages).build(world.server).unwrap();
    let (mut here, mut there) = (ReceivedMessages::default(), ReceivedMessages::default());
    let mut reasons = Vec::new();
    for frame in 0..3000 {
        let now = ms(16) * frame;
        server.receive(now, &mut there);
        server.transmit(now);
        while let Some(event) = server.poll_event() {
            match event {
                SessionEvent::Connected { peer, .. } => {
                    for _ in 0..2 {
                        let level = Level { data: vec![7; 900_000] };
                        let route = Delivery::ReliableOrderedFragmented;
                        server.send(peer, &level, route).unwrap();
                    }
                }
                SessionEvent::Disconnected { reason, .. } => reasons.push((frame, reason)),
                _ => {}
            }
        }
        client.receive(now, &mut here);
        client.transmit(now);
    }
    assert_eq!((reasons, here.texts.len()), (vec![], 2));
}

#[test]
fn a_client_that_leaves_while_it_connects_never_connects() {
    let world = World::new(QuicConfig::default());
    let transport = world.client(ms(0));
    let mut client = Client::builder(config()).register(messages).build(transport).unwrap();
    let mut server =
        Server::builder(config()).open_to_anyone().register(messages).build(world.server).unwrap();
    let (mut here, mut there) = (ReceivedMessages::default(), ReceivedMessages::default());
    client.receive(ms(0), &mut here);
    client.transmit(ms(0));
    client.disconnect(ms(1));
    let mut events = Vec::new();
    for frame in 1..100 {
        let now = ms(16) * frame;
        server.receive(now, &mut there);
        server.transmit(now);
        client.receive(now, &mut here);
        client.transmit(now);
        events.extend(std::iter::from_fn(|| client.poll_event()));
    }
    let is_connected = |event: &SessionEvent| matches!(event, SessionEvent::Connected { .. });
    assert!(!events.iter().any(is_connected), "{events:?}");
    let left = SessionEvent::Disconnected { peer: None, reason: Reason::Left };
    assert_eq!(events, [left]);
    assert_eq!(server.peers().count(), 0);
}

#[test]
fn limits_beyond_those_of_the_transport_are_refused_when_built() {
    let small = QuicConfig { max_fragmented: 64 << 10, ..QuicConfig::default() };
    let built = |limits, config| {
        let server = Server::builder(config).open_to_anyone().register(messages);
        server.build(World::new(limits).server).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(
        built(small, config()),
        Err("`messenger.max_fragmented` is 1048576, but must be at most 65536 \
             (`max_fragmented` of the transport)"
            .into())
    );
    let many = SessionConfig { max_clients: 1101, ..config() };
    assert_eq!(
        built(QuicConfig::default(), many.clone()),
        Err("`max_clients` is 1101, but must be at most 1100 (`max_connections` of \
             the transport)"
            .into())
    );
    let enough = QuicConfig { max_connections: 1101, ..QuicConfig::default() };
    assert_eq!(built(enough, many), Ok(()));
}
