//! The level `Modeled`: several predictions of each number at once, and residuals coded by a model
//! that learns how good each prediction is.
//!
//! | file | concept |
//! | --- | --- |
//! | `range_coder` | intervals to bytes and back; the trait through which everything is coded |
//! | `state` | the learned state, which belongs to a packet |
//! | `plan` | the indices of each group's tables in the state; coding of one object |
//! | `mentions` | the objects that a packet mentions |
//! | `mixture`, `fixed` | a number by the mixed distribution of its predictions, and learning |
//! | `search` | decoding: the value whose interval has the code |
//! | `number`, `rotation`, `category` | the predictions of each kind of group |
//! | `number_tables` | the tables of numbers, and their initial values |
//! | `linear`, `quaternion` | a learned sum; rotations in integers |
//! | `traced` | the decoder that records the bits of each part |
//! | `neighbours`, `company` | predictions from objects that the packet has already coded |
//!
//! Both sides compute only in integers, so that the results are the same on every machine.

mod category;
mod company;
mod fixed;
mod linear;
mod mentions;
mod mixture;
mod neighbours;
mod number;
mod number_tables;
mod plan;
mod quaternion;
mod range_coder;
mod rotation;
mod search;
mod state;
#[cfg(test)]
mod tests;
mod traced;

use alloc::vec::Vec;

use super::layout::Layout;
use super::mention::{Change, Knowledge, Mention, Mentions, Pasts};
use super::protocol::{ClassLayout, Protocol};
use super::trace::{Mark, Record};
use mentions::{Known, Lists};
use neighbours::Scene;
use range_coder::{Coder, Decoder, Encoder};
use tightwire_core::stream::{ErrorKind, ReadError};
use traced::TracedDecoder;

pub(crate) use plan::Plan;
pub(crate) use state::State;

/// Buffers that are reused from packet to packet.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    scene: Scene,
    known: Vec<Known>,
    /// Order of coding: a key, and the index of a mention.
    order: Vec<(u64, u32)>,
}

/// Appends mentions to `bytes`; returns whether they fit into `limit` bytes in all. `state` is that
/// of the base, and becomes that of this packet.
pub(super) fn write(
    protocol: &Protocol,
    mentions: &mut Mentions,
    knowledge: &impl Knowledge,
    state: &mut State,
    bytes: &mut Vec<u8>,
    limit: usize,
) -> bool {
    let mut encoder = Encoder::new(bytes, limit);
    let coded = code(&mut encoder, protocol, mentions, knowledge, state);
    encoder.finish() && coded.is_ok()
}

/// Reads mentions. A trace records every part; its second value is the bit of the packet at which
/// `bytes` begin.
pub(super) fn read(
    protocol: &Protocol,
    bytes: &[u8],
    mentions: &mut Mentions,
    knowledge: &impl Knowledge,
    state: &mut State,
    trace: Option<(&mut Record, u64)>,
) -> Result<(), ReadError> {
    let mut decoder = Decoder::new(bytes);
    let coded = match trace {
        None => code(&mut decoder, protocol, mentions, knowledge, state),
        Some((record, start)) => {
            let mut decoder = TracedDecoder { decoder: &mut decoder, record, start };
            let coded = code(&mut decoder, protocol, mentions, knowledge, state);
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
    mentions: &mut Mentions,
    knowledge: &impl Knowledge,
    state: &mut State,
) -> Result<(), ErrorKind> {
    let (plan, classes) = (protocol.plan(), protocol.classes());
    let Mentions { list, cells, modeled: scratch, .. } = mentions;
    coder.mark(Mark::Objects);
    let most = protocol.config().max_objects;
    let mut lists = Lists { list, known: &mut scratch.known, classes: &plan.classes, most };
    plan.mentions.code(coder, state, knowledge, &mut lists)?;
    if C::DECODES {
        lay_out(list, cells, classes);
    }
    scratch.scene.clear();
    sort(plan, &scratch.known, list, &mut scratch.order);
    let mut pasts = Pasts::default();
    for &(_, place) in &scratch.order {
        let mention = list[place as usize];
        pasts.clear();
        match mention.change {
            Change::Gone => continue,
            Change::Fresh => {}
            Change::Update => {
                knowledge.pasts(place as usize, mention.id, |past| pasts.push(past));
            }
        }
        if !coder.is_sound() {
            return Err(ErrorKind::UnexpectedEnd);
        }
        coder.mark(Mark::Object(place as usize));
        let class = usize::from(mention.class);
        let layout: &Layout = &classes[class].layout;
        let row = &mut cells[mention.start..mention.start + mention.columns];
        let (scene, states) = (&mut scratch.scene, pasts.states());
        plan.classes[class].code_object(coder, state, layout, scene, row, states);
    }
    Ok(())
}

/// Adds the cells of every mention that was read.
fn lay_out(list: &mut [Mention], cells: &mut Vec<u32>, classes: &[ClassLayout]) {
    for mention in list.iter_mut().filter(|mention| mention.change != Change::Gone) {
        mention.columns = classes[usize::from(mention.class)].layout.columns.len();
        mention.start = cells.len();
        cells.resize(cells.len() + mention.columns, 0);
    }
}

/// Sorts the mentions for coding: references first. Objects that move with a reference follow from
/// it outwards, so that the neighbours that an object depends on are coded before it. Without a
/// reference, in the order of ids.
fn sort(plan: &Plan, known: &[Known], list: &[Mention], order: &mut Vec<(u64, u32)>) {
    let class = |mention: &Mention| &plan.classes[usize::from(mention.class)];
    let mut at = 0;
    let mut place = |mention: &Mention| {
        // Both lists are in the order of ids.
        while known.get(at).is_some_and(|known| known.id < mention.id) {
            at += 1;
        }
        let known = known.get(at).filter(|known| known.id == mention.id)?;
        known.place.filter(|_| mention.change == Change::Update)
    };
    let is_reference =
        |mention: &Mention| mention.change == Change::Update && class(mention).is_reference;
    let first = list.iter().find(|mention| is_reference(mention));
    let centre = first.and_then(|first| {
        let known = known.iter().find(|known| known.id == first.id);
        known.and_then(|known| known.place)
    });
    order.clear();
    order.extend(list.iter().enumerate().map(|(at, mention)| {
        let key = match centre {
            _ if is_reference(mention) => 0,
            None => 1,
            Some((space, centre)) => match place(mention) {
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
