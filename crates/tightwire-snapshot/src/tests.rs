//! Whole worlds over networks with loss, jitter, duplicates and reordering.

#![allow(clippy::unwrap_used, clippy::panic)]

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use super::*;
use tightwire_core::Wire;
use tightwire_core::schema::ObjectId;

/// An object that moves.
#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Body {
    #[wire(range = 0..=1000)]
    x: u16,
    #[wire(range = -50..=50)]
    y: i8,
    at_rest: bool,
    #[wire(when = !self.at_rest, range = 0..=9)]
    speed: u8,
}

/// An object that opens and closes.
#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Door {
    open: bool,
    key: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Thing {
    Body(Body),
    Door(Door),
}

/// Random numbers of a test: the same seed gives the same test.
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(end)) >> 32) as u32
    }

    fn is_one_in(&mut self, chances: u32) -> bool {
        self.below(chances) == 0
    }
}

/// A network that loses, delays, duplicates and reorders packets.
#[derive(Clone, Copy)]
struct BadNetwork {
    loss: u32,
    delay: u32,
    jitter: u32,
}

struct Direction<T> {
    bad: BadNetwork,
    under_way: VecDeque<(u32, T)>,
}

impl<T: Clone> Direction<T> {
    fn new(bad: BadNetwork) -> Self {
        Self { bad, under_way: VecDeque::new() }
    }

    fn send(&mut self, tick: u32, rng: &mut Rng, packet: T) {
        let copies = if rng.is_one_in(20) { 2 } else { 1 };
        for _ in 0..copies {
            if rng.below(100) >= self.bad.loss {
                let arrival = tick + self.bad.delay + rng.below(self.bad.jitter + 1);
                self.under_way.push_back((arrival, packet.clone()));
            }
        }
    }

    fn arrived(&mut self, tick: u32) -> Vec<T> {
        let mut arrived = Vec::new();
        self.under_way.retain(|(arrival, packet)| {
            if *arrival <= tick {
                arrived.push(packet.clone());
            }
            *arrival > tick
        });
        arrived
    }
}

struct Client {
    id: ReceiverId,
    receiver: Receiver,
    down: Direction<Vec<u8>>,
    up: Direction<Ack>,
    budget: usize,
    every: u32,
    /// Three of four objects are relevant to the client; which ones changes with time.
    sees_a_part: bool,
    freezes: bool,
    decoded: u32,
    complete: u32,
}

struct Test {
    rng: Rng,
    tick: u32,
    things: BTreeMap<u32, Thing>,
    past: BTreeMap<u32, BTreeMap<u32, Thing>>,
    sender: Sender,
    clients: Vec<Client>,
    initial: BTreeMap<u32, Thing>,
    protocol: Protocol,
    /// `None` if the level of each packet is random.
    level: Option<Level>,
}

fn protocol(level: Option<Level>) -> Protocol {
    let level = level.unwrap_or_default();
    let config = Config { level, max_objects: 64, ..Config::default() };
    Protocol::builder(config).class::<Body>().class::<Door>().build().unwrap()
}

impl Test {
    fn new(level: Option<Level>, seed: u64) -> Self {
        let protocol = protocol(level);
        let sender = Sender::new(&protocol);
        Self {
            rng: Rng(random_worlds::seed(seed) | 1),
            tick: 0,
            things: BTreeMap::new(),
            past: BTreeMap::new(),
            sender,
            clients: Vec::new(),
            initial: BTreeMap::new(),
            protocol,
            level,
        }
    }

    fn with_initial(mut self) -> Self {
        for id in 0..10 {
            let thing = Thing::Body(Body { x: id as u16, ..Body::default() });
            self.initial.insert(id, thing);
            self.things.insert(id, thing);
            let Thing::Body(body) = thing else { continue };
            self.sender.set_initial(id, &body).unwrap();
        }
        self
    }

    fn add_client(&mut self, bad: BadNetwork, budget: usize, every: u32, leaving: Option<Leaving>) {
        let mut receiver = Receiver::new(&self.protocol);
        for (&id, thing) in &self.initial {
            if let Thing::Body(body) = *thing {
                receiver.set_initial(id, &body).unwrap();
            }
        }
        self.clients.push(Client {
            id: self.sender.add_receiver(leaving.unwrap_or_default()),
            receiver,
            down: Direction::new(bad),
            up: Direction::new(bad),
            budget,
            every,
            sees_a_part: leaving.is_some(),
            freezes: leaving == Some(Leaving::Freeze),
            decoded: 0,
            complete: 0,
        });
    }

    fn change_world(&mut self) {
        let rng = &mut self.rng;
        for _ in 0..rng.below(4) {
            let id = rng.below(30);
            match rng.below(8) {
                0 => {
                    self.things.remove(&id);
                    self.sender.remove(id).unwrap();
                }
                1 => {
                    let key = rng.is_one_in(2).then(|| rng.below(256) as u8);
                    self.things.insert(id, Thing::Door(Door { open: rng.is_one_in(2), key }));
                }
                _ => {
                    let at_rest = rng.is_one_in(2);
                    let speed = if at_rest { 0 } else { rng.below(10) as u8 };
                    let (x, y) = (rng.below(20) as u16, rng.below(3) as i8);
                    self.things.insert(id, Thing::Body(Body { x, y, at_rest, speed }));
                }
            }
        }
        for (&id, thing) in &self.things {
            match *thing {
                Thing::Body(body) => self.sender.set(id, &body).unwrap(),
                Thing::Door(door) => self.sender.set(id, &door).unwrap(),
            }
        }
        self.past.insert(self.tick, self.things.clone());
        self.past.retain(|&tick, _| tick + 300 > self.tick);
    }

    fn tick(&mut self) {
        self.tick += 1;
        self.sender.begin_tick(self.tick);
        self.change_world();
        self.exchange();
    }

    /// Runs a tick in which nothing changes.
    fn quiet_tick(&mut self) {
        self.tick += 1;
        self.sender.begin_tick(self.tick);
        self.past.insert(self.tick, self.things.clone());
        self.exchange();
    }

    fn exchange(&mut self) {
        let Self { rng, tick, past, sender, clients, level, .. } = self;
        for client in clients {
            for ack in client.up.arrived(*tick) {
                sender.handle_ack(client.id, ack);
            }
            if *tick % client.every == 0 {
                if level.is_none() {
                    let levels = [Level::Packed, Level::Modeled, Level::Auto];
                    sender.set_level(client.id, levels[rng.below(3) as usize]);
                }
                let packet = match client.sees_a_part {
                    true => sender.snapshot_with(client.id, client.budget, |object| {
                        is_relevant(object.id.0, *tick).then_some(object.id.0 % 5)
                    }),
                    false => sender.snapshot(client.id, client.budget),
                };
                let packet = packet.unwrap();
                assert!(packet.len() <= client.budget);
                client.down.send(*tick, rng, packet.to_vec());
            }
            for packet in client.down.arrived(*tick) {
                let newest = client.receiver.newest();
                match client.receiver.handle_snapshot(&packet) {
                    Ok(received) => {
                        client.decoded += 1;
                        client.check(received, &past[&received.tick]);
                    }
                    Err(ReceiveError::Late) => {
                        assert!(newest.is_some(), "the first cannot be late");
                    }
                    Err(error) => panic!("tick {tick}: {error}"),
                }
                if let Some(ack) = client.receiver.ack() {
                    client.up.send(*tick, rng, ack);
                }
            }
        }
    }

    fn make_networks_perfect(&mut self) {
        for client in &mut self.clients {
            client.down.bad = BadNetwork { loss: 0, delay: 1, jitter: 0 };
            client.up.bad = client.down.bad;
        }
    }

    fn assert_converged(&mut self) {
        for client in &mut self.clients {
            assert!(client.receiver.newest().unwrap().is_complete, "budget {}", client.budget);
            if client.sees_a_part {
                let here = client.world();
                for (id, thing) in &self.things {
                    let is_relevant = is_relevant(*id, self.tick);
                    assert_eq!(
                        here.get(id) == Some(thing),
                        is_relevant || here.contains_key(id),
                        "{id}"
                    );
                    assert!(is_relevant || client.freezes || !here.contains_key(id), "{id}");
                }
            } else {
                client.assert_world(&self.things);
            }
        }
    }
}

/// Whether an object is relevant to a client that sees a part: changes for a while, then no more.
fn is_relevant(id: u32, tick: u32) -> bool {
    !(id + (tick / 40).min(40)).is_multiple_of(4)
}

impl Client {
    fn check(&mut self, received: Received, world: &BTreeMap<u32, Thing>) {
        if received.is_complete && !self.sees_a_part {
            self.complete += 1;
            self.assert_world(world);
            return;
        }
        let updated: Vec<_> = self.receiver.updated().collect();
        for id in updated {
            let here = self.thing(id);
            if !self.sees_a_part || here.is_some() {
                assert_eq!(here, world.get(&id.0).copied(), "{id} at {}", received.tick);
            }
        }
    }

    fn assert_world(&mut self, world: &BTreeMap<u32, Thing>) {
        assert_eq!(&self.world(), world);
    }

    fn world(&mut self) -> BTreeMap<u32, Thing> {
        let ids: Vec<_> = self.receiver.objects().map(|(id, _)| id).collect();
        ids.into_iter().map(|id| (id.0, self.thing(id).unwrap())).collect()
    }

    fn thing(&mut self, id: ObjectId) -> Option<Thing> {
        let body = self.receiver.get::<Body>(id).map(Thing::Body);
        body.or_else(|| self.receiver.get::<Door>(id).map(Thing::Door))
    }
}

const GOOD: BadNetwork = BadNetwork { loss: 0, delay: 1, jitter: 0 };
const NETWORKS: [BadNetwork; 5] = [
    GOOD,
    BadNetwork { loss: 5, delay: 3, jitter: 0 },
    BadNetwork { loss: 20, delay: 2, jitter: 8 },
    BadNetwork { loss: 50, delay: 5, jitter: 30 },
    BadNetwork { loss: 80, delay: 40, jitter: 40 },
];

fn run(level: Option<Level>, seed: u64, ticks: u32) {
    let mut test = Test::new(level, seed);
    if seed.is_multiple_of(2) {
        test = test.with_initial();
    }
    for bad in NETWORKS {
        match seed % 4 {
            0 => test.add_client(bad, 1200, 1, None),
            1 => test.add_client(bad, 64, 1 + seed as u32 % 3, None),
            2 => test.add_client(bad, 1200, 1, Some(Leaving::Despawn)),
            _ => test.add_client(bad, 80, 1, Some(Leaving::Freeze)),
        }
    }
    for _ in 0..ticks {
        test.tick();
    }
    for client in &test.clients {
        assert!(client.decoded > ticks / 40, "{} of {ticks}", client.decoded);
    }
    test.make_networks_perfect();
    for _ in 0..400 {
        test.quiet_tick();
    }
    test.assert_converged();
}

#[test]
fn receivers_converge_on_a_bad_network() {
    // At full volume 100,000 ticks, each of five receivers.
    let (seeds, ticks) = random_worlds::volume((8, 800), (50, 2000));
    for seed in 0..seeds {
        for level in [Some(Level::Packed), Some(Level::Modeled), Some(Level::Auto), None] {
            run(level, 0x9e37_79b9 * (seed + 1) + seed, ticks / 2);
        }
    }
}

#[test]
fn acked_in_tick_0_differs_from_never_acked() {
    let protocol = Protocol::builder(Config::default()).class::<Body>();
    let protocol = protocol.build().unwrap();
    let mut sender = Sender::new(&protocol);
    let ids = [0; 2].map(|_| sender.add_receiver(Leaving::Despawn));
    let mut receivers = [0; 2].map(|_| Receiver::new(&protocol));
    for (tick, x) in [(0, 100), (1, 140), (2, 190)] {
        sender.begin_tick(tick);
        sender.set(1, &Body { x, ..Body::default() }).unwrap();
        for (place, receiver) in receivers.iter_mut().enumerate() {
            let packet = sender.snapshot(ids[place], 1000).unwrap();
            // The first packet to the second receiver is lost.
            if (tick, place) != (0, 1) {
                receiver.handle_snapshot(packet).unwrap();
                assert_eq!(receiver.get::<Body>(1).unwrap().x, x);
            }
        }
        if tick == 1 {
            for (id, receiver) in ids.iter().zip(&receivers) {
                sender.handle_ack(*id, receiver.ack().unwrap());
            }
        }
    }
    assert_eq!(sender.set_initial(2, &Body::default()), Err(SetError::AlreadyStarted));
}
