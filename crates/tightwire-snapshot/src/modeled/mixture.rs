//! Codes a number by a mixture of distributions around several predictions at once.
//!
//! Each prediction ("part") has a weight and a width. Both are sums over a few small tables, one
//! row of each selected by context, and learned by gradient descent of the code length.

use alloc::vec::Vec;
use core::hint::select_unpredictable;

use super::fixed::{CHANCE, FRACTION, ONE, REACH, cumulative, exp2, exp2_down};
use super::range_coder::Coder;
use super::search::{find, guess};

pub(super) const TABLES: usize = 5;
/// Number of parts: as many as fill a vector register.
pub(super) const PARTS: usize = 8;
/// A count, the weights and the widths.
const ROW: usize = 1 + 2 * PARTS;
/// Fraction bits of the learned logarithms.
const LEARNED: u32 = 11;
const WEIGHT: u32 = 15;
/// Distance in octaves at which a part sleeps: when it is so much less likely than the best, it is
/// neither evaluated nor updated, except at every 16th use, so that it can come back.
const ASLEEP: i32 = 5 << LEARNED;

/// Indices of a mixture's tables in the state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixture {
    starts: [usize; TABLES],
    rows: [usize; TABLES],
}

/// Predictions of a value from 0 to `high`.
pub(super) struct Forecast {
    /// Parts and their means; parts without a prediction this time are left out.
    parts: [(usize, i64); PARTS],
    count: usize,
    /// Row of each table.
    rows: [usize; TABLES],
    high: i64,
    /// Range of the values that are possible if the sender's data makes sense; the coder leaves a
    /// small probability to all others. `None` if all are possible.
    pub(super) inner: Option<(i64, i64)>,
}

impl Forecast {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(rows: [usize; TABLES], high: i64) -> Self {
        Self { parts: [(0, 0); PARTS], count: 0, rows, high, inner: None }
    }

    /// Adds a prediction; each part at most once.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn add(&mut self, part: usize, mean: i64) {
        if let Some(place) = self.parts.get_mut(self.count) {
            *place = (part, mean);
            self.count += 1;
        }
    }

    pub(super) fn means_mut(&mut self) -> impl Iterator<Item = &mut i64> {
        self.parts.iter_mut().take(self.count).map(|(_, mean)| mean)
    }
}

/// A part that is awake.
#[derive(Clone, Copy, Default)]
struct Part {
    mean: i64,
    /// 1 / width, 24 fraction bits.
    inverse: i64,
    /// Weight; 15 bits for all parts together.
    weight: i64,
    /// Index among the mixture's parts.
    index: usize,
    /// Distances in widths from the mean to the edges of the last evaluated value, and the
    /// cumulative probabilities there.
    edges: (i32, i32),
    below: i32,
    upto: i32,
}

impl Part {
    /// Evaluates a value, whose lower edge is given.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn evaluate(&mut self, edge: i64) {
        let product = clamp(edge - self.mean, 1 << 33) * self.inverse;
        let widths = |product: i64| clamp(product >> 16, REACH << 16) as i32;
        self.edges = (widths(product), widths(product + (self.inverse << FRACTION)));
        (self.below, self.upto) = (cumulative(self.edges.0), cumulative(self.edges.1));
    }
}

/// Clamps `x` to `-most..=most` without branches, which would often be mispredicted.
#[cfg_attr(not(debug_assertions), inline(always))]
fn clamp(x: i64, most: i64) -> i64 {
    let x = select_unpredictable(x < most, x, most);
    select_unpredictable(x > -most, x, -most)
}

/// Moves the awake parts next to each other; returns their number, and the most likely one.
#[cfg_attr(not(debug_assertions), inline(always))]
fn wake(
    awake: &mut [Part; PARTS],
    forecast: &Forecast,
    log_weights: &[i16; PARTS],
    log_widths: &[i16; PARTS],
    asleep: i32,
) -> (usize, usize) {
    let offered = &forecast.parts[..forecast.count.min(PARTS)];
    let log_weight = |index: usize| i32::from(log_weights[index % PARTS]);
    let most = offered.iter().fold(i32::MIN, |most, &(index, _)| most.max(log_weight(index)));
    let (mut count, mut best) = (0, 0);
    let mut sum = 0;
    for &(index, mean) in offered {
        let less = most - log_weight(index);
        let is_awake = less < asleep;
        // Always written, and overwritten if the part sleeps: a branch would often be mispredicted.
        let part = &mut awake[count % PARTS];
        part.index = index;
        part.weight = exp2_down(-less, 20);
        part.mean = clamp(mean, 1 << 41);
        part.inverse = exp2_down(-i32::from(log_widths[index % PARTS]), 24);
        sum += select_unpredictable(is_awake, part.weight, 0);
        best = select_unpredictable(less == 0, count, best);
        count += usize::from(is_awake);
    }
    // At least 2^20, for the most likely part.
    let unit = (1u64 << (WEIGHT + 30)) / sum.max(1) as u64;
    for part in awake.iter_mut().take(count) {
        part.weight = (part.weight * unit as i64) >> 30;
    }
    (count, best)
}

/// Returns the mixed cumulative probabilities below a value and below the next one, with 24 and
/// `WEIGHT` bits.
#[cfg_attr(not(debug_assertions), inline(always))]
fn evaluate(parts: &mut [Part], value: i64) -> (u64, u64) {
    let (mut below, mut upto) = (0, 0);
    let edge = (value << FRACTION) - ONE / 2;
    for part in parts {
        part.evaluate(edge);
        below += part.weight * i64::from(part.below);
        upto += part.weight * i64::from(part.upto);
    }
    (below as u64, upto as u64)
}

/// Conversion of the mixed probability to integers up to a power of two: only values in
/// `first..=last` have a share of it, but every value has at least 1, so that any value can be
/// coded.
pub(super) struct Scale {
    pub(super) high: i64,
    pub(super) first: i64,
    pub(super) last: i64,
    bottom: u64,
    top: u64,
    /// Factor of the probability between `bottom` and `top`, and the shift after it.
    factor: u64,
    shift: u32,
    /// Bits of the total.
    bits: u32,
}

impl Scale {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn new(forecast: &Forecast, parts: &mut [Part]) -> Self {
        let high = forecast.high;
        let values = high as u64 + 1;
        // The minimum shares of all values together are about 1/256 at most.
        let more = (64 - values.leading_zeros() + 8).saturating_sub(CHANCE);
        let left = (1 << CHANCE) - ((values + (1 << more) - 1) >> more);
        let (bottom, top, first, last, factor) = match forecast.inner {
            Some((first, last)) => {
                let bottom = evaluate(parts, first).0 >> WEIGHT;
                let top = evaluate(parts, last).1 >> WEIGHT;
                (bottom, top, first, last, (left << CHANCE) / (top - bottom).max(1))
            }
            None => (0, 1 << CHANCE, 0, high, left),
        };
        Self { high, first, last, bottom, top, factor, shift: CHANCE - more, bits: CHANCE + more }
    }

    /// Returns the interval of a value, by the mixed probabilities at its edges.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn interval(&self, value: i64, (below, upto): (u64, u64)) -> (u64, u64) {
        (self.place(value, below), self.place(value + 1, upto))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn place(&self, value: i64, mixed: u64) -> u64 {
        if value <= 0 {
            return 0;
        }
        if value > self.high {
            return 1 << self.bits;
        }
        let mass = if value <= self.first {
            0
        } else if value > self.last {
            self.top - self.bottom
        } else {
            (mixed >> WEIGHT).clamp(self.bottom, self.top) - self.bottom
        };
        ((mass * self.factor) >> self.shift) + value as u64
    }
}

impl Mixture {
    /// Adds the tables; `init` returns the initial weight and width (base-2 logarithms in 1/16) of
    /// each part and row.
    pub(super) fn new(
        params: &mut Vec<i16>,
        rows: [usize; TABLES],
        init: impl Fn(usize, usize, usize) -> (i16, i16),
    ) -> Self {
        let mut starts = [0; TABLES];
        for (table, &count) in rows.iter().enumerate() {
            starts[table] = params.len();
            for row in 0..count {
                let first = |sixteenths: i16| sixteenths.saturating_mul(1 << (LEARNED - 4));
                params.push(0);
                params.extend((0..PARTS).map(|part| first(init(table, row, part).0)));
                params.extend((0..PARTS).map(|part| first(init(table, row, part).1)));
            }
        }
        Self { starts, rows }
    }

    pub(super) fn code<C: Coder>(
        &self,
        coder: &mut C,
        params: &mut [i16],
        forecast: &Forecast,
        value: i64,
    ) -> i64 {
        let rows: [usize; TABLES] = core::array::from_fn(|table| {
            let row = forecast.rows[table].min(self.rows[table] - 1);
            self.starts[table] + row * ROW
        });
        let mut log_weights = [0; PARTS];
        let mut log_widths = [0; PARTS];
        for row in rows {
            let (weights, widths) = params[row + 1..row + ROW].split_at(PARTS);
            gather(&mut log_weights, weights);
            gather(&mut log_widths, widths);
        }
        log_widths = log_widths.map(|width| width.clamp(-5 << LEARNED, 15 << LEARNED));
        let asleep = if params[rows[0]] & 15 == 0 { 16 << LEARNED } else { ASLEEP };
        let mut parts = [Part::default(); PARTS];
        let (count, best) = wake(&mut parts, forecast, &log_weights, &log_widths, asleep);
        let parts = &mut parts[..count.min(PARTS)];
        let scale = Scale::new(forecast, parts);
        let (value, mixed) = if C::DECODES {
            let (code, unit) = coder.target(scale.bits);
            let Some(best) = parts.get(best) else { return 0 };
            let width = exp2(i32::from(log_widths[best.index % PARTS]), FRACTION as i32);
            let guess = guess(best.mean, width, code, unit << scale.bits);
            find(&scale, (code, unit), guess, width >> FRACTION, |value| evaluate(parts, value))
        } else {
            (value, evaluate(parts, value))
        };
        let (start, end) = scale.interval(value, mixed);
        coder.narrow(start, end, scale.bits);
        learn(params, rows, parts, mixed.1 - mixed.0);
        value
    }
}

/// Raises the weights of the parts that predicted well, and moves each width towards its error.
#[cfg_attr(not(debug_assertions), inline(always))]
fn learn(params: &mut [i16], rows: [usize; TABLES], parts: &[Part], mass: u64) {
    let unit = ((1u64 << 49) / (mass + (1 << WEIGHT))) as i64; // the divisor has 16 to 40 bits
    let mut weight_slope = [0i16; PARTS];
    let mut width_slope = [0i16; PARTS];
    for part in parts {
        // The density of the logistic distribution is chance * (1 - chance).
        let density =
            |chance: i32| (i64::from(chance) * i64::from((1 << CHANCE) - chance)) >> CHANCE;
        let (first, second) = (i64::from(part.edges.0), i64::from(part.edges.1));
        let steep = (first * density(part.below) - second * density(part.upto)) >> 16;
        let of_all = |mass: i64| (((part.weight * mass) >> 4) * unit) >> 30; // 15 bits
        let share = of_all(i64::from(part.upto - part.below));
        let steep = clamp(of_all(steep), 3 * share);
        weight_slope[part.index % PARTS] = ((share - part.weight) >> 1) as i16;
        width_slope[part.index % PARTS] = (steep >> 3) as i16;
    }
    teach(params, rows, &weight_slope, &width_slope);
}

/// Updates all rows. Not inlined, since only then the compiler vectorises it.
#[inline(never)]
fn teach(
    params: &mut [i16],
    rows: [usize; TABLES],
    weight_slope: &[i16; PARTS],
    width_slope: &[i16; PARTS],
) {
    let (weight_slope, width_slope) = (*weight_slope, *width_slope);
    for row in rows {
        let Some((count, learned)) = params[row..].split_first_mut() else { return };
        let (weight_rate, width_rate) = RATES[(*count >> 4) as usize & 63];
        *count += if *count < 1023 { 1 } else { -7 };
        let Some((weights, widths)) = learned.split_first_chunk_mut::<PARTS>() else { return };
        let Some(widths) = widths.first_chunk_mut::<PARTS>() else { return };
        step(weights, &weight_slope, weight_rate);
        step(widths, &width_slope, width_rate);
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn gather(sum: &mut [i16; PARTS], row: &[i16]) {
    if let Some(row) = row.first_chunk::<PARTS>() {
        for k in 0..PARTS {
            sum[k] = sum[k].saturating_add(row[k]);
        }
    }
}

/// Adds `slope * rate`, both halved, rounded; written so that the compiler vectorises it.
#[cfg_attr(not(debug_assertions), inline(always))]
fn step(learned: &mut [i16; PARTS], slope: &[i16; PARTS], rate: i16) {
    for k in 0..PARTS {
        let high = ((slope[k] as i32 * rate as i32) >> 16) as i16;
        learned[k] = learned[k].saturating_add((high + 1) >> 1);
    }
}

/// Learning rates of weights and widths by how often a row was used (in 16ths): large at first.
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
