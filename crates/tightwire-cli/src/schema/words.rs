//! Parts of a schema as text, and their bits.

use tightwire::stream::{Field, Number, Op, Shape, Variant};

use crate::terminal::{counted, cut, safe};

/// Returns the smallest and the largest number of bits of a value.
pub(super) fn bits(shape: &Shape) -> (u64, u64) {
    (min_bits(shape), shape.max_bits())
}

fn min_bits(shape: &Shape) -> u64 {
    match shape {
        Shape::Op(op) => op_min_bits(op),
        Shape::Struct { fields, .. } => fields_min_bits(fields),
        Shape::Enum { variants, .. } => {
            let smallest = variants.iter().map(|variant| fields_min_bits(&variant.fields)).min();
            width((variants.len() as u64).saturating_sub(1)) + smallest.unwrap_or(0)
        }
        Shape::Option(_) => 1,
        Shape::Array { len, element } => min_bits(element).saturating_mul(*len),
        Shape::List { max_len, .. } => width(*max_len),
        // For a function written by hand, only the largest size is known.
        _ => 0,
    }
}

/// Returns the fewest bits of fields; conditional fields count 0.
pub(super) fn fields_min_bits(fields: &[Field]) -> u64 {
    let always = fields.iter().filter(|field| field.when.is_none());
    always.fold(0, |sum, field| sum.saturating_add(min_bits(&field.shape)))
}

fn op_min_bits(op: &Op) -> u64 {
    match *op {
        Op::Varint { .. } => 8,
        // A protocol may leave out checks.
        Op::Align | Op::Check { .. } => 0,
        Op::Bytes { len } | Op::Pod { size: len } => 8 * len as u64,
        Op::Blob { max_len } | Op::String { max_len } | Op::WideString { max_len } => {
            width(max_len as u64)
        }
        Op::Index { .. } | Op::IntRelative | Op::Selection { .. } => 1.min(op.max_bits()),
        _ => op.max_bits(),
    }
}

/// Returns the bits of numbers up to `max`.
pub(super) fn width(max: u64) -> u64 {
    (u64::BITS - max.leading_zeros()).into()
}

/// Formats a range of bits: `7`, `1-18`, or `5-` without an upper limit.
pub(super) fn range((min, max): (u64, u64)) -> String {
    match max {
        u64::MAX => format!("{min}-"),
        max if max == min => max.to_string(),
        max => format!("{min}-{max}"),
    }
}

/// Describes a shape, without its fields.
pub(super) fn shape(shape: &Shape) -> String {
    match shape {
        Shape::Op(op) => operation(op),
        Shape::Struct { name, .. } => format!("struct {}", safe(name)),
        Shape::Enum { name, variants } if has_names_only(variants) => {
            let names: Vec<_> = variants.iter().map(|variant| safe(&variant.name)).collect();
            let names = cut(&names.join(", "), 60);
            format!("enum {}, one of {}: {names}", safe(name), variants.len())
        }
        Shape::Enum { name, variants } => {
            format!("enum {}, one of {}", safe(name), variants.len())
        }
        Shape::Option(inner) => format!("optional {}", self::shape(inner)),
        Shape::Array { len, element } => format!("{len} × {}", self::shape(element)),
        Shape::List { max_len, element } => {
            format!("up to {max_len} × {}", self::shape(element))
        }
        Shape::Opaque { name, .. } => format!("{}, serialized by hand", safe(name)),
        other => format!("{other:?}"),
    }
}

/// Returns whether no variant has fields.
pub(super) fn has_names_only(variants: &[Variant]) -> bool {
    variants.iter().all(|variant| variant.fields.is_empty())
}

pub(super) fn operation(op: &Op) -> String {
    match op {
        Op::Bits { width } => format!("{width} raw bits"),
        Op::Bool => "bool".to_owned(),
        Op::Int { min, max } => match whole_type(*min, *max) {
            Some(whole) => format!("{whole}, whole"),
            None => format!("{min}..={max}"),
        },
        Op::Fixed { fraction_bits, min, max } => {
            format!("{min}..={max} in steps of 2^-{fraction_bits}")
        }
        Op::Varint { bits, signed } => {
            format!("varint of {}{bits}", if *signed { 'i' } else { 'u' })
        }
        Op::Float => "f32, whole".to_owned(),
        Op::Double => "f64, whole".to_owned(),
        Op::CompressedFloat(range) => {
            format!("{}..={} at {}", range.min(), range.max(), range.resolution())
        }
        Op::Enumerate { count } => format!("one of {count}"),
        Op::Vector { dimensions } => format!("{dimensions} × f32, whole"),
        Op::CompressedVector { dimensions, range } => {
            format!("{dimensions} × {}..={} at {}", range.min(), range.max(), range.resolution())
        }
        Op::Quaternion => "rotation, 4 × f32, whole".to_owned(),
        Op::SmallestThree { bits } => format!("rotation, the smallest 3 in {bits} bits each"),
        Op::UnitVector { bits } => format!("direction, 2 × {bits} bits"),
        Op::Align => "up to a whole byte".to_owned(),
        Op::Bytes { len } => counted(*len as u64, "byte"),
        Op::Blob { max_len } => format!("up to {}", counted(*max_len as u64, "byte")),
        Op::String { max_len } => format!("text of up to {}", counted(*max_len as u64, "byte")),
        Op::WideString { max_len } => format!("text of up to {max_len} UTF-16 units"),
        Op::Index { count } => format!("index of {count}, relative to the one before"),
        Op::IntRelative => "number relative to the one before".to_owned(),
        Op::Selection { len, .. } => format!("which of {len}"),
        Op::Check { name } => format!("check {:?}, where checks are on", safe(name)),
        Op::Pod { size } => format!("memory of {}", counted(*size as u64, "byte")),
        other => safe(&other.to_string()),
    }
}

/// Returns the integer type whose values are exactly this range, for 32 bits and more; `0..=255`
/// says more than `u8`.
pub(super) fn whole_type(min: Number, max: Number) -> Option<&'static str> {
    const U64: u128 = u64::MAX as u128;
    const I32: (i128, i128) = (i32::MIN as i128, i32::MAX as i128);
    const I64: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);
    match (min, max) {
        (Number::Unsigned(0), Number::Unsigned(max)) => match max {
            0xffff_ffff => Some("u32"),
            U64 => Some("u64"),
            u128::MAX => Some("u128"),
            _ => None,
        },
        (Number::Signed(min), Number::Signed(max)) => match (min, max) {
            I32 => Some("i32"),
            I64 => Some("i64"),
            (i128::MIN, i128::MAX) => Some("i128"),
            _ => None,
        },
        _ => None,
    }
}
