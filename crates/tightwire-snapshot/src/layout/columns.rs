//! From an operation of a schema to its columns.

use alloc::format;
use alloc::string::ToString;

use super::build::{Builder, Built, MAX_COMPONENTS};
use super::cells::{Step, width};
use super::condition::{Test, columns_for};
use super::order::Draft;
use super::{Audience, Column, Group, Kind, Unit};
use tightwire_core::stream::{Hints, Op, Shape, check_value};

impl Builder {
    pub(super) fn op(&mut self, op: &Op, hints: &Hints, guard: Option<usize>) -> Built<()> {
        let invalid = || format!("the parameters of `{op}` are invalid");
        match *op {
            Op::Bool | Op::Enumerate { .. } => {
                self.category(op.span().ok_or_else(invalid)?, guard)?;
            }
            Op::Bits { .. } | Op::Int { .. } | Op::Fixed { .. } => {
                let span = op.span().ok_or_else(invalid)?;
                match u32::try_from(span) {
                    Ok(max) => self.number(max, 1, hints, guard),
                    Err(_) => self.wide(span, guard),
                }
            }
            Op::CompressedFloat(range) => self.number(range.max_code(), 1, hints, guard),
            Op::CompressedVector { dimensions, range } => {
                for first in (0..dimensions).step_by(MAX_COMPONENTS) {
                    let components = (dimensions - first).min(MAX_COMPONENTS);
                    self.number(range.max_code(), components, hints, guard);
                }
            }
            Op::SmallestThree { bits: bits @ 3..=20 } => {
                let column = self.columns.len();
                let max = (1 << bits) - 2;
                self.codes(&[3, max, max, max], Kind::Rotation { max }, &Hints::default(), guard);
                self.steps.push(Step::Rotation { column, bits });
            }
            Op::UnitVector { bits: bits @ 2..=20 } => self.number((1 << bits) - 2, 2, hints, guard),
            Op::Float => self.raw(1, guard),
            Op::Double => self.raw(2, guard),
            Op::Quaternion => self.raw(4, guard),
            Op::Vector { dimensions } => self.raw(dimensions, guard),
            Op::Varint { bits, .. } => {
                let column = self.columns.len();
                let max = u32::MAX >> 32u32.saturating_sub(bits);
                for _ in 0..bits.div_ceil(32) {
                    self.group(&[max], Kind::Raw, &Hints::default(), guard);
                }
                self.steps.push(Step::Varint { column, bits });
            }
            Op::Align => self.steps.push(Step::Align),
            Op::Check { ref name } => self.steps.push(Step::Check(check_value(name))),
            Op::Bytes { len } | Op::Pod { size: len } => self.bytes(len, None, false, guard),
            Op::Blob { max_len } | Op::String { max_len } => {
                let column = self.length(max_len as u64, guard)?;
                self.bytes(max_len, Some(column), matches!(op, Op::String { .. }), guard);
            }
            Op::WideString { max_len } => {
                let length = self.length(max_len as u64, guard)?;
                let first = self.columns.len();
                for value in 0..max_len as u32 {
                    let guard = self.guard(Test::Above { column: length, value }, guard);
                    self.group(&[u16::MAX.into()], Kind::Raw, &Hints::default(), Some(guard));
                }
                self.steps.push(Step::WideText { length, first, max_len });
            }
            Op::Index { .. } | Op::IntRelative | Op::Selection { .. } => {
                return Err(format!(
                    "`{op}` depends on what was sent before it: use a list, or an integer of a range"
                ));
            }
            _ => return Err(invalid()),
        }
        Ok(())
    }

    /// Marks the groups from `first` on as continuous, if the operation has values in between.
    pub(super) fn mark_continuous(&mut self, shape: &Shape, first: usize) {
        let Shape::Op(op) = shape else { return };
        let is_continuous = matches!(
            op,
            Op::CompressedFloat(_)
                | Op::CompressedVector { .. }
                | Op::UnitVector { .. }
                | Op::Fixed { .. }
        );
        self.drafts[first..]
            .iter_mut()
            .for_each(|draft| draft.group.is_continuous |= is_continuous);
    }

    pub(super) fn category(&mut self, span: u128, guard: Option<usize>) -> Built<()> {
        let max = u32::try_from(span).map_err(|_| "it has more than 2^32 variants".to_string())?;
        self.codes(&[max], Kind::Category, &Hints::default(), guard);
        Ok(())
    }

    /// Adds a length, and returns its column.
    pub(super) fn length(&mut self, max_len: u64, guard: Option<usize>) -> Built<usize> {
        let max = u32::try_from(max_len).map_err(|_| "a length has 32 bits".to_string())?;
        self.number(max, 1, &Hints::default(), guard);
        Ok(self.columns.len() - 1)
    }

    pub(super) fn number(
        &mut self,
        max: u32,
        components: usize,
        hints: &Hints,
        guard: Option<usize>,
    ) {
        let kind = Kind::Number { components, wraps: hints.wraps };
        self.codes(&[max; MAX_COMPONENTS][..components], kind, hints, guard);
    }

    /// Adds an integer of more than 32 bits.
    fn wide(&mut self, span: u128, guard: Option<usize>) {
        let (column, parts) = (self.columns.len(), columns_for(span));
        for part in 1..=parts {
            let max = if part < parts { u32::MAX } else { (span >> (32 * (part - 1))) as u32 };
            self.codes(&[max], Kind::Raw, &Hints::default(), guard);
        }
        // A span of all ones is already checked by the maxima of the columns.
        if span & (span.wrapping_add(1)) != 0 {
            self.steps.push(Step::Wide { column, parts, span });
        }
    }

    fn raw(&mut self, count: usize, guard: Option<usize>) {
        for _ in 0..count {
            self.codes(&[u32::MAX], Kind::Raw, &Hints::default(), guard);
        }
    }

    /// Adds bytes, four per column; those beyond a length are absent.
    fn bytes(&mut self, len: usize, length: Option<usize>, is_text: bool, guard: Option<usize>) {
        let first = self.columns.len();
        for at in (0..len).step_by(4) {
            let max = u32::MAX >> (32 - 8 * (len - at).min(4));
            let guard = match length {
                Some(column) => Some(self.guard(Test::Above { column, value: at as u32 }, guard)),
                None => guard,
            };
            self.group(&[max], Kind::Raw, &Hints::default(), guard);
        }
        self.steps.push(Step::Bytes { length, first, len, is_text });
    }

    /// Adds the columns of one group, each sent in the bits that its maximum needs.
    pub(super) fn codes(
        &mut self,
        maxima: &[u32],
        kind: Kind,
        hints: &Hints,
        guard: Option<usize>,
    ) {
        let first = self.columns.len();
        self.group(maxima, kind, hints, guard);
        let end = self.columns.len();
        for column in first..end {
            let width = width(self.columns[column].max);
            match self.steps.get_mut(self.seam..).and_then(<[Step]>::last_mut) {
                Some(Step::Codes { columns, bits }) if *bits + width <= u64::BITS => {
                    columns.end = column + 1;
                    *bits += width;
                }
                _ => self.steps.push(Step::Codes { columns: column..column + 1, bits: width }),
            }
        }
    }

    fn group(&mut self, maxima: &[u32], kind: Kind, hints: &Hints, guard: Option<usize>) {
        let first = self.columns.len();
        self.columns.extend(maxima.iter().map(|&max| Column { max }));
        // A group whose cells can only be 0 is not coded.
        if maxima.iter().any(|&max| max > 0) {
            let Hints { spatial, reference, wraps, .. } = *hints;
            let is_continuous = spatial || wraps || matches!(kind, Kind::Rotation { .. });
            let group = Group {
                first,
                kind,
                is_continuous,
                spatial,
                space: 0,
                origin: 0,
                unit: Unit::default(),
                reference,
                audience: Audience::All,
                derivative: None,
            };
            let field = self.fields.add(self.path[self.root..].trim_start_matches('.'));
            self.drafts.push(Draft { group, guard, field });
        }
    }
}
