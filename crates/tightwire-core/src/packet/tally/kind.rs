//! Kinds of packets within one layout.

use alloc::string::String;
use alloc::vec::Vec;

use crate::stream::{Binary, Condition, Shape, printable};

#[derive(Clone, Debug)]
pub(super) enum KindBy {
    /// All packets are of one kind.
    Nothing,
    /// The variant of the packet, or of this field.
    Variant(Option<String>),
    /// The field that is present, out of these fields, which another field selects by its value.
    Field(Vec<String>),
}

impl KindBy {
    pub(super) fn of(shape: &Shape) -> Self {
        let fields = match shape {
            Shape::Enum { .. } => return Self::Variant(None),
            Shape::Struct { fields, .. } => fields,
            _ => return Self::Nothing,
        };
        let is_chosen =
            |condition: &Condition| matches!(condition, Condition::Binary(Binary::Equal, _));
        let chosen = fields.iter().filter(|field| field.when.as_ref().is_some_and(is_chosen));
        let chosen: Vec<_> = chosen.map(|field| printable(&field.name)).collect();
        if !chosen.is_empty() {
            return Self::Field(chosen);
        }
        // An enum whose variants have no fields is more likely a value than a kind.
        let has_parts = |shape: &Shape| match shape {
            Shape::Enum { variants, .. } => variants.iter().any(|one| !one.fields.is_empty()),
            _ => false,
        };
        match fields.iter().find(|field| field.when.is_none() && has_parts(&field.shape)) {
            Some(field) => Self::Variant(Some(printable(&field.name))),
            None => Self::Nothing,
        }
    }
}
