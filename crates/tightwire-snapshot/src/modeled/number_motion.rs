//! Motion of a number over its acked states.

use super::bucket::{bucket, larger};
use super::linear::bounded;
use super::plan::Pace;
use crate::update::AckedState;
use wide::{f32x4, i32x4};

/// Columns of a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    pub(super) first: usize,
    /// Number of components, at most 4.
    pub(super) n: usize,
    pub(super) wraps: bool,
    pub(super) max: [i64; 4],
}

/// Motion of a number; distances have 8 fraction bits, and a lane for each component.
pub(super) struct NumberMotion {
    /// Extrapolations of the motion between the last two states, and between the two before.
    pub(super) last: f32x4,
    pub(super) before: f32x4,
    /// Largest component of `last`, and of the difference of the two.
    pub(super) speed: f32,
    pub(super) acceleration: f32,
    /// Row of the tables for speed and acceleration.
    pub(super) history: usize,
}

impl Columns {
    /// Returns the components of the number.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of<'a>(&self, cells: &'a [u32]) -> &'a [u32] {
        &cells[self.first..self.first + self.n]
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn course(&self, acked: &[AckedState<'_>], pace: &Pace) -> NumberMotion {
        let last = self.motion(acked.get(..2), pace.ratios[0]);
        let before = self.motion(acked.get(1..3), pace.ratios[1]);
        let (speed, acceleration) = (largest(last), largest(last - before));
        let history = match acked.len() {
            1 => 13,
            _ => bucket(acceleration, 12),
        };
        NumberMotion { last, before, speed, acceleration, history }
    }

    /// Returns the classes of how unsteadily and how fast the number was changing.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn motion_classes(&self, acked: &[AckedState<'_>]) -> (usize, usize) {
        let last = self.motion(acked.get(..2), 1.0);
        let before = if acked.len() > 2 { self.motion(acked.get(1..3), 1.0) } else { last };
        (bucket(largest(last - before), 11), bucket(largest(last), 11))
    }

    /// Returns the difference of two values, the shorter way round.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn difference(&self, c: usize, a: u32, b: u32) -> i32 {
        if !self.wraps {
            return a.wrapping_sub(b) as i32;
        }
        let size = self.max[c] + 1;
        let d = (i64::from(a) - i64::from(b)).rem_euclid(size);
        (if d * 2 >= size { d - size } else { d }) as i32
    }

    /// Extrapolates the motion between two states by the factor `ratio`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn motion(&self, states: Option<&[AckedState<'_>]>, ratio: f32) -> f32x4 {
        let Some([newer, older]) = states else { return f32x4::ZERO };
        let (newer, older) = (self.of(newer.cells), self.of(older.cells));
        let mut moved = [0; 4];
        for (c, moved) in moved.iter_mut().enumerate().take(self.n) {
            *moved = self.difference(c, newer[c], older[c]);
        }
        bounded(i32x4::from(moved).round_float() * f32x4::splat(256.0 * ratio))
    }
}

/// Returns the largest magnitude of a lane.
#[cfg_attr(not(debug_assertions), inline(always))]
fn largest(x: f32x4) -> f32 {
    let [a, b, c, d] = x.abs().to_array();
    larger(larger(a, b), larger(c, d))
}
