//! Large messages trickle beside the rest.

use std::time::Duration;

use tightwire::link::{Bandwidth, LinkConfig};
use tightwire::message::{MessengerBuilder, MessengerConfig, SendError};
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
    /// Lengths and arrival times of the large messages.
    large: Vec<(usize, Duration)>,
    /// Latencies during the large transfers, by delivery.
    small: [Vec<Duration>; 5],
}

fn messages(builder: MessengerBuilder<Latencies>) -> MessengerBuilder<Latencies> {
    builder
        .handle(|large: &Large, context: &mut Context<'_, Latencies>| {
            let now = context.state.now;
            context.state.large.push((large.bytes.len(), now));
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

    /// Sends large messages with small ones beside them: how long they took.
    fn send(&mut self, lengths: &[usize], deliveries: &[Delivery]) -> Duration {
        let peer = self.server.peers().next().unwrap();
        for &length in lengths {
            let large = Large { bytes: vec![7; length] };
            self.server.send(peer, &large, Delivery::ReliableOrderedFragmented).unwrap();
        }
        let start = self.now;
        while self.latencies.large.len() < lengths.len() {
            assert!(self.now < start + Duration::from_secs(30), "the large message starves");
            self.frame(deliveries);
        }
        let arrived: Vec<_> = self.latencies.large.iter().map(|(length, _)| *length).collect();
        assert_eq!(arrived, lengths);
        self.latencies.large.last().unwrap().1 - start
    }

    /// Checks that the small messages of `took` arrived, and soon.
    fn check_small(&mut self, took: Duration) {
        let frames = (took.as_millis() / FRAME.as_millis()) as usize;
        assert_eq!(self.refused, 0, "small messages are not refused");
        for delivery in OTHERS {
            let small = &mut self.latencies.small[delivery as usize];
            small.sort();
            let (count, median) = (small.len(), small[small.len() / 2]);
            let worst = small[count - 1];
            println!("{delivery:?}: {count} of {frames}, median {median:?}, at most {worst:?}");
            assert!(count + 12 >= frames, "{delivery:?}: {count} of {frames} came");
            assert!(median <= Duration::from_millis(48), "{delivery:?}: {median:?}");
            assert!(worst <= Duration::from_millis(128), "{delivery:?}: {worst:?}");
        }
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
    let took = pair.send(&[1_000_000], &OTHERS);
    println!("a megabyte took {took:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    pair.check_small(took);
}

/// Neither those that fill the transport to its limit, nor those that it has no room for yet, hold up
/// other deliveries.
#[test]
fn many_large_messages_delay_nothing_else_by_much() {
    let most = MessengerConfig::default().max_fragmented - 100;
    let several: [&[usize]; 4] =
        [&[1_000_000; 2], &[most; 2], &[1_000_000; 5], &[100_000, most, 50_000, most, 300_000]];
    for lengths in several {
        let mut pair = Pair::new(link(), QuicConfig::default(), MessengerConfig::default());
        let took = pair.send(lengths, &OTHERS);
        println!("{lengths:?} took {took:?}");
        let most = Duration::from_micros(lengths.iter().sum::<usize>() as u64);
        assert!(took < most * 2, "{took:?}, and a megabyte has a second: {most:?}");
        pair.check_small(took);
    }
}

/// One in each frame, until the transport and the session have as many as they keep.
#[test]
fn large_messages_in_later_frames_are_refused_without_harm_to_others() {
    let mut pair = Pair::new(link(), QuicConfig::default(), MessengerConfig::default());
    let peer = pair.server.peers().next().unwrap();
    let (start, large) = (pair.now, Large { bytes: vec![7; 1_000_000] });
    let mut sent = 0;
    for _ in 0..100 {
        match pair.server.send(peer, &large, Delivery::ReliableOrderedFragmented) {
            Ok(()) => sent += 1,
            Err(error) => assert_eq!(error, SendError::Blocked(peer)),
        }
        pair.frame(&OTHERS);
    }
    assert!((3..=5).contains(&sent), "{sent} in 1.6 s, where 2 MB go in a second");
    while pair.latencies.large.len() < sent {
        pair.frame(&OTHERS);
    }
    let took = pair.now - start;
    println!("{sent} messages took {took:?}");
    pair.check_small(took);
}

/// The other limits follow from the largest message.
#[test]
fn a_message_of_three_megabytes_arrives_beside_others() {
    let limits = QuicConfig { max_fragmented: 3_100_000, ..QuicConfig::default() };
    let messenger = MessengerConfig { max_fragmented: 3_100_000, ..MessengerConfig::default() };
    for others in [&OTHERS[..1], &OTHERS[2..3], &OTHERS[3..], &OTHERS[..]] {
        let mut pair = Pair::new(link(), limits, messenger);
        let took = pair.send(&[3_000_000], others);
        println!("three megabytes beside {others:?} took {took:?}");
        assert!(took < Duration::from_secs(15), "{others:?}: {took:?}");
    }
}
