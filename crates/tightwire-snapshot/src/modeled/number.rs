//! Numbers: integers, quantised floats and vectors.

use super::bucket::{FRACTION, bucket, larger};
use super::linear::{self, FEATURES, LinearWeights, bounded, clamped};
use super::mixture::{ABSENT, Forecast, PARTS, Rows, means_by_component, modulo, presence};
use super::neighbour_prediction::NeighbourPrediction;
use super::number_motion::{Columns, NumberMotion};
use super::number_tables::{NumberTables, RECENT};
use super::plan::ObjectContext;
use super::range_coder::Coder;
use super::scale::Range;
use super::state::ModelState;
use crate::layout::{Derivative, Group, Layout};
use crate::update::AckedState;
use wide::{f32x4, i16x8, i32x4};

/// Learning rate of the linear predictor.
const RATE: f32 = 120.0 / 4096.0;

#[derive(Clone, Debug)]
pub(super) struct NumberPlan {
    pub(super) columns: Columns,
    ranges: [Range; 4],
    /// Code that means zero, of a position: the ground, for objects that stand on it.
    origin: i64,
    pub(super) spatial: bool,
    /// The components are axes of the world: those of a position or of its velocity.
    has_axes: bool,
    derivative: Option<(Derivative, usize)>,
    tables: NumberTables,
}

/// Predictions of all components, a lane for each: motions from the newest acked state, with 8
/// fraction bits.
struct NumberPredictions {
    /// Features of the learned sum, and the sum.
    features: [f32x4; FEATURES],
    blend: f32x4,
    /// Within three times `MAX_FEATURE`, and so within what means may be.
    parts: [f32x4; PARTS],
    /// 0 for a part that has a prediction, else `ABSENT`.
    presence: i16x8,
}

impl NumberPlan {
    /// Creates a plan with the tables of another group, or with new ones.
    pub(super) fn new(
        state: &mut ModelState,
        layout: &Layout,
        group: &Group,
        wraps: bool,
        like: Option<&Self>,
    ) -> Self {
        let n = group.kind.width().min(4);
        let mut max = [0; 4];
        for (max, column) in max.iter_mut().zip(&layout.columns[group.columns()]) {
            *max = i64::from(column.max);
        }
        let is_velocity = layout.groups.iter().any(|position| {
            let velocity = position.derivative.map(|derivative| derivative.group);
            position.spatial && velocity.is_some_and(|at| layout.groups[at].first == group.first)
        });
        let tables = match like {
            Some(other) => other.tables,
            None => NumberTables::new(state, group, &max[..n]),
        };
        Self {
            columns: Columns::new(group.first, n, wraps, max),
            ranges: max.map(Range::new),
            origin: group.origin.clamp(0, 1 << 32),
            spatial: group.spatial,
            has_axes: n == 3 && (group.spatial || is_velocity),
            derivative: group.derivative.map(|d| (d, layout.groups[d.group].first)),
            tables,
        }
    }

    /// Whether a group can share the tables.
    pub(super) fn is_like(&self, group: &Group) -> bool {
        self.columns.n == group.kind.width()
            && self.spatial == group.spatial
            && self.derivative.is_some() == group.derivative.is_some()
    }

    pub(super) fn code<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        cells: &mut [u32],
        acked: &[AckedState<'_>],
        context: &mut ObjectContext<'_>,
    ) {
        let Some(newest) = acked.first() else {
            self.code_without_baseline(coder, state, cells);
            return;
        };
        let motion_class = self.columns.class(context.motions);
        let is_unchanged = !C::DECODES && self.columns.is_same(cells, newest.cells);
        if context.code_unchanged(
            coder,
            &mut state.bits[self.tables.same..],
            motion_class.speed(10),
            is_unchanged,
        ) {
            if self.spatial {
                let course = self.columns.course(context.motions);
                let [x, y, z, _] = course.last.to_array();
                context.motion.residual = [-x, -y, -z];
            }
            return;
        }
        let course = self.columns.course(context.motions);
        let n = self.columns.n;
        let mut old = [0; 4];
        for (old, cell) in old.iter_mut().zip(self.columns.of(newest.cells)) {
            *old = i64::from(*cell);
        }
        let neighbours = if self.spatial {
            NeighbourPrediction::of_position(
                context,
                [old[0], old[1], old[2]],
                self.has_axes.then_some(self.origin),
                self.derivative.is_some() && context.has_derivative,
            )
        } else if self.tables.is_rich {
            NeighbourPrediction::of_number(context)
        } else {
            NeighbourPrediction::NONE
        };
        let row = self.tables.linear + motion_class.acceleration(11) / 2 * FEATURES;
        let Some(weights) = state.weights[row..].first_chunk_mut() else { return };
        let velocities = self.velocities(newest.cells, cells, context);
        let recent = self.recent(&state.recent, old);
        let predictions = self.predict(weights, &course, &neighbours, velocities, recent);
        let means = means_by_component(&predictions.parts);
        let (last, blend) = (course.last.to_array(), predictions.blend.to_array());
        let history = self.columns.history(context.motions, motion_class);
        let common_rows = self.common_rows(old[context.axes[2]], history, &neighbours, context);
        let order = match (self.has_axes, context.axes) {
            (true, [a, b, c]) => [a, b, c, 3],
            (false, _) => [0, 1, 2, 3],
        };
        let mut moved = blend;
        let mut residual: f32 = 0.0;
        let mut fastest: Option<(f32, f32)> = None;
        for (place, c) in order.into_iter().enumerate().take(n) {
            let rows = self.rows(place, last[c], residual, common_rows, context);
            let predicted = (old[c] << FRACTION) + i64::from(means[c].as_array()[2]);
            let (means, presence) = (means[c], predictions.presence);
            let mut forecast = Forecast::of_parts(rows, old[c], self.ranges[c], means, presence);
            if !self.tables.is_rich
                && let Some(mean) = scaled_motion(last[c], fastest)
            {
                forecast.set(6, mean);
            }
            let cell = &mut cells[self.columns.first + c];
            let value =
                self.code_value(coder, state, &mut forecast, c, predicted, i64::from(*cell));
            *cell = value as u32;
            moved[c] = self.columns.difference(c, *cell, old[c] as u32) as f32 * 256.0;
            residual = larger(residual, (moved[c] - blend[c]).abs());
            if fastest.is_none_or(|(expected, _)| expected.abs() < last[c].abs()) {
                fastest = Some((last[c], moved[c]));
            }
            self.remember(state, c, value);
        }
        if let Some(weights) = state.weights[row..].first_chunk_mut() {
            self.learn(weights, &course, &predictions, moved.into(), velocities.is_some());
        }
        if self.spatial {
            if self.has_axes {
                let distances = [0, 1, 2].map(|c| (old[c] - self.origin).abs());
                state.vertical.learn(distances, [0, 1, 2].map(|c| moved[c].abs()));
            }
            context.motion.moved = [0, 1, 2].map(|c| moved[c] * (1.0 / 256.0));
            context.motion.residual = [0, 1, 2].map(|c| moved[c] - last[c]);
            context.motion.errors[1] = residual;
        }
        context.prediction_error = larger(context.prediction_error, residual);
    }

    /// Returns the motions that the velocity means, as it was and as it is; `None` without one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn velocities(
        &self,
        newest: &[u32],
        cells: &[u32],
        context: &ObjectContext<'_>,
    ) -> Option<[f32x4; 2]> {
        let (derivative, first) = self.derivative.filter(|_| context.has_derivative)?;
        let motion = |cells: &[u32]| {
            let mut motion = [0.0; 4];
            for (motion, code) in motion.iter_mut().zip(&cells[first..first + self.columns.n]) {
                *motion = per_tick(&derivative, *code) * context.pace.horizon * 256.0;
            }
            bounded(f32x4::from(motion))
        };
        Some([motion(newest), motion(cells)])
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn predict(
        &self,
        weights: &LinearWeights,
        course: &NumberMotion,
        neighbours: &NeighbourPrediction,
        velocities: Option<[f32x4; 2]>,
        recent: [f32x4; 2],
    ) -> NumberPredictions {
        let mut features = [f32x4::ZERO; FEATURES];
        features[0] = course.last;
        features[1] = course.before;
        features[2] = f32x4::splat(1024.0);
        if self.spatial {
            features[3] = neighbours.residual;
            features[4] = neighbours.with_neighbour.unwrap_or(f32x4::ZERO);
            features[5] = neighbours.with_reference.unwrap_or(f32x4::ZERO);
        }
        let blend = if let Some(velocities) = velocities {
            [features[6], features[7]] = velocities;
            linear::predict::<8>(weights, &features)
        } else if self.spatial {
            linear::predict::<6>(weights, &features)
        } else {
            linear::predict::<3>(weights, &features)
        };
        let mut parts = [f32x4::ZERO; PARTS];
        parts[1] = course.last;
        parts[2] = blend;
        // A falling or pushed object keeps accelerating; other numbers have a wide part instead.
        let is_body = self.spatial && velocities.is_none();
        parts[3] = if is_body { course.last + course.last - course.before } else { blend };
        let presence = if self.tables.is_rich {
            parts[5] = features[4];
            parts[6] = course.last + features[3];
            parts[7] = neighbours.tumbling.unwrap_or(f32x4::ZERO);
            if velocities.is_some() {
                parts[6] = features[7];
                parts[7] = (features[6] + features[7]) * f32x4::splat(0.5);
            }
            let with_neighbour = presence(neighbours.with_neighbour.is_some());
            let last = presence(velocities.is_some() || neighbours.tumbling.is_some());
            [0, 0, 0, 0, ABSENT, with_neighbour, 0, last]
        } else {
            [parts[4], parts[5]] = recent;
            [0, 0, 0, 0, 0, 0, ABSENT, 0]
        };
        let presence = i16x8::from(presence);
        NumberPredictions { features, blend, parts, presence }
    }

    /// Moves the weights of the learned sum towards the motion that the components had.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn learn(
        &self,
        weights: &mut LinearWeights,
        course: &NumberMotion,
        predictions: &NumberPredictions,
        moved: f32x4,
        has_velocity: bool,
    ) {
        let limit = (course.last - course.before).abs() * f32x4::splat(4.0) + f32x4::splat(2048.0);
        let error = clamped(moved - predictions.blend, limit);
        if has_velocity {
            linear::learn::<8>(weights, &predictions.features, error, RATE);
        } else if self.spatial {
            linear::learn::<6>(weights, &predictions.features, error, RATE);
        } else {
            linear::learn::<3>(weights, &predictions.features, error, RATE);
        }
    }

    /// Returns the rows of the mixture's tables, as far as all components have the same.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn common_rows(
        &self,
        vertical: i64,
        history: usize,
        neighbours: &NeighbourPrediction,
        context: &ObjectContext<'_>,
    ) -> Rows {
        let (acceleration, speed) = context.motion_classes;
        if self.tables.is_rich {
            let error_class = neighbours.error_class * 4 + neighbours.distance_class;
            let height = self.height(vertical) * 6;
            [history, 0, height, error_class, acceleration / 2 * 6 + speed / 2]
        } else {
            let prediction_error = (bucket(context.prediction_error, 7) / 3).min(2);
            [history, prediction_error, 0, 0, acceleration / 2]
        }
        .map(|row| row as u32)
    }

    /// Returns the rows of the mixture's tables for a component, by its place in the order of coding.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn rows(
        &self,
        place: usize,
        last: f32,
        residual: f32,
        mut rows: Rows,
        context: &ObjectContext<'_>,
    ) -> Rows {
        let own = bucket(last, 11).saturating_sub(2).min(7);
        if self.tables.is_rich {
            let error = larger(context.prediction_error, residual);
            rows[1] = (own * 6 + bucket(error, 9).saturating_sub(4)) as u32;
            rows[2] += (if place == 2 { 3 } else { 0 } + bucket(residual, 11) / 4) as u32;
        } else {
            let n = self.columns.n;
            rows[1] += (own * 3) as u32;
            rows[2] = match place {
                // A single component has a table of one row.
                _ if n == 1 => 0,
                0 => 11 * n as u32,
                _ => (bucket(residual, 10) * n + place) as u32,
            };
        }
        rows
    }

    /// Returns the class of the height of an object with a vertical coordinate: on the ground, on
    /// others, in the air. Below the ground, it is the depth.
    fn height(&self, vertical: i64) -> usize {
        let height = if self.has_axes { (vertical - self.origin).abs() } else { 0 };
        bucket((height << FRACTION) as f32, 13).saturating_sub(8)
    }

    /// Returns the motions to the two values that were coded last.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn recent(&self, recent: &[i32], old: [i64; 4]) -> [f32x4; 2] {
        let (recent, _) = recent[self.tables.recent..].as_chunks::<4>();
        let old = i32x4::from(old.map(|old| old as i32));
        [recent[0], recent[1]]
            .map(|recent| bounded((i32x4::from(recent) - old).round_float() * f32x4::splat(256.0)))
    }

    /// Codes a component; one that wraps, in a window of one circle around the prediction.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn code_value<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        forecast: &mut Forecast,
        c: usize,
        predicted: i64,
        value: i64,
    ) -> i64 {
        let mixture = &self.tables.mixture;
        if !self.columns.wraps {
            return mixture.code(coder, &mut state.params, forecast, value);
        }
        let size = self.columns.max[c] + 1;
        let offset = (predicted >> FRACTION) - size / 2;
        forecast.wrap(offset, size);
        let value = modulo(value - offset, size);
        let value = mixture.code(coder, &mut state.params, forecast, value);
        modulo(value + offset, size)
    }

    fn code_without_baseline<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        cells: &mut [u32],
    ) {
        for c in 0..self.columns.n {
            let recent = self.tables.recent + c;
            let average_at = self.tables.recent + RECENT * 4 + c;
            let average = i64::from(state.recent[average_at] as u32);
            let [newest, before] =
                [recent, recent + 4].map(|at| i64::from(state.recent[at] as u32));
            let mut forecast = Forecast::new([c as u32, 0, 0, 0, 0], newest, self.ranges[c]);
            let means = [newest, before, newest, average, self.columns.max[c] / 2];
            for (part, mean) in means.into_iter().enumerate() {
                forecast.add(part, mean << FRACTION);
            }
            let cell = &mut cells[self.columns.first + c];
            let params = &mut state.params;
            let value = self.tables.initial.code(coder, params, &forecast, i64::from(*cell));
            *cell = value as u32;
            state.recent[average_at] = (average + (value - average) / 16) as i32;
            self.remember(state, c, value);
        }
    }

    /// Records a recent value, which may come again.
    fn remember(&self, state: &mut ModelState, component: usize, value: i64) {
        let recent = self.tables.recent + component;
        if state.recent[recent] != value as i32 {
            state.recent[recent + 4] = state.recent[recent];
            state.recent[recent] = value as i32;
        }
    }
}

/// Scales the motion of a component by the ratio of actual to extrapolated motion of the fastest component before
/// it; `None` without one.
#[cfg_attr(not(debug_assertions), inline(always))]
fn scaled_motion(last: f32, fastest: Option<(f32, f32)>) -> Option<i32> {
    let (expected, moved) = fastest.filter(|(expected, _)| expected.abs() > 512.0)?;
    let most = 2.0 * expected.abs();
    Some((last * moved.clamp(-most, most) / expected) as i32)
}

/// Returns the codes per tick that a velocity means.
#[cfg_attr(not(debug_assertions), inline(always))]
fn per_tick(d: &Derivative, code: u32) -> f32 {
    // Scale and zero have 32 fraction bits each.
    let velocity = f64::from(code) * 4_294_967_296.0 - d.zero as f64;
    (velocity * d.scale as f64 * (1.0 / 18_446_744_073_709_551_616.0)) as f32
}
