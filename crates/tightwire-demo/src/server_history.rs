//! History of the server's world, which clients compare theirs with.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tightwire::{Wire, decode, encode};

use super::game::{Cube, MAX_COORDINATE, MAX_VELOCITY, Player};
use super::shared::lock;
use super::world::Body;

/// The server's world at a tick.
#[derive(Debug)]
pub(super) struct TickState {
    pub(super) tick: u32,
    /// Cubes as simulated: the players' first.
    pub(super) bodies: Vec<Body>,
    /// Players' cubes, quantised as on the wire. `cubes` are the others.
    pub(super) players: Vec<Player>,
    pub(super) cubes: Vec<Cube>,
}

impl TickState {
    /// Makes the state of a tick, whose first bodies are those of the players; `None` if a cube
    /// cannot be encoded.
    pub(super) fn new(tick: u32, bodies: Vec<Body>, players: Vec<Player>) -> Option<Self> {
        let (_, rest) = bodies.split_at_checked(players.len())?;
        let players = players.into_iter().map(quantised).collect();
        let cubes = rest.iter().map(|body| quantised(cube(body))).collect();
        let (players, cubes): (Option<_>, Option<_>) = (players, cubes);
        Some(Self { tick, players: players?, cubes: cubes?, bodies })
    }
}

/// The newest moments, which the threads of one process share: real clients could not.
#[derive(Debug, Default)]
pub(super) struct ServerHistory {
    moments: Mutex<VecDeque<Arc<TickState>>>,
}

impl ServerHistory {
    pub(super) fn push(&self, moment: TickState) {
        let mut moments = lock(&self.moments);
        if moments.len() == KEPT {
            moments.pop_front();
        }
        moments.push_back(Arc::new(moment));
    }

    /// Returns the newest moment; `None` before the first tick.
    pub(super) fn newest(&self) -> Option<Arc<TickState>> {
        lock(&self.moments).back().cloned()
    }

    /// Returns the moment of a tick; `None` if it is not in the history.
    pub(super) fn at(&self, tick: u32) -> Option<Arc<TickState>> {
        let moments = lock(&self.moments);
        let place = moments.binary_search_by_key(&tick, |moment| moment.tick).ok()?;
        moments.get(place).cloned()
    }

    /// Returns the moments before and after a time in ticks, and the position of that time between
    /// them, from 0 to 1.
    pub(super) fn around(&self, time: f64) -> Option<(Arc<TickState>, Arc<TickState>, f32)> {
        let moments = lock(&self.moments);
        let place = moments.partition_point(|moment| f64::from(moment.tick) <= time);
        let before = moments.get(place.checked_sub(1)?)?.clone();
        let after = moments.get(place).unwrap_or(&before).clone();
        let ticks = f64::from((after.tick - before.tick).max(1));
        let share = (time - f64::from(before.tick)) / ticks;
        Some((before, after, share as f32))
    }
}

/// Clamps a player's object to the ranges of the wire.
pub(super) fn clamp(player: &mut Player) {
    player.position = player.position.map(within);
    player.velocity = player.velocity.map(|speed| match speed.is_nan() {
        true => 0.0,
        false => speed.clamp(-MAX_VELOCITY, MAX_VELOCITY),
    });
}

/// Returns a cube's object, not yet quantised.
pub(super) fn cube(body: &Body) -> Cube {
    let Body { position, rotation, awake } = *body;
    Cube { position: position.map(within), rotation, awake }
}

/// Clamps a coordinate to the range of the wire: the physics may throw a cube out of all bounds for
/// a tick.
fn within(place: f32) -> f32 {
    if place.is_nan() { 0.0 } else { place.clamp(-MAX_COORDINATE, MAX_COORDINATE) }
}

fn quantised<T: Wire + Default>(value: T) -> Option<T> {
    decode(encode(&value, &mut [0; 32]).ok()?).ok()
}

/// Number of moments in the history: five seconds. A client that is further behind has other
/// troubles.
const KEPT: usize = 300;
