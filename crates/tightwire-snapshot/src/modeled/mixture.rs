//! Codes a number by a mixture of distributions around several predictions at once.
//!
//! Each prediction ("part") has a weight and a width. Both are sums over a few small tables, one
//! row of each selected by context, and learned by gradient descent of the code length. All parts
//! are computed at once, one in each lane, by the rules of `logistic`.

use alloc::vec::Vec;

use super::bucket::FRACTION;
use super::logistic::{OCTAVES, cumulative, density, exp2, sum, sums};
use super::range_coder::Coder;
use super::scale::{CHANCE, Range, Scale};
use super::search::find;
use wide::{bytemuck, f32x4, f32x8, i16x8, i32x8};

pub(super) const TABLES: usize = 5;
/// Number of parts: as many as there are lanes.
pub(super) const PARTS: usize = 8;
/// Fraction bits of the learned logarithms.
const LEARNED: u32 = 11;
/// Limits of the logarithms of widths.
const WIDTHS: (i16, i16) = (-5 << LEARNED, 15 << LEARNED);
/// Logarithm of the octaves, with the fraction bits of `logistic`, in a width of one code: that of
/// 2^23 / (256 ln 2).
const OCTAVES_OF_CODE: i32 = 31_803;
/// Limit of means and edges, relative to the base: the difference of two of them fits into 32 bits.
const FAR: i64 = (1 << 30) - 1;
/// Half of the whole probability.
const HALF: f32 = (1 << (CHANCE - 1)) as f32;
const WHOLE: f32 = (1 << CHANCE) as f32;
/// The learning rate of a new row, and the one to which it falls, after about 1,100 values.
const FIRST_RATE: i16 = 12_800;
const LAST_RATE: i16 = 1_023;

/// Row of a table: base-2 logarithms.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct TableRow {
    pub(super) weights: [i16; PARTS],
    pub(super) widths: [i16; PARTS],
    /// Learning rate of both.
    pub(super) rate: i16,
}

/// Index of the row of each table: in the table, or in the state.
pub(super) type Rows = [u32; TABLES];

/// Indices of a mixture's tables in the state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixture {
    starts: Rows,
    /// Number of rows of each table: the contexts of a forecast are below it.
    counts: Rows,
}

/// Predictions of a value.
pub(super) struct Forecast {
    /// Code that the means are relative to.
    base: i64,
    /// Means less base, 8 fraction bits, within `FAR`.
    means: i32x8,
    /// 0 for a part with a mean, else `ABSENT`. A vector, since one that is loaded soon after its
    /// lanes were stored one by one has to wait for them.
    presence: i16x8,
    rows: Rows,
    range: Range,
    /// Range of the values that are possible if the sender's data makes sense; the coder leaves a
    /// small probability to all others. `None` if all are possible.
    pub(super) inner: Option<(i64, i64)>,
}

/// Logarithm by which the weight of a part without a mean is lowered.
pub(super) const ABSENT: i16 = i16::MIN;

/// Returns the presence of a part.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn presence(has_mean: bool) -> i16 {
    if has_mean { 0 } else { ABSENT }
}

impl Forecast {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(rows: Rows, base: i64, range: Range) -> Self {
        Self::of_parts(rows, base, range, i32x8::ZERO, i16x8::splat(ABSENT))
    }

    /// Creates a forecast of means relative to `base` within `FAR`, 8 fraction bits.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of_parts(
        rows: Rows,
        base: i64,
        range: Range,
        means: i32x8,
        presence: i16x8,
    ) -> Self {
        Self { base, means, presence, rows, range, inner: None }
    }

    /// Adds the prediction of a part.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn add(&mut self, part: usize, mean: i64) {
        let mean = (mean - (self.base << FRACTION)).clamp(-FAR, FAR) as i32;
        self.means.as_mut_array()[part % PARTS] = mean;
        self.presence.as_mut_array()[part % PARTS] = 0;
    }

    /// Sets the mean of a part relative to the base, within `FAR`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn set(&mut self, part: usize, mean: i32) {
        self.means.as_mut_array()[part % PARTS] = mean;
        self.presence.as_mut_array()[part % PARTS] = 0;
    }

    /// Returns the base, the means and the presence of the parts.
    #[cfg(test)]
    pub(super) fn parts(&self) -> (i64, [i32; PARTS], [i16; PARTS]) {
        (self.base, self.means.to_array(), self.presence.to_array())
    }

    /// Counts values from `offset` on, around a circle of `size`.
    pub(super) fn wrap(&mut self, offset: i64, size: i64) {
        let middle = size / 2;
        for mean in self.means.as_mut_array() {
            let whole = i64::from(*mean) + ((self.base - offset) << FRACTION);
            let whole = modulo(whole, size << FRACTION);
            *mean = (whole - (middle << FRACTION)).clamp(-FAR, FAR) as i32;
        }
        self.base = middle;
    }
}

/// Returns a number modulo the size of a circle, mostly a power of two, which saves the division.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn modulo(number: i64, size: i64) -> i64 {
    if size & (size - 1) == 0 { number & (size - 1) } else { number.rem_euclid(size) }
}

/// Returns the means of each component, a lane for each part, from those of each part, a lane for
/// each component.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn means_by_component(parts: &[f32x4; PARTS]) -> [i32x8; 4] {
    let [a, b, c, d, e, f, g, h] = *parts;
    let [first, second] = [f32x4::transpose([a, b, c, d]), f32x4::transpose([e, f, g, h])];
    core::array::from_fn(|component| {
        bytemuck::cast([first[component].fast_trunc_int(), second[component].fast_trunc_int()])
    })
}

/// The distributions of a value, a lane for each part.
pub(super) struct Lanes {
    pub(super) base: i64,
    pub(super) means: i32x8,
    /// Octaves of the tail for each 256th of a code, as `logistic` counts them.
    pub(super) inverse: f32x8,
    /// Weights relative to the largest one.
    pub(super) weights: f32x8,
    /// The whole probability for each unit of weight.
    pub(super) unit: f32,
}

/// The edges of a value.
pub(super) struct Edges {
    /// Distances of the lower and the upper edge from the means.
    distances: [f32x8; 2],
    /// Cumulative probabilities at the edges, less 1/2.
    cumulative: [f32x8; 2],
    /// Mixed cumulative probabilities, with 24 bits; the same in whole numbers.
    mixed: [f32; 2],
    pub(super) whole: [u64; 2],
}

impl Lanes {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn new(params: &[TableRow], rows: Rows, forecast: &Forecast) -> Self {
        let (mut weights, mut widths) = (i16x8::ZERO, i16x8::ZERO);
        each(rows, |row| {
            weights = weights.saturating_add(params[row].weights.into());
            widths = widths.saturating_add(params[row].widths.into());
        });
        let weights = weights.saturating_add(forecast.presence);
        let largest = i16x8::splat(weights.reduce_max());
        let weights = exp2(i32x8::ZERO - i32x8::from_i16x8(largest.saturating_sub(weights)));
        let widths = widths.max(i16x8::splat(WIDTHS.0)).min(i16x8::splat(WIDTHS.1));
        Self {
            base: forecast.base,
            means: forecast.means,
            inverse: exp2(i32x8::splat(OCTAVES_OF_CODE) - i32x8::from_i16x8(widths)),
            weights,
            unit: WHOLE / sum(weights),
        }
    }

    /// Evaluates the edges of a value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn edges(&self, value: i64) -> Edges {
        let middle = (value - self.base) << FRACTION;
        let half = 1 << (FRACTION - 1);
        // The upper edge of a value is the lower one of the next, also where both are clamped.
        let distances = [self.distances(middle - half), self.distances(middle + half)];
        let cumulative = [cumulative(distances[0]), cumulative(distances[1])];
        let [below, upto] = sums(cumulative[0] * self.weights, cumulative[1] * self.weights);
        let mixed = [below * self.unit + HALF, upto * self.unit + HALF];
        // Rounding may go a little beyond either end. Clamped as floats, which is one instruction.
        let both = f32x4::from([mixed[0], mixed[1], 0.0, 0.0]);
        let both = both.fast_max(f32x4::ZERO).fast_min(f32x4::splat(WHOLE));
        let [below, upto, ..] = both.fast_trunc_int().to_array();
        Edges { distances, cumulative, mixed, whole: [below as u64, upto as u64] }
    }

    /// Returns the distances of an edge from the means.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn distances(&self, edge: i64) -> f32x8 {
        let edge = i32x8::splat(edge.clamp(-FAR, FAR) as i32);
        (edge - self.means).round_float() * self.inverse
    }

    /// Mixes the cumulative probabilities of the parts.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn mix(&self, cumulative: f32x8) -> f32 {
        sum(cumulative * self.weights) * self.unit + HALF
    }
}

impl Mixture {
    /// Adds the tables; `init` returns the initial weight and width (base-2 logarithms in 1/16) of
    /// each part and row.
    pub(super) fn new(
        params: &mut Vec<TableRow>,
        counts: Rows,
        init: impl Fn(usize, usize, usize) -> (i16, i16),
    ) -> Self {
        let mut starts = [0; TABLES];
        for (table, &count) in counts.iter().enumerate() {
            starts[table] = params.len() as u32;
            for row in 0..count as usize {
                let first = |sixteenths: i16| sixteenths.saturating_mul(1 << (LEARNED - 4));
                params.push(TableRow {
                    weights: core::array::from_fn(|part| first(init(table, row, part).0)),
                    widths: core::array::from_fn(|part| first(init(table, row, part).1)),
                    rate: FIRST_RATE,
                });
            }
        }
        Self { starts, counts }
    }

    pub(super) fn code<C: Coder>(
        &self,
        coder: &mut C,
        params: &mut [TableRow],
        forecast: &Forecast,
        value: i64,
    ) -> i64 {
        debug_assert!(forecast.rows.iter().zip(self.counts).all(|(row, count)| *row < count));
        let rows = core::array::from_fn(|table| self.starts[table] + forecast.rows[table]);
        let lanes = Lanes::new(params, rows, forecast);
        let inner = forecast.inner.map(|(first, last)| {
            let (bottom, top) = (lanes.edges(first).whole[0], lanes.edges(last).whole[1]);
            ((first, last), (bottom, top))
        });
        let scale = Scale::new(&forecast.range, inner);
        let (value, edges) = if C::DECODES {
            find(&scale, &lanes, coder.target(scale.bits))
        } else {
            (value, lanes.edges(value))
        };
        let (start, end) = scale.interval(value, edges.whole);
        coder.narrow(start, end, scale.bits);
        learn(params, rows, &lanes, &edges);
        value
    }
}

/// Raises the weights of the parts that predicted well, and moves each width towards its error.
#[cfg_attr(not(debug_assertions), inline(always))]
fn learn(params: &mut [TableRow], rows: Rows, lanes: &Lanes, edges: &Edges) {
    let [below, upto] = edges.cumulative;
    // The part's share of the probability of the value.
    let unit = lanes.unit / (edges.mixed[1] - edges.mixed[0] + 1.0);
    let of_all = lanes.weights * f32x8::splat(unit);
    let share = of_all * (upto - below);
    // The slope of the logarithm of that probability by the logarithm of the width.
    let [first, second] = edges.distances;
    let slope = (first * density(below) - second * density(upto)) * of_all * f32x8::splat(OCTAVES);
    let most = share * f32x8::splat(3.0);
    let slope = slope.fast_min(most).fast_max(f32x8::ZERO - most);
    let weight = lanes.weights * f32x8::splat(lanes.unit * (1.0 / WHOLE));
    // Probabilities are at most 1, and a share, after rounding, at most 4.
    let weight_slope = ((share - weight) * f32x8::splat(16_384.0)).fast_trunc_int();
    let width_slope = (slope * f32x8::splat(5_120.0)).fast_trunc_int();
    let weight_slope = i16x8::from_i32x8_saturate(weight_slope);
    let slopes = [weight_slope, i16x8::from_i32x8_saturate(width_slope)];
    // Most rows have the last rate, and take the same steps.
    let last_steps = steps(slopes, LAST_RATE);
    each(rows, |row| {
        let row = &mut params[row];
        if row.rate == LAST_RATE {
            row.learn(last_steps);
        } else {
            row.learn(steps(slopes, row.rate));
            // Like 1 / n at first.
            row.rate -= ((i32::from(row.rate) * i32::from(row.rate)) >> 20) as i16;
        }
    });
}

impl TableRow {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn learn(&mut self, [weights, widths]: [i16x8; 2]) {
        self.weights = i16x8::from(self.weights).saturating_add(weights).to_array();
        self.widths = i16x8::from(self.widths).saturating_add(widths).to_array();
    }
}

/// Calls a function with each row. A loop would be unrolled too late for the compiler to see that an index is
/// checked twice.
#[cfg_attr(not(debug_assertions), inline(always))]
fn each([a, b, c, d, e]: Rows, mut one: impl FnMut(usize)) {
    one(a as usize);
    one(b as usize);
    one(c as usize);
    one(d as usize);
    one(e as usize);
}

/// Returns `slope * rate` of each slope, halved and rounded.
#[cfg_attr(not(debug_assertions), inline(always))]
fn steps(slopes: [i16x8; 2], rate: i16) -> [i16x8; 2] {
    slopes.map(|slope| (slope.mul_keep_high(i16x8::splat(rate)) + i16x8::splat(1)) >> 1)
}
