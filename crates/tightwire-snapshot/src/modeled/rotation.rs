//! Orientations: predicted as rotations, coded as smallest-three.

use core::ops::Range;

use super::fixed::bucket;
use super::linear::{self, FEATURES, Used};
use super::mixture::{Forecast, Mixture};
use super::neighbours::{Motion, distance_class};
use super::plan::{ObjectContext, Pace};
use super::quaternion::{self as quat, Quaternion, Turn, UNIT};
use super::range_coder::Coder;
use super::state::{State, code_bit};
use crate::update::AckedState;

const LINEAR_ROWS: usize = 6;

#[derive(Clone, Debug)]
pub(super) struct RotationPlan {
    first: usize,
    max: i64,
    half_code: i64,
    pub(super) mixture: Mixture,
    initial: Mixture,
    same: usize,
    index: usize,
    initial_index: usize,
    linear: usize,
}

/// Motion of a rotation over its baseline states.
struct Course {
    newest: Quaternion,
    /// Extrapolations of the turn between the last two states, and between the two before.
    last: Turn,
    before: Turn,
    /// Largest change of a component by `last`, and by the difference of the two, in codes with 8
    /// fraction bits.
    speed: i64,
    acceleration: i64,
    /// Row of the tables for speed and acceleration.
    history: usize,
}

/// Predictions of the rotation.
struct Predictions {
    /// The learned sum of turns.
    blend: Quaternion,
    /// The extrapolated rotation.
    extrapolated: Quaternion,
    with_neighbour: Option<Quaternion>,
    with_reference: Option<Quaternion>,
}

impl Course {
    /// Returns the features of the blend. The linear predictor has 8 fraction bits of a code; turns
    /// are scaled to the same size.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn features(&self, context: &ObjectContext<'_>) -> [[i64; FEATURES]; 3] {
        let with_reference = context.reference.map_or([0; 3], |(m, _)| m.turn);
        let with_neighbour = context.neighbour.map_or(&Motion::NONE, |(other, _)| other);
        let turns = [
            &self.last,
            &self.before,
            &with_neighbour.turn_residual,
            &with_neighbour.turn,
            &with_reference,
        ];
        core::array::from_fn(|i| {
            core::array::from_fn(|feature| turns.get(feature).map_or(0, |turn| turn[i] >> 8))
        })
    }
}

impl Predictions {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn new(course: &Course, blend_turn: &Turn, context: &ObjectContext<'_>) -> Self {
        let q0 = &course.newest;
        let turned_by = |other: Option<(&Motion, i64)>| {
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
    pub(super) fn new(state: &mut State, first: usize, max: u32, like: Option<&Self>) -> Self {
        if let Some(other) = like {
            let max = i64::from(max);
            return Self { first, max, half_code: quat::half_code(max), ..other.clone() };
        }
        let bits = (u32::BITS - max.leading_zeros()) as i16;
        let max = i64::from(max);
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
        let linear = state.linear.len();
        for _ in 0..LINEAR_ROWS {
            state.add_linear(&[57000, 0, 2000, 1000, 3000, 0, 0, 0]);
        }
        Self {
            first,
            max,
            half_code: quat::half_code(max),
            mixture,
            initial,
            same: state.add_bits(6 * 3 * 4),
            index: state.add_bits(6 * 16 * 3),
            initial_index: state.add_bits(4),
            linear,
        }
    }

    pub(super) fn code<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
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
        let is_kept = cells[range.clone()] == newest.cells[range.clone()];
        if context.code_kept(coder, &mut state.bits[self.same..], course.speed, is_kept) {
            cells[range.clone()].copy_from_slice(&newest.cells[range]);
            context.motion_classes = other;
            context.motion.turn_residual = course.last.map(|x| -x);
            return;
        }
        let row = self.linear + other.0 / 2 * FEATURES;
        let features = course.features(context);
        let blend_turn: Turn = core::array::from_fn(|i| {
            linear::predict(&state.linear[row..row + FEATURES], &features[i], Used::Five) << 8
        });
        let predictions = Predictions::new(&course, &blend_turn, context);
        let index =
            self.code_index(coder, state, cells[self.first], &predictions.blend, course.speed);
        cells[self.first] = index as u32;
        let residual = self.code_others(coder, state, cells, index, &course, &predictions, context);
        context.motion.errors[0] = residual;
        context.prediction_error = context.prediction_error.max(residual);

        let q = quat::from_cells(&cells[range], self.max, self.half_code);
        let rotation = quat::multiply(&q, &quat::inverse(&course.newest));
        let turn = quat::log(&rotation);
        for i in 0..3 {
            let error = (turn[i] - blend_turn[i]) >> 8;
            let limit = ((4 * (course.last[i] - course.before[i]).abs()) >> 8) + (UNIT >> (8 + 6));
            linear::learn(
                &mut state.linear[row..row + FEATURES],
                &features[i],
                Used::Five,
                error.clamp(-limit, limit),
                40,
            );
        }
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
    fn course(&self, newest: &AckedState<'_>, acked: &[AckedState<'_>], pace: &Pace) -> Course {
        let at = |acked: &AckedState<'_>| {
            quat::from_cells(&acked.cells[self.columns()], self.max, self.half_code)
        };
        let is_same = |a: &AckedState<'_>, b: &AckedState<'_>| {
            a.cells[self.columns()] == b.cells[self.columns()]
        };
        let q0 = at(newest);
        let (mut last, mut before) = ([0; 3], [0; 3]);
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
        let acceleration = (0..3).map(|i| (last[i] - before[i]).abs()).max().unwrap_or(0);
        let acceleration = quat::turn_codes(acceleration, self.max);
        let history = match acked.len() {
            1 => 13,
            _ => bucket(acceleration, 12),
        };
        let speed = quat::turn_codes(largest(&last), self.max);
        Course { newest: q0, last, before, speed, acceleration, history }
    }

    /// Codes the components besides the largest; returns their prediction error, 8 fraction bits.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[expect(clippy::too_many_arguments, reason = "what the steps before found out")]
    fn code_others<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
        cells: &mut [u32],
        index: usize,
        course: &Course,
        predictions: &Predictions,
        context: &ObjectContext<'_>,
    ) -> i64 {
        let (max, blend) = (self.max, &predictions.blend);
        let frame =
            |q: &Quaternion, i: usize| quat::code(if q[index] < 0 { -q[i] } else { q[i] }, max);
        let error_class = context.neighbour_error_class(0);
        let near = context.neighbour.map_or(3, |(_, d)| distance_class(d));
        let mut residual = 0;
        let mut rest = UNIT * UNIT; // squared norm left for the remaining components
        let mut c = 0;
        for i in 0..4 {
            if i == index {
                continue;
            }
            let own = bucket(frame(&predictions.extrapolated, i) - frame(&course.newest, i), 11);
            let rows = [
                course.history,
                own.saturating_sub(2).min(7) * 4 + (bucket(context.prediction_error, 7) / 2).min(3),
                if c == 0 { 11 * 3 } else { bucket(residual, 10) * 3 + c },
                error_class * 4 + near,
                context.motion_classes.0 / 2 * 6 + context.motion_classes.1 / 2,
            ];
            let mut forecast = Forecast::new(rows, max);
            let center = frame(blend, i);
            // No component may exceed the largest; that matters only near the bound.
            let middle = (blend[i].abs() >> 15) + (1 << 12);
            if middle * middle > rest >> 31 {
                let reach = (quat::turn_codes(quat::root(rest / 2), max) >> 8) + 2;
                forecast.inner = Some(((max / 2 - reach).max(0), (max / 2 + 1 + reach).min(max)));
            }
            forecast.add(0, frame(&course.newest, i));
            forecast.add(1, frame(&predictions.extrapolated, i));
            forecast.add(2, center);
            forecast.add(3, center);
            if let Some(q) = &predictions.with_neighbour {
                forecast.add(4, frame(q, i));
            }
            if let Some(q) = &predictions.with_reference {
                forecast.add(5, frame(q, i));
            }
            let at = self.first + 1 + c;
            let value =
                self.mixture.code(coder, &mut state.params, &forecast, i64::from(cells[at]));
            cells[at] = value as u32;
            let error = (value << 8) - center;
            residual = residual.max(error.abs());
            let component = quat::component(value as u32, max, self.half_code);
            rest -= component * component;
            c += 1;
        }
        residual
    }

    /// Codes which component is the largest: mostly the predicted one, else the second, else
    /// another.
    fn code_index<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
        index: u32,
        q: &Quaternion,
        speed: i64,
    ) -> usize {
        let ranked = ranked(q);
        let speed = bucket(speed, 11) / 2;
        for rank in 0..3 {
            let (magnitude, place) = ranked[rank];
            let gap = (magnitude - ranked[rank + 1].0) >> 14; // 16 bits
            let gap = ((64 - gap.leading_zeros()) as usize).saturating_sub(4).min(15);
            let slot = self.index + (rank * 6 + speed) * 16 + gap;
            if code_bit(coder, &mut state.bits[slot], 127, index as usize == place) {
                return place;
            }
        }
        ranked[3].1
    }

    fn code_without_baseline<C: Coder>(&self, coder: &mut C, state: &mut State, cells: &mut [u32]) {
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
            let mut f = Forecast::new([c, 0, 0, 0, 0], max);
            for k in 0..2 {
                f.add(k, max << 7);
            }
            cells[1 + c] =
                self.initial.code(coder, &mut state.params, &f, cells[1 + c] as i64) as u32;
        }
    }
}

/// Returns magnitudes and indices of the components, the largest first, equal ones by index.
fn ranked(q: &Quaternion) -> [(i64, usize); 4] {
    // One number for both, and a sorting network: sorting four numbers by branches is slower.
    let mut keys: [i64; 4] = core::array::from_fn(|i| q[i].abs() << 2 | (3 - i as i64));
    for (a, b) in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)] {
        (keys[a], keys[b]) = (keys[a].max(keys[b]), keys[a].min(keys[b]));
    }
    core::array::from_fn(|rank| (keys[rank] >> 2, 3 - (keys[rank] & 3) as usize))
}

fn largest(turn: &Turn) -> i64 {
    turn.iter().map(|part| part.abs()).max().unwrap_or(0)
}

/// Returns the turn from `b` to `a`, times a ratio with 16 fraction bits.
fn scaled_turn(a: &Quaternion, b: &Quaternion, ratio: i64) -> Turn {
    let turn = quat::log(&quat::multiply(a, &quat::inverse(b)));
    turn.map(|x| ((x * ratio) >> 16).clamp(-2 * UNIT, 2 * UNIT))
}
