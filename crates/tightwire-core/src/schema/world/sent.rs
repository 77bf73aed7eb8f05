//! Which fields of a struct are sent, for those who read a text.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::leaf::shown;
use crate::schema::Dynamic;
use crate::schema::condition::Evaluation;
use crate::stream::{Field, Name, Op, Shape, Value};

/// The work that a text may cause. A schema from outside can ask for a lot that no letter pays for:
/// fields whose conditions do not hold.
pub(super) struct Budget {
    values: u64,
    steps: u64,
}

const TOO_MUCH: &str = "the schema asks for more than this text is worth";

impl Budget {
    /// More than a world of this length may have as bits, where a letter stands for up to 32: what
    /// is written is also read.
    pub(super) fn of(text: &[u8]) -> Self {
        let bits = (text.len() as u64).saturating_mul(32);
        Self {
            values: bits.saturating_mul(4).saturating_add(1 << 14),
            steps: bits.saturating_mul(64).saturating_add(1 << 17),
        }
    }

    /// Another value is read.
    pub(super) fn value(&mut self) -> Result<(), String> {
        self.values = self.values.checked_sub(1).ok_or(TOO_MUCH)?;
        self.spend(1)
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), String> {
        self.steps = self.steps.checked_sub(steps as u64).ok_or(TOO_MUCH)?;
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

    /// The place of the field that a text calls `name`. Most stand behind the one before.
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
                && !is_silent(field)
            {
                return Ok(place);
            }
        }
        Err(format!("the schema has no field {} here", shown(name)))
    }

    /// The fields of a struct that came in any order, by their places.
    pub(super) fn assemble(
        &mut self,
        fields: &[Field],
        mut came: BTreeMap<usize, Dynamic>,
    ) -> Result<Vec<(Name, Dynamic)>, String> {
        let mut values = Vec::new();
        for (index, field) in fields.iter().enumerate() {
            let value = match (self.is_sent(fields, index, &values)?, came.remove(&index)) {
                (true, Some(value)) => value,
                (true, None) if is_silent(field) => Dynamic::default(),
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

    /// The fields of a struct that come one after the other.
    pub(super) fn in_order<E>(
        &mut self,
        fields: &[Field],
        refuse: impl Fn(String) -> E,
        mut next: impl FnMut(&mut Self, &Field) -> Result<Dynamic, E>,
    ) -> Result<Vec<(Name, Dynamic)>, E> {
        let mut values = Vec::new();
        for (index, field) in fields.iter().enumerate() {
            if self.is_sent(fields, index, &values).map_err(&refuse)? {
                let value = match is_silent(field) {
                    true => Dynamic::default(),
                    false => next(self, field)?,
                };
                values.push((field.name.clone(), value));
            }
        }
        Ok(values)
    }
}

/// Whether no text says anything of the field: padding and checks are of the bits alone.
pub(super) fn is_silent(field: &Field) -> bool {
    matches!(field.shape, Shape::Op(Op::Align | Op::Check { .. }))
}

/// The fields that a text tells of, with their values.
pub(super) fn told<'a>(
    fields: &'a [Field],
    values: &'a [(Name, Dynamic)],
) -> impl Iterator<Item = (&'a Field, &'a Dynamic)> {
    let is_value = |(_, value): &&(Name, Dynamic)| !matches!(value, Dynamic::Value(Value::Unit));
    let mut values = values.iter().filter(is_value).peekable();
    fields.iter().filter(|field| !is_silent(field)).filter_map(move |field| {
        values.next_if(|(name, _)| *name == field.name).map(|(_, value)| (field, value))
    })
}
