//! Motions of objects that this packet has already told, for others to move alike.

use alloc::vec::Vec;

use super::quaternion::{IDENTITY, Quaternion, Turn, rotate};

/// How many objects back a neighbour is looked for.
const REACH: usize = 64;
/// How many neighbours are looked at.
pub(super) const NEAR: usize = 3;
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
#[derive(Debug)]
pub(super) struct Scene {
    told: Vec<Motion>,
    /// Where the next one goes, once there are as many as are looked at.
    oldest: usize,
    spaces: [u32; REACH],
    axes: [[i32; REACH]; 3],
    references: Vec<Motion>,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            told: Vec::new(),
            oldest: 0,
            spaces: [0; REACH],
            axes: [[0; REACH]; 3],
            references: Vec::new(),
        }
    }
}

impl Scene {
    pub(super) fn clear(&mut self) {
        self.told.clear();
        self.oldest = 0;
        self.references.clear();
    }

    pub(super) fn tell(&mut self, motion: Motion, reference: bool) {
        if reference && self.references.len() < REFERENCES {
            self.references.push(motion);
            return;
        }
        let at = self.oldest;
        self.oldest = (at + 1) % REACH;
        match self.told.get_mut(at) {
            Some(told) => *told = motion,
            None => self.told.push(motion),
        }
        self.spaces[at] = motion.space;
        for (lanes, axis) in self.axes.iter_mut().zip(motion.old) {
            lanes[at] = narrow(axis);
        }
    }

    /// How far all that were told were from a point, by the sum of the axes; the most there is for
    /// another space. In lanes, for vector instructions.
    fn distances(&self, space: u32, point: [i64; 3]) -> [i32; REACH] {
        let [x, y, z] = point.map(narrow);
        let [xs, ys, zs] = &self.axes;
        let mut distances = [0; REACH];
        for at in 0..self.told.len().min(REACH) {
            let sum = (xs[at] - x).abs() + (ys[at] - y).abs() + (zs[at] - z).abs();
            distances[at] = if self.spaces[at] == space { sum } else { i32::MAX };
        }
        distances
    }

    pub(super) fn reference(&self, space: u32, point: [i64; 3]) -> Option<(&Motion, i64)> {
        nearest(&self.references, space, point)
    }

    /// The nearest few (by the sum of the axes, which is cheap) with their squared distances, nearest
    /// first; missing ones are None.
    pub(super) fn neighbours(&self, space: u32, point: [i64; 3]) -> Near<'_> {
        let distances = self.distances(space, point);
        let mut best = [(i32::MAX, 0usize); NEAR];
        for (at, &distance) in distances.iter().take(self.told.len()).enumerate() {
            if distance < best[NEAR - 1].0 {
                best[NEAR - 1] = (distance, at);
                for rank in (1..NEAR).rev() {
                    if best[rank].0 < best[rank - 1].0 {
                        best.swap(rank, rank - 1);
                    }
                }
            }
        }
        best.map(|(distance, at)| {
            let motion = self.told.get(at).filter(|_| distance != i32::MAX)?;
            let square =
                |axis: usize| (motion.old[axis] - point[axis]).clamp(-1 << 30, 1 << 30).pow(2);
            Some((motion, square(0) + square(1) + square(2)))
        })
    }
}

pub(super) type Near<'a> = [Option<(&'a Motion, i64)>; NEAR];

/// Class of a squared distance.
pub(super) fn near_class(squared: i64) -> usize {
    // The bounds are 128 and 256 codes.
    usize::from(squared >= 128 * 128) + usize::from(squared >= 256 * 256)
}

/// How much each neighbour counts, the nearer the more; 8 fraction bits of all.
pub(super) fn shares(near: &Near) -> [i64; NEAR] {
    let Some((_, least)) = near[0] else { return [0; NEAR] };
    let raw = near.map(|n| {
        n.map_or(0, |(_, d)| (((least.min(1 << 50) + 64) << 8) / (d.min(1 << 50) + 64)).max(1))
    });
    let all: i64 = raw.iter().sum();
    raw.map(|w| (w << 8) / all)
}

/// What the neighbours did on average.
pub(super) fn average(
    near: &Near,
    shares: &[i64; NEAR],
    of: impl Fn(&Motion) -> [i64; 3],
) -> [i64; 3] {
    let mut sum = [0; 3];
    for (n, share) in near.iter().zip(shares) {
        if let Some((m, _)) = n {
            let x = of(m);
            for c in 0..3 {
                sum[c] += x[c].clamp(-1 << 44, 1 << 44) * share;
            }
        }
    }
    sum.map(|s| s >> 8)
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
