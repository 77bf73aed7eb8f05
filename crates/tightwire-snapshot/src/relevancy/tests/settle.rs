//! Worlds with scopes over links with losses.

use alloc::vec::Vec;

use super::*;
use tightwire_core::schema::ObjectId;

#[test]
fn slots_of_objects_that_a_receiver_never_saw_are_freed() {
    let limits = Config { max_objects: 20, ..Config::default() };
    let protocol = Protocol::builder(limits).class::<Flat>().build().unwrap();
    let mut sender = Sender::new(&protocol);
    sender.set_class_scope(0, Scope::Near);
    let clients = [(); 2].map(|()| sender.add_receiver(Leaving::Despawn));
    let mut receivers = [(); 2].map(|()| Receiver::new(&protocol));
    sender.set_viewers(clients[0], &[[0.0; 3]]);
    sender.set_viewers(clients[1], &[[5000.0; 3]]);
    for tick in 1..=500u32 {
        sender.begin_tick(tick);
        sender.set(tick, &Flat { position: [tick as f32 % 90.0, 0.0], health: 0 }).unwrap();
        if tick > 5 {
            sender.remove(tick - 5).unwrap();
        }
        for (client, receiver) in clients.iter().zip(&mut receivers) {
            receiver.handle_snapshot(sender.snapshot(*client, 1000).unwrap()).unwrap();
            sender.handle_ack(*client, receiver.ack().unwrap());
        }
        let count = |place: usize| receivers[place].objects().count();
        assert!(count(1) == 0 && (tick < 9 || (3..=5).contains(&count(0))), "tick {tick}");
    }
}

/// A world with scopes of all kinds over a link with losses, until it stands still.
fn settles(number: u64, leaving: Leaving) {
    let rng = &mut Rng(seed(number).wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
    let protocol = Protocol::builder(Config::default()).class::<Flat>().class::<Flag>();
    let protocol = protocol.build().unwrap();
    let mut sender = Sender::new(&protocol);
    let initial = Flat { position: [40.0, 0.0], health: 77 };
    let mut receivers = Vec::new();
    for place in 0..3u32 {
        let mut receiver = Receiver::new(&protocol);
        receiver.set_initial(60, &initial).unwrap();
        receivers.push((place, receiver));
    }
    sender.set_initial(60, &initial).unwrap();
    sender.set_relevancy(CONFIG);
    let clients = [(); 3].map(|()| sender.add_receiver(leaving));
    for tick in 1..=400u32 {
        sender.begin_tick(tick);
        let is_wild = tick < 300;
        if tick == 20 {
            sender.set_class_scope(0, Scope::Near);
        }
        for id in 0..=60u32 {
            if !is_wild || !rng.is_one_in(6) {
                continue;
            }
            let any = |rng: &mut Rng| rng.below(400) as f32 - 200.0;
            match rng.below(12) {
                0 => sender.remove(id).unwrap(),
                1 => sender.set(id, &Flag { team: tick as u8 }).unwrap(),
                2 => {
                    let owner = rng.below(4) as usize;
                    sender.set_owner(id, clients.get(owner).copied());
                }
                3 => {
                    let (room, team) = (RoomId(rng.below(3) as u32), TeamId(rng.below(3) as u32));
                    let scopes = [
                        Scope::Always,
                        Scope::Room(room),
                        Scope::NearInRoom(room),
                        Scope::Team(team),
                        Scope::Owner,
                    ];
                    sender.set_scope(id, scopes[rng.below(5) as usize]);
                }
                _ => {
                    let position = [any(rng), any(rng)];
                    sender.set(id, &Flat { position, health: tick as u8 }).unwrap();
                }
            }
        }
        for (place, receiver) in &mut receivers {
            let client = clients[*place as usize];
            if is_wild && rng.is_one_in(20) {
                let rooms: Vec<_> = (0..3).filter(|_| rng.is_one_in(2)).map(RoomId).collect();
                sender.set_rooms(client, &rooms);
                sender.set_team(client, Some(TeamId(rng.below(3) as u32)));
                let viewpoint = [rng.below(300) as f32 - 150.0, 0.0, 0.0];
                sender.set_viewers(
                    client,
                    if rng.is_one_in(2) { &[] } else { core::slice::from_ref(&viewpoint) },
                );
            }
            let budget = if is_wild { 64 + rng.below(300) as usize } else { 1 << 16 };
            let made = sender.snapshot_into(client, budget, 0, None).unwrap();
            let is_owned_exact = made.is_owned_exact;
            if is_wild && rng.is_one_in(4) {
                continue;
            }
            receiver.handle_snapshot(made.bytes).unwrap();
            if is_owned_exact {
                for id in sender.owned(client) {
                    assert_eq!(
                        receiver.row(id),
                        sender.row(id),
                        "seed {number}, tick {tick}: {id}"
                    );
                }
            }
            if !is_wild || !rng.is_one_in(4) {
                sender.handle_ack(client, receiver.ack().unwrap());
            }
        }
    }
    for (place, receiver) in &receivers {
        let view = sender.view(*place as usize).unwrap();
        for id in (0..=60).map(ObjectId) {
            let slot = sender.slot(id);
            let is_visible =
                slot.is_some_and(|slot| view.receiver_relevancy.visible.contains(slot));
            let shown = receiver.row(id);
            if is_visible || leaving == Leaving::Despawn {
                let expected = sender.row(id).filter(|_| is_visible);
                assert_eq!(shown, expected, "seed {number}: object {id} of receiver {place}");
            } else if sender.row(id).is_none() {
                assert_eq!(shown, None, "seed {number}: object {id} of receiver {place}");
            }
        }
    }
}

#[test]
fn worlds_with_scopes_settle_whatever_was_lost() {
    for number in 0..volume(40, 2000) {
        settles(number, Leaving::Despawn);
        settles(number, Leaving::Freeze);
    }
}
