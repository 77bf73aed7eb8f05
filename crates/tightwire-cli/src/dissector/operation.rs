//! Operations as table entries with the parameters that the runtime needs.

use tightwire::FloatRange;
use tightwire::schema::{Dynamic, Schema};
use tightwire::stream::{Number, Op, Shape};

use super::literal::{is_double, number};

/// Returns the type of Wireshark's field for an operation.
pub(super) fn field_type(op: &Op) -> &'static str {
    match *op {
        Op::Bool => "bool",
        Op::Bits { width: 0..=32 } | Op::Enumerate { .. } => "uint32",
        Op::Bits { .. } => "uint64",
        Op::Int { .. } | Op::Fixed { .. } => {
            let (min, max) = bounds(op);
            match (min, max) {
                (Number::Signed(min), Number::Signed(max)) if min < 0 => {
                    match (i32::try_from(min), i32::try_from(max)) {
                        (Ok(_), Ok(_)) => "int32",
                        _ if i64::try_from(min).is_ok() && i64::try_from(max).is_ok() => "int64",
                        _ => "string",
                    }
                }
                (_, max) => match magnitude(max) {
                    0..=0xffff_ffff => "uint32",
                    max if u64::try_from(max).is_ok() => "uint64",
                    _ => "string",
                },
            }
        }
        Op::Varint { bits: ..=32, signed } => {
            if signed {
                "int32"
            } else {
                "uint32"
            }
        }
        Op::Varint { bits: 64, signed } => {
            if signed {
                "int64"
            } else {
                "uint64"
            }
        }
        Op::Varint { .. } | Op::String { .. } | Op::WideString { .. } => "string",
        Op::Float | Op::CompressedFloat(_) => "float",
        Op::Double => "double",
        Op::Bytes { .. } | Op::Pod { .. } | Op::Blob { .. } => "bytes",
        _ => "none",
    }
}

/// Returns the number of components of a vector; `None` for other operations.
pub(super) fn dimensions(op: &Op) -> Option<usize> {
    match *op {
        Op::Vector { dimensions } | Op::CompressedVector { dimensions, .. } => Some(dimensions),
        Op::Quaternion | Op::SmallestThree { .. } => Some(4),
        Op::UnitVector { .. } => Some(3),
        _ => None,
    }
}

/// Returns the parameters that the runtime needs to read an operation.
pub(super) fn parameters(op: &Op) -> String {
    match op {
        Op::Bits { width } => format!("width = {width}"),
        Op::Int { min, max } => {
            format!("{}, range = \"{min}..={max}\"", integer(*min, *max))
        }
        Op::Fixed { fraction_bits, .. } => {
            let (min, max) = bounds(op);
            format!("{}, fraction_bits = {fraction_bits}", integer(min, max))
        }
        Op::Varint { bits, signed } => format!("bits = {bits}, signed = {signed}"),
        Op::CompressedFloat(range) => quantised(*range),
        Op::CompressedVector { dimensions, range } => {
            format!("dimensions = {dimensions}, {}", quantised(*range))
        }
        Op::Enumerate { count } => {
            format!("width = {}, count = {count}", width((*count).saturating_sub(1) as u128))
        }
        Op::Vector { dimensions } => format!("dimensions = {dimensions}"),
        Op::Quaternion => String::from("dimensions = 4"),
        Op::SmallestThree { bits } | Op::UnitVector { bits } => format!("bits = {bits}"),
        Op::Bytes { len } | Op::Pod { size: len } => format!("length = {len}"),
        Op::Blob { max_len } | Op::String { max_len } | Op::WideString { max_len } => {
            format!("width = {}, max_len = {max_len}", width(*max_len as u128))
        }
        Op::Check { name } => format!("value = {}", check_value(name)),
        _ => String::new(),
    }
}

/// Returns an integer's bounds, its bits when packed, and its bits in whole bytes.
fn integer(min: Number, max: Number) -> String {
    let (signed, span) = match (min, max) {
        (Number::Signed(min), Number::Signed(max)) => (true, max.abs_diff(min)),
        (min, max) => (false, magnitude(max).saturating_sub(magnitude(min))),
    };
    // The runtime reads at most 48 bits, two limbs, as one double.
    let is_wide = width(span) > 48 || !is_double(magnitude(min)) || !is_double(magnitude(max));
    format!(
        "min = {}, max = {}, span = {}, width = {}, plain = {}, signed = {signed}, wide = {is_wide}",
        number(min),
        number(max),
        number(Number::Unsigned(span)),
        width(span),
        plain_width(min, max),
    )
}

/// Returns the bits of the smallest integer type that holds the whole range; 0 for a range of one
/// value.
fn plain_width(min: Number, max: Number) -> u32 {
    let bits = match (min, max) {
        (min, max) if min == max => return 0,
        (Number::Signed(min), Number::Signed(max)) if min < 0 => {
            1 + width((!min | if max < 0 { !max } else { max }).cast_unsigned())
        }
        (_, max) => width(magnitude(max)),
    };
    bits.next_power_of_two().max(8)
}

fn quantised(range: FloatRange) -> String {
    format!(
        "min = {}, max = {}, width = {}, max_code = {}",
        number(Number::Float(range.min())),
        number(Number::Float(range.max())),
        range.width(),
        range.max_code(),
    )
}

/// Returns the bounds as they are on the wire: for a fixed-point number, in its smallest steps.
fn bounds(op: &Op) -> (Number, Number) {
    match *op {
        Op::Int { min, max } => (min, max),
        Op::Fixed { fraction_bits, min, max } => {
            let scaled = |bound| match bound {
                Number::Unsigned(bound) => Number::Unsigned(bound << fraction_bits),
                Number::Signed(bound) => Number::Signed(bound << fraction_bits),
                other => other,
            };
            (scaled(min), scaled(max))
        }
        _ => (Number::Unsigned(0), Number::Unsigned(0)),
    }
}

fn magnitude(number: Number) -> u128 {
    match number {
        Number::Unsigned(number) => number,
        Number::Signed(number) => number.unsigned_abs(),
        _ => 0,
    }
}

fn width(span: u128) -> u32 {
    u128::BITS - span.leading_zeros()
}

/// Returns the value of a check with this name, as the library writes it. A name that no valid
/// schema has gives 0.
fn check_value(name: &str) -> u32 {
    let mut buffer = [0; 4];
    if let Ok(schema) = Schema::new(Shape::Op(Op::Check { name: name.to_owned().into() })) {
        let _ = schema.encode(&Dynamic::default(), &mut buffer);
    }
    u32::from_le_bytes(buffer)
}
