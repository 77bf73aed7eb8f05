//! One object, with or without a past.

use super::motion::Motion;
use super::number::{self, number};
use super::plan::GroupPlan;
use super::rotation::rotation;
use super::sparse;
use super::tuning::{GroupTuning, Mode};
use crate::snapshot::layout::Kind;
use crate::snapshot::mention::Past;
use crate::snapshot::protocol::ClassLayout;
use crate::snapshot::trace::{Mark, Marked};
use crate::stream::{ErrorKind, Stream};

/// So many groups share their flags.
const CHUNK: usize = 32;

/// An object that both sides know: first which groups at rest changed, then what the groups that
/// moved or changed are now.
#[inline(always)]
pub(super) fn update<S: Stream + Marked>(
    stream: &mut S,
    class: &ClassLayout,
    tuning: &mut [GroupTuning],
    pasts: &[Past<'_>],
    cells: &mut [u32],
) -> Result<(), S::Error> {
    let motion = match Motion::new(&class.layout, pasts) {
        Some(motion) if motion.now.len() == cells.len() => motion,
        _ => return stream.refuse_at(ErrorKind::Misuse, stream.position()),
    };
    if S::READING {
        cells.copy_from_slice(motion.now);
    }
    let plans = &class.plan.groups[..];
    if plans.len() <= CHUNK {
        // What is mentioned has mostly changed: nothing else can have, and flags need not say so.
        return chunk(stream, plans, tuning, &motion, true, cells);
    }
    for (plans, tuning) in plans.chunks(CHUNK).zip(tuning.chunks_mut(CHUNK)) {
        chunk(stream, plans, tuning, &motion, false, cells)?;
    }
    Ok(())
}

/// At most 32 groups, each a bit of a word.
#[inline(always)]
fn chunk<S: Stream + Marked>(
    stream: &mut S,
    plans: &[GroupPlan],
    tuning: &mut [GroupTuning],
    motion: &Motion<'_>,
    is_whole: bool,
    cells: &mut [u32],
) -> Result<(), S::Error> {
    let layout = motion.layout;
    let (mut dense, mut at_rest, mut changed, mut absent) = (0u32, 0u32, 0u32, 0u32);
    for (index, (plan, tuning)) in plans.iter().zip(&mut *tuning).enumerate() {
        let bit = 1 << index;
        if plan.is_conditional {
            absent |= bit;
        }
        if plan.is_ordered
            && !is_same(plan, motion.now, motion.before)
            // From or to nothing is no motion.
            && plan.is_in(layout, motion.now)
            && plan.is_in(layout, motion.before)
        {
            if tuning.mode != Mode::Sparse {
                dense |= bit;
                continue;
            }
            if S::WRITING && matches!(plan.kind, Kind::Number { .. }) && tuning.is_due() {
                // Whether it had better not be sparse.
                number::compare(plan, tuning, motion, cells);
            }
        }
        at_rest |= bit;
        if S::WRITING && !is_same(plan, motion.now, cells) && plan.is_in(layout, cells) {
            changed |= bit;
        }
    }
    stream.mark(Mark::Flags);
    sparse::flags(stream, &mut changed, at_rest, is_whole && dense == 0)?;
    let sent = dense | changed;
    // Where nothing is sent the cells are as before, unless the group is no longer there.
    let mut left = if S::READING { sent | absent } else { sent };
    while left != 0 {
        let index = left.trailing_zeros() as usize;
        let bit = left & left.wrapping_neg();
        left ^= bit;
        let (Some(plan), Some(tuning)) = (plans.get(index), tuning.get_mut(index)) else { break };
        if !plan.is_in(layout, cells) {
            if S::READING {
                cells[plan.first..plan.first + plan.len].fill(0);
            }
        } else if sent & bit != 0 {
            stream.mark(Mark::Group(layout, plan.index));
            group(stream, plan, tuning, motion, dense & bit == 0, cells)?;
        }
    }
    Ok(())
}

#[inline(always)]
fn is_same(plan: &GroupPlan, one: &[u32], other: &[u32]) -> bool {
    // By the length, since a loop of unknown length costs more than so few words.
    let (Some(one), Some(other)) = (one.get(plan.first..), other.get(plan.first..)) else {
        return false;
    };
    match plan.len {
        1 => one.first() == other.first(),
        3 => one.first_chunk::<3>() == other.first_chunk::<3>(),
        4 => one.first_chunk::<4>() == other.first_chunk::<4>(),
        _ => one.first_chunk::<2>() == other.first_chunk::<2>(),
    }
}

#[inline(always)]
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
        // It was not there, and zeros predict nothing.
        _ if !plan.is_in(motion.layout, motion.now) => whole(stream, plan, cells),
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

/// Another value than before: of two there is nothing to say, and of more one less is possible.
#[inline(always)]
fn category<S: Stream>(
    stream: &mut S,
    plan: &GroupPlan,
    motion: &Motion<'_>,
    cells: &mut [u32],
) -> Result<(), S::Error> {
    let (before, cell) = (motion.now[plan.first], &mut cells[plan.first]);
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

/// An object of which nothing is known that would help: all cells as they are.
#[inline(always)]
pub(super) fn fresh<S: Stream + Marked>(
    stream: &mut S,
    class: &ClassLayout,
    cells: &mut [u32],
) -> Result<(), S::Error> {
    for plan in &class.plan.groups {
        if plan.is_in(&class.layout, cells) {
            stream.mark(Mark::Group(&class.layout, plan.index));
            whole(stream, plan, cells)?;
        }
    }
    Ok(())
}

/// The cells of a group as they are, two at a time: a word always holds two.
#[inline(always)]
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
