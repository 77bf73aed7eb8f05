//! The choices that a packet declares about modes and widths, and how the writer makes them.
//!
//! A receiver does not learn: a packet names every choice that differs from the default of the
//! schema. The writer makes the choices by the statistics of the baseline packet and the packets
//! before, since one packet is much like the next. That costs no second pass, and a writer without
//! statistics only writes somewhat larger packets.

use alloc::vec::Vec;

use super::plan::{Chunk, GroupPlan};
use super::residual::expected_width;
use super::update_list::count;
use crate::layout::Kind;
use crate::protocol::ClassLayout;
use tightwire_core::stream::{ErrorKind, Stream};

/// Prediction of a group in motion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// The motion goes on.
    Linear,
    /// The motion goes on half as far; with a velocity, by the mean of the velocities.
    Damped,
    /// The group stays where it was.
    Stay,
    /// The group stays, and a flag says whether it did.
    Sparse,
}

const MODES: [Mode; 4] = [Mode::Linear, Mode::Damped, Mode::Stay, Mode::Sparse];

/// The choices for one group, and the writer's statistics of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupTuning {
    pub(super) mode: Mode,
    default_mode: Mode,
    /// Added to the width that is expected by the motion: `-4..=3`.
    offset: i32,
    /// Expected width for a group that was at rest: `1..=8`.
    sparse_width: u32,
    statistics: Statistics,
    /// Objects until the next one whose predictions are compared.
    due: u32,
}

#[derive(Clone, Copy, Default, Debug)]
struct Statistics {
    dense: i32,
    dense_offset: i32,
    sparse: u32,
    sparse_width: u32,
    moved: u32,
    stayed: u32,
    bits: [u32; 3],
}

/// The choices for all groups of all classes; empty before the first packet, and on the reading
/// side.
#[derive(Debug, Default)]
pub(crate) struct Tuning {
    groups: Vec<GroupTuning>,
    /// Set of sparse groups, for each chunk of each class.
    sparse: Vec<u32>,
}

/// Smallest number of samples to choose by.
const ENOUGH: u32 = 6;

/// One in so many objects has its predictions compared.
const EVERY: u32 = 16;

/// Bits that a choice has to save to be named, over the packets in the statistics, which are about
/// four.
const WORTH: u32 = 40;

/// Default of the expected width for a group that was at rest.
const SPARSE_WIDTH: u32 = 4;

impl GroupTuning {
    fn new(plan: &GroupPlan) -> Self {
        Self {
            mode: plan.default_mode,
            default_mode: plan.default_mode,
            offset: 0,
            sparse_width: SPARSE_WIDTH,
            statistics: Statistics::default(),
            due: 0,
        }
    }

    /// Returns the expected width of a residual, and the one before the offset.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn expect(&self, motion: u64, sparse: bool, top: u32) -> (u32, u32) {
        let usual = expected_width(motion);
        let moved = (usual.cast_signed() + self.offset).max(0).cast_unsigned();
        let width = if sparse { self.sparse_width } else { moved };
        (width.min(top), usual)
    }

    /// Records the width of a residual.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note(&mut self, width: u32, usual: u32, sparse: bool) {
        let statistics = &mut self.statistics;
        if sparse {
            statistics.sparse += 1;
            statistics.sparse_width += width;
        } else {
            statistics.dense += 1;
            statistics.dense_offset += width.cast_signed() - usual.cast_signed();
        }
    }

    /// Whether the predictions of this object are to be compared: a sample is enough to choose by.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.due == 0;
        self.due = if is_due { EVERY - 1 } else { self.due - 1 };
        is_due
    }

    /// Records the residuals that staying, half the motion and the full motion would have left, in
    /// a group that moved.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn compare(&mut self, left: [u64; 3], components: u32) {
        let statistics = &mut self.statistics;
        statistics.moved += 1;
        statistics.stayed += u32::from(left[0] == 0);
        for (bits, left) in statistics.bits.iter_mut().zip(left) {
            *bits += components * (u64::BITS - left.leading_zeros());
        }
    }

    fn choose(&mut self, plan: &GroupPlan) {
        let statistics = &mut self.statistics;
        if statistics.moved >= ENOUGH {
            let [stay, damped, linear] = statistics.bits;
            self.mode = if statistics.stayed * 2 > statistics.moved
                && matches!(plan.kind, Kind::Number { .. })
            {
                Mode::Sparse
            } else if linear <= stay.min(damped) {
                Mode::Linear
            } else if damped <= stay {
                Mode::Damped
            } else {
                Mode::Stay
            };
        }
        // A width that is off by one costs a bit or two, so the sum estimates the savings of a
        // change.
        self.offset = 0;
        if statistics.dense_offset.unsigned_abs() >= WORTH {
            let twice = 2 * statistics.dense_offset;
            self.offset = (twice + statistics.dense).div_euclid(2 * statistics.dense).clamp(-4, 3);
        }
        self.sparse_width = SPARSE_WIDTH;
        if statistics.sparse_width.abs_diff(SPARSE_WIDTH * statistics.sparse) >= WORTH {
            self.sparse_width = ((2 * statistics.sparse_width + statistics.sparse)
                / (2 * statistics.sparse))
                .clamp(1, 8);
        }
        // Older samples fade.
        let Statistics { dense, dense_offset, sparse, sparse_width, moved, stayed, bits } =
            statistics;
        *dense -= *dense / 4;
        *dense_offset -= *dense_offset / 4;
        for sum in [sparse, sparse_width, moved, stayed].into_iter().chain(bits) {
            *sum -= *sum / 4;
        }
    }

    /// Whether the choices differ from the schema's.
    fn is_named(&self) -> bool {
        self.mode != self.default_mode || self.offset != 0 || self.sparse_width != SPARSE_WIDTH
    }

    fn choices(&self) -> u64 {
        let mode = MODES.iter().position(|mode| *mode == self.mode).unwrap_or(0) as u64;
        mode | ((self.offset + 4) as u64) << 2 | u64::from(self.sparse_width - 1) << 5
    }

    fn set_choices(&mut self, choices: u64) {
        self.mode = MODES[choices as usize & 3];
        self.offset = (choices >> 2 & 7) as i32 - 4;
        self.sparse_width = (choices >> 5 & 7) as u32 + 1;
    }
}

impl Tuning {
    /// Returns the choices for the groups of a chunk, and the set of its sparse groups.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of_chunk(&mut self, chunk: &Chunk) -> (&mut [GroupTuning], u32) {
        let groups = self.groups.get_mut(chunk.first_group..).unwrap_or_default();
        (groups, self.sparse.get(chunk.place).copied().unwrap_or_default())
    }

    /// Codes the number of groups whose choices differ from the schema's; and for each, the gap to
    /// the one before, and its choices.
    pub(super) fn code_choices<S: Stream>(
        &mut self,
        stream: &mut S,
        classes: &[ClassLayout],
    ) -> Result<(), S::Error> {
        let start = stream.position();
        if S::READING {
            self.groups.clear();
        }
        if self.groups.is_empty() {
            let plans = classes.iter().flat_map(|class| class.plan.groups());
            self.groups.extend(plans.map(GroupTuning::new));
        }
        let mut named = 0;
        if S::WRITING {
            named = self.groups.iter().filter(|group| group.is_named()).count() as u32;
        }
        count(stream, &mut named, COUNT_BITS)?;
        let mut next = 0;
        for _ in 0..named {
            let mut between = 0;
            if S::WRITING {
                let mut rest = self.groups.iter().skip(next);
                between = rest.position(GroupTuning::is_named).unwrap_or(0) as u32;
            }
            count(stream, &mut between, COUNT_BITS)?;
            let place = next.saturating_add(between as usize);
            let Some(group) = self.groups.get_mut(place) else {
                return stream.refuse_at(ErrorKind::OutOfRange, start);
            };
            let mut choices = group.choices();
            stream.raw_bits(&mut choices, CHOICE_BITS)?;
            if S::READING {
                group.set_choices(choices);
            }
            next = place + 1;
        }
        self.sparse.clear();
        for chunk in classes.iter().flat_map(|class| &class.plan.chunks) {
            let groups =
                (0..).zip(self.groups[chunk.first_group..].iter().take(chunk.groups.len()));
            let bit = |(place, group): (u32, &GroupTuning)| {
                u32::from(group.mode == Mode::Sparse) << place
            };
            self.sparse.push(groups.map(bit).sum());
        }
        Ok(())
    }

    /// Makes the choices for the next packet, after a packet was written.
    pub(super) fn choose(&mut self, classes: &[ClassLayout]) {
        let plans = classes.iter().flat_map(|class| class.plan.groups());
        for (group, plan) in self.groups.iter_mut().zip(plans) {
            group.choose(plan);
        }
    }
}

impl Clone for Tuning {
    fn clone(&self) -> Self {
        Self { groups: self.groups.clone(), sparse: Vec::new() }
    }

    fn clone_from(&mut self, source: &Self) {
        // Reuses the memory: every packet copies the tuning of its baseline packet.
        self.groups.clone_from(&source.groups);
        self.sparse.reserve(source.sparse.len().saturating_sub(self.sparse.len()));
    }
}

/// Bits of the two counts without unary zeros.
const COUNT_BITS: u32 = 1;

/// Bits of a mode, an offset and a sparse width.
const CHOICE_BITS: u32 = 8;
