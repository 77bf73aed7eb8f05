//! Tests of the levels that receivers get, by their budgets and the time of a tick.

#![allow(clippy::unwrap_used)]

use alloc::vec::Vec;
use core::time::Duration;

use crate::random_worlds::{Rng, seed};
use crate::{Config, Leaving, Level, Protocol, Receiver, ReceiverId, Sender, SnapshotRequest};
use tightwire_core::Wire;

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Body {
    #[wire(range = 0..=100_000)]
    at: [u32; 3],
    heading: u8,
}

/// A client, and the levels of its snapshots.
struct Client {
    id: ReceiverId,
    receiver: Receiver,
    budget: usize,
    levels: Vec<Level>,
}

impl Client {
    /// Number of snapshots that had another level than the one before.
    fn switches(&self) -> usize {
        self.levels.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    /// Whether all of the last `count` snapshots had this level.
    fn was(&self, level: Level, count: usize) -> bool {
        self.levels[self.levels.len() - count..].iter().all(|&other| other == level)
    }
}

/// A sender with clients, of which each loses packets of its own.
struct Game {
    sender: Sender,
    clients: Vec<Client>,
    rng: Rng,
    tick: u32,
    bodies: u32,
    loss: u64,
}

impl Game {
    fn new(snapshot_time: Duration, budgets: &[usize]) -> Self {
        let config = Config { snapshot_time, ..Config::default() };
        let protocol = Protocol::builder(config).class::<Body>().build().unwrap();
        let mut sender = Sender::new(&protocol);
        let client = |&budget: &usize| {
            let (id, receiver) = (sender.add_receiver(Leaving::Despawn), Receiver::new(&protocol));
            Client { id, receiver, budget, levels: Vec::new() }
        };
        let clients = budgets.iter().map(client).collect();
        Self { sender, clients, rng: Rng(seed(9) | 1), tick: 0, bodies: 60, loss: 20 }
    }

    /// Runs a tick, in which every body moves.
    fn step(&mut self) {
        self.tick += 1;
        let tick = self.tick;
        self.sender.begin_tick(tick);
        for id in 0..self.bodies {
            let at = [id * 400 + tick, tick * 3, 7 * id + self.rng.below(5000) as u32];
            self.sender.set(id, &Body { at, heading: tick as u8 }).unwrap();
        }
        self.send();
    }

    /// Sends the snapshots of the tick.
    fn send(&mut self) {
        let Self { sender, clients, rng, loss, .. } = self;
        for client in clients {
            let made = sender.snapshot_into(client.id, client.budget, 0, None).unwrap();
            assert!([Level::Packed, Level::Modeled].contains(&made.level), "{:?}", made.level);
            client.levels.push(made.level);
            if *loss > 0 && rng.is_one_in(*loss) {
                continue;
            }
            client.receiver.handle_snapshot(made.bytes).unwrap();
            sender.handle_ack(client.id, client.receiver.ack().unwrap());
        }
    }

    fn run(&mut self, ticks: u32) {
        (0..ticks).for_each(|_| self.step());
    }

    /// Runs ticks in which nothing changes until all clients have the world.
    fn settle(&mut self) {
        self.loss = 0;
        for _ in 0..200 {
            self.tick += 1;
            self.sender.begin_tick(self.tick);
            self.send();
        }
        for id in 0..self.bodies {
            let body = self.sender.get::<Body>(id);
            assert!(body.is_some());
            assert!(self.clients.iter().all(|client| client.receiver.get::<Body>(id) == body));
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// Too small for sixty bodies, also at the level `Modeled`.
const SHORT: usize = 90;

#[test]
fn auto_is_the_default_and_plenty_of_bandwidth_is_packed() {
    assert_eq!(Config::default().level, Level::Auto);
    let mut game = Game::new(Config::default().snapshot_time, &[1200, 1 << 20]);
    assert_eq!(game.sender.level(game.clients[0].id), Some(Level::Auto));
    game.run(500);
    assert!(game.clients.iter().all(|client| client.was(Level::Packed, 500)));
    game.settle();
}

#[test]
fn short_bandwidth_is_modeled_until_it_is_plenty_again() {
    let mut game = Game::new(SECOND, &[SHORT]);
    game.run(60);
    assert!(game.clients[0].was(Level::Packed, 60), "a second to get the world");
    game.run(60);
    assert!(game.clients[0].was(Level::Modeled, 55), "{:?}", game.clients[0].levels);
    game.run(1000);
    assert!(game.clients[0].was(Level::Modeled, 1000), "and nothing else while it is short");
    // Plenty, but not for long enough.
    game.clients[0].budget = 1200;
    game.run(299);
    assert!(game.clients[0].was(Level::Modeled, 299));
    game.run(100);
    assert!(game.clients[0].was(Level::Packed, 97));
    game.clients[0].budget = SHORT;
    game.run(100);
    assert!(game.clients[0].was(Level::Modeled, 95));
    assert_eq!(game.clients[0].switches(), 3);
    game.settle();
}

#[test]
fn a_join_and_an_explosion_are_no_lack_of_bandwidth() {
    let mut game = Game::new(SECOND, &[400]);
    game.bodies = 100;
    game.run(1);
    (0..100).for_each(|_| {
        game.tick += 1;
        game.sender.begin_tick(game.tick);
        game.send();
    });
    // Everything changes at once, again and again but not often.
    game.loss = 0;
    for _ in 0..20 {
        game.step();
        game.settle();
    }
    assert!(game.clients[0].was(Level::Packed, game.clients[0].levels.len()));
}

#[test]
fn the_neediest_receivers_get_modeled_as_far_as_time_goes() {
    // There is time for one of the three.
    let mut game = Game::new(Duration::from_micros(160), &[120, 90, 64, 4000]);
    game.run(600);
    let before: Vec<_> = game.clients.iter().map(Client::switches).collect();
    game.run(600);
    let [wide, narrow, narrowest, plenty] = &game.clients[..] else { unreachable!() };
    assert!(plenty.was(Level::Packed, 1200));
    assert!(narrowest.was(Level::Modeled, 600), "{before:?}");
    let modeled = |client: &Client| {
        client.levels[600..].iter().filter(|&&level| level == Level::Modeled).count()
    };
    assert!(modeled(wide) < 200 && modeled(narrow) < 200, "{} {}", modeled(wide), modeled(narrow));
    for (client, before) in game.clients.iter().zip(before) {
        assert!(client.switches() - before <= 22, "no flapping: {:?}", client.levels);
    }
    game.settle();
    // With time for all, all get it; without any, none does.
    for (time, level) in [(SECOND, Level::Modeled), (Duration::ZERO, Level::Packed)] {
        let mut game = Game::new(time, &[80, 70, 64]);
        game.run(400);
        assert!(game.clients.iter().all(|client| client.was(level, 300)), "{time:?}");
    }
}

#[test]
fn receivers_that_share_their_bodies_get_one_level() {
    let mut game = Game::new(SECOND, &[SHORT; 20]);
    game.loss = 0;
    let mut before = 0;
    for tick in 1..=300 {
        game.step();
        let levels = game.clients.iter().map(|client| client.levels.last());
        assert!(levels.clone().all(|level| level == game.clients[0].levels.last()));
        let (coded, _) = game.sender.coded();
        assert!(coded - before < 6, "tick {tick}: {} bodies for twenty", coded - before);
        before = coded;
    }
    assert!(game.clients[0].was(Level::Modeled, 200));
    // There is time for one body of theirs, and not for twenty.
    let mut game = Game::new(Duration::from_micros(400), &[SHORT; 20]);
    game.loss = 0;
    game.run(300);
    assert!(game.clients.iter().all(|client| client.was(Level::Modeled, 200)));
}

#[test]
fn explicit_levels_stay_and_take_their_part_of_the_time() {
    let mut game = Game::new(Duration::from_micros(160), &[SHORT, 1200, 1200]);
    // The two others share no bodies.
    game.loss = 3;
    for client in &game.clients[1..] {
        game.sender.set_level(client.id, Level::Modeled);
    }
    game.run(300);
    assert!(game.clients[1].was(Level::Modeled, 300));
    assert!(game.clients[0].was(Level::Packed, 300), "{:?}", game.clients[0].levels);
    for client in &game.clients[1..] {
        game.sender.set_level(client.id, Level::Packed);
    }
    game.run(200);
    assert!(game.clients[1].was(Level::Packed, 200));
    assert!(game.clients[0].was(Level::Modeled, 100), "{:?}", game.clients[0].levels);
    game.settle();
}

#[test]
fn equal_calls_make_equal_packets_with_and_without_threads() {
    let run = |is_at_once: bool| {
        let mut game = Game::new(Duration::from_micros(150), &[64, 64, 80, 100, 120, 500]);
        let mut packets = Vec::new();
        let mut rng = Rng(seed(4) | 1);
        for tick in 1..=400u32 {
            game.sender.begin_tick(tick);
            for id in 0..60u32 {
                let at = [id * 400 + tick, tick * 3, 7 * id + rng.below(5000) as u32];
                game.sender.set(id, &Body { at, heading: tick as u8 }).unwrap();
            }
            let mut made = Vec::new();
            if is_at_once {
                let request = |client: &Client| SnapshotRequest {
                    receiver: client.id,
                    budget: client.budget,
                };
                let requests: Vec<_> = game.clients.iter().map(request).collect();
                game.sender.snapshot_all(&requests, 0, |_, snapshot| {
                    made.push((snapshot.level, snapshot.bytes.to_vec()));
                });
            } else {
                for client in &game.clients {
                    let one = game.sender.snapshot_into(client.id, client.budget, 0, None).unwrap();
                    made.push((one.level, one.bytes.to_vec()));
                }
            }
            for (client, (_, packet)) in game.clients.iter_mut().zip(&made) {
                if !rng.is_one_in(10) {
                    client.receiver.handle_snapshot(packet).unwrap();
                    game.sender.handle_ack(client.id, client.receiver.ack().unwrap());
                }
            }
            packets.push(made);
        }
        packets
    };
    let [one, again, all] = [false, false, true].map(run);
    assert!(one == again && one == all);
    let modeled = one.iter().flatten().filter(|(level, _)| *level == Level::Modeled).count();
    assert!((100..2000).contains(&modeled), "{modeled}");
}

#[test]
fn nothing_is_lost_while_budgets_come_and_go() {
    for round in 0..3 {
        let mut game = Game::new(Duration::from_micros(300), &[1200; 4]);
        game.rng = Rng(seed(100 + round) | 1);
        game.loss = 4;
        for _ in 0..12 {
            for client in &mut game.clients {
                client.budget = [64, 90, 150, 400, 4000][game.rng.below(5) as usize];
            }
            let ticks = 20 + game.rng.below(380) as u32;
            game.run(ticks);
        }
        assert!(game.clients.iter().map(Client::switches).sum::<usize>() > 0);
        game.settle();
    }
}
