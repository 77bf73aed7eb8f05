//! What the pasts of an object say about its motion.

use crate::snapshot::layout::Layout;
use crate::snapshot::mention::Past;

/// The newest past, and the one that tells the motion until now best.
#[derive(Clone, Copy, Debug)]
pub(super) struct Motion<'a> {
    pub(super) layout: &'a Layout,
    pub(super) now: &'a [u32],
    pub(super) age: u32,
    pub(super) before: Option<&'a [u32]>,
    /// How much longer the way to now is than the way from `before` to the newest past, in 1/65536.
    pub(super) ratio: u32,
}

const ONE: u32 = 1 << 16;

/// Further than this, a motion that was seen for a moment says nothing.
const MAX_RATIO: u32 = 8;

impl<'a> Motion<'a> {
    /// The past whose distance to the newest is closest to the newest's age: a shorter one makes
    /// more of its rounding, a longer one knows less of the present.
    #[inline(always)]
    pub(super) fn new(layout: &'a Layout, pasts: &[Past<'a>]) -> Option<Self> {
        let columns = layout.columns.len();
        let (newest, older) = pasts.split_first()?;
        if newest.cells.len() != columns {
            return None;
        }
        let mut motion =
            Self { layout, now: newest.cells, age: newest.age, before: None, ratio: ONE };
        let mut best = (u32::MAX, 1);
        for past in older {
            let gap = past.age.saturating_sub(newest.age);
            let off = gap.abs_diff(newest.age);
            if gap > 0 && off < best.0 && past.cells.len() == columns {
                best = (off, gap);
                motion.before = Some(past.cells);
            }
        }
        if best.0 != 0 && motion.before.is_some() {
            let ratio = (u64::from(newest.age) << 16) / u64::from(best.1);
            motion.ratio = ratio.min(u64::from(MAX_RATIO * ONE)) as u32;
        }
        Some(motion)
    }

    /// As much of `way` as the motion goes on until now, rounded.
    #[inline(always)]
    pub(super) fn extend(&self, way: i64) -> i64 {
        if self.ratio == ONE {
            return way;
        }
        (way * i64::from(self.ratio) + i64::from(ONE / 2)) >> 16
    }
}
