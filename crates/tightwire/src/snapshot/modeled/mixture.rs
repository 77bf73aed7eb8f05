//! Codes a number from a mixture of distributions around several predictions at once.
//!
//! Each prediction ("part") has a weight and a width; both are sums over a few small tables, one row
//! of each chosen by context, learned by gradient descent of the code length.

use alloc::vec::Vec;

use super::fixed::{CHANCE, FRACTION, ONE, REACH, cumulative, exp2};
use super::range_coder::Coder;

pub(super) const TABLES: usize = 6;
/// Fraction bits of the learned logarithms.
const LEARNED: u32 = 11;
const WEIGHT: u32 = 15;
/// Parts this many octaves less likely than the best sleep: they are neither evaluated nor taught,
/// except at every eighth use, so that they can come back.
const ASLEEP: i32 = 6 << LEARNED;

/// Where the tables of a mixture of `K` parts are in the state: rows of a count, K weights, K widths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixture<const K: usize> {
    starts: [usize; TABLES],
    rows: [usize; TABLES],
}

pub(super) struct Forecast<const K: usize> {
    pub(super) means: [i64; K],
    /// Parts that have no prediction this time are left out.
    pub(super) on: [bool; K],
    /// Row of each table.
    pub(super) rows: [usize; TABLES],
    /// All values that exist; the coding leaves a small chance to each.
    pub(super) low: i64,
    pub(super) high: i64,
    /// The values that are possible at all if the sender's data makes sense.
    pub(super) inner: Option<(i64, i64)>,
}

impl<const K: usize> Forecast<K> {
    pub(super) fn new(rows: [usize; TABLES], high: i64) -> Self {
        Self { means: [0; K], on: [false; K], rows, low: 0, high, inner: None }
    }

    /// The same with the first parts only.
    pub(super) fn first<const N: usize>(&self) -> Forecast<N> {
        Forecast {
            means: core::array::from_fn(|k| self.means[k]),
            on: core::array::from_fn(|k| self.on[k]),
            rows: self.rows,
            low: self.low,
            high: self.high,
            inner: self.inner,
        }
    }

    pub(super) fn add(&mut self, part: usize, mean: i64) {
        self.means[part] = mean;
        self.on[part] = true;
    }
}

/// The parts that matter, next to each other.
struct Active<const K: usize> {
    count: usize,
    part: [usize; K],
    weight: [i64; K],
    mean: [i64; K],
    /// 1 / width, 24 fraction bits.
    inverse: [i64; K],
}

impl<const K: usize> Active<K> {
    /// The mixed cumulative chance below `x`, 24 bits.
    #[inline(always)]
    fn mixed(&self, x: i64) -> u64 {
        let edge = (x << FRACTION) - ONE / 2;
        let mut sum = 0;
        for k in 0..self.count.min(K) {
            sum += self.weight[k] * cumulative(z(edge, self.mean[k], self.inverse[k]));
        }
        (sum >> WEIGHT) as u64
    }
}

/// How the mixed chance becomes whole numbers: only values in `first..=last` have a share of it,
/// but every value in `low..=high` has at least 1, so that anything can be coded.
struct Scale {
    low: i64,
    high: i64,
    first: i64,
    last: i64,
    bottom: u64,
    top: u64,
    shift: u32,
    total: u64,
}

impl Scale {
    #[inline(always)]
    fn place(&self, x: i64, mixed: u64) -> u64 {
        if x <= self.low {
            0
        } else if x > self.high {
            self.total
        } else {
            let mass = if x <= self.first {
                0
            } else if x > self.last {
                self.top - self.bottom
            } else {
                mixed.clamp(self.bottom, self.top) - self.bottom
            };
            (mass << self.shift) + (x - self.low) as u64
        }
    }
}

/// Widths between an edge and a mean, 16 fraction bits.
#[inline(always)]
fn z(edge: i64, mean: i64, inverse: i64) -> i64 {
    (((edge - mean).clamp(-1 << 33, 1 << 33) * inverse) >> 16).clamp(-REACH << 16, REACH << 16)
}

impl<const K: usize> Mixture<K> {
    /// `init` gives the first weights and widths (base-2 logarithms in 1/16) of each part and row.
    pub(super) fn new(
        params: &mut Vec<i16>,
        rows: [usize; TABLES],
        init: impl Fn(usize, usize, usize) -> (i16, i16),
    ) -> Self {
        let mut starts = [0; TABLES];
        for (table, &count) in rows.iter().enumerate() {
            starts[table] = params.len();
            for row in 0..count {
                params.push(0);
                params.extend((0..K).map(|part| init(table, row, part).0 << (LEARNED - 4)));
                params.extend((0..K).map(|part| init(table, row, part).1 << (LEARNED - 4)));
            }
        }
        Self { starts, rows }
    }

    pub(super) fn code<C: Coder>(
        &self,
        coder: &mut C,
        params: &mut [i16],
        forecast: &Forecast<K>,
        value: i64,
    ) -> i64 {
        let rows: [usize; TABLES] = core::array::from_fn(|t| {
            self.starts[t] + forecast.rows[t].min(self.rows[t] - 1) * (2 * K + 1)
        });
        let mut log_weight = [0i16; K];
        let mut log_width = [0i16; K];
        for row in rows {
            let (weights, widths) = params[row + 1..row + 1 + 2 * K].split_at(K);
            gather(&mut log_weight, weights);
            gather(&mut log_width, widths);
        }
        let mut most = i32::MIN;
        let mut best = 0;
        for k in 0..K {
            if forecast.on[k] && log_weight[k] as i32 > most {
                (most, best) = (log_weight[k] as i32, k);
            }
        }
        let mut active =
            Active { count: 0, part: [0; K], weight: [0; K], mean: [0; K], inverse: [0; K] };
        let asleep = if params[rows[0]] & 7 == 0 { 16 << LEARNED } else { ASLEEP };
        let mut sum = 0;
        for k in 0..K {
            let below = most - log_weight[k] as i32;
            if forecast.on[k] && below < asleep {
                let at = active.count;
                active.part[at] = k;
                active.weight[at] = exp2(-below, 20);
                active.mean[at] = forecast.means[k].clamp(-1 << 41, 1 << 41);
                active.inverse[at] =
                    exp2(-(log_width[k] as i32).clamp(-5 << LEARNED, 15 << LEARNED), 24);
                sum += active.weight[at];
                active.count += 1;
            }
        }
        let unit = (1i64 << (WEIGHT + 30)) / sum.max(1);
        for weight in &mut active.weight[..active.count] {
            *weight = (*weight * unit) >> 30;
        }

        let (low, high) = (forecast.low, forecast.high);
        let values = (high - low + 1) as u64;
        // All the values' own chances together are about 1/256 at most.
        let shift = (64 - values.leading_zeros() + 8).saturating_sub(CHANCE);
        let (bottom, top, first, last) = match forecast.inner {
            Some((a, b)) => (active.mixed(a), active.mixed(b + 1), a, b),
            None => (0, 1 << CHANCE, low, high),
        };
        let total = ((top - bottom) << shift) + values;
        let scale = Scale { low, high, first, last, bottom, top, shift, total };
        let value = if C::DECODES {
            let target = coder.target(total);
            // Where the value would be if there were only the best part: the logistic's inverse.
            let width =
                exp2((log_width[best] as i32).clamp(-5 << LEARNED, 15 << LEARNED), FRACTION);
            let offset =
                (width * 177 * (rough_log2(target + 1) - rough_log2(total - target))) >> (8 + 8);
            let guess = (forecast.means[best] + offset + ONE / 2) >> FRACTION;
            search(low, high, guess, width >> (FRACTION + 2), target, total, |x| {
                scale.place(x, active.mixed(x))
            })
        } else {
            value
        };

        // The interval of the value, and what to learn: who was right, how wide should each have been.
        let mut mass = [0i64; K];
        let mut slope = [0i64; K];
        let mut all = 1i64 << WEIGHT;
        let (mut below, mut upto) = (0, 0);
        let edge = (value << FRACTION) - ONE / 2;
        for k in 0..active.count.min(K) {
            let z0 = z(edge, active.mean[k], active.inverse[k]);
            let z1 = z(edge + ONE, active.mean[k], active.inverse[k]);
            let (c0, c1) = (cumulative(z0), cumulative(z1));
            let weight = active.weight[k];
            below += weight * c0;
            upto += weight * c1;
            mass[k] = weight * (c1 - c0);
            all += mass[k];
            // The logistic's density is c * (1 - c).
            let p0 = (c0 * ((1 << CHANCE) - c0)) >> CHANCE;
            let p1 = (c1 * ((1 << CHANCE) - c1)) >> CHANCE;
            slope[k] = ((z0 * p0 - z1 * p1) >> 16) * weight;
        }
        let start = scale.place(value, (below >> WEIGHT) as u64);
        let end = scale.place(value + 1, (upto >> WEIGHT) as u64);
        coder.narrow(start, end, total);

        let unit = (1i64 << 55) / all; // `all` has 16 to 40 bits
        let mut weight_slope = [0i16; K];
        let mut width_slope = [0i16; K];
        for k in 0..active.count {
            let share = (mass[k] >> 4) * (unit >> 6) >> 30; // 15 bits
            let steep = (slope[k] >> 4) * (unit >> 6) >> 30;
            let part = active.part[k];
            weight_slope[part] = ((share - active.weight[k]) >> 1) as i16;
            width_slope[part] = (steep.clamp(-3 * share, 3 * share) >> 3) as i16;
        }
        for row in rows {
            let Some((count, learned)) = params[row..row + 1 + 2 * K].split_first_mut() else {
                continue;
            };
            let (weight_rate, width_rate) = RATES[(*count >> 4) as usize & 63];
            *count = if *count < 1023 { *count + 1 } else { 1016 };
            let (weights, widths) = learned.split_at_mut(K);
            step(weights, &weight_slope, weight_rate);
            step(widths, &width_slope, width_rate);
        }
        value
    }
}

#[inline(always)]
fn gather<const K: usize>(sum: &mut [i16; K], row: &[i16]) {
    if let Some(row) = row.first_chunk::<K>() {
        for k in 0..K {
            sum[k] = sum[k].saturating_add(row[k]);
        }
    }
}

/// Adds `slope * rate`, both halved, rounded; in the shape that becomes vector instructions.
#[inline(always)]
fn step<const K: usize>(learned: &mut [i16], slope: &[i16; K], rate: i16) {
    let Some(learned) = learned.first_chunk_mut::<K>() else { return };
    for k in 0..K {
        let high = ((slope[k] as i32 * rate as i32) >> 16) as i16;
        learned[k] = learned[k].saturating_add((high + 1) >> 1);
    }
}

/// Steps of weights and widths by how often a row was used (in 16ths): large at first.
static RATES: [(i16, i16); 64] = rates();

const fn rates() -> [(i16, i16); 64] {
    let mut table = [(0, 0); 64];
    let mut i = 0;
    while i < 64 {
        let used = i as i32 * 16 + 64;
        let weight = 3200 * 64 / used;
        let width = 1000 * 64 / used;
        table[i] = (
            4 * if weight > 240 { weight as i16 } else { 240 },
            16 * if width > 80 { width as i16 } else { 80 },
        );
        i += 1;
    }
    table
}

/// Base-2 logarithm with 8 fraction bits, right to a tenth.
fn rough_log2(x: u64) -> i64 {
    let zeros = x.leading_zeros().min(63);
    ((63 - zeros) as i64) << 8 | ((x << zeros) >> 55 & 255) as i64
}

/// The value whose interval holds the target: gallops from the guess until the value is bracketed,
/// then interpolates and bisects in turns. At most some 2 * 33 + 33 steps.
#[inline(always)]
fn search(
    mut low: i64,
    mut high: i64,
    guess: i64,
    step: i64,
    target: u64,
    total: u64,
    cumulative: impl Fn(i64) -> u64,
) -> i64 {
    let (mut start, mut end) = (0, total);
    let mut probe = guess;
    let mut step = step.max(1);
    let mut directions = 0;
    let mut turn = false;
    while low < high {
        let middle = if directions != 3 {
            probe
        } else if turn || high - low < 4 || high - low > 1 << 20 {
            low + (high - low + 1) / 2
        } else {
            low + ((target - start) * (high - low + 1) as u64 / (end - start)) as i64
        };
        turn = !turn;
        let middle = middle.clamp(low + 1, high);
        let at = cumulative(middle);
        if at <= target {
            (low, start) = (middle, at);
            directions |= 1;
            probe = middle.saturating_add(step);
        } else {
            (high, end) = (middle - 1, at);
            directions |= 2;
            probe = middle.saturating_sub(step);
        }
        step = step.saturating_mul(2);
    }
    low
}
