//! Indices of each group's tables in the state, and the coding of one object.

use alloc::vec::Vec;

use super::bucket::bucket;
use super::category::CategoryPlan;
use super::neighbours::{CodedObjects, ObjectMotion};
use super::number::NumberPlan;
use super::number_motion::{ColumnMotions, Columns};
use super::quaternion::Matrix;
use super::range_coder::Coder;
use super::rotation::RotationPlan;
use super::state::{ModelState, code_bit};
use super::update_list::UpdateListPlan;
use crate::layout::{Group, Kind, Layout};
use crate::trace::Mark;
use crate::update::AckedState;

/// Bytes of a class's tables from which on its groups share them with similar groups.
const OWN_TABLES: usize = 32 << 10;

/// The parts of the coder that do not change while coding.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(super) classes: Vec<ClassTables>,
    pub(super) updates: UpdateListPlan,
    /// The state before anything is learned.
    pub(crate) pristine: ModelState,
}

#[derive(Clone, Debug)]
pub(super) struct ClassTables {
    groups: Vec<GroupTables>,
    /// The numbers that wrap.
    wrapping: Vec<Columns>,
    position: Option<Position>,
    /// Objects of the class are references, with which others move.
    pub(super) is_reference: bool,
}

/// The position of an object.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// Index of its group, and of its first column.
    group: usize,
    first: usize,
    components: usize,
    space: u32,
}

#[derive(Clone, Debug)]
enum GroupTables {
    Number(NumberPlan),
    Rotation(RotationPlan),
    Category(CategoryPlan),
}

/// Ticks from the newest state until now, and the ratios of that to the intervals between the
/// baseline states, the newest interval first.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub(super) horizon: f32,
    pub(super) ratios: [f32; 2],
}

impl Pace {
    fn new(acked: &[AckedState<'_>]) -> Self {
        let horizon = acked.first().map_or(1, |newest| newest.age.min(1 << 16));
        let ratio = |states: Option<&[AckedState<'_>]>| match states {
            Some([newer, older]) => match older.age.saturating_sub(newer.age) {
                0 | 1 => horizon as f32,
                ticks => horizon as f32 / ticks as f32,
            },
            _ => 0.0,
        };
        let ratios = [ratio(acked.get(..2)), ratio(acked.get(1..3))];
        Self { horizon: horizon as f32, ratios }
    }
}

/// Context while one object is coded.
pub(super) struct ObjectContext<'a> {
    pub(super) pace: Pace,
    pub(super) motions: &'a ColumnMotions,
    pub(super) neighbour: Option<(&'a ObjectMotion, i64)>,
    pub(super) reference: Option<(&'a ObjectMotion, i64)>,
    /// Matrices of the old and the new orientation; `None` if it did not change.
    pub(super) turned: Option<(Matrix, Matrix)>,
    /// Classes of how unsteadily and how fast the position was changing; once that is coded, the
    /// orientation.
    pub(super) motion_classes: (usize, usize),
    /// The velocity of the group that is being coded is present, and was in the baseline.
    pub(super) has_derivative: bool,
    pub(super) motion: ObjectMotion,
    /// Axes of positions in the order of coding, the vertical one last.
    pub(super) axes: [usize; 3],
    /// Largest prediction error of the groups so far, 8 fraction bits.
    pub(super) prediction_error: f32,
    /// 0: nothing coded yet, 1: all groups kept their values, 2: some changed.
    pub(super) unchanged_state: usize,
}

impl<'a> ObjectContext<'a> {
    /// Creates the context of an object with this baseline position.
    fn new(
        coded_objects: &'a CodedObjects,
        motions: &'a ColumnMotions,
        pace: Pace,
        position: Option<(u32, [i64; 3])>,
        axes: [usize; 3],
    ) -> Self {
        let mut context = Self {
            pace,
            motions,
            neighbour: None,
            reference: None,
            turned: None,
            motion_classes: (0, 0),
            has_derivative: false,
            motion: ObjectMotion::NONE,
            axes,
            prediction_error: 0.0,
            unchanged_state: 0,
        };
        if let Some((space, point)) = position {
            context.neighbour = coded_objects.neighbour(space, point);
            context.reference = coded_objects.reference(space, point);
            context.motion.space = space;
            context.motion.old = point;
        }
        context
    }

    /// Codes whether a group keeps its value, by the group's own probabilities. The context is its
    /// speed, whether the groups before kept their values, and how well they were predicted.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn code_unchanged<C: Coder>(
        &mut self,
        coder: &mut C,
        chances: &mut [u32],
        speed_class: usize,
        is_unchanged: bool,
    ) -> bool {
        let slot = (speed_class / 2 * 3 + self.unchanged_state) * 4
            + bucket(self.prediction_error, 7).saturating_sub(1) / 2;
        let is_unchanged = code_bit(coder, &mut chances[slot], 127, is_unchanged);
        self.unchanged_state = if is_unchanged { self.unchanged_state.max(1) } else { 2 };
        is_unchanged
    }

    /// Returns the class of the neighbour's prediction error of rotation (0) or position (1); 7
    /// without a neighbour.
    pub(super) fn neighbour_error_class(&self, which: usize) -> usize {
        let class = |error| bucket(error, 11).saturating_sub(2) / 2;
        self.neighbour.map_or(7, |(other, _)| class(other.errors[which]))
    }
}

impl GroupTables {
    /// Creates a plan with the tables of a group of `like`, if a similar one is there.
    fn new<'g>(
        state: &mut ModelState,
        layout: &Layout,
        group: &Group,
        mut like: impl Iterator<Item = &'g Self>,
    ) -> Self {
        match group.kind {
            Kind::Number { wraps, .. } => {
                let like = like.find_map(|other| match other {
                    Self::Number(number) if number.is_like(group) => Some(number),
                    _ => None,
                });
                Self::Number(NumberPlan::new(state, layout, group, wraps, like))
            }
            Kind::Rotation { max } => {
                let like = like.find_map(|other| match other {
                    Self::Rotation(rotation) => Some(rotation),
                    _ => None,
                });
                Self::Rotation(RotationPlan::new(state, group.first, max, like))
            }
            Kind::Category | Kind::Raw => {
                let max = layout.columns[group.first].max;
                let like = like.find_map(|other| match other {
                    Self::Category(category) if category.is_like(max) => Some(category),
                    _ => None,
                });
                Self::Category(CategoryPlan::new(state, group.first, max, like))
            }
        }
    }
}

impl Plan {
    pub(crate) fn new<'l>(layouts: impl Iterator<Item = &'l Layout>) -> Self {
        let mut state = ModelState::default();
        let mut spaces = Vec::new();
        let classes: Vec<_> =
            layouts.map(|layout| ClassTables::new(&mut state, &mut spaces, layout)).collect();
        let updates = UpdateListPlan::new(&mut state, classes.len());
        Self { classes, updates, pristine: state }
    }
}

impl ClassTables {
    fn new(state: &mut ModelState, spaces: &mut Vec<u64>, layout: &Layout) -> Self {
        let mut groups: Vec<GroupTables> = Vec::new();
        let before = state.size();
        for group in &layout.groups {
            // A list has many similar groups, and the state is copied for each packet.
            let shares = group.kind == Kind::Raw || state.size() - before > OWN_TABLES;
            let like = groups.iter().rev().filter(|_| shares);
            groups.push(GroupTables::new(state, layout, group, like));
        }
        let position = layout.groups.iter().position(|group| group.spatial).map(|place| {
            let Group { first, space, kind, .. } = layout.groups[place];
            let space = spaces.iter().position(|other| *other == space).unwrap_or_else(|| {
                spaces.push(space);
                spaces.len() - 1
            });
            Position { group: place, first, components: kind.width().min(3), space: space as u32 }
        });
        let is_reference = layout.groups.iter().any(|group| group.reference);
        let wrapping = groups.iter().filter_map(|group| match group {
            GroupTables::Number(number) if number.columns.wraps => Some(number.columns),
            _ => None,
        });
        Self { wrapping: wrapping.collect(), groups, position, is_reference }
    }

    /// Returns the position of an object, and its space.
    pub(super) fn place(&self, cells: &[u32]) -> Option<(u32, [i64; 3])> {
        let Position { first, components, space, .. } = self.position?;
        let mut place = [0; 3];
        let cells = cells.get(first..first + components)?;
        place.iter_mut().zip(cells).for_each(|(axis, cell)| *axis = i64::from(*cell));
        Some((space, place))
    }

    /// Codes the cells of an object with the baseline states `acked`. The cells to decode are zeros.
    pub(super) fn code_object<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        layout: &Layout,
        (coded_objects, motions): (&mut CodedObjects, &mut ColumnMotions),
        cells: &mut [u32],
        acked: &[AckedState<'_>],
    ) {
        let pace = Pace::new(acked);
        motions.set(acked, &self.wrapping, &pace);
        if C::DECODES
            && let Some(newest) = acked.first()
        {
            // Groups that keep their values are then complete.
            cells.copy_from_slice(newest.cells);
        }
        let mut context = ObjectContext::new(
            coded_objects,
            motions,
            pace,
            acked.first().and_then(|newest| self.place(newest.cells)),
            state.vertical.axes(),
        );
        if let Some(position) = self.position
            && let Some(GroupTables::Number(number)) = self.groups.get(position.group)
        {
            context.motion_classes = number.columns.motion_classes(acked);
        }
        for (place, group) in self.groups.iter().enumerate() {
            if !layout.is_present(place, cells) {
                if C::DECODES {
                    cells[layout.groups[place].columns()].fill(0);
                }
                continue;
            }
            coder.mark(Mark::Group(layout, place));
            match group {
                GroupTables::Number(number) => {
                    context.has_derivative =
                        layout.groups[place].derivative.is_some_and(|derivative| {
                            layout.is_present(derivative.group, cells)
                                && acked.first().is_none_or(|newest| {
                                    layout.is_present(derivative.group, newest.cells)
                                })
                        });
                    number.code(coder, state, cells, acked, &mut context);
                }
                GroupTables::Rotation(rotation) => {
                    rotation.code(coder, state, cells, acked, &mut context);
                }
                GroupTables::Category(category) => {
                    category.code(coder, state, cells, acked, &mut context);
                }
            }
        }
        let motion = context.motion;
        if self.position.is_some() && !acked.is_empty() {
            coded_objects.push(&motion, self.is_reference);
        }
    }
}
