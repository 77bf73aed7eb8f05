//! A second implementation of the mixture, from the formulas in docs/MODELED.md: one part at a
//! time, without vectors. It must agree with the first one to the bit.

#![allow(clippy::unwrap_used)]

use super::mixture::{Forecast, Mixture, PARTS, TableRow};
use super::range_coder::{Decoder, Encoder};
use super::scale::Range;
use crate::random_worlds::{Rng, volume};
use alloc::vec::Vec;

const FAR: i64 = (1 << 30) - 1;

fn sat(x: i32) -> i16 {
    x.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

fn exp2(log: i32) -> f32 {
    f32::from_bits(((127 * 2048 + log) << 12) as u32)
}

fn sum(x: [f32; PARTS]) -> f32 {
    ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]))
}

fn cumulative(z: f32) -> f32 {
    let far = if z.abs() < (23 << 23) as f32 { z.abs() as i32 } else { 23 << 23 };
    let above = 1.0 / (1.0 + f32::from_bits(((127 << 23) - far) as u32)) - 0.5;
    if z < 0.0 { -above } else { above }
}

/// Returns the interval of a value without bounds, and learns from it.
fn code(rows: &mut [TableRow], forecast: &Forecast, high: i64, value: i64) -> (u64, u64) {
    let (base, means, presence) = forecast.parts();
    let (mut weights, mut widths) = ([0; PARTS], [0; PARTS]);
    for row in &*rows {
        for part in 0..PARTS {
            weights[part] = sat(i32::from(weights[part]) + i32::from(row.weights[part]));
            widths[part] = sat(i32::from(widths[part]) + i32::from(row.widths[part]));
        }
    }
    for part in 0..PARTS {
        weights[part] = sat(i32::from(weights[part]) + i32::from(presence[part]));
    }
    let largest = i32::from(*weights.iter().max().unwrap());
    let w: [f32; PARTS] = weights.map(|weight| exp2(-i32::from(sat(largest - i32::from(weight)))));
    let inverse = widths.map(|width| exp2(31_803 - i32::from(width).clamp(-10_240, 30_720)));
    let unit = 16_777_216.0 / sum(w);
    let edges = [-128, 128].map(|half| (((value - base) << 8) + half).clamp(-FAR, FAR) as i32);
    let z: [[f32; PARTS]; 2] =
        edges.map(|edge| core::array::from_fn(|part| (edge - means[part]) as f32 * inverse[part]));
    let c = z.map(|z| z.map(cumulative));
    let mixed = c.map(|c| sum(core::array::from_fn(|part| c[part] * w[part])) * unit + 8_388_608.0);
    let mass = mixed.map(|mixed| (mixed as i64).clamp(0, 1 << 24));
    let unit_of_all = unit / (mixed[1] - mixed[0] + 1.0);
    for part in 0..PARTS {
        let [(z1, c1), (z2, c2)] = [(z[0][part], c[0][part]), (z[1][part], c[1][part])];
        let u = w[part] * unit_of_all;
        let share = u * (c2 - c1);
        let density = |c: f32| 0.25 - c * c;
        let octaves = core::f32::consts::LN_2 / 8_388_608.0;
        let steep = (z1 * density(c1) - z2 * density(c2)) * u * octaves;
        let steep = steep.clamp(-3.0 * share, 3.0 * share);
        let slopes = [(share - w[part] * (unit / 16_777_216.0)) * 16_384.0, steep * 5_120.0];
        let [weight, width] = slopes.map(|slope| i32::from(sat(slope as i32)));
        for row in &mut *rows {
            let step = |slope: i32| (((slope * i32::from(row.rate)) >> 16) + 1) >> 1;
            row.weights[part] = sat(i32::from(row.weights[part]) + step(weight));
            row.widths[part] = sat(i32::from(row.widths[part]) + step(width));
        }
    }
    for row in rows {
        row.rate -= ((i32::from(row.rate) * i32::from(row.rate)) >> 20) as i16;
    }
    let values = high + 1;
    let bits = i64::from(64 - values.leading_zeros());
    let more = (bits + 8 - 24).max(0);
    let left = (1 << 24) - ((values + (1 << more) - 1) >> more);
    let place = |y: i64, mass: i64| match y {
        ..=0 => 0,
        y if y > high => 1 << (24 + more),
        y => (((mass * left) >> (24 - more)) + y) as u64,
    };
    (place(value, mass[0]), place(value + 1, mass[1]))
}

fn random_forecast(rng: &mut Rng, high: i64) -> Forecast {
    let any = |rng: &mut Rng| rng.below(high as u64 + 1) as i64;
    let base = any(rng);
    let mut forecast = Forecast::new([0; 5], base, Range::new(high));
    forecast.add(0, base << 8);
    for part in 1..PARTS {
        if !rng.is_one_in(3) {
            let near = base + rng.below(40) as i64 - 20;
            let mean = if rng.is_one_in(2) { near } else { any(rng) };
            forecast.add(part, (mean << 8) + rng.below(256) as i64);
        }
    }
    forecast
}

/// Values are near the predictions, anywhere, and at both ends; the rows drift to their limits.
#[test]
fn the_mixture_agrees_with_one_without_vectors() {
    for seed in 1..volume(40u64, 1000) {
        let rng = &mut Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let high = [1, 15, 511, 32_767, 1 << 22, u32::MAX.into()][rng.below(6) as usize];
        let mut params = Vec::new();
        let mixture = Mixture::new(&mut params, [1; 5], |_, _, _| (0, 0));
        for row in &mut params {
            let any = |rng: &mut Rng| rng.below(1 << 16) as u16 as i16 >> rng.below(8);
            row.weights = core::array::from_fn(|_| any(rng));
            row.widths = core::array::from_fn(|_| any(rng));
        }
        let mut scalar = params.clone();
        for _ in 0..200 {
            let forecast = random_forecast(rng, high);
            let (base, ..) = forecast.parts();
            let values = [0, high, base, base + 3, rng.below(high as u64 + 1) as i64];
            let value = values[rng.below(5) as usize].min(high);
            let before = params.clone();
            let (mut bytes, mut expected) = (Vec::new(), Vec::new());
            let mut encoder = Encoder::new(&mut bytes, 100);
            mixture.code(&mut encoder, &mut params, &forecast, value);
            assert!(encoder.finish());
            let (start, end) = code(&mut scalar, &forecast, high, value);
            let more = (64 - (high as u64 + 1).leading_zeros() + 8).saturating_sub(24);
            let mut encoder = Encoder::new(&mut expected, 100);
            super::range_coder::Coder::narrow(&mut encoder, start, end, 24 + more);
            assert!(encoder.finish());
            assert_eq!((&bytes, &params), (&expected, &scalar), "seed {seed}, value {value}");
            let mut again = before;
            let decoded = mixture.code(&mut Decoder::new(&bytes), &mut again, &forecast, 0);
            assert_eq!((decoded, &again), (value, &params), "seed {seed}");
        }
    }
}

/// Each value begins where the one before ends, also far from the base, where edges are clamped.
#[test]
fn the_intervals_of_all_values_leave_no_gap() {
    for seed in 1..40u64 {
        let rng = &mut Rng(seed.wrapping_mul(0x1234_5678_9abc_def1) | 1);
        let high = [300, 1 << 24, u32::MAX.into()][rng.below(3) as usize];
        let mut forecast = random_forecast(rng, high);
        if rng.is_one_in(2) {
            forecast.add(7, (1 << 40) - 1);
        }
        let rows = || [TableRow::default(); 5];
        let mut end = 0;
        let first = (rng.below(high as u64) as i64).max(302) - 302;
        for value in first..=first + 300.min(high) {
            let interval = code(&mut rows(), &forecast, high, value);
            assert!(interval.0 < interval.1, "value {value}");
            assert!(value == first || interval.0 == end, "value {value}");
            end = interval.1;
        }
    }
}
