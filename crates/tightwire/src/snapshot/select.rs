//! Which objects a packet mentions.

use alloc::vec::Vec;

use super::mention::Change;
use super::store::Store;
use super::view::View;
use super::{Leaving, ObjectView};
use crate::schema::ObjectId;

/// How important an object is to the receiver; none if it is not for it to see.
pub(super) type Interest<'i> = dyn FnMut(ObjectView) -> Option<u32> + 'i;

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
    urgency: u64,
    /// What its class takes at most.
    max_bytes: usize,
}

impl Selection {
    /// Finds what the receiver does not have, and lets it become more urgent. Without `interest`
    /// everything is for everyone, and equally important.
    pub(super) fn collect(
        &mut self,
        store: &Store,
        view: &mut View,
        mut interest: Option<&mut Interest<'_>>,
    ) {
        self.candidates.clear();
        self.never_complete = false;
        view.objects.resize(store.slots(), Default::default());
        take_changes(store, view);
        if interest.is_none() && core::mem::take(&mut view.has_interest) {
            show_hidden(view);
        }
        view.has_interest |= interest.is_some();
        if let Some(interest) = &mut interest {
            patrol(store, view, interest);
        }
        let in_flight = view.oldest_in_flight();
        let mut outdated = core::mem::take(&mut view.outdated);
        outdated.retain(|&slot| {
            let keep = self.consider(store, view, slot, in_flight, interest.as_deref_mut());
            view.objects[slot as usize].is_outdated = keep;
            keep
        });
        view.outdated = outdated;
        self.differing = self.candidates.iter().filter(|candidate| candidate.differs).count();
    }

    /// Chooses all that differs.
    pub(super) fn choose_all(&mut self) {
        self.chosen.clear();
        self.chosen.extend(self.candidates.iter().filter(|candidate| candidate.differs));
        self.chosen.sort_unstable_by_key(|candidate| candidate.id);
    }

    /// If not everything fits, what may differ waits in the same line as what does.
    pub(super) fn sort_by_urgency(&mut self) {
        // The id decides between equals, so that the same world makes the same packets.
        self.candidates
            .sort_unstable_by_key(|candidate| (u64::MAX - candidate.urgency, candidate.id));
    }

    /// Of objects that may take a large part of a packet, keeps the one that is the first of the line, if
    /// one is; whether it is.
    pub(super) fn keep_one_large(&mut self, room: usize) -> bool {
        let is_large = |candidate: &Candidate| candidate.max_bytes > room / 4;
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
        self.chosen.sort_unstable_by_key(|candidate| candidate.id);
    }

    /// Whether the receiver may not have the object as it is.
    fn consider(
        &mut self,
        store: &Store,
        view: &mut View,
        slot: u32,
        oldest_in_flight: u32,
        interest: Option<&mut Interest<'_>>,
    ) -> bool {
        let Some(now) = store.newest(slot) else { return false };
        let weight = match (now.cells, interest) {
            (Some(_), Some(interest)) => interest(object_view(store, slot, now.class)),
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
            Change::Update => known_cells != target,
            Change::Fresh => true,
            // Also if what it has is from so long ago that nobody remembers.
            Change::Gone => known_cells.is_some() || known.is_none() && !seen.ticks().is_empty(),
        };
        if !differs && !is_in_flight {
            return false;
        }
        seen.urgency = seen.urgency.saturating_add(u64::from(weight.unwrap_or(GONE).max(1)));
        let (id, urgency) = (store.slot(slot).id, seen.urgency);
        let max_bytes = if change == Change::Gone { 0 } else { store.max_bytes(now.class) };
        self.candidates.push(Candidate { slot, id, change, differs, urgency, max_bytes });
        true
    }
}

/// What changed since the last snapshot may be outdated; for a new receiver everything is.
fn take_changes(store: &Store, view: &mut View) {
    let View { objects, outdated, recorded, .. } = view;
    let mut add = |slot: u32| {
        let seen = &mut objects[slot as usize];
        if !seen.is_outdated {
            seen.is_outdated = true;
            outdated.push(slot);
        }
    };
    match recorded.and_then(|recorded| store.changed_since(recorded)) {
        Some((slots, _)) => slots.for_each(&mut add),
        None => store.iter().for_each(|(_, slot)| add(slot)),
    }
    *recorded = Some(store.recorded());
}

/// Everything is for the receiver now, also what was not.
fn show_hidden(view: &mut View) {
    let View { objects, outdated, .. } = view;
    for (slot, seen) in (0..).zip(objects.iter_mut()).filter(|(_, seen)| seen.is_outside) {
        if !seen.is_outdated {
            seen.is_outdated = true;
            outdated.push(slot);
        }
    }
}

/// Looks for objects that do not change and yet come into view, or leave it, since the receiver does.
fn patrol(store: &Store, view: &mut View, interest: &mut Interest<'_>) {
    let slots = store.slots();
    for _ in 0..slots.div_ceil(PATROL) {
        let slot = view.patrol % slots;
        view.patrol = slot + 1;
        let Some(now) = store.newest(slot as u32).filter(|now| now.cells.is_some()) else {
            continue;
        };
        let seen = &mut view.objects[slot];
        if seen.is_outdated {
            continue;
        }
        let is_outside = interest(object_view(store, slot as u32, now.class)).is_none();
        if is_outside != seen.is_outside {
            seen.is_outdated = true;
            view.outdated.push(slot as u32);
        }
    }
}

fn object_view(store: &Store, slot: u32, class: u16) -> ObjectView {
    ObjectView { id: store.slot(slot).id, class }
}
