//! Motions of the objects that this packet has already coded, to predict others from.

use alloc::vec::Vec;

use super::quaternion::{IDENTITY, Quaternion, Turn, rotate};
use wide::f32x8;

/// Number of coded objects, the last ones, among which a neighbour is searched.
const REACH: usize = 32;
/// Number of vectors that have a lane for each of them.
const EIGHTS: usize = REACH / 8;
/// Space of empty entries.
const NOWHERE: f32x8 = f32x8::splat(-1.0);
/// Largest number of references that are searched.
const REFERENCES: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectMotion {
    /// Index of the space: positions of different spaces cannot be compared.
    pub(super) space: u32,
    pub(super) old: [i64; 3],
    /// Motion since the old position, in codes.
    pub(super) moved: [f32; 3],
    pub(super) rotation: Quaternion,
    pub(super) turn: Turn,
    /// Residual of the object's own prediction, 8 fraction bits.
    pub(super) residual: [f32; 3],
    pub(super) turn_residual: Turn,
    pub(super) turns: bool,
    /// Prediction errors of its rotation and position, 8 fraction bits.
    pub(super) errors: [f32; 2],
}

impl ObjectMotion {
    pub(super) const NONE: Self = ObjectMotion {
        space: 0,
        old: [0; 3],
        moved: [0.0; 3],
        rotation: IDENTITY,
        turn: [0.0; 3],
        residual: [0.0; 3],
        turn_residual: [0.0; 3],
        turns: false,
        errors: [0.0; 2],
    };

    /// Returns the motion of a point that is fixed to the object; 8 fraction bits.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn carry(&self, point: [i64; 3]) -> [f32; 3] {
        if !self.turns {
            return self.moved.map(|moved| moved * 256.0);
        }
        let arm = [0, 1, 2].map(|i| (point[i] - self.old[i]) as f32);
        let turned = rotate(&self.rotation, arm);
        [0, 1, 2].map(|i| (self.moved[i] + turned[i] - arm[i]) * 256.0)
    }
}

/// The last coded objects, with their old positions in separate arrays for a fast search.
#[derive(Debug, Default)]
pub(super) struct CodedObjects {
    motions: Vec<ObjectMotion>,
    /// Index of the entry to overwrite next, once there are `REACH`.
    oldest: usize,
    old_positions: OldPositions,
    references: Vec<ObjectMotion>,
}

/// Old positions in lanes, for vector instructions.
#[derive(Debug)]
struct OldPositions {
    spaces: [f32x8; EIGHTS],
    axes: [[f32x8; EIGHTS]; 3],
}

impl Default for OldPositions {
    fn default() -> Self {
        Self { spaces: [NOWHERE; EIGHTS], axes: [[f32x8::ZERO; EIGHTS]; 3] }
    }
}

impl OldPositions {
    fn set(&mut self, at: usize, space: u32, point: [i64; 3]) {
        self.spaces[at / 8].as_mut_array()[at % 8] = space as f32;
        for (lanes, axis) in self.axes.iter_mut().zip(point) {
            lanes[at / 8].as_mut_array()[at % 8] = axis as f32;
        }
    }

    /// Returns the first of the positions that are nearest to a point, by the sum of the distances along the
    /// axes; `None` if no position is of its space.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn nearest(&self, space: u32, point: [i64; 3]) -> Option<usize> {
        let space = f32x8::splat(space as f32);
        let [x, y, z] = point.map(|axis| f32x8::splat(axis as f32));
        let [xs, ys, zs] = &self.axes;
        let distances: [f32x8; EIGHTS] = core::array::from_fn(|at| {
            let sum = (xs[at] - x).abs() + (ys[at] - y).abs() + (zs[at] - z).abs();
            sum + (self.spaces[at].simd_ne(space) & f32x8::splat(f32::INFINITY))
        });
        let least =
            distances.iter().fold(f32x8::splat(f32::INFINITY), |least, d| least.fast_min(*d));
        let least =
            least.to_array().into_iter().fold(f32::INFINITY, |a, b| if b < a { b } else { a });
        let are_least = distances.iter().rev().fold(0, |are_least: u32, d| {
            are_least << 8 | d.simd_eq(f32x8::splat(least)).to_bitmask()
        });
        (least < f32::INFINITY).then_some(are_least.trailing_zeros() as usize)
    }
}

impl CodedObjects {
    pub(super) fn clear(&mut self) {
        self.motions.clear();
        self.oldest = 0;
        self.references.clear();
        self.old_positions.spaces = [NOWHERE; EIGHTS];
    }

    pub(super) fn push(&mut self, motion: &ObjectMotion, reference: bool) {
        if reference && self.references.len() < REFERENCES {
            self.references.push(*motion);
            return;
        }
        let at = self.oldest;
        self.oldest = (at + 1) % REACH;
        match self.motions.get_mut(at) {
            Some(motions) => *motions = *motion,
            None => self.motions.push(*motion),
        }
        self.old_positions.set(at, motion.space, motion.old);
    }

    pub(super) fn reference(&self, space: u32, point: [i64; 3]) -> Option<(&ObjectMotion, i64)> {
        nearest(&self.references, space, point)
    }

    /// Returns the nearest object (by the sum of the axes, which is cheap) with its squared
    /// distance.
    pub(super) fn neighbour(&self, space: u32, point: [i64; 3]) -> Option<(&ObjectMotion, i64)> {
        let motion = self.motions.get(self.old_positions.nearest(space, point)?)?;
        let square = |axis: usize| (motion.old[axis] - point[axis]).clamp(-1 << 30, 1 << 30).pow(2);
        Some((motion, square(0) + square(1) + square(2)))
    }
}

/// Returns the class of a squared distance.
pub(super) fn distance_class(squared: i64) -> usize {
    // The bounds are 128 and 256 codes.
    usize::from(squared >= 128 * 128) + usize::from(squared >= 256 * 256)
}

/// Returns the nearest motion and its distance (by the sum of the axes, which is cheap).
fn nearest(motions: &[ObjectMotion], space: u32, point: [i64; 3]) -> Option<(&ObjectMotion, i64)> {
    let mut best = None;
    let mut least = i64::MAX;
    for (i, motion) in motions.iter().enumerate().filter(|(_, motion)| motion.space == space) {
        let d = (0..3).map(|c| (motion.old[c] - point[c]).abs()).sum::<i64>();
        if d < least {
            (least, best) = (d, Some(i));
        }
    }
    best.map(|i| (&motions[i], least))
}
