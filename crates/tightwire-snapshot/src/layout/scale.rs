//! The meaning of codes: their step and their zero.

use tightwire_core::schema::{ordered, unwrapped};
use xxhash_rust::xxh3::Xxh3;

use tightwire_core::stream::{Int, Number, Op, Shape};

/// Returns the smallest integer of an operation.
pub(super) fn least(op: &Op) -> Option<Number> {
    let (min, fraction_bits) = match *op {
        Op::Int { min, .. } => (min, 0),
        Op::Fixed { fraction_bits, min, .. } => (min, fraction_bits),
        _ => (Number::Unsigned(0), 0),
    };
    match min {
        Number::Unsigned(min) => min.scaled(fraction_bits).map(Number::Unsigned),
        Number::Signed(min) => min.scaled(fraction_bits).map(Number::Signed),
        _ => None,
    }
}

/// Returns the codes of the position per code of the velocity and tick, and the velocity's code
/// that means zero, both with 32 fraction bits; or the reason why there are none.
pub(super) fn derivative(
    position: &Shape,
    velocity: &Shape,
    ticks_per_second: f64,
) -> Result<(i64, i64), &'static str> {
    let (Some(fine), Some(coarse)) = (Unit::of(position), Unit::of(velocity)) else {
        return Err("both must be numbers of a range, of up to 32 bits");
    };
    // Divisions and products give the same bits on every machine.
    match (fixed_point(coarse.step / fine.step / ticks_per_second), fixed_point(coarse.zero)) {
        (Some(scale @ 1..), Some(zero)) => Ok((scale, zero)),
        _ => Err("their resolutions are too far apart"),
    }
}

/// Returns a hash that is equal where codes have the same meaning, and the code that means zero.
pub(super) fn space(shape: &Shape) -> (u64, i64) {
    let Some(codes) = Unit::of(shape) else { return (0, 0) };
    let mut hash = Xxh3::new();
    [codes.step, codes.zero].iter().for_each(|number| hash.update(&number.to_le_bytes()));
    (hash.digest(), (codes.zero + 0.5) as i64)
}

/// Meaning of codes: the distance of adjacent codes, and the code that means zero.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Unit {
    pub(crate) step: f64,
    pub(crate) zero: f64,
}

impl Unit {
    pub(super) fn of(shape: &Shape) -> Option<Self> {
        match unwrapped(shape) {
            Shape::Array { element, .. } => ordered(element).and_then(|_| Self::of(element)),
            Shape::Op(Op::CompressedFloat(range) | Op::CompressedVector { range, .. }) => {
                let (min, max) = (f64::from(range.min()), f64::from(range.max()));
                let step = (max - min) / f64::from(range.max_code());
                Some(Self { step, zero: -min / step })
            }
            Shape::Op(op) => {
                ordered(unwrapped(shape))?;
                let step = match *op {
                    Op::Fixed { fraction_bits, .. } => {
                        1.0 / (1u128 << fraction_bits.min(127)) as f64
                    }
                    _ => 1.0,
                };
                let zero = match least(op)? {
                    Number::Signed(least) => -(least as f64),
                    Number::Unsigned(least) => -(least as f64),
                    _ => return None,
                };
                Some(Self { step, zero })
            }
            _ => None,
        }
    }
}

/// Returns the number with 32 fraction bits; `None` if it is too large.
fn fixed_point(number: f64) -> Option<i64> {
    let scaled = number * 4_294_967_296.0;
    let rounded = if scaled < 0.0 { scaled - 0.5 } else { scaled + 0.5 };
    (rounded.abs() < (1u64 << 62) as f64).then_some(rounded as i64)
}
