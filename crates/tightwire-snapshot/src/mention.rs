//! Mentions: the objects in a packet, each with a delta against its baseline.

use alloc::vec::Vec;

use super::check::Check;
use super::{modeled, packed};
use tightwire_core::schema::ObjectId;

/// An object in a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mention {
    pub(super) id: ObjectId,
    pub(super) class: u16,
    pub(super) change: Change,
    /// Index of its first cell in [`Mentions::cells`], and the number of its cells.
    pub(super) start: usize,
    pub(super) columns: usize,
}

/// Kind of a mention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// A delta against the baseline state of the object.
    Update,
    /// A state without a baseline: the object has spawned, is of another class now, or its baseline
    /// expired.
    Fresh,
    /// The object has despawned.
    Gone,
}

/// The mentions of a packet, in the order of their ids.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    pub(super) list: Vec<Mention>,
    pub(super) cells: Vec<u32>,
    /// Sums over the mentions that a writer added. Summing here takes no time of its own: it
    /// overlaps with adding the next mention.
    pub(super) check: Check,
    /// Buffers of the coders.
    pub(super) packed: packed::Scratch,
    pub(super) modeled: modeled::Scratch,
}

/// Upper bound of the mentions that the record of every packet reserves room for, once a packet had
/// as many: in time no record has to grow, and a single large packet does not make all of them
/// large.
pub(super) const MANY: usize = 512;

/// Whether a flag for each object of the base, that it is mentioned again, is worth its bits.
pub(super) fn goes_on(list: &[Mention], before: &[ObjectId]) -> bool {
    let mut before_rest = before.iter().peekable();
    let again = list.iter().filter(|mention| {
        while before_rest.next_if(|id| **id < mention.id).is_some() {}
        before_rest.peek() == Some(&&mention.id)
    });
    is_worth_it(again.count(), before.len())
}

/// Whether the flags are worth their bits, if `again` of the `before` objects of the base are
/// mentioned again.
pub(super) fn is_worth_it(again: usize, before: usize) -> bool {
    again * 3 >= before
}

/// Largest number of baseline states of an object that predictions use.
pub(super) const MOST_PASTS: usize = 3;

/// A baseline state of an object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Past<'a> {
    /// Age in ticks, at least 1.
    pub(super) age: u32,
    pub(super) cells: &'a [u32],
}

/// Baseline states of an object, newest first.
#[derive(Debug, Default)]
pub(super) struct Pasts<'a> {
    states: [Past<'a>; MOST_PASTS],
    len: usize,
}

/// The baseline of a packet, the same when the packet is written and when it is read.
pub(super) trait Knowledge {
    /// Returns the class of an object; `None` if it has no baseline state, or is despawned in the
    /// baseline. Passes its baseline states to `each`, newest first, until that returns false. A
    /// writer looks the object up by the index of its mention, a reader by its id.
    fn pasts<'k>(
        &'k self,
        mention: usize,
        id: ObjectId,
        each: impl FnMut(Past<'k>) -> bool,
    ) -> Option<u16>;

    /// Does the same as [`pasts`](Self::pasts) by the id alone, for an object that the base
    /// mentions.
    fn find<'k>(&'k self, id: ObjectId, each: impl FnMut(Past<'k>) -> bool) -> Option<u16>;

    /// Returns the ids of the objects that the base mentions, in order; empty if the base is so old
    /// that their states may have expired on the sender.
    fn mentioned_before(&self) -> &[ObjectId];
}

/// Passes the baseline states of an object to `each`. If the base is complete, newer than the
/// newest state, and does not mention the object, the object is at rest: its state is also that of
/// the base's tick.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn tell<'a>(
    newest: Past<'a>,
    complete_base_age: Option<u32>,
    older: impl Iterator<Item = Past<'a>>,
    mut each: impl FnMut(Past<'a>) -> bool,
) {
    let mut left = MOST_PASTS - 1;
    if let Some(age) = complete_base_age.filter(|&age| age < newest.age) {
        left -= 1;
        if !each(Past { age: age.max(1), cells: newest.cells }) {
            return;
        }
    }
    if each(newest) {
        let _ = older.take(left).all(each);
    }
}

impl Mentions {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.cells.clear();
        self.check = Check::default();
    }

    /// Returns the state of a mentioned object; `None` if it has despawned.
    pub(super) fn cells_of(&self, mention: &Mention) -> Option<&[u32]> {
        (mention.change != Change::Gone).then(|| &self.cells[mention.start..][..mention.columns])
    }

    /// Returns the sums over the mentions that were read.
    pub(super) fn check_of_read(&self) -> Check {
        let mut check = Check::default();
        for mention in &self.list {
            check.add(mention, self.cells_of(mention).unwrap_or_default());
        }
        check
    }

    /// Adds an object with its cells; a despawned one has neither cells nor a class.
    pub(super) fn push(&mut self, id: ObjectId, class: u16, change: Change, cells: &[u32]) {
        let start = self.cells.len();
        let (class, cells) = if change == Change::Gone { (0, &[][..]) } else { (class, cells) };
        let mention = Mention { id, class, change, start, columns: cells.len() };
        self.check.add(&mention, cells);
        self.list.push(mention);
        self.cells.extend_from_slice(cells);
    }
}

impl<'a> Pasts<'a> {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds an older state; returns whether there is room for more.
    pub(super) fn push(&mut self, older: Past<'a>) -> bool {
        if let Some(state) = self.states.get_mut(self.len) {
            *state = older;
            self.len += 1;
        }
        self.len < MOST_PASTS
    }

    /// Returns the states, newest first.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn states(&self) -> &[Past<'a>] {
        self.states.get(..self.len).unwrap_or_default()
    }
}
