//! Random worlds of random classes: packets round-trip, and hostile ones are refused.

#![allow(clippy::unwrap_used)]

use alloc::vec;

use super::*;
use crate::layout::{Column, Group, Kind};
use crate::random_worlds::{
    self, Dice, Known, MOST, any_layout, assert_in_order_and_range, damaged, learn, mention, said,
    volume,
};
use crate::{Config, Level};

fn config() -> Config {
    Config { level: Level::Modeled, max_objects: MOST, ..Config::default() }
}

fn assert_same(a: &State, b: &State) {
    assert_eq!((&a.bits, &a.params, &a.linear), (&b.bits, &b.params, &b.linear));
    assert_eq!(a.last_id, b.last_id);
}

/// Writes and reads the packets of a random world, and passes each to a check, with the state of
/// its base.
fn packets(
    seed: u64,
    mut check: impl FnMut(&mut Dice, &Protocol, &[u8], &Known, &State, &Mentions),
) {
    let dice = &mut Dice(random_worlds::seed(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let layouts = (0..1 + dice.below(3)).map(|_| any_layout(dice)).collect();
    let protocol = Protocol::of_layouts(config(), layouts);
    let mut known = Known::default();
    let mut state = protocol.plan().pristine.clone();
    let (mut mentions, mut again) = (Mentions::default(), Mentions::default());
    for _ in 0..30 {
        mention(dice, &protocol, &known, &mut mentions);
        let (mut packet, mut written, mut was_read) = (Vec::new(), state.clone(), state.clone());
        assert!(write(&protocol, &mut mentions, &known, &mut written, &mut packet, 1 << 17));
        again.clear();
        read(&protocol, &packet, &mut again, &known, &mut was_read, None).unwrap();
        assert_eq!(said(&again), said(&mentions), "seed {seed}");
        assert_same(&written, &was_read);
        check(dice, &protocol, &packet, &known, &state, &mentions);
        state = written;
        learn(dice, &mut known, &mentions);
    }
}

#[test]
fn what_is_written_is_read() {
    let worlds = volume(60, 1500);
    (0..worlds).for_each(|seed| packets(seed, |_, _, _, _, _, _| ()));
}

#[test]
fn two_runs_give_the_same_bytes() {
    for seed in 0..5 {
        let [mut first, mut second] = [Vec::new(), Vec::new()];
        packets(seed, |_, _, packet, _, _, _| first.push(packet.to_vec()));
        packets(seed, |_, _, packet, _, _, _| second.push(packet.to_vec()));
        assert_eq!(first, second);
    }
}

#[test]
fn what_is_hostile_is_refused_or_stays_in_range() {
    let worlds = volume(12, 200);
    let (mut mentions, mut accepted) = (Mentions::default(), 0);
    for seed in 0..worlds {
        packets(seed + 1_000_000, |dice, protocol, packet, known, state, good| {
            for _ in 0..12 {
                let bytes = damaged(dice, packet);
                mentions.clear();
                if read(protocol, &bytes, &mut mentions, known, &mut state.clone(), None).is_err() {
                    continue;
                }
                accepted += usize::from(said(&mentions) != said(good));
                assert!(mentions.list.len() <= 2 * MOST);
                assert_in_order_and_range(protocol, &mentions);
            }
        });
    }
    assert!(accepted > 20, "some changes make another valid packet: {accepted}");
}

/// A symbol for the range coder.
#[derive(Clone, Copy)]
enum Told {
    Bit { chance: u32, bit: bool },
    Interval { start: u64, end: u64, bits: u32 },
}

#[test]
fn bits_and_intervals_come_back_from_the_range_coder() {
    for seed in 1..400 {
        let dice = &mut Dice(random_worlds::seed(seed));
        let told: Vec<Told> = (0..dice.below(300)).map(|_| told(dice)).collect();
        let mut bytes = vec![0xff; 3];
        let mut encoder = Encoder::new(&mut bytes, 1 << 20);
        for told in &told {
            match *told {
                Told::Bit { chance, bit } => assert_eq!(encoder.bit(chance, bit), bit),
                Told::Interval { start, end, bits } => encoder.narrow(start, end, bits),
            }
        }
        assert!(encoder.finish());
        assert_eq!(bytes[..3], [0xff; 3], "a carry goes no further than the code");
        let mut decoder = Decoder::new(&bytes[3..]);
        for told in &told {
            match *told {
                Told::Bit { chance, bit } => assert_eq!(decoder.bit(chance, false), bit),
                Told::Interval { start, end, bits } => {
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
fn told(dice: &mut Dice) -> Told {
    if dice.is_one_in(2) {
        let chance = [1, 65535, 1 + dice.below(65535) as u32][dice.below(3) as usize];
        return Told::Bit { chance, bit: dice.is_one_in(2) };
    }
    let bits = 1 + dice.below(41) as u32;
    let total = 1 << bits;
    let start = if dice.is_one_in(2) { total - 1 } else { dice.below(total) };
    let end = start + 1 + dice.below(total - start);
    Told::Interval { start, end, bits }
}

#[test]
fn a_class_of_many_columns_has_a_state_of_bounded_size() {
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
                reference: false,
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
