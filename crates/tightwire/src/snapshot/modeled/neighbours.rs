//! Motions of objects that this packet has already told, for others to move alike.

use alloc::vec::Vec;

use super::quaternion::{IDENTITY, Quaternion, Turn, rotate};

/// How many objects back a neighbour is looked for.
const REACH: usize = 32;
/// As many are compared at once.
const LANES: usize = 8;
/// A space in which nothing is.
const NOWHERE: u32 = u32::MAX;
/// How many references are looked at, at most.
const REFERENCES: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct Motion {
    /// Positions of different spaces have nothing to do with each other.
    pub(super) space: u32,
    pub(super) old: [i64; 3],
    pub(super) new: [i64; 3],
    pub(super) rotation: Quaternion,
    pub(super) turn: Turn,
    /// What the object did beyond its own prediction, 8 fraction bits.
    pub(super) surplus: [i64; 3],
    pub(super) turn_surplus: Turn,
    pub(super) turns: bool,
    /// How far its rotation and position were from what was expected, 8 fraction bits.
    pub(super) errors: [i64; 2],
}

impl Motion {
    pub(super) const NONE: Self = Motion {
        space: 0,
        old: [0; 3],
        new: [0; 3],
        rotation: IDENTITY,
        turn: [0; 3],
        surplus: [0; 3],
        turn_surplus: [0; 3],
        turns: false,
        errors: [0; 2],
    };

    /// Where a point would be now if it were fixed to the object; 8 fraction bits.
    pub(super) fn carry(&self, point: [i64; 3]) -> [i64; 3] {
        let arm = [0, 1, 2].map(|i| (point[i] - self.old[i]) << 8);
        let arm = if self.turns { rotate(&self.rotation, arm) } else { arm };
        [0, 1, 2].map(|i| (self.new[i] << 8) + arm[i])
    }
}

/// The last objects that were told, with their old positions apart for a quick search.
#[derive(Debug, Default)]
pub(super) struct Scene {
    told: Vec<Motion>,
    /// Where the next one goes, once there are as many as are looked at.
    oldest: usize,
    blocks: [Block; REACH / LANES],
    references: Vec<Motion>,
}

/// Old positions in lanes, for vector instructions.
#[derive(Debug, Default)]
struct Block {
    spaces: [u32; LANES],
    axes: [[i32; LANES]; 3],
}

impl Block {
    /// How far all are from a point, by the sum of the axes; the most there is for another space.
    #[inline(always)]
    fn distances(&self, space: u32, [x, y, z]: [i32; 3]) -> [i32; LANES] {
        let [xs, ys, zs] = &self.axes;
        core::array::from_fn(|at| {
            let sum = (xs[at] - x).abs() + (ys[at] - y).abs() + (zs[at] - z).abs();
            if self.spaces[at] == space { sum } else { i32::MAX }
        })
    }
}

impl Scene {
    pub(super) fn clear(&mut self) {
        self.told.clear();
        self.oldest = 0;
        self.references.clear();
        for block in &mut self.blocks {
            block.spaces = [NOWHERE; LANES];
        }
    }

    pub(super) fn tell(&mut self, motion: &Motion, reference: bool) {
        if reference && self.references.len() < REFERENCES {
            self.references.push(*motion);
            return;
        }
        let at = self.oldest;
        self.oldest = (at + 1) % REACH;
        match self.told.get_mut(at) {
            Some(told) => *told = *motion,
            None => self.told.push(*motion),
        }
        let (block, lane) = (&mut self.blocks[at / LANES], at % LANES);
        block.spaces[lane] = motion.space;
        for (lanes, axis) in block.axes.iter_mut().zip(motion.old) {
            lanes[lane] = narrow(axis);
        }
    }

    pub(super) fn reference(&self, space: u32, point: [i64; 3]) -> Option<(&Motion, i64)> {
        nearest(&self.references, space, point)
    }

    /// The nearest (by the sum of the axes, which is cheap) with its squared distance.
    pub(super) fn neighbour(&self, space: u32, point: [i64; 3]) -> Option<(&Motion, i64)> {
        let narrow_point = point.map(narrow);
        // In each lane the nearest of the blocks.
        let (mut least, mut places) = ([i32::MAX; LANES], [0; LANES]);
        let used = self.told.len().div_ceil(LANES);
        for (place, block) in self.blocks.iter().enumerate().take(used) {
            let distances = block.distances(space, narrow_point);
            for lane in 0..LANES {
                let is_nearer = distances[lane] < least[lane];
                least[lane] = if is_nearer { distances[lane] } else { least[lane] };
                places[lane] = if is_nearer { place as i32 } else { places[lane] };
            }
        }
        let nearest = |lane: usize| (least[lane], places[lane], lane);
        let (distance, place, lane) = (0..LANES).map(nearest).min()?;
        let motion = self.told.get(place as usize * LANES + lane)?;
        let square = |axis: usize| (motion.old[axis] - point[axis]).clamp(-1 << 30, 1 << 30).pow(2);
        (distance != i32::MAX).then(|| (motion, square(0) + square(1) + square(2)))
    }
}

/// Class of a squared distance.
pub(super) fn near_class(squared: i64) -> usize {
    // The bounds are 128 and 256 codes.
    usize::from(squared >= 128 * 128) + usize::from(squared >= 256 * 256)
}

/// A coordinate in numbers of which the differences of all axes together fit.
fn narrow(axis: i64) -> i32 {
    axis.clamp(0, 1 << 29) as i32
}

/// The nearest and its distance (the greatest coordinate difference is a fair and cheap one).
fn nearest(motions: &[Motion], space: u32, point: [i64; 3]) -> Option<(&Motion, i64)> {
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
