//! Values that a reader starts from: new ones, or those of last time.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::dynamic::Dynamic;
use crate::stream::{Name, Shape};

/// A value of this form for a reader to start from. One that has it already keeps its memory, and what
/// is in it is overwritten, or cut off behind what was read.
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

/// Names are shared, and so mostly known without a look at them.
pub(super) fn is_same(a: &Name, b: &Name) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

pub(super) fn rename(name: &mut Name, new: &Name) {
    if !Arc::ptr_eq(name, new) {
        name.clone_from(new);
    }
}

/// The empty value that a reader starts from.
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
