//! The level `Modeled`: numbers are predicted by several hypotheses at once, and coded by what is
//! learned of them.
//!
//! | file | concept |
//! | --- | --- |
//! | `range_coder` | intervals to bytes and back; the one trait through which everything is coded |
//! | `state` | what is learned, and belongs to a packet |
//! | `plan` | where in the state each group of each class has its part; one object |
//! | `mentions` | which objects a packet is about |
//! | `mixture`, `fixed` | a number by the mixed distribution of its hypotheses, and how they learn |
//! | `search` | the value that a code stands for in that distribution |
//! | `number`, `rotation`, `category` | the hypotheses of each kind of group |
//! | `number_tables` | what is learned about numbers, and what that begins with |
//! | `linear`, `quaternion` | a learned sum; rotations in integers |
//! | `traced` | the decoder that says what each part takes |
//! | `neighbours`, `company` | what objects of this packet did, for others to do alike |
//!
//! Everything that both sides compute is in integers, so that it is the same everywhere.

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

/// Memory for the coding of one packet after the other.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    scene: Scene,
    known: Vec<Known>,
    /// The order of coding: a key, and the place of a mention.
    order: Vec<(u64, u32)>,
}

/// Writes mentions behind what is in `bytes`; whether they fit into `limit` bytes in all. `state` is
/// that of the base, and becomes that of this packet.
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

/// Reads mentions. A trace is told of every part, in a packet in which the bytes begin at a bit.
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

/// Gives every mention that was read room for its cells.
fn lay_out(list: &mut [Mention], cells: &mut Vec<u32>, classes: &[ClassLayout]) {
    for mention in list.iter_mut().filter(|mention| mention.change != Change::Gone) {
        mention.columns = classes[usize::from(mention.class)].layout.columns.len();
        mention.start = cells.len();
        cells.resize(cells.len() + mention.columns, 0);
    }
}

/// References first. What moves with one is best told from it outwards: then the neighbours that an
/// object depends on are known before it. Without a reference, in the order of ids.
fn sort(plan: &Plan, known: &[Known], list: &[Mention], order: &mut Vec<(u64, u32)>) {
    let class = |mention: &Mention| &plan.classes[usize::from(mention.class)];
    let mut at = 0;
    let mut place = |mention: &Mention| {
        // Both are in the order of ids.
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
