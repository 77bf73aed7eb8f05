//! Quantisation that a competent user writes by hand where a library has none: ranged floats for
//! bitstream-io, orientations for both bit-level peers.

use std::f32::consts::{FRAC_1_SQRT_2, SQRT_2};

/// A float range whose codes `0..=steps` stand for `min..=min + delta`.
#[derive(Clone, Copy)]
pub struct Range {
    pub min: f32,
    pub delta: f32,
    pub steps: u32,
}

impl Range {
    /// Returns the nearest code; values out of range are clamped.
    #[inline]
    pub fn code(self, value: f32) -> u32 {
        let normalised = ((value - self.min) / self.delta).clamp(0.0, 1.0);
        // The conversion truncates: adding a half makes it round.
        (normalised * self.steps as f32 + 0.5) as u32
    }

    /// Returns the value of a code; `None` for a code that no writer sends.
    #[inline]
    pub fn value(self, code: u32) -> Option<f32> {
        let normalised = code as f32 / self.steps as f32;
        (code <= self.steps).then_some(normalised * self.delta + self.min)
    }
}

/// Code of zero in an orientation; codes go up to twice this, in 10 bits.
const CENTRE: u32 = 511;

/// Packs smallest three in 32 bits: from the lowest, the index of the component with the largest
/// magnitude in 2 bits, then the codes of the three others in order. They are negated if the
/// largest is negative, so that the reader can take it to be positive. No branch depends on the
/// data, which is as good as random.
#[inline]
pub fn pack_orientation(q: &[f32; 4]) -> u32 {
    let magnitude = q.map(f32::abs);
    let first = usize::from(magnitude[1] > magnitude[0]);
    let second = 2 + usize::from(magnitude[3] > magnitude[2]);
    let second_is_larger = magnitude[second] > magnitude[first];
    let largest = if second_is_larger { second } else { first };
    let scale = (SQRT_2 * CENTRE as f32).copysign(q[largest]);
    let code = |place: usize| {
        let component = q[(place + usize::from(place >= largest)) & 3];
        let code = (component * scale + (CENTRE as f32 + 0.5)) as u32;
        code.min(2 * CENTRE)
    };
    largest as u32 | code(0) << 2 | code(1) << 12 | code(2) << 22
}

/// Unpacks an orientation; `None` if a code is out of range or the three components are longer than
/// one.
#[inline]
pub fn unpack_orientation(bits: u32) -> Option<[f32; 4]> {
    const SCALE: f32 = FRAC_1_SQRT_2 / CENTRE as f32;
    let largest = bits as usize & 3;
    let codes = [2, 12, 22].map(|shift| bits >> shift & 1023);
    let rest = codes.map(|code| (code as i32 - CENTRE as i32) as f32 * SCALE);
    let squares: f32 = rest.iter().map(|component| component * component).sum();
    if codes.iter().any(|code| *code > 2 * CENTRE) || squares > 1.0 {
        return None;
    }
    let mut q = [(1.0 - squares).sqrt(); 4];
    for (place, component) in rest.into_iter().enumerate() {
        q[(place + usize::from(place >= largest)) & 3] = component;
    }
    Some(q)
}
