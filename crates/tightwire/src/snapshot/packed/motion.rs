//! What the pasts of an object say about its motion.

use crate::snapshot::layout::Layout;
use crate::snapshot::mention::Past;

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

const ONE: i64 = 1 << 16;

/// Further than this, a motion that was seen for a moment says nothing.
const MAX_RATIO: i64 = 8 * ONE;

impl<'a> Motion<'a> {
    /// The past whose distance to the newest is closest to the newest's age: a shorter one makes
    /// more of its rounding, a longer one knows less of the present.
    #[inline(always)]
    pub(super) fn new(layout: &'a Layout, pasts: &[Past<'a>]) -> Option<Self> {
        let columns = layout.columns.len();
        let (&Past { age, cells: now }, older) = pasts.split_first()?;
        if now.len() != columns {
            return None;
        }
        let mut motion = Self { layout, now, age, before: now, ratio: ONE };
        let mut best = (u32::MAX, age);
        for past in older {
            let gap = past.age.saturating_sub(age);
            let off = gap.abs_diff(age);
            if gap > 0 && off < best.0 && past.cells.len() == columns {
                best = (off, gap);
                motion.before = past.cells;
            }
        }
        if best.1 != age {
            motion.ratio = ((i64::from(age) << 16) / i64::from(best.1)).min(MAX_RATIO);
        }
        Some(motion)
    }

    /// As much of `way` as the motion goes on until now, rounded.
    #[inline(always)]
    pub(super) fn extend(&self, way: i64) -> i64 {
        (way * self.ratio + ONE / 2) >> 16
    }
}
