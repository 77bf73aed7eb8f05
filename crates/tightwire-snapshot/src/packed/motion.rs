//! The motion of an object, by its baseline states.

use crate::layout::Layout;
use crate::update::AckedState;

/// The newest baseline state, and the earlier one that tells the motion until now best.
#[derive(Clone, Copy, Debug)]
pub(super) struct Motion<'a> {
    pub(super) layout: &'a Layout,
    pub(super) newest: &'a [u32],
    pub(super) age: u32,
    /// The earlier state; the same as `newest` if no motion is known.
    pub(super) before: &'a [u32],
    /// Ratio of the time from the newest state until now to the time between the two states, in
    /// 1/65536.
    ratio: i64,
}

/// The choice of the two states, while baseline states are passed, newest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct MotionSearch<'a> {
    newest: AckedState<'a>,
    before: &'a [u32],
    /// Ticks between the two states, and how much that differs from the newest's age.
    gap: u32,
    off: u32,
}

const ONE: i64 = 1 << 16;

/// Limit of the ratio: beyond, a motion that was seen for a moment predicts nothing.
const MAX_RATIO: i64 = 8 * ONE;

impl<'a> MotionSearch<'a> {
    pub(super) const NONE: Self =
        Self { newest: AckedState { age: 0, cells: &[] }, before: &[], gap: 0, off: u32::MAX };

    /// Adds a state, and keeps the one whose distance to the newest is closest to the newest's age:
    /// over a shorter distance, rounding weighs more; over a longer one, the motion is out of date.
    /// Returns whether there can be a better one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn add(&mut self, acked: AckedState<'a>) -> bool {
        let age = self.newest.age;
        if age == 0 {
            *self = Self { newest: acked, before: acked.cells, gap: acked.age, off: u32::MAX };
            return true;
        }
        let gap = acked.age.saturating_sub(age);
        let off = gap.abs_diff(age);
        if gap > 0 && off < self.off {
            (self.before, self.gap, self.off) = (acked.cells, gap, off);
        }
        self.off > 0
    }
}

impl<'a> Motion<'a> {
    /// Creates the motion of an object with this layout; `None` if the states do not have it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(layout: &'a Layout, course: &MotionSearch<'a>) -> Option<Self> {
        let MotionSearch { newest: AckedState { age, cells: newest }, before, gap, .. } = *course;
        if newest.len() != layout.columns.len() || before.len() != newest.len() {
            return None;
        }
        let mut ratio = ONE;
        if gap != age {
            ratio = ((i64::from(age) << 16) / i64::from(gap.max(1))).min(MAX_RATIO);
        }
        Some(Self { layout, newest, age, before, ratio })
    }

    /// Extrapolates the difference `way` of the two states until now, rounded.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn extend(&self, way: i64) -> i64 {
        (way * self.ratio + ONE / 2) >> 16
    }
}
