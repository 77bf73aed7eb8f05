//! One object, with or without a baseline.

use super::motion::{Motion, MotionSearch};
use super::number::{self, number};
use super::plan::{Chunk, GroupPlan, places};
use super::rotation::rotation;
use super::sparse;
use super::tuning::{GroupTuning, Tuning};
use crate::layout::Kind;
use crate::protocol::ClassLayout;
use crate::trace::{Mark, Marked};
use tightwire_core::stream::{ErrorKind, Stream};

/// Codes an object with a baseline: first which groups at rest changed, then the residuals of the
/// groups that moved or changed.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn code_delta<S: Stream + Marked>(
    stream: &mut S,
    class: &ClassLayout,
    tuning: &mut Tuning,
    course: &MotionSearch<'_>,
    cells: &mut [u32],
) -> Result<(), S::Error> {
    let motion = match Motion::new(&class.layout, course) {
        Some(motion) if motion.newest.len() == cells.len() => motion,
        _ => return stream.refuse_at(ErrorKind::Misuse, stream.position()),
    };
    if S::READING {
        cells.copy_from_slice(motion.newest);
    }
    match &class.plan.chunks[..] {
        // An updated object has mostly changed: with a single chunk, the change is in it, and the
        // bit for that is left out.
        [chunk] => code_chunk(stream, chunk, tuning, &motion, true, cells),
        chunks => code_chunks(stream, chunks, tuning, &motion, cells),
    }
}

/// Codes the groups of a class that has more than one chunk.
#[inline(never)]
fn code_chunks<S: Stream + Marked>(
    stream: &mut S,
    chunks: &[Chunk],
    tuning: &mut Tuning,
    motion: &Motion<'_>,
    cells: &mut [u32],
) -> Result<(), S::Error> {
    for chunk in chunks {
        code_chunk(stream, chunk, tuning, motion, false, cells)?;
    }
    Ok(())
}

/// Codes the groups of a chunk. Groups in motion are predicted to go on, unless they are sparse;
/// the others keep their values, unless a flag says that they changed.
#[cfg_attr(not(debug_assertions), inline(always))]
fn code_chunk<S: Stream + Marked>(
    stream: &mut S,
    chunk: &Chunk,
    tuning: &mut Tuning,
    motion: &Motion<'_>,
    is_whole: bool,
    cells: &mut [u32],
) -> Result<(), S::Error> {
    let (plans, (tuning, sparse)) = (&chunk.groups[..], tuning.of_chunk(chunk));
    let layout = motion.layout;
    let [mut moved, mut changed] = chunk.differing(motion.newest, [motion.before, cells]);
    moved &= chunk.ordered;
    // Conditional groups that were present.
    let mut were_present = 0;
    if chunk.conditional != 0 {
        let present = chunk.present(layout, motion.newest);
        were_present = present & chunk.conditional;
        // A group that becomes present or absent has no motion.
        moved &= present & chunk.present(layout, motion.before);
    }
    let dense = moved & !sparse;
    let at_rest = chunk.all & !dense;
    if S::WRITING {
        changed &= at_rest & chunk.present(layout, cells);
        for place in places(moved & sparse & chunk.numbers) {
            // Statistics: the group may be better off if it is not sparse.
            if let (Some(plan), Some(tuning)) = (plans.get(place), tuning.get_mut(place))
                && tuning.is_due()
            {
                number::compare(plan, tuning, motion, cells);
            }
        }
    }
    stream.mark(Mark::Flags);
    sparse::flags(stream, &mut changed, at_rest, is_whole && dense == 0)?;
    let sent = dense | changed;
    // Groups that are not sent keep their cells, unless they are no longer present. The cells of
    // those that were not present are 0 already.
    for place in places(if S::READING { sent | were_present } else { sent }) {
        let (Some(plan), Some(tuning)) = (plans.get(place), tuning.get_mut(place)) else { break };
        if !plan.is_in(layout, cells) {
            if S::READING {
                cells[plan.first..plan.first + plan.len].fill(0);
            }
        } else if sent >> place & 1 != 0 {
            stream.mark(Mark::Group(layout, plan.index));
            group(stream, plan, tuning, motion, dense >> place & 1 == 0, cells)?;
        }
    }
    Ok(())
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn group<S: Stream>(
    stream: &mut S,
    plan: &GroupPlan,
    tuning: &mut GroupTuning,
    motion: &Motion<'_>,
    sparse: bool,
    cells: &mut [u32],
) -> Result<(), S::Error> {
    match plan.kind {
        Kind::Category => category(stream, plan, motion, cells),
        Kind::Raw => whole(stream, plan, cells),
        // The group was absent, and its zeros predict nothing.
        _ if !plan.is_in(motion.layout, motion.newest) => whole(stream, plan, cells),
        Kind::Rotation { .. } => rotation(stream, plan, tuning, motion, sparse, cells),
        Kind::Number { components: 3, .. } => {
            number::<S, 3>(stream, plan, tuning, motion, sparse, cells)
        }
        Kind::Number { components: 1, .. } => {
            number::<S, 1>(stream, plan, tuning, motion, sparse, cells)
        }
        Kind::Number { components: 2, .. } => {
            number::<S, 2>(stream, plan, tuning, motion, sparse, cells)
        }
        Kind::Number { .. } => number::<S, 4>(stream, plan, tuning, motion, sparse, cells),
    }
}

/// Codes a value other than the one before: with two values there is nothing to say, and with more,
/// one less is possible.
#[inline(never)]
fn category<S: Stream>(
    stream: &mut S,
    plan: &GroupPlan,
    motion: &Motion<'_>,
    cells: &mut [u32],
) -> Result<(), S::Error> {
    let (before, cell) = (motion.newest[plan.first], &mut cells[plan.first]);
    let Some(span) = plan.max[0].checked_sub(1) else {
        return stream.refuse_at(ErrorKind::OutOfRange, stream.position());
    };
    let mut place = u64::from(cell.wrapping_sub(u32::from(*cell > before)));
    stream.raw_offset(&mut place, span.into())?;
    if S::READING {
        *cell = place as u32 + u32::from(place >= before.into());
    }
    Ok(())
}

/// Codes an object without a baseline: all cells as they are.
#[inline(never)]
pub(super) fn code_full<S: Stream + Marked>(
    stream: &mut S,
    class: &ClassLayout,
    cells: &mut [u32],
) -> Result<(), S::Error> {
    for plan in class.plan.groups() {
        if plan.is_in(&class.layout, cells) {
            stream.mark(Mark::Group(&class.layout, plan.index));
            whole(stream, plan, cells)?;
        }
    }
    Ok(())
}

/// Codes the cells of a group as they are, two at a time: a word always holds two.
#[inline(never)]
fn whole<S: Stream>(stream: &mut S, plan: &GroupPlan, cells: &mut [u32]) -> Result<(), S::Error> {
    let cells = &mut cells[plan.first..][..plan.len];
    for (cells, max) in cells.chunks_mut(2).zip(plan.max.chunks(2)) {
        let start = stream.position();
        let low_width = u32::BITS - max[0].leading_zeros();
        let high_width = if cells.len() > 1 { u32::BITS - max[1].leading_zeros() } else { 0 };
        let mut word = 0;
        if S::WRITING {
            for (cell, max) in cells.iter().zip(max) {
                if cell > max {
                    stream.refuse_at(ErrorKind::OutOfRange, start)?;
                }
            }
            let high = cells.get(1).copied().unwrap_or(0);
            word = u64::from(cells[0]) | u64::from(high) << low_width;
        }
        stream.raw_bits(&mut word, low_width + high_width)?;
        if S::READING {
            let low = word & ((1 << low_width) - 1);
            for ((cell, max), value) in cells.iter_mut().zip(max).zip([low, word >> low_width]) {
                if value > u64::from(*max) {
                    return stream.refuse_at(ErrorKind::OutOfRange, start);
                }
                *cell = value as u32;
            }
        }
    }
    Ok(())
}
