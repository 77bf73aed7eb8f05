//! Numbers: integers, quantised floats and vectors.

use super::fixed::{FRACTION, ONE, bucket};
use super::linear::{self, FEATURES, MAX_FEATURE, Used};
use super::mixture::{Forecast, TABLES};
use super::neighbour_prediction::NeighbourPrediction;
use super::number_tables::{LINEAR_ROWS, NumberTables, RECENT};
use super::plan::{ObjectContext, Pace};
use super::range_coder::Coder;
use super::state::State;
use crate::layout::{Derivative, Group, Layout};
use crate::update::AckedState;

#[derive(Clone, Debug)]
pub(super) struct NumberPlan {
    first: usize,
    n: usize,
    wraps: bool,
    max: [i64; 4],
    /// Code that means zero, of a position: the ground, for objects that stand on it.
    origin: i64,
    pub(super) spatial: bool,
    derivative: Option<(Derivative, usize)>,
    tables: NumberTables,
}

/// Motion of a group over its baseline states; distances have 8 fraction bits.
struct Course {
    /// Extrapolations of the motion between the last two states, and between the two before.
    last: [i64; 4],
    before: [i64; 4],
    /// Largest component of `last`, and of the difference of the two.
    speed: i64,
    acceleration: i64,
    /// Row of the tables for speed and acceleration.
    history: usize,
}

impl NumberPlan {
    /// Creates a plan with the tables of another group, or with new ones.
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

    /// Whether a group can share the tables.
    pub(super) fn is_like(&self, group: &Group) -> bool {
        self.n == group.kind.width()
            && self.spatial == group.spatial
            && self.derivative.is_some() == group.derivative.is_some()
    }

    /// Returns the classes of how unsteadily and how fast the group was changing.
    pub(super) fn motion_classes(&self, acked: &[AckedState<'_>]) -> (usize, usize) {
        let (mut speed, mut acceleration) = (0, 0);
        if let [a, b, rest @ ..] = acked {
            for c in 0..self.n {
                let at = self.first + c;
                let v = self.difference(c, a.cells[at], b.cells[at]);
                speed = speed.max(v.abs());
                if let Some(d) = rest.first() {
                    acceleration =
                        acceleration.max((v - self.difference(c, b.cells[at], d.cells[at])).abs());
                }
            }
        }
        (bucket(acceleration << 8, 11), bucket(speed << 8, 11))
    }

    /// Returns the difference of two values, the shorter way round.
    fn difference(&self, c: usize, a: u32, b: u32) -> i64 {
        let d = a as i64 - b as i64;
        if !self.wraps {
            return d;
        }
        let size = self.max[c] + 1;
        let d = d.rem_euclid(size);
        if d * 2 >= size { d - size } else { d }
    }

    /// Extrapolates the motion between two states by the factor `ratio`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn motion(&self, states: Option<&[AckedState<'_>]>, ratio: i64) -> [i64; 4] {
        let Some([newer, older]) = states else { return [0; 4] };
        let mut motion = [0; 4];
        for (c, motion) in motion.iter_mut().enumerate().take(self.n) {
            let at = self.first + c;
            let moved = self.difference(c, newer.cells[at], older.cells[at]);
            let moved = (moved * ONE).clamp(-4 * MAX_FEATURE, 4 * MAX_FEATURE);
            *motion = ((moved * ratio) >> 16).clamp(-MAX_FEATURE, MAX_FEATURE);
        }
        motion
    }

    pub(super) fn code<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
        cells: &mut [u32],
        acked: &[AckedState<'_>],
        context: &mut ObjectContext<'_>,
    ) {
        let Some(newest) = acked.first() else {
            self.code_without_baseline(coder, state, cells);
            return;
        };
        let course = self.course(acked, &context.pace);
        let range = self.first..self.first + self.n;
        let is_kept = cells[range.clone()] == newest.cells[range];
        if context.code_kept(coder, &mut state.bits[self.tables.same..], course.speed, is_kept) {
            return self.keep(cells, newest, &course, context);
        }
        let n = self.n;
        let derivative = self.derivative.filter(|_| context.has_derivative);
        let old: [i64; 4] =
            core::array::from_fn(|c| if c < n { newest.cells[self.first + c] as i64 } else { 0 });
        let neighbours = match self.spatial {
            true => NeighbourPrediction::of_position(
                context,
                [old[0], old[1], old[2]],
                self.origin,
                derivative.is_some(),
            ),
            false => NeighbourPrediction::of_number(context),
        };
        // The features behind these are 0.
        let used = match (derivative, self.spatial) {
            (Some(_), _) => Used::All,
            (None, true) => Used::Six,
            (None, false) => Used::Three,
        };
        let mut residual = 0;
        let mut previous: Option<(i64, i64)> = None;
        for c in 0..n {
            let at = self.first + c;
            let mut features = self.features(c, old[c] << 8, &course, &neighbours);
            if let Some((d, first)) = derivative {
                let way = |cells: &[u32]| {
                    let per_tick = per_tick(&d, cells[first + c]);
                    ((per_tick * context.pace.horizon) >> 8).clamp(-MAX_FEATURE, MAX_FEATURE)
                };
                (features[6], features[7]) = (way(newest.cells), way(cells));
            }
            let row = self.tables.linear
                + (c * LINEAR_ROWS + bucket(course.acceleration, 11) / 2) * FEATURES;
            let blend = linear::predict(&state.linear[row..row + FEATURES], &features, used);
            let rows = self.rows(c, old[2], residual, &course, &neighbours, context);
            let mut forecast = Forecast::new(rows, self.max[c]);
            let base = old[c] << 8;
            forecast.add(0, base);
            forecast.add(1, base + course.last[c]);
            forecast.add(2, base + blend);
            // A falling or pushed object keeps accelerating; other numbers have a wide part
            // instead.
            let accelerated = 2 * course.last[c] - course.before[c];
            let is_body = self.spatial && derivative.is_none();
            forecast.add(3, base + if is_body { accelerated } else { blend });
            if self.tables.is_rich {
                if self.spatial && c < 3 {
                    neighbours.add_to(&mut forecast, c, base);
                }
                if derivative.is_some() {
                    forecast.add(6, base + features[7]);
                    forecast.add(7, base + (features[6] + features[7]) / 2);
                } else {
                    forecast.add(6, base + course.last[c] + features[3]);
                }
            } else {
                self.add_own(&mut forecast, c, base, state, course.last[c], previous);
            }
            let value =
                self.code_value(coder, state, &mut forecast, c, base + blend, cells[at] as i64);
            cells[at] = value as u32;
            let moved = self.difference(c, cells[at], old[c] as u32) * ONE;
            let error = moved - blend;
            let limit = 4 * (course.last[c] - course.before[c]).abs() + 8 * ONE;
            linear::learn(
                &mut state.linear[row..row + FEATURES],
                &features,
                used,
                error.clamp(-limit, limit),
                120,
            );
            residual = residual.max(error.abs());
            if previous.is_none_or(|p| p.0.abs() < course.last[c].abs()) {
                previous = Some((course.last[c], moved));
            }
            self.remember(state, c, value);
            if self.spatial && c < 3 {
                context.motion.new[c] = value;
                context.motion.residual[c] =
                    (moved - course.last[c]).clamp(-MAX_FEATURE, MAX_FEATURE);
            }
        }
        if self.spatial {
            context.motion.errors[1] = residual;
        }
        context.prediction_error = context.prediction_error.max(residual);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn course(&self, acked: &[AckedState<'_>], pace: &Pace) -> Course {
        let last = self.motion(acked.get(..2), pace.ratios[0]);
        let before = self.motion(acked.get(1..3), pace.ratios[1]);
        let speed = last.iter().map(|way| way.abs()).max().unwrap_or(0);
        let acceleration = (0..4).map(|c| (last[c] - before[c]).abs()).max().unwrap_or(0);
        let history = match acked.len() {
            1 => 13,
            _ => bucket(acceleration, 12),
        };
        Course { last, before, speed, acceleration, history }
    }

    /// Keeps the value of the group, which the flag has told already.
    fn keep(
        &self,
        cells: &mut [u32],
        newest: &AckedState<'_>,
        course: &Course,
        context: &mut ObjectContext<'_>,
    ) {
        let range = self.first..self.first + self.n;
        cells[range.clone()].copy_from_slice(&newest.cells[range]);
        if self.spatial {
            for c in 0..self.n.min(3) {
                context.motion.new[c] = cells[self.first + c] as i64;
                context.motion.residual[c] = -course.last[c];
            }
        }
    }

    /// Returns the features of the blend, except for the velocity.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn features(
        &self,
        c: usize,
        base: i64,
        course: &Course,
        neighbours: &NeighbourPrediction,
    ) -> [i64; FEATURES] {
        let mut features = [course.last[c], course.before[c], 4 * ONE, 0, 0, 0, 0, 0];
        if self.spatial && c < 3 {
            let way = |to: [i64; 3]| (to[c] - base).clamp(-MAX_FEATURE, MAX_FEATURE);
            features[3] = neighbours.residual[c].clamp(-MAX_FEATURE, MAX_FEATURE);
            features[4] = neighbours.with_neighbour.map_or(0, way);
            features[5] = neighbours.with_reference.map_or(0, way);
        }
        features
    }

    /// Returns the rows of the mixture's tables.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn rows(
        &self,
        c: usize,
        third: i64,
        residual: i64,
        course: &Course,
        neighbours: &NeighbourPrediction,
        context: &ObjectContext<'_>,
    ) -> [usize; TABLES] {
        let own = bucket(course.last[c], 11).saturating_sub(2).min(7);
        let (acceleration, speed) = context.motion_classes;
        if self.tables.is_rich {
            let prediction_error =
                bucket(context.prediction_error.max(residual), 9).saturating_sub(4);
            let error_class = neighbours.error_class * 4 + neighbours.distance_class;
            let height = self.height(third) * 6 + if c == 2 { 3 } else { 0 };
            let height = height + bucket(residual, 11) / 4;
            [
                course.history,
                own * 6 + prediction_error,
                height,
                error_class,
                acceleration / 2 * 6 + speed / 2,
            ]
        } else {
            let prediction_error = (bucket(context.prediction_error, 7) / 3).min(2);
            let residual = if c == 0 { 11 * self.n } else { bucket(residual, 10) * self.n + c };
            [course.history, own * 3 + prediction_error, residual, 0, acceleration / 2]
        }
    }

    /// Returns the class of the height of an object with a third coordinate: on the ground, on
    /// others, in the air.
    fn height(&self, third: i64) -> usize {
        let height = if self.spatial { (third - self.origin).max(0) } else { 0 };
        bucket(height << FRACTION, 13).saturating_sub(8)
    }

    /// Adds predictions from the group alone: recent values, and the motion scaled by the ratio of
    /// actual to extrapolated motion of the fastest component before it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn add_own(
        &self,
        forecast: &mut Forecast,
        c: usize,
        base: i64,
        state: &State,
        last: i64,
        previous: Option<(i64, i64)>,
    ) {
        let recent = self.tables.recent + c;
        forecast.add(4, (state.linear[recent] as u32 as i64) << 8);
        forecast.add(5, (state.linear[recent + 4] as u32 as i64) << 8);
        if let Some((expected, moved)) = previous
            && expected.abs() > 2 * ONE
        {
            let most = 2 * expected.abs();
            forecast.add(6, base + last * moved.clamp(-most, most) / expected);
        }
        forecast.add(7, base);
    }

    /// Codes a component; one that wraps, in a window of one circle around the prediction.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn code_value<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
        forecast: &mut Forecast,
        c: usize,
        predicted: i64,
        value: i64,
    ) -> i64 {
        let mixture = &self.tables.mixture;
        if !self.wraps {
            return mixture.code(coder, &mut state.params, forecast, value);
        }
        let size = self.max[c] + 1;
        let offset = (predicted >> 8) - size / 2;
        for mean in forecast.means_mut() {
            *mean = (*mean - (offset << 8)).rem_euclid(size << 8);
        }
        let value = (value - offset).rem_euclid(size);
        let value = mixture.code(coder, &mut state.params, forecast, value);
        (value + offset).rem_euclid(size)
    }

    fn code_without_baseline<C: Coder>(&self, coder: &mut C, state: &mut State, cells: &mut [u32]) {
        for c in 0..self.n {
            let recent = self.tables.recent + c;
            let average_at = self.tables.recent + RECENT * 4 + c;
            let average = i64::from(state.linear[average_at] as u32);
            let [newest, before] =
                [recent, recent + 4].map(|at| i64::from(state.linear[at] as u32));
            let mut forecast = Forecast::new([c, 0, 0, 0, 0], self.max[c]);
            let means = [newest, before, newest, average, self.max[c] / 2];
            for (part, mean) in means.into_iter().enumerate() {
                forecast.add(part, mean << FRACTION);
            }
            let at = self.first + c;
            let value =
                self.tables.initial.code(coder, &mut state.params, &forecast, i64::from(cells[at]));
            cells[at] = value as u32;
            state.linear[average_at] = (average + (value - average) / 16) as i32;
            self.remember(state, c, value);
        }
    }

    /// Records a recent value, which may come again.
    fn remember(&self, state: &mut State, component: usize, value: i64) {
        let recent = self.tables.recent + component;
        if state.linear[recent] != value as i32 {
            state.linear[recent + 4] = state.linear[recent];
            state.linear[recent] = value as i32;
        }
    }
}

/// Returns the codes per tick that a velocity means, 16 fraction bits.
fn per_tick(d: &Derivative, code: u32) -> i64 {
    let velocity = (((code as i128) << 32) - d.zero as i128) >> 1; // 31 fraction bits
    ((velocity * d.scale as i128) >> 47).clamp(-1 << 36, 1 << 36) as i64
}
