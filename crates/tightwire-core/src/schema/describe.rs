//! Parts of a schema in words, for the comparison of two schemas.

use alloc::format;
use alloc::string::{String, ToString};

use super::flat::{Block, FlatValue};
use crate::stream::{Binary, Condition, Op, Shape};

/// Describes a shape in a few words, with its size in bits.
pub(super) fn shape(shape: &Shape) -> String {
    match shape {
        Shape::Op(op) => operation(op),
        Shape::Struct { name, .. } => format!("struct `{name}`"),
        Shape::Enum { variants, .. } => format!("enum of {}", self::variants(variants.len())),
        Shape::Option(inner) => format!("option of {}", self::shape(inner)),
        Shape::Array { len, element } => {
            format!("array of {}, each {}", elements(*len), self::shape(element))
        }
        Shape::List { max_len, element } => {
            format!("list of {}, each {}", list_bound(*max_len), self::shape(element))
        }
        Shape::Opaque { name, max_bits: u64::MAX } => format!("`{name}`, serialized by hand"),
        Shape::Opaque { name, max_bits } => {
            format!("`{name}`, serialized by hand in up to {}", bits(*max_bits))
        }
    }
}

pub(super) fn operation(op: &Op) -> String {
    let most = bits(op.max_bits());
    match op {
        Op::Varint { bits, signed } => {
            format!("varint of {}{bits} (up to {most})", if *signed { 'i' } else { 'u' })
        }
        Op::Vector { dimensions } | Op::CompressedVector { dimensions, .. } => {
            format!("{op}, {dimensions} components ({most})")
        }
        Op::Align
        | Op::Bytes { .. }
        | Op::Pod { .. }
        | Op::Blob { .. }
        | Op::String { .. }
        | Op::WideString { .. }
        | Op::Index { .. }
        | Op::IntRelative
        | Op::Selection { .. } => format!("{op} (up to {most})"),
        _ => format!("{op} ({most})"),
    }
}

/// Describes two operations of one kind without naming the kind twice.
pub(super) fn operations(here: &Op, there: &Op) -> (String, String) {
    match (here, there) {
        (Op::Int { min, max }, Op::Int { min: other_min, max: other_max }) => (
            format!("range {min}..={max} ({})", bits(here.max_bits())),
            format!("{other_min}..={other_max} ({})", bits(there.max_bits())),
        ),
        _ => (operation(here), operation(there)),
    }
}

pub(super) fn bits(bits: u64) -> String {
    counted(bits, "bit")
}

pub(super) fn elements(count: u64) -> String {
    counted(count, "element")
}

pub(super) fn list_bound(max_len: u64) -> String {
    let width = u64::from(u64::BITS - max_len.leading_zeros());
    format!("up to {} ({})", elements(max_len), bits(width))
}

pub(super) fn variants(count: usize) -> String {
    let width = u64::from(u64::BITS - (count.saturating_sub(1) as u64).leading_zeros());
    format!("{} ({})", counted(count as u64, "variant"), bits(width))
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Describes the hints of a value.
pub(super) fn hints(item: &FlatValue<'_>) -> String {
    match item.hints {
        Some((hints, _)) => format!("`{hints}`"),
        None => "no hints".to_string(),
    }
}

/// Describes the condition under which a value is sent.
pub(super) fn sent(block: &Block<'_>, item: &FlatValue<'_>) -> String {
    let conditions = block.conditions(item);
    if conditions.is_empty() {
        return "always".to_string();
    }
    let mut text = String::from("when ");
    for (index, (condition, _)) in conditions.iter().enumerate() {
        if index > 0 {
            text.push_str(" && ");
        }
        match condition {
            Condition::Binary(Binary::Or, _) | Condition::Source(_) if conditions.len() > 1 => {
                text.push_str(&format!("({condition})"));
            }
            condition => text.push_str(&condition.to_string()),
        }
    }
    text
}
