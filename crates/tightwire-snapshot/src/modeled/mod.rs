//! The level `Modeled`: several predictions of each number at once, and residuals coded by a model
//! that learns how good each prediction is.
//!
//! | file | concept |
//! | --- | --- |
//! | `range_coder` | intervals to bytes and back; the trait through which everything is coded |
//! | `state` | the learned state, which belongs to a packet |
//! | `plan` | the indices of each group's tables in the state; coding of one object |
//! | `update_list` | the objects that a packet updates |
//! | `mixture`, `logistic` | a number by the mixed distribution of its predictions, and learning |
//! | `scale` | probabilities to intervals of integers |
//! | `search` | decoding: the value whose interval has the code |
//! | `number`, `rotation`, `category` | the predictions of each kind of group |
//! | `number_motion`, `turn_sum` | the motion of a number; the learned sum of turns |
//! | `number_tables` | the tables of numbers, and their initial values |
//! | `linear`, `quaternion`, `bucket` | a learned sum; rotations; classes of magnitudes |
//! | `vertical` | the vertical axis of the world, which is learned |
//! | `traced` | the decoder that records the bits of each part |
//! | `neighbours`, `neighbour_prediction` | predictions from objects that the packet has already coded |
//!
//! Both sides compute in integers, and in floats by the rules of `logistic`, so that the results are
//! the same on every machine.

mod bucket;
mod category;
mod linear;
mod logistic;
mod mixture;
mod neighbour_prediction;
mod neighbours;
mod number;
mod number_motion;
mod number_tables;
mod plan;
mod quaternion;
mod range_coder;
mod rotation;
#[cfg(test)]
mod scalar_tests;
mod scale;
mod search;
mod state;
#[cfg(test)]
mod tests;
mod traced;
mod turn_sum;
mod update_list;
mod vertical;

use alloc::vec::Vec;

use super::layout::Layout;
use super::protocol::{ClassLayout, Protocol};
use super::trace::{Mark, SpanRecord};
use super::update::{AckedStates, Baseline, ObjectUpdate, ObjectUpdates, UpdateKind};
use neighbours::CodedObjects;
use number_motion::ColumnMotions;
use range_coder::{Coder, Decoder, Encoder};
use tightwire_core::stream::{ErrorKind, ReadError};
use traced::TracedDecoder;
use update_list::{AckedPosition, CodedUpdateList};

pub(crate) use plan::Plan;
pub(crate) use state::ModelState;

/// Buffers that are reused from packet to packet.
#[derive(Debug, Default)]
pub(crate) struct ModeledScratch {
    coded_objects: CodedObjects,
    motions: ColumnMotions,
    positions: Vec<AckedPosition>,
    /// Order of coding: a key, and the index of an update.
    order: Vec<(u64, u32)>,
}

/// Appends updates to `bytes`; returns whether they fit into `limit` bytes in all. `state` is that
/// of the baseline packet, and becomes that of this packet.
pub(super) fn write(
    protocol: &Protocol,
    updates: &mut ObjectUpdates,
    baseline: &impl Baseline,
    state: &mut ModelState,
    bytes: &mut Vec<u8>,
    limit: usize,
) -> bool {
    let mut encoder = Encoder::new(bytes, limit);
    let coded = code(&mut encoder, protocol, updates, baseline, state);
    encoder.finish() && coded.is_ok()
}

/// Reads updates. A trace records every part; its second value is the bit of the packet at which
/// `bytes` begin.
pub(super) fn read(
    protocol: &Protocol,
    bytes: &[u8],
    updates: &mut ObjectUpdates,
    baseline: &impl Baseline,
    state: &mut ModelState,
    trace: Option<(&mut SpanRecord, u64)>,
) -> Result<(), ReadError> {
    let mut decoder = Decoder::new(bytes);
    let coded = match trace {
        None => code(&mut decoder, protocol, updates, baseline, state),
        Some((record, start)) => {
            let mut decoder = TracedDecoder { decoder: &mut decoder, record, start };
            let coded = code(&mut decoder, protocol, updates, baseline, state);
            decoder.end();
            coded
        }
    };
    let bit = decoder.position();
    coded.and_then(|()| decoder.finish()).map_err(|kind| ReadError { kind, bit })
}

fn code<C: Coder>(
    coder: &mut C,
    protocol: &Protocol,
    updates: &mut ObjectUpdates,
    baseline: &impl Baseline,
    state: &mut ModelState,
) -> Result<(), ErrorKind> {
    let (plan, classes) = (protocol.plan(), protocol.classes());
    let ObjectUpdates { list, cells, modeled: scratch, .. } = updates;
    coder.mark(Mark::Objects);
    let max_objects = protocol.config().max_objects;
    let mut update_list = CodedUpdateList {
        list,
        positions: &mut scratch.positions,
        classes: &plan.classes,
        max_objects,
    };
    plan.updates.code(coder, state, baseline, &mut update_list)?;
    if C::DECODES {
        lay_out(list, cells, classes);
    }
    scratch.coded_objects.clear();
    sort(plan, &scratch.positions, list, &mut scratch.order);
    let mut acked = AckedStates::default();
    for &(_, place) in &scratch.order {
        let update = list[place as usize];
        acked.clear();
        match update.kind {
            UpdateKind::Despawn => continue,
            UpdateKind::Full => {}
            UpdateKind::Delta => {
                baseline.acked_states(place as usize, update.id, |state| acked.push(state));
            }
        }
        if !coder.is_sound() {
            return Err(ErrorKind::UnexpectedEnd);
        }
        coder.mark(Mark::Object(place as usize));
        let class = usize::from(update.class);
        let layout: &Layout = &classes[class].layout;
        let row = &mut cells[update.start..update.start + update.columns];
        let memory = (&mut scratch.coded_objects, &mut scratch.motions);
        plan.classes[class].code_object(coder, state, layout, memory, row, acked.as_slice());
    }
    Ok(())
}

/// Adds the cells of every update that was read.
fn lay_out(list: &mut [ObjectUpdate], cells: &mut Vec<u32>, classes: &[ClassLayout]) {
    for update in list.iter_mut().filter(|update| update.kind != UpdateKind::Despawn) {
        update.columns = classes[usize::from(update.class)].layout.columns.len();
        update.start = cells.len();
        cells.resize(cells.len() + update.columns, 0);
    }
}

/// Sorts the updates for coding: references first. Objects that move with a reference follow from
/// it outwards, so that the neighbours that an object depends on are coded before it. Without a
/// reference, in the order of ids.
fn sort(
    plan: &Plan,
    positions: &[AckedPosition],
    list: &[ObjectUpdate],
    order: &mut Vec<(u64, u32)>,
) {
    let class = |update: &ObjectUpdate| &plan.classes[usize::from(update.class)];
    let mut at = 0;
    let mut place = |update: &ObjectUpdate| {
        // Both lists are in the order of ids.
        while positions.get(at).is_some_and(|acked| acked.id < update.id) {
            at += 1;
        }
        let acked = positions.get(at).filter(|acked| acked.id == update.id)?;
        acked.place.filter(|_| update.kind == UpdateKind::Delta)
    };
    let is_reference =
        |update: &ObjectUpdate| update.kind == UpdateKind::Delta && class(update).is_reference;
    let first = list.iter().find(|update| is_reference(update));
    let centre = first.and_then(|first| {
        let acked = positions.iter().find(|acked| acked.id == first.id);
        acked.and_then(|acked| acked.place)
    });
    order.clear();
    order.extend(list.iter().enumerate().map(|(at, update)| {
        let key = match centre {
            _ if is_reference(update) => 0,
            None => 1,
            Some((space, centre)) => match place(update) {
                Some((other, position)) if other == space => {
                    let square = |axis: usize| {
                        (position[axis] - centre[axis]).unsigned_abs().min(1 << 30).pow(2)
                    };
                    1 + square(0) + square(1) + square(2)
                }
                _ => u64::MAX,
            },
        };
        (key, at as u32)
    }));
    order.sort_unstable();
}
