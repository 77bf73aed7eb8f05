//! Budgets that are too small, or larger than everything.

use std::ops::Range;

use tightwire::snapshot::{self, Leaving, Level};

use super::game::{Big, Game, LEVELS, config, thing};

/// "What waits gains its weight with every snapshot, so that nothing waits for ever": with the
/// greatest weight for all, too.
#[test]
fn nothing_starves_with_the_greatest_weight() {
    for weight in [1, 0, u32::MAX / 2, u32::MAX] {
        let mut game = Game::new(config(Level::Packed));
        for tick in 0..400u32 {
            game.begin();
            for id in 0..100 {
                game.sender.set(id, &thing(tick * 100 + id)).unwrap();
            }
            let packet = game.sender.snapshot_with(game.client, 200, |_| Some(weight)).unwrap();
            game.receiver.handle_snapshot(packet).unwrap();
            game.sender.handle_ack(game.client, game.receiver.ack().unwrap());
        }
        assert_eq!(game.receiver.objects().count(), 100, "weight {weight}");
    }
}

/// The bytes of some packets for 300 objects that change. From tick 200 on there is an object that
/// no packet has room for, for so many ticks.
fn bytes_with_one_that_never_fits(level: Level, for_ticks: u32, measured: Range<u32>) -> usize {
    let mut game = Game::new(config(level));
    let mut bytes = 0;
    for tick in 0..measured.end {
        game.begin();
        for id in 0..300 {
            game.sender.set(id, &thing(tick * 300 + id)).unwrap();
        }
        if tick == 200 && for_ticks > 0 {
            let noise = |place: usize| ((place as u32).wrapping_mul(2_654_435_761) >> 13) as u8;
            game.sender.set(1000, &Big { bytes: core::array::from_fn(noise) }).unwrap();
        } else if tick == 200 + for_ticks && for_ticks > 0 {
            game.sender.remove(1000).unwrap();
        }
        let packet = game.sender.snapshot(game.client, 500).unwrap();
        if measured.contains(&tick) {
            bytes += packet.len();
        }
        game.receiver.handle_snapshot(packet).unwrap();
        game.sender.handle_ack(game.client, game.receiver.ack().unwrap());
    }
    bytes
}

/// An object that fits into no packet must not reduce the room of others for good: once it is
/// despawned, packets are as full as if it had never existed.
#[test]
fn an_object_that_never_fits_does_not_throttle_the_others() {
    for level in LEVELS {
        let [without, after] =
            [0, 100].map(|ticks| bytes_with_one_that_never_fits(level, ticks, 500..600));
        assert!(
            after * 10 > without * 9,
            "{level:?}: bytes without it {without}, after it {after}"
        );
    }
}

/// While it is there the others still get most of the room.
#[test]
fn an_object_that_never_fits_leaves_the_room_to_others_while_it_is_there() {
    for level in LEVELS {
        let [without, with] =
            [0, 1000].map(|ticks| bytes_with_one_that_never_fits(level, ticks, 300..400));
        assert!(with * 10 > without * 7, "{level:?}: bytes without it {without}, with it {with}");
    }
}

/// A large packet, then a small budget: there is always a packet that fits. To list every object of
/// the baseline that is not updated would exceed the budget, and without a packet there would be no
/// other baseline.
#[test]
fn a_small_budget_after_a_large_packet_has_its_packets() {
    for level in LEVELS {
        let protocol = snapshot::Protocol::builder(config(level)).class::<bool>().build().unwrap();
        let mut sender = snapshot::Sender::new(&protocol);
        let client = sender.add_receiver(Leaving::Despawn);
        let mut receiver = snapshot::Receiver::new(&protocol);
        let mut none = 0;
        for tick in 1..=300u32 {
            sender.begin_tick(tick);
            for id in (0..3000).filter(|id| tick == 1 || tick > 5 && id % 1000 == tick) {
                sender.set(id, &(id % 2 == tick % 2)).unwrap();
            }
            match sender.snapshot(client, if tick == 1 { 20_000 } else { 150 }) {
                Some(packet) => {
                    receiver.handle_snapshot(packet).unwrap();
                    sender.handle_ack(client, receiver.ack().unwrap());
                }
                None => none += 1,
            }
        }
        assert_eq!(none, 0, "{level:?}: of 300 snapshots there were none");
    }
}

/// A world of 10,000 objects that was once sent in one piece, and rests since: what a receiver
/// costs must not be the largest packet times all packets that there can be.
#[test]
fn one_large_snapshot_does_not_make_all_records_large() {
    let mut game = Game::new(snapshot::Config { max_objects: 10_000, ..config(Level::Packed) });
    let large = allocation_counter::measure(|| {
        game.begin();
        (0..10_000u32).for_each(|id| game.sender.set(id, &thing(id)).unwrap());
        game.exchange(10_000_000);
    });
    let rest = allocation_counter::measure(|| {
        for _ in 0..600 {
            game.begin();
            game.exchange(5000);
        }
    });
    assert!(
        rest.bytes_current < large.bytes_current,
        "{} bytes for the large one, and {} more for 600 empty ones",
        large.bytes_current,
        rest.bytes_current
    );
}

/// A snapshot in one piece, as over a reliable stream when a player joins: any budget is fine.
#[test]
fn a_budget_can_be_large() {
    for level in LEVELS {
        for budget in [10_000, 100_000, 1_000_000, 10_000_000] {
            let mut game = Game::new(snapshot::Config { max_objects: 10_000, ..config(level) });
            game.begin();
            (0..2000u32).for_each(|id| game.sender.set(id, &thing(id)).unwrap());
            let packet = game.sender.snapshot(game.client, budget);
            assert!(packet.is_some(), "{level:?} {budget}");
        }
    }
}

/// "No limit" is a budget too: no sum overflows, and not all of it is reserved.
#[test]
fn a_budget_can_be_unlimited() {
    for level in LEVELS {
        let mut game = Game::new(config(level));
        game.begin();
        game.sender.set(7, &thing(7)).unwrap();
        assert!(game.sender.snapshot(game.client, usize::MAX).is_some());
    }
}
