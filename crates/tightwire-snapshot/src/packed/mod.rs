//! The level `Packed`: predictions and their residuals, bit-packed.
//!
//! | file | concept |
//! | --- | --- |
//! | `plan` | the parts of a layout that coding needs for every object, computed once |
//! | `tuning` | the widths and modes that a packet declares, and their choice by the writer |
//! | `lists` | the objects that a packet mentions |
//! | `object` | one object, with or without a baseline |
//! | `sparse` | which of its groups at rest changed |
//! | `motion` | its motion, by its baseline states |
//! | `number`, `rotation` | prediction of a group |
//! | `residual` | the residual: one width, then the components |

mod lists;
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

use super::mention::{Change, Knowledge, Mentions};
use super::protocol::{ClassLayout, Protocol};
use super::trace::{Mark, Marked};
use lists::Lists;
use motion::Course;
use object::{fresh, update};
use tightwire_core::stream::{ErrorKind, Stream};

pub(crate) use plan::ClassPlan;
pub(crate) use tuning::Tuning;

/// Buffers that are reused from packet to packet.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    lists: Lists,
    /// The choices in the packet that is being read.
    tuning: Tuning,
}

/// Writes or reads the mentions of a packet. `tuning` is that of the base, and becomes that of this
/// packet; a reader does not use it.
#[inline]
pub(super) fn code<S: Stream + Marked>(
    stream: &mut S,
    protocol: &Protocol,
    mentions: &mut Mentions,
    knowledge: &impl Knowledge,
    tuning: &mut Tuning,
) -> Result<(), S::Error> {
    let classes = protocol.classes();
    let Mentions { list, cells, packed: scratch, .. } = mentions;
    let tuning = if S::READING { &mut scratch.tuning } else { tuning };
    stream.mark(Mark::Choices);
    tuning.code_choices(stream, classes)?;
    stream.mark(Mark::Objects);
    let before = knowledge.mentioned_before();
    scratch.lists.code(stream, list, before, protocol.config().max_objects)?;
    for (place, mention) in list.iter_mut().enumerate() {
        let start = stream.position();
        let mut course = Course::NONE;
        let is_known = mention.change == Change::Update;
        if is_known {
            match knowledge.pasts(place, mention.id, |past| course.add(past)) {
                Some(class) => mention.class = class,
                None => return stream.refuse_at(ErrorKind::OutOfRange, start),
            }
        } else if mention.change == Change::Gone {
            continue;
        }
        stream.mark(Mark::Object(place));
        if !is_known {
            code_class(stream, &mut mention.class, classes)?;
        }
        let Some(class) = classes.get(usize::from(mention.class)) else {
            return stream.refuse_at(ErrorKind::Misuse, start);
        };
        let columns = class.layout.columns.len();
        if S::READING {
            (mention.start, mention.columns) = (cells.len(), columns);
            // Absent parts of an object without a baseline, and columns of no group, stay 0.
            cells.resize(cells.len() + columns, 0);
        }
        let row = cells.get_mut(mention.start..).and_then(|cells| cells.get_mut(..columns));
        let Some(row) = row else { return stream.refuse_at(ErrorKind::Misuse, start) };
        if is_known {
            update(stream, class, tuning, &course, row)?;
        } else {
            fresh(stream, class, row)?;
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
