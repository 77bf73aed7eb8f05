//! From a schema to columns: every value of the schema gets its columns.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use core::ops::Range;

use super::cells::{Program, Step};
use super::condition::{Guard, Test, test};
use super::fields::Fields;
use super::order::{self, Draft};
use super::scale::{Unit, derivative, space};
use super::size::check_size;
use super::{Audience, Column, Derivative, Kind, Layout, LayoutError};
use tightwire_core::schema::{Schema, has_value, newtype, ordered, rotation_code};
use tightwire_core::stream::{Field, Hints, Name, Shape};

/// Limit of shapes that are visited: a schema can have many that have no columns.
const MAX_WORK: usize = 1 << 16;

/// Largest number of components of a group.
pub(super) const MAX_COMPONENTS: usize = 4;

pub(super) fn layout(schema: &Schema, ticks_per_second: u32) -> Result<Layout, LayoutError> {
    let refused = |reason: String| LayoutError { path: schema.name().into(), reason };
    if ticks_per_second == 0 {
        return Err(refused("`ticks_per_second` must be at least 1".to_string()));
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
    let root = match builder.shape(schema.root(), &Hints::default(), None) {
        Ok(root) => root,
        Err(reason) => return Err(LayoutError { path: builder.path, reason }),
    };
    let outermost = root.fields.iter().map(|(field, at)| (field.name.clone(), at.columns.clone()));
    let Builder { columns, drafts, guards, mut fields, steps, .. } = builder;
    let (groups, (presence, of_groups)) = order::ordered(drafts, &guards, columns.len());
    fields.set_groups(of_groups);
    fields.set_outermost(outermost.collect());
    let program = Program::new(&columns, steps);
    let layout = Layout { columns, groups, presence, guards, fields, program };
    match layout.betrayed() {
        Some(path) => Err(LayoutError {
            path,
            reason:
                "the field's presence depends on an `owner` or `others` field, which would leak \
                     it: give both the same attribute"
                    .to_string(),
        }),
        None => Ok(layout),
    }
}

/// The columns and groups of a value.
pub(super) struct Place<'s> {
    pub(super) shape: &'s Shape,
    /// First column of the value.
    pub(super) column: usize,
    /// All its columns, which are adjacent: those of absent parts are 0.
    pub(super) columns: Range<usize>,
    /// The fields of a struct.
    pub(super) fields: Vec<(&'s Field, Place<'s>)>,
    /// Groups of the value, in the order of the columns.
    groups: Range<usize>,
}

pub(super) struct Builder {
    pub(super) columns: Vec<Column>,
    pub(super) drafts: Vec<Draft>,
    guards: Vec<Guard>,
    pub(super) steps: Vec<Step>,
    /// First step that may be merged with later ones: no skip jumps between them.
    pub(super) seam: usize,
    pub(super) fields: Fields,
    /// Length of the name that every path begins with.
    pub(super) root: usize,
    /// Path of the value that is visited; after a refusal, of the value that was refused.
    pub(super) path: String,
    work: usize,
    ticks_per_second: f64,
}

pub(super) type Built<T> = Result<T, String>;

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
                self.mark_continuous(shape, group);
            }
            Shape::Struct { fields, .. } => {
                // Hints of a field whose type is a newtype apply to the wrapped value.
                let hints = newtype(shape).map(|_| hints);
                inside = self.fields(fields, hints, guard)?;
            }
            Shape::Enum { variants, .. } => {
                self.category((variants.len() as u128).saturating_sub(1), guard)?;
                for (value, variant) in (0..).zip(variants) {
                    self.step(format_args!(".{}", variant.name), |inside| {
                        inside.guarded(Test::Is { column, value }, guard, |inside, guard| {
                            inside.fields(&variant.fields, None, guard).map(drop)
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
                // The first component is an index.
                self.steps.push(Step::Wide { column, parts: 1, span: 3 });
            }
            Shape::Array { len, element } => match (ordered(element), usize::try_from(*len)) {
                (Some(max), Ok(components @ 2..=MAX_COMPONENTS)) => {
                    self.number(max, components, hints, guard);
                    self.mark_continuous(element, group);
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
                // Elements behind the first absent one are absent.
                for at in skips {
                    self.end_skip(at);
                }
            }
            Shape::Opaque { name, .. } => {
                return Err(format!(
                    "`{name}` is serialized by hand, which no schema describes: derive `Wire` for it"
                ));
            }
            _ => return Err("this shape cannot be replicated".into()),
        }
        let (columns, groups) = (column..self.columns.len(), group..self.drafts.len());
        Ok(Place { shape, column, columns, fields: inside, groups })
    }

    fn fields<'s>(
        &mut self,
        fields: &'s [Field],
        outer: Option<&Hints>,
        guard: Option<usize>,
    ) -> Built<Vec<(&'s Field, Place<'s>)>> {
        let mut places: Vec<(&Field, Place<'_>)> = Vec::new();
        for field in fields {
            let mut hints = field.hints.clone();
            if let Some(outer) = outer {
                hints.wraps |= outer.wraps;
                hints.spatial |= outer.spatial;
                hints.reference |= outer.reference;
                hints.rotation |= outer.rotation;
            }
            let place = self.step(format_args!(".{}", field.name), |inside| {
                let Some(when) = &field.when else {
                    return inside.shape(&field.shape, &hints, guard);
                };
                inside.guarded(test(when, &places)?, guard, |inside, guard| {
                    inside.shape(&field.shape, &hints, guard)
                })
            })?;
            if field.hints.owner || field.hints.others {
                let audience = if field.hints.owner { Audience::Owner } else { Audience::Others };
                self.drafts[place.groups.clone()]
                    .iter_mut()
                    .for_each(|draft| draft.group.audience = audience);
            }
            if let Some(unit) = Unit::of(&field.shape) {
                self.drafts[place.groups.clone()]
                    .iter_mut()
                    .for_each(|draft| draft.group.unit = unit);
            }
            if hints.spatial {
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
                    inside.link_velocity(place, of, &places)
                })?;
            }
        }
        Ok(places)
    }

    /// Links the groups of a velocity to those of its position.
    fn link_velocity(
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
            return Err(format!(
                "it is the derivative of `{of}`, but has another number of components"
            ));
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

    pub(super) fn guard(&mut self, test: Test, outer: Option<usize>) -> usize {
        self.guards.push(Guard { test, outer });
        self.guards.len() - 1
    }

    /// Builds a part that is present only if the test holds.
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

    /// Ends the skip at step `at`, if it is one: it jumps to the current end.
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

    /// Appends a step to the path, and removes it again if the inner shape is accepted.
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
