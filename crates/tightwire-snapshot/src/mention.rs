//! What a packet says of objects, and what it is relative to.

use alloc::vec::Vec;

use super::check::Check;
use super::{modeled, packed};
use tightwire_core::schema::ObjectId;

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
    /// Over what a writer has added: while the next one is added, that takes no time of its own.
    pub(super) check: Check,
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
    is_worth_it(again.count(), before.len())
}

/// The same, if so many of `before` objects are mentioned again.
pub(super) fn is_worth_it(again: usize, before: usize) -> bool {
    again * 3 >= before
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

/// States that both sides know of an object, the newest first.
#[derive(Debug, Default)]
pub(super) struct Pasts<'a> {
    states: [Past<'a>; MOST_PASTS],
    len: usize,
}

/// What both sides know when a packet is written and when it is read.
pub(super) trait Knowledge {
    /// The class of an object; none if it is unknown or known to be gone. `each` is told of its states,
    /// the newest first, as long as it asks for more. A writer finds the object by the place of its
    /// mention, a reader by its id.
    fn pasts<'k>(
        &'k self,
        mention: usize,
        id: ObjectId,
        each: impl FnMut(Past<'k>) -> bool,
    ) -> Option<u16>;

    /// The same by the id alone, for an object that the base of the packet mentions.
    fn find<'k>(&'k self, id: ObjectId, each: impl FnMut(Past<'k>) -> bool) -> Option<u16>;

    /// The objects that the base of the packet mentions, in the order of their ids; none if it is so
    /// old that the sender may have forgotten what they were like.
    fn mentioned_before(&self) -> &[ObjectId];
}

/// Tells `each` of an object's states. If the base of the packet is complete, newer than the newest
/// state, and does not mention the object, that is at rest: its state is that of the base's time too.
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

    /// The state of a mentioned object; none if it is gone.
    pub(super) fn cells_of(&self, mention: &Mention) -> Option<&[u32]> {
        (mention.change != Change::Gone).then(|| &self.cells[mention.start..][..mention.columns])
    }

    /// The sums over what was read.
    pub(super) fn check_of_read(&self) -> Check {
        let mut check = Check::default();
        for mention in &self.list {
            check.add(mention, self.cells_of(mention).unwrap_or_default());
        }
        check
    }

    /// Adds an object with its cells; one that is gone has neither cells nor a class.
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

    /// Adds an older state; whether there is room for more.
    pub(super) fn push(&mut self, older: Past<'a>) -> bool {
        if let Some(state) = self.states.get_mut(self.len) {
            *state = older;
            self.len += 1;
        }
        self.len < MOST_PASTS
    }

    /// The newest first.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn states(&self) -> &[Past<'a>] {
        self.states.get(..self.len).unwrap_or_default()
    }
}
