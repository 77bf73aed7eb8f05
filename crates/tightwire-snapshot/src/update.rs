//! Updates: the objects in a packet, each with a delta against its baseline.

use alloc::vec::Vec;

use super::check::Check;
use super::{modeled, packed};
use tightwire_core::schema::ObjectId;

/// An object in a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ObjectUpdate {
    pub(super) id: ObjectId,
    pub(super) class: u16,
    pub(super) kind: UpdateKind,
    /// Index of its first cell in [`ObjectUpdates::cells`], and the number of its cells.
    pub(super) start: usize,
    pub(super) columns: usize,
}

/// Kind of an update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UpdateKind {
    /// A delta against the baseline state of the object.
    Delta,
    /// A state without a baseline: the object has spawned, is of another class now, or its baseline
    /// expired.
    Full,
    /// The object has despawned.
    Despawn,
}

/// The updates of a packet, in the order of their ids.
#[derive(Debug, Default)]
pub(super) struct ObjectUpdates {
    pub(super) list: Vec<ObjectUpdate>,
    pub(super) cells: Vec<u32>,
    /// Sums over the updates that a writer added. Summing here takes no time of its own: it
    /// overlaps with adding the next update.
    pub(super) check: Check,
    /// Buffers of the coders.
    pub(super) packed: packed::PackedScratch,
    pub(super) modeled: modeled::ModeledScratch,
}

/// Upper bound of the updates that the record of every packet reserves room for, once a packet had
/// as many: in time no record has to grow, and a single large packet does not make all of them
/// large.
const RESERVED_UPDATES: usize = 512;

/// Number of updates that the record of every packet reserves room for, after a packet had
/// `updates`. A power of two: a world whose packets have a few updates more or less does not make
/// all records grow again.
pub(super) fn reserved_updates(updates: usize) -> usize {
    updates.min(RESERVED_UPDATES).next_power_of_two()
}

/// Whether a flag for each object of the baseline packet, that it is updated again, is worth its
/// bits.
pub(super) fn repeats_baseline(list: &[ObjectUpdate], baseline_ids: &[ObjectId]) -> bool {
    let mut remaining = baseline_ids.iter().peekable();
    let repeated = list.iter().filter(|update| {
        while remaining.next_if(|id| **id < update.id).is_some() {}
        remaining.peek() == Some(&&update.id)
    });
    flags_pay_off(repeated.count(), baseline_ids.len())
}

/// Whether the flags save bits, if `repeated` of the `in_baseline` objects of the baseline packet
/// are updated again.
pub(super) fn flags_pay_off(repeated: usize, in_baseline: usize) -> bool {
    repeated * 3 >= in_baseline
}

/// Largest number of baseline states of an object that predictions use.
pub(super) const MAX_ACKED_STATES: usize = 3;

/// A baseline state of an object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckedState<'a> {
    /// Age in ticks, at least 1.
    pub(super) age: u32,
    pub(super) cells: &'a [u32],
}

/// Baseline states of an object, newest first.
#[derive(Debug, Default)]
pub(super) struct AckedStates<'a> {
    states: [AckedState<'a>; MAX_ACKED_STATES],
    len: usize,
}

/// The baseline of a packet, the same when the packet is written and when it is read.
pub(super) trait Baseline {
    /// Returns the class of an object; `None` if it has no baseline state, or is despawned in the
    /// baseline. Passes its baseline states to `each`, newest first, until that returns false. A
    /// writer looks the object up by the index of its update, a reader by its id.
    fn acked_states<'k>(
        &'k self,
        update: usize,
        id: ObjectId,
        each: impl FnMut(AckedState<'k>) -> bool,
    ) -> Option<u16>;

    /// Does the same as [`acked_states`](Self::acked_states) by the id alone, for an object that
    /// the baseline packet updates.
    fn find<'k>(&'k self, id: ObjectId, each: impl FnMut(AckedState<'k>) -> bool) -> Option<u16>;

    /// Returns the ids of the objects that the baseline packet updates, in order; empty if the
    /// baseline packet is so old that their states may have expired on the sender.
    fn baseline_ids(&self) -> &[ObjectId];
}

/// Passes the baseline states of an object to `each`. If the baseline packet is complete, newer
/// than the newest state, and does not update the object, the object is at rest: its state is also
/// that of the baseline packet's tick.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn visit_acked_states<'a>(
    newest: AckedState<'a>,
    complete_baseline_age: Option<u32>,
    older: impl Iterator<Item = AckedState<'a>>,
    mut each: impl FnMut(AckedState<'a>) -> bool,
) {
    let mut left = MAX_ACKED_STATES - 1;
    if let Some(age) = complete_baseline_age.filter(|&age| age < newest.age) {
        left -= 1;
        if !each(AckedState { age: age.max(1), cells: newest.cells }) {
            return;
        }
    }
    if each(newest) {
        let _ = older.take(left).all(each);
    }
}

impl ObjectUpdates {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.cells.clear();
        self.check = Check::default();
    }

    /// Returns the state of an updated object; `None` if it has despawned.
    pub(super) fn cells_of(&self, update: &ObjectUpdate) -> Option<&[u32]> {
        (update.kind != UpdateKind::Despawn).then(|| &self.cells[update.start..][..update.columns])
    }

    /// Returns the sums over the updates that were read.
    pub(super) fn check_of_updates(&self) -> Check {
        let mut check = Check::default();
        for update in &self.list {
            check.add(update, self.cells_of(update).unwrap_or_default());
        }
        check
    }

    /// Adds an object with its cells; a despawned one has neither cells nor a class.
    pub(super) fn push(&mut self, id: ObjectId, class: u16, kind: UpdateKind, cells: &[u32]) {
        let start = self.cells.len();
        let (class, cells) =
            if kind == UpdateKind::Despawn { (0, &[][..]) } else { (class, cells) };
        let update = ObjectUpdate { id, class, kind, start, columns: cells.len() };
        self.check.add(&update, cells);
        self.list.push(update);
        self.cells.extend_from_slice(cells);
    }
}

impl<'a> AckedStates<'a> {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds an older state; returns whether there is room for more.
    pub(super) fn push(&mut self, older: AckedState<'a>) -> bool {
        if let Some(state) = self.states.get_mut(self.len) {
            *state = older;
            self.len += 1;
        }
        self.len < MAX_ACKED_STATES
    }

    /// Returns the states, newest first.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn as_slice(&self) -> &[AckedState<'a>] {
        self.states.get(..self.len).unwrap_or_default()
    }
}
