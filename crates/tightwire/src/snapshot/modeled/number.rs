//! Numbers: integers, quantised floats and vectors.

use super::fixed::{FRACTION, ONE, bucket};
use super::linear::{self, FEATURES, MOST};
use super::mixture::{Forecast, Mixture};
use super::neighbours::{average, near_class};
use super::plan::Now;
use super::quaternion::Matrix;
use super::range_coder::Coder;
use super::state::{State, code_bit};
use crate::snapshot::layout::{Derivative, Group, Layout};
use crate::snapshot::mention::Past;

/// Parts of the mixture.
const PARTS: usize = 8;
/// Parts of the mixture of a number without a past.
const FRESH: usize = 5;
const RECENT: usize = 2;
const LINEAR_ROWS: usize = 6;
const HISTORY: usize = 14;

#[derive(Clone, Debug)]
pub(super) struct NumberPlan {
    first: usize,
    n: usize,
    wraps: bool,
    max: [i64; 4],
    /// The code that means zero, of a position: the ground, for things that stand on it.
    origin: i64,
    pub(super) spatial: bool,
    derivative: Option<(Derivative, usize)>,
    tables: NumberTables,
}

/// Where in the state what is learned about a group is; groups may have that in common.
#[derive(Clone, Copy, Debug)]
struct NumberTables {
    /// There are more hypotheses than those of the group's own past.
    is_rich: bool,
    mixture: Mixture<PARTS>,
    fresh: Mixture<FRESH>,
    same: usize,
    linear: usize,
    recent: usize,
}

impl NumberTables {
    fn new(state: &mut State, group: &Group, max: &[i64]) -> Self {
        let components = max.len();
        let has_derivative = group.derivative.is_some();
        let is_rich = group.spatial || has_derivative;
        let rows = if is_rich {
            [HISTORY, 8 * 6, 12 * components, 8 * 4, 6 * 6, components]
        } else {
            let residual = if components > 1 { 12 * components } else { 1 };
            [HISTORY, 8 * 3, residual, 1, 6, components]
        };
        let mixture = Mixture::new(&mut state.params, rows, |table, row, part| {
            if table == 0 { first_guess(is_rich, has_derivative, row, part) } else { (0, 0) }
        });
        let size = (64 - max[0].leading_zeros()) as i16;
        let fresh = Mixture::new(&mut state.params, [components, 1, 1, 1, 1, 1], |table, _, k| {
            let width = match k {
                0 | 1 => 0,
                2 => size * 8,
                _ => (size - 3) * 16,
            };
            if table == 0 { (0, width) } else { (0, 0) }
        });
        let linear = state.linear.len();
        for _ in 0..components * LINEAR_ROWS {
            state.add_linear(&first_weights(has_derivative, group.spatial));
        }
        let recent = state.add_linear(&[0; RECENT * 4 + 4]);
        for (component, max) in max.iter().enumerate() {
            state.linear[recent + RECENT * 4 + component] = (max / 2) as i32;
        }
        let same = state.add_bits(6 * 3 * 4);
        Self { is_rich, mixture, fresh, same, linear, recent }
    }
}

/// The weight and the width (base-2 logarithms in 1/16) that a part begins with, by how unsteady the
/// group was.
fn first_guess(is_rich: bool, has_derivative: bool, row: usize, part: usize) -> (i16, i16) {
    let octave = row.min(12) as i16;
    let log_weight = match part {
        2 => 32,
        3 => 16,
        6 | 7 if has_derivative => 16,
        _ => 0,
    };
    let log_width = match part {
        0 => -16,
        4 | 5 if !is_rich => -16,
        3 => 48 + octave * 8,
        7 if !is_rich => 128,
        _ => octave * 8 - 8,
    };
    (log_weight, log_width)
}

/// Typical of moving things among others; learning starts from here.
fn first_weights(has_derivative: bool, spatial: bool) -> [i32; FEATURES] {
    if has_derivative {
        [0, 0, 0, 0, 0, 0, 27000, 38000]
    } else if spatial {
        [53000, -5000, 0, 14000, 1500, 4000, 0, 0]
    } else {
        [55000, 0, 0, 0, 0, 0, 0, 0]
    }
}

impl NumberPlan {
    /// With the tables of another group, or new ones.
    pub(super) fn new(
        state: &mut State,
        layout: &Layout,
        group: &Group,
        wraps: bool,
        like: Option<&Self>,
    ) -> Self {
        let n = group.kind.width();
        let mut max = [0; 4];
        for (max, column) in max.iter_mut().zip(&layout.columns[group.columns()]) {
            *max = i64::from(column.max);
        }
        let tables = match like {
            Some(other) => other.tables,
            None => NumberTables::new(state, group, &max[..n]),
        };
        let derivative = group.derivative.map(|d| (d, layout.groups[d.group].first));
        Self {
            first: group.first,
            n,
            wraps,
            max,
            origin: group.origin.clamp(0, 1 << 32),
            spatial: group.spatial,
            derivative,
            tables,
        }
    }

    /// Whether a group could have the same tables.
    pub(super) fn is_like(&self, group: &Group) -> bool {
        self.n == group.kind.width()
            && self.spatial == group.spatial
            && self.derivative.is_some() == group.derivative.is_some()
    }

    /// Classes of how unsteadily and how fast the group was changing.
    pub(super) fn restlessness(&self, past: &[Past<'_>]) -> (usize, usize) {
        let (mut speed, mut unrest) = (0, 0);
        if let [a, b, rest @ ..] = past {
            for c in 0..self.n {
                let at = self.first + c;
                let v = self.difference(c, a.cells[at], b.cells[at]);
                speed = speed.max(v.abs());
                if let Some(d) = rest.first() {
                    unrest = unrest.max((v - self.difference(c, b.cells[at], d.cells[at])).abs());
                }
            }
        }
        (bucket(unrest << 8, 11), bucket(speed << 8, 11))
    }

    /// The difference to a value, the short way round.
    fn difference(&self, c: usize, a: u32, b: u32) -> i64 {
        let d = a as i64 - b as i64;
        if !self.wraps {
            return d;
        }
        let size = self.max[c] + 1;
        let d = d.rem_euclid(size);
        if d * 2 >= size { d - size } else { d }
    }

    /// How far the group would move in `horizon` ticks if it went on as between two states.
    fn motion(&self, states: Option<&[Past<'_>]>, horizon: i64) -> [i64; 4] {
        let Some([newer, older]) = states else { return [0; 4] };
        let ticks = (i64::from(older.age) - i64::from(newer.age)).max(1);
        let mut motion = [0; 4];
        for (c, motion) in motion.iter_mut().enumerate().take(self.n) {
            let at = self.first + c;
            let moved = self.difference(c, newer.cells[at], older.cells[at]);
            *motion = (moved * ONE * horizon / ticks).clamp(-MOST, MOST);
        }
        motion
    }

    pub(super) fn code<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
        cells: &mut [u32],
        past: &[Past<'_>],
        now: &mut Now<'_>,
    ) {
        if past.is_empty() {
            self.code_fresh(coder, state, cells);
            return;
        }
        let n = self.n;
        let derivative = self.derivative.filter(|_| now.has_derivative);
        let horizon = past[0].age.min(1 << 16) as i64;
        let d0 = self.motion(past.get(..2), horizon);
        let d1 = self.motion(past.get(1..3), horizon);
        let speed = d0.iter().map(|d| d.abs()).max().unwrap_or(0);
        let unrest = (0..4).map(|c| (d0[c] - d1[c]).abs()).max().unwrap_or(0);
        let history = match past.len() {
            1 => 13,
            _ => bucket(unrest, 12),
        };
        let kept = (0..n).all(|c| cells[self.first + c] == past[0].cells[self.first + c]);
        let slot = self.tables.same
            + (bucket(speed, 10) / 2 * 3 + now.kept) * 4
            + bucket(now.surprise, 7).saturating_sub(1) / 2;
        if code_bit(coder, &mut state.bits[slot], 127, kept) {
            let range = self.first..self.first + n;
            cells[range.clone()].copy_from_slice(&past[0].cells[range]);
            now.kept = now.kept.max(1);
            if self.spatial {
                for c in 0..n.min(3) {
                    now.motion.new[c] = cells[self.first + c] as i64;
                    now.motion.surplus[c] = -d0[c];
                }
            }
            return;
        }
        now.kept = 2;
        let old: [i64; 4] =
            core::array::from_fn(|c| if c < n { past[0].cells[self.first + c] as i64 } else { 0 });
        let mut residual = 0;
        let mut previous: Option<(i64, i64)> = None;
        let carried = if self.spatial {
            now.reference.map(|r| r.0.carry([old[0], old[1], old[2]]))
        } else {
            None
        };
        let beside = if self.spatial {
            now.neighbour.map(|r| r.0.carry([old[0], old[1], old[2]]))
        } else {
            None
        };
        let point = [old[0], old[1], old[2]];
        let crowd = now
            .neighbour
            .filter(|_| self.spatial)
            .map(|_| average(&now.near, &now.shares, |m| m.carry(point)));
        let pivot = now.turned.filter(|_| self.spatial && derivative.is_none());
        let pivot = pivot.map(|(before, after)| tumble(old[2] - self.origin, &before, &after));
        let around = if now.neighbour.is_none() { 7 } else { now.around(1) };
        let near = now.neighbour.map_or(3, |(_, d)| near_class(d));
        let surplus = now.crowd.surplus;
        for c in 0..n {
            let at = self.first + c;
            let base = old[c] << 8;
            let moving = self.spatial && c < 3;
            let mut features = [d0[c], d1[c], 4 * ONE, 0, 0, 0, 0, 0];
            if moving {
                features[3] = surplus[c].clamp(-MOST, MOST);
                features[4] = crowd.map_or(0, |p| (p[c] - base).clamp(-MOST, MOST));
                features[5] = carried.map_or(0, |p| (p[c] - base).clamp(-MOST, MOST));
            }
            if let Some((d, first)) = derivative {
                features[6] =
                    ((per_tick(&d, past[0].cells[first + c]) * horizon) >> 8).clamp(-MOST, MOST);
                features[7] = ((per_tick(&d, cells[first + c]) * horizon) >> 8).clamp(-MOST, MOST);
            }
            let row = self.tables.linear + (c * LINEAR_ROWS + bucket(unrest, 11) / 2) * FEATURES;
            let blend = linear::predict(&state.linear[row..row + FEATURES], &features);
            let surprise = bucket(now.surprise, 7);
            let residual_row = if c == 0 { 11 * n } else { bucket(residual, 10) * n + c };
            let rich = self.tables.is_rich;
            let rows = if rich {
                [
                    history,
                    bucket(d0[c], 11).saturating_sub(2).min(7) * 6 + surprise.saturating_sub(2),
                    residual_row,
                    around * 4 + near,
                    now.other.0 / 2 * 6 + now.other.1 / 2,
                    c,
                ]
            } else {
                [
                    history,
                    bucket(d0[c], 11).saturating_sub(2).min(7) * 3 + (surprise / 3).min(2),
                    residual_row,
                    0,
                    now.other.0 / 2,
                    c,
                ]
            };
            let mut f = Forecast::<PARTS>::new(rows, self.max[c]);
            f.add(0, base);
            f.add(1, base + d0[c]);
            f.add(2, base + blend);
            f.add(3, base + blend);
            let recent = self.tables.recent + c;
            if rich {
                if moving {
                    if let Some(p) = carried.or(crowd) {
                        f.add(4, p[c]);
                    }
                    if let Some(p) = beside {
                        f.add(5, p[c]);
                    }
                    if let Some(p) = pivot {
                        f.add(7, base + p[c]);
                    }
                }
                if derivative.is_some() {
                    f.add(6, base + features[7]);
                    f.add(7, base + (features[6] + features[7]) / 2);
                } else {
                    f.add(6, base + d0[c] + features[3]);
                }
            } else {
                f.add(4, (state.linear[recent] as u32 as i64) << 8);
                f.add(5, (state.linear[recent + 4] as u32 as i64) << 8);
                if let Some((d, r)) = previous
                    && d.abs() > 2 * ONE
                {
                    f.add(6, base + d0[c] * r.clamp(-2 * d.abs(), 2 * d.abs()) / d);
                }
                f.add(7, base);
            }
            let mut offset = 0;
            if self.wraps {
                // The window of one circle around the prediction; other hypotheses are brought into it.
                let size = self.max[c] + 1;
                offset = ((base + blend) >> 8) - size / 2;
                for k in 0..PARTS {
                    f.means[k] = (f.means[k] - (offset << 8)).rem_euclid(size << 8);
                }
            }
            let size = self.max[c] + 1;
            let value = if self.wraps {
                (cells[at] as i64 - offset).rem_euclid(size)
            } else {
                cells[at] as i64
            };
            let value = self.tables.mixture.code(coder, &mut state.params, &f, value);
            let value = if self.wraps { (value + offset).rem_euclid(size) } else { value };
            cells[at] = value as u32;
            let moved = self.difference(c, cells[at], old[c] as u32) * ONE;
            let error = moved - blend;
            let limit = 4 * (d0[c] - d1[c]).abs() + 8 * ONE;
            linear::learn(
                &mut state.linear[row..row + FEATURES],
                &features,
                error.clamp(-limit, limit),
                120,
            );
            residual = residual.max(error.abs());
            if previous.is_none_or(|p| p.0.abs() < d0[c].abs()) {
                previous = Some((d0[c], moved));
            }
            self.remember(state, c, value);
            if self.spatial && c < 3 {
                now.motion.new[c] = value;
                now.motion.surplus[c] = (moved - d0[c]).clamp(-MOST, MOST);
            }
        }
        if self.spatial {
            now.motion.errors[1] = residual;
        }
        now.surprise = now.surprise.max(residual);
    }

    fn code_fresh<C: Coder>(&self, coder: &mut C, state: &mut State, cells: &mut [u32]) {
        for c in 0..self.n {
            let recent = self.tables.recent + c;
            let average_at = self.tables.recent + RECENT * 4 + c;
            let average = i64::from(state.linear[average_at] as u32);
            let [newest, before] =
                [recent, recent + 4].map(|at| i64::from(state.linear[at] as u32));
            let mut forecast = Forecast::<FRESH>::new([c, 0, 0, 0, 0, 0], self.max[c]);
            let means = [newest, before, newest, average, self.max[c] / 2];
            for (part, mean) in means.into_iter().enumerate() {
                forecast.add(part, mean << FRACTION);
            }
            let at = self.first + c;
            let value =
                self.tables.fresh.code(coder, &mut state.params, &forecast, i64::from(cells[at]));
            cells[at] = value as u32;
            state.linear[average_at] = (average + (value - average) / 16) as i32;
            self.remember(state, c, value);
        }
    }

    /// The values of late, of which one may come again.
    fn remember(&self, state: &mut State, component: usize, value: i64) {
        let recent = self.tables.recent + component;
        if state.linear[recent] != value as i32 {
            state.linear[recent + 4] = state.linear[recent];
            state.linear[recent] = value as i32;
        }
    }
}

/// How far the middle of a box moves that tumbles on its lowest corner, 8 fraction bits.
fn tumble(height: i64, before: &Matrix, after: &Matrix) -> [i64; 3] {
    let upright: i64 = before[2].iter().map(|x| x.abs()).sum();
    let half = ((height.max(0) << 16) / (upright >> 14).max(1)).min(1 << 28); // codes
    let corner = after[2].map(|x| if x > 0 { -half } else { half });
    core::array::from_fn(|row| {
        let moved = |axis: usize| ((before[row][axis] - after[row][axis]) >> 10) * corner[axis];
        (moved(0) + moved(1) + moved(2)) >> 12
    })
}

/// Codes per tick that a velocity means, 16 fraction bits.
fn per_tick(d: &Derivative, code: u32) -> i64 {
    let velocity = (((code as i128) << 32) - d.zero as i128) >> 1; // 31 fraction bits
    ((velocity * d.scale as i128) >> 47).clamp(-1 << 36, 1 << 36) as i64
}
