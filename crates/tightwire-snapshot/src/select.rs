//! Which objects a packet mentions.

use alloc::vec::Vec;

use super::history::Versions;
use super::mention::Change;
use super::store::{Slot, Store};
use super::view::View;
use super::{Leaving, ObjectView, Protocol};
use tightwire_core::schema::ObjectId;

/// How important an object is to the receiver; none if it is not for it to see.
pub(super) type Interest<'i> = dyn FnMut(ObjectView<'_>) -> Option<u32> + 'i;

/// The same of the object in a slot, by its class and cells.
type Ask<'a> = dyn FnMut(u32, u16, &[u32]) -> Option<u32> + 'a;

/// In how many snapshots every object is asked for its relevance at least once.
const PATROL: usize = 16;

/// The weight of an object that is gone: it is mentioned in a few bits, and its ghost is in the way.
const GONE: u32 = u16::MAX as u32;

/// What should be mentioned.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) candidates: Vec<Candidate>,
    /// Those that a packet is made of, in the order of their ids.
    pub(super) chosen: Vec<Candidate>,
    /// How many candidates a complete packet mentions.
    pub(super) differing: usize,
    /// No packet can be complete.
    pub(super) never_complete: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) slot: u32,
    pub(super) id: ObjectId,
    pub(super) change: Change,
    /// The receiver is known to have something else; otherwise it may have something else.
    differs: bool,
    /// How it is now.
    pub(super) version: Versions,
}

impl Selection {
    /// Finds what the receiver does not have, and lets it become more urgent. Without `interest`
    /// everything is for everyone, and equally important.
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

    /// Chooses all that differs.
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
        // The places of objects that were added in the order of their ids are in that order too.
        if !self.chosen.is_sorted_by_key(|candidate| candidate.id) {
            self.chosen.sort_unstable_by_key(|candidate| candidate.id);
        }
    }

    /// If not everything fits, what may differ waits in the same line as what does.
    pub(super) fn sort_by_urgency(&mut self, view: &View) {
        // The id decides between equals, so that the same world makes the same packets.
        let urgency = |candidate: &Candidate| view.objects[candidate.slot as usize].urgency;
        self.candidates
            .sort_unstable_by_key(|candidate| (u64::MAX - urgency(candidate), candidate.id));
    }

    /// Of objects that may take a large part of a packet, keeps the one that is the first of the line, if
    /// one is; whether it is.
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

    /// Chooses the first of the line.
    pub(super) fn choose_first(&mut self, count: usize) {
        self.chosen.clear();
        self.chosen.extend_from_slice(&self.candidates[..count]);
        self.sort_chosen();
    }

    /// Whether the receiver may not have the object as it is.
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
            // What the receiver has of it must not depend on which packets were lost: it freezes as
            // it is in the first that is known to have arrived.
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
            // Also if what it has is from so long ago that nobody remembers.
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

/// What changed since the last snapshot may be outdated; for a new receiver everything is.
fn take_changes(store: &Store, view: &mut View) {
    match view.recorded.and_then(|recorded| store.changed_since(recorded)) {
        Some((slots, _)) => slots.for_each(|slot| view.set_outdated(slot, true)),
        None => store.iter().for_each(|(_, slot)| view.set_outdated(slot, true)),
    }
    view.recorded = Some(store.recorded());
}

/// Everything is for the receiver now, also what was not.
fn show_hidden(view: &mut View) {
    for slot in 0..view.objects.len() {
        if view.objects[slot].is_outside {
            view.set_outdated(slot as u32, true);
        }
    }
}

/// Looks for objects that do not change and yet come into view, or leave it, since the receiver does.
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

/// Whether rows of cells differ. All are looked at, since a branch at the first that differs would be
/// foreseen wrong.
fn differs(one: &[u32], other: &[u32]) -> bool {
    let cells = one.iter().zip(other);
    one.len() != other.len() || cells.fold(0, |any, (one, other)| any | (one ^ other)) != 0
}
