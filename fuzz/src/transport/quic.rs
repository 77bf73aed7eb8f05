//! Hostile peers with valid encryption.

#[path = "../../../crates/tightwire-net/tests/common/raw.rs"]
pub(crate) mod raw;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use allocation_counter::measure;
use quinn_proto::{Dir, StreamId, VarInt};
use raw::RawPeer;
use tightwire::Delivery;
use tightwire::link::LinkConfig;
use tightwire::quic::{Certificate, Network, Quic, QuicConfig, SimulatedSocket, Trust};
use tightwire::transport::{Connection, Event, Reason, Transport};

type Simulated = Quic<SimulatedSocket>;

const STEP: Duration = Duration::from_millis(1);
const MAX_FRAGMENTED: usize = 16 << 10;
const WINDOW: u32 = 32 << 10;
const DATAGRAMS: usize = 16 << 10;

/// Checks a hostile peer, and the input as a [`Reason`]. If the first byte is odd, a hostile server
/// meets our client; otherwise a hostile client meets our server, which has a good client too. The
/// other bytes are its actions, as [`Hostile::act`] parses them.
pub(crate) fn quic(data: &[u8]) {
    check_reason(data);
    let Some((kind, acts)) = data.split_first() else { return };
    if kind % 2 == 1 {
        return against_client(acts);
    }
    thread_local! {
        // One handshake per input is enough.
        static HALL: RefCell<Option<Hall>> = const { RefCell::new(None) };
    }
    HALL.with_borrow_mut(|hall| hall.get_or_insert_with(Hall::new).visit(acts));
}

/// Checks that any bytes give a reason that can be encoded again, and shown in a line.
fn check_reason(data: &[u8]) {
    let reason = Reason::from_bytes(data);
    let bytes = reason.to_bytes();
    assert!(!bytes.is_empty() && bytes.len() <= Reason::MAX_BYTES);
    assert_eq!(Reason::from_bytes(&bytes), reason);
    assert!(!reason.to_string().contains(|shown: char| shown.is_control()));
}

fn config() -> QuicConfig {
    QuicConfig {
        packets_per_second: 1_000_000,
        max_fragmented: MAX_FRAGMENTED,
        send_window: WINDOW,
        receive_window: WINDOW,
        send_datagrams: DATAGRAMS,
        receive_datagrams: DATAGRAMS,
        reliable_streams: 32,
        seed: Some(1),
        ..QuicConfig::default()
    }
}

fn certificate() -> &'static Certificate {
    static CERTIFICATE: OnceLock<Certificate> = OnceLock::new();
    CERTIFICATE.get_or_init(|| Certificate::self_signed(["game.example"]).unwrap())
}

fn connect(socket: SimulatedSocket, server: SocketAddr, now: Duration) -> Simulated {
    let trust = Trust::Pinned(vec![certificate().fingerprint()]);
    Quic::connect(socket, server, "game.example", &trust, config(), now).unwrap()
}

/// A peer that is controlled by the input.
struct Hostile {
    peer: RawPeer<SimulatedSocket>,
    streams: Vec<StreamId>,
    /// Number of actions left: long inputs would only be slow.
    left: u32,
}

/// Reaction of the other sides to an action.
enum Then {
    Nothing,
    Run(u8),
    Pause,
}

impl Hostile {
    fn new(peer: RawPeer<SimulatedSocket>) -> Self {
        Self { peer, streams: Vec::new(), left: 40 }
    }

    /// Performs the next action: a byte for its kind, one for the stream or an amount, and for some
    /// a length and that many bytes.
    fn act(&mut self, acts: &mut &[u8], now: Duration) -> Option<Then> {
        self.left = self.left.checked_sub(1)?;
        let [act, which, rest @ ..] = *acts else { return None };
        *acts = rest;
        let act = act % 10;
        let mut bytes = &[][..];
        if matches!(act, 0 | 1 | 4 | 6) {
            let (length, rest) = acts.split_first()?;
            (bytes, *acts) = rest.split_at(rest.len().min(usize::from(*length)));
        }
        let which = *which;
        let stream = self.streams.get(usize::from(which) % self.streams.len().max(1)).copied();
        match (act, stream) {
            (0, _) => self.streams.extend(self.peer.open(bytes)),
            (1, Some(stream)) => drop(self.peer.quinn().send_stream(stream).write(bytes)),
            (2, Some(stream)) => self.peer.finish(stream),
            (3, Some(stream)) => drop(self.peer.quinn().send_stream(stream).reset(which.into())),
            (4, _) => self.peer.datagram(bytes),
            // Stops the streams of the other side.
            (5, _) => {
                while let Some(stream) = self.peer.quinn().streams().accept(Dir::Uni) {
                    drop(self.peer.quinn().recv_stream(stream).stop(which.into()));
                }
            }
            (6, _) => {
                let instant = self.peer.instant(now);
                let code = VarInt::from_u32(u32::from(which) << (which % 24));
                self.peer.quinn().close(instant, code, bytes.to_vec().into());
            }
            (7, _) => return Some(Then::Run(which % 8)),
            // Long batches from short inputs.
            (8, Some(stream)) => {
                let long = vec![which; usize::from(which) * 64];
                drop(self.peer.quinn().send_stream(stream).write(&long));
            }
            (9, _) => return Some(Then::Pause),
            _ => {}
        }
        Some(Then::Nothing)
    }
}

/// Checks of the events of one connection, with its answers.
#[derive(Default)]
struct Witness {
    connection: Option<Connection>,
    has_ended: bool,
    batches: u32,
}

impl Witness {
    /// Checks an event, and returns the connection and delivery to answer on.
    fn handle(&mut self, event: &Event<'_>) -> Option<(Connection, Delivery)> {
        assert!(!self.has_ended, "after the end: {event:?}");
        match event {
            Event::Connected { connection, .. } => {
                assert_eq!(self.connection.replace(*connection), None);
                None
            }
            Event::Batch { from, delivery, batch } => {
                assert_eq!(self.connection, Some(*from));
                let limit = if delivery.fragments() { MAX_FRAGMENTED } else { 1500 };
                assert!(batch.len() <= limit, "{delivery:?} of {}", batch.len());
                self.batches += 1;
                Some((*from, *delivery))
            }
            Event::Disconnected { connection, reason } => {
                assert!(self.connection.is_none_or(|known| known == *connection));
                assert!(reason.to_bytes().len() <= Reason::MAX_BYTES);
                self.has_ended = true;
                None
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Memory that one side has allocated since the measurement began.
#[derive(Default)]
struct Memory {
    live: i64,
}

impl Memory {
    /// Counts the memory that `act` allocates, and checks the limit.
    fn measure(&mut self, act: impl FnOnce()) {
        let info = measure(act);
        let most = self.live + info.bytes_max as i64;
        assert!(most < LIMIT, "{most} bytes");
        self.live += info.bytes_current;
    }
}

/// Maximum memory of a connection: the configured limits twice, since packets are kept whole while
/// a part of them is needed and vectors grow by doubling, and the constant part of any QUIC
/// connection.
const LIMIT: i64 = 2
    * (2 * WINDOW as i64 + MAX_FRAGMENTED as i64 + 2 * DATAGRAMS as i64 + (64 << 10))
    + (256 << 10);

/// A server and its good client, which many inputs share.
struct Hall {
    network: Network,
    server: Simulated,
    good: Simulated,
    good_here: Connection,
    good_there: Connection,
    now: Duration,
    visits: u16,
}

const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 7777);

impl Hall {
    fn new() -> Self {
        let network = Network::new(LinkConfig::default(), 1);
        let socket = network.socket(SERVER.into());
        let mut server = Quic::listen(socket, certificate(), config()).unwrap();
        let mut now = Duration::ZERO;
        let mut good = connect(network.socket(([10, 0, 0, 2], 1).into()), SERVER.into(), now);
        let (mut here, mut there) = (Witness::default(), Witness::default());
        while here.connection.is_none() || there.connection.is_none() {
            now += STEP;
            for (end, witness) in [(&mut good, &mut there), (&mut server, &mut here)] {
                end.handle_input(now);
                while let Some(event) = end.poll_event() {
                    witness.handle(&event);
                }
                end.handle_output(now);
            }
        }
        let (good_here, good_there) = (here.connection.unwrap(), there.connection.unwrap());
        Self { network, server, good, good_here, good_there, now, visits: 0 }
    }

    /// Lets a hostile client connect, act and leave.
    fn visit(&mut self, mut acts: &[u8]) {
        // Other addresses, since the last clients may not be forgotten yet.
        self.visits = self.visits.wrapping_add(1);
        let socket = self.network.socket(([10, 0, 0, 3], 1 + self.visits % 512).into());
        let mut hostile = Hostile::new(RawPeer::connect(socket, SERVER.into(), self.now));
        let (mut witness, mut memory) = (Witness::default(), Memory::default());
        for _ in 0..10 {
            if witness.connection.is_none() || !hostile.peer.is_connected {
                self.step(&mut hostile, &mut witness, &mut memory);
            }
        }
        assert!(witness.connection.is_some() && hostile.peer.is_connected);
        while let Some(then) = hostile.act(&mut acts, self.now) {
            let steps = match then {
                Then::Nothing => 0,
                Then::Run(steps) => steps,
                Then::Pause => {
                    self.pause(&witness);
                    0
                }
            };
            for _ in 0..steps {
                self.step(&mut hostile, &mut witness, &mut memory);
            }
        }
        for _ in 0..4 {
            self.step(&mut hostile, &mut witness, &mut memory);
        }
        let batch = [2, 0, 7, 7];
        self.good.send(self.good_there, Delivery::Reliable, &batch).unwrap();
        let instant = hostile.peer.instant(self.now);
        hostile.peer.quinn().close(instant, VarInt::from_u32(0), Vec::new().into());
        let mut has_come = false;
        for _ in 0..6 {
            has_come |= self.step(&mut hostile, &mut witness, &mut memory);
        }
        assert!(has_come, "the good client was not received");
        assert!(witness.has_ended);
        let gone = witness.connection.unwrap();
        assert!(self.server.path(gone).is_none());
        assert!(self.server.send(gone, Delivery::Reliable, &batch).is_err());
        // Closed connections are forgotten.
        self.now += Duration::from_millis(100);
        for end in [&mut self.good, &mut self.server] {
            end.handle_input(self.now);
            end.handle_output(self.now);
        }
    }

    fn pause(&mut self, witness: &Witness) {
        if let Some(connection) = witness.connection {
            self.server.pause(connection);
        }
    }

    /// Runs a millisecond, and returns whether a batch of the good client arrived.
    fn step(&mut self, hostile: &mut Hostile, witness: &mut Witness, memory: &mut Memory) -> bool {
        self.now += STEP;
        let Self { server, good, good_here, now, .. } = self;
        hostile.peer.drive(*now);
        good.handle_input(*now);
        assert_eq!(good.poll_event(), None);
        good.handle_output(*now);
        let mut has_come = false;
        memory.measure(|| {
            server.handle_input(*now);
            while let Some(event) = server.poll_event() {
                if let Event::Batch { from, batch, .. } = &event
                    && from == good_here
                {
                    assert_eq!(*batch, [2, 0, 7, 7]);
                    has_come = true;
                } else if let Some((to, delivery)) = witness.handle(&event) {
                    answer(server, to, delivery);
                }
            }
            server.handle_output(*now);
        });
        has_come
    }
}

fn answer(end: &mut Simulated, to: Connection, delivery: Delivery) {
    let batch = [if delivery.fragments() { 1 } else { 3 }, 0, 0, 0, 9];
    // The peer may be too slow to take it.
    let _ = end.send(to, delivery, &batch);
}

/// Connects one of our clients to a hostile server.
fn against_client(mut acts: &[u8]) {
    let network = Network::new(LinkConfig::default(), 1);
    let mut now = Duration::ZERO;
    let mut hostile = Hostile::new(RawPeer::listen(network.socket(SERVER.into()), certificate()));
    let mut client = connect(network.socket(([10, 0, 0, 2], 1).into()), SERVER.into(), now);
    let (mut witness, mut memory) = (Witness::default(), Memory::default());
    let mut step = |hostile: &mut Hostile, client: &mut Simulated, witness: &mut Witness| {
        now += STEP;
        memory.measure(|| {
            client.handle_input(now);
            while let Some((to, delivery)) = loop {
                let Some(event) = client.poll_event() else { break None };
                let Some(found) = witness.handle(&event) else { continue };
                break Some(found);
            } {
                answer(client, to, delivery);
            }
            client.handle_output(now);
        });
        hostile.peer.drive(now);
        now
    };
    for _ in 0..10 {
        if witness.connection.is_none() || !hostile.peer.is_connected {
            step(&mut hostile, &mut client, &mut witness);
        }
    }
    let connection = witness.connection.unwrap();
    let mut now = step(&mut hostile, &mut client, &mut witness);
    while let Some(then) = hostile.act(&mut acts, now) {
        match then {
            Then::Nothing => {}
            Then::Run(steps) => {
                for _ in 0..steps {
                    now = step(&mut hostile, &mut client, &mut witness);
                }
            }
            Then::Pause => client.pause(connection),
        }
    }
    for _ in 0..4 {
        now = step(&mut hostile, &mut client, &mut witness);
    }
    let instant = hostile.peer.instant(now);
    hostile.peer.quinn().close(instant, VarInt::from_u32(0), Vec::new().into());
    for _ in 0..4 {
        step(&mut hostile, &mut client, &mut witness);
    }
    assert!(witness.has_ended);
    assert!(client.path(connection).is_none());
    assert!(client.send(connection, Delivery::Reliable, &[1, 0, 1]).is_err());
}
