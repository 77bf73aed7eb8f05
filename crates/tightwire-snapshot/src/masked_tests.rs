//! Fields that only the owner of an object gets, or everybody else.

#![allow(clippy::unwrap_used)]

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::random_worlds::{Rng, seed, volume};
use super::*;
use tightwire_core::Wire;
use tightwire_core::schema::ObjectId;

#[derive(Wire, Clone, PartialEq, Debug, Default)]
struct Tank {
    #[wire(spatial, min = -200.0, max = 200.0, resolution = 0.01)]
    position: [f32; 2],
    #[wire(range = 0..=100)]
    health: u8,
    #[wire(owner, range = 0..=20)]
    reload: u8,
    #[wire(others, range = 0..=9)]
    medal: u8,
}

/// A tank without the fields that are not for all.
#[derive(Wire, Clone, PartialEq, Debug, Default)]
struct Hull {
    #[wire(spatial, min = -200.0, max = 200.0, resolution = 0.01)]
    position: [f32; 2],
    #[wire(range = 0..=100)]
    health: u8,
}

#[derive(Wire, Clone, PartialEq, Debug, Default)]
enum Order {
    #[default]
    Wait,
    Go {
        #[wire(range = -9..=9)]
        by: i8,
    },
}

/// A class with secrets of all kinds.
#[derive(Wire, Clone, PartialEq, Debug, Default)]
struct Spy {
    #[wire(range = 0..=9)]
    seen: u8,
    #[wire(owner, min = -50.0, max = 50.0, resolution = 0.1)]
    aim: [f32; 3],
    #[wire(owner)]
    order: Order,
    #[wire(owner, max_len = 9)]
    name: String,
    #[wire(owner)]
    target: Option<ObjectId>,
    #[wire(owner, max_len = 3)]
    bag: Vec<u8>,
    #[wire(owner, smallest_three = 9)]
    rotation: [f32; 4],
    #[wire(owner, range = 5..=9)]
    rank: u8,
    #[wire(others)]
    is_enemy: bool,
}

fn protocol<T: Wire + 'static>(level: Level) -> Protocol {
    Protocol::builder(Config { level, ..Config::default() }).class::<T>().build().unwrap()
}

fn random_spy(rng: &mut Rng) -> Spy {
    let by = rng.below(19) as i8 - 9;
    let count = rng.below(4) as u8;
    Spy {
        seen: rng.below(10) as u8,
        aim: [0; 3].map(|_: u8| rng.below(100) as f32 - 50.0),
        order: if rng.is_one_in(2) { Order::Go { by } } else { Order::Wait },
        name: "incognito"[..rng.below(10) as usize].into(),
        target: rng.is_one_in(2).then(|| ObjectId(rng.below(1000) as u32)),
        bag: (0..count).collect(),
        rotation: if rng.is_one_in(2) { [1.0, 0.0, 0.0, 0.0] } else { [0.5; 4] },
        rank: 5 + rng.below(5) as u8,
        is_enemy: rng.is_one_in(2),
    }
}

#[test]
fn masked_fields_have_neutral_values() {
    let protocol = protocol::<Spy>(Level::Packed);
    let rng = &mut Rng(seed(1) | 1);
    let mut sender = Sender::new(&protocol);
    let [one, two] = [(); 2].map(|()| sender.add_receiver(Leaving::Despawn));
    for tick in 1..=500 {
        sender.begin_tick(tick);
        let spy = random_spy(rng);
        sender.set(7, &spy).unwrap();
        sender.set_owner(7, Some(one));
        let whole: Spy = sender.get(7).unwrap();
        for (receiver, is_owner) in [(one, true), (two, false)] {
            let row = sender.row_for(receiver, 7).unwrap();
            assert!(protocol.accepts(row), "{spy:?}");
            let got: Spy = protocol.value_of(row).unwrap();
            if is_owner {
                assert_eq!(got, Spy { is_enemy: false, ..whole.clone() });
            } else {
                let Spy { aim, rotation, .. } = got;
                assert!(aim.iter().all(|part| part.abs() < 0.1), "{aim:?}");
                let expected = Spy {
                    seen: spy.seen,
                    is_enemy: spy.is_enemy,
                    rank: 5,
                    aim,
                    rotation,
                    ..Spy::default()
                };
                assert_eq!(got, expected);
                assert!(rotation[3] > 0.999, "{rotation:?}");
            }
        }
    }
}

/// Drives tanks for 200 ticks; returns the packets to a receiver that owns none, and to one that
/// owns tank 3.
fn drive<T: Wire + 'static>(level: Level, make: impl Fn(Tank) -> T) -> [Vec<Vec<u8>>; 2] {
    let protocol = protocol::<T>(level);
    let mut sender = Sender::new(&protocol);
    let clients = [(); 2].map(|()| sender.add_receiver(Leaving::Despawn));
    let mut receivers = [(); 2].map(|()| Receiver::new(&protocol));
    let rng = &mut Rng(seed(2) | 1);
    let mut packets = [Vec::new(), Vec::new()];
    for tick in 1..=200u32 {
        sender.begin_tick(tick);
        for id in 0..30u32 {
            let noise = rng.below(200);
            if tick == 1 || noise.is_multiple_of(3) {
                let position = [noise as f32 - 100.0, id as f32];
                let [health, reload, medal] = [100, 20, 9].map(|most| rng.below(most) as u8);
                sender.set(id, &make(Tank { position, health, reload, medal })).unwrap();
            }
        }
        sender.set_owner(3, Some(clients[1]));
        for place in 0..2 {
            let packet = sender.snapshot(clients[place], 4000).unwrap().to_vec();
            receivers[place].handle_snapshot(&packet).unwrap();
            sender.handle_ack(clients[place], receivers[place].ack().unwrap());
            for id in 0..30 {
                assert_eq!(receivers[place].row(id), sender.row_for(clients[place], id));
            }
            packets[place].push(packet);
        }
    }
    packets
}

#[test]
fn masked_fields_cost_as_much_as_constant_ones() {
    for level in [Level::Packed, Level::Modeled] {
        let [others, owner] = drive(level, |tank| tank);
        let [neutral, _] = drive(level, |tank| Tank { reload: 0, ..tank });
        let same = |one: &[Vec<u8>], other: &[Vec<u8>]| one[1..] == other[1..];
        assert!(same(&others, &neutral), "{level:?}: as if the field never changed");
        let bytes = |packets: &[Vec<u8>]| packets[1..].iter().map(Vec::len).sum::<usize>();
        let [shown, _] = drive(level, |tank| Tank { reload: 0, medal: 0, ..tank });
        let [without, _] = drive(level, |Tank { position, health, .. }| Hull { position, health });
        let (shown, without) = (bytes(&shown), bytes(&without));
        std::println!(
            "{level:?}: {} bytes to others, {} to the owner; without anything to show {shown}, \
             without the fields {without}",
            bytes(&others),
            bytes(&owner),
        );
        // A level may say of every field of an update that it did not change: some 2,000 updates,
        // two fields, and no more than two bits for each.
        assert!(shown <= without + 2000 * 2 * 2 / 8, "{level:?}: {shown}, {without}");
    }
}

#[test]
fn spectators_with_equal_acks_share_bodies_and_an_owner_does_not_join_them() {
    let protocol = protocol::<Tank>(Level::Modeled);
    let mut sender = Sender::new(&protocol);
    let mut clients: Vec<_> = (0..65)
        .map(|_| (sender.add_receiver(Leaving::Despawn), Receiver::new(&protocol)))
        .collect();
    for tick in 1..=40u32 {
        sender.begin_tick(tick);
        for id in 0..20u8 {
            let reload = (tick as u8 + id) % 20;
            let tank = Tank { health: tick as u8, reload, medal: 3, ..Tank::default() };
            sender.set(u32::from(id), &tank).unwrap();
        }
        sender.set_owner(7, Some(clients[64].0));
        let before = sender.coded().0;
        let mut first = Vec::new();
        for (place, (client, receiver)) in clients.iter_mut().enumerate() {
            let packet = sender.snapshot(*client, 4000).unwrap();
            if place == 0 {
                first = packet.to_vec();
            }
            assert_eq!(packet == first, place < 64, "tick {tick}, receiver {place}");
            receiver.handle_snapshot(packet).unwrap();
            sender.handle_ack(*client, receiver.ack().unwrap());
        }
        assert_eq!(
            sender.coded().0 - before,
            2,
            "tick {tick}: one for 64 spectators, and the owner's"
        );
    }
}

#[test]
fn a_change_of_owner_is_an_update() {
    let protocol = protocol::<Tank>(Level::Modeled);
    let mut sender = Sender::new(&protocol);
    let clients = [(); 2].map(|()| sender.add_receiver(Leaving::Despawn));
    let mut receivers = [(); 2].map(|()| Receiver::new(&protocol));
    for tick in 1..=60u32 {
        sender.begin_tick(tick);
        if tick == 1 {
            sender.set(7, &Tank { reload: 11, medal: 5, ..Tank::default() }).unwrap();
        }
        let owner = tick as usize / 4 % 3;
        sender.set_owner(7, clients.get(owner).copied());
        for (place, receiver) in receivers.iter_mut().enumerate() {
            let packet = sender.snapshot(clients[place], 1000).unwrap();
            if tick % 5 == 0 && tick < 56 {
                continue;
            }
            receiver.handle_snapshot(packet).unwrap();
            sender.handle_ack(clients[place], receiver.ack().unwrap());
            let Tank { reload, medal, .. } = receiver.get(7).unwrap();
            let expected = if owner == place { (11, 0) } else { (0, 5) };
            assert_eq!((reload, medal), expected, "tick {tick}, receiver {place}");
        }
    }
}

/// A world of spies that change hands, over a link with losses.
fn changes_hands(number: u64, level: Level) {
    let rng = &mut Rng(seed(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let config = Config { level, ..Config::default() };
    let protocol = Protocol::builder(config).class::<Spy>().class::<Hull>().build().unwrap();
    let mut sender = Sender::new(&protocol);
    let initial = random_spy(rng);
    sender.set_initial(0, &initial).unwrap();
    let clients = [(); 4].map(|()| sender.add_receiver(Leaving::Despawn));
    let mut receivers = [(); 4].map(|()| {
        let mut receiver = Receiver::new(&protocol);
        receiver.set_initial(0, &initial).unwrap();
        receiver
    });
    for tick in 1..=240u32 {
        sender.begin_tick(tick);
        let is_wild = tick < 200;
        for id in 0..25u32 {
            match rng.below(30) {
                _ if !is_wild => {}
                0 => sender.remove(id).unwrap(),
                1 => sender.set(id, &Hull { health: tick as u8 % 100, ..Hull::default() }).unwrap(),
                2 | 3 => {
                    sender.set_owner(id, clients.get(rng.below(6) as usize).copied());
                }
                4..12 => {
                    let spy = random_spy(rng);
                    sender.set(id, &spy).unwrap();
                }
                // Only a secret changes.
                12..20 => {
                    if let Some(spy) = sender.get::<Spy>(id) {
                        sender.set(id, &Spy { rank: 5 + tick as u8 % 5, ..spy }).unwrap();
                    }
                }
                _ => {}
            }
        }
        for (place, receiver) in receivers.iter_mut().enumerate() {
            let budget = if is_wild && rng.is_one_in(2) { 100 } else { 1 << 16 };
            let made = sender.snapshot_into(clients[place], budget, 0, None).unwrap();
            if is_wild && rng.is_one_in(4) {
                continue;
            }
            let (is_complete, is_owned_exact) = (made.is_complete, made.is_owned_exact);
            receiver.handle_snapshot(made.bytes).unwrap();
            for id in (0..25).map(ObjectId) {
                let is_owned = sender.owner(id) == Some(clients[place]);
                if is_complete || is_owned_exact && is_owned {
                    let (row, expected) = (receiver.row(id), sender.row_for(clients[place], id));
                    assert_eq!(row, expected, "seed {number}, {level:?}: {id} in tick {tick}");
                }
            }
            if !is_wild || !rng.is_one_in(4) {
                sender.handle_ack(clients[place], receiver.ack().unwrap());
            }
            assert!(is_complete || tick < 230, "seed {number}");
        }
    }
}

#[test]
fn worlds_whose_objects_change_hands_stay_equal() {
    for number in 0..volume(20, 1000) {
        changes_hands(number, Level::Packed);
        changes_hands(number, Level::Modeled);
    }
}

#[test]
fn a_field_that_would_tell_a_secret_is_refused() {
    #[derive(Wire, Default)]
    struct Leak {
        #[wire(owner)]
        is_armed: bool,
        #[wire(when = self.is_armed)]
        fuse: u8,
    }
    #[derive(Wire, Default)]
    struct Tight {
        #[wire(owner)]
        is_armed: bool,
        #[wire(owner, when = self.is_armed)]
        fuse: u8,
    }
    let refused = Protocol::builder(Config::default()).class::<Leak>().build().unwrap_err();
    assert!(refused.to_string().contains("fuse: the field's presence depends"), "{refused}");
    assert!(Protocol::builder(Config::default()).class::<Tight>().build().is_ok());
}
