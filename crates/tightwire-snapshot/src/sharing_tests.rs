//! Receivers with equal baselines get equal packets, and each body is coded once.

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

/// Sends `ticks` snapshots, with a budget that changes and the same losses for all, to 16 receivers
/// that were added together, `at_once` or one by one. Returns the number of coded bodies.
fn coded(level: Level, ticks: u32, at_once: bool, budget: impl Fn(u32) -> usize) -> u64 {
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
        let request = |&(receiver, _): &(_, _)| SnapshotRequest { receiver, budget: budget(tick) };
        let requests: Vec<_> = clients.iter().map(request).collect();
        let mut packets = Vec::new();
        if at_once {
            sender.snapshot_all(&requests, 0, |_, made| packets.push(made.bytes.to_vec()));
        } else {
            let packet = |request: &SnapshotRequest| {
                sender.snapshot(request.receiver, request.budget).unwrap().to_vec()
            };
            packets.extend(requests.iter().map(packet));
        }
        for (place, (id, receiver)) in clients.iter_mut().enumerate() {
            let packet = &packets[place];
            assert_eq!(packet, &packets[0], "{level:?}: tick {tick}, receiver {place}");
            if !is_lost {
                receiver.handle_snapshot(packet).unwrap();
                sender.handle_ack(*id, receiver.ack().unwrap());
            }
        }
    }
    sender.coded().0
}

#[test]
fn receivers_with_equal_baselines_share_bodies_within_a_small_budget() {
    for level in [Level::Packed, Level::Modeled] {
        let budgets: [fn(u32) -> usize; 3] =
            [|_| 300, |tick| if tick == 20 { 90 } else { 1200 }, |tick| 64 + 9 * tick as usize];
        for budget in budgets {
            let ticks = 120;
            let [one_by_one, at_once] =
                [false, true].map(|at_once| coded(level, ticks, at_once, budget));
            // A few tries per tick until a body fits, independent of the number of receivers.
            assert!(
                one_by_one < 6 * u64::from(ticks),
                "{level:?}: {one_by_one} codings for {EQUALS} receivers"
            );
            assert_eq!(at_once, one_by_one, "{level:?}");
        }
    }
}

/// Sends a small world to receivers that join one after the other, whose packets are equal until the
/// first acks arrive. Returns the number of coded bodies.
fn coded_after_joins(at_once: bool) -> u64 {
    let protocol = Protocol::builder(Config::default()).class::<Body>().build().unwrap();
    let mut sender = Sender::new(&protocol);
    let mut clients: Vec<(ReceiverId, Receiver)> = Vec::new();
    let mut under_way = alloc::collections::VecDeque::new();
    for tick in 1..=60u32 {
        if clients.len() < EQUALS && tick % 2 == 0 {
            clients.push((sender.add_receiver(Leaving::Despawn), Receiver::new(&protocol)));
        }
        sender.begin_tick(tick);
        for id in 0..40u32 {
            sender.set(id, &Body { at: [id, tick, 100 * tick], heading: tick as u8 }).unwrap();
        }
        // All of it fits, but until the first acks arrive, each packet is a keyframe.
        let request = |&(receiver, _): &(_, _)| SnapshotRequest { receiver, budget: 1200 };
        let requests: Vec<_> = clients.iter().map(request).collect();
        let mut packets = Vec::new();
        if at_once {
            sender.snapshot_all(&requests, 0, |_, made| packets.push(made.bytes.to_vec()));
        } else {
            for request in &requests {
                packets.push(sender.snapshot(request.receiver, 1200).unwrap().to_vec());
            }
        }
        let mut acks = Vec::new();
        for ((id, receiver), packet) in clients.iter_mut().zip(&packets) {
            receiver.handle_snapshot(packet).unwrap();
            acks.push((*id, receiver.ack().unwrap()));
        }
        under_way.push_back(acks);
        if under_way.len() > 6 {
            for (id, ack) in under_way.pop_front().unwrap() {
                sender.handle_ack(id, ack);
            }
        }
    }
    sender.coded().0
}

#[test]
fn packets_that_happen_to_be_equal_are_one_body_also_if_two_threads_made_them() {
    assert_eq!(coded_after_joins(true), coded_after_joins(false));
}

/// Snapshots of 900 objects of which 180 change in a tick, one after the other, to a receiver whose
/// acks arrive six ticks later if `acks` says so. The updates that were coded for a packet, and the
/// largest number of packets from one complete snapshot to the next.
fn updates_per_packet(level: Level, acks: impl Fn(u32) -> bool) -> (u64, u32) {
    const OBJECTS: u32 = 900;
    let config = Config { level, ..Config::default() };
    let protocol = Protocol::builder(config).class::<Body>().build().unwrap();
    let mut sender = Sender::new(&protocol);
    let client = sender.add_receiver(Leaving::Despawn);
    let mut receiver = Receiver::new(&protocol);
    let (mut under_way, mut before) = (alloc::collections::VecDeque::new(), 0);
    let (mut complete, mut longest) = (0, 0);
    for tick in 1..=600u32 {
        if tick == 200 {
            before = sender.coded().1;
        }
        sender.begin_tick(tick);
        for id in 0..OBJECTS {
            if tick == 1 || (id + OBJECTS - tick * 9 % OBJECTS) % OBJECTS < 180 {
                let at = [id * 100, 5 * tick + id, tick * id % 1000];
                sender.set(id, &Body { at, heading: tick as u8 }).unwrap();
            }
        }
        let packet = sender.snapshot(client, 1 << 20).unwrap();
        if receiver.handle_snapshot(packet).unwrap().is_complete {
            longest = longest.max(tick - complete);
            complete = tick;
        }
        under_way.push_back(receiver.ack().unwrap());
        if under_way.len() > 6
            && let Some(ack) = under_way.pop_front().filter(|_| acks(tick))
        {
            sender.handle_ack(client, ack);
        }
    }
    ((sender.coded().1 - before) / 401, longest.max(600 - complete))
}

#[test]
fn withholding_acks_at_most_doubles_the_work() {
    for level in [Level::Packed, Level::Modeled] {
        let (honest, longest) = updates_per_packet(level, |_| true);
        assert!(honest < 300 && longest <= 6, "{level:?}: {honest}, {longest}");
        let never = updates_per_packet(level, |_| false);
        let rarely = updates_per_packet(level, |tick| tick % 95 == 0);
        for (updates, longest) in [never, rarely] {
            assert!(
                updates <= 2 * honest,
                "{level:?}: {updates} updates, {honest} of an honest one"
            );
            assert!(longest <= 97, "{level:?}: nothing complete for {longest} packets");
        }
    }
}
