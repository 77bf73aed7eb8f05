//! Compressed floats that follow each other in a derived type: up to four are quantised at once, each
//! with its own range. The divisions are most of the time that a small packet takes.

use core::hint::cold_path;

use wide::f32x4;

use super::float::{SMALL_CODES, code_float};
use super::word::stays;
use super::{ErrorKind, FloatRange, Run, Stream, Target};

/// Fields with their names and ranges, within a run. If they fit a word, they are one part of it.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn compressed_fields<S: Stream, const N: usize>(
    run: &mut Run<'_, S>,
    step: u32,
    names: [&'static str; N],
    fields: [Target<'_, S::Access, f32>; N],
    ranges: [FloatRange; N],
) -> Result<(), S::Error> {
    if stays::<S>(step) {
        return in_word(&mut run.word(), fields, ranges);
    }
    let run = run.beyond(step, names[0]);
    if S::JOINS && width(&ranges) <= u64::BITS && const { N <= 4 } {
        return in_word(run, fields, ranges);
    }
    for (index, field) in fields.into_iter().enumerate() {
        run.named(names[index]).compressed_float(field, ranges[index])?;
    }
    Ok(())
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn width(ranges: &[FloatRange]) -> u32 {
    ranges.iter().map(|range| range.width()).sum()
}

/// Up to four fields of at most 64 bits in all.
#[cfg_attr(not(debug_assertions), inline(always))]
fn in_word<S: Stream, const N: usize>(
    stream: &mut S,
    mut fields: [Target<'_, S::Access, f32>; N],
    ranges: [FloatRange; N],
) -> Result<(), S::Error> {
    let are_small = ranges.iter().all(|range| range.max_code() < SMALL_CODES);
    let lanes = Lanes::new(ranges);
    let mut codes = [0; 4];
    let mut word = 0;
    if S::WRITING {
        let mut values = [0.0; 4];
        for (value, field) in values.iter_mut().zip(&fields) {
            *value = **field;
        }
        let (small, not_finite) = lanes.quantise(values);
        let mut at = 0;
        if not_finite != 0 {
            cold_path();
            let before = &ranges[..N.min(not_finite.trailing_zeros() as usize)];
            let bit = stream.position() + u64::from(width(before));
            stream.refuse_at(ErrorKind::NotFinite, bit)?;
        }
        for (index, range) in ranges.iter().enumerate() {
            let code = if are_small { small[index] } else { range.quantise(values[index]) };
            word |= u64::from(code) << at;
            at += range.width();
        }
    }
    stream.raw_fitting(&mut word, width(&ranges))?;
    if !S::READING {
        return Ok(());
    }
    let mut in_range = true;
    for (code, range) in codes.iter_mut().zip(&ranges) {
        *code = (word & ((1 << range.width()) - 1)) as u32;
        in_range &= *code <= range.max_code();
        word >>= range.width();
    }
    if !in_range {
        cold_path();
        let before =
            codes.iter().zip(&ranges).take_while(|(code, range)| **code <= range.max_code());
        let behind = stream.position() - u64::from(width(&ranges));
        let bit = behind + before.map(|(_, range)| u64::from(range.width())).sum::<u64>();
        return stream.refuse_at(ErrorKind::OutOfRange, bit);
    }
    let values = lanes.dequantise(codes);
    for (index, field) in fields.iter_mut().enumerate() {
        field.put(if are_small { values[index] } else { ranges[index].dequantise(codes[index]) });
    }
    Ok(())
}

/// Ranges of four values; the formulas are those of [`FloatRange`].
struct Lanes {
    min: f32x4,
    span: f32x4,
    max_code: f32x4,
}

impl Lanes {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn new<const N: usize>(ranges: [FloatRange; N]) -> Self {
        // Lanes without a field divide zero by one.
        let (mut min, mut span, mut max_code) = ([0.0; 4], [1.0; 4], [1.0; 4]);
        for (lane, range) in ranges.into_iter().enumerate() {
            min[lane] = range.min();
            span[lane] = range.max() - range.min();
            max_code[lane] = range.max_code() as f32;
        }
        Self { min: f32x4::new(min), span: f32x4::new(span), max_code: f32x4::new(max_code) }
    }

    /// Returns the codes, and a mask of the values that are not finite.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn quantise(&self, values: [f32; 4]) -> ([u32; 4], u32) {
        let values = f32x4::new(values);
        let not_finite = (values * 0.0).is_nan().to_bitmask();
        let position = (values - self.min) / self.span;
        let position = position.fast_max(f32x4::ZERO).fast_min(f32x4::ONE);
        let codes = (position * self.max_code + 0.5).fast_trunc_int().to_array();
        (codes.map(i32::cast_unsigned), not_finite)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn dequantise(&self, codes: [u32; 4]) -> [f32; 4] {
        (code_float(codes) / self.max_code * self.span + self.min).to_array()
    }
}
