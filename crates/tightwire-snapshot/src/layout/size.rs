//! The number of columns of a schema, before a layout is built.

use alloc::format;
use alloc::string::String;

use super::MAX_COLUMNS;
use super::condition::columns_for;
use tightwire_core::schema::Schema;
use tightwire_core::stream::{Condition, Field, Op, Shape};

/// Refuses a class that has too many columns, and names the field that has most of them.
pub(super) fn check_size(schema: &Schema) -> Result<(), String> {
    let count = columns(schema.root());
    if count <= MAX_COLUMNS as u64 {
        return Ok(());
    }
    let mut path = String::new();
    let (mut shape, mut largest) = (schema.root(), count);
    while let Some(field) = largest_field(shape) {
        let inside = columns(&field.shape);
        // The fields of a struct of many similar ones say less than its own name.
        if inside * 2 < largest && !path.is_empty() {
            break;
        }
        path.push_str(if path.is_empty() { "" } else { "." });
        path.push_str(&field.name);
        (shape, largest) = (&field.shape, inside);
    }
    let whole = format!("it has {count} columns, and a class has at most {MAX_COLUMNS}");
    match path.is_empty() {
        true => Err(format!("{whole}: make it shorter, or split it into several objects")),
        false => Err(format!(
            "{whole}: the largest field is `{path}` with {largest}; give it a smaller `max_len`, or \
             send it in a message"
        )),
    }
}

fn largest_field(shape: &Shape) -> Option<&Field> {
    let size = |field: &&Field| columns(&field.shape);
    match shape {
        Shape::Struct { fields, .. } => fields.iter().max_by_key(size),
        Shape::Enum { variants, .. } => {
            variants.iter().flat_map(|variant| &variant.fields).max_by_key(size)
        }
        _ => None,
    }
}

/// Returns the number of columns of a value; 0 for a shape without a layout.
pub(super) fn columns(shape: &Shape) -> u64 {
    let sum = |fields: &[Field]| {
        fields.iter().fold(0u64, |sum, field| sum.saturating_add(columns(&field.shape)))
    };
    match shape {
        Shape::Op(op) => op_columns(op),
        Shape::Struct { fields, .. } => sum(fields),
        Shape::Enum { variants, .. } => {
            variants.iter().fold(1, |all, variant| all.saturating_add(sum(&variant.fields)))
        }
        Shape::Option(inner) => columns(inner).saturating_add(1),
        Shape::Array { len, element } => columns(element).saturating_mul(*len),
        Shape::List { max_len, element } => {
            columns(element).saturating_mul(*max_len).saturating_add(1)
        }
        _ => 0,
    }
}

fn op_columns(op: &Op) -> u64 {
    match *op {
        Op::Bool | Op::Enumerate { .. } | Op::Float | Op::CompressedFloat(_) => 1,
        Op::Bits { .. } | Op::Int { .. } | Op::Fixed { .. } => {
            op.span().map_or(0, |span| columns_for(span) as u64)
        }
        Op::Varint { bits, .. } => bits.div_ceil(32).into(),
        Op::Double | Op::UnitVector { .. } => 2,
        Op::Quaternion | Op::SmallestThree { .. } => 4,
        Op::Vector { dimensions } | Op::CompressedVector { dimensions, .. } => dimensions as u64,
        Op::Bytes { len } | Op::Pod { size: len } => len.div_ceil(4) as u64,
        Op::Blob { max_len } | Op::String { max_len } => 1 + max_len.div_ceil(4) as u64,
        Op::WideString { max_len } => (max_len as u64).saturating_add(1),
        // Alignment, checks and lists of indices have no columns.
        _ => 0,
    }
}

/// Limit of the parts of a condition in a schema from outside: the work on a condition grows faster
/// than its length.
const MAX_CONDITION: u64 = 128;

/// Returns the work to build and use a layout: values, columns and parts of conditions, for each
/// element of arrays and lists again. `u64::MAX` for a schema with too long a condition.
pub(crate) fn parts(shape: &Shape) -> u64 {
    let sum = |fields: &[Field]| {
        fields.iter().fold(1u64, |sum, field| {
            let when = field.when.as_ref().map_or(0, condition_parts);
            let when = if when > MAX_CONDITION { u64::MAX } else { when };
            sum.saturating_add(parts(&field.shape)).saturating_add(when)
        })
    };
    match shape {
        Shape::Op(op) => op_columns(op).saturating_add(1),
        Shape::Struct { fields, .. } => sum(fields),
        Shape::Enum { variants, .. } => {
            variants.iter().fold(1, |all, variant| all.saturating_add(sum(&variant.fields)))
        }
        Shape::Option(inner) => parts(inner).saturating_add(1),
        Shape::Array { len, element } | Shape::List { max_len: len, element } => {
            parts(element).saturating_mul(*len).saturating_add(1)
        }
        _ => 1,
    }
}

fn condition_parts(condition: &Condition) -> u64 {
    1 + match condition {
        Condition::Len(of) | Condition::IsSome(of) | Condition::Not(of) => condition_parts(of),
        Condition::Binary(_, both) => both.iter().map(condition_parts).sum(),
        Condition::Field(path) => path.len() as u64,
        _ => 0,
    }
}
