//! The objects that a packet mentions.
//!
//! Each object of the base has a flag, whose probability depends on how much the object was
//! changing. Other objects are listed by their ids: those up to the largest id that was ever
//! mentioned, then new ones above it.

use alloc::vec::Vec;

use super::plan::ClassPlan;
use super::range_coder::Coder;
use super::state::{State, code_bit};
use crate::mention::{Change, Knowledge, Mention, Past, Pasts, goes_on};
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::ErrorKind;

/// Indices of the mentions' tables in the state.
#[derive(Clone, Debug)]
pub(super) struct MentionPlan {
    classes: usize,
    /// Bits of a class index.
    class_bits: u32,
    goes_on: usize,
    again: usize,
    change: usize,
    more: usize,
    gap: usize,
    class: usize,
}

/// The mentions of a packet, and the positions of their objects in the baseline.
pub(super) struct Lists<'a> {
    pub(super) list: &'a mut Vec<Mention>,
    pub(super) known: &'a mut Vec<Known>,
    pub(super) classes: &'a [ClassPlan],
    /// Largest number of mentions.
    pub(super) most: usize,
}

/// The baseline position of a mentioned object, and its space; `None` if it has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) id: ObjectId,
    pub(super) place: Option<(u32, [i64; 3])>,
}

impl Lists<'_> {
    /// Records the position of an object, which decides the order of coding: looking up the
    /// baseline again would be slow.
    fn note(&mut self, id: ObjectId, class: u16, pasts: &Pasts<'_>) {
        let class = self.classes.get(usize::from(class));
        let newest = pasts.states().first();
        let place = class.zip(newest).and_then(|(class, newest)| class.place(newest.cells));
        self.known.push(Known { id, place });
    }
}

/// Limit of the samples that an adaptive probability is averaged over.
const MEMORY: u32 = 127;

impl MentionPlan {
    pub(super) fn new(state: &mut State, classes: usize) -> Self {
        let class_bits = usize::BITS - classes.saturating_sub(1).leading_zeros();
        Self {
            classes,
            class_bits,
            goes_on: state.add_bits(1),
            again: state.add_bits(classes * 16 * 4),
            change: state.add_bits(3 * 2),
            more: state.add_bits(2 * 16),
            gap: state.add_bits(2 * 33 * 4),
            class: state.add_bits(1 << class_bits),
        }
    }

    /// Codes which objects are mentioned; a reader gets the mentions without their cells.
    pub(super) fn code<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
        knowledge: &impl Knowledge,
        lists: &mut Lists<'_>,
    ) -> Result<(), ErrorKind> {
        lists.known.clear();
        let mut before = knowledge.mentioned_before();
        if !before.is_empty() {
            let goes_on = !C::DECODES && goes_on(lists.list, before);
            if !code_bit(coder, &mut state.bits[self.goes_on], MEMORY, goes_on) {
                before = &[];
            }
        }
        self.code_again(coder, state, knowledge, lists, before)?;
        let again = lists.known.len();
        for beyond in [false, true] {
            self.code_others(coder, state, (knowledge, before), lists, again, beyond)?;
        }
        if C::DECODES {
            lists.list.sort_unstable_by_key(|mention| mention.id);
        }
        lists.known.sort_unstable_by_key(|known| known.id);
        if let Some(last) = lists.list.last() {
            state.last_id = state.last_id.max(Some(last.id.0));
        }
        Ok(())
    }

    /// Codes the objects that the base mentions.
    fn code_again<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
        knowledge: &impl Knowledge,
        lists: &mut Lists<'_>,
        before: &[ObjectId],
    ) -> Result<(), ErrorKind> {
        let (mut at, mut last) = (0, 0);
        let mut pasts = Pasts::default();
        for &id in before {
            pasts.clear();
            let Some(known) = knowledge.find(id, |past| pasts.push(past)) else { continue };
            let class = usize::from(known).min(self.classes - 1);
            let wanted = wanted(lists.list, &mut at, id).filter(|_| !C::DECODES);
            let context = (class * 16 + activity(pasts.states())) * 4 + last;
            let slot = &mut state.bits[self.again + context];
            let is_mentioned = code_bit(coder, slot, MEMORY, wanted.is_some());
            last = (last * 2 + usize::from(is_mentioned)) & 3;
            if is_mentioned {
                let wanted = (id, wanted);
                self.code_mention(coder, state, lists.list, wanted, Some(known), 0)?;
                lists.note(id, known, &pasts);
            }
        }
        Ok(())
    }

    /// Codes the objects that the base does not mention.
    fn code_others<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
        (knowledge, before): (&impl Knowledge, &[ObjectId]),
        lists: &mut Lists<'_>,
        again: usize,
        beyond: bool,
    ) -> Result<(), ErrorKind> {
        let mut pasts = Pasts::default();
        let first_beyond = state.last_id.map_or(Some(0), |last| last.checked_add(1));
        let mut next = match (beyond, first_beyond) {
            (false, _) => Some(0),
            (true, first) => first,
        };
        let is_beyond = |id: ObjectId| first_beyond.is_some_and(|first| id.0 >= first);
        let (mut at, mut count, mut coded) = (0, 0, 0);
        let given = if C::DECODES { 0 } else { lists.list.len() };
        loop {
            // Both lists are in the order of ids.
            while at < given {
                let id = lists.list[at].id;
                while coded < again && lists.known[coded].id < id {
                    coded += 1;
                }
                let is_coded = coded < again && lists.known[coded].id == id;
                if is_beyond(id) == beyond && !is_coded {
                    break;
                }
                at += 1;
            }
            let place = at;
            let wanted = (at < given).then(|| lists.list[at]);
            let slot = &mut state.bits[self.more + usize::from(beyond) * 16 + count];
            if !code_bit(coder, slot, MEMORY, wanted.is_some()) {
                return Ok(());
            }
            count = (count + 1).min(15);
            at += 1;
            let start = next.ok_or(ErrorKind::OutOfRange)?;
            let gaps = self.gap + usize::from(beyond) * 33 * 4;
            let gap = wanted.map_or(0, |mention| mention.id.0.wrapping_sub(start));
            let gap = code_gap(coder, &mut state.bits[gaps..gaps + 33 * 4], gap);
            let id = ObjectId(start.checked_add(gap).ok_or(ErrorKind::OutOfRange)?);
            next = id.0.checked_add(1);
            // Every mention takes bytes that are there, and no object comes twice.
            if !coder.is_sound() {
                return Err(ErrorKind::UnexpectedEnd);
            }
            let is_full = C::DECODES && lists.list.len() >= lists.most;
            pasts.clear();
            let class = knowledge.pasts(place, id, |past| pasts.push(past));
            let is_again = C::DECODES && class.is_some() && before.binary_search(&id).is_ok();
            if is_beyond(id) != beyond || is_again || is_full {
                return Err(ErrorKind::OutOfRange);
            }
            let context = 1 + usize::from(beyond);
            self.code_mention(coder, state, lists.list, (id, wanted), class, context)?;
            if let Some(class) = class {
                lists.note(id, class, &pasts);
            }
        }
    }

    /// Codes the kind of a mention, and the class if the baseline does not have it.
    fn code_mention<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
        list: &mut Vec<Mention>,
        (id, wanted): (ObjectId, Option<Mention>),
        known: Option<u16>,
        context: usize,
    ) -> Result<(), ErrorKind> {
        let is = |change| wanted.is_some_and(|mention| mention.change == change);
        let slots = self.change + context * 2;
        let change = if code_bit(coder, &mut state.bits[slots], MEMORY, is(Change::Update)) {
            Change::Update
        } else if code_bit(coder, &mut state.bits[slots + 1], MEMORY, is(Change::Fresh)) {
            Change::Fresh
        } else {
            Change::Gone
        };
        let class = wanted.map_or(0, |mention| mention.class);
        let class = match change {
            Change::Fresh => self.code_class(coder, state, class)?,
            Change::Update => known.ok_or(ErrorKind::OutOfRange)?,
            Change::Gone => 0,
        };
        if C::DECODES {
            list.push(Mention { id, class, change, start: 0, columns: 0 });
        }
        Ok(())
    }

    fn code_class<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut State,
        class: u16,
    ) -> Result<u16, ErrorKind> {
        let mut node = 1;
        for place in (0..self.class_bits).rev() {
            let bit = class >> place & 1 != 0;
            let bit = code_bit(coder, &mut state.bits[self.class + node], 60, bit);
            node = node * 2 + usize::from(bit);
        }
        let class = node - (1 << self.class_bits);
        if class < self.classes { Ok(class as u16) } else { Err(ErrorKind::OutOfRange) }
    }
}

/// Finds the mention of an object in a list in the order of ids; `at` moves along.
fn wanted(list: &[Mention], at: &mut usize, id: ObjectId) -> Option<Mention> {
    while list.get(*at).is_some_and(|mention| mention.id < id) {
        *at += 1;
    }
    list.get(*at).copied().filter(|mention| mention.id == id)
}

/// Returns how much an object was changing: 0 for not at all, then the octave of its fastest cell.
fn activity(past: &[Past<'_>]) -> usize {
    let [newest, before, ..] = past else { return 15 };
    let differences = newest.cells.iter().zip(before.cells).map(|(a, b)| a.abs_diff(*b));
    let most = differences.max().unwrap_or(0);
    ((u32::BITS - most.leading_zeros()) as usize).min(14)
}

/// Codes a number by its length and its bits, both adaptive as far as that helps.
fn code_gap<C: Coder>(coder: &mut C, bits: &mut [u32], gap: u32) -> u32 {
    let value = u64::from(gap) + 1;
    let wanted = 63 - value.leading_zeros();
    let mut length = 0;
    while length < 32 && code_bit(coder, &mut bits[length as usize * 4], MEMORY, wanted > length) {
        length += 1;
    }
    let slots = length as usize * 4;
    let mut result = 1u64;
    for place in (0..length).rev() {
        let bit = value >> place & 1 != 0;
        let bit = match length - place {
            1 => code_bit(coder, &mut bits[slots + 1], MEMORY, bit),
            2 => code_bit(coder, &mut bits[slots + 2 + (result & 1) as usize], MEMORY, bit),
            _ => coder.bit(1 << 15, bit),
        };
        result = result << 1 | u64::from(bit);
    }
    (result - 1).min(u64::from(u32::MAX)) as u32
}
