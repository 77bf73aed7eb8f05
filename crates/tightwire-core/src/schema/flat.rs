//! Structs taken apart: grouping fields into a struct of their own changes no byte.
//!
//! Fingerprint and diff look at the same flattened blocks, so that they agree: equal blocks are
//! compared by name only, others field by field.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::condition::has_value;
use crate::stream::{Binary, Condition, Field, Hints, Name, Shape};

/// What one serialize function sends, one value after the other.
pub(super) struct Block<'s> {
    pub(super) items: Vec<Item<'s>>,
    guards: Vec<Guard<'s>>,
    /// The place of the first value of each field, by the field's address: names repeat.
    starts: BTreeMap<*const Field, usize>,
}

/// A value that is no struct.
pub(super) struct Item<'s> {
    /// The names that lead to it from the block, as in `body.position`.
    pub(super) path: String,
    pub(super) shape: &'s Shape,
    /// The innermost condition that it is sent under.
    guard: Option<usize>,
    /// Of its field, and what their names mean.
    pub(super) hints: Option<(&'s Hints, Names<'s>)>,
}

/// A condition, and what its names mean.
struct Guard<'s> {
    condition: &'s Condition,
    fields: &'s [Field],
    /// The condition of the struct around.
    outer: Option<usize>,
}

/// Where a name of a condition leads.
#[derive(Clone, Copy)]
pub(super) struct Names<'s> {
    fields: &'s [Field],
}

impl<'s> Block<'s> {
    /// The block of a whole value.
    pub(super) fn of(shape: &'s Shape) -> Self {
        let mut block = Self::empty();
        block.add(shape, &mut String::new(), None, None);
        block
    }

    /// The block of the fields of a struct or a variant.
    pub(super) fn of_fields(fields: &'s [Field]) -> Self {
        let mut block = Self::empty();
        block.add_fields(fields, &mut String::new(), None);
        block
    }

    fn empty() -> Self {
        Self { items: Vec::new(), guards: Vec::new(), starts: BTreeMap::new() }
    }

    fn add(
        &mut self,
        shape: &'s Shape,
        path: &mut String,
        guard: Option<usize>,
        hints: Option<(&'s Hints, Names<'s>)>,
    ) {
        match shape {
            Shape::Struct { fields, .. } => self.add_fields(fields, path, guard),
            _ => self.items.push(Item { path: path.clone(), shape, guard, hints }),
        }
    }

    fn add_fields(&mut self, fields: &'s [Field], path: &mut String, outer: Option<usize>) {
        for field in fields {
            self.starts.insert(core::ptr::from_ref(field), self.items.len());
            let guard = match &field.when {
                Some(condition) => {
                    self.guards.push(Guard { condition, fields, outer });
                    Some(self.guards.len() - 1)
                }
                None => outer,
            };
            let outside = path.len();
            if outside > 0 {
                path.push('.');
            }
            path.push_str(&field.name);
            let hints = (!field.hints.is_empty()).then_some((&field.hints, Names { fields }));
            self.add(&field.shape, path, guard, hints);
            path.truncate(outside);
        }
    }

    /// What must hold for a value to be sent, the outermost condition first. `a && b` is two.
    pub(super) fn conditions(&self, item: &Item<'s>) -> Vec<(&'s Condition, Names<'s>)> {
        let mut chain = Vec::new();
        let mut next = item.guard;
        while let Some(guard) = next.and_then(|guard| self.guards.get(guard)) {
            chain.push(guard);
            next = guard.outer;
        }
        let mut conditions = Vec::new();
        for guard in chain.into_iter().rev() {
            split(guard.condition, Names { fields: guard.fields }, &mut conditions);
        }
        conditions
    }

    /// The place of the value that a condition names.
    pub(super) fn place(&self, names: Names<'_>, path: &[Name]) -> Option<usize> {
        let field = names.field(path)?;
        match field.shape {
            Shape::Struct { .. } => None,
            _ => self.starts.get(&core::ptr::from_ref(field)).copied(),
        }
    }

    /// Whether two values are sent under the very same condition.
    pub(super) fn same_guard(a: &Item<'_>, b: &Item<'_>) -> bool {
        a.guard == b.guard
    }
}

impl<'s> Names<'s> {
    fn field(self, path: &[Name]) -> Option<&'s Field> {
        let (first, rest) = path.split_first()?;
        let field = self.fields.iter().find(|field| field.name == *first && has_value(field))?;
        match (rest, &field.shape) {
            ([], _) => Some(field),
            (rest, Shape::Struct { fields, .. }) => Names { fields }.field(rest),
            _ => None,
        }
    }

    /// The ordinal of the variant that a comparison names, by the enum on its other side.
    pub(super) fn ordinal(self, other: &Condition, variant: &Name) -> Option<usize> {
        let Condition::Field(path) = other else { return None };
        let Shape::Enum { variants, .. } = &self.field(path)?.shape else { return None };
        variants.iter().position(|known| known.name == *variant)
    }
}

fn split<'s>(
    condition: &'s Condition,
    names: Names<'s>,
    conditions: &mut Vec<(&'s Condition, Names<'s>)>,
) {
    match condition {
        Condition::Binary(Binary::And, operands) => {
            operands.iter().for_each(|operand| split(operand, names, conditions));
        }
        Condition::Bool(true) => {}
        condition => conditions.push((condition, names)),
    }
}
