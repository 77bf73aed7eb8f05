//! What a packet says of objects, and what it is relative to.

use alloc::vec::Vec;

use super::{modeled, packed};
use crate::schema::ObjectId;

/// What a packet says of one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mention {
    pub(super) id: ObjectId,
    pub(super) class: u16,
    pub(super) change: Change,
    /// Where its cells begin among those of all, and how many there are.
    pub(super) start: usize,
    pub(super) columns: usize,
}

/// What became of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// It is as its cells say, relative to what is known of it.
    Update,
    /// It is as its cells say: nothing is known of it, or it is of another class now.
    Fresh,
    /// It is no more.
    Gone,
}

/// All that a packet says of objects, in the order of their ids.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    pub(super) list: Vec<Mention>,
    pub(super) cells: Vec<u32>,
    /// Memory for the coding.
    pub(super) packed: packed::Scratch,
    pub(super) modeled: modeled::Scratch,
}

/// As many mentions as records of packets have room for from the first on, if there ever were so
/// many: in time none has to grow, and a single large packet does not make all of them large.
pub(super) const MANY: usize = 512;

/// Whether it is worth saying of each object that the base mentions whether it is mentioned again.
pub(super) fn goes_on(list: &[Mention], before: &[ObjectId]) -> bool {
    let mut before_rest = before.iter().peekable();
    let again = list.iter().filter(|mention| {
        while before_rest.next_if(|id| **id < mention.id).is_some() {}
        before_rest.peek() == Some(&&mention.id)
    });
    again.count() * 3 >= before.len()
}

/// How many states of an object are of use.
pub(super) const MOST_PASTS: usize = 3;

/// A state of an object that both sides know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Past<'a> {
    /// How many ticks it is old; at least one.
    pub(super) age: u32,
    pub(super) cells: &'a [u32],
}

/// What both sides know of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pasts<'a> {
    pub(super) class: u16,
    states: [Past<'a>; MOST_PASTS],
    len: usize,
}

/// What both sides know when a packet is written and when it is read.
pub(super) trait Knowledge {
    /// Of an object; none if it is unknown or known to be gone. A writer finds it by the place of
    /// its mention, a reader by its id.
    fn pasts(&self, mention: usize, id: ObjectId) -> Option<Pasts<'_>>;

    /// The same by the id alone, for an object that the base of the packet mentions.
    fn find(&self, id: ObjectId) -> Option<Pasts<'_>>;

    /// The objects that the base of the packet mentions, in the order of their ids; none if it is so
    /// old that the sender may have forgotten what they were like.
    fn mentioned_before(&self) -> &[ObjectId];
}

impl Mentions {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.cells.clear();
    }

    /// The state of a mentioned object; none if it is gone.
    pub(super) fn cells_of(&self, mention: &Mention) -> Option<&[u32]> {
        (mention.change != Change::Gone).then(|| &self.cells[mention.start..][..mention.columns])
    }

    /// Adds an object with its cells; one that is gone has neither cells nor a class.
    pub(super) fn push(&mut self, id: ObjectId, class: u16, change: Change, cells: &[u32]) {
        let start = self.cells.len();
        let (class, cells) = if change == Change::Gone { (0, &[][..]) } else { (class, cells) };
        self.list.push(Mention { id, class, change, start, columns: cells.len() });
        self.cells.extend_from_slice(cells);
    }
}

impl<'a> Pasts<'a> {
    /// With the newest state. If the base of the packet is complete, newer, and does not mention the
    /// object, that is at rest: its state is that of the base's time too.
    pub(super) fn new(class: u16, newest: Past<'a>, complete_base_age: Option<u32>) -> Self {
        let mut pasts = Self { class, states: [Past::default(); MOST_PASTS], len: 0 };
        if let Some(age) = complete_base_age.filter(|&age| age < newest.age) {
            pasts.push(Past { age: age.max(1), cells: newest.cells });
        }
        pasts.push(newest);
        pasts
    }

    /// Adds an older state, unless there are enough.
    pub(super) fn push(&mut self, older: Past<'a>) {
        if let Some(state) = self.states.get_mut(self.len) {
            *state = older;
            self.len += 1;
        }
    }

    /// The newest first.
    pub(super) fn states(&self) -> &[Past<'a>] {
        &self.states[..self.len]
    }
}
