//! From a schema to columns: every value that can be there gets its place.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use core::ops::Range;

use super::cells::{Program, Step, width};
use super::condition::{Guard, Test, columns_for, test};
use super::fields::Fields;
use super::order::{self, Draft};
use super::scale::{derivative, space};
use super::size::check_size;
use super::{Column, Derivative, Group, Kind, Layout, LayoutError};
use crate::schema::{Schema, has_value, ordered, rotation_code};
use crate::stream::{Field, Hints, Name, Op, Shape, check_value};

/// Shapes that are looked at: a schema can ask for many that have no columns.
const MAX_WORK: usize = 1 << 16;

/// The most components of a group.
const MAX_COMPONENTS: usize = 4;

pub(super) fn layout(schema: &Schema, ticks_per_second: u32) -> Result<Layout, LayoutError> {
    let refused = |reason: String| LayoutError { path: schema.name().into(), reason };
    if ticks_per_second == 0 {
        return Err(refused("the ticks per second are more than 0".to_string()));
    }
    check_size(schema).map_err(refused)?;
    let mut builder = Builder {
        columns: Vec::new(),
        drafts: Vec::new(),
        guards: Vec::new(),
        steps: Vec::new(),
        seam: 0,
        fields: Fields::default(),
        root: schema.name().len(),
        path: schema.name().into(),
        work: 0,
        ticks_per_second: ticks_per_second.into(),
    };
    if let Err(reason) = builder.shape(schema.root(), &Hints::default(), None) {
        return Err(LayoutError { path: builder.path, reason });
    }
    let Builder { columns, drafts, guards, mut fields, steps, .. } = builder;
    let (groups, (presence, of_groups)) = order::ordered(drafts, &guards, columns.len());
    fields.set_groups(of_groups);
    let program = Program::new(&columns, steps);
    Ok(Layout { columns, groups, presence, guards, fields, program })
}

/// Where a value is.
pub(super) struct Place<'s> {
    pub(super) shape: &'s Shape,
    /// Its first column.
    pub(super) column: usize,
    /// The fields of a struct.
    pub(super) fields: Vec<(&'s Field, Place<'s>)>,
    /// Its groups, in the order of the columns.
    groups: Range<usize>,
}

struct Builder {
    columns: Vec<Column>,
    drafts: Vec<Draft>,
    guards: Vec<Guard>,
    steps: Vec<Step>,
    /// Steps from here on can be made one: nothing jumps between them.
    seam: usize,
    fields: Fields,
    /// The length of the name that every path begins with.
    root: usize,
    /// Where the walk is; where it stopped, after a refusal.
    path: String,
    work: usize,
    ticks_per_second: f64,
}

type Built<T> = Result<T, String>;

impl Builder {
    fn shape<'s>(
        &mut self,
        shape: &'s Shape,
        hints: &Hints,
        guard: Option<usize>,
    ) -> Built<Place<'s>> {
        self.work += 1;
        if self.work > MAX_WORK {
            return Err(format!("there are more than {MAX_WORK} parts up to here"));
        }
        let (column, group) = (self.columns.len(), self.drafts.len());
        let mut inside = Vec::new();
        match shape {
            Shape::Op(op) => {
                self.op(op, hints, guard)?;
                self.note_continuous(shape, group);
            }
            Shape::Struct { fields, .. } => inside = self.fields(fields, guard)?,
            Shape::Enum { variants, .. } => {
                self.category((variants.len() as u128).saturating_sub(1), guard)?;
                for (value, variant) in (0..).zip(variants) {
                    self.step(format_args!(".{}", variant.name), |inside| {
                        inside.guarded(Test::Is { column, value }, guard, |inside, guard| {
                            inside.fields(&variant.fields, guard).map(drop)
                        })
                    })?;
                }
            }
            Shape::Option(inner) => {
                self.category(1, guard)?;
                self.guarded(Test::Is { column, value: 1 }, guard, |inside, guard| {
                    inside.shape(inner, &Hints::default(), guard).map(drop)
                })?;
            }
            Shape::Array { .. } if hints.rotation && rotation_code(shape).is_some() => {
                let max = rotation_code(shape).unwrap_or_default();
                self.codes(&[max; 4], Kind::Rotation { max }, hints, guard);
                // The first is a place.
                self.steps.push(Step::Wide { column, parts: 1, span: 3 });
            }
            Shape::Array { len, element } => match (ordered(element), usize::try_from(*len)) {
                (Some(max), Ok(components @ 2..=MAX_COMPONENTS)) => {
                    self.number(max, components, hints, guard);
                    self.note_continuous(element, group);
                }
                _ => {
                    for index in 0..*len {
                        self.element(index, element, guard)?;
                    }
                }
            },
            Shape::List { max_len, element } => {
                self.step(format_args!(".len()"), |inside| inside.length(*max_len, guard))?;
                let mut skips = Vec::new();
                for index in 0..*max_len {
                    let value = index as u32;
                    let test = Test::Above { column, value };
                    skips.push(self.steps.len());
                    self.guarded(test, guard, |inside, guard| {
                        inside.element(index, element, guard)
                    })?;
                }
                // Behind the first that is absent there are no more.
                for at in skips {
                    self.end_skip(at);
                }
            }
            Shape::Opaque { name, .. } => {
                return Err(format!(
                    "`{name}` is serialized by hand, which no schema describes: derive `Wire` for it"
                ));
            }
        }
        Ok(Place { shape, column, fields: inside, groups: group..self.drafts.len() })
    }

    fn fields<'s>(
        &mut self,
        fields: &'s [Field],
        guard: Option<usize>,
    ) -> Built<Vec<(&'s Field, Place<'s>)>> {
        let mut places: Vec<(&Field, Place<'_>)> = Vec::new();
        for field in fields {
            let place = self.step(format_args!(".{}", field.name), |inside| {
                let Some(when) = &field.when else {
                    return inside.shape(&field.shape, &field.hints, guard);
                };
                inside.guarded(test(when, &places)?, guard, |inside, guard| {
                    inside.shape(&field.shape, &field.hints, guard)
                })
            })?;
            if field.hints.spatial {
                let groups = &mut self.drafts[place.groups.clone()];
                let (space, origin) = space(&field.shape);
                for draft in groups {
                    (draft.group.space, draft.group.origin) = (space, origin);
                }
            }
            places.push((field, place));
        }
        for (field, place) in &places {
            if let Some(of) = &field.hints.derivative_of {
                self.step(format_args!(".{}", field.name), |inside| {
                    inside.tie(place, of, &places)
                })?;
            }
        }
        Ok(places)
    }

    /// Ties the groups of a velocity to those of its position.
    fn tie(
        &mut self,
        velocity: &Place<'_>,
        of: &Name,
        places: &[(&Field, Place<'_>)],
    ) -> Built<()> {
        let found = places.iter().find(|(field, _)| field.name == *of && has_value(field));
        let Some((_, position)) = found else {
            return Err(format!("it is the derivative of `{of}`, which is no field beside it"));
        };
        let widths = |place: &Place<'_>| {
            let drafts = self.drafts[place.groups.clone()].iter();
            drafts.map(|draft| draft.group.kind.width()).collect::<Vec<_>>()
        };
        if widths(position) != widths(velocity) {
            return Err(format!("it is the derivative of `{of}`, and has not as many components"));
        }
        let (scale, zero) = derivative(position.shape, velocity.shape, self.ticks_per_second)
            .map_err(|reason| format!("it is the derivative of `{of}`, and {reason}"))?;
        for (position, group) in position.groups.clone().zip(velocity.groups.clone()) {
            self.drafts[group].group.is_continuous = true;
            self.drafts[position].group.is_continuous = true;
            let slot = &mut self.drafts[position].group.derivative;
            if slot.replace(Derivative { group, scale, zero }).is_some() {
                return Err(format!("another field is the derivative of `{of}` already"));
            }
        }
        Ok(())
    }

    fn op(&mut self, op: &Op, hints: &Hints, guard: Option<usize>) -> Built<()> {
        let nonsense = || format!("`{op}` makes no sense");
        match *op {
            Op::Bool | Op::Enumerate { .. } => {
                self.category(op.span().ok_or_else(nonsense)?, guard)?;
            }
            Op::Bits { .. } | Op::Int { .. } | Op::Fixed { .. } => {
                let span = op.span().ok_or_else(nonsense)?;
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
            Op::SmallestThree { .. } | Op::UnitVector { .. } => return Err(nonsense()),
        }
        Ok(())
    }

    /// The groups from `first` on have values between two values, if the operation is of that kind.
    fn note_continuous(&mut self, shape: &Shape, first: usize) {
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

    fn category(&mut self, span: u128, guard: Option<usize>) -> Built<()> {
        let max = u32::try_from(span).map_err(|_| "it has more than 2^32 variants".to_string())?;
        self.codes(&[max], Kind::Category, &Hints::default(), guard);
        Ok(())
    }

    /// A length, and its column.
    fn length(&mut self, max_len: u64, guard: Option<usize>) -> Built<usize> {
        let max = u32::try_from(max_len).map_err(|_| "a length has 32 bits".to_string())?;
        self.number(max, 1, &Hints::default(), guard);
        Ok(self.columns.len() - 1)
    }

    fn number(&mut self, max: u32, components: usize, hints: &Hints, guard: Option<usize>) {
        let kind = Kind::Number { components, wraps: hints.wraps };
        self.codes(&[max; MAX_COMPONENTS][..components], kind, hints, guard);
    }

    /// An integer of more than 32 bits.
    fn wide(&mut self, span: u128, guard: Option<usize>) {
        let (column, parts) = (self.columns.len(), columns_for(span));
        for part in 1..=parts {
            let max = if part < parts { u32::MAX } else { (span >> (32 * (part - 1))) as u32 };
            self.codes(&[max], Kind::Raw, &Hints::default(), guard);
        }
        // All ones: the maxima of the columns say it already.
        if span & (span.wrapping_add(1)) != 0 {
            self.steps.push(Step::Wide { column, parts, span });
        }
    }

    fn raw(&mut self, count: usize, guard: Option<usize>) {
        for _ in 0..count {
            self.codes(&[u32::MAX], Kind::Raw, &Hints::default(), guard);
        }
    }

    /// Bytes, four to a column; those beyond a length are absent.
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

    /// Columns of one group, each sent in the bits that its maximum needs.
    fn codes(&mut self, maxima: &[u32], kind: Kind, hints: &Hints, guard: Option<usize>) {
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
        // What can only be 0 need not be coded.
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
                reference,
                derivative: None,
            };
            let field = self.fields.add(self.path[self.root..].trim_start_matches('.'));
            self.drafts.push(Draft { group, guard, field });
        }
    }

    fn guard(&mut self, test: Test, outer: Option<usize>) -> usize {
        self.guards.push(Guard { test, outer });
        self.guards.len() - 1
    }

    /// What is there only if the test holds.
    fn guarded<T>(
        &mut self,
        test: Test,
        outer: Option<usize>,
        inside: impl FnOnce(&mut Self, Option<usize>) -> Built<T>,
    ) -> Built<T> {
        let guard = self.guard(test, outer);
        let (at, column) = (self.steps.len(), self.columns.len());
        self.steps.push(Step::Skip { guard, columns: column..column, to: at });
        self.seam = self.steps.len();
        let result = inside(self, Some(guard))?;
        self.end_skip(at);
        self.seam = self.steps.len();
        Ok(result)
    }

    /// The skip at this step, if it is one, goes to the end of what there is by now.
    fn end_skip(&mut self, at: usize) {
        let (end, last) = (self.columns.len(), self.steps.len());
        if let Some(Step::Skip { columns, to, .. }) = self.steps.get_mut(at) {
            columns.end = end;
            *to = last;
        }
    }

    fn element(&mut self, index: u64, shape: &Shape, guard: Option<usize>) -> Built<()> {
        self.step(format_args!("[{index}]"), |inside| {
            inside.shape(shape, &Hints::default(), guard).map(drop)
        })
    }

    /// Goes a step down the path, and up again if all is well.
    fn step<T>(
        &mut self,
        step: core::fmt::Arguments<'_>,
        inside: impl FnOnce(&mut Self) -> Built<T>,
    ) -> Built<T> {
        let outside = self.path.len();
        let _ = self.path.write_fmt(step);
        let result = inside(self)?;
        self.path.truncate(outside);
        Ok(result)
    }
}
