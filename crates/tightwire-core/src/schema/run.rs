//! The one function that reads, writes, measures and traces a tree by its schema.
//!
//! A schema runs the operations of streams (`stream/described.rs`), so that its bytes and traces
//! equal those of the types: there is no second reader. A packet may cause four values and 64 steps
//! for each of its bits, plus a constant: without this limit, an untrusted schema could cause
//! unbounded work with fields and elements of zero bits. A writer refuses packets beyond the limit,
//! since no reader would accept them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use core::mem::take;

use super::blank::{is_same, make_blank, needed, rename};
use super::condition::Evaluation;
use super::dynamic::Dynamic;
use super::equality::compares_lists;
use super::error::DynamicError;
use crate::stream::{
    ErrorKind, Field, Name, RunError, Shape, Stream, TraceScope, Variant, run_op, run_ordinal,
    runtime_array, tree_list, tree_option,
};

/// Cost of a packet. An untrusted schema can cause work and values that take no bits: elements of
/// zero bits, and fields whose conditions do not hold.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// Number of nodes of the tree.
    values: u64,
    /// Number of fields and parts of conditions that were evaluated.
    steps: u64,
}

impl Cost {
    /// Returns the largest cost for a packet of `bits` bits, more than any legitimate packet has.
    fn allowance(bits: u64) -> Self {
        Self {
            values: bits.saturating_mul(4).saturating_add(1 << 14),
            steps: bits.saturating_mul(64).saturating_add(1 << 17),
        }
    }

    fn exceeds(&self, allowance: Self) -> bool {
        self.values > allowance.values || self.steps > allowance.steps
    }
}

/// State of a reader that needs no tree: one value for each list of the schema, into which all
/// elements of the list are read one after the other. In the tree the elements are `()`.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadScratch {
    pub(crate) tree: Dynamic,
    /// Values by the address of the element's shape, which is different for each list of a schema.
    elements: Vec<(usize, Dynamic)>,
    /// Whether a condition of the schema compares lists, whose elements must then be kept in the
    /// tree; `None` before the first packet.
    compares_lists: Option<bool>,
}

/// A walk of a schema along a stream.
pub(super) struct Walk<'s> {
    cost: Cost,
    allowance: Cost,
    /// Path of the current value, for errors.
    path: Vec<PathStep<'s>>,
    /// Reason why the tree or the schema was refused. A write stream goes on after an error, so the
    /// walk stops by itself if this is set.
    pub(super) error: Option<DynamicError>,
    /// Values for the elements of lists; `None` if the elements are kept in the tree.
    elements: Option<Vec<(usize, Dynamic)>>,
}

#[derive(Clone, Copy)]
enum PathStep<'s> {
    Name(&'s str),
    Index(usize),
}

/// Largest number of lists whose element value is kept for the next packet, to reuse its memory:
/// more than the packets of a game have.
const MAX_SPARE: usize = 64;

/// Name of a root that has no name.
pub(super) const PACKET: &str = "packet";

/// Returns the name of a shape, or [`PACKET`] if it has none.
pub(super) fn root_name(shape: &Shape) -> &str {
    match shape {
        Shape::Struct { name, .. } | Shape::Enum { name, .. } | Shape::Opaque { name, .. } => name,
        _ => PACKET,
    }
}

impl<'s> Walk<'s> {
    /// Reads the whole schema without keeping the elements of lists.
    pub(super) fn skim<S: Stream>(
        root: &'s Shape,
        scratch: &mut ReadScratch,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let compares_lists = *scratch.compares_lists.get_or_insert_with(|| compares_lists(root));
        let elements = (!compares_lists).then(|| take(&mut scratch.elements));
        let (result, mut run) = Self::run(root, &mut scratch.tree, stream, elements);
        scratch.elements = run.elements.take().unwrap_or_default();
        result
    }

    /// Runs the whole schema. Writing sorts the fields of the tree into the schema's order.
    pub(super) fn root<S: Stream>(
        root: &'s Shape,
        value: &mut Dynamic,
        stream: &mut S,
    ) -> (Result<(), S::Error>, Option<DynamicError>) {
        let (result, run) = Self::run(root, value, stream, None);
        (result, run.error)
    }

    fn run<S: Stream>(
        root: &'s Shape,
        value: &mut Dynamic,
        stream: &mut S,
        elements: Option<Vec<(usize, Dynamic)>>,
    ) -> (Result<(), S::Error>, Self) {
        let start = stream.position();
        let unlimited = Cost { values: u64::MAX, steps: u64::MAX };
        let allowance = match S::READING {
            true => Cost::allowance(stream.remaining()),
            false => unlimited,
        };
        let path = alloc::vec![PathStep::Name(root_name(root))];
        let mut run = Self { cost: Cost::default(), allowance, path, error: None, elements };
        let mut result = run.shape(root, value, stream);
        // A packet that a reader would refuse is not written.
        if !S::READING && run.cost.exceeds(Cost::allowance(stream.position() - start)) {
            result = stream.refuse_at(ErrorKind::OutOfRange, start);
        }
        (result, run)
    }

    fn shape<S: Stream>(
        &mut self,
        shape: &'s Shape,
        value: &mut Dynamic,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        self.cost.values += 1;
        self.cost.steps += 1;
        if self.error.is_some() {
            return Ok(());
        }
        if self.cost.exceeds(self.allowance) {
            let bit = stream.position();
            return stream.refuse_at(ErrorKind::UnexpectedEnd, bit);
        }
        if S::READING {
            make_blank(shape, value);
        }
        match (shape, &mut *value) {
            (Shape::Op(op), Dynamic::Value(leaf)) => match run_op(stream, op, leaf) {
                Ok(()) => Ok(()),
                Err(RunError::Stream(error)) => Err(error),
                Err(RunError::Mismatch(expected)) => {
                    let reason = format!("{expected} is needed for `{op}`, not {}", value.kind());
                    self.mismatch(stream, reason)
                }
                Err(RunError::NoContext) => {
                    let reason = format!("`{op}` depends on what only the program knows");
                    self.undescribed(stream, reason)
                }
            },
            (Shape::Struct { fields, .. }, Dynamic::Struct { fields: values, .. }) => {
                self.fields(fields, values, stream)
            }
            (Shape::Enum { variants, .. }, Dynamic::Enum { variant, fields, .. }) => {
                self.variant(variants, variant, fields, stream)
            }
            (Shape::Option(inner), Dynamic::Option(content)) => {
                tree_option(stream, content, |content, stream| self.shape(inner, content, stream))
            }
            (Shape::List { max_len, element }, Dynamic::List(items)) => {
                let max_len = usize::try_from(*max_len).unwrap_or(usize::MAX);
                let mut index = 0;
                let mut spare = self.spare(element);
                let result = tree_list(stream, items, max_len, |item, stream| {
                    index += 1;
                    let item = spare.as_mut().unwrap_or(item);
                    self.element(index - 1, element, item, stream)
                });
                self.keep_spare(element, spare);
                result
            }
            (Shape::Array { len, element }, Dynamic::List(items)) => {
                if S::WRITING && items.len() as u64 != *len {
                    let reason = format!("{len} elements are needed, not {}", items.len());
                    return self.mismatch(stream, reason);
                }
                let len = usize::try_from(*len).unwrap_or(usize::MAX);
                let mut index = 0;
                let mut spare = self.spare(element);
                let result = runtime_array(stream, items, len, |item, stream| {
                    index += 1;
                    let item = spare.as_mut().unwrap_or(item);
                    self.element(index - 1, element, item, stream)
                });
                self.keep_spare(element, spare);
                result
            }
            (Shape::Opaque { name, .. }, _) => {
                let reason = format!("`{name}` is serialized by hand, which no schema describes");
                self.undescribed(stream, reason)
            }
            (shape, value) => {
                let reason = format!("{} is needed, not {}", needed(shape), value.kind());
                self.mismatch(stream, reason)
            }
        }
    }

    /// Takes the value into which the elements of a list are read; `None` if the elements are kept.
    fn spare(&mut self, element: &Shape) -> Option<Dynamic> {
        let elements = self.elements.as_mut()?;
        let address = core::ptr::from_ref(element).addr();
        let known = elements.iter().position(|(other, _)| *other == address);
        Some(known.map_or_else(Dynamic::default, |place| elements.swap_remove(place).1))
    }

    fn keep_spare(&mut self, element: &Shape, spare: Option<Dynamic>) {
        if let (Some(elements), Some(spare)) = (&mut self.elements, spare)
            && elements.len() < MAX_SPARE
        {
            elements.push((core::ptr::from_ref(element).addr(), spare));
        }
    }

    fn element<S: Stream>(
        &mut self,
        index: usize,
        shape: &'s Shape,
        value: &mut Dynamic,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        self.path.push(PathStep::Index(index));
        let result = self.shape(shape, value, stream);
        self.path.pop();
        result
    }

    fn variant<S: Stream>(
        &mut self,
        variants: &'s [Variant],
        name: &mut Name,
        values: &mut Vec<(Name, Dynamic)>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let mut ordinal = 0;
        if S::WRITING {
            let Some(place) = variants.iter().position(|variant| variant.name == *name) else {
                let reason = format!("no variant is called `{name}`");
                return self.mismatch(stream, reason);
            };
            ordinal = place;
        }
        let name_of = |ordinal: usize| variants.get(ordinal).map_or("", |variant| &*variant.name);
        run_ordinal(stream, &mut ordinal, variants.len(), name_of)?;
        let Some(variant) = variants.get(ordinal) else { return Ok(()) };
        rename(name, &variant.name);
        if variant.fields.is_empty() {
            return self.fields(&variant.fields, values, stream);
        }
        stream.name_next(&variant.name);
        stream.enter(TraceScope::Group("variant"));
        self.path.push(PathStep::Name(&variant.name));
        let result = self.fields(&variant.fields, values, stream);
        self.path.pop();
        stream.leave();
        result
    }

    fn fields<S: Stream>(
        &mut self,
        fields: &'s [Field],
        values: &mut Vec<(Name, Dynamic)>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        if S::READING && values.is_empty() {
            // Not `fields.len()`: fields that are not sent need no memory.
            values.reserve_exact(fields.len().min(4));
        }
        let mut written = 0;
        for (index, field) in fields.iter().enumerate() {
            self.cost.steps += 1;
            self.path.push(PathStep::Name(&field.name));
            let result = self.field((fields, index), values, &mut written, stream);
            self.path.pop();
            result?;
            if self.error.is_some() {
                return Ok(());
            }
        }
        if S::READING {
            values.truncate(written);
        }
        // A writer has moved each known field to its place, so that unknown fields are last.
        match values.get(written) {
            Some((name, _)) if S::WRITING => {
                let reason = format!("the schema has no field `{name}` here");
                self.mismatch(stream, reason)
            }
            _ => Ok(()),
        }
    }

    /// Runs one field; `written` is the number of fields before it in the tree.
    fn field<S: Stream>(
        &mut self,
        (fields, index): (&'s [Field], usize),
        values: &mut Vec<(Name, Dynamic)>,
        written: &mut usize,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let field = &fields[index];
        if S::WRITING {
            let is_field = |(name, _): &(Name, Dynamic)| *name == field.name;
            // Most trees have their fields in the order of the schema; the others are sorted.
            let rest = values.get_mut(*written..).unwrap_or_default();
            if let Some(place @ 1..) = rest.iter().position(is_field) {
                rest[..=place].rotate_right(1);
            }
        }
        let is_there = values.get(*written).is_some_and(|(name, _)| is_same(name, &field.name));
        if let Some(condition) = &field.when {
            let (fields, before) = (&fields[..index], values.get(..*written).unwrap_or_default());
            let limit = self.allowance.steps.saturating_sub(self.cost.steps);
            let mut evaluation = Evaluation { fields, values: before, steps: 0, limit };
            let holds = evaluation.holds(condition);
            self.cost.steps += evaluation.steps;
            if self.cost.exceeds(self.allowance) {
                let bit = stream.position();
                return stream.refuse_at(ErrorKind::UnexpectedEnd, bit);
            }
            match holds {
                Some(true) => {}
                Some(false) => {
                    if is_there {
                        // Later conditions must not use a value that the reader will not have, nor
                        // one that is left from the previous packet.
                        values.remove(*written);
                    }
                    return Ok(());
                }
                None => {
                    stream.name_next(&field.name);
                    let reason = format!("the condition `{condition}` cannot be evaluated");
                    return self.undescribed(stream, reason);
                }
            }
        }
        if S::READING {
            // A value of the previous packet is overwritten in place, to reuse its memory.
            if !is_there {
                values.insert(*written, (field.name.clone(), Dynamic::default()));
            }
        } else if !is_there {
            stream.name_next(&field.name);
            return self.mismatch(stream, String::from("the field is missing"));
        }
        let place = *written;
        *written += 1;
        self.named(field, &mut values[place].1, stream)
    }

    /// Serializes a field like the typed code: with its name, and with a scope for types that have
    /// their own serialize function.
    fn named<S: Stream>(
        &mut self,
        field: &'s Field,
        value: &mut Dynamic,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.name_next(&field.name);
        let (Shape::Struct { name, .. } | Shape::Enum { name, .. } | Shape::Opaque { name, .. }) =
            &field.shape
        else {
            return self.shape(&field.shape, value, stream);
        };
        stream.enter(TraceScope::Object { type_name: name });
        let result = self.shape(&field.shape, value, stream);
        stream.leave();
        result
    }

    fn mismatch<S: Stream>(&mut self, stream: &mut S, reason: String) -> Result<(), S::Error> {
        let path = self.path();
        self.error.get_or_insert(DynamicError::Mismatch { path, reason });
        refuse(stream, ErrorKind::Mismatch)
    }

    fn undescribed<S: Stream>(&mut self, stream: &mut S, reason: String) -> Result<(), S::Error> {
        let path = self.path();
        self.error.get_or_insert(DynamicError::Undescribed { path, reason });
        refuse(stream, ErrorKind::Undescribed)
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            let _ = match step {
                PathStep::Name(name) if path.is_empty() => path.write_str(name),
                PathStep::Name(name) => write!(path, ".{name}"),
                PathStep::Index(index) => write!(path, "[{index}]"),
            };
        }
        path
    }
}

/// Refuses a value before its operation begins. A trace has a group in place of the value.
fn refuse<S: Stream>(stream: &mut S, kind: ErrorKind) -> Result<(), S::Error> {
    stream.enter(TraceScope::Group("refused"));
    let bit = stream.position();
    let result = stream.refuse_at(kind, bit);
    stream.leave();
    result
}
