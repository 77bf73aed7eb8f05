//! Random worlds of random classes: packets round-trip, and hostile ones are refused.

#![allow(clippy::unwrap_used)]

use alloc::vec;

use super::*;
use crate::random_worlds::{
    self, FakeBaseline, MAX_OBJECTS, Rng, any_layout, apply, assert_in_order_and_range, contents,
    damaged, random_updates, volume,
};
use crate::{Config, Level};
use tightwire_core::stream::{ReadError, ReadStream, WriteStream};

fn config() -> Config {
    Config { level: Level::Packed, max_objects: MAX_OBJECTS, ..Config::default() }
}

fn read(
    protocol: &Protocol,
    bytes: &[u8],
    baseline: &FakeBaseline,
    updates: &mut ObjectUpdates,
) -> Result<(), ReadError> {
    updates.clear();
    let mut stream = ReadStream::new(bytes);
    code(&mut stream, protocol, updates, baseline, &mut Tuning::default())?;
    stream.finish()
}

fn packets(
    seed: u64,
    mut check: impl FnMut(&mut Rng, &Protocol, &[u8], &FakeBaseline, &ObjectUpdates),
) {
    let rng = &mut Rng(random_worlds::seed(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let layouts = (0..1 + rng.below(3)).map(|_| any_layout(rng)).collect();
    let protocol = Protocol::of_layouts(config(), layouts);
    let (mut baseline, mut tuning) = (FakeBaseline::default(), Tuning::default());
    let (mut updates, mut again) = (ObjectUpdates::default(), ObjectUpdates::default());
    let mut buffer = vec![0; 1 << 17];
    for _ in 0..30 {
        random_updates(rng, &protocol, &baseline, &mut updates);
        let mut stream = WriteStream::new(&mut buffer);
        let Ok(()) = code(&mut stream, &protocol, &mut updates, &baseline, &mut tuning);
        let packet = stream.finish().unwrap();
        read(&protocol, packet, &baseline, &mut again).unwrap();
        assert_eq!(contents(&again), contents(&updates), "seed {seed}");
        check(rng, &protocol, packet, &baseline, &updates);
        apply(rng, &mut baseline, &updates);
    }
}

#[test]
fn random_packets_round_trip() {
    let worlds = volume(150, 3000);
    (0..worlds).for_each(|seed| packets(seed, |_, _, _, _, _| ()));
}

#[test]
fn damaged_packets_are_refused_or_stay_in_range() {
    let mut accepted = 0;
    let worlds = volume(30, 400);
    let mut updates = ObjectUpdates::default();
    for seed in 0..worlds {
        packets(seed + 1_000_000, |rng, protocol, packet, baseline, good| {
            for _ in 0..20 {
                let bytes = damaged(rng, packet);
                if read(protocol, &bytes, baseline, &mut updates).is_err() {
                    continue;
                }
                accepted += usize::from(contents(&updates) != contents(good));
                assert!(updates.list.len() <= MAX_OBJECTS);
                assert_in_order_and_range(protocol, &updates);
            }
        });
    }
    assert!(accepted > 100, "many changes make another valid packet: {accepted}");
}
