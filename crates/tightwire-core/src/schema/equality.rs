//! Equality of two values of a tree, as `==` of a derived `PartialEq` would say.

use super::condition::{is_so, resolve};
use super::dynamic::Dynamic;
use crate::stream::{Binary, Condition, Field, Name, Shape, Value};

/// A comparison of trees, and the work that it may take.
pub(super) struct Equality<'e> {
    /// The work so far. Values are compared as often as conditions ask, which no bit pays for.
    pub(super) steps: &'e mut u64,
    /// The most work, of all that is counted here.
    pub(super) limit: u64,
}

impl Equality<'_> {
    /// Whether two trees are equal; nothing if they are of different kinds, or too large.
    ///
    /// Fields that are absent need no look: whether one is sent depends on the values before it, and
    /// so these differ already if it is there on one side alone.
    pub(super) fn of(&mut self, a: &Dynamic, b: &Dynamic) -> Option<bool> {
        self.spend(1)?;
        match (a, b) {
            (Dynamic::Value(a), Dynamic::Value(b)) => self.of_leaves(a, b),
            (Dynamic::Struct { fields: a, .. }, Dynamic::Struct { fields: b, .. }) => {
                self.of_fields(a, b)
            }
            (
                Dynamic::Enum { variant: a, fields: of_a, .. },
                Dynamic::Enum { variant: b, fields: of_b, .. },
            ) => match a == b {
                true => self.of_fields(of_a, of_b),
                false => Some(false),
            },
            (Dynamic::Option(a), Dynamic::Option(b)) => match (a, b) {
                (Some(a), Some(b)) => self.of(a, b),
                (a, b) => Some(a.is_none() && b.is_none()),
            },
            (Dynamic::List(a), Dynamic::List(b)) if a.len() != b.len() => Some(false),
            (Dynamic::List(a), Dynamic::List(b)) => {
                self.all(a.iter().zip(b), |same, (a, b)| same.of(a, b))
            }
            _ => None,
        }
    }

    fn of_fields(&mut self, a: &[(Name, Dynamic)], b: &[(Name, Dynamic)]) -> Option<bool> {
        let pairs = a.iter().zip(b);
        let are_same = self.all(pairs, |same, ((name, a), (other, b))| match name == other {
            true => same.of(a, b),
            false => Some(false),
        })?;
        Some(are_same && a.len() == b.len())
    }

    /// Whether all of these are equal; the first that are not end the comparison.
    fn all<T>(
        &mut self,
        mut pairs: impl Iterator<Item = T>,
        mut is_same: impl FnMut(&mut Self, T) -> Option<bool>,
    ) -> Option<bool> {
        pairs
            .try_fold(true, |_, pair| match is_same(self, pair) {
                Some(true) => Ok(true),
                other => Err(other),
            })
            .map_or_else(|other| other, Some)
    }

    fn of_leaves(&mut self, a: &Value, b: &Value) -> Option<bool> {
        match (a, b) {
            (Value::Unit, Value::Unit) => Some(true),
            (Value::Bool(a), Value::Bool(b)) => Some(a == b),
            (Value::Number(a), Value::Number(b)) => Some(is_so(Binary::Equal, *a, *b)),
            (Value::Vector(a), Value::Vector(b)) => {
                self.spend(a.len())?;
                Some(a == b)
            }
            (Value::Text(a), Value::Text(b)) | (Value::Name(a), Value::Name(b)) => {
                self.spend(a.len() / 8)?;
                Some(a == b)
            }
            (Value::Bytes(a), Value::Bytes(b)) => {
                self.spend(a.len() / 8)?;
                Some(a == b)
            }
            _ => None,
        }
    }

    fn spend(&mut self, steps: usize) -> Option<()> {
        *self.steps += steps as u64;
        (*self.steps <= self.limit).then_some(())
    }
}

/// Whether a condition of this form, or of one within it, compares values that can have lists in them.
pub(super) fn compares_lists(shape: &Shape) -> bool {
    match shape {
        Shape::Struct { fields, .. } => compares_lists_in(fields),
        Shape::Enum { variants, .. } => {
            variants.iter().any(|variant| compares_lists_in(&variant.fields))
        }
        Shape::Option(inner) => compares_lists(inner),
        Shape::Array { element, .. } | Shape::List { element, .. } => compares_lists(element),
        Shape::Op(_) | Shape::Opaque { .. } => false,
    }
}

fn compares_lists_in(fields: &[Field]) -> bool {
    fields.iter().enumerate().any(|(index, field)| {
        let before = &fields[..index];
        field.when.as_ref().is_some_and(|when| condition_compares_lists(when, before))
            || compares_lists(&field.shape)
    })
}

fn condition_compares_lists(condition: &Condition, before: &[Field]) -> bool {
    let inside = |of: &Condition| condition_compares_lists(of, before);
    match condition {
        Condition::Len(of) | Condition::IsSome(of) | Condition::Not(of) => inside(of),
        Condition::Binary(Binary::Equal | Binary::NotEqual, operands) => {
            let is_whole = |operand: &Condition| match operand {
                Condition::Field(path) => {
                    resolve(before, path).is_some_and(|shape| !matches!(shape, Shape::Op(_)))
                }
                other => condition_compares_lists(other, before),
            };
            operands.iter().all(is_whole)
        }
        Condition::Binary(_, operands) => {
            operands.iter().any(|of| condition_compares_lists(of, before))
        }
        _ => false,
    }
}
