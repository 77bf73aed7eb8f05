//! History of the server's world, which clients compare theirs with.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tightwire::{Wire, decode, encode};

use super::game::{Cube, MOST, Player};
use super::shared::lock;
use super::world::Body;

/// The server's world at a tick.
#[derive(Debug)]
pub(super) struct Moment {
    pub(super) tick: u32,
    /// Cubes as simulated: the players' first.
    pub(super) bodies: Vec<Body>,
    /// Players' cubes, quantised as on the wire. `cubes` are the others.
    pub(super) players: Vec<Player>,
    pub(super) cubes: Vec<Cube>,
}

impl Moment {
    /// Makes the moment of a world whose first `players` cubes are the players'; `None` if a cube
    /// cannot be encoded.
    pub(super) fn new(tick: u32, bodies: Vec<Body>, players: usize) -> Option<Self> {
        let (first, rest) = bodies.split_at_checked(players)?;
        let players = first.iter().map(|body| quantised(player(body))).collect();
        let cubes = rest.iter().map(|body| quantised(cube(body))).collect();
        let (players, cubes): (Option<_>, Option<_>) = (players, cubes);
        Some(Self { tick, players: players?, cubes: cubes?, bodies })
    }
}

/// The newest moments, which the threads of one process share: real clients could not.
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

    /// Returns the newest moment; `None` before the first tick.
    pub(super) fn newest(&self) -> Option<Arc<Moment>> {
        lock(&self.moments).back().cloned()
    }

    /// Returns the moment of a tick; `None` if it is not in the history.
    pub(super) fn at(&self, tick: u32) -> Option<Arc<Moment>> {
        let moments = lock(&self.moments);
        let place = moments.binary_search_by_key(&tick, |moment| moment.tick).ok()?;
        moments.get(place).cloned()
    }

    /// Returns the moments before and after a time in ticks, and the position of that time between
    /// them, from 0 to 1.
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

/// Returns a player's object, not yet quantised.
pub(super) fn player(body: &Body) -> Player {
    let Body { position, rotation, awake } = *body;
    Player { position: position.map(within), rotation, awake }
}

/// Returns a cube's object, not yet quantised.
pub(super) fn cube(body: &Body) -> Cube {
    let Body { position, rotation, awake } = *body;
    Cube { position: position.map(within), rotation, awake }
}

/// Clamps a coordinate to the range of the wire: the physics may throw a cube out of all bounds for
/// a tick.
fn within(place: f32) -> f32 {
    if place.is_nan() { 0.0 } else { place.clamp(-MOST, MOST) }
}

fn quantised<T: Wire + Default>(value: T) -> Option<T> {
    decode(encode(&value, &mut [0; 32]).ok()?).ok()
}

/// Number of moments in the history: five seconds. A client that is further behind has other
/// troubles.
const KEPT: usize = 300;
