//! Orientations: predicted as rotations, coded as smallest-three.

use core::ops::Range;

use super::bucket::{FRACTION, bucket, larger};
use super::linear::clamped;
use super::mixture::{ABSENT, Forecast, Mixture, PARTS, Rows, means_by_component, presence};
use super::neighbours::{ObjectMotion, distance_class};
use super::plan::{ObjectContext, Pace};
use super::quaternion::{self as quat, Quaternion, Turn};
use super::range_coder::Coder;
use super::scale;
use super::state::{ModelState, code_bit};
use super::turn_sum::{self, TurnSum};
use crate::update::AckedState;
use wide::{f32x4, i16x8, i32x8};

/// Limit of codes with 8 fraction bits, which are converted to integers.
const MAX_CODE: f32 = (1 << 29) as f32;

#[derive(Clone, Debug)]
pub(super) struct RotationPlan {
    first: usize,
    max: i64,
    values: scale::Range,
    half_code: f32,
    /// Codes, with 8 fraction bits, of a component of 1.
    per_unit: f32,
    pub(super) mixture: Mixture,
    initial: Mixture,
    same: usize,
    index: usize,
    initial_index: usize,
    sum: TurnSum,
}

/// Motion of a rotation over its baseline states.
struct RotationMotion {
    newest: Quaternion,
    /// Extrapolations of the turn between the last two states, and between the two before.
    last: Turn,
    before: Turn,
    /// Largest change of a component by `last`, and by the difference of the two, in codes with 8
    /// fraction bits.
    speed: f32,
    acceleration: f32,
    /// Row of the tables for speed and acceleration.
    history: usize,
}

/// Predictions of the rotation.
struct RotationPredictions {
    /// The learned sum of turns.
    blend: Quaternion,
    /// The extrapolated rotation.
    extrapolated: Quaternion,
    with_neighbour: Option<Quaternion>,
    with_reference: Option<Quaternion>,
}

impl RotationMotion {
    /// Returns the features of the blend.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn features(&self, context: &ObjectContext<'_>) -> turn_sum::Features {
        let with_reference = context.reference.map_or([0.0; 3], |(other, _)| other.turn);
        let neighbour = context.neighbour.map_or(&ObjectMotion::NONE, |(other, _)| other);
        [self.last, self.before, neighbour.turn_residual, neighbour.turn, with_reference]
    }
}

impl RotationPredictions {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn new(course: &RotationMotion, blend_turn: &Turn, context: &ObjectContext<'_>) -> Self {
        let q0 = &course.newest;
        let turned_by = |other: Option<(&ObjectMotion, i64)>| {
            let (other, _) = other.filter(|(other, _)| other.turns)?;
            Some(quat::multiply(&other.rotation, q0))
        };
        Self {
            blend: quat::multiply(&quat::exp(blend_turn), q0),
            extrapolated: quat::multiply(&quat::exp(&course.last), q0),
            with_neighbour: turned_by(context.neighbour),
            with_reference: turned_by(context.reference),
        }
    }
}

impl RotationPlan {
    /// Creates a plan with the tables of another group, or with new ones.
    pub(super) fn new(state: &mut ModelState, first: usize, max: u32, like: Option<&Self>) -> Self {
        let bits = (u32::BITS - max.leading_zeros()) as i16;
        let max = i64::from(max);
        let (half_code, per_unit) = (quat::half_code(max), quat::codes_per_unit(max));
        let values = scale::Range::new(max);
        if let Some(other) = like {
            return Self { first, max, values, half_code, per_unit, ..other.clone() };
        }
        let mixture =
            Mixture::new(&mut state.params, [14, 8 * 4, 12 * 3, 8 * 4, 6 * 6], |t, row, k| {
                if t != 0 {
                    return (0, 0);
                }
                let b = row.min(12) as i16;
                let log_weight = match k {
                    0 => -32,
                    2 => 32,
                    3 => 16,
                    _ => 0,
                };
                let width = match k {
                    0 => -16,
                    3 => 48 + b * 8,
                    _ => b * 8 - 8,
                };
                (log_weight, width)
            });
        let initial = Mixture::new(&mut state.params, [3, 1, 1, 1, 1], |t, _, k| {
            if t != 0 { (0, 0) } else { (0, if k == 0 { 0 } else { bits * 16 - 32 }) }
        });
        Self {
            first,
            max,
            values,
            half_code,
            per_unit,
            mixture,
            initial,
            same: state.add_bits(6 * 3 * 4),
            index: state.add_bits(6 * 16 * 3),
            initial_index: state.add_bits(4),
            sum: TurnSum::new(state),
        }
    }

    pub(super) fn code<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        cells: &mut [u32],
        acked: &[AckedState<'_>],
        context: &mut ObjectContext<'_>,
    ) {
        let range = self.columns();
        let Some(newest) = acked.first() else {
            self.code_without_baseline(coder, state, &mut cells[range]);
            return;
        };
        let course = self.course(newest, acked, &context.pace);
        let other = (bucket(course.acceleration, 11), bucket(course.speed, 11));
        let is_unchanged = !C::DECODES
            && cells[self.first..].first_chunk::<4>() == newest.cells[self.first..].first_chunk();
        if context.code_unchanged(
            coder,
            &mut state.bits[self.same..],
            bucket(course.speed, 10),
            is_unchanged,
        ) {
            context.motion_classes = other;
            context.motion.turn_residual = course.last.map(|x| -x);
            return;
        }
        let features = course.features(context);
        let blend_turn = self.sum.predict(state, other.0 / 2, &features);
        let predictions = RotationPredictions::new(&course, &blend_turn, context);
        let index =
            self.code_index(coder, state, cells[self.first], &predictions.blend, course.speed);
        cells[self.first] = index as u32;
        let residual = self.code_others(coder, state, cells, index, &course, &predictions, context);
        context.motion.errors[0] = residual;
        context.prediction_error = larger(context.prediction_error, residual);

        let q = quat::from_cells(&cells[range], self.max, self.half_code);
        let rotation = quat::multiply(&q, &quat::inverse(&course.newest));
        let turn = quat::log(&rotation);
        let errors = core::array::from_fn(|i| {
            let limit = 4.0 * (course.last[i] - course.before[i]).abs() + 1.0 / 64.0;
            (turn[i] - blend_turn[i]).clamp(-limit, limit)
        });
        self.sum.learn(state, other.0 / 2, &features, errors);
        context.turned = Some((quat::matrix(&course.newest), quat::matrix(&q)));
        context.motion_classes = other;
        context.motion.rotation = rotation;
        context.motion.turn = turn;
        context.motion.turns = true;
        context.motion.turn_residual = core::array::from_fn(|i| turn[i] - course.last[i]);
    }

    fn columns(&self) -> Range<usize> {
        self.first..self.first + 4
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn course(
        &self,
        newest: &AckedState<'_>,
        acked: &[AckedState<'_>],
        pace: &Pace,
    ) -> RotationMotion {
        let at = |acked: &AckedState<'_>| {
            quat::from_cells(&acked.cells[self.columns()], self.max, self.half_code)
        };
        let is_same = |a: &AckedState<'_>, b: &AckedState<'_>| {
            a.cells[self.first..].first_chunk::<4>() == b.cells[self.first..].first_chunk()
        };
        let q0 = at(newest);
        let (mut last, mut before) = ([0.0; 3], [0.0; 3]);
        if let Some(second) = acked.get(1) {
            // No turn between equal states, and no arithmetic.
            let q1 = if is_same(newest, second) { q0 } else { at(second) };
            if !is_same(newest, second) {
                last = scaled_turn(&q0, &q1, pace.ratios[0]);
            }
            if let Some(third) = acked.get(2).filter(|third| !is_same(second, third)) {
                before = scaled_turn(&q1, &at(third), pace.ratios[1]);
            }
        }
        let difference = core::array::from_fn(|i| last[i] - before[i]);
        let acceleration = largest(&difference) * self.per_unit;
        let history = match acked.len() {
            1 => 13,
            _ => bucket(acceleration, 12),
        };
        let speed = largest(&last) * self.per_unit;
        RotationMotion { newest: q0, last, before, speed, acceleration, history }
    }

    /// Codes the components besides the largest; returns their prediction error, 8 fraction bits.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[expect(clippy::too_many_arguments, reason = "what the steps before found out")]
    fn code_others<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        cells: &mut [u32],
        index: usize,
        course: &RotationMotion,
        predictions: &RotationPredictions,
        context: &ObjectContext<'_>,
    ) -> f32 {
        let (max, blend) = (self.max, &predictions.blend);
        let middle = max / 2;
        let means = self.means(index, &course.newest, predictions);
        let with_neighbour = presence(predictions.with_neighbour.is_some());
        let with_reference = presence(predictions.with_reference.is_some());
        let presence = i16x8::from([0, 0, 0, 0, with_neighbour, with_reference, ABSENT, ABSENT]);
        let near = context.neighbour.map_or(3, |(_, d)| distance_class(d));
        let common_rows: Rows = [
            course.history,
            (bucket(context.prediction_error, 7) / 2).min(3),
            0,
            context.neighbour_error_class(0) * 4 + near,
            context.motion_classes.0 / 2 * 6 + context.motion_classes.1 / 2,
        ]
        .map(|row| row as u32);
        let mut residual: f32 = 0.0;
        let mut rest: f32 = 1.0; // squared norm left for the remaining components
        let [x, y, z] = context.axes;
        let others = [x, y, z, 3].into_iter().filter(|&i| i != index);
        for (c, i) in others.enumerate() {
            let mut rows = common_rows;
            let means = means[i];
            let [newest, extrapolated, center, ..] = means.to_array();
            let own = bucket((extrapolated - newest) as f32, 11);
            rows[1] += (own.saturating_sub(2).min(7) * 4) as u32;
            rows[2] = if c == 0 { 11 * 3 } else { (bucket(residual, 10) * 3 + c) as u32 };
            let mut forecast = Forecast::of_parts(rows, middle, self.values, means, presence);
            // No component may exceed the largest; that matters only near the bound.
            let high = blend[i].abs() + 0.125;
            if high * high > 0.5 * rest {
                let reach = quat::root(rest * 0.5) * self.per_unit * (1.0 / 256.0);
                let reach = reach as i64 + 2;
                forecast.inner = Some(((middle - reach).max(0), (middle + 1 + reach).min(max)));
            }
            let cell = &mut cells[self.first + 1 + i - usize::from(i > index)];
            let value = self.mixture.code(coder, &mut state.params, &forecast, i64::from(*cell));
            *cell = value as u32;
            let error = ((value - middle) << FRACTION) - i64::from(center);
            residual = larger(residual, error.abs() as f32);
            let component = quat::component(*cell, max, self.half_code);
            rest -= component * component;
        }
        residual
    }

    /// Returns the codes of all predictions in the frame of a largest component, which is positive
    /// in it: less the code of the middle, with 8 fraction bits, of each component.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn means(
        &self,
        index: usize,
        newest: &Quaternion,
        predictions: &RotationPredictions,
    ) -> [i32x8; 4] {
        // Half a code, if the middle is between two.
        let shift = f32x4::splat((128 * (self.max & 1)) as f32);
        let frame = |q: &Quaternion| {
            let factor = if q[index] < 0.0 { -self.per_unit } else { self.per_unit };
            let codes = f32x4::from(*q) * f32x4::splat(factor) + shift;
            clamped(codes, f32x4::splat(MAX_CODE))
        };
        let mut parts = [frame(newest); PARTS];
        parts[1] = frame(&predictions.extrapolated);
        parts[2] = frame(&predictions.blend);
        parts[3] = parts[2];
        if let Some(q) = &predictions.with_neighbour {
            parts[4] = frame(q);
        }
        if let Some(q) = &predictions.with_reference {
            parts[5] = frame(q);
        }
        means_by_component(&parts)
    }

    /// Codes which component is the largest: mostly the predicted one, else the second, else
    /// another.
    fn code_index<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        index: u32,
        q: &Quaternion,
        speed: f32,
    ) -> usize {
        let ranked = ranked(q);
        let speed = bucket(speed, 11) / 2;
        for rank in 0..3 {
            let (magnitude, place) = ranked[rank];
            let gap = (magnitude - ranked[rank + 1].0) >> 8; // 16 bits
            let gap = ((32 - gap.leading_zeros()) as usize).saturating_sub(4).min(15);
            let slot = self.index + (rank * 6 + speed) * 16 + gap;
            if code_bit(coder, &mut state.bits[slot], 127, index as usize == place) {
                return place;
            }
        }
        ranked[3].1
    }

    fn code_without_baseline<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        cells: &mut [u32],
    ) {
        let high = code_bit(coder, &mut state.bits[self.initial_index + 1], 60, cells[0] & 2 != 0);
        let low = code_bit(
            coder,
            &mut state.bits[self.initial_index + 2 + usize::from(high)],
            60,
            cells[0] & 1 != 0,
        );
        cells[0] = u32::from(high) * 2 + u32::from(low);
        let max = self.max;
        for c in 0..3 {
            let mut f = Forecast::new([c as u32, 0, 0, 0, 0], max / 2, self.values);
            for k in 0..2 {
                f.add(k, max << 7);
            }
            cells[1 + c] =
                self.initial.code(coder, &mut state.params, &f, cells[1 + c] as i64) as u32;
        }
    }
}

/// Returns magnitudes, with 24 fraction bits, and indices of the components, the largest first,
/// equal ones by index.
#[cfg_attr(not(debug_assertions), inline(always))]
fn ranked(q: &Quaternion) -> [(u32, usize); 4] {
    let magnitudes = f32x4::from(*q).abs() * f32x4::splat((1 << 24) as f32);
    let magnitudes = magnitudes.fast_min(f32x4::splat(MAX_CODE)).fast_trunc_int().to_array();
    // One number for both, and a sorting network: sorting four numbers by branches is slower.
    let mut keys: [u32; 4] = core::array::from_fn(|i| (magnitudes[i] as u32) << 2 | (3 - i as u32));
    for (a, b) in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)] {
        (keys[a], keys[b]) = (keys[a].max(keys[b]), keys[a].min(keys[b]));
    }
    core::array::from_fn(|rank| (keys[rank] >> 2, 3 - (keys[rank] & 3) as usize))
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn largest(turn: &Turn) -> f32 {
    larger(larger(turn[0].abs(), turn[1].abs()), turn[2].abs())
}

/// Returns the turn from `b` to `a`, times a ratio.
#[cfg_attr(not(debug_assertions), inline(always))]
fn scaled_turn(a: &Quaternion, b: &Quaternion, ratio: f32) -> Turn {
    let turn = quat::log(&quat::multiply(a, &quat::inverse(b)));
    turn.map(|x| (x * ratio).clamp(-2.0, 2.0))
}
