//! Fixed-point helpers and the tables of the distribution's shape, all made by integer arithmetic.

/// Fraction bits of means and distances, in codes.
pub(super) const FRACTION: u32 = 8;
pub(super) const ONE: i64 = 1 << FRACTION;
/// Fraction bits of logarithms (base 2).
pub(super) const LOG: u32 = 11;
/// Fraction bits of a cumulative probability.
pub(super) const CHANCE: u32 = 24;

const EXP_BITS: u32 = 8;
/// `2^(i/256)` in 2.30 fixed point.
static EXP: [u32; 257] = exp_table();
/// Steps of the shape table per unit of width, as a power of two.
const STEPS: u32 = 5;
/// Distance from the mean at which the table ends, in widths.
pub(super) const REACH: i64 = 15;
const SIZE: usize = (2 * REACH as usize) << STEPS;
/// Logistic distribution: cumulative probability (24 bits) at each step, and its rise to the next.
/// The size is a power of two, so that an index needs no bounds check.
static SHAPE: [(i32, i32); 1024] = shape_table();

const fn exp_table() -> [u32; 257] {
    // 2^(1/256) in 2.62, by eight square roots of 2.
    let mut root: u128 = 2 << 62;
    let mut i = 0;
    while i < EXP_BITS {
        root = sqrt(root << 62);
        i += 1;
    }
    let mut table = [0; 257];
    let mut value: u128 = 1 << 62;
    let mut i = 0;
    while i <= 256 {
        table[i] = (value >> 32) as u32;
        value = (value * root) >> 62;
        i += 1;
    }
    table
}

const fn sqrt(x: u128) -> u128 {
    let mut low: u128 = 0;
    let mut high: u128 = 1 << 64;
    while low + 1 < high {
        let middle = (low + high) / 2;
        if middle * middle <= x {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

const fn shape_table() -> [(i32, i32); 1024] {
    // 1 / (1 + e^z) by repeated multiplication with e^(-1/32), 0.62 fixed point.
    const DECAY: u128 = 4_469_799_356_029_710_114; // e^(-1/32) * 2^62
    let mut table = [(0, 0); 1024];
    let mut power: u128 = 1 << 62;
    let mut i = 0;
    while i <= SIZE / 2 {
        let above = ((power << CHANCE) / ((1 << 62) + power)) as i32;
        table[SIZE / 2 - i].0 = above;
        table[SIZE / 2 + i].0 = (1 << CHANCE) - above;
        power = (power * DECAY) >> 62;
        i += 1;
    }
    let mut i = 0;
    while i < SIZE {
        table[i].1 = table[i + 1].0 - table[i].0;
        i += 1;
    }
    table
}

/// Returns `2^(log / 2^LOG)` with `bits` fraction bits, accurate to 1/256; at most `2^30` without
/// the fraction bits.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn exp2(log: i32, bits: i32) -> i64 {
    let part = log & ((1 << LOG) - 1);
    let value = i64::from(EXP[(part >> (LOG - EXP_BITS)) as usize & 255]);
    let whole = (log >> LOG) + bits - 30;
    if whole < 0 { value >> (-whole).min(63) } else { value << whole.min(30) }
}

/// Computes [`exp2`] for results below `2^(30 - bits)`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn exp2_down(log: i32, bits: i32) -> i64 {
    let part = log & ((1 << LOG) - 1);
    let value = i64::from(EXP[(part >> (LOG - EXP_BITS)) as usize & 255]);
    value >> ((30 - bits - (log >> LOG)) & 63)
}

/// Returns the cumulative probability (24 bits) at `z` widths from the mean; `z` has 16 fraction
/// bits and is within `REACH`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn cumulative(z: i32) -> i32 {
    let from = (z + ((REACH as i32) << 16)) as usize;
    let (value, rise) = SHAPE[from >> (16 - STEPS) & 1023];
    let way = (from & ((1 << (16 - STEPS)) - 1)) as i32;
    // A rise is below 2^18, so that the product fits.
    value + ((rise * way) >> (16 - STEPS))
}

/// Returns the class of a magnitude with `FRACTION` bits: 0 up to a quarter code, then one per
/// octave.
pub(super) fn bucket(magnitude: i64, most: usize) -> usize {
    let m = magnitude.unsigned_abs() >> (FRACTION - 2);
    ((64 - m.leading_zeros()) as usize).min(most)
}
