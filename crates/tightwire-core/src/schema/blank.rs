//! Values for a reader to read into: new ones, or those of the previous packet.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::dynamic::Dynamic;
use crate::stream::{Name, Shape};

/// Makes `value` fit `shape`, for a reader to read into. A value of this shape keeps its memory;
/// reading overwrites its contents, and cuts off the rest.
pub(super) fn make_blank(shape: &Shape, value: &mut Dynamic) {
    match (shape, &mut *value) {
        (Shape::Struct { name: new, .. }, Dynamic::Struct { name, .. })
        | (Shape::Enum { name: new, .. }, Dynamic::Enum { name, .. }) => rename(name, new),
        (Shape::Option(_), Dynamic::Option(_))
        | (Shape::Array { .. } | Shape::List { .. }, Dynamic::List(_))
        | (Shape::Op(_), Dynamic::Value(_)) => {}
        _ => *value = blank(shape),
    }
}

/// Whether two names are equal. Names are shared, so that most comparisons only compare pointers.
pub(super) fn is_same(a: &Name, b: &Name) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

pub(super) fn rename(name: &mut Name, new: &Name) {
    if !Arc::ptr_eq(name, new) {
        name.clone_from(new);
    }
}

/// Returns the empty value of a shape.
fn blank(shape: &Shape) -> Dynamic {
    match shape {
        Shape::Struct { name, .. } => Dynamic::Struct { name: name.clone(), fields: Vec::new() },
        Shape::Enum { name, .. } => {
            Dynamic::Enum { name: name.clone(), variant: name.clone(), fields: Vec::new() }
        }
        Shape::Option(_) => Dynamic::Option(None::<Box<Dynamic>>),
        Shape::Array { .. } | Shape::List { .. } => Dynamic::List(Vec::new()),
        Shape::Op(_) | Shape::Opaque { .. } => Dynamic::default(),
    }
}

pub(super) fn needed(shape: &Shape) -> &'static str {
    match shape {
        Shape::Op(_) | Shape::Opaque { .. } => "a value",
        Shape::Struct { .. } => "a struct",
        Shape::Enum { .. } => "an enum",
        Shape::Option(_) => "an option",
        Shape::Array { .. } | Shape::List { .. } => "a list",
    }
}
