//! A sender looks back at the states that a playback shows.

#![allow(clippy::unwrap_used)]

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use super::Sender;
use crate::random_worlds::{Rng, seed, volume};
use crate::{Config, Leaving, Playback, PlaybackConfig, Protocol, Receiver, Row, RowBuffer};
use tightwire_core::Wire;
use tightwire_core::schema::ObjectId;

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Runner {
    #[wire(min = -100.0, max = 100.0, resolution = 0.01)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -50.0, max = 50.0, resolution = 0.01)]
    velocity: [f32; 3],
    #[wire(wraps, range = 0..=359)]
    heading: u16,
    #[wire(smallest_three = 12)]
    rotation: [f32; 4],
    #[wire(range = 0..=100)]
    health: u8,
}

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Door {
    #[wire(min = 0.0, max = 90.0, resolution = 0.5)]
    angle: f32,
    is_locked: bool,
}

const OBJECTS: u32 = 24;

/// Changes some objects of a world; some spawn, despawn, rest, or become of another class.
fn change(rng: &mut Rng, sender: &mut Sender) {
    let mut any = |most: f32| (rng.below(2001) as f32 / 1000.0 - 1.0) * most;
    let runner = Runner {
        position: [any(100.0), any(100.0), any(100.0)],
        velocity: [any(50.0), any(50.0), any(50.0)],
        heading: any(359.0).abs() as u16,
        rotation: [any(0.5), any(0.5), any(0.5), 0.1 + any(1.0).abs()],
        health: any(100.0).abs() as u8,
    };
    let length = runner.rotation.iter().map(|part| part * part).sum::<f32>().sqrt();
    let runner = Runner { rotation: runner.rotation.map(|part| part / length), ..runner };
    for id in 0..OBJECTS {
        match (id % 4, rng.below(40)) {
            (_, 0) => sender.remove(id).unwrap(),
            (_, 1) => sender.set(id, &Door { angle: id as f32, is_locked: false }).unwrap(),
            // Every class of motion: always, often, rarely.
            (0, _) | (1, 2..20) | (2, 2..5) => sender.set(id, &runner).unwrap(),
            (3, 2..9) => {
                let angle = rng.below(181) as f32 / 2.0;
                sender.set(id, &Door { angle, is_locked: rng.is_one_in(2) }).unwrap();
            }
            _ => {}
        }
    }
}

/// Whether two rows differ by no more than one code in each cell; angles may wrap.
fn are_alike(protocol: &Protocol, one: Row<'_>, other: Row<'_>) -> bool {
    one.class == other.class && protocol.first_difference(one, other, 1).is_none()
}

fn playback_and_past_agree(number: u64) -> usize {
    let rng = &mut Rng(seed(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let config = Config { ticks_per_second: 50, ..Config::default() };
    let protocol = Protocol::builder(config).class::<Runner>().class::<Door>().build().unwrap();
    let (mut sender, mut receiver) = (Sender::new(&protocol), Receiver::new(&protocol));
    let client = sender.add_receiver(Leaving::Despawn);
    let delay = Duration::from_millis(100 + rng.below(400));
    let settings = PlaybackConfig { min_delay: delay, max_delay: delay };
    let mut playback = Playback::new(&protocol, settings);
    let (mut row, mut compared) = (RowBuffer::default(), 0);
    for tick in 1..=400u32 {
        sender.begin_tick(tick);
        change(rng, &mut sender);
        let received = receiver.handle_snapshot(sender.snapshot(client, 1 << 20).unwrap()).unwrap();
        assert!(received.is_complete);
        sender.handle_ack(client, receiver.ack().unwrap());
        let now = Duration::from_millis(20 * u64::from(tick));
        playback.handle_snapshot(now, &receiver);
        for frame in 0..3 {
            playback.advance(now + Duration::from_millis(7 * frame));
            let Some(time) = playback.time().filter(|&time| time >= 1.0) else { continue };
            for id in 0..OBJECTS {
                let is_there = sender.row_at(id, time, &mut row);
                let is_alike =
                    playback.with_row(id, |shown| are_alike(&protocol, shown, row.row()));
                let what = alloc::format!("seed {number}: object {id} at {time} in tick {tick}");
                assert_eq!(is_alike.is_some(), is_there, "{what}");
                assert_ne!(is_alike, Some(false), "{what}: {:?}", row.row());
                compared += usize::from(is_there);
            }
        }
    }
    compared
}

#[test]
fn a_sender_looks_back_at_what_a_playback_shows() {
    let compared: usize = (0..volume(8, 200)).map(playback_and_past_agree).sum();
    assert!(compared > 8 * 10_000, "{compared}");
}

#[test]
fn the_past_ends_where_the_history_ends() {
    let protocol = Protocol::builder(Config::default()).class::<u32>().build().unwrap();
    let mut sender = Sender::new(&protocol);
    let mut row = RowBuffer::default();
    for tick in 1..=300u32 {
        sender.begin_tick(tick);
        sender.set(1, &tick).unwrap();
        if tick == 5 {
            sender.set(2, &7u32).unwrap();
        }
        match tick % 10 {
            0 => sender.set(3, &tick).unwrap(),
            5 => sender.remove(3).unwrap(),
            _ => {}
        }
    }
    let history = Config::default().history;
    for tick in 0..=310u32 {
        let mut at = |id: u32| {
            sender.row_at(id, f64::from(tick) + 0.25, &mut row).then(|| row.row().cells[0])
        };
        let is_reached = tick >= 300 - history;
        assert_eq!(at(1), is_reached.then_some(tick.min(300)), "{tick}");
        assert_eq!(at(2), (tick >= 5).then_some(7), "replaced by nothing");
        // Freed at once without receivers, and looked up among those without a slot.
        if is_reached {
            let was_there = tick % 10 < 5 && tick < 305;
            let last = if tick >= 300 { 300 } else { tick / 10 * 10 };
            let expected = if tick >= 300 { Some(300) } else { was_there.then_some(last) };
            assert_eq!(at(3), expected, "{tick}");
        }
    }
    assert!(!sender.row_at(ObjectId(9), 299.0, &mut row));
    assert!(!sender.row_at(1, f64::NAN, &mut row));
    assert!(!sender.row_at(1, f64::NEG_INFINITY, &mut row));
}

#[test]
fn versions_of_despawned_objects_expire() {
    let protocol = Protocol::builder(Config::default()).class::<u32>().build().unwrap();
    let mut sender = Sender::new(&protocol);
    let mut row = RowBuffer::default();
    let mut sizes = Vec::new();
    let mut reached = BTreeSet::new();
    for tick in 1..=1000u32 {
        sender.begin_tick(tick);
        sender.set(tick, &tick).unwrap();
        if tick > 3 {
            sender.remove(tick - 3).unwrap();
        }
        let count = (1..=tick).filter(|&id| sender.row_at(id, f64::from(id), &mut row)).count();
        reached.insert(count);
        sizes.push(sender.store.history.size());
    }
    assert!(sizes[200..].iter().all(|&size| size == sizes[200]), "{sizes:?}");
    assert!(reached.last() < Some(&80), "{reached:?}");
}
