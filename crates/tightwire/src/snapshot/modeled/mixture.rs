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

    pub(super) fn add(&mut self, part: usize, mean: i64) {
        self.means[part] = mean;
        self.on[part] = true;
    }
}

/// The parts that matter, next to each other.
struct Active<const K: usize> {
    count: usize,
    parts: [Part; K],
    /// The likeliest of them.
    best: usize,
}

#[derive(Clone, Copy, Default)]
struct Part {
    /// Which of the mixture's parts it is.
    index: usize,
    /// 15 bits for all parts together.
    weight: i64,
    mean: i64,
    /// 1 / width, 24 fraction bits.
    inverse: i64,
    /// Of the value that was looked at last: the widths between the mean and its edges, and the
    /// chances below them.
    edges: (i64, i64),
    below: i64,
    upto: i64,
}

impl Part {
    /// Widths between the mean and both edges of a value, 16 fraction bits.
    #[inline(always)]
    fn edges(&self, value: i64) -> (i64, i64) {
        let edge = (value << FRACTION) - ONE / 2;
        let product = (edge - self.mean).clamp(-1 << 33, 1 << 33) * self.inverse;
        let widths = |product: i64| (product >> 16).clamp(-REACH << 16, REACH << 16);
        (widths(product), widths(product + (self.inverse << FRACTION)))
    }
}

impl<const K: usize> Active<K> {
    #[inline(always)]
    fn new(
        forecast: &Forecast<K>,
        log_weights: &[i16; K],
        log_widths: &[i16; K],
        asleep: i32,
    ) -> Self {
        let mut most = i32::MIN;
        for (&log_weight, &is_on) in log_weights.iter().zip(&forecast.on) {
            if is_on {
                most = most.max(i32::from(log_weight));
            }
        }
        let mut active = Self { count: 0, parts: [Part::default(); K], best: 0 };
        let mut sum = 0;
        for index in 0..K {
            let less = most.saturating_sub(i32::from(log_weights[index]));
            if !forecast.on[index] || less >= asleep {
                continue;
            }
            let Some(part) = active.parts.get_mut(active.count) else { break };
            part.index = index;
            part.weight = exp2(-less, 20);
            part.mean = forecast.means[index].clamp(-1 << 41, 1 << 41);
            part.inverse = exp2(-clamp_width(log_widths[index]), 24);
            sum += part.weight;
            if less == 0 {
                active.best = active.count;
            }
            active.count += 1;
        }
        // At least 2^20, for the likeliest part.
        let unit = (1i64 << (WEIGHT + 30)) / sum.max(1);
        for part in active.parts_mut() {
            part.weight = (part.weight * unit) >> 30;
        }
        active
    }

    #[inline(always)]
    fn parts_mut(&mut self) -> &mut [Part] {
        &mut self.parts[..self.count.min(K)]
    }

    /// The mixed chances below a value and below the next one, 24 bits.
    #[inline(always)]
    fn look_at(&mut self, value: i64) -> (u64, u64) {
        let (mut below, mut upto) = (0, 0);
        for part in self.parts_mut() {
            part.edges = part.edges(value);
            (part.below, part.upto) = (cumulative(part.edges.0), cumulative(part.edges.1));
            below += part.weight * part.below;
            upto += part.weight * part.upto;
        }
        ((below >> WEIGHT) as u64, (upto >> WEIGHT) as u64)
    }
}

fn clamp_width(log_width: i16) -> i32 {
    i32::from(log_width).clamp(-5 << LEARNED, 15 << LEARNED)
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
    fn new<const K: usize>(forecast: &Forecast<K>, active: &mut Active<K>) -> Self {
        let (low, high) = (forecast.low, forecast.high);
        let values = (high - low + 1) as u64;
        // All the values' own chances together are about 1/256 at most.
        let shift = (64 - values.leading_zeros() + 8).saturating_sub(CHANCE);
        let (bottom, top, first, last) = match forecast.inner {
            Some((first, last)) => (active.look_at(first).0, active.look_at(last).1, first, last),
            None => (0, 1 << CHANCE, low, high),
        };
        let total = ((top - bottom) << shift) + values;
        Self { low, high, first, last, bottom, top, shift, total }
    }

    /// The interval of a value, of whose edges the mixed chances are given.
    #[inline(always)]
    fn interval(&self, value: i64, (below, upto): (u64, u64)) -> (u64, u64) {
        (self.place(value, below), self.place(value + 1, upto))
    }

    #[inline(always)]
    fn place(&self, value: i64, mixed: u64) -> u64 {
        if value <= self.low {
            return 0;
        }
        if value > self.high {
            return self.total;
        }
        let mass = if value <= self.first {
            0
        } else if value > self.last {
            self.top - self.bottom
        } else {
            mixed.clamp(self.bottom, self.top) - self.bottom
        };
        (mass << self.shift) + (value - self.low) as u64
    }
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
                let first = |sixteenths: i16| sixteenths.saturating_mul(1 << (LEARNED - 4));
                params.push(0);
                params.extend((0..K).map(|part| first(init(table, row, part).0)));
                params.extend((0..K).map(|part| first(init(table, row, part).1)));
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
        let rows: [usize; TABLES] = core::array::from_fn(|table| {
            let row = forecast.rows[table].min(self.rows[table] - 1);
            self.starts[table] + row * (2 * K + 1)
        });
        let mut log_weights = [0i16; K];
        let mut log_widths = [0i16; K];
        for row in rows {
            let (weights, widths) = params[row + 1..row + 1 + 2 * K].split_at(K);
            gather(&mut log_weights, weights);
            gather(&mut log_widths, widths);
        }
        let asleep = if params[rows[0]] & 7 == 0 { 16 << LEARNED } else { ASLEEP };
        let mut active = Active::new(forecast, &log_weights, &log_widths, asleep);
        let scale = Scale::new(forecast, &mut active);
        let (value, (start, end)) = if C::DECODES {
            let best = active.parts[active.best];
            let target = coder.target(scale.total);
            let width = exp2(clamp_width(log_widths[best.index]), FRACTION as i32);
            let guess = guess(best.mean, width, target, scale.total);
            find(&scale, target, guess, width >> FRACTION, |value| active.look_at(value))
        } else {
            (value, scale.interval(value, active.look_at(value)))
        };
        coder.narrow(start, end, scale.total);
        learn(params, rows, &active);
        value
    }
}

/// Makes the parts that were right weigh more, and each as wide as it should have been.
#[inline(always)]
fn learn<const K: usize>(params: &mut [i16], rows: [usize; TABLES], active: &Active<K>) {
    let mut all = 1i64 << WEIGHT;
    let parts = &active.parts[..active.count.min(K)];
    for part in parts {
        all += part.weight * (part.upto - part.below);
    }
    let unit = (1i64 << 49) / all; // `all` has 16 to 40 bits
    let mut weight_slope = [0i16; K];
    let mut width_slope = [0i16; K];
    for part in parts {
        // The logistic's density is chance * (1 - chance).
        let density = |chance: i64| (chance * ((1 << CHANCE) - chance)) >> CHANCE;
        let (first, second) = part.edges;
        let steep = (first * density(part.below) - second * density(part.upto)) >> 16;
        let of_all = |mass: i64| (((part.weight * mass) >> 4) * unit) >> 30; // 15 bits
        let share = of_all(part.upto - part.below);
        let steep = of_all(steep).clamp(-3 * share, 3 * share);
        weight_slope[part.index] = ((share - part.weight) >> 1) as i16;
        width_slope[part.index] = (steep >> 3) as i16;
    }
    for row in rows {
        teach(&mut params[row..row + 1 + 2 * K], &weight_slope, &width_slope);
    }
}

/// One row. A function of its own, since only then the compiler makes vector instructions of it.
#[inline(never)]
fn teach<const K: usize>(row: &mut [i16], weight_slope: &[i16; K], width_slope: &[i16; K]) {
    let Some((count, learned)) = row.split_first_mut() else { return };
    let (weight_rate, width_rate) = RATES[(*count >> 4) as usize & 63];
    *count = if *count < 1023 { *count + 1 } else { 1016 };
    let Some((weights, widths)) = learned.split_first_chunk_mut::<K>() else { return };
    let Some(widths) = widths.first_chunk_mut::<K>() else { return };
    step(weights, weight_slope, weight_rate);
    step(widths, width_slope, width_rate);
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
fn step<const K: usize>(learned: &mut [i16; K], slope: &[i16; K], rate: i16) {
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

/// Where the value would be if there were only the best part: the logistic's inverse.
fn guess(mean: i64, width: i64, target: u64, total: u64) -> i64 {
    // 177 / 256 is the natural logarithm of 2.
    let offset = (width * 177 * (rough_log2(target + 1) - rough_log2(total - target))) >> (8 + 8);
    (mean + offset + ONE / 2) >> FRACTION
}

/// The value whose interval holds the target, and the interval. Each step goes as far as the
/// target were if all values were as likely as the one looked at, but at first not much further than
/// a width; once that has failed a few times, every other step halves what is left.
#[inline(always)]
fn find(
    scale: &Scale,
    target: u64,
    guess: i64,
    width: i64,
    mut look_at: impl FnMut(i64) -> (u64, u64),
) -> (i64, (u64, u64)) {
    let (mut low, mut high) = (scale.low, scale.high);
    let mut value = guess.clamp(scale.first, scale.last);
    let mut most = width.clamp(1, 1 << 32) as u64;
    let mut steps = 0;
    loop {
        let (start, end) = scale.interval(value, look_at(value));
        let size = (end - start).max(1);
        let is_above = target >= end;
        if low >= high || (target >= start && !is_above) {
            return (value, (start, end));
        }
        let missing = if is_above { target - start } else { start - target + size - 1 };
        // Without a division where the step is too far anyway.
        let step = if missing >> 6 > size { most } else { (missing / size).min(most) } as i64;
        value = if is_above {
            low = value + 1;
            value + step
        } else {
            high = value - 1;
            value - step
        };
        steps += 1;
        if steps >= 5 && steps % 2 == 0 && low > scale.low && high < scale.high {
            value = low + (high - low) / 2;
        }
        // The bounds never cross, since all intervals together leave no gap.
        value = value.clamp(low.min(high), high.max(low));
        most = most.saturating_mul(4).min(1 << 32);
    }
}
