//! Motion of a number over its acked states.

use alloc::vec::Vec;

use super::bucket::{bucket, bucket_of_exponent, larger};
use super::linear::{MAX_FEATURE, bounded};
use super::plan::Pace;
use crate::update::AckedState;
use wide::{bytemuck, f32x4, i32x4, u32x4};

/// Columns of a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    pub(super) first: usize,
    /// Number of components, at most 4.
    pub(super) n: usize,
    pub(super) wraps: bool,
    pub(super) max: [i64; 4],
    /// All bits of the lanes of components.
    lanes: i32x4,
}

/// Motion of a number; distances have 8 fraction bits, and a lane for each component.
pub(super) struct NumberMotion {
    /// Extrapolations of the motion between the last two states, and between the two before.
    pub(super) last: f32x4,
    pub(super) before: f32x4,
}

/// Classes of the largest component of a number's motion, and of the difference to the motion before.
#[derive(Clone, Copy)]
pub(super) struct MotionClass {
    speed: u32,
    acceleration: u32,
}

/// Motions of an object's columns between its acked states. All are computed at once, since most groups have
/// one column and keep their values. Without a second or third state, there is no motion.
#[derive(Debug, Default)]
pub(super) struct ColumnMotions {
    /// Extrapolations of the motion between the last two states, and between the two before, with 8 fraction
    /// bits.
    last: Vec<[f32; 4]>,
    before: Vec<[f32; 4]>,
    /// Exponents of `last`, and of the difference of the two.
    speeds: Vec<[u32; 4]>,
    accelerations: Vec<[u32; 4]>,
    /// Number of acked states.
    states: usize,
}

impl ColumnMotions {
    /// Computes the motions of an object. `wrapping` are its numbers that wrap.
    pub(super) fn set(&mut self, acked: &[AckedState<'_>], wrapping: &[Columns], pace: &Pace) {
        self.states = acked.len();
        let Some(newest) = acked.first() else { return };
        let second = acked.get(1).unwrap_or(newest);
        let states = [newest, second, acked.get(2).unwrap_or(second)].map(|state| state.cells);
        // A number may begin in the last vector.
        let vectors = newest.cells.len().div_ceil(4);
        if self.last.len() <= vectors {
            self.grow(vectors + 1);
        }
        let ratios = pace.ratios.map(|ratio| f32x4::splat(256.0 * ratio));
        let [(newest, newest_rest), (second, second_rest), (third, third_rest)] =
            states.map(|cells| cells.as_chunks::<4>());
        for (at, newest) in newest.iter().enumerate() {
            let (Some(second), Some(third)) = (second.get(at), third.get(at)) else { return };
            self.extrapolate(at, [newest, second, third], ratios);
        }
        if !newest_rest.is_empty() {
            let rest = [newest_rest, second_rest, third_rest].map(|cells| {
                let [a, b, c] = [0, 1, 2].map(|c| cells.get(c).copied().unwrap_or(0));
                [a, b, c, 0]
            });
            self.extrapolate(newest.len(), rest.each_ref(), ratios);
        }
        for number in wrapping {
            self.wrap(number, states, pace);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn extrapolate(&mut self, at: usize, states: [&[u32; 4]; 3], ratios: [f32x4; 2]) {
        let [newest, second, third] =
            states.map(|cells| i32x4::from(cells.map(|cell| cell as i32)));
        let last = bounded((newest - second).round_float() * ratios[0]);
        let before = bounded((second - third).round_float() * ratios[1]);
        self.last[at] = last.to_array();
        self.before[at] = before.to_array();
        self.speeds[at] = exponents(last).to_array();
        self.accelerations[at] = exponents(last - before).to_array();
    }

    /// Computes the motions of a number that wraps, the shorter way round.
    fn wrap(&mut self, number: &Columns, [newest, second, third]: [&[u32]; 3], pace: &Pace) {
        for c in 0..number.n {
            let column = number.first + c;
            let [newest, second, third] = [newest, second, third].map(|cells| cells[column]);
            let differences = [(newest, second), (second, third)];
            let [last, before] = [0, 1].map(|place| {
                let (newer, older) = differences[place];
                let difference = number.difference(c, newer, older) as f32;
                (difference * (256.0 * pace.ratios[place])).clamp(-MAX_FEATURE, MAX_FEATURE)
            });
            self.last.as_flattened_mut()[column] = last;
            self.before.as_flattened_mut()[column] = before;
            self.speeds.as_flattened_mut()[column] = exponent(last);
            self.accelerations.as_flattened_mut()[column] = exponent(last - before);
        }
    }

    #[cold]
    fn grow(&mut self, vectors: usize) {
        self.last.resize(vectors, [0.0; 4]);
        self.before.resize(vectors, [0.0; 4]);
        self.speeds.resize(vectors, [0; 4]);
        self.accelerations.resize(vectors, [0; 4]);
    }

    /// Returns whether the value of a column differs between the newest two acked states.
    pub(super) fn has_changed(&self, column: usize) -> bool {
        self.last.as_flattened()[column] != 0.0
    }
}

/// Returns the exponent of a number.
fn exponent(x: f32) -> u32 {
    x.to_bits() >> 23 & 255
}

/// Returns the exponents of numbers.
#[cfg_attr(not(debug_assertions), inline(always))]
fn exponents(x: f32x4) -> u32x4 {
    let bits: u32x4 = bytemuck::cast(x);
    (bits << 1) >> 24
}

impl MotionClass {
    /// Returns the class of the speed as [`bucket`] does.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn speed(self, most: usize) -> usize {
        bucket_of_exponent(self.speed, most)
    }

    /// Returns the class of the difference of the motions as [`bucket`] does.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn acceleration(self, most: usize) -> usize {
        bucket_of_exponent(self.acceleration, most)
    }
}

impl Columns {
    pub(super) fn new(first: usize, n: usize, wraps: bool, max: [i64; 4]) -> Self {
        let lanes = i32x4::from([0, 1, 2, 3].map(|c| if c < n { -1 } else { 0 }));
        Self { first, n, wraps, max, lanes }
    }

    /// Returns the components of the number.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of<'a>(&self, cells: &'a [u32]) -> &'a [u32] {
        &cells[self.first..self.first + self.n]
    }

    /// Compares the components of the number in two rows.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_same(&self, one: &[u32], other: &[u32]) -> bool {
        match self.n {
            1 => one[self.first] == other[self.first],
            3 => one[self.first..].first_chunk::<3>() == other[self.first..].first_chunk::<3>(),
            _ => self.of(one) == self.of(other),
        }
    }

    /// Returns the classes of the number's motion.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn class(&self, motions: &ColumnMotions) -> MotionClass {
        let [speeds, accelerations] =
            [&motions.speeds, &motions.accelerations].map(|exponents| exponents.as_flattened());
        match self.n {
            1 => {
                let at = self.first;
                MotionClass { speed: speeds[at], acceleration: accelerations[at] }
            }
            _ => MotionClass {
                speed: self.largest(speeds),
                acceleration: self.largest(accelerations),
            },
        }
    }

    /// Returns the largest exponent of the components.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn largest(&self, exponents: &[u32]) -> u32 {
        let [a, b, c, d] = exponents[self.first..].first_chunk().copied().unwrap_or_default();
        let [_, _, third, fourth] = self.lanes.to_array();
        a.max(b).max(c & third as u32).max(d & fourth as u32)
    }

    /// Returns the motion of the number.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn course(&self, motions: &ColumnMotions) -> NumberMotion {
        let [last, before] = [&motions.last, &motions.before].map(|motions| {
            let motion = motions.as_flattened()[self.first..]
                .first_chunk::<4>()
                .copied()
                .unwrap_or_default();
            f32x4::from(motion) & bytemuck::cast::<_, f32x4>(self.lanes)
        });
        NumberMotion { last, before }
    }

    /// Returns the row of the tables for speed and acceleration.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn history(&self, motions: &ColumnMotions, class: MotionClass) -> usize {
        if motions.states == 1 { 13 } else { class.acceleration(12) }
    }

    /// Returns the classes of how unsteadily and how fast the number was changing.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn motion_classes(&self, acked: &[AckedState<'_>]) -> (usize, usize) {
        let [Some(newest), Some(second)] = [acked.first(), acked.get(1)] else { return (0, 0) };
        let last = self.motion(newest, second);
        let before = acked.get(2).map_or(last, |third| self.motion(second, third));
        (bucket(largest(last - before), 11), bucket(largest(last), 11))
    }

    /// Returns the motion between two states, with 8 fraction bits.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn motion(&self, newer: &AckedState<'_>, older: &AckedState<'_>) -> f32x4 {
        let (newer, older) = (self.of(newer.cells), self.of(older.cells));
        let mut moved = [0; 4];
        if let (&[a, b, c], &[d, e, f]) = (newer, older) {
            let difference = |c, newer, older| self.difference(c, newer, older);
            moved = [difference(0, a, d), difference(1, b, e), difference(2, c, f), 0];
        } else {
            for (c, (newer, older)) in newer.iter().zip(older).enumerate() {
                moved[c] = self.difference(c, *newer, *older);
            }
        }
        i32x4::from(moved).round_float() * f32x4::splat(256.0)
    }

    /// Returns the difference of two values, the shorter way round.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn difference(&self, c: usize, a: u32, b: u32) -> i32 {
        if !self.wraps {
            return a.wrapping_sub(b) as i32;
        }
        let size = self.max[c] + 1;
        let d = i64::from(a) - i64::from(b);
        let d = if d < 0 { d + size } else { d };
        (if d * 2 >= size { d - size } else { d }) as i32
    }
}

/// Returns the largest magnitude of a lane.
#[cfg_attr(not(debug_assertions), inline(always))]
fn largest(x: f32x4) -> f32 {
    let [a, b, c, d] = x.abs().to_array();
    larger(larger(a, b), larger(c, d))
}
