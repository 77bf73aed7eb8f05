//! Random worlds with receivers that come and go.

use std::collections::BTreeMap;
use std::panic::catch_unwind;

use tightwire::snapshot::{self, Leaving, ReceiverId};

use super::game::{LEVELS, config};
use super::values::{Any, Mover, Nothing, Random, Shape, any, expected_bytes, quantised, read};
use crate::common::moving::Body;
use crate::common::volume::volume;

/// Random classes, several receivers, losses, outages, budgets, interest, jumps of ticks: what is
/// complete is as the sender's world was, and in the end everybody has everything.
#[test]
fn receivers_have_the_world_whatever_happens() {
    let worlds = volume(60, 600);
    let fails = |&seed: &u64| catch_unwind(|| Soak::new(seed).run()).is_err();
    let failed: Vec<u64> = (0..worlds).filter(fails).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

const STEPS: u64 = 500;

struct Soak {
    seed: u64,
    random: Random,
    protocol: snapshot::Protocol,
    sender: snapshot::Sender,
    tick: u32,
    /// Nothing changes or gets lost any more.
    is_calm: bool,
    world: BTreeMap<u32, Any>,
    /// By tick, as it is after it was quantised.
    worlds: BTreeMap<u32, Vec<(u32, Vec<u8>)>>,
    initial: Vec<(u32, Mover)>,
    peers: Vec<Peer>,
    /// Number of ids, and rate of change.
    ids: u64,
    change: u64,
}

struct Peer {
    id: ReceiverId,
    receiver: snapshot::Receiver,
    packets: Vec<Vec<u8>>,
    acks: Vec<snapshot::Ack>,
    sees_all: bool,
    every: u64,
    outage: u64,
}

impl Soak {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed * 7919 + 12345);
        let config = snapshot::Config { max_objects: 400, ..config(LEVELS[seed as usize % 2]) };
        let builder = snapshot::Protocol::builder(config).class::<Nothing>().class::<Mover>();
        let protocol = builder.class::<Shape>().build().unwrap();
        let mut sender = snapshot::Sender::new(&protocol);
        let (position, rotation) = ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0, 1.0]);
        let body = Body { position, rotation, ..Body::default() };
        let mover = Mover { body, ..Mover::default() };
        let initial = [u32::MAX, 5, 9].map(|id| {
            sender.set_initial(id, &mover).unwrap();
            (id, mover.clone())
        });
        Self {
            seed,
            protocol,
            sender,
            tick: if seed.is_multiple_of(5) { u32::MAX - 4_000_000 } else { 0 },
            is_calm: false,
            world: initial.iter().map(|(id, mover)| (*id, Any::Mover(mover.clone()))).collect(),
            worlds: BTreeMap::new(),
            initial: initial.into(),
            peers: Vec::new(),
            ids: 1 + random.below(60),
            change: 1 + random.below(20),
            random,
        }
    }

    fn run(mut self) {
        for step in 0..STEPS {
            self.is_calm = step > STEPS - 60;
            self.tick += match self.random.below(200) {
                0 => 100,
                1 => 5000,
                2..=20 => 2,
                _ => 1,
            };
            self.sender.begin_tick(self.tick);
            if !self.is_calm {
                self.change_world();
            }
            let world = self.world.iter().map(|(&id, any)| (id, expected_bytes(&quantised(any))));
            self.worlds.insert(self.tick, world.collect());
            self.add_and_remove_peers();
            let mut peers = core::mem::take(&mut self.peers);
            peers.iter_mut().for_each(|peer| self.exchange(peer));
            self.peers = peers;
        }
        for peer in &mut self.peers {
            assert!(read(&mut peer.receiver) == self.worlds[&self.tick], "seed {}", self.seed);
        }
    }

    fn change_world(&mut self) {
        let Self { random, sender, world, .. } = self;
        for _ in 0..random.below(self.change) {
            // At both ends of the range of ids.
            let id = match random.below(self.ids) as u32 {
                0 => u32::MAX,
                1 => 0,
                id if id.is_multiple_of(7) => u32::MAX - id,
                id => id,
            };
            if random.below(5) == 0 {
                sender.remove(id).unwrap();
                world.remove(&id);
            }
            if random.below(4) != 0 {
                let any = any(random);
                match any.clone() {
                    Any::Nothing => sender.set(id, &Nothing).unwrap(),
                    Any::Mover(mover) => sender.set(id, &mover).unwrap(),
                    Any::Shape(shape) => sender.set(id, &shape).unwrap(),
                }
                world.insert(id, any);
            }
        }
    }

    fn add_and_remove_peers(&mut self) {
        let random = &mut self.random;
        if self.peers.len() < 4 && random.below(20) == 0 || self.peers.is_empty() {
            let leaving = if random.below(3) == 0 { Leaving::Freeze } else { Leaving::Despawn };
            let mut receiver = snapshot::Receiver::new(&self.protocol);
            for (id, mover) in &mut self.initial {
                receiver.set_initial(*id, mover).unwrap();
            }
            self.peers.push(Peer {
                id: self.sender.add_receiver(leaving),
                receiver,
                packets: Vec::new(),
                acks: Vec::new(),
                sees_all: random.below(2) == 0,
                every: 1 + random.below(3) * random.below(20),
                outage: 0,
            });
        }
        if random.below(150) == 0 && !self.is_calm {
            let place = random.below(self.peers.len() as u64) as usize;
            self.sender.remove_receiver(self.peers.swap_remove(place).id);
        }
    }

    fn exchange(&mut self, peer: &mut Peer) {
        let is_calm = self.is_calm;
        if !is_calm && self.random.below(150) == 0 {
            peer.outage = self.random.below(200);
        }
        peer.outage = peer.outage.saturating_sub(1);
        if !is_calm && self.random.below(peer.every) != 0 {
            return;
        }
        let packet = self.packet_for(peer);
        if peer.outage > 0 && !is_calm {
            return;
        }
        peer.packets.push(packet);
        while peer.packets.len() > 4 || is_calm && !peer.packets.is_empty() {
            let packet = self.take_any(&mut peer.packets);
            self.deliver(peer, &packet);
            if self.random.below(3) > 0 || is_calm {
                peer.acks.extend(peer.receiver.ack());
            }
        }
        while peer.acks.len() > 3 || is_calm && !peer.acks.is_empty() {
            let ack = self.take_any(&mut peer.acks);
            self.sender.handle_ack(peer.id, ack);
        }
    }

    fn packet_for(&mut self, peer: &Peer) -> Vec<u8> {
        let Self { random, sender, is_calm, .. } = self;
        let budget = [64, 80, 200, 1000, 100_000][random.below(5) as usize];
        let budget = if *is_calm { 2000 } else { budget };
        let packet = if peer.sees_all {
            sender.snapshot(peer.id, budget)
        } else {
            let salt = random.below(3) as u32;
            sender.snapshot_with(peer.id, budget, |object| {
                ((object.id.0 ^ salt) % 3 != 1 || *is_calm).then_some(object.id.0)
            })
        };
        let packet = packet.expect("a packet").to_vec();
        assert!(packet.len() <= budget);
        packet
    }

    /// Takes the next arrival; in order while calm.
    fn take_any<T>(&mut self, under_way: &mut Vec<T>) -> T {
        let place = if self.is_calm { 0 } else { self.random.below(under_way.len() as u64) };
        under_way.remove(place as usize)
    }

    fn deliver(&self, peer: &mut Peer, packet: &[u8]) {
        match peer.receiver.handle_snapshot(packet) {
            Ok(received) => {
                let shown = read(&mut peer.receiver);
                let is_whole = received.is_complete && peer.sees_all;
                let is_right = !is_whole || shown == self.worlds[&received.tick];
                assert!(is_right, "seed {} tick {}", self.seed, self.tick);
            }
            Err(snapshot::ReceiveError::Late) => {}
            Err(error) => panic!("seed {} tick {}: {error}", self.seed, self.tick),
        }
    }
}
