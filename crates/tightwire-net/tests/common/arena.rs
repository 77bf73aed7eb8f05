//! A game over any transport: all sides send a message of every delivery in every frame, and the
//! server answers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tightwire::link::LinkConfig;
use tightwire::message::MessengerBuilder;
use tightwire::quic::{Certificate, Network, Quic, QuicConfig, SimulatedSocket, Trust};
use tightwire::token::{Claims, TokenGate, TokenKey};
use tightwire::transport::{InProcess, Reason, Transport};
use tightwire::{Client, Server, SessionConfig, SessionEvent};
use tightwire::{Context, Delivery, Message, PeerId, Wire};

use super::seed;

pub(crate) const STEP: Duration = Duration::from_millis(10);
pub(crate) const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 7777);
pub(crate) type Simulated = Quic<SimulatedSocket>;

/// A question of a client.
#[derive(Wire, Message, Default)]
pub(crate) struct Ask {
    number: u32,
    #[wire(max_len = 100)]
    text: String,
}

/// The server's answer.
#[derive(Wire, Message, Default)]
pub(crate) struct Answer {
    number: u32,
}

/// A broadcast of the server, sometimes a long one.
#[derive(Wire, Message, Default)]
pub(crate) struct World {
    pub(crate) number: u32,
    #[wire(max_len = 20_000)]
    pub(crate) data: Vec<u8>,
}

/// Everything that a side received: its digest depends on every message and on the order.
#[derive(Default)]
pub(crate) struct Transcript {
    /// Numbers of the received messages, by sender, type and delivery.
    pub(crate) numbers: BTreeMap<(PeerId, &'static str, usize), Vec<u32>>,
    pub(crate) events: Vec<SessionEvent>,
    pub(crate) digest: u64,
    /// Number of frames in which this side sent messages.
    pub(crate) rounds: u32,
}

impl Transcript {
    fn record_message(
        &mut self,
        from: PeerId,
        what: &'static str,
        delivery: Delivery,
        number: u32,
    ) {
        self.numbers.entry((from, what, delivery as usize)).or_default().push(number);
        self.mix(&format!("{from:?} {what} {delivery:?} {number}"));
    }

    pub(crate) fn mix(&mut self, text: &str) {
        for byte in text.bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn record_event(&mut self, event: SessionEvent, now: Duration) {
        self.mix(&format!("{now:?} {event:?}"));
        self.events.push(event);
    }

    pub(crate) fn reasons(&self) -> Vec<Reason> {
        let reason = |event: &SessionEvent| match event {
            SessionEvent::Disconnected { reason, .. } | SessionEvent::Refused { reason, .. } => {
                Some(reason.clone())
            }
            _ => None,
        };
        self.events.iter().filter_map(reason).collect()
    }

    /// Returns the peers in the order of the client numbers in their tokens.
    pub(crate) fn peers(&self) -> Vec<PeerId> {
        let peer = |event: &SessionEvent| match event {
            SessionEvent::Connected { peer, client, .. } => Some((*client, *peer)),
            _ => None,
        };
        let mut peers: Vec<_> = self.events.iter().filter_map(peer).collect();
        peers.sort_unstable();
        peers.into_iter().map(|(_, peer)| peer).collect()
    }
}

fn messages(builder: MessengerBuilder<Transcript>) -> MessengerBuilder<Transcript> {
    builder
        .handle(|ask: &Ask, context: &mut Context<'_, Transcript>| {
            assert!(ask.text.starts_with("what"));
            let (sender, route) = (context.sender(), context.route());
            context.state.record_message(sender, "ask", route.delivery, ask.number);
            context.send(sender, &Answer { number: ask.number }, route).unwrap();
        })
        .handle(|answer: &Answer, context: &mut Context<'_, Transcript>| {
            let (sender, route) = (context.sender(), context.route());
            context.state.record_message(sender, "answer", route.delivery, answer.number);
        })
        .handle(|world: &World, context: &mut Context<'_, Transcript>| {
            assert!(world.data.iter().all(|byte| *byte == world.number as u8));
            let (sender, route) = (context.sender(), context.route());
            context.state.record_message(sender, "world", route.delivery, world.number);
        })
}

pub(crate) fn session_config() -> SessionConfig {
    let unix_start = Duration::from_secs(1_800_000_000);
    SessionConfig { unix_start, seed: 7, ..SessionConfig::new("arena", "1.0") }
}

pub(crate) fn key() -> TokenKey {
    TokenKey::from_bytes([7; 32])
}

pub(crate) fn token(key: &TokenKey, client: u64) -> Vec<u8> {
    let now = session_config().unix_start;
    key.mint(&Claims::new(client, "here", now, Duration::from_secs(600))).unwrap().as_bytes().into()
}

pub(crate) fn server<T: Transport>(config: SessionConfig, transport: T) -> Server<Transcript, T> {
    let gate = TokenGate::new(vec![key()], "here");
    Server::builder(config).register(messages).with_tokens(gate).build(transport).unwrap()
}

pub(crate) fn client<T: Transport>(
    config: SessionConfig,
    token: &[u8],
    transport: T,
) -> Client<Transcript, T> {
    Client::builder(config).register(messages).token(token).build(transport).unwrap()
}

/// Runs a frame of the server, which sends messages once `clients` have connected.
pub(crate) fn server_frame<T: Transport>(
    server: &mut Server<Transcript, T>,
    transcript: &mut Transcript,
    now: Duration,
    (clients, count): (usize, u32),
) {
    server.handle_input(now);
    for stage in tightwire::Stage::ALL {
        server.run_stage(stage, transcript);
    }
    while let Some(event) = server.poll_event() {
        transcript.record_event(event, now);
    }
    if transcript.peers().len() >= clients && transcript.rounds < count {
        let number = transcript.rounds;
        transcript.rounds += 1;
        for delivery in Delivery::ALL {
            let length = if delivery.fragments() && number.is_multiple_of(10) { 4000 } else { 30 };
            let world = World { number, data: vec![number as u8; length] };
            server.broadcast(None, &world, delivery).unwrap();
        }
    }
    server.transmit(now);
    while let Some(event) = server.poll_event() {
        transcript.record_event(event, now);
    }
}

fn client_frame<T: Transport>(
    client: &mut Client<Transcript, T>,
    transcript: &mut Transcript,
    now: Duration,
    count: u32,
) {
    if client.server().is_some() && transcript.rounds < count {
        let number = transcript.rounds;
        transcript.rounds += 1;
        for delivery in Delivery::ALL {
            let ask = Ask { number, text: format!("what about {number}?") };
            client.send(&ask, delivery).unwrap();
        }
    }
    client.receive(now, transcript);
    client.transmit(now);
    while let Some(event) = client.poll_event() {
        transcript.record_event(event, now);
    }
}

/// A server and its clients.
pub(crate) struct Arena<S, C> {
    pub(crate) server: Option<Server<Transcript, S>>,
    pub(crate) transcript: Transcript,
    pub(crate) clients: Vec<(Client<Transcript, C>, Transcript)>,
    pub(crate) now: Duration,
    /// Number of clients that must connect before the server sends, and number of frames in which
    /// each side sends.
    pub(crate) plan: (usize, u32),
}

impl<S: Transport, C: Transport> Arena<S, C> {
    /// Runs a frame of all sides.
    pub(crate) fn step(&mut self) {
        self.now += STEP;
        for (client, transcript) in &mut self.clients {
            client_frame(client, transcript, self.now, self.plan.1);
        }
        if let Some(server) = &mut self.server {
            server_frame(server, &mut self.transcript, self.now, self.plan);
        }
    }

    /// Runs frames until a condition holds, for at most `most`; returns the time that it took.
    pub(crate) fn run(&mut self, most: Duration, until: impl Fn(&Self) -> bool) -> Duration {
        let start = self.now;
        while !until(self) {
            assert!(self.now - start < most, "{:?}, {:?}", self.now, self.transcript.events);
            self.step();
        }
        self.now - start
    }

    pub(crate) fn digest(&self) -> Vec<u64> {
        let clients = self.clients.iter().map(|(_, transcript)| transcript.digest);
        clients.chain([self.transcript.digest]).collect()
    }

    /// Returns whether all reliable messages have arrived.
    pub(crate) fn is_done(&self) -> bool {
        let (_, count) = self.plan;
        let has = |transcript: &Transcript, from: PeerId, what| {
            (2..5).all(|delivery| {
                let numbers = transcript.numbers.get(&(from, what, delivery));
                numbers.is_some_and(|numbers| numbers.len() >= count as usize)
            })
        };
        self.transcript.peers().len() == self.clients.len()
            && self.transcript.peers().iter().all(|peer| has(&self.transcript, *peer, "ask"))
            && self.clients.iter().all(|(client, transcript)| {
                let all =
                    |server| has(transcript, server, "answer") && has(transcript, server, "world");
                client.server().is_some_and(all)
            })
    }

    /// Checks the promises of the deliveries, and returns the number of unreliable messages that
    /// arrived.
    pub(crate) fn check(&self) -> usize {
        let (_, count) = self.plan;
        let sides = self.clients.iter().map(|(_, transcript)| transcript).chain([&self.transcript]);
        let mut unreliable = 0;
        for ((_, what, delivery), numbers) in sides.flat_map(|transcript| &transcript.numbers) {
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            let delivery = Delivery::ALL[*delivery];
            match delivery {
                Delivery::Unreliable | Delivery::UnreliableSequenced => {
                    unreliable += numbers.len();
                    sorted.dedup();
                    assert_eq!(sorted.len(), numbers.len(), "{what}: twice");
                }
                _ => {
                    assert!(sorted.iter().copied().eq(0..count), "{what} {delivery:?}: {sorted:?}");
                }
            }
            if !matches!(delivery, Delivery::Unreliable | Delivery::Reliable) {
                assert_eq!(*numbers, sorted, "{what}, {delivery:?}: in order");
            }
        }
        unreliable
    }
}

/// A simulated network with a server, which clients can join.
pub(crate) struct Door {
    pub(crate) network: Network,
    pub(crate) trust: Trust,
    pub(crate) config: QuicConfig,
    next: u16,
}

impl Door {
    /// Makes the network and the server's transport.
    pub(crate) fn new(link: LinkConfig, config: QuicConfig, seed: u64) -> (Self, Simulated) {
        let seed = seed::seed(seed);
        let network = Network::new(link, seed);
        let certificate = Certificate::self_signed(["game.example"]).unwrap();
        let trust = Trust::Pinned(vec![certificate.fingerprint()]);
        let config = QuicConfig { seed: Some(seed), ..config };
        let server = Quic::listen(network.socket(SERVER.into()), &certificate, config).unwrap();
        (Self { network, trust, config, next: 0 }, server)
    }

    pub(crate) fn enter(&mut self, now: Duration) -> Simulated {
        self.next += 1;
        let socket = self.network.socket(address(self.next));
        let Self { trust, config, .. } = self;
        Quic::connect(socket, SERVER.into(), "game.example", trust, *config, now).unwrap()
    }
}

/// Returns the address of the client with this number.
pub(crate) fn address(number: u16) -> SocketAddr {
    ([10, 0, 1, 1], 1000 + number).into()
}

/// Makes a server and `clients` clients with valid tokens, each of which sends in `count` frames.
pub(crate) fn quic(
    link: LinkConfig,
    seed: u64,
    clients: usize,
    count: u32,
) -> (Arena<Simulated, Simulated>, Door) {
    quic_with(QuicConfig::default(), link, seed, (clients, count))
}

pub(crate) fn quic_with(
    config: QuicConfig,
    link: LinkConfig,
    seed: u64,
    (clients, count): (usize, u32),
) -> (Arena<Simulated, Simulated>, Door) {
    let (mut door, transport) = Door::new(link, config, seed);
    let server = server(session_config(), transport);
    let mut arena = Arena {
        server: Some(server),
        transcript: Transcript::default(),
        clients: Vec::new(),
        now: Duration::ZERO,
        plan: (clients, count),
    };
    for number in 1..=clients as u64 {
        arena.join(&mut door, session_config(), &token(&key(), number));
    }
    (arena, door)
}

impl<S> Arena<S, Simulated> {
    pub(crate) fn join(&mut self, door: &mut Door, config: SessionConfig, token: &[u8]) {
        let client = client(config, token, door.enter(self.now));
        self.clients.push((client, Transcript::default()));
    }
}

/// Makes a server and one client in one process.
pub(crate) fn in_process(count: u32) -> Arena<InProcess, InProcess> {
    let (here, there) = InProcess::pair();
    let client = client(session_config(), &token(&key(), 1), here);
    Arena {
        server: Some(server(session_config(), there)),
        transcript: Transcript::default(),
        clients: vec![(client, Transcript::default())],
        now: Duration::ZERO,
        plan: (1, count),
    }
}
