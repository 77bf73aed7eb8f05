//! Misuse by the application, and uses that one would not expect.

use std::collections::VecDeque;

use tightwire::snapshot::{self, Leaving, Level, SetError};

use super::game::{Game, LEVELS, Thing, config, protocol, thing};

/// `set` after the snapshot of the same tick (or after a `begin_tick` that repeats the tick) is
/// refused, since a receiver has the tick without it; after the next `begin_tick` it arrives.
#[test]
fn setting_objects_in_a_frozen_tick_is_refused() {
    for level in LEVELS {
        let mut game = Game::new(config(level));
        game.begin();
        game.sender.set(7, &thing(1)).unwrap();
        game.exchange(1000);
        game.sender.begin_tick(game.tick);
        assert_eq!(game.sender.set(7, &thing(2)), Err(SetError::TickFrozen));
        assert_eq!(game.sender.remove(7), Err(SetError::TickFrozen));
        game.begin();
        game.sender.set(7, &thing(2)).unwrap();
        for _ in 0..200 {
            game.begin();
            game.exchange(1000);
        }
        assert_eq!(game.receiver.get::<Thing>(7).unwrap().state, thing(2).state, "{level:?}");
    }
}

/// A world that is as full as `max_objects` allows, of which one object is replaced by another: the
/// sender takes it, so the receiver has to.
#[test]
fn a_full_world_can_replace_an_object() {
    for level in LEVELS {
        let mut game = Game::new(snapshot::Config { max_objects: 4, ..config(level) });
        game.begin();
        (0..4u32).for_each(|id| game.sender.set(id, &thing(id)).unwrap());
        game.exchange(1000);
        game.begin();
        game.sender.remove(0).unwrap();
        let mut added = false;
        let mut refused = Vec::new();
        for _ in 0..1000 {
            if !added {
                added = game.sender.set(9, &thing(9)).is_ok();
            }
            let packet = game.sender.snapshot(game.client, 1000).unwrap();
            if let Err(error) = game.receiver.handle_snapshot(packet) {
                refused.push((game.tick, error));
            }
            game.sender.handle_ack(game.client, game.receiver.ack().unwrap());
            game.begin();
        }
        assert!(added);
        assert!(
            refused.is_empty(),
            "{level:?}: {} honest snapshots of 1000 refused, the first {:?}, the last {:?}",
            refused.len(),
            refused[0],
            refused.last().unwrap()
        );
    }
}

/// A `ReceiverId` is used again: an acknowledgement of the receiver that had it before must not be
/// taken for one of the new receiver.
#[test]
fn an_acknowledgement_of_a_receiver_that_left_is_not_for_the_next() {
    let mut game = Game::new(config(Level::Packed));
    let old = game.client;
    game.begin();
    game.sender.set(7, &thing(1)).unwrap();
    game.exchange(1000);
    let stale = game.receiver.ack().unwrap();
    game.sender.remove_receiver(old);
    game.client = game.sender.add_receiver(Leaving::Despawn);
    let mut receiver = snapshot::Receiver::new(&protocol(config(Level::Packed)));
    game.begin();
    // This one gets lost.
    game.sender.snapshot(game.client, 1000).unwrap();
    game.sender.handle_ack(old, stale);
    for _ in 0..20 {
        game.begin();
        let packet = game.sender.snapshot(game.client, 1000).unwrap();
        receiver.handle_snapshot(packet).expect("it has had nothing yet, so it gets everything");
    }
}

/// A second object with the same id is no "too many objects".
#[test]
fn an_initial_object_twice_has_its_own_error() {
    let mut game = Game::new(config(Level::Packed));
    game.receiver.set_initial(7, &thing(1)).unwrap();
    let again = game.receiver.set_initial(7, &thing(2));
    assert!(!matches!(again, Err(SetError::TooManyObjects)), "{again:?}");
}

/// `snapshot` is for a receiver that sees everything: also after `snapshot_with` hid something. A
/// complete snapshot says "the whole world is now as it was for the sender".
#[test]
fn objects_are_sent_when_they_become_relevant_again() {
    let mut game = Game::new(config(Level::Packed));
    game.begin();
    (0..10u32).for_each(|id| game.sender.set(id, &thing(id)).unwrap());
    let hidden = |object: tightwire::snapshot::ObjectView| (object.id.0 != 3).then_some(1);
    let packet = game.sender.snapshot_with(game.client, 1000, hidden).unwrap();
    game.receiver.handle_snapshot(packet).unwrap();
    game.sender.handle_ack(game.client, game.receiver.ack().unwrap());
    for _ in 0..100 {
        game.begin();
        game.exchange(1000);
    }
    assert!(game.receiver.newest().unwrap().is_complete);
    assert_eq!(game.receiver.objects().count(), 10);
}

/// An object that becomes irrelevant within a round trip of its spawn stays as it was last.
#[test]
fn objects_that_lose_relevancy_before_the_ack_freeze() {
    for budget in [1000, 64] {
        let config = config(Level::Packed);
        let mut sender = snapshot::Sender::new(&protocol(config));
        let mut receiver = snapshot::Receiver::new(&protocol(config));
        let client = sender.add_receiver(Leaving::Freeze);
        let mut acks = VecDeque::new();
        for tick in 1..100u32 {
            sender.begin_tick(tick);
            sender.set(1, &thing(1)).unwrap();
            let packet = sender.snapshot_with(client, budget, |_| (tick < 4).then_some(1)).unwrap();
            receiver.handle_snapshot(packet).unwrap();
            acks.push_back(receiver.ack().unwrap());
            if acks.len() > 6 {
                sender.handle_ack(client, acks.pop_front().unwrap());
            }
            assert!(receiver.get::<Thing>(1).is_some(), "gone at tick {tick}, budget {budget}");
        }
    }
}
