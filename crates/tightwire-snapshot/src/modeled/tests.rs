//! Random worlds of random classes: packets round-trip, and hostile ones are refused.

#![allow(clippy::unwrap_used)]

use alloc::{format, vec};

use super::*;
use crate::layout::{Column, Group, Kind};
use crate::random_worlds::{
    self, FakeBaseline, MAX_OBJECTS, Rng, any_layout, apply, assert_in_order_and_range, contents,
    damaged, random_updates, volume,
};
use crate::{Config, Level};
use xxhash_rust::xxh3::Xxh3;

fn config() -> Config {
    Config { level: Level::Modeled, max_objects: MAX_OBJECTS, ..Config::default() }
}

fn assert_same(a: &ModelState, b: &ModelState) {
    assert_eq!((&a.bits, &a.params, &a.recent), (&b.bits, &b.params, &b.recent));
    assert_eq!((&a.weights, a.vertical, a.last_id), (&b.weights, b.vertical, b.last_id));
}

/// Writes and reads the packets of a random world, and passes each to a check, with the state of
/// its baseline packet.
fn packets(
    seed: u64,
    mut check: impl FnMut(&mut Rng, &Protocol, &[u8], &FakeBaseline, &ModelState, &ObjectUpdates),
) {
    let seed = random_worlds::seed(seed);
    packets_of(&mut Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1), &mut check);
}

fn packets_of(
    rng: &mut Rng,
    mut check: impl FnMut(&mut Rng, &Protocol, &[u8], &FakeBaseline, &ModelState, &ObjectUpdates),
) {
    let seed = rng.0;
    let layouts = (0..1 + rng.below(3)).map(|_| any_layout(rng)).collect();
    let protocol = Protocol::of_layouts(config(), layouts);
    let mut baseline = FakeBaseline::default();
    let mut state = protocol.plan().pristine.clone();
    let (mut updates, mut again) = (ObjectUpdates::default(), ObjectUpdates::default());
    for _ in 0..30 {
        random_updates(rng, &protocol, &baseline, &mut updates);
        let (mut packet, mut written, mut was_read) = (Vec::new(), state.clone(), state.clone());
        assert!(write(&protocol, &mut updates, &baseline, &mut written, &mut packet, 1 << 17));
        again.clear();
        read(&protocol, &packet, &mut again, &baseline, &mut was_read, None).unwrap();
        assert_eq!(contents(&again), contents(&updates), "seed {seed}");
        assert_same(&written, &was_read);
        check(rng, &protocol, &packet, &baseline, &state, &updates);
        state = written;
        apply(rng, &mut baseline, &updates);
    }
}

#[test]
fn random_packets_round_trip() {
    let worlds = volume(60, 1500);
    (0..worlds).for_each(|seed| packets(seed, |_, _, _, _, _, _| ()));
}

#[test]
fn coding_is_deterministic() {
    for seed in 0..5 {
        let [mut first, mut second] = [Vec::new(), Vec::new()];
        packets(seed, |_, _, packet, _, _, _| first.push(packet.to_vec()));
        packets(seed, |_, _, packet, _, _, _| second.push(packet.to_vec()));
        assert_eq!(first, second);
    }
}

/// Builds for other instructions, with and without vectors, must make the same packets: see
/// `./ci.sh same-packets`.
#[test]
fn packets_have_the_same_bytes_in_every_build() {
    let mut hash = Xxh3::new();
    for world in 0..40 {
        packets_of(&mut Rng(2 * world + 1), |_, _, packet, _, _, _| hash.update(packet));
    }
    assert_eq!(format!("{:016x}", hash.digest()), "5e38e1c04b9b234f");
}

#[test]
fn damaged_packets_are_refused_or_stay_in_range() {
    let worlds = volume(12, 200);
    let (mut updates, mut accepted) = (ObjectUpdates::default(), 0);
    for seed in 0..worlds {
        packets(seed + 1_000_000, |rng, protocol, packet, baseline, state, good| {
            for _ in 0..12 {
                let bytes = damaged(rng, packet);
                updates.clear();
                if read(protocol, &bytes, &mut updates, baseline, &mut state.clone(), None).is_err()
                {
                    continue;
                }
                accepted += usize::from(contents(&updates) != contents(good));
                assert!(updates.list.len() <= 2 * MAX_OBJECTS);
                assert_in_order_and_range(protocol, &updates);
            }
        });
    }
    assert!(accepted > 20, "some changes make another valid packet: {accepted}");
}

/// A symbol for the range coder.
#[derive(Clone, Copy)]
enum Symbol {
    Bit { chance: u32, bit: bool },
    Interval { start: u64, end: u64, bits: u32 },
}

#[test]
fn the_range_coder_round_trips_bits_and_intervals() {
    for seed in 1..400 {
        let rng = &mut Rng(random_worlds::seed(seed));
        let symbols: Vec<Symbol> = (0..rng.below(300)).map(|_| random_symbol(rng)).collect();
        let mut bytes = vec![0xff; 3];
        let mut encoder = Encoder::new(&mut bytes, 1 << 20);
        for symbol in &symbols {
            match *symbol {
                Symbol::Bit { chance, bit } => assert_eq!(encoder.bit(chance, bit), bit),
                Symbol::Interval { start, end, bits } => encoder.narrow(start, end, bits),
            }
        }
        assert!(encoder.finish());
        assert_eq!(bytes[..3], [0xff; 3], "a carry goes no further than the code");
        let mut decoder = Decoder::new(&bytes[3..]);
        for symbol in &symbols {
            match *symbol {
                Symbol::Bit { chance, bit } => assert_eq!(decoder.bit(chance, false), bit),
                Symbol::Interval { start, end, bits } => {
                    let (code, unit) = decoder.target(bits);
                    assert!((start..end).contains(&(code / unit)));
                    decoder.narrow(start, end, bits);
                }
            }
        }
        decoder.finish().unwrap();
    }
}

/// Returns a symbol, often at the upper end of the interval, which causes carries.
fn random_symbol(rng: &mut Rng) -> Symbol {
    if rng.is_one_in(2) {
        let chance = [1, 65535, 1 + rng.below(65535) as u32][rng.below(3) as usize];
        return Symbol::Bit { chance, bit: rng.is_one_in(2) };
    }
    let bits = 1 + rng.below(41) as u32;
    let total = 1 << bits;
    let start = if rng.is_one_in(2) { total - 1 } else { rng.below(total) };
    let end = start + 1 + rng.below(total - start);
    Symbol::Interval { start, end, bits }
}

#[test]
fn the_model_of_a_large_class_has_a_bounded_size() {
    let kinds = [
        (Kind::Category, 1),
        (Kind::Raw, u32::MAX),
        (Kind::Number { components: 1, wraps: false }, 1000),
        (Kind::Number { components: 4, wraps: true }, 1000),
        (Kind::Rotation { max: 1022 }, 1022),
    ];
    for (kind, max) in kinds {
        let (mut columns, mut groups) = (Vec::new(), Vec::new());
        while columns.len() + kind.width() <= 1024 {
            let first = columns.len();
            columns.extend((0..kind.width()).map(|_| Column { max }));
            groups.push(Group {
                first,
                kind,
                is_continuous: false,
                spatial: false,
                space: 0,
                origin: 0,
                unit: Default::default(),
                reference: false,
                audience: Default::default(),
                derivative: None,
            });
        }
        let presence = vec![None; groups.len()];
        let layout = Layout::of_groups(columns, groups, &presence);
        let protocol = Protocol::of_layouts(config(), vec![layout]);
        let size = protocol.plan().pristine.size();
        assert!(size < 50_000, "{kind:?}: {size}");
    }
}
