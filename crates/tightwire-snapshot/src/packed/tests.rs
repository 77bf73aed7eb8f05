//! Random worlds of random classes: packets round-trip, and hostile ones are refused.

#![allow(clippy::unwrap_used)]

use alloc::vec;

use super::*;
use crate::random_worlds::{
    self, Dice, Known, MOST, any_layout, assert_in_order_and_range, damaged, learn, mention, said,
    volume,
};
use crate::{Config, Level};
use tightwire_core::stream::{ReadError, ReadStream, WriteStream};

fn config() -> Config {
    Config { level: Level::Packed, max_objects: MOST, ..Config::default() }
}

fn read(
    protocol: &Protocol,
    bytes: &[u8],
    known: &Known,
    mentions: &mut Mentions,
) -> Result<(), ReadError> {
    mentions.clear();
    let mut stream = ReadStream::new(bytes);
    code(&mut stream, protocol, mentions, known, &mut Tuning::default())?;
    stream.finish()
}

fn packets(seed: u64, mut check: impl FnMut(&mut Dice, &Protocol, &[u8], &Known, &Mentions)) {
    let dice = &mut Dice(random_worlds::seed(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let layouts = (0..1 + dice.below(3)).map(|_| any_layout(dice)).collect();
    let protocol = Protocol::of_layouts(config(), layouts);
    let (mut known, mut tuning) = (Known::default(), Tuning::default());
    let (mut mentions, mut again) = (Mentions::default(), Mentions::default());
    let mut buffer = vec![0; 1 << 17];
    for _ in 0..30 {
        mention(dice, &protocol, &known, &mut mentions);
        let mut stream = WriteStream::new(&mut buffer);
        let Ok(()) = code(&mut stream, &protocol, &mut mentions, &known, &mut tuning);
        let packet = stream.finish().unwrap();
        read(&protocol, packet, &known, &mut again).unwrap();
        assert_eq!(said(&again), said(&mentions), "seed {seed}");
        check(dice, &protocol, packet, &known, &mentions);
        learn(dice, &mut known, &mentions);
    }
}

#[test]
fn what_is_written_is_read() {
    let worlds = volume(150, 3000);
    (0..worlds).for_each(|seed| packets(seed, |_, _, _, _, _| ()));
}

#[test]
fn what_is_hostile_is_refused_or_stays_in_range() {
    let mut accepted = 0;
    let worlds = volume(30, 400);
    let mut mentions = Mentions::default();
    for seed in 0..worlds {
        packets(seed + 1_000_000, |dice, protocol, packet, known, good| {
            for _ in 0..20 {
                let bytes = damaged(dice, packet);
                if read(protocol, &bytes, known, &mut mentions).is_err() {
                    continue;
                }
                accepted += usize::from(said(&mentions) != said(good));
                assert!(mentions.list.len() <= MOST);
                assert_in_order_and_range(protocol, &mentions);
            }
        });
    }
    assert!(accepted > 100, "many changes make another valid packet: {accepted}");
}
