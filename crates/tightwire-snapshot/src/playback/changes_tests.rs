//! The changes of a playback make a copy of what it shows.

#![allow(clippy::unwrap_used)]

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use super::{Playback, PlaybackConfig};
use crate::random_worlds::{Rng, seed, volume};
use crate::{ChangeKind, Config, Leaving, Protocol, Receiver, Row, Sender};
use tightwire_core::Wire;
use tightwire_core::schema::ObjectId;

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Runner {
    #[wire(min = -100.0, max = 100.0, resolution = 0.01)]
    position: [f32; 2],
    #[wire(derivative_of = position, min = -50.0, max = 50.0, resolution = 0.01)]
    velocity: [f32; 2],
    #[wire(range = 0..=100)]
    health: u8,
}

fn protocol() -> Protocol {
    Protocol::builder(Config::default()).class::<Runner>().class::<bool>().build().unwrap()
}

fn owned(row: Row<'_>) -> (u16, Vec<u32>) {
    (row.class, row.cells.to_vec())
}

fn frame(tick: u32, part: u64) -> Duration {
    Duration::from_nanos(16_666_667 * u64::from(tick) + 4_000_000 * part)
}

/// Changes some objects; the others rest.
fn change(rng: &mut Rng, sender: &mut Sender, objects: u32) {
    for id in 0..objects {
        match rng.below(30) {
            0 => sender.remove(id).unwrap(),
            1 => sender.set(id, &rng.is_one_in(2)).unwrap(),
            2..9 => {
                let mut any = |most: f32| (rng.below(2001) as f32 / 1000.0 - 1.0) * most;
                let (position, velocity) = ([any(90.0), any(90.0)], [any(40.0), any(40.0)]);
                sender.set(id, &Runner { position, velocity, health: 7 }).unwrap();
            }
            _ => {}
        }
    }
}

/// Keeps a copy of the shown world by its changes, over a network that loses and reorders. Returns
/// how often each kind of change occurred.
fn copy_by_changes(number: u64) -> [usize; 3] {
    let rng = &mut Rng(seed(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let protocol = protocol();
    let (mut sender, mut receiver) = (Sender::new(&protocol), Receiver::new(&protocol));
    let client = sender.add_receiver(Leaving::Despawn);
    let config = PlaybackConfig::default();
    let mut playback = Playback::new(&protocol, config).with_changes();
    let mut plain = Playback::new(&protocol, config);
    let mut copy = BTreeMap::<ObjectId, (u16, Vec<u32>)>::new();
    let mut kinds = [0; 3];
    // One receiver in four gets only a part in each packet.
    let budget = if number.is_multiple_of(4) { 90 } else { 1 << 16 };
    for tick in 1..=500u32 {
        sender.begin_tick(tick);
        change(rng, &mut sender, 20);
        let packet = sender.snapshot(client, budget).unwrap();
        let is_outage = tick % 100 < 20 && number % 2 == 1;
        if !is_outage && !rng.is_one_in(8) {
            receiver.handle_snapshot(packet).unwrap();
            let late = rng.below(3);
            for playback in [&mut playback, &mut plain] {
                playback.handle_snapshot(frame(tick, late), &receiver);
            }
            if !rng.is_one_in(8) {
                sender.handle_ack(client, receiver.ack().unwrap());
            }
        }
        for part in 0..rng.below(4) {
            playback.advance(frame(tick, part));
            plain.advance(frame(tick, part));
            for change in playback.shown_changes() {
                let shown = playback.with_row(change.id, owned);
                match change.kind {
                    ChangeKind::Spawned => {
                        assert_eq!(shown.as_ref().map(|row| row.0), Some(change.class));
                        assert_eq!(copy.insert(change.id, shown.unwrap()), None);
                    }
                    ChangeKind::Changed => {
                        let shown = shown.unwrap();
                        let before = copy.insert(change.id, shown.clone()).unwrap();
                        assert_ne!(before, shown, "{} did not change", change.id);
                    }
                    ChangeKind::Despawned => {
                        assert_eq!(copy.remove(&change.id).unwrap().0, change.class);
                    }
                }
                kinds[change.kind as usize] += 1;
            }
            let is_shown = |id: &ObjectId| plain.with_row(*id, owned).map(|row| (*id, row));
            let shown: BTreeMap<_, _> =
                plain.objects().filter_map(|(id, _)| is_shown(&id)).collect();
            assert_eq!(copy, shown, "seed {number}, tick {tick}");
        }
    }
    kinds
}

#[test]
fn changes_make_a_copy_of_what_is_shown() {
    let mut kinds = [0; 3];
    for number in 0..volume(12, 300) {
        let more = copy_by_changes(number);
        kinds.iter_mut().zip(more).for_each(|(kind, more)| *kind += more);
    }
    assert!(kinds.iter().all(|&kind| kind > 500), "{kinds:?}");
}

#[test]
fn objects_at_rest_are_not_visited() {
    let protocol = protocol();
    let (mut sender, mut receiver) = (Sender::new(&protocol), Receiver::new(&protocol));
    let client = sender.add_receiver(Leaving::Despawn);
    let mut playback = Playback::new(&protocol, PlaybackConfig::default()).with_changes();
    let mut changes = 0;
    for tick in 1..=100u32 {
        sender.begin_tick(tick);
        for id in 0..if tick == 1 { 1000u32 } else { 3 } {
            let position = [id as f32 / 20.0, tick as f32 / 2.0];
            sender.set(id, &Runner { position, ..Runner::default() }).unwrap();
        }
        receiver.handle_snapshot(sender.snapshot(client, 1 << 20).unwrap()).unwrap();
        sender.handle_ack(client, receiver.ack().unwrap());
        playback.handle_snapshot(frame(tick, 0), &receiver);
        playback.advance(frame(tick, 0));
        if tick > 20 {
            assert_eq!(playback.changes.moving.len(), 3);
            changes += playback.shown_changes().len();
        }
    }
    assert_eq!(changes, 3 * 80);
}
