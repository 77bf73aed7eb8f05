//! Receivers that have the same get the same packets, and each is coded once.

#![allow(clippy::unwrap_used)]

use alloc::vec::Vec;

use super::random_worlds::seed;
use super::*;
use tightwire_core::Wire;

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Body {
    #[wire(range = 0..=100_000)]
    at: [u32; 3],
    heading: u8,
}

const EQUALS: usize = 16;

/// Sends 16 receivers that were added together `ticks` snapshots of a budget that changes, with the same
/// losses for all. How many bodies were coded.
fn coded(level: Level, ticks: u32, budget: impl Fn(u32) -> usize) -> u64 {
    let config = Config { level, ..Config::default() };
    let protocol = Protocol::builder(config).class::<Body>().build().unwrap();
    let mut sender = Sender::new(&protocol);
    let mut clients: Vec<_> = (0..EQUALS)
        .map(|_| (sender.add_receiver(Leaving::Despawn), Receiver::new(&protocol)))
        .collect();
    let mut noise = seed(7) | 1;
    for tick in 1..=ticks {
        sender.begin_tick(tick);
        for id in 0..200u32 {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            if tick == 1 || noise.is_multiple_of(3) {
                let at = [0, 16, 32].map(|shift| (noise >> shift & 0xffff) as u32);
                sender.set(id, &Body { at, heading: tick as u8 }).unwrap();
            }
        }
        let is_lost = tick % 11 == 0;
        let mut first = Vec::new();
        for (place, (id, receiver)) in clients.iter_mut().enumerate() {
            let packet = sender.snapshot(*id, budget(tick)).unwrap();
            if place == 0 {
                first = packet.to_vec();
            }
            assert_eq!(packet, first, "{level:?}: tick {tick}, receiver {place}");
            if !is_lost {
                receiver.handle_snapshot(packet).unwrap();
                sender.handle_ack(*id, receiver.ack().unwrap());
            }
        }
    }
    sender.coded()
}

#[test]
fn equal_receivers_get_equal_packets_and_share_their_coding_when_the_budget_is_too_small() {
    for level in [Level::Packed, Level::Modeled] {
        let budgets: [fn(u32) -> usize; 3] =
            [|_| 300, |tick| if tick == 20 { 90 } else { 1200 }, |tick| 64 + 9 * tick as usize];
        for budget in budgets {
            let ticks = 120;
            let coded = coded(level, ticks, budget);
            // A few tries of a tick, until one fits, whoever they are for.
            assert!(
                coded < 6 * u64::from(ticks),
                "{level:?}: {coded} codings for {EQUALS} receivers"
            );
        }
    }
}
