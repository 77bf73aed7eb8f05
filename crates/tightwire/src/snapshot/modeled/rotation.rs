//! Orientations: predicted as rotations, coded as smallest-three.

use super::fixed::bucket;
use super::linear::{self, FEATURES};
use super::mixture::{Forecast, Mixture};
use super::neighbours::near_class;
use super::plan::Now;
use super::quaternion::{self as quat, Quaternion, Turn, UNIT};
use super::range_coder::Coder;
use super::state::{State, code_bit};
use crate::snapshot::mention::Past;

const PARTS: usize = 8;
const LINEAR_ROWS: usize = 6;

#[derive(Clone, Debug)]
pub(super) struct RotationPlan {
    first: usize,
    max: i64,
    half_code: i64,
    pub(super) mixture: Mixture<PARTS>,
    fresh: Mixture<2>,
    same: usize,
    index: usize,
    fresh_index: usize,
    linear: usize,
}

impl RotationPlan {
    /// With the tables of another one, or new ones.
    pub(super) fn new(state: &mut State, first: usize, max: u32, like: Option<&Self>) -> Self {
        if let Some(other) = like {
            let max = i64::from(max);
            return Self { first, max, half_code: quat::half_code(max), ..other.clone() };
        }
        let bits = (u32::BITS - max.leading_zeros()) as i16;
        let max = i64::from(max);
        let mixture =
            Mixture::new(&mut state.params, [14, 8 * 4, 12 * 3, 8 * 4, 6 * 6, 3], |t, row, k| {
                if t != 0 {
                    return (0, 0);
                }
                let b = row.min(12) as i16;
                let log_weight = match k {
                    2 => 32,
                    3 => 16,
                    _ => 0,
                };
                let width = match k {
                    0 => -16,
                    3 => 48 + b * 8,
                    7 => 96,
                    _ => b * 8 - 8,
                };
                (log_weight, width)
            });
        let fresh = Mixture::new(&mut state.params, [3, 1, 1, 1, 1, 1], |t, _, k| {
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
            fresh,
            same: state.add_bits(6 * 3 * 4),
            index: state.add_bits(6 * 16 * 3),
            fresh_index: state.add_bits(4),
            linear,
        }
    }

    pub(super) fn code<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
        cells: &mut [u32],
        past: &[Past<'_>],
        now: &mut Now<'_>,
    ) {
        let range = self.first..self.first + 4;
        let Some(newest) = past.first() else {
            self.code_fresh(coder, state, &mut cells[range]);
            return;
        };
        let at = |p: &Past<'_>| quat::from_cells(&p.cells[range.clone()], self.max, self.half_code);
        let q0 = at(newest);
        let horizon = newest.age.min(1 << 16) as i64;
        let mut turn0 = [0; 3];
        let mut turn1 = [0; 3];
        if let [a, b, ..] = past {
            let q1 = at(b);
            turn0 = scaled_turn(&q0, &q1, horizon, b.age as i64 - a.age as i64);
            if let Some(c) = past.get(2) {
                turn1 = scaled_turn(&q1, &at(c), horizon, c.age as i64 - b.age as i64);
            }
        }
        let speed = quat::turn_codes(turn0.iter().map(|x| x.abs()).max().unwrap_or(0), self.max);
        let unrest = quat::turn_codes(
            (0..3).map(|i| (turn0[i] - turn1[i]).abs()).max().unwrap_or(0),
            self.max,
        );
        let history = match past.len() {
            1 => 13,
            _ => bucket(unrest, 12),
        };
        let kept = cells[range.clone()] == newest.cells[range.clone()];
        let slot = self.same
            + (bucket(speed, 10) / 2 * 3 + now.kept) * 4
            + bucket(now.surprise, 7).saturating_sub(1) / 2;
        if code_bit(coder, &mut state.bits[slot], 127, kept) {
            cells[range.clone()].copy_from_slice(&newest.cells[range.clone()]);
            now.other = (bucket(unrest, 11), bucket(speed, 11));
            now.kept = now.kept.max(1);
            now.motion.turn_surplus = turn0.map(|x| -x);
            return;
        }
        now.kept = 2;
        let mine = (bucket(unrest, 11), bucket(speed, 11));

        let surplus = now.crowd.turn_surplus;
        let beside = now.crowd.turn;
        let carried = now.reference.map_or([0; 3], |(m, _)| m.turn);
        let row = self.linear + bucket(unrest, 11) / 2 * FEATURES;
        // The predictor's numbers have 8 fraction bits of a code; a turn is brought to the same size.
        let features: [[i64; FEATURES]; 3] = core::array::from_fn(|i| {
            [
                turn0[i] >> 8,
                turn1[i] >> 8,
                surplus[i] >> 8,
                beside[i] >> 8,
                carried[i] >> 8,
                0,
                0,
                0,
            ]
        });
        let blend_turn: Turn = core::array::from_fn(|i| {
            linear::predict(&state.linear[row..row + FEATURES], &features[i]) << 8
        });
        let blend = quat::multiply(&quat::exp(&blend_turn), &q0);
        let newest_q = quat::multiply(&quat::exp(&turn0), &q0);
        let with_reference =
            now.reference.filter(|r| r.0.turns).map(|r| quat::multiply(&r.0.rotation, &q0));
        let with_neighbour =
            now.neighbour.filter(|r| r.0.turns).map(|r| quat::multiply(&r.0.rotation, &q0));

        let index = self.code_index(coder, state, cells[self.first], &blend, speed);
        cells[self.first] = index as u32;

        // The rotation may be more or less of the same turn: one component then tells the others.
        let along =
            |axis: Turn| -> Quaternion { quat::multiply(&[axis[0], axis[1], axis[2], 0], &blend) };
        let size = turn0.iter().map(|x| x.abs()).max().unwrap_or(0);
        let own_axis = (size > 1 << 20).then(|| along(turn0.map(|x| x * (UNIT / 2) / size)));

        let frame = |q: &Quaternion, i: usize| {
            quat::code(if q[index] < 0 { -q[i] } else { q[i] }, self.max)
        };
        let slope = |q: &Quaternion, i: usize| (if blend[index] < 0 { -q[i] } else { q[i] }) >> 14;
        let around = if now.neighbour.is_none() { 7 } else { now.around(0) };
        let near = now.neighbour.map_or(3, |(_, d)| near_class(d));
        let max = self.max;
        let mut residual = 0;
        let mut fit = (0i64, 0i64);
        let mut rest = UNIT * UNIT; // squared norm left for the components to come
        let mut c = 0;
        for i in 0..4 {
            if i == index {
                continue;
            }
            let own = bucket(frame(&newest_q, i) - frame(&q0, i), 11);
            let rows = [
                history,
                own.saturating_sub(2).min(7) * 4 + (bucket(now.surprise, 7) / 2).min(3),
                if c == 0 { 11 * 3 } else { bucket(residual, 10) * 3 + c },
                around * 4 + near,
                now.other.0 / 2 * 6 + now.other.1 / 2,
                c,
            ];
            let mut f = Forecast::<PARTS>::new(rows, max);
            let center = frame(&blend, i);
            // No component may exceed the largest; that matters only near the bound.
            let middle = (blend[i].abs() >> 15) + (1 << 12);
            if middle * middle > rest >> 31 {
                let reach = (quat::turn_codes((rest / 2).max(0).isqrt(), self.max) >> 8) + 2;
                f.inner = Some(((max / 2 - reach).max(0), (max / 2 + 1 + reach).min(max)));
            }
            let mut hypothesis = |k: usize, mean: Option<i64>| {
                if let Some(mean) = mean {
                    f.add(k, mean);
                }
            };
            hypothesis(0, Some(frame(&q0, i)));
            hypothesis(1, Some(frame(&newest_q, i)));
            hypothesis(2, Some(center));
            hypothesis(3, Some(center));
            hypothesis(4, with_reference.map(|q| frame(&q, i)));
            hypothesis(5, with_neighbour.map(|q| frame(&q, i)));
            if let Some(axis) = &own_axis {
                let (along, norm) = fit;
                if norm > 1 << 24 {
                    hypothesis(6, Some(center + ((along / (norm >> 14) * slope(axis, i)) >> 14)));
                }
            }
            hypothesis(7, Some(center));
            let value =
                self.mixture.code(coder, &mut state.params, &f, cells[self.first + 1 + c] as i64);
            cells[self.first + 1 + c] = value as u32;
            let error = (value << 8) - center;
            residual = residual.max(error.abs());
            if let Some(axis) = &own_axis {
                let s = slope(axis, i);
                fit.0 += error * s;
                fit.1 += s * s;
            }
            let component = quat::component(value as u32, self.max, self.half_code);
            rest -= component * component;
            c += 1;
        }
        now.motion.errors[0] = residual;
        now.surprise = now.surprise.max(residual);
        let q = quat::from_cells(&cells[range], self.max, self.half_code);
        let rotation = quat::multiply(&q, &quat::inverse(&q0));
        let turn = quat::log(&rotation);
        for i in 0..3 {
            let error = (turn[i] - blend_turn[i]) >> 8;
            let limit = ((4 * (turn0[i] - turn1[i]).abs()) >> 8) + (UNIT >> (8 + 6));
            linear::learn(
                &mut state.linear[row..row + FEATURES],
                &features[i],
                error.clamp(-limit, limit),
                40,
            );
        }
        now.turned = Some((quat::matrix(&q0), quat::matrix(&q)));
        now.other = mine;
        now.motion.rotation = rotation;
        now.motion.turn = turn;
        now.motion.turns = true;
        now.motion.turn_surplus = core::array::from_fn(|i| turn[i] - turn0[i]);
    }

    /// Which component is largest: the predicted one in most cases, else the second, else another.
    fn code_index<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
        index: u32,
        q: &Quaternion,
        speed: i64,
    ) -> usize {
        let mut order = [0usize, 1, 2, 3];
        order.sort_by_key(|&i| (-q[i].abs(), i));
        let speed = bucket(speed, 11) / 2;
        for rank in 0..3 {
            let gap = (q[order[rank]].abs() - q[order[rank + 1]].abs()) >> 14; // 16 bits
            let gap = ((64 - gap.leading_zeros()) as usize).saturating_sub(4).min(15);
            let slot = self.index + (rank * 6 + speed) * 16 + gap;
            if code_bit(coder, &mut state.bits[slot], 127, index as usize == order[rank]) {
                return order[rank];
            }
        }
        order[3]
    }

    fn code_fresh<C: Coder>(&self, coder: &mut C, state: &mut State, cells: &mut [u32]) {
        let high = code_bit(coder, &mut state.bits[self.fresh_index + 1], 60, cells[0] & 2 != 0);
        let low = code_bit(
            coder,
            &mut state.bits[self.fresh_index + 2 + usize::from(high)],
            60,
            cells[0] & 1 != 0,
        );
        cells[0] = u32::from(high) * 2 + u32::from(low);
        let max = self.max;
        for c in 0..3 {
            let mut f = Forecast::<2>::new([c, 0, 0, 0, 0, 0], max);
            for k in 0..2 {
                f.on[k] = true;
                f.means[k] = max << 7;
            }
            cells[1 + c] =
                self.fresh.code(coder, &mut state.params, &f, cells[1 + c] as i64) as u32;
        }
    }
}

/// The turn from `b` to `a`, stretched from `ticks` to the horizon.
fn scaled_turn(a: &Quaternion, b: &Quaternion, horizon: i64, ticks: i64) -> Turn {
    let ticks = ticks.max(1);
    let turn = quat::log(&quat::multiply(a, &quat::inverse(b)));
    turn.map(|x| (x * horizon / ticks).clamp(-2 * UNIT, 2 * UNIT))
}
