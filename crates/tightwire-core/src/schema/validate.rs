//! Validation of an untrusted schema.
//!
//! Limits on depth are low because `serde_json` stops at 128 levels: every valid schema can be read
//! back from its JSON.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};

use super::condition::{has_value, resolve};
use super::error::SchemaError;
use super::hints;
use super::names::{is_control, is_invisible};
use super::run::root_name;
use crate::stream::{Condition, Field, Int, MAX_DIMENSIONS, Name, Number, Op, Shape, derived};

/// Largest depth of nested shapes; a variant is one level deeper than its enum. The JSON of a
/// schema of this depth and [`MAX_CONDITION_DEPTH`] together stays below the 128 levels that
/// `serde_json` reads.
pub(super) const MAX_DEPTH: usize = derived::MAX_DEPTH as usize;

/// Largest depth of a condition.
pub(super) const MAX_CONDITION_DEPTH: usize = 24;

/// Largest number of shapes, fields, variants and parts of conditions in all.
pub(super) const MAX_NODES: usize = 1 << 15;

/// Largest length of a name in bytes.
pub(super) const MAX_NAME: usize = derived::MAX_NAME;

/// Largest length of a condition's source in bytes.
pub(super) const MAX_SOURCE: usize = 4096;

/// Largest length in bytes of all names in a path: each line of a trace contains the path.
const MAX_PATH: usize = 1024;

/// Largest length of a string or blob, and largest number of elements of a list.
const MAX_LEN: u64 = derived::MAX_LEN;

/// Largest number of fields that all conditions of a schema together may search.
const MAX_SEARCHED: usize = 1 << 22;

/// Checks that the shape is within all limits and consistent.
pub(super) fn validate(root: &Shape) -> Result<(), SchemaError> {
    let mut validation = Validation::default();
    let result = validation.step(root_name(root), |validation| validation.shape(root, 1));
    result.map_err(|reason| SchemaError { path: validation.path, reason })
}

/// Whether a condition over the fields `before` is within all limits and consistent with them.
pub(super) fn is_condition(condition: &Condition, before: &BTreeMap<&str, &Shape>) -> bool {
    Validation::default().condition(condition, before, 1).is_ok()
}

#[derive(Default)]
struct Validation {
    /// Path of the current part; after a refusal, of the invalid part.
    path: String,
    nodes: usize,
    searched: usize,
}

type Checked = Result<(), String>;

impl Validation {
    /// Goes one step down the path, and back up if there was no error.
    fn step(&mut self, step: &str, inside: impl FnOnce(&mut Self) -> Checked) -> Checked {
        let outside = self.path.len();
        if !self.path.is_empty() && !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(step);
        if self.path.len() > MAX_PATH {
            return Err(format!("the names up to here have more than {MAX_PATH} bytes"));
        }
        inside(self)?;
        self.path.truncate(outside);
        Ok(())
    }

    fn node(&mut self, depth: usize, max_depth: usize) -> Checked {
        self.nodes += 1;
        if depth > max_depth {
            return Err(format!("it is more than {max_depth} levels deep"));
        }
        if self.nodes > MAX_NODES {
            return Err(format!("the schema has more than {MAX_NODES} parts"));
        }
        Ok(())
    }

    fn shape(&mut self, shape: &Shape, depth: usize) -> Checked {
        self.node(depth, MAX_DEPTH)?;
        match shape {
            Shape::Op(op) => self.op(op),
            Shape::Struct { name, fields } => {
                self.name(name)?;
                self.fields(fields, depth)
            }
            Shape::Enum { name, variants } => {
                self.name(name)?;
                if variants.is_empty() {
                    return Err("an enum without variants has no values".to_string());
                }
                let mut names = BTreeMap::new();
                for (ordinal, variant) in variants.iter().enumerate() {
                    self.node(depth + 1, MAX_DEPTH)?;
                    self.name(&variant.name)?;
                    if names.insert(&*variant.name, ordinal).is_some() {
                        return Err(format!("two variants are called `{}`", variant.name));
                    }
                    self.step(&variant.name, |inside| inside.fields(&variant.fields, depth + 1))?;
                }
                Ok(())
            }
            Shape::Option(inner) => self.shape(inner, depth + 1),
            Shape::Array { len, element } | Shape::List { max_len: len, element } => {
                length(*len)?;
                self.step("[]", |inside| inside.shape(element, depth + 1))
            }
            Shape::Opaque { name, .. } => self.name(name),
        }
    }

    fn fields(&mut self, fields: &[Field], depth: usize) -> Checked {
        if let Err((name, reason)) = hints::check(fields) {
            return self.step(name, |_| Err(reason));
        }
        let mut before = BTreeMap::new();
        for field in fields {
            self.node(0, 0)?;
            self.name(&field.name)?;
            self.step(&field.name, |inside| {
                if let Some(condition) = &field.when {
                    inside.condition(condition, &before, 1)?;
                }
                inside.shape(&field.shape, depth + 1)
            })?;
            if has_value(field) && before.insert(&*field.name, &field.shape).is_some() {
                return Err(format!("two fields are called `{}`", field.name));
            }
        }
        Ok(())
    }

    fn condition(
        &mut self,
        condition: &Condition,
        before: &BTreeMap<&str, &Shape>,
        depth: usize,
    ) -> Checked {
        self.node(depth, MAX_CONDITION_DEPTH)?;
        match condition {
            Condition::Field(path) => {
                for name in path {
                    self.name(name)?;
                }
                match self.reference(path, before) {
                    None | Some(Shape::Struct { .. }) => Err(format!(
                        "`{condition}` is not the value of an earlier field of the same struct"
                    )),
                    Some(_) => Ok(()),
                }
            }
            Condition::Bool(_) => Ok(()),
            Condition::Number(Number::Float(number)) if !number.is_finite() => {
                Err(format!("{number} is not finite, and cannot be compared with"))
            }
            Condition::Number(Number::Double(number)) if !number.is_finite() => {
                Err(format!("{number} is not finite, and cannot be compared with"))
            }
            Condition::Number(_) => Ok(()),
            Condition::Variant(name) => self.name(name),
            Condition::Len(of) | Condition::IsSome(of) | Condition::Not(of) => {
                self.condition(of, before, depth + 1)
            }
            Condition::Binary(_, operands) => {
                operands.iter().try_for_each(|of| self.condition(of, before, depth + 1))?;
                let [a, b] = &**operands;
                self.variant(a, b, before)?;
                self.variant(b, a, before)
            }
            Condition::Source(text) if text.len() > MAX_SOURCE => {
                Err(format!("a condition has more than {MAX_SOURCE} bytes"))
            }
            Condition::Source(text) => {
                match text.chars().any(|c| c.is_control() && !c.is_whitespace()) {
                    true => Err("a condition has a control character in it".to_string()),
                    false => Ok(()),
                }
            }
        }
    }

    /// Checks that an enum has the variant that it is compared with.
    fn variant(
        &mut self,
        variant: &Condition,
        value: &Condition,
        before: &BTreeMap<&str, &Shape>,
    ) -> Checked {
        let (Condition::Variant(name), Condition::Field(path)) = (variant, value) else {
            return Ok(());
        };
        match self.reference(path, before) {
            Some(Shape::Enum { variants, .. }) => {
                self.searched += variants.len();
                match variants.iter().any(|variant| variant.name == *name) {
                    true => Ok(()),
                    false => Err(format!("`{value}` has no variant `{name}`")),
                }
            }
            _ => Ok(()),
        }
    }

    /// Returns the shape of a condition's field. Every condition searches its path again, so an
    /// attacker could cause much work with few bytes: `MAX_SEARCHED` limits the search.
    fn reference<'s>(
        &mut self,
        path: &[Name],
        before: &BTreeMap<&str, &'s Shape>,
    ) -> Option<&'s Shape> {
        let (first, rest) = path.split_first()?;
        let mut shape = *before.get(&**first)?;
        for name in rest {
            let Shape::Struct { fields, .. } = shape else { return None };
            self.searched += fields.len();
            if self.searched > MAX_SEARCHED {
                return None;
            }
            shape = resolve(fields, core::slice::from_ref(name))?;
        }
        Some(shape)
    }

    fn op(&mut self, op: &Op) -> Checked {
        match op {
            Op::Bits { width: 0..=64 } => Ok(()),
            Op::Bits { width } => Err(format!("a field of {width} bits: at most 64 are possible")),
            Op::Int { min, max } => bounds(*min, *max, 0),
            Op::Fixed { fraction_bits, min, max } => bounds(*min, *max, *fraction_bits),
            Op::Varint { bits: 8 | 16 | 32 | 64 | 128, .. } => Ok(()),
            Op::Varint { bits, .. } => Err(format!("an integer of {bits} bits: 8, 16, 32, 64 or 128 are possible")),
            Op::CompressedFloat(range) | Op::CompressedVector { range, .. }
                if range.max_code() == 0 =>
            {
                Err("a float needs a finite `min` below `max`, and a `resolution` of at most 32 bits".to_string())
            }
            Op::Vector { dimensions } | Op::CompressedVector { dimensions, .. }
                if *dimensions > MAX_DIMENSIONS =>
            {
                Err(format!("a vector has at most {MAX_DIMENSIONS} components"))
            }
            Op::Enumerate { count: 0 } => Err("an enum without variants has no values".to_string()),
            Op::Enumerate { count: len }
            | Op::Bytes { len }
            | Op::Pod { size: len }
            | Op::Blob { max_len: len }
            | Op::String { max_len: len }
            | Op::WideString { max_len: len } => length(*len as u64),
            Op::Selection { len, .. } if *len as u64 >= MAX_LEN => length(u64::MAX),
            Op::SmallestThree { bits } if !(3..=20).contains(bits) => {
                Err("smallest_three has 3 to 20 bits per component".to_string())
            }
            Op::UnitVector { bits } if !(2..=20).contains(bits) => {
                Err("unit_vector has 2 to 20 bits per coordinate".to_string())
            }
            Op::Check { name } => self.name(name),
            _ => Ok(()),
        }
    }

    fn name(&self, name: &str) -> Checked {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(format!("a name has 1 to {MAX_NAME} bytes, not {}", name.len()));
        }
        // Names are shown to people, and a terminal interprets control characters.
        if name.chars().any(is_control) {
            return Err(format!("the name {name:?} has a control character in it"));
        }
        if name.chars().all(is_invisible) {
            return Err(format!("nothing of the name {name:?} can be seen"));
        }
        Ok(())
    }
}

fn length(length: u64) -> Checked {
    if length > MAX_LEN {
        return Err(format!("a length is at most {MAX_LEN}"));
    }
    Ok(())
}

/// Checks that `min..=max`, scaled by 2 to the power of `fraction_bits`, is a range of one integer
/// type.
fn bounds(min: Number, max: Number, fraction_bits: u32) -> Checked {
    fn is_range<T: Int>(min: T, max: T, fraction_bits: u32) -> Option<bool> {
        Some(min.scaled(fraction_bits)? <= max.scaled(fraction_bits)?)
    }
    let is_range = match (min, max) {
        (Number::Unsigned(min), Number::Unsigned(max)) => is_range(min, max, fraction_bits),
        (Number::Signed(min), Number::Signed(max)) => is_range(min, max, fraction_bits),
        _ => return Err(format!("{min} and {max} are not two integers of one type")),
    };
    match is_range {
        Some(true) => Ok(()),
        Some(false) => Err(format!("the range {min}..={max} is reversed")),
        None => Err(format!("{min}..={max} times 2^{fraction_bits} has no integer type")),
    }
}
