//! Comparison of a client's world with the server's.

use tightwire::play::View;
use tightwire::snapshot;

use super::frame::Shown;
use super::game::{Cube, Player, Steer};
use super::server_history::{ServerHistory, TickState};
use super::world::Body;

/// Counts the objects of a client that differ from the quantised world of the server.
pub(super) fn disagreements(receiver: &mut snapshot::Receiver, moment: &TickState) -> u64 {
    let (mut player, mut cube) = (Player::default(), Cube::default());
    let mut wrong = 0;
    for (id, expected) in (0..).zip(&moment.players) {
        let is_there = receiver.read(id, &mut player).unwrap_or(false);
        wrong += u64::from(!is_there || player != *expected);
    }
    for (id, expected) in (moment.players.len() as u32..).zip(&moment.cubes) {
        let is_there = receiver.read(id, &mut cube).unwrap_or(false);
        wrong += u64::from(!is_there || cube != *expected);
    }
    let too_many = receiver.objects().count().saturating_sub(moment.bodies.len());
    wrong + too_many as u64
}

/// Collects the objects as a client shows them, in the order of the server's world.
pub(super) fn shown(world: View<'_, Steer>, state: &TickState) -> Vec<Shown> {
    let players = state.players.len();
    (0..state.bodies.len())
        .map(|id| {
            if id < players {
                let body = Body::upright(world.get::<Player>(id as u32)?.position);
                Some((body.position, body.rotation))
            } else {
                world.get::<Cube>(id as u32).map(|it| (it.position, it.rotation))
            }
        })
        .collect()
}

/// Returns the mean distance between the interpolated objects and the server's objects at that time,
/// in millimetres; `None` without an object to compare. The client's own object is predicted, and
/// not compared.
pub(super) fn error_mm(
    history: &ServerHistory,
    time: f64,
    shown: &[Shown],
    own: Option<usize>,
) -> Option<f64> {
    let (before, after, share) = history.around(time)?;
    let (mut sum, mut count) = (0.0, 0);
    let bodies = before.bodies.iter().zip(&after.bodies);
    for (place, ((before, after), shown)) in bodies.zip(shown).enumerate() {
        let Some((at, _)) = shown.filter(|_| own != Some(place)) else { continue };
        let squares = (0..3).map(|axis| {
            let [from, to] = [before.position[axis], after.position[axis]];
            f64::from(at[axis] - (from + (to - from) * share)).powi(2)
        });
        sum += squares.sum::<f64>().sqrt() * 1000.0;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}
