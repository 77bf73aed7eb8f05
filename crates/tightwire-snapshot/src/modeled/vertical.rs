//! The vertical axis of the world, learned from its objects.
//!
//! Contexts depend on the height of an object, and a box tumbles over its lowest corner. No hint
//! says which axis is the vertical one. But objects are mostly nearer to the ground, which is the
//! origin, than to the middle of the world, and move less up and down than along the ground. So
//! every object that moves votes for two axes.

/// Votes for each axis, and the axis that won.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Vertical {
    votes: [u32; 3],
    axis: usize,
}

/// Number of votes for an axis at which all votes are halved, so that old ones fade.
const MANY: u32 = 1 << 12;

/// Votes beyond a quarter more by which another axis wins.
const LEAD: u32 = 16;

/// For each vertical axis, the axes in the order of coding: the vertical one is the last, since the
/// motion along the ground tells more about it than the other way round.
const ORDERS: [[usize; 3]; 3] = [[1, 2, 0], [0, 2, 1], [0, 1, 2]];

impl Vertical {
    /// Returns the axes in the order of coding, the vertical one last.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn axes(&self) -> [usize; 3] {
        ORDERS[self.axis]
    }

    /// Counts the votes of an object with these distances from the origin, and these motions.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn learn(&mut self, distances: [i64; 3], motions: [f32; 3]) {
        self.vote(least(distances));
        self.vote(least(motions));
        let [a, b] = [ORDERS[self.axis][0], ORDERS[self.axis][1]];
        let best = if self.votes[a] > self.votes[b] { a } else { b };
        let winner = self.votes[self.axis];
        if self.votes[best] > winner + winner / 4 + LEAD {
            self.axis = best;
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn vote(&mut self, axis: Option<usize>) {
        let Some(axis) = axis else { return };
        self.votes[axis] += 1;
        if self.votes[axis] >= MANY {
            self.votes = self.votes.map(|votes| votes / 2);
        }
    }
}

impl Default for Vertical {
    fn default() -> Self {
        Self { votes: [0; 3], axis: 2 }
    }
}

/// Returns the place of the least number; `None` if there are two, so that no axis is preferred.
#[cfg_attr(not(debug_assertions), inline(always))]
fn least<T: PartialOrd>([x, y, z]: [T; 3]) -> Option<usize> {
    if x < y && x < z {
        Some(0)
    } else if y < x && y < z {
        Some(1)
    } else if z < x && z < y {
        Some(2)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the votes of objects that are near the ground along an axis, and do not move along it.
    fn votes(vertical: &mut Vertical, axis: usize, times: usize) {
        for _ in 0..times {
            let (mut distances, mut motions) = ([900; 3], [7.5; 3]);
            (distances[axis], motions[axis]) = (20, 0.0);
            vertical.learn(distances, motions);
        }
    }

    #[test]
    fn the_axis_along_which_objects_stay_near_the_ground_is_the_last() {
        for axis in [0, 1, 2] {
            let mut vertical = Vertical::default();
            assert_eq!(vertical.axes(), [0, 1, 2]);
            votes(&mut vertical, axis, 20);
            assert_eq!(vertical.axes()[2], axis);
        }
    }

    #[test]
    fn another_axis_wins_by_a_clear_majority_only() {
        let mut vertical = Vertical::default();
        votes(&mut vertical, 2, 100);
        for _ in 0..20_000 {
            votes(&mut vertical, 0, 10);
            votes(&mut vertical, 2, 9);
            assert_eq!(vertical.axes()[2], 2);
        }
        votes(&mut vertical, 0, 4000);
        assert_eq!(vertical.axes()[2], 0, "old votes fade");
    }

    #[test]
    fn an_object_without_a_least_axis_does_not_vote() {
        let mut vertical = Vertical::default();
        for _ in 0..1000 {
            vertical.learn([0, 0, 5], [0.0, 3.0, 0.0]);
        }
        assert_eq!(vertical, Vertical::default());
    }
}
