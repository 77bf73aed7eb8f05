//! Prediction of a turn: a learned sum of other turns, with the same weights for all axes.

use super::quaternion::Turn;
use super::state::ModelState;

/// Turns that the sum is made of.
const FEATURES: usize = 5;
pub(super) type Features = [Turn; FEATURES];

/// Rows of weights, one for each class of acceleration.
const ROWS: usize = 6;
/// Vectors of four weights in a row.
const ROW: usize = 2;
const RATE: f32 = 40.0 / 4096.0;
const MAX_WEIGHT: f32 = 4.0;
/// Added to the squares of the features: 2^-27.
const LEAST_NORM: f32 = 1.0 / (1 << 27) as f32;

/// Index of the weights in the state.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnSum {
    first: usize,
}

impl TurnSum {
    pub(super) fn new(state: &mut ModelState) -> Self {
        let weights = [[57_000, 0, 2_000, 1_000], [3_000, 0, 0, 0]];
        let row = weights.map(|weights| weights.map(|weight| weight as f32 / 65_536.0));
        let first = state.add_weights(&row);
        (1..ROWS).for_each(|_| _ = state.add_weights(&row));
        Self { first }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn weights<'a>(&self, state: &'a mut ModelState, row: usize) -> &'a mut [f32] {
        let first = self.first + row * ROW;
        &mut state.weights[first..first + ROW].as_flattened_mut()[..FEATURES]
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn predict(&self, state: &mut ModelState, row: usize, features: &Features) -> Turn {
        let mut turn = [0.0; 3];
        for (weight, feature) in self.weights(state, row).iter().zip(features) {
            for (turn, feature) in turn.iter_mut().zip(feature) {
                *turn += *weight * *feature;
            }
        }
        turn
    }

    /// Moves the weights so that the errors would have been a little smaller.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn learn(
        &self,
        state: &mut ModelState,
        row: usize,
        features: &Features,
        errors: Turn,
    ) {
        let gains: Turn = core::array::from_fn(|axis| {
            let squares = features.iter().map(|feature| feature[axis] * feature[axis]);
            errors[axis] * RATE / squares.fold(LEAST_NORM, |norm, square| norm + square)
        });
        for (weight, feature) in self.weights(state, row).iter_mut().zip(features) {
            let step = gains[0] * feature[0] + gains[1] * feature[1] + gains[2] * feature[2];
            *weight = (*weight + step).clamp(-MAX_WEIGHT, MAX_WEIGHT);
        }
    }
}
