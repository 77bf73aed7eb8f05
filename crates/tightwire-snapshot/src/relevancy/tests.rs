//! Scopes, compared with a search through all objects.

#![allow(clippy::unwrap_used)]

mod crowd;
mod settle;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::*;
use crate::random_worlds::{Rng, seed, volume};
use crate::{Config, Leaving, Receiver, ReceiverId, Sender};
use tightwire_core::Wire;
use tightwire_core::schema::ObjectId;

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Flat {
    #[wire(spatial, min = -8000.0, max = 8000.0, resolution = 0.01)]
    position: [f32; 2],
    health: u8,
}

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Solid {
    #[wire(spatial, min = -8000.0, max = 8000.0, resolution = 0.01)]
    position: [f32; 3],
}

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Noisy {
    #[wire(spatial, min = -8000.0, max = 8000.0, resolution = 0.01)]
    position: [f32; 2],
    noise: [u32; 4],
}

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Flag {
    team: u8,
}

const CONFIG: RelevancyConfig =
    RelevancyConfig { radius: 100.0, leave_factor: 1.15, refresh_interval: 2 };

/// A sender of one class besides flags, and its receivers.
struct Pair {
    protocol: Protocol,
    sender: Sender,
    clients: Vec<(ReceiverId, Receiver)>,
    tick: u32,
}

impl Pair {
    fn new<T: Wire + 'static>(clients: usize, config: RelevancyConfig, scope: Scope) -> Self {
        let limits = Config { max_objects: 200_000, ..Config::default() };
        let protocol = Protocol::builder(limits).class::<T>().class::<Flag>().build().unwrap();
        let mut sender = Sender::new(&protocol);
        sender.set_relevancy(config);
        assert!(sender.set_class_scope(0, scope));
        let clients = (0..clients)
            .map(|_| (sender.add_receiver(Leaving::Despawn), Receiver::new(&protocol)))
            .collect();
        Self { protocol, sender, clients, tick: 0 }
    }

    fn begin(&mut self) -> &mut Sender {
        self.tick += 1;
        self.sender.begin_tick(self.tick);
        &mut self.sender
    }

    /// Sends a snapshot to a receiver, without loss; returns the objects that it has then.
    fn send(&mut self, place: usize) -> BTreeSet<u32> {
        let (id, receiver) = &mut self.clients[place];
        receiver.handle_snapshot(self.sender.snapshot(*id, 1 << 20).unwrap()).unwrap();
        self.sender.handle_ack(*id, receiver.ack().unwrap());
        receiver.objects().map(|(id, _)| id.0).collect()
    }

    fn position(&self, id: u32) -> [f32; 3] {
        self.protocol.position(self.sender.row(id).unwrap()).unwrap()
    }

    fn distance(&self, id: u32, viewpoints: &[[f32; 3]]) -> f32 {
        let at = self.position(id);
        let square =
            |viewpoint: &[f32; 3]| (0..3).map(|axis| (at[axis] - viewpoint[axis]).powi(2)).sum();
        viewpoints.iter().map(square).fold(f32::INFINITY, f32::min).sqrt()
    }
}

const WALKERS: u32 = 300;

/// Walks objects at random; receivers own some of them, or have viewers. Every set of relevant
/// objects has to be that of a search through all, in the same tick if every tick refreshes.
fn walk<T: Wire + 'static>(number: u64, interval: u32, make: impl Fn([f32; 3]) -> T) {
    let rng = &mut Rng(seed(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let config = RelevancyConfig { refresh_interval: interval, ..CONFIG };
    let mut pair = Pair::new::<T>(4, config, Scope::Near);
    let mut at: Vec<[f32; 3]> =
        (0..WALKERS).map(|_| [(); 3].map(|()| rng.below(400) as f32 - 200.0)).collect();
    let mut model = [(); 4].map(|()| BTreeSet::new());
    let mut before = [(); 4].map(|()| BTreeMap::<u32, f32>::new());
    let (mut entered, mut left) = (0, 0);
    for tick in 1..=150u32 {
        pair.begin();
        for (id, at) in (0..).zip(&mut at) {
            if tick == 1 || id % 3 > 0 {
                let step = 1 + rng.below(12);
                for part in at.iter_mut() {
                    *part =
                        (*part + rng.below(2 * step + 1) as f32 - step as f32).clamp(-250.0, 250.0);
                }
                pair.sender.set(id, &make(*at)).unwrap();
            }
        }
        for place in 0..4usize {
            let client = pair.clients[place].0;
            let viewpoints: Vec<_> = match place {
                0 | 1 => {
                    let owned = (0..=place as u32).map(|owned| 10 * place as u32 + owned);
                    owned
                        .map(|id| {
                            pair.sender.set_owner(id, Some(client));
                            pair.position(id)
                        })
                        .collect()
                }
                _ => {
                    let mut viewpoint = pair.position(place as u32);
                    if pair.sender.relevancy().is_flat {
                        viewpoint[2] = 7.0;
                    }
                    pair.sender.set_viewers(client, &[viewpoint]);
                    viewpoint[2] = if pair.sender.relevancy().is_flat { 0.0 } else { viewpoint[2] };
                    alloc::vec![viewpoint]
                }
            };
            let has = pair.send(place);
            let owned: BTreeSet<_> = pair.sender.owned(client).map(|id| id.0).collect();
            let (model, before) = (&mut model[place], &mut before[place]);
            for id in 0..WALKERS {
                let distance = pair.distance(id, &viewpoints);
                let earlier = before.insert(id, distance).unwrap_or(distance);
                let leave = CONFIG.radius * CONFIG.leave_factor;
                let was = model.contains(&id);
                let is = distance <= CONFIG.radius || was && distance <= leave;
                if is {
                    model.insert(id)
                } else {
                    model.remove(&id)
                };
                (entered, left) = (entered + u32::from(is && !was), left + u32::from(was && !is));
                if owned.contains(&id) {
                    assert!(has.contains(&id));
                } else if interval == 1 {
                    assert_eq!(has.contains(&id), is, "object {id} at {distance}, tick {tick}");
                } else if distance <= CONFIG.radius && earlier <= CONFIG.radius {
                    assert!(has.contains(&id), "object {id} at {distance}, tick {tick}");
                } else if distance > leave && earlier > leave {
                    assert!(!has.contains(&id), "object {id} at {distance}, tick {tick}");
                }
            }
        }
    }
    assert!(entered > 100 && left > 100, "{entered}, {left}");
}

#[test]
fn the_grid_finds_the_objects_that_a_search_through_all_finds() {
    for number in 0..volume(4, 100) {
        for interval in [1, 2] {
            walk(number, interval, |[x, y, _]| Flat { position: [x, y], health: 7 });
            walk(number, interval, |position| Solid { position });
        }
    }
}

#[test]
fn an_object_at_the_border_does_not_come_and_go() {
    let mut pair = Pair::new::<Flat>(1, CONFIG, Scope::Near);
    let client = pair.clients[0].0;
    pair.sender.set_viewers(client, &[[0.0; 3]]);
    let at = |x: f32| Flat { position: [-x, 0.0], health: 0 };
    let mut has = |x: f32, ticks: u32| {
        for _ in 0..ticks {
            pair.begin().set(1, &at(x)).unwrap();
            pair.send(0);
        }
        pair.begin().set(1, &at(x)).unwrap();
        pair.send(0).contains(&1)
    };
    for x in [130.0, 114.0, 101.0] {
        assert!(!has(x, 3), "{x}");
    }
    assert!(has(99.0, 2));
    for round in 0..200 {
        assert!(has(100.5 + (round % 15) as f32, 0), "round {round}");
    }
    assert!(!has(116.0, 2));
    assert!(!has(114.0, 3));
}

#[test]
fn rooms_teams_owners_and_scopes_change_in_the_same_tick() {
    let mut pair = Pair::new::<Flat>(2, CONFIG, Scope::Near);
    let [one, two] = [0, 1].map(|place| pair.clients[place].0);
    pair.sender.set_class_scope(1, Scope::Room(RoomId(1)));
    let sets = |pair: &mut Pair| [pair.send(0), pair.send(1)].map(Vec::from_iter);
    let sender = pair.begin();
    for id in 0..8u32 {
        sender.set(id, &Flag { team: id as u8 }).unwrap();
    }
    sender.set(8, &Flat::default()).unwrap();
    sender.set_scope(2, Scope::Always);
    sender.set_scope(3, Scope::Team(TeamId(5)));
    sender.set_scope(4, Scope::Owner);
    sender.set_scope(5, Scope::Room(RoomId(2)));
    sender.set_scope(6, Scope::Near);
    sender.set_scope(7, Scope::Custom);
    sender.set_scope(8, Scope::NearInRoom(RoomId(2)));
    sender.set_viewers(one, &[[1.0; 3]]);
    assert_eq!(sets(&mut pair), [[2, 7], [2, 7]], "a flag has no position to be near");
    let sender = pair.begin();
    sender.set_rooms(one, &[RoomId(2), RoomId(1)]);
    sender.set_team(two, Some(TeamId(5)));
    sender.set_owner(4, Some(two));
    assert_eq!(sets(&mut pair), [&[0, 1, 2, 5, 7, 8][..], &[2, 3, 4, 7]]);
    let sender = pair.begin();
    sender.set_rooms(one, &[RoomId(1)]);
    sender.set_team(one, Some(TeamId(5)));
    sender.set_team(two, Some(TeamId(6)));
    sender.set_owner(4, Some(one));
    sender.set_scope(0, Scope::Owner);
    assert_eq!(sets(&mut pair), [&[1, 2, 3, 4, 7][..], &[2, 7]]);
    let sender = pair.begin();
    sender.remove(1).unwrap();
    sender.set_class_scope(1, Scope::Always);
    assert!(!sender.set_scope(1, Scope::Always) && !sender.set_class_scope(2, Scope::Always));
    sender.remove(3).unwrap();
    sender.set(3, &Flag { team: 9 }).unwrap();
    assert_eq!(
        sets(&mut pair),
        [&[2, 3, 4, 7][..], &[2, 3, 7]],
        "3 has the scope of its class again"
    );
    pair.begin().remove_receiver(two);
    let gone = [
        pair.sender.set_rooms(two, &[]),
        pair.sender.set_team(two, None),
        pair.sender.set_viewers(two, &[]),
        pair.sender.refresh(two),
    ];
    assert_eq!(gone, [false; 4]);
}

#[test]
fn a_child_is_relevant_only_where_its_parent_is() {
    let mut pair = Pair::new::<Flat>(2, CONFIG, Scope::Near);
    let two = pair.clients[1].0;
    pair.sender.set_class_scope(1, Scope::Always);
    let sets = |pair: &mut Pair| [pair.send(0), pair.send(1)].map(Vec::from_iter);
    let sender = pair.begin();
    for id in 0..5u32 {
        sender.set(id, &Flag { team: id as u8 }).unwrap();
    }
    sender.set_rooms(two, &[RoomId(1)]);
    // The chain 4, 2, 3, 1, in which no slot comes before its parent's.
    sender.set_parent(1, Some(ObjectId(3)));
    sender.set_parent(2, Some(ObjectId(4)));
    sender.set_parent(3, Some(ObjectId(2)));
    let all = [0, 1, 2, 3, 4];
    assert_eq!(sets(&mut pair), [all, all]);
    pair.begin().set_scope(4, Scope::Room(RoomId(1)));
    assert_eq!(sets(&mut pair), [&[0][..], &all]);
    pair.begin().set_scope(1, Scope::Owner);
    assert_eq!(sets(&mut pair), [&[0][..], &[0, 2, 3, 4]], "its own scope decides too");
    let one = pair.clients[0].0;
    pair.begin().set_owner(3, Some(one));
    pair.sender.set_scope(1, Scope::Always);
    assert_eq!(sets(&mut pair), [&[0, 1, 3][..], &all], "an owner has its objects");
    pair.begin().set_owner(3, None);
    pair.sender.set_parent(3, None);
    assert_eq!(sets(&mut pair), [&[0, 1, 3][..], &all]);
    // Children of a despawned object have no parent, nor does the next object with its id.
    pair.begin().remove(4).unwrap();
    assert_eq!(sets(&mut pair), [[0, 1, 2, 3]; 2]);
    // A cycle ends.
    pair.begin().set_parent(3, Some(ObjectId(1)));
    pair.sender.set_scope(0, Scope::Room(RoomId(1)));
    assert_eq!(sets(&mut pair), [&[1, 2, 3][..], &[0, 1, 2, 3]]);
    assert!(!pair.begin().set_parent(9, None) && !pair.sender.set_parent(1, Some(ObjectId(9))));
}

#[test]
fn the_function_is_asked_for_custom_objects_only() {
    let mut pair = Pair::new::<Flat>(1, CONFIG, Scope::Always);
    let client = pair.clients[0].0;
    let sender = pair.begin();
    (0..20u32).for_each(|id| sender.set(id, &Flat::default()).unwrap());
    let count = |pair: &mut Pair, bound: u32| {
        let mut asked = BTreeSet::new();
        let packet = pair.sender.snapshot_with(client, 1 << 20, |object| {
            asked.insert(object.id.0);
            (object.id.0 < bound).then_some(1)
        });
        let receiver = &mut pair.clients[0].1;
        receiver.handle_snapshot(packet.unwrap()).unwrap();
        pair.sender.handle_ack(client, receiver.ack().unwrap());
        (asked.len(), receiver.objects().count())
    };
    assert_eq!(count(&mut pair, 5), (20, 5), "without scopes, for all");
    let sender = pair.begin();
    (10..15u32).for_each(|id| assert!(sender.set_scope(id, Scope::Custom)));
    assert_eq!(count(&mut pair, 12), (5, 17));
    for _ in 0..16 {
        pair.begin();
        count(&mut pair, 14);
    }
    pair.begin();
    assert_eq!(count(&mut pair, 14).1, 19, "unchanged objects are asked for in 16 snapshots");
    pair.begin();
    assert_eq!(pair.send(0).len(), 20, "without a function, custom is always");
}

#[test]
fn a_refresh_looks_in_the_same_tick() {
    let config = RelevancyConfig { refresh_interval: 1000, ..CONFIG };
    let mut pair = Pair::new::<Solid>(1, config, Scope::Near);
    let client = pair.clients[0].0;
    pair.begin().set(1, &Solid { position: [3000.0; 3] }).unwrap();
    pair.sender.set_viewers(client, &[[0.0; 3]]);
    assert!(pair.send(0).is_empty());
    pair.begin().set_viewers(client, &[[0.0; 3], [2990.0; 3]]);
    assert!(pair.send(0).is_empty());
    assert!(pair.begin().refresh(client));
    assert_eq!(pair.send(0).len(), 1);
    let far = [f32::NAN, f32::INFINITY, f32::MAX].map(|x| [x; 3]);
    pair.begin().set_viewers(client, &far);
    pair.sender.refresh(client);
    assert!(pair.send(0).is_empty());
}

/// Returns how many objects a snapshot looks at, in a world of this many at the same density.
fn examined(objects: u32) -> usize {
    let mut pair = Pair::new::<Flat>(4, CONFIG, Scope::Near);
    let side = (objects as f32).sqrt() as u32;
    let (ticks, warm) = (24, 12);
    for tick in 1..=ticks {
        let sender = pair.begin();
        for id in 0..objects {
            if tick == 1 || (id + tick) % 2 == 0 {
                let shake = ((id * 7919 + tick * 104_729) % 100) as f32 / 10.0;
                let [x, y] =
                    [id % side, id / side].map(|part| (part as f32 - side as f32 / 2.0) * 15.0);
                sender.set(id, &Flat { position: [x + shake, y - shake], health: 1 }).unwrap();
            }
        }
        for place in 0..4 {
            let client = pair.clients[place].0;
            let viewpoint = [place as f32 * 130.0 - 200.0 + tick as f32, 3.0, 0.0];
            pair.sender.set_viewers(client, &[viewpoint]);
            assert!(pair.send(place).len() > 100);
        }
        if tick == warm {
            pair.sender.reset_examined();
        }
    }
    pair.sender.examined() / (4 * (ticks - warm) as usize)
}

#[test]
fn a_receiver_costs_the_objects_near_it_and_no_others() {
    let (few, many) = (examined(10_000), examined(100_000));
    std::println!("objects looked at per snapshot: {few} of 10,000, {many} of 100,000");
    assert!(few > 100 && few < 2000, "{few}");
    assert!(many as f64 <= 1.2 * few as f64, "{many} of 100,000 objects, {few} of 10,000");
}

#[test]
fn near_objects_have_priority_and_weights_multiply_it() {
    let mut pair = Pair::new::<Noisy>(1, CONFIG, Scope::Near);
    let rng = &mut Rng(seed(3) | 1);
    let client = pair.clients[0].0;
    pair.sender.set_viewers(client, &[[0.0; 3]]);
    let mut sent = BTreeMap::<u32, u32>::new();
    for tick in 1..=400u32 {
        let sender = pair.begin();
        for id in 0..100u32 {
            // The same distances in both halves, of which the second has three times the weight.
            let position = [(id % 50) as f32 * 1.9, 0.0];
            let noise = [(); 4].map(|()| rng.next() as u32);
            sender.set(id, &Noisy { position, noise }).unwrap();
            if tick == 1 && id >= 50 {
                assert!(sender.set_weight(id, 3));
            }
        }
        let (id, receiver) = &mut pair.clients[0];
        receiver.handle_snapshot(pair.sender.snapshot(*id, 200).unwrap()).unwrap();
        for change in receiver.changes() {
            *sent.entry(change.id.0).or_default() += 1;
        }
        pair.sender.handle_ack(*id, receiver.ack().unwrap());
    }
    let sum = |ids: core::ops::Range<u32>| ids.filter_map(|id| sent.get(&id)).sum::<u32>();
    let [near, middle, far] = [0..10, 20..30, 40..50].map(sum);
    assert!(near > 2 * middle && middle > 2 * far && far > 0, "{near}, {middle}, {far}");
    assert!(sum(50..100) > 2 * sum(0..50), "{} {}", sum(50..100), sum(0..50));
}
