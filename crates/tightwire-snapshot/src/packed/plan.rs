//! The parts of a layout that coding needs for every object, computed once.

use alloc::vec;
use alloc::vec::Vec;

use super::tuning::Mode;
use crate::layout::{Group, Kind, Layout};

/// A class, as the coder sees it.
#[derive(Debug)]
pub(crate) struct ClassPlan {
    pub(super) chunks: Vec<Chunk>,
    /// Number of chunks and groups of this class and those before.
    chunks_so_far: usize,
    groups_so_far: usize,
}

/// Number of groups of a chunk: each is a bit of a word.
const CHUNK: usize = 32;

/// Groups that share a word of flags.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) groups: Vec<GroupPlan>,
    /// Index of the chunk, and of its first group, over all classes.
    pub(super) place: usize,
    pub(super) first_group: usize,
    pub(super) all: u32,
    /// Groups that can move.
    pub(super) ordered: u32,
    pub(super) numbers: u32,
    pub(super) conditional: u32,
    /// Conditional groups that are guarded by bits of masks.
    masks: Vec<Mask>,
    /// Conditional groups with other guards.
    guarded: u32,
    /// First column, and for each column from there on the bit of its group; 0 if it has none.
    first_column: usize,
    owners: Vec<u32>,
}

/// The groups that bits of a column guard.
#[derive(Debug)]
struct Mask {
    column: usize,
    /// For each bit, the set of groups that are present if it is set.
    groups: [u32; 32],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct GroupPlan {
    /// Index among the groups of the class.
    pub(super) index: usize,
    pub(super) first: usize,
    pub(super) len: usize,
    pub(super) kind: Kind,
    /// The group can move: it is neither a category nor raw.
    pub(super) is_ordered: bool,
    /// The largest code is next to 0.
    pub(super) wraps: bool,
    presence: Presence,
    /// Largest cell of each column.
    pub(super) max: [u32; 4],
    /// Bits of the widest residual.
    pub(super) top: u32,
    pub(super) velocity: Option<Velocity>,
    pub(super) default_mode: Mode,
    /// `2^16 / (max * max)` of a rotation, as a product and a shift, since a division is slow.
    pub(super) inverse: i64,
    pub(super) inverse_shift: u32,
}

/// Presence of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Presence {
    Always,
    /// Present if the column has one of these bits: mostly so, and asked for each update.
    Bits {
        column: usize,
        mask: u32,
    },
    /// Present by other guards.
    Guarded,
}

impl Presence {
    fn new(layout: &Layout, group: usize) -> Self {
        match layout.guarding_bits(group) {
            Some((column, mask)) => Self::Bits { column, mask },
            None if layout.is_always_present(group) => Self::Always,
            None => Self::Guarded,
        }
    }

    /// Whether the group with this presence and index is present.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn holds(self, layout: &Layout, group: usize, cells: &[u32]) -> bool {
        match self {
            Self::Always => true,
            Self::Bits { column, mask } => cells.get(column).is_some_and(|cell| cell & mask != 0),
            Self::Guarded => layout.is_present(group, cells),
        }
    }
}

/// The velocity of a position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Velocity {
    group: usize,
    presence: Presence,
    /// First column of the group.
    pub(super) first: usize,
    /// Codes of the position per code of the velocity and tick: 32.32.
    pub(super) scale: i64,
    /// Distance that a velocity of code zero moves in a tick, without the sign: 32.32.
    pub(super) zero_code_offset: i64,
}

impl ClassPlan {
    /// Creates the plan of a class that follows the class `before`.
    pub(crate) fn new(layout: &Layout, before: Option<&Self>) -> Self {
        let plan = |(index, group)| GroupPlan::new(layout, index, group);
        let groups: Vec<_> = layout.groups.iter().enumerate().map(plan).collect();
        let (mut place, mut first) =
            before.map_or((0, 0), |before| (before.chunks_so_far, before.groups_so_far));
        let chunk = |groups: &[GroupPlan]| {
            let chunk = Chunk::new(groups, place, first);
            (place, first) = (place + 1, first + groups.len());
            chunk
        };
        let chunks = groups.chunks(CHUNK).map(chunk).collect();
        Self { chunks, chunks_so_far: place, groups_so_far: first }
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = &GroupPlan> {
        self.chunks.iter().flat_map(|chunk| &chunk.groups)
    }
}

impl Chunk {
    fn new(groups: &[GroupPlan], place: usize, first_group: usize) -> Self {
        let set = |is_in: fn(&GroupPlan) -> bool| {
            (0..).zip(groups).fold(0, |set, (place, group)| set | u32::from(is_in(group)) << place)
        };
        let first_column = groups.iter().map(|group| group.first).min().unwrap_or(0);
        let end = groups.iter().map(|group| group.first + group.len).max().unwrap_or(0);
        let mut owners = vec![0; end - first_column];
        for (place, group) in groups.iter().enumerate() {
            owners[group.first - first_column..][..group.len].fill(1 << place);
        }
        let conditional = set(|group| group.presence != Presence::Always);
        let (mut masks, mut guarded) = (Vec::<Mask>::new(), conditional);
        for place in places(conditional) {
            let Presence::Bits { column, mask: bits } = groups[place].presence else { continue };
            guarded ^= 1 << place;
            let known = masks.iter().position(|mask| mask.column == column);
            let known = known.unwrap_or_else(|| {
                masks.push(Mask { column, groups: [0; 32] });
                masks.len() - 1
            });
            places(bits).for_each(|bit| masks[known].groups[bit] |= 1 << place);
        }
        Self {
            groups: groups.to_vec(),
            place,
            first_group,
            all: set(|_| true),
            ordered: set(|group| group.is_ordered),
            numbers: set(|group| matches!(group.kind, Kind::Number { .. })),
            conditional,
            masks,
            guarded,
            first_column,
            owners,
        }
    }

    /// Returns the sets of groups in which a row of cells differs from each of two others.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn differing(&self, row: &[u32], others: [&[u32]; 2]) -> [u32; 2] {
        let [one, other] = others;
        let [row, one, other] =
            [row, one, other].map(|row| row.get(self.first_column..).unwrap_or_default());
        let mut differing = [0; 2];
        // Written so that the compiler vectorises it.
        for (((owner, cell), one), other) in self.owners.iter().zip(row).zip(one).zip(other) {
            differing[0] |= owner & u32::from(cell != one).wrapping_neg();
            differing[1] |= owner & u32::from(cell != other).wrapping_neg();
        }
        differing
    }

    /// Returns the set of groups that are present.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn present(&self, layout: &Layout, cells: &[u32]) -> u32 {
        let mut present = self.all & !self.conditional;
        for mask in &self.masks {
            let bits = cells.get(mask.column).copied().unwrap_or(0);
            places(bits).for_each(|bit| present |= mask.groups[bit % 32]);
        }
        for place in places(self.guarded) {
            if self.groups.get(place).is_some_and(|group| group.is_in(layout, cells)) {
                present |= 1 << place;
            }
        }
        present
    }
}

/// Iterates over the indices of the bits of a set.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn places(mut set: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        if set == 0 {
            return None;
        }
        let place = set.trailing_zeros() as usize;
        set &= set - 1;
        Some(place)
    })
}

impl GroupPlan {
    fn new(layout: &Layout, index: usize, group: &Group) -> Self {
        let mut max = [0; 4];
        for (max, column) in max.iter_mut().zip(&layout.columns[group.columns()]) {
            *max = column.max;
        }
        let widest = max.iter().fold(0, |widest, max| widest | max);
        let (mut inverse, mut inverse_shift) = (0, 0);
        if let Kind::Rotation { max: largest } = group.kind {
            // All four columns have the same maximum in the layout; the first is an index below 4.
            max[0] = 3;
            // At most 20 bits, so that products of two components fit the arithmetic.
            let bits = u32::BITS - largest.leading_zeros();
            inverse = (1 << (2 * bits + 20)) / i64::from(largest.max(1)).pow(2);
            inverse_shift = 2 * bits + 4;
        }
        let velocity = group.derivative.map(|derivative| {
            let way = (i128::from(derivative.zero) * i128::from(derivative.scale)) >> 32;
            Velocity {
                group: derivative.group,
                presence: Presence::new(layout, derivative.group),
                first: layout.groups[derivative.group].first,
                scale: derivative.scale,
                zero_code_offset: way.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
            }
        });
        let default_mode = match group.kind {
            Kind::Number { components: 1, wraps: false } if velocity.is_none() => Mode::Sparse,
            _ => Mode::Linear,
        };
        Self {
            index,
            first: group.first,
            len: group.kind.width(),
            kind: group.kind,
            is_ordered: matches!(group.kind, Kind::Number { .. } | Kind::Rotation { .. }),
            wraps: matches!(group.kind, Kind::Number { wraps: true, .. }),
            presence: Presence::new(layout, index),
            max,
            // A difference of two codes has a sign.
            top: u32::BITS - widest.leading_zeros() + 1,
            velocity,
            default_mode,
            inverse,
            inverse_shift,
        }
    }

    /// Returns the group's part of a row of cells.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn row<'a, const N: usize>(&self, cells: &'a [u32]) -> Option<&'a [u32; N]> {
        cells.get(self.first..)?.first_chunk()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn row_mut<'a, const N: usize>(
        &self,
        cells: &'a mut [u32],
    ) -> Option<&'a mut [u32; N]> {
        cells.get_mut(self.first..)?.first_chunk_mut()
    }

    /// Whether the group is present.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_in(&self, layout: &Layout, cells: &[u32]) -> bool {
        self.presence.holds(layout, self.index, cells)
    }
}

impl Velocity {
    /// Whether the velocity is present: the zeros of an absent one would be a speed like any other.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_in(&self, layout: &Layout, cells: &[u32]) -> bool {
        self.presence.holds(layout, self.group, cells)
    }
}
