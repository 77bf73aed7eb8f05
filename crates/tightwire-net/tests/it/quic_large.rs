//! Large messages trickle beside the rest.

use std::time::Duration;

use tightwire::link::{Bandwidth, LinkConfig};
use tightwire::message::{MessengerBuilder, MessengerConfig};
use tightwire::quic::{Certificate, Network, Quic, QuicConfig, SimulatedSocket, Trust};
use tightwire::{Client, Server, SessionConfig, SessionEvent};
use tightwire::{Context, Delivery, Message, Wire};

const FRAME: Duration = Duration::from_millis(16);

#[derive(Wire, Message, Default)]
struct Large {
    #[wire(max_len = 4_000_000)]
    bytes: Vec<u8>,
}

/// Says when it was sent.
#[derive(Wire, Message, Default)]
struct Small {
    millisecond: u32,
}

#[derive(Default)]
struct Latencies {
    now: Duration,
    large: Option<(usize, Duration)>,
    /// Latencies during the large transfer, by delivery.
    small: [Vec<Duration>; 5],
}

fn messages(builder: MessengerBuilder<Latencies>) -> MessengerBuilder<Latencies> {
    builder
        .handle(|large: &Large, context: &mut Context<'_, Latencies>| {
            context.state.large = Some((large.bytes.len(), context.state.now));
        })
        .handle(|small: &Small, context: &mut Context<'_, Latencies>| {
            let delivery = context.route().delivery as usize;
            let sent = Duration::from_millis(small.millisecond.into());
            let took = context.state.now - sent;
            context.state.small[delivery].push(took);
        })
}

struct Pair {
    server: Server<Latencies, Quic<SimulatedSocket>>,
    client: Client<Latencies, Quic<SimulatedSocket>>,
    latencies: Latencies,
    now: Duration,
    /// Number of refused batches.
    refused: u32,
}

impl Pair {
    fn new(link: LinkConfig, limits: QuicConfig, messenger: MessengerConfig) -> Self {
        let network = Network::new(link, 1);
        let address = ([10, 0, 0, 1], 7777).into();
        let certificate = Certificate::self_signed(["game.example"]).unwrap();
        let trust = Trust::Pinned(vec![certificate.fingerprint()]);
        let limits = QuicConfig { seed: Some(1), ..limits };
        let config = SessionConfig { messenger, ..SessionConfig::new("large", "1.0") };
        let transport = Quic::listen(network.socket(address), &certificate, limits).unwrap();
        let server = Server::builder(config.clone()).register(messages).open_to_anyone();
        let socket = network.socket(([10, 0, 0, 2], 1000).into());
        let now = Duration::ZERO;
        let transport =
            (transport, Quic::connect(socket, address, "game.example", &trust, limits, now));
        let mut pair = Self {
            server: server.build(transport.0).unwrap(),
            client: Client::builder(config).register(messages).build(transport.1.unwrap()).unwrap(),
            latencies: Latencies::default(),
            now,
            refused: 0,
        };
        (0..100).for_each(|_| pair.frame(&[]));
        pair
    }

    /// A frame in which the server sends a small message by each of these deliveries.
    fn frame(&mut self, deliveries: &[Delivery]) {
        self.now += FRAME;
        self.latencies.now = self.now;
        let mut nobody = Latencies::default();
        self.server.receive(self.now, &mut nobody);
        while let Some(event) = self.server.poll_event() {
            assert!(matches!(event, SessionEvent::Connected { .. }), "{event:?}");
        }
        if let Some(peer) = self.server.peers().next() {
            let small = Small { millisecond: self.now.as_millis() as u32 };
            for delivery in deliveries {
                self.refused += u32::from(self.server.send(peer, &small, *delivery).is_err());
            }
        }
        self.server.transmit(self.now);
        self.client.receive(self.now, &mut self.latencies);
        while let Some(event) = self.client.poll_event() {
            assert!(matches!(event, SessionEvent::Connected { .. }), "{event:?}");
        }
        self.client.transmit(self.now);
    }

    /// Sends a large message with small ones beside it: how long it took.
    fn send(&mut self, length: usize, deliveries: &[Delivery]) -> Duration {
        let peer = self.server.peers().next().unwrap();
        let large = Large { bytes: vec![7; length] };
        self.server.send(peer, &large, Delivery::ReliableOrderedFragmented).unwrap();
        let start = self.now;
        while self.latencies.large.is_none() {
            assert!(self.now < start + Duration::from_secs(30), "the large message starves");
            self.frame(deliveries);
        }
        let (arrived, at) = self.latencies.large.unwrap();
        assert_eq!(arrived, length);
        at - start
    }
}

const OTHERS: [Delivery; 4] = [
    Delivery::Unreliable,
    Delivery::UnreliableSequenced,
    Delivery::Reliable,
    Delivery::ReliableOrdered,
];

/// A way of 25 ms on which 2 MB go in a second.
fn link() -> LinkConfig {
    let bandwidth = Some(Bandwidth { bytes_per_second: 2_000_000, queue_bytes: 200_000 });
    LinkConfig { latency: Duration::from_millis(25), bandwidth, ..LinkConfig::default() }
}

#[test]
fn a_megabyte_delays_nothing_else_by_much() {
    let mut pair = Pair::new(link(), QuicConfig::default(), MessengerConfig::default());
    let took = pair.send(1_000_000, &OTHERS);
    let frames = (took.as_millis() / FRAME.as_millis()) as usize;
    println!("a megabyte took {took:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(pair.refused, 0, "small messages are not refused");
    for delivery in OTHERS {
        let small = &mut pair.latencies.small[delivery as usize];
        small.sort();
        let (count, median) = (small.len(), small[small.len() / 2]);
        let worst = small[count - 1];
        println!("{delivery:?}: {count} of {frames}, median {median:?}, at most {worst:?}");
        assert!(count + 12 >= frames, "{delivery:?}: {count} of {frames} came");
        assert!(median <= Duration::from_millis(96), "{delivery:?}: {median:?}");
        assert!(worst <= Duration::from_millis(320), "{delivery:?}: {worst:?}");
    }
}

/// The other limits follow from the largest message.
#[test]
fn a_message_of_three_megabytes_arrives_beside_others() {
    let limits = QuicConfig { max_fragmented: 3_100_000, ..QuicConfig::default() };
    let messenger = MessengerConfig { max_fragmented: 3_100_000, ..MessengerConfig::default() };
    for others in [&OTHERS[..1], &OTHERS[2..3], &OTHERS[3..], &OTHERS[..]] {
        let mut pair = Pair::new(link(), limits, messenger);
        let took = pair.send(3_000_000, others);
        println!("three megabytes beside {others:?} took {took:?}");
        assert!(took < Duration::from_secs(15), "{others:?}: {took:?}");
    }
}
