//! Selection of the objects of a packet: the dirty ones, by priority.

use alloc::vec::Vec;

use super::history::Versions;
use super::mention::Change;
use super::store::{Slot, Store};
use super::view::View;
use super::{Leaving, ObjectView, Protocol};
use tightwire_core::schema::ObjectId;

/// Relevancy function: returns the weight of an object for the receiver, or `None` if the object is
/// not relevant.
pub(super) type Interest<'i> = dyn FnMut(ObjectView<'_>) -> Option<u32> + 'i;

/// Relevancy function of the object in a slot, by its class and cells.
type Ask<'a> = dyn FnMut(u32, u16, &[u32]) -> Option<u32> + 'a;

/// Number of snapshots in which the relevancy of every object is asked for at least once.
const PATROL: usize = 16;

/// Weight of a despawned object: its mention takes few bits, and its ghost is in the way.
const GONE: u32 = u16::MAX as u32;

/// The dirty objects of a receiver, and those of them that go into the packet.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) candidates: Vec<Candidate>,
    /// The objects of the packet, in the order of their ids.
    pub(super) chosen: Vec<Candidate>,
    /// Number of candidates that a complete packet mentions: those whose baseline state differs.
    pub(super) differing: usize,
    /// No packet of this tick can be complete.
    pub(super) never_complete: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) slot: u32,
    pub(super) id: ObjectId,
    pub(super) change: Change,
    /// The baseline state differs from the current one; otherwise only a state in flight may
    /// differ.
    differs: bool,
    /// The current version.
    pub(super) version: Versions,
}

impl Selection {
    /// Collects dirty objects and raises their priority. Without `interest` every object is
    /// relevant, with the same weight.
    pub(super) fn collect(
        &mut self,
        protocol: &Protocol,
        store: &Store,
        view: &mut View,
        interest: Option<&mut Interest<'_>>,
    ) {
        self.candidates.clear();
        self.never_complete = false;
        view.resize(store.slots());
        take_changes(store, view);
        if interest.is_none() && core::mem::take(&mut view.has_interest) {
            show_hidden(view);
        }
        view.has_interest |= interest.is_some();
        let mut ask = interest.map(|interest| {
            |slot: u32, class: u16, cells: &[u32]| {
                interest(ObjectView::new(protocol, store.slot(slot).id, class, cells))
            }
        });
        let mut ask = ask.as_mut().map(|ask| ask as &mut Ask<'_>);
        if let Some(ask) = &mut ask {
            patrol(store, view, ask);
        }
        let in_flight = view.oldest_in_flight();
        for word in 0..view.outdated.len() {
            let mut left = view.outdated[word];
            while left != 0 {
                let slot = word as u32 * 64 + left.trailing_zeros();
                left &= left - 1;
                if !self.consider(store, view, slot, in_flight, ask.as_deref_mut()) {
                    view.set_outdated(slot, false);
                }
            }
        }
        self.differing = self.candidates.iter().filter(|candidate| candidate.differs).count();
    }

    /// Chooses all objects whose baseline state differs.
    pub(super) fn choose_all(&mut self) {
        self.chosen.clear();
        if self.differing == self.candidates.len() {
            self.chosen.extend_from_slice(&self.candidates);
        } else {
            self.chosen.extend(self.candidates.iter().filter(|candidate| candidate.differs));
        }
        self.sort_chosen();
    }

    fn sort_chosen(&mut self) {
        // Slots of objects that were added in the order of their ids are in that order too.
        if !self.chosen.is_sorted_by_key(|candidate| candidate.id) {
            self.chosen.sort_unstable_by_key(|candidate| candidate.id);
        }
    }

    /// Sorts the candidates by priority. If not all fit, objects that are only in flight compete
    /// with those whose baseline state differs.
    pub(super) fn sort_by_urgency(&mut self, view: &View) {
        // The id decides between equal priorities, so that the same world makes the same packets.
        let urgency = |candidate: &Candidate| view.objects[candidate.slot as usize].urgency;
        self.candidates
            .sort_unstable_by_key(|candidate| (u64::MAX - urgency(candidate), candidate.id));
    }

    /// Drops candidates that may take a large part of a packet, except the one of the highest
    /// priority if it is such an object; returns whether it is.
    pub(super) fn keep_one_large(&mut self, store: &Store, room: usize) -> bool {
        let is_large = |candidate: &Candidate| {
            let class = store.newest(candidate.slot).map(|now| now.class);
            let most = class.map_or(0, |class| store.max_bytes(class));
            candidate.change != Change::Gone && most > room / 4
        };
        let is_first = self.candidates.first().is_some_and(is_large);
        let mut place = 0;
        self.candidates.retain(|candidate| {
            place += 1;
            !is_large(candidate) || is_first && place == 1
        });
        is_first
    }

    /// Chooses the `count` candidates of the highest priority.
    pub(super) fn choose_first(&mut self, count: usize) {
        self.chosen.clear();
        self.chosen.extend_from_slice(&self.candidates[..count]);
        self.sort_chosen();
    }

    /// Adds the object to the candidates if it is dirty; returns whether it is.
    fn consider(
        &mut self,
        store: &Store,
        view: &mut View,
        slot: u32,
        oldest_in_flight: u32,
        ask: Option<&mut Ask<'_>>,
    ) -> bool {
        let Some(now) = store.newest(slot) else { return false };
        let weight = match (now.cells, ask) {
            (Some(cells), Some(ask)) => ask(slot, now.class, cells),
            (Some(_), None) => Some(1),
            (None, _) => Some(GONE),
        };
        let known = view.known(store, slot);
        let seen = &mut view.objects[slot as usize];
        seen.is_outside = weight.is_none();
        seen.sent = seen.sent.filter(|&sent| sent >= oldest_in_flight);
        let is_in_flight = seen.sent.is_some();
        let mut target = now.cells;
        let known_cells = known.and_then(|known| known.cells);
        if weight.is_some() {
            seen.left = None;
        } else if view.leaving == Leaving::Despawn || known_cells.is_none() && !is_in_flight {
            target = None;
        } else {
            // The receiver's state of the object must not depend on which packets were lost: the
            // object freezes in the first state that is acked.
            let left = *seen.left.get_or_insert(store.tick);
            if seen.newest().is_some_and(|known| known >= left) {
                self.never_complete |= is_in_flight;
                return is_in_flight;
            }
        }
        let change = match (known, known_cells, target) {
            (Some(known), Some(_), Some(_)) if known.class == now.class => Change::Update,
            (_, _, Some(_)) => Change::Fresh,
            (_, _, None) => Change::Gone,
        };
        let differs = match change {
            Change::Update => differs(known_cells.unwrap_or(&[]), target.unwrap_or(&[])),
            Change::Fresh => true,
            // Also if the acked state has expired.
            Change::Gone => known_cells.is_some() || known.is_none() && seen.was_told(),
        };
        if !differs && !is_in_flight {
            return false;
        }
        seen.urgency = seen.urgency.saturating_add(u64::from(weight.unwrap_or(GONE).max(1)));
        let &Slot { id, versions: version, .. } = store.slot(slot);
        self.candidates.push(Candidate { slot, id, change, differs, version });
        true
    }
}

/// Marks the objects dirty that changed since the last snapshot: all objects if this is the first
/// snapshot, the first after a resync, or if the record of changes does not go back so far.
fn take_changes(store: &Store, view: &mut View) {
    match view.recorded.and_then(|recorded| store.changed_since(recorded)) {
        Some((slots, _)) => slots.for_each(|slot| view.set_outdated(slot, true)),
        None => store.iter().for_each(|(_, slot)| view.set_outdated(slot, true)),
    }
    view.recorded = Some(store.recorded());
}

/// Marks the objects dirty that were not relevant: without `interest` all are.
fn show_hidden(view: &mut View) {
    for slot in 0..view.objects.len() {
        if view.objects[slot].is_outside {
            view.set_outdated(slot as u32, true);
        }
    }
}

/// Looks for unchanged objects that became relevant, or ceased to be, as when the receiver's own
/// position moves.
fn patrol(store: &Store, view: &mut View, ask: &mut Ask<'_>) {
    let slots = store.slots();
    for _ in 0..slots.div_ceil(PATROL) {
        let slot = view.patrol % slots;
        view.patrol = slot + 1;
        let Some(now) = store.newest(slot as u32) else { continue };
        let Some(cells) = now.cells.filter(|_| !view.is_outdated(slot as u32)) else { continue };
        let is_outside = ask(slot as u32, now.class, cells).is_none();
        if is_outside != view.objects[slot].is_outside {
            view.set_outdated(slot as u32, true);
        }
    }
}

/// Whether two rows of cells differ. Compares all cells, since a branch at the first difference
/// would be mispredicted.
fn differs(one: &[u32], other: &[u32]) -> bool {
    let cells = one.iter().zip(other);
    one.len() != other.len() || cells.fold(0, |any, (one, other)| any | (one ^ other)) != 0
}
