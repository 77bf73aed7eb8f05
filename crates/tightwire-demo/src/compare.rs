//! Comparison of a client's world with the server's.

use tightwire::snapshot::{self, Playback};

use super::frame::Shown;
use super::game::{Cube, Player};
use super::truth::{Moment, Truth};

/// Counts the objects of a client that differ from the quantised world of the server.
pub(super) fn disagreements(receiver: &mut snapshot::Receiver, moment: &Moment) -> u64 {
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
pub(super) fn shown(playback: &mut Playback, moment: &Moment) -> Vec<Shown> {
    let players = moment.players.len();
    (0..moment.bodies.len())
        .map(|id| {
            if id < players {
                playback.get::<Player>(id as u32).map(|it| (it.position, it.rotation))
            } else {
                playback.get::<Cube>(id as u32).map(|it| (it.position, it.rotation))
            }
        })
        .collect()
}

/// Returns the mean distance between the shown objects and the server's objects at that time, in
/// millimetres; `None` without an object to compare.
pub(super) fn error_mm(truth: &Truth, time: f64, shown: &[Shown]) -> Option<f64> {
    let (before, after, share) = truth.around(time)?;
    let (mut sum, mut count) = (0.0, 0);
    for ((before, after), shown) in before.bodies.iter().zip(&after.bodies).zip(shown) {
        let Some((at, _)) = shown else { continue };
        let squares = (0..3).map(|axis| {
            let [from, to] = [before.position[axis], after.position[axis]];
            f64::from(at[axis] - (from + (to - from) * share)).powi(2)
        });
        sum += squares.sum::<f64>().sqrt() * 1000.0;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}
