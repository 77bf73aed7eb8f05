//! Flattened structs: grouping fields into a struct of their own changes no byte.
//!
//! Fingerprint and diff use the same flattened blocks, so that they agree: equal blocks are
//! compared by name only, others field by field.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::condition::has_value;
use super::hints::newtype;
use crate::stream::{Binary, Condition, Field, Hints, Name, Shape};

/// Values that one serialize function sends, one after the other.
pub(super) struct Block<'s> {
    pub(super) items: Vec<FlatValue<'s>>,
    guards: Vec<Guard<'s>>,
    /// Index of the first value of each field, by the address of the field, since names repeat.
    starts: BTreeMap<*const Field, usize>,
}

/// A value that is not a struct.
pub(super) struct FlatValue<'s> {
    /// Path of the value within the block, such as `body.position`.
    pub(super) path: String,
    pub(super) shape: &'s Shape,
    /// Index of the innermost condition under which the value is sent; `None` if it is always sent.
    guard: Option<usize>,
    /// Hints of the value's field, and the scope of their names; `None` without hints.
    pub(super) hints: Option<(&'s Hints, Names<'s>)>,
}

/// A condition, and the fields that its names refer to.
struct Guard<'s> {
    condition: &'s Condition,
    fields: &'s [Field],
    /// Index of the condition of the enclosing struct; `None` if it has none.
    outer: Option<usize>,
}

/// Fields that the names of a condition refer to.
#[derive(Clone, Copy)]
pub(super) struct Names<'s> {
    fields: &'s [Field],
}

impl<'s> Block<'s> {
    /// Flattens a whole value.
    pub(super) fn of(shape: &'s Shape) -> Self {
        let mut block = Self::empty();
        block.add(shape, &mut String::new(), None, None);
        block
    }

    /// Flattens the fields of a struct or a variant.
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
            Shape::Struct { fields, .. } => {
                let first = self.items.len();
                self.add_fields(fields, path, guard);
                // Hints of a field whose type is a newtype apply to the wrapped value.
                if let (Some(hints), Some(_)) = (hints, newtype(shape))
                    && let [item] = &mut self.items[first..]
                {
                    item.hints.get_or_insert(hints);
                }
            }
            _ => self.items.push(FlatValue { path: path.clone(), shape, guard, hints }),
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

    /// Returns the conditions under which a value is sent, the outermost first. `a && b` counts as
    /// two.
    pub(super) fn conditions(&self, item: &FlatValue<'s>) -> Vec<(&'s Condition, Names<'s>)> {
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

    /// Returns the index of the value that a condition names.
    pub(super) fn place(&self, names: Names<'_>, path: &[Name]) -> Option<usize> {
        let field = names.field(path)?;
        match field.shape {
            Shape::Struct { .. } if newtype(&field.shape).is_none() => None,
            _ => self.starts.get(&core::ptr::from_ref(field)).copied(),
        }
    }

    /// Whether two values are sent under the identical condition.
    pub(super) fn same_guard(a: &FlatValue<'_>, b: &FlatValue<'_>) -> bool {
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

    /// Returns the ordinal of the variant that a comparison names, by the enum on its other side.
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
