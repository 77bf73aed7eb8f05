//! Cost of a tick of a play server: inputs, relevancy, budgets and snapshots of 64 peers.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tightwire::play::{
    Client, ClientConfig, Game, Input, ObjectConfig, Server, ServerConfig, ServerEvent,
};
use tightwire::session::OpenToAnyone;
use tightwire::snapshot::{self, Leaving, Level, RelevancyConfig, Scope};
use tightwire::transport::{Connection, Event, NotSentError, Path, Reason, Transport};
use tightwire::{Delivery, Wire};

use super::{BEHIND, Ball, ball, is_lost};

/// Number of peers, and bytes of a datagram.
pub(super) const PEERS: usize = 64;
const DATAGRAM: usize = 1200;

/// Objects of the world, and every how many of them moves.
const OBJECTS: u32 = 1000;
const MOVING: u32 = 10;

/// Input of a tank game: keys and two angles.
#[derive(Wire, Default, Clone)]
struct Drive {
    #[wire(range = -1..=1)]
    throttle: i8,
    #[wire(range = -1..=1)]
    turn: i8,
    #[wire(min = 0.0, max = 6.3, resolution = 0.001)]
    aim: [f32; 2],
    fire: bool,
}

impl Input for Drive {}

/// Time of a tick, by the calls of a server.
#[derive(Clone, Copy, Default)]
pub(super) struct Parts {
    /// Packets of all peers: inputs and acks.
    pub(super) receive: Duration,
    /// Choice of one input of each peer.
    pub(super) begin: Duration,
    /// Objects that moved, set by the game.
    pub(super) set: Duration,
    /// Relevancy, budgets, snapshots and their headers, for all peers.
    pub(super) send: Duration,
    /// Bytes of a snapshot.
    pub(super) bytes: u64,
}

impl Parts {
    pub(super) fn sum(self) -> Duration {
        self.receive + self.begin + self.set + self.send
    }
}

/// Measures the tick of a sender without a play server, acks included: of the same world, with the
/// same loss. As a play server's peers do, each receiver owns an object, which is first in its
/// packets, so that from the beginning no two receivers have the same baseline.
pub(super) fn alone(ticks: u32, level: Level) -> Result<Duration, Box<dyn Error>> {
    let config = snapshot::Config { level, ..snapshot::Config::default() };
    let protocol = snapshot::Protocol::builder(config).class::<Ball>().build()?;
    let mut sender = snapshot::Sender::new(&protocol);
    let peers: Vec<_> = (0..PEERS).map(|_| sender.add_receiver(Leaving::Despawn)).collect();
    let mut receivers: Vec<_> = peers.iter().map(|_| snapshot::Receiver::new(&protocol)).collect();
    let mut acks: VecDeque<Vec<_>> = VecDeque::new();
    let mut packets = vec![Vec::new(); PEERS];
    let start = ticks.max(60);
    let mut taken = Duration::ZERO;
    for tick in 1..=start + ticks {
        let begin = Instant::now();
        let due = if acks.len() == BEHIND { acks.pop_front() } else { None };
        for (peer, ack) in peers.iter().zip(due.into_iter().flatten()) {
            if let Some(ack) = ack {
                sender.handle_ack(*peer, ack);
            }
        }
        sender.begin_tick(tick);
        for id in (0..OBJECTS).filter(|id| tick == 1 || id.is_multiple_of(MOVING)) {
            sender.set(id, &ball(id, tick))?;
        }
        for (place, peer) in (0..).zip(&peers).filter(|_| tick == 1) {
            sender.set_owner(place * MOVING, Some(*peer));
        }
        for (peer, packet) in peers.iter().zip(&mut packets) {
            packet.clear();
            packet.extend_from_slice(sender.snapshot(*peer, DATAGRAM).ok_or("no snapshot")?);
        }
        if tick > start {
            taken += begin.elapsed();
        }
        for (place, receiver) in receivers.iter_mut().enumerate() {
            if !is_lost(tick, place) {
                receiver.handle_snapshot(&packets[place])?;
            }
        }
        acks.push_back(receivers.iter().map(snapshot::Receiver::ack).collect());
    }
    Ok(taken / ticks)
}

/// Measures the tick of a server whose objects are relevant to everybody, or within a radius.
pub(super) fn measure(
    ticks: u32,
    level: Level,
    radius: Option<f32>,
) -> Result<Parts, Box<dyn Error>> {
    let scope = Some(if radius.is_some() { Scope::Near } else { Scope::Always });
    let objects = ObjectConfig { scope, predict: false, ..ObjectConfig::default() };
    let game = || Game::new("cost", "1").object_with::<Ball>(objects).input::<Drive>();
    let relevancy = RelevancyConfig {
        radius: radius.unwrap_or(RelevancyConfig::default().radius),
        ..RelevancyConfig::default()
    };
    let mut config = ServerConfig { relevancy, ..ServerConfig::default() };
    config.snapshot.level = level;
    let (there, here) = hub();
    let mut server = game().serve(config.clone(), OpenToAnyone::default(), there)?;
    let mut clients = Vec::new();
    for end in here {
        let settings = ClientConfig { snapshot: config.snapshot, ..ClientConfig::default() };
        clients.push(game().connect(settings, &[], end)?);
    }
    for id in 0..OBJECTS {
        server.world().set(id, &ball(id, 0))?;
    }
    // The handshakes, and the world that is new to everybody, take a while.
    let start = ticks.max(60);
    let (mut parts, mut before) = (Parts::default(), 0);
    for tick in 1..=start + ticks {
        let now = Duration::from_secs(1) * tick / 60;
        let taken = serve(&mut server, now, tick)?;
        for (place, client) in (0..).zip(&mut clients) {
            run(client, now, tick, place);
        }
        if tick == start {
            before = sent(&server);
        }
        if tick > start {
            parts.receive += taken.receive / ticks;
            parts.begin += taken.begin / ticks;
            parts.set += taken.set / ticks;
            parts.send += taken.send / ticks;
        }
    }
    parts.bytes = (sent(&server) - before) / u64::from(ticks) / PEERS as u64;
    Ok(parts)
}

fn serve(
    server: &mut Server<Drive, End>,
    now: Duration,
    tick: u32,
) -> Result<Parts, Box<dyn Error>> {
    let mut parts = Parts::default();
    let start = Instant::now();
    server.receive(now);
    parts.receive = start.elapsed();
    while let Some(event) = server.poll_event() {
        if let ServerEvent::Joined { peer, .. } = event {
            let place = server.peers().position(|other| other == peer).unwrap_or(0) as u32;
            server.world().set_owner(place * MOVING, Some(peer));
        }
    }
    let start = Instant::now();
    server.begin_tick(now);
    parts.begin = start.elapsed();
    let start = Instant::now();
    for id in (0..OBJECTS).step_by(MOVING as usize) {
        server.world().set(id, &ball(id, tick))?;
    }
    parts.set = start.elapsed();
    let start = Instant::now();
    server.send(now);
    parts.send = start.elapsed();
    Ok(parts)
}

fn run(client: &mut Client<Drive, End>, now: Duration, tick: u32, place: u32) {
    client.receive(now);
    while client.poll_event().is_some() {}
    let aim = [0.01, 0.02].map(|speed| (tick + place) as f32 * speed % 6.0);
    client.input(&Drive {
        throttle: 1,
        turn: (tick / 30 % 3) as i8 - 1,
        aim,
        fire: tick.is_multiple_of(20),
    });
    while client.next_step().is_some() {}
    client.send(now);
}

fn sent(server: &Server<Drive, End>) -> u64 {
    server.peers().filter_map(|peer| server.stats(peer)).map(|stats| stats.snapshot_bytes).sum()
}

/// Batches on their way, by connection and direction.
type Lanes = Rc<RefCell<Vec<[VecDeque<(Duration, Delivery, Vec<u8>)>; 2]>>>;

/// An end of a network in this process, whose batches take some ticks. Packets of snapshots are
/// lost as those of the other lines are, so that no two peers have the same baseline.
struct End {
    lanes: Lanes,
    client: Option<usize>,
    announced: usize,
    now: Duration,
    tick: u32,
    current: Vec<u8>,
}

fn hub() -> (End, Vec<End>) {
    let lanes: Lanes = Rc::new(RefCell::new((0..PEERS).map(|_| Default::default()).collect()));
    let end = |client: Option<usize>| End {
        lanes: lanes.clone(),
        client,
        announced: client.unwrap_or(0),
        now: Duration::ZERO,
        tick: 0,
        current: Vec::new(),
    };
    (end(None), (0..PEERS).map(|client| end(Some(client))).collect())
}

impl Transport for End {
    fn handle_input(&mut self, now: Duration) {
        self.now = now;
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let mut lanes = self.lanes.borrow_mut();
        let own = self.client.map_or(0..lanes.len(), |client| client..client + 1);
        if self.announced < own.end {
            let connection = Connection(self.announced as u64);
            self.announced += 1;
            return Some(Event::Connected { connection, address: None });
        }
        for place in own {
            let lane = &mut lanes[place][usize::from(self.client.is_some())];
            if lane.front().is_some_and(|(at, ..)| *at <= self.now)
                && let Some((_, delivery, batch)) = lane.pop_front()
            {
                self.current = batch;
                let from = Connection(place as u64);
                return Some(Event::Batch { from, delivery, batch: &self.current });
            }
        }
        None
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        let (is_server, place) = (self.client.is_none(), to.0 as usize);
        if is_server && delivery == Delivery::Unreliable && is_lost(self.tick, place) {
            return Ok(());
        }
        let at = self.now + Duration::from_secs(1) * (BEHIND as u32 / 2) / 60;
        let mut lanes = self.lanes.borrow_mut();
        lanes[place][usize::from(is_server)].push_back((at, delivery, batch.to_vec()));
        Ok(())
    }

    fn pause(&mut self, _: Connection) {}

    fn close(&mut self, _: Connection, _: &Reason) {}

    fn handle_output(&mut self, _: Duration) {
        self.tick += 1;
    }

    fn path(&self, _: Connection) -> Option<Path> {
        Some(Path {
            max_datagram: DATAGRAM,
            max_fragmented: 1 << 20,
            round_trip: Duration::from_millis(100),
            datagram_room: 1 << 16,
            ..Path::default()
        })
    }

    fn next_time(&self) -> Option<Duration> {
        None
    }
}
