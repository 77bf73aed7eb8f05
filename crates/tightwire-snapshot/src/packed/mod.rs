//! The level `Packed`: predictions and their residuals, bit-packed.
//!
//! | file | concept |
//! | --- | --- |
//! | `plan` | the parts of a layout that coding needs for every object, computed once |
//! | `tuning` | the widths and modes that a packet declares, and their choice by the writer |
//! | `update_list` | the objects that a packet updates |
//! | `object` | one object, with or without a baseline |
//! | `sparse` | which of its groups at rest changed |
//! | `motion` | its motion, by its baseline states |
//! | `number`, `rotation` | prediction of a group |
//! | `residual` | the residual: one width, then the components |

mod motion;
mod number;
mod object;
mod plan;
mod residual;
mod root;
mod rotation;
mod sparse;
#[cfg(test)]
mod tests;
mod tuning;
mod update_list;

use super::protocol::{ClassLayout, Protocol};
use super::trace::{Mark, Marked};
use super::update::{Baseline, ObjectUpdates, UpdateKind};
use motion::MotionSearch;
use object::{code_delta, code_full};
use tightwire_core::stream::{ErrorKind, Stream};
use update_list::UpdateList;

pub(crate) use plan::ClassPlan;
pub(crate) use tuning::Tuning;

/// Buffers that are reused from packet to packet.
#[derive(Debug, Default)]
pub(crate) struct PackedScratch {
    update_list: UpdateList,
    /// The choices in the packet that is being read.
    tuning: Tuning,
}

/// Writes or reads the updates of a packet. `tuning` is that of the baseline packet, and becomes
/// that of this packet; a reader does not use it.
#[inline]
pub(super) fn code<S: Stream + Marked>(
    stream: &mut S,
    protocol: &Protocol,
    updates: &mut ObjectUpdates,
    baseline: &impl Baseline,
    tuning: &mut Tuning,
) -> Result<(), S::Error> {
    let classes = protocol.classes();
    let ObjectUpdates { list, cells, packed: scratch, .. } = updates;
    let tuning = if S::READING { &mut scratch.tuning } else { tuning };
    stream.mark(Mark::Modes);
    tuning.code_choices(stream, classes)?;
    stream.mark(Mark::Objects);
    let baseline_ids = baseline.baseline_ids();
    scratch.update_list.code(stream, list, baseline_ids, protocol.config().max_objects)?;
    for (place, update) in list.iter_mut().enumerate() {
        let start = stream.position();
        let mut course = MotionSearch::NONE;
        let has_baseline = update.kind == UpdateKind::Delta;
        if has_baseline {
            match baseline.acked_states(place, update.id, |state| course.add(state)) {
                Some(class) => update.class = class,
                None => return stream.refuse_at(ErrorKind::OutOfRange, start),
            }
        } else if update.kind == UpdateKind::Despawn {
            continue;
        }
        stream.mark(Mark::Object(place));
        if !has_baseline {
            code_class(stream, &mut update.class, classes)?;
        }
        let Some(class) = classes.get(usize::from(update.class)) else {
            return stream.refuse_at(ErrorKind::Misuse, start);
        };
        let columns = class.layout.columns.len();
        if S::READING {
            (update.start, update.columns) = (cells.len(), columns);
            // Absent parts of an object without a baseline, and columns of no group, stay 0.
            cells.resize(cells.len() + columns, 0);
        }
        let row = cells.get_mut(update.start..).and_then(|cells| cells.get_mut(..columns));
        let Some(row) = row else { return stream.refuse_at(ErrorKind::Misuse, start) };
        if has_baseline {
            code_delta(stream, class, tuning, &course, row)?;
        } else {
            code_full(stream, class, row)?;
        }
    }
    if S::WRITING {
        tuning.choose(classes);
    }
    Ok(())
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn code_class<S: Stream>(
    stream: &mut S,
    class: &mut u16,
    classes: &[ClassLayout],
) -> Result<(), S::Error> {
    let Some(last) = classes.len().checked_sub(1) else {
        return stream.refuse_at(ErrorKind::OutOfRange, stream.position());
    };
    let mut number = u64::from(*class);
    stream.raw_offset(&mut number, last as u64)?;
    *class = number as u16;
    Ok(())
}
