//! What the world of the server was, for those who want to know whether theirs is the same.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tightwire::{Wire, decode, encode};

use super::game::{Cube, MOST, Player};
use super::shared::lock;
use super::world::Body;

/// The world in a tick.
#[derive(Debug)]
pub(super) struct Moment {
    pub(super) tick: u32,
    /// As it is: the players' cubes first.
    pub(super) bodies: Vec<Body>,
    /// As it travels.
    pub(super) players: Vec<Player>,
    pub(super) cubes: Vec<Cube>,
}

impl Moment {
    /// The world of which the first so many cubes are players'.
    pub(super) fn new(tick: u32, bodies: Vec<Body>, players: usize) -> Option<Self> {
        let (first, rest) = bodies.split_at_checked(players)?;
        let players = first.iter().map(|body| quantised(player(body))).collect();
        let cubes = rest.iter().map(|body| quantised(cube(body))).collect();
        let (players, cubes): (Option<_>, Option<_>) = (players, cubes);
        Some(Self { tick, players: players?, cubes: cubes?, bodies })
    }
}

/// The newest moments, which threads of one process share: real clients could not.
#[derive(Debug, Default)]
pub(super) struct Truth {
    moments: Mutex<VecDeque<Arc<Moment>>>,
}

impl Truth {
    pub(super) fn push(&self, moment: Moment) {
        let mut moments = lock(&self.moments);
        if moments.len() == KEPT {
            moments.pop_front();
        }
        moments.push_back(Arc::new(moment));
    }

    /// The newest.
    pub(super) fn newest(&self) -> Option<Arc<Moment>> {
        lock(&self.moments).back().cloned()
    }

    /// That of a tick.
    pub(super) fn at(&self, tick: u32) -> Option<Arc<Moment>> {
        let moments = lock(&self.moments);
        let place = moments.binary_search_by_key(&tick, |moment| moment.tick).ok()?;
        moments.get(place).cloned()
    }

    /// Those before and after a time in ticks, and how far it is from the one to the other.
    pub(super) fn around(&self, time: f64) -> Option<(Arc<Moment>, Arc<Moment>, f32)> {
        let moments = lock(&self.moments);
        let place = moments.partition_point(|moment| f64::from(moment.tick) <= time);
        let before = moments.get(place.checked_sub(1)?)?.clone();
        let after = moments.get(place).unwrap_or(&before).clone();
        let ticks = f64::from((after.tick - before.tick).max(1));
        let share = (time - f64::from(before.tick)) / ticks;
        Some((before, after, share as f32))
    }
}

/// As it travels, but with all its digits.
pub(super) fn player(body: &Body) -> Player {
    let Body { position, rotation, awake } = *body;
    Player { position: position.map(within), rotation, awake }
}

/// As it travels, but with all its digits.
pub(super) fn cube(body: &Body) -> Cube {
    let Body { position, rotation, awake } = *body;
    Cube { position: position.map(within), rotation, awake }
}

/// What cannot travel would be missed: the physics may throw something out of all bounds for a tick.
fn within(place: f32) -> f32 {
    if place.is_nan() { 0.0 } else { place.clamp(-MOST, MOST) }
}

fn quantised<T: Wire + Default>(value: T) -> Option<T> {
    decode(encode(&value, &mut [0; 32]).ok()?).ok()
}

/// Five seconds: a client that is further behind has other troubles.
const KEPT: usize = 300;
