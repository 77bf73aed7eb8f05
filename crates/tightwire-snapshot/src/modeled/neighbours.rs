//! Motions of the objects that this packet has already coded, to predict others from.

use alloc::vec::Vec;

use super::quaternion::{IDENTITY, Quaternion, Turn, rotate};

/// Number of coded objects, the last ones, among which a neighbour is searched.
const REACH: usize = 32;
/// Space of an empty entry.
const NOWHERE: u32 = u32::MAX;
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
    spaces: [u32; REACH],
    axes: [[i32; REACH]; 3],
}

impl Default for OldPositions {
    fn default() -> Self {
        Self { spaces: [NOWHERE; REACH], axes: [[0; REACH]; 3] }
    }
}

impl OldPositions {
    /// Returns the distances of all positions from a point, by the sum of the axes; the maximum for
    /// another space. Not inlined, since only then the compiler vectorises it.
    #[inline(never)]
    fn distances(&self, space: u32, [x, y, z]: [i32; 3]) -> [i32; REACH] {
        let [xs, ys, zs] = &self.axes;
        let mut distances = [0; REACH];
        for at in 0..REACH {
            let sum = (xs[at] - x).abs() + (ys[at] - y).abs() + (zs[at] - z).abs();
            distances[at] = if self.spaces[at] == space { sum } else { i32::MAX };
        }
        distances
    }
}

impl CodedObjects {
    pub(super) fn clear(&mut self) {
        self.motions.clear();
        self.oldest = 0;
        self.references.clear();
        self.old_positions.spaces = [NOWHERE; REACH];
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
        self.old_positions.spaces[at] = motion.space;
        for (lanes, axis) in self.old_positions.axes.iter_mut().zip(motion.old) {
            lanes[at] = narrow(axis);
        }
    }

    pub(super) fn reference(&self, space: u32, point: [i64; 3]) -> Option<(&ObjectMotion, i64)> {
        nearest(&self.references, space, point)
    }

    /// Returns the nearest object (by the sum of the axes, which is cheap) with its squared
    /// distance.
    pub(super) fn neighbour(&self, space: u32, point: [i64; 3]) -> Option<(&ObjectMotion, i64)> {
        let distances = self.old_positions.distances(space, point.map(narrow));
        let least = distances.iter().fold(i32::MAX, |least, &distance| least.min(distance));
        // First finds the chunk of eight, which is vectorised too.
        let is_least = |distance: &i32| *distance == least;
        let (eights, _) = distances.as_chunks::<8>();
        let eight = |eight: &[i32; 8]| eight.iter().fold(false, |any, d| any | is_least(d));
        let eight = eights.iter().position(eight)?;
        let nearest = eight * 8 + eights[eight].iter().position(is_least)?;
        let motion = self.motions.get(nearest)?;
        let square = |axis: usize| (motion.old[axis] - point[axis]).clamp(-1 << 30, 1 << 30).pow(2);
        (least != i32::MAX).then(|| (motion, square(0) + square(1) + square(2)))
    }
}

/// Returns the class of a squared distance.
pub(super) fn distance_class(squared: i64) -> usize {
    // The bounds are 128 and 256 codes.
    usize::from(squared >= 128 * 128) + usize::from(squared >= 256 * 256)
}

/// Clamps a coordinate so that the sum of the differences of all axes fits.
fn narrow(axis: i64) -> i32 {
    axis.clamp(0, 1 << 29) as i32
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
