//! Prediction alone: a client and a server's states, without a network.

#![allow(clippy::unwrap_used)]

use core::time::Duration;
use std::collections::BTreeMap;

use tightwire_core::schema::ObjectId;
use tightwire_derive::Wire;
use tightwire_snapshot::{Config, Protocol, Row, RowBuffer};

use super::*;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Cart {
    #[wire(spatial, min = -100.0, max = 100.0, resolution = 0.001)]
    position: [f32; 2],
    #[wire(range = 0..=100)]
    health: u8,
}

const CART: ObjectId = ObjectId(7);
const TICKS_AHEAD: u32 = 6;

fn protocol() -> Protocol {
    Protocol::builder(Config::default()).class::<Cart>().build().unwrap()
}

fn row_of(protocol: &Protocol, cart: &Cart) -> RowBuffer {
    let mut row = RowBuffer::default();
    protocol.quantise(cart, &mut row).unwrap();
    row
}

impl ReceivedObjects for RowSet {
    fn row(&self, id: ObjectId) -> Option<Row<'_>> {
        self.get(id)
    }

    fn age(&self, _: ObjectId) -> RowAge {
        RowAge::Exact
    }

    fn show(&self, _: ObjectId, _: &mut RowBuffer) -> bool {
        false
    }
}

/// Received objects of which only those of this client are certain to be of the tick.
struct Incomplete<'f> {
    frame: &'f RowSet,
    age: RowAge,
}

impl ReceivedObjects for Incomplete<'_> {
    fn row(&self, id: ObjectId) -> Option<Row<'_>> {
        self.frame.get(id)
    }

    fn age(&self, id: ObjectId) -> RowAge {
        if id == CART { RowAge::Exact } else { self.age }
    }

    fn show(&self, _: ObjectId, _: &mut RowBuffer) -> bool {
        false
    }
}

/// Steps all carts of a frame: to the right by `speed`.
fn step(protocol: &Protocol, frame: &mut RowSet, speed: f32) {
    let ids: Vec<ObjectId> = frame.iter().map(|(id, _)| id).collect();
    for id in ids {
        let mut cart: Cart = protocol.value_of(frame.get(id).unwrap()).unwrap();
        cart.position[0] += speed;
        frame.set(id, row_of(protocol, &cart).row());
    }
}

/// A server that steps a cart, and a client that predicts it some ticks ahead.
struct Pair {
    protocol: Protocol,
    prediction: Prediction,
    /// The server's state after each tick.
    server: BTreeMap<u32, RowSet>,
    tick: u32,
}

impl Pair {
    fn new(config: PredictConfig) -> Self {
        let protocol = protocol();
        let mut frame = RowSet::default();
        frame.set(CART, row_of(&protocol, &Cart { health: 100, ..Cart::default() }).row());
        let mut prediction = Prediction::new(&protocol, config);
        prediction.set_member(CART, true);
        Self { protocol, prediction, server: BTreeMap::from([(1, frame)]), tick: 1 }
    }

    /// Runs a tick on both sides: the server steps with `here`, and the client with `there`.
    fn run(&mut self, here: f32, there: f32) {
        let mut frame = self.server[&self.tick].clone();
        self.tick += 1;
        step(&self.protocol, &mut frame, here);
        self.server.insert(self.tick, frame);
        self.receive(self.tick);
        self.step_all(there);
    }

    /// The client gets the server's state of a tick.
    fn receive(&mut self, tick: u32) {
        let objects = &self.server[&tick];
        self.prediction.reconcile(&Authoritative { tick, is_exact: true, objects }, 1.0);
    }

    fn step_all(&mut self, speed: f32) {
        while self.prediction.next_replay().is_some() {
            step(&self.protocol, self.prediction.frame_mut(), speed);
        }
        let newest = self.prediction.newest.unwrap();
        for tick in newest + 1..=self.tick + TICKS_AHEAD {
            self.prediction.begin(tick);
            step(&self.protocol, self.prediction.frame_mut(), speed);
        }
        self.prediction.finish();
    }

    fn predicted(&self) -> f32 {
        let row = self.prediction.frame().get(CART).unwrap();
        self.protocol.value_of::<Cart>(row).unwrap().position[0]
    }

    fn shown(&self) -> f32 {
        let mut shown = RowBuffer::default();
        assert!(self.prediction.show(CART, 1.0, &mut shown));
        self.protocol.value_of::<Cart>(shown.row()).unwrap().position[0]
    }
}

#[test]
fn a_simulation_that_is_equal_on_both_sides_is_never_corrected() {
    let mut pair = Pair::new(PredictConfig::default());
    for _ in 0..300 {
        pair.run(0.05, 0.05);
    }
    let stats = pair.prediction.stats();
    assert_eq!((stats.mispredicted, stats.snaps), (0, 0));
    assert!(stats.compared > 250);
    let expected = 0.05 * (300 + TICKS_AHEAD) as f32;
    assert!((pair.predicted() - expected).abs() < 0.01, "{} {expected}", pair.predicted());
}

#[test]
fn a_correction_replays_to_the_servers_state_and_its_error_fades_from_view() {
    let mut pair = Pair::new(PredictConfig::default());
    for _ in 0..20 {
        pair.run(0.05, 0.05);
    }
    let before = pair.shown();
    // A push that the client could not foresee.
    let mut frame = pair.server[&pair.tick].clone();
    let mut cart: Cart = pair.protocol.value_of(frame.get(CART).unwrap()).unwrap();
    (cart.position[0], cart.health) = (cart.position[0] - 1.0, 90);
    frame.set(CART, row_of(&pair.protocol, &cart).row());
    pair.server.insert(pair.tick, frame);
    pair.run(0.05, 0.05);

    assert!((pair.predicted() - (before + 0.05 - 1.0)).abs() < 0.01, "{}", pair.predicted());
    assert!((pair.shown() - before).abs() < 0.06, "{} {before}", pair.shown());
    let stats = pair.prediction.stats();
    assert_eq!(stats.mispredicted, 1);
    assert!((stats.largest_offset - 1.0).abs() < 0.06, "{}", stats.largest_offset);
    let wrong = pair.prediction.mispredictions().next().unwrap();
    assert_eq!((wrong.id, wrong.field.as_str()), (CART, "position"));

    pair.prediction.advance(Duration::from_millis(150));
    let left = pair.shown() - pair.predicted();
    assert!((0.04..0.06).contains(&left), "95% of a metre are gone: {left}");
    pair.prediction.advance(Duration::from_secs(1));
    assert_eq!(pair.shown(), pair.predicted());
}

#[test]
fn an_error_beyond_the_limit_is_shown_as_a_jump() {
    let mut pair = Pair::new(PredictConfig::default());
    for _ in 0..20 {
        pair.run(0.05, 0.05);
    }
    let mut frame = pair.server[&pair.tick].clone();
    let far = Cart { position: [-60.0, 0.0], health: 100 };
    frame.set(CART, row_of(&pair.protocol, &far).row());
    pair.server.insert(pair.tick, frame);
    pair.run(0.05, 0.05);
    assert_eq!(pair.prediction.stats().snaps, 1);
    assert_eq!(pair.shown(), pair.predicted());
}

#[test]
fn a_difference_within_the_tolerance_is_no_misprediction() {
    let wrong = |tolerance| {
        let mut pair = Pair::new(PredictConfig { tolerance, ..PredictConfig::default() });
        pair.run(0.05, 0.05);
        let mut frame = pair.server[&pair.tick].clone();
        let mut cells = frame.get(CART).unwrap().cells.to_vec();
        cells[0] += 2;
        frame.set(CART, Row { class: 0, cells: &cells });
        pair.server.insert(pair.tick, frame);
        pair.run(0.05, 0.05);
        pair.prediction.stats().mispredicted
    };
    assert_eq!((wrong(1), wrong(2)), (1, 0));
}

#[test]
fn a_despawned_object_is_not_predicted_any_more() {
    let mut pair = Pair::new(PredictConfig::default());
    pair.run(0.05, 0.05);
    let mut frame = pair.server[&pair.tick].clone();
    frame.remove(CART);
    pair.server.insert(pair.tick, frame);
    pair.run(0.05, 0.05);
    assert!(!pair.prediction.is_predicted(CART));
    assert!(!pair.prediction.show(CART, 0.5, &mut RowBuffer::default()));
}

#[test]
fn an_object_that_is_not_a_member_any_more_is_dropped_and_others_stay() {
    let mut pair = Pair::new(PredictConfig::default());
    let other = ObjectId(9);
    let mut frame = pair.server[&pair.tick].clone();
    frame.set(other, row_of(&pair.protocol, &Cart::default()).row());
    pair.server.insert(pair.tick, frame);
    pair.prediction.set_member(other, true);
    pair.run(0.05, 0.05);
    assert!(pair.prediction.is_predicted(other));
    pair.prediction.set_member(other, false);
    pair.run(0.05, 0.05);
    pair.run(0.05, 0.05);
    assert!(!pair.prediction.is_predicted(other) && pair.prediction.is_predicted(CART));
    assert_eq!(pair.prediction.stats().mispredicted, 0);
}

#[test]
fn a_predicted_spawn_has_one_id_in_all_replays_and_takes_the_servers() {
    let mut pair = Pair::new(PredictConfig::default());
    pair.run(0.05, 0.05);
    let bullet = row_of(&pair.protocol, &Cart::default());
    let tick = pair.prediction.newest.unwrap() + 1;
    pair.prediction.begin(tick);
    let id = pair.prediction.spawn(None, bullet.row()).unwrap();
    let second = pair.prediction.spawn(None, bullet.row()).unwrap();
    assert!(pair.prediction.is_provisional(id) && id != second);
    pair.prediction.finish();

    // The same step again.
    pair.prediction.begin_step(tick);
    assert_eq!(pair.prediction.spawn(None, bullet.row()), Some(id));
    pair.prediction.finish();

    let real = ObjectId(40);
    assert_eq!(pair.prediction.handle_match(tick, 0, real), Some(id));
    assert_eq!(pair.prediction.handle_match(tick, 0, real), None, "once");
    assert_eq!(pair.prediction.handle_match(tick, 9, real), None, "no such spawn");
    assert!(pair.prediction.is_predicted(real) && !pair.prediction.is_predicted(id));

    // The second one is never confirmed.
    pair.prediction.set_member(real, true);
    for _ in 0..TICKS_AHEAD + 12 {
        let mut frame = pair.server[&pair.tick].clone();
        if pair.tick >= tick {
            frame.set(real, bullet.row());
            pair.server.insert(pair.tick, frame);
        }
        pair.run(0.0, 0.0);
    }
    assert!(pair.prediction.is_predicted(real) && !pair.prediction.is_predicted(second));
    assert_eq!(pair.prediction.stats().spawns_unmatched, 1);
}

#[test]
fn state_outside_of_the_scene_is_found_by_replaying_everything() {
    let run = |speed: fn(u32) -> f32| {
        let config =
            PredictConfig { always_replay: true, tolerance: 100, ..PredictConfig::default() };
        let mut pair = Pair::new(config);
        for steps in 0..50 {
            pair.run(0.05, speed(steps));
        }
        pair.prediction.stats()
    };
    let pure = run(|_| 0.05);
    assert_eq!(pure.replays_differing, 0);
    assert!(pure.replayed_ticks > 240, "{pure:?}");
    // A counter of its own, which a replay finds changed, by too little for the tolerance.
    let impure = run(|steps| 0.05 + 0.001 * (steps % 2) as f32);
    assert!(impure.replays_differing > 0, "{impure:?}");
}

#[test]
fn ticks_that_were_skipped_and_servers_that_are_ahead_are_followed() {
    let mut pair = Pair::new(PredictConfig::default());
    for _ in 0..10 {
        pair.run(0.05, 0.05);
    }
    // The client was suspended, and the server is ahead of it.
    for _ in 0..200 {
        let mut frame = pair.server[&pair.tick].clone();
        pair.tick += 1;
        step(&pair.protocol, &mut frame, 0.05);
        pair.server.insert(pair.tick, frame);
    }
    pair.receive(pair.tick);
    pair.step_all(0.05);
    for _ in 0..10 {
        pair.run(0.05, 0.05);
    }
    let expected = 0.05 * (220 + TICKS_AHEAD) as f32;
    assert!((pair.predicted() - expected).abs() < 0.02, "{} {expected}", pair.predicted());
}

#[test]
fn a_snapshot_of_the_newest_predicted_tick_is_compared() {
    let mut pair = Pair::new(PredictConfig::default());
    pair.run(0.05, 0.05);
    let newest = pair.prediction.newest.unwrap();
    // On a fast link the server has reached the tick when its snapshot arrives.
    for tick in pair.tick + 1..=newest {
        let mut frame = pair.server[&(tick - 1)].clone();
        step(&pair.protocol, &mut frame, if tick == newest { 0.25 } else { 0.05 });
        pair.server.insert(tick, frame);
    }
    let spawned = {
        pair.prediction.begin(newest);
        let row = row_of(&pair.protocol, &Cart::default());
        pair.prediction.spawn(None, row.row()).unwrap()
    };
    pair.prediction.finish();
    let (before, shown) = (pair.prediction.stats(), pair.shown());
    pair.receive(newest);
    let stats = pair.prediction.stats();
    assert_eq!(
        (stats.compared, stats.mispredicted),
        (before.compared + 1, before.mispredicted + 1)
    );
    assert!((pair.predicted() - shown - 0.2).abs() < 0.01);
    assert!((pair.shown() - shown).abs() < 0.01, "the correction fades");
    assert!(pair.prediction.is_predicted(spawned), "the server has not spawned it yet");
}

#[test]
fn a_spawn_that_was_taken_back_does_not_return_with_a_replay() {
    let mut pair = Pair::new(PredictConfig::default());
    pair.run(0.05, 0.05);
    let bullet = row_of(&pair.protocol, &Cart::default());
    let spawned = pair.prediction.newest.unwrap() + 1;
    pair.prediction.begin(spawned);
    let id = pair.prediction.spawn(None, bullet.row()).unwrap();
    pair.prediction.finish();
    for _ in 0..30 {
        if pair.tick > spawned {
            // A push that the client could not foresee: each snapshot is replayed, from a tick that
            // has the spawn.
            let mut frame = pair.server[&pair.tick].clone();
            let mut cart: Cart = pair.protocol.value_of(frame.get(CART).unwrap()).unwrap();
            cart.position[1] += 0.1;
            frame.set(CART, row_of(&pair.protocol, &cart).row());
            pair.server.insert(pair.tick, frame);
        }
        pair.run(0.05, 0.05);
        let is_confirmable = pair.tick < spawned + 8;
        assert_eq!(pair.prediction.is_predicted(id), is_confirmable, "{}", pair.tick);
    }
    assert!(pair.prediction.stats().replayed_ticks > 50);
    assert_eq!(pair.prediction.stats().spawns_unmatched, 1);
}

#[test]
fn old_rows_of_others_are_neither_mispredictions_nor_replayed() {
    let other = ObjectId(9);
    let mut pair = Pair::new(PredictConfig::default());
    let cart = row_of(&pair.protocol, &Cart::default());
    pair.server.get_mut(&1).unwrap().set(other, cart.row());
    pair.prediction.set_member(other, true);
    (0..20).for_each(|_| pair.run(0.05, 0.05));
    let before = pair.prediction.stats();
    assert_eq!(before.mispredicted, 0);

    // The row of the other object is three ticks old.
    let mut frame = pair.server[&pair.tick].clone();
    frame.set(other, pair.server[&(pair.tick - 3)].get(other).unwrap());
    let receive = |pair: &mut Pair, age| {
        let tick = pair.tick;
        let objects = &Incomplete { frame: &frame, age };
        pair.prediction.reconcile(&Authoritative { tick, is_exact: true, objects }, 1.0);
        pair.step_all(0.05);
        let stats = pair.prediction.stats();
        (stats.mispredicted, stats.replayed_ticks - before.replayed_ticks)
    };
    assert_eq!(receive(&mut pair, RowAge::Old), (0, 0));
    // A row that has just arrived is the state to continue from, and is no misprediction.
    assert_eq!(receive(&mut pair, RowAge::New), (0, TICKS_AHEAD.into()));
    assert_eq!(receive(&mut pair, RowAge::Exact), (0, TICKS_AHEAD.into()));
    assert_eq!(pair.prediction.mispredicted(0), 0);
}

#[test]
fn a_step_that_does_not_end_is_taken_back() {
    let mut pair = Pair::new(PredictConfig::default());
    (0..20).for_each(|_| pair.run(0.05, 0.05));
    let before = pair.predicted();
    pair.prediction.begin(pair.tick + TICKS_AHEAD + 1);
    step(&pair.protocol, pair.prediction.frame_mut(), 7.0);
    pair.prediction.abandon();
    assert_eq!((pair.predicted(), pair.shown()), (before, before));
    // The server's state of the tick is taken over, and is no misprediction.
    (0..20).for_each(|_| pair.run(0.05, 0.05));
    let stats = pair.prediction.stats();
    assert_eq!((stats.unpredicted_ticks, stats.mispredicted), (1, 0), "{stats:?}");
    assert!((pair.predicted() - before - 1.0).abs() < 0.01);
}
