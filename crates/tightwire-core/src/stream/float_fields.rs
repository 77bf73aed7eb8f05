//! Compressed floats that follow each other in a derived type: up to four are quantised at once, each
//! with its own range. The divisions are most of the time that a small packet takes.

use core::hint::cold_path;

use wide::f32x4;

use super::float::{SMALL_CODES, code_float};
use super::{ErrorKind, FloatRange, RawStream as _, Run, Stream, Target};

/// Fields with their names and ranges, within a run.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn compressed_fields<S: Stream, const N: usize>(
    run: &mut Run<'_, S>,
    names: [&'static str; N],
    mut fields: [Target<'_, S::Access, f32>; N],
    ranges: [FloatRange; N],
) -> Result<(), S::Error> {
    let are_small = ranges.iter().all(|range| range.max_code() < SMALL_CODES);
    if !S::JOINS || !are_small || const { N > 4 } {
        for (index, field) in fields.into_iter().enumerate() {
            run.named(names[index]).compressed_float(field, ranges[index])?;
        }
        return Ok(());
    }
    let lanes = Lanes::new(ranges);
    let mut codes = [0; 4];
    let mut not_finite = 0;
    if S::WRITING {
        let mut values = [0.0; 4];
        for (value, field) in values.iter_mut().zip(&fields) {
            *value = **field;
        }
        (codes, not_finite) = lanes.quantise(values);
    }
    for index in 0..N {
        if S::WRITING && not_finite >> index & 1 != 0 {
            cold_path();
            let start = run.position();
            run.refuse_at(ErrorKind::NotFinite, start)?;
        }
        let mut code = codes[index].into();
        match S::WRITING {
            true => run.raw_fitting(&mut code, ranges[index].width())?,
            false => run.raw_offset(&mut code, ranges[index].max_code().into())?,
        }
        codes[index] = code as u32;
    }
    if S::READING {
        for (field, value) in fields.iter_mut().zip(lanes.dequantise(codes)) {
            field.put(value);
        }
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
