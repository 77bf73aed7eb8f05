//! Each packet has a level of its own, and costs only what its level needs.

#![allow(clippy::unwrap_used)]

use alloc::vec::Vec;

use super::model::Model;
use super::random_worlds::{Rng, seed};
use super::*;
use tightwire_core::Wire;

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Body {
    #[wire(range = 0..=100_000)]
    at: [u32; 3],
    heading: u8,
}

fn protocol(level: Level) -> Protocol {
    let config = Config { level, ..Config::default() };
    Protocol::builder(config).class::<Body>().build().unwrap()
}

fn move_bodies(rng: &mut Rng, sender: &mut Sender, tick: u32) {
    sender.begin_tick(tick);
    for id in 0..60u32 {
        if tick == 1 || rng.is_one_in(3) {
            let at = [id * 1000 + tick, tick * 3, rng.below(50) as u32];
            sender.set(id, &Body { at, heading: tick as u8 }).unwrap();
        }
    }
}

#[test]
fn the_level_is_no_part_of_the_fingerprint() {
    let [packed, modeled] = [Level::Packed, Level::Modeled].map(protocol);
    assert_eq!(packed.fingerprint(), modeled.fingerprint());
    assert!(packed.description().diff(&modeled.description()).is_empty());
    assert_eq!(packed.description().config().level, Level::Packed);
}

#[test]
fn receivers_of_one_level_share_bodies_and_others_do_not() {
    let rng = &mut Rng(seed(3) | 1);
    let protocol = protocol(Level::Modeled);
    let mut sender = Sender::new(&protocol);
    let mut clients: Vec<_> =
        (0..6).map(|_| (sender.add_receiver(Leaving::Despawn), Receiver::new(&protocol))).collect();
    let (mut before, mut sizes) = (0, [0; 2]);
    for tick in 1..=120 {
        move_bodies(rng, &mut sender, tick);
        // All change their levels together, but for the last, which has the other one.
        let levels = match tick / 10 % 2 {
            0 => [Level::Modeled, Level::Packed],
            _ => [Level::Packed, Level::Modeled],
        };
        for (place, (id, receiver)) in clients.iter_mut().enumerate() {
            let level = levels[usize::from(place == 5)];
            sender.set_level(*id, level);
            assert_eq!(sender.level(*id), Some(level));
            let packet = sender.snapshot(*id, 1 << 16).unwrap();
            sizes[usize::from(level == Level::Modeled)] += packet.len();
            receiver.handle_snapshot(packet).unwrap();
            sender.handle_ack(*id, receiver.ack().unwrap());
            for object in 0..60u32 {
                assert_eq!(receiver.get::<Body>(object), sender.get::<Body>(object));
            }
        }
        let coded = sender.coded().0;
        assert_eq!(coded - before, 2, "tick {tick}: one body for each level");
        before = coded;
    }
    assert!(sizes[0] > 0 && sizes[1] > 0, "{sizes:?}");
    let gone = clients[0].0;
    sender.remove_receiver(gone);
    sender.set_level(gone, Level::Packed);
    assert_eq!(sender.level(gone), None);
}

#[test]
fn what_a_level_learned_stays_while_packets_are_of_the_other() {
    let packets = |switches: bool| {
        let rng = &mut Rng(seed(5) | 1);
        let protocol = protocol(Level::Modeled);
        let (mut sender, mut receiver) = (Sender::new(&protocol), Receiver::new(&protocol));
        let client = sender.add_receiver(Leaving::Despawn);
        let mut sizes = Vec::new();
        for tick in 1..=400 {
            move_bodies(rng, &mut sender, tick);
            let is_other = switches && (200..300).contains(&tick);
            sender.set_level(client, if is_other { Level::Packed } else { Level::Modeled });
            let packet = sender.snapshot(client, 1 << 16).unwrap();
            sizes.push(packet.len());
            receiver.handle_snapshot(packet).unwrap();
            sender.handle_ack(client, receiver.ack().unwrap());
        }
        let sum = |ticks: core::ops::Range<usize>| sizes[ticks].iter().sum::<usize>();
        (sum(0..10), sum(300..310), sum(200..300))
    };
    let ((_, going_on, between), (first, again, packed)) = (packets(false), packets(true));
    assert!(packed > between, "another level: {packed}, {between}");
    assert!(again < first * 9 / 10, "not from the beginning: {again}, {first}");
    assert!(again < going_on * 21 / 20, "as if never interrupted: {again}, {going_on}");
}

#[test]
fn a_model_is_copied_only_to_learn() {
    let protocol = protocol(Level::Modeled);
    let (pristine, mut model) = (Model::default(), Model::default());
    model.clone_from(&pristine);
    assert!(model.shares_modeled(&pristine), "nothing was learned");
    let first = core::ptr::from_ref(model.modeled(&protocol));
    assert!(!model.shares_modeled(&pristine));
    assert_eq!(first, core::ptr::from_ref(model.modeled(&protocol)), "its own already");
    let mut next = Model::default();
    next.clone_from(&model);
    assert!(next.shares_modeled(&model));
    let second = core::ptr::from_ref(next.modeled(&protocol));
    assert_ne!(first, second);
    // The memory of a model that is no longer needed is used for the next.
    next.clone_from(&model);
    assert!(next.shares_modeled(&model));
    assert_eq!(second, core::ptr::from_ref(next.modeled(&protocol)));
}
