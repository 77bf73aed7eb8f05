//! What the pasts of an object say about its motion.

use crate::layout::Layout;
use crate::mention::Past;

/// The newest past, and the one that tells the motion until now best.
#[derive(Clone, Copy, Debug)]
pub(super) struct Motion<'a> {
    pub(super) layout: &'a Layout,
    pub(super) now: &'a [u32],
    pub(super) age: u32,
    /// The same as now if no motion is known.
    pub(super) before: &'a [u32],
    /// How much longer the way to now is than the way from `before` to the newest past, in 1/65536.
    ratio: i64,
}

/// The same while states are told, the newest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course<'a> {
    newest: Past<'a>,
    before: &'a [u32],
    /// The distance of the two, and how far that is from the newest's age.
    gap: u32,
    off: u32,
}

const ONE: i64 = 1 << 16;

/// Further than this, a motion that was seen for a moment says nothing.
const MAX_RATIO: i64 = 8 * ONE;

impl<'a> Course<'a> {
    pub(super) const NONE: Self =
        Self { newest: Past { age: 0, cells: &[] }, before: &[], gap: 0, off: u32::MAX };

    /// Takes the past whose distance to the newest is closest to the newest's age: a shorter one makes
    /// more of its rounding, a longer one knows less of the present. Whether there can be a better one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn add(&mut self, past: Past<'a>) -> bool {
        let age = self.newest.age;
        if age == 0 {
            *self = Self { newest: past, before: past.cells, gap: past.age, off: u32::MAX };
            return true;
        }
        let gap = past.age.saturating_sub(age);
        let off = gap.abs_diff(age);
        if gap > 0 && off < self.off {
            (self.before, self.gap, self.off) = (past.cells, gap, off);
        }
        self.off > 0
    }
}

impl<'a> Motion<'a> {
    /// Of an object with this layout; none if it cannot have it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(layout: &'a Layout, course: &Course<'a>) -> Option<Self> {
        let Course { newest: Past { age, cells: now }, before, gap, .. } = *course;
        if now.len() != layout.columns.len() || before.len() != now.len() {
            return None;
        }
        let mut ratio = ONE;
        if gap != age {
            ratio = ((i64::from(age) << 16) / i64::from(gap.max(1))).min(MAX_RATIO);
        }
        Some(Self { layout, now, age, before, ratio })
    }

    /// As much of `way` as the motion goes on until now, rounded.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn extend(&self, way: i64) -> i64 {
        (way * self.ratio + ONE / 2) >> 16
    }
}
