//! Evaluates which fields of a struct are sent, for readers of text.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::leaf::shown;
use crate::schema::Dynamic;
use crate::schema::condition::Evaluation;
use crate::stream::{Field, Name, Op, Shape, Value};

/// Limit on the work that a text may cause. A schema from outside can cause much work without any
/// text: fields whose conditions do not hold.
pub(super) struct Budget {
    values: u64,
    steps: u64,
}

const BUDGET_EXCEEDED: &str = "the schema asks for more than this text is worth";

impl Budget {
    /// Returns a budget above that of the same world in bits, where a character stands for up to 32
    /// bits: every world that is written can be read.
    pub(super) fn of(text: &[u8]) -> Self {
        let bits = (text.len() as u64).saturating_mul(32);
        Self {
            values: bits.saturating_mul(4).saturating_add(1 << 14),
            steps: bits.saturating_mul(64).saturating_add(1 << 17),
        }
    }

    /// Takes one value from the budget.
    pub(super) fn value(&mut self) -> Result<(), String> {
        self.values = self.values.checked_sub(1).ok_or(BUDGET_EXCEEDED)?;
        self.spend(1)
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), String> {
        self.steps = self.steps.checked_sub(steps as u64).ok_or(BUDGET_EXCEEDED)?;
        Ok(())
    }

    /// Whether the field at `index` is sent, after these values.
    pub(super) fn is_sent(
        &mut self,
        fields: &[Field],
        index: usize,
        values: &[(Name, Dynamic)],
    ) -> Result<bool, String> {
        self.spend(1)?;
        let Some(field) = fields.get(index) else { return Ok(false) };
        let Some(condition) = &field.when else { return Ok(true) };
        let fields = fields.get(..index).unwrap_or_default();
        let mut evaluation = Evaluation { fields, values, steps: 0, limit: self.steps };
        let holds = evaluation.holds(condition);
        self.spend(evaluation.steps as usize)?;
        holds.ok_or_else(|| format!("the condition `{condition}` cannot be evaluated"))
    }

    /// Returns the index of the field named `name`. Most fields follow the one `before`.
    pub(super) fn find(
        &mut self,
        fields: &[Field],
        name: &str,
        before: Option<usize>,
    ) -> Result<usize, String> {
        let start = before.map_or(0, |before| before + 1);
        for place in (start..fields.len()).chain(0..start) {
            self.spend(1)?;
            if let Some(field) = fields.get(place)
                && *field.name == *name
                && !is_absent_from_text(field)
            {
                return Ok(place);
            }
        }
        Err(format!("the schema has no field {} here", shown(name)))
    }

    /// Sorts the fields of a struct that came in any order, and checks that the right ones came.
    pub(super) fn assemble(
        &mut self,
        fields: &[Field],
        mut came: BTreeMap<usize, Dynamic>,
    ) -> Result<Vec<(Name, Dynamic)>, String> {
        let mut values = Vec::new();
        for (index, field) in fields.iter().enumerate() {
            let value = match (self.is_sent(fields, index, &values)?, came.remove(&index)) {
                (true, Some(value)) => value,
                (true, None) if is_absent_from_text(field) => Dynamic::default(),
                (true, None) => return Err(format!("the field `{}` is missing", field.name)),
                (false, None) => continue,
                (false, Some(_)) => {
                    return Err(format!("`{}` is only there when its condition holds", field.name));
                }
            };
            values.push((field.name.clone(), value));
        }
        Ok(values)
    }

    /// Reads the fields of a struct in order.
    pub(super) fn in_order<E>(
        &mut self,
        fields: &[Field],
        refuse: impl Fn(String) -> E,
        mut next: impl FnMut(&mut Self, &Field) -> Result<Dynamic, E>,
    ) -> Result<Vec<(Name, Dynamic)>, E> {
        let mut values = Vec::new();
        for (index, field) in fields.iter().enumerate() {
            if self.is_sent(fields, index, &values).map_err(&refuse)? {
                let value = match is_absent_from_text(field) {
                    true => Dynamic::default(),
                    false => next(self, field)?,
                };
                values.push((field.name.clone(), value));
            }
        }
        Ok(values)
    }
}

/// Whether the field does not occur in text: padding and checks only exist in bits.
pub(super) fn is_absent_from_text(field: &Field) -> bool {
    matches!(field.shape, Shape::Op(Op::Align | Op::Check { .. }))
}

/// Iterates over the fields that occur in text, with their values.
pub(super) fn text_fields<'a>(
    fields: &'a [Field],
    values: &'a [(Name, Dynamic)],
) -> impl Iterator<Item = (&'a Field, &'a Dynamic)> {
    let is_value = |(_, value): &&(Name, Dynamic)| !matches!(value, Dynamic::Value(Value::Unit));
    let mut values = values.iter().filter(is_value).peekable();
    fields.iter().filter(|field| !is_absent_from_text(field)).filter_map(move |field| {
        values.next_if(|(name, _)| *name == field.name).map(|(_, value)| (field, value))
    })
}
