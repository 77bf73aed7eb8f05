//! What of a layout the coding needs at every object, worked out once.

use alloc::vec::Vec;

use super::tuning::Mode;
use crate::snapshot::layout::{Group, Kind, Layout};

/// A class as it is coded.
#[derive(Debug)]
pub(crate) struct ClassPlan {
    pub(super) groups: Vec<GroupPlan>,
    /// The place of its first group among those of all classes.
    pub(super) first_group: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct GroupPlan {
    /// Its place among the groups of the class.
    pub(super) index: usize,
    pub(super) first: usize,
    pub(super) len: usize,
    pub(super) kind: Kind,
    /// It can move: neither a category nor raw.
    pub(super) is_ordered: bool,
    /// The largest code is next to 0.
    pub(super) wraps: bool,
    /// It may be absent.
    pub(super) is_conditional: bool,
    /// The largest cell of each column.
    pub(super) max: [u32; 4],
    /// The bits of the widest residual.
    pub(super) top: u32,
    pub(super) velocity: Option<Velocity>,
    pub(super) default_mode: Mode,
    /// Of rotations, `2^16 / (max * max)` as a product and a shift, since a division is slow.
    pub(super) inverse: i64,
    pub(super) inverse_shift: u32,
}

/// What a position moves by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Velocity {
    group: usize,
    is_conditional: bool,
    /// Its first column.
    pub(super) first: usize,
    /// Codes of the position per code of the velocity and tick: 32.32.
    pub(super) scale: i64,
    /// What a velocity of code zero moves in a tick, but for the sign: 32.32.
    pub(super) zero_way: i64,
}

impl ClassPlan {
    /// `first_group` is how many groups the classes before have.
    pub(crate) fn new(layout: &Layout, first_group: usize) -> Self {
        let plan = |(index, group)| GroupPlan::new(layout, index, group);
        Self { groups: layout.groups.iter().enumerate().map(plan).collect(), first_group }
    }

    /// How many groups this class and those before have.
    pub(crate) fn next_group(&self) -> usize {
        self.first_group + self.groups.len()
    }
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
            // Four integers have one maximum, and the first is still an index.
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
                is_conditional: !layout.is_always_present(derivative.group),
                first: layout.groups[derivative.group].first,
                scale: derivative.scale,
                zero_way: way.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
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
            is_conditional: !layout.is_always_present(index),
            max,
            // A difference of two codes has a sign.
            top: u32::BITS - widest.leading_zeros() + 1,
            velocity,
            default_mode,
            inverse,
            inverse_shift,
        }
    }

    /// The group's part of a row of cells.
    #[inline(always)]
    pub(super) fn row<'a, const N: usize>(&self, cells: &'a [u32]) -> Option<&'a [u32; N]> {
        cells.get(self.first..)?.first_chunk()
    }

    #[inline(always)]
    pub(super) fn row_mut<'a, const N: usize>(
        &self,
        cells: &'a mut [u32],
    ) -> Option<&'a mut [u32; N]> {
        cells.get_mut(self.first..)?.first_chunk_mut()
    }

    /// Whether the group is there.
    #[inline(always)]
    pub(super) fn is_in(&self, layout: &Layout, cells: &[u32]) -> bool {
        !self.is_conditional || layout.is_present(self.index, cells)
    }
}

impl Velocity {
    /// Whether the velocity is there: the zeros of one that is not would be a speed like others.
    #[inline(always)]
    pub(super) fn is_in(&self, layout: &Layout, cells: &[u32]) -> bool {
        !self.is_conditional || layout.is_present(self.group, cells)
    }
}
