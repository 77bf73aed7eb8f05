//! The learned tables of numbers, and their initial values.

use super::linear::FEATURES;
use super::mixture::Mixture;
use super::state::ModelState;
use crate::layout::Group;

pub(super) const RECENT: usize = 2;
pub(super) const LINEAR_ROWS: usize = 6;
const HISTORY: u32 = 14;

/// Indices of a group's tables in the state; groups may share tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberTables {
    /// There are more predictions than those from the group's own baseline.
    pub(super) is_rich: bool,
    pub(super) mixture: Mixture,
    /// Mixture of a number without a baseline.
    pub(super) initial: Mixture,
    /// Probabilities that the group keeps its value.
    pub(super) same: usize,
    /// Linear predictors of each component.
    pub(super) linear: usize,
    /// Recent values of each component, then its average.
    pub(super) recent: usize,
}

impl NumberTables {
    pub(super) fn new(state: &mut ModelState, group: &Group, max: &[i64]) -> Self {
        let components = max.len();
        let has_derivative = group.derivative.is_some();
        let is_rich = group.spatial || has_derivative;
        let rows = if is_rich {
            [HISTORY, 8 * 6, 6 * 6, 8 * 4, 6 * 6]
        } else {
            let residual = if components > 1 { 12 * components as u32 } else { 1 };
            [HISTORY, 8 * 3, residual, 1, 6]
        };
        let mixture = Mixture::new(&mut state.params, rows, |table, row, part| {
            if table == 0 { first_guess(group, row, part) } else { (0, 0) }
        });
        let size = (64 - max[0].leading_zeros()) as i16;
        let initial =
            Mixture::new(&mut state.params, [components as u32, 1, 1, 1, 1], |table, _, k| {
                let width = match k {
                    0 | 1 => 0,
                    2 => size * 8,
                    _ => (size - 3) * 16,
                };
                if table == 0 { (0, width) } else { (0, 0) }
            });
        let linear = state.weights.len();
        for _ in 0..LINEAR_ROWS {
            state.add_weights(&first_weights(has_derivative, group.spatial).map(|w| [w; 4]));
        }
        let recent = state.add_recent(&[0; RECENT * 4 + 4]);
        for (component, max) in max.iter().enumerate() {
            state.recent[recent + RECENT * 4 + component] = (max / 2) as i32;
        }
        let same = state.add_bits(6 * 3 * 4);
        Self { is_rich, mixture, initial, same, linear, recent }
    }
}

/// Returns the initial weight and width (base-2 logarithms in 1/16) of a part, by how unsteady the
/// group was.
fn first_guess(group: &Group, row: usize, part: usize) -> (i16, i16) {
    let has_derivative = group.derivative.is_some();
    let is_rich = group.spatial || has_derivative;
    let octave = row.min(12) as i16;
    let log_weight = match part {
        0 if is_rich => -32,
        2 => 32,
        3 if has_derivative || !is_rich => 16,
        6 | 7 if has_derivative => 16,
        _ => 0,
    };
    let log_width = match part {
        0 => -16,
        4 | 5 if !is_rich => -16,
        3 if has_derivative || !is_rich => 48 + octave * 8,
        7 if !is_rich => 128,
        _ => octave * 8 - 8,
    };
    (log_weight, log_width)
}

/// Initial weights, typical of moving objects among others; learning starts from here.
fn first_weights(has_derivative: bool, spatial: bool) -> [f32; FEATURES] {
    let weights = if has_derivative {
        [0, 0, 0, 0, 0, 0, 27_000, 38_000]
    } else if spatial {
        [53_000, -5_000, 0, 14_000, 1_500, 4_000, 0, 0]
    } else {
        [55_000, 0, 0, 0, 0, 0, 0, 0]
    };
    weights.map(|weight| weight as f32 / 65_536.0)
}
