//! Selection of the objects of a packet: the dirty ones, by priority.

use alloc::vec::Vec;

use super::auto_level::Cut;
use super::history::Versions;
use super::relevancy::Relevancy;
use super::slot_set::SlotSet;
use super::store::{Slot, Store};
use super::update::UpdateKind;
use super::view::View;
use super::{Leaving, ObjectView, Protocol, Row};
use tightwire_core::schema::ObjectId;

/// Relevancy function: returns the weight of an object for the receiver, or `None` if the object is
/// not relevant.
pub(super) type Interest<'i> = dyn FnMut(ObjectView<'_>) -> Option<u32> + 'i;

/// Number of snapshots in which the relevancy of every object is asked for at least once.
const RELEVANCY_PERIOD: usize = 16;

/// Weight of a despawned object: its update takes few bits, and its ghost is in the way.
const DESPAWN_WEIGHT: u32 = u16::MAX as u32;

/// Weight of an object for its owner, who waits for nothing else as much.
const OWNED_WEIGHT: u32 = u32::MAX;

/// The dirty objects of a receiver, and those of them that go into the packet.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) candidates: Vec<Candidate>,
    /// The objects of the packet, in the order of their ids.
    pub(super) chosen: Vec<Candidate>,
    /// Number of candidates that a complete packet updates: those whose baseline state differs.
    pub(super) differing: usize,
    /// No packet of this tick can be complete.
    pub(super) never_complete: bool,
    /// The objects that are relevant to the receiver, while they are collected.
    visible: SlotSet,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) slot: u32,
    pub(super) id: ObjectId,
    pub(super) kind: UpdateKind,
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
        relevancy: &Relevancy,
        view: &mut View,
        interest: Option<&mut Interest<'_>>,
    ) {
        self.candidates.clear();
        self.never_complete = false;
        view.resize(store.slots());
        mark_changed_dirty(store, view);
        if interest.is_none() && core::mem::take(&mut view.has_interest) {
            mark_irrelevant_dirty(view);
        }
        view.has_interest |= interest.is_some();
        relevancy.update_receiver(protocol, store, view, &mut self.visible);
        let mut weights = Weights { protocol, store, relevancy, interest };
        if weights.interest.is_some() {
            recheck_relevancy(store, view, &mut weights);
        }
        let in_flight = view.oldest_in_flight();
        for word in 0..view.dirty.len() {
            let mut left = view.dirty[word]
                & (view.receiver_relevancy.visible_word(word) | view.maybe_known_slots.word(word));
            while left != 0 {
                let slot = word as u32 * 64 + left.trailing_zeros();
                left &= left - 1;
                if !self.consider(store, view, slot, in_flight, &mut weights) {
                    view.set_dirty(slot, false);
                }
            }
        }
        self.differing = self.candidates.iter().filter(|candidate| candidate.differs).count();
    }

    /// Whether a packet with all objects whose baseline state differs may fit into `room` bytes, and
    /// the receiver may have it.
    pub(super) fn may_be_complete(&self, store: &Store, view: &View, room: usize) -> bool {
        let likely = 2 * affordable(view, room) + 64;
        !self.never_complete && self.differing <= view.allowance(store).min(likely)
    }

    /// Sorts the candidates by priority, without those that are too large. Returns how many of the
    /// first to try, and whether the first one is large.
    pub(super) fn rank(&mut self, store: &Store, view: &View, room: usize) -> (usize, bool) {
        self.sort_by_priority(view);
        let has_large = self.keep_one_large(store, room);
        let count = self.candidates.len().min(affordable(view, room) + 1);
        (count.min(view.allowance(store)), has_large)
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

    /// Counts the objects whose baseline state differs and that were not chosen for lack of room;
    /// those beyond the `allowance` of the view do not count.
    pub(super) fn cut(&self, allowance: usize) -> Cut {
        let chosen = self.chosen.iter().filter(|candidate| candidate.differs).count();
        let wanted = self.differing.min(allowance);
        Cut { left_out: wanted.saturating_sub(chosen), wanted }
    }

    fn sort_chosen(&mut self) {
        // Slots of objects that were added in the order of their ids are in that order too.
        if !self.chosen.is_sorted_by_key(|candidate| candidate.id) {
            self.chosen.sort_unstable_by_key(|candidate| candidate.id);
        }
    }

    /// Sorts the candidates by priority. If not all fit, objects that are only in flight compete
    /// with those whose baseline state differs.
    fn sort_by_priority(&mut self, view: &View) {
        // The id decides between equal priorities, so that the same world makes the same packets.
        let priority = |candidate: &Candidate| view.objects[candidate.slot as usize].priority;
        self.candidates
            .sort_unstable_by_key(|candidate| (u64::MAX - priority(candidate), candidate.id));
    }

    /// Drops candidates that may take a large part of a packet, except the one of the highest
    /// priority if it is such an object; returns whether it is.
    fn keep_one_large(&mut self, store: &Store, room: usize) -> bool {
        let is_large = |candidate: &Candidate| {
            let class = store.newest(candidate.slot).map(|current| current.class);
            let most = class.map_or(0, |class| store.max_bytes(class));
            candidate.kind != UpdateKind::Despawn && most > room / 4
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
        weights: &mut Weights<'_, '_>,
    ) -> bool {
        view.receiver_relevancy.count(1);
        let is_owner = store.owners.get(slot) == Some(view.receiver);
        let version = store.versions_for(slot, is_owner);
        let Some(current) = store.history.newest(version) else { return false };
        let weight = match current.cells {
            Some(_) if is_owner => Some(OWNED_WEIGHT),
            Some(cells) => weights.of(view, slot, Row { class: current.class, cells }),
            None => Some(DESPAWN_WEIGHT),
        };
        let acked = view.newest_acked(store, slot);
        let status = &mut view.objects[slot as usize];
        status.is_irrelevant = weight.is_none();
        status.sent = status.sent.filter(|&sent| sent >= oldest_in_flight);
        let is_in_flight = status.sent.is_some();
        let mut target = current.cells;
        let acked_cells = acked.and_then(|acked| acked.cells);
        if weight.is_some() {
            status.frozen = None;
        } else if view.leaving == Leaving::Despawn || acked_cells.is_none() && !is_in_flight {
            target = None;
        } else {
            // The receiver's state of the object must not depend on which packets were lost: the
            // object freezes in the first state that is acked.
            let frozen = *status.frozen.get_or_insert(store.tick);
            if status.newest().is_some_and(|acked| acked >= frozen) {
                self.never_complete |= is_in_flight;
                return is_in_flight;
            }
        }
        let kind = match (acked, acked_cells, target) {
            (Some(acked), Some(_), Some(_)) if acked.class == current.class => UpdateKind::Delta,
            (_, _, Some(_)) => UpdateKind::Full,
            (_, _, None) => UpdateKind::Despawn,
        };
        let differs = match kind {
            UpdateKind::Delta => differs(acked_cells.unwrap_or(&[]), target.unwrap_or(&[])),
            UpdateKind::Full => true,
            // Also if the acked state has expired.
            UpdateKind::Despawn => {
                acked_cells.is_some() || acked.is_none() && status.has_acked_state()
            }
        };
        if !differs && !is_in_flight {
            if kind == UpdateKind::Despawn {
                view.maybe_known_slots.set(slot, false);
            }
            return false;
        }
        status.priority =
            status.priority.saturating_add(u64::from(weight.unwrap_or(DESPAWN_WEIGHT).max(1)));
        let &Slot { id, .. } = store.slot(slot);
        self.candidates.push(Candidate { slot, id, kind, differs, version });
        true
    }
}

/// Returns how many updates are likely to fit into `room` bytes.
fn affordable(view: &View, room: usize) -> usize {
    room * 8 * 16 / view.update_cost.max(1)
}

/// The weights of objects for a receiver.
struct Weights<'a, 'i> {
    protocol: &'a Protocol,
    store: &'a Store,
    relevancy: &'a Relevancy,
    interest: Option<&'a mut Interest<'i>>,
}

impl Weights<'_, '_> {
    /// Returns the weight of an object; `None` if it is not relevant.
    fn of(&mut self, view: &View, slot: u32, row: Row<'_>) -> Option<u32> {
        let Self { protocol, store, relevancy, interest } = self;
        if store.owners.get(slot) == Some(view.receiver) {
            return Some(OWNED_WEIGHT);
        }
        if !view.receiver_relevancy.is_visible(slot) {
            return None;
        }
        let factor = match interest {
            Some(interest) if relevancy.is_custom(slot) => {
                // With all fields, for every receiver.
                let cells = store.newest(slot).and_then(|state| state.cells).unwrap_or(row.cells);
                interest(ObjectView::new(protocol, store.slot(slot).id, row.class, cells))?
            }
            _ => relevancy.factor(protocol, view, slot, row),
        };
        Some(relevancy.weighted(slot, row.class, factor))
    }
}

/// Marks the objects dirty that changed since the last snapshot: all objects if this is the first
/// snapshot, the first after a resync, or if the record of changes does not go back so far.
fn mark_changed_dirty(store: &Store, view: &mut View) {
    match view.change_cursor.map(|change_cursor| (change_cursor, store.changed_in(change_cursor))) {
        Some((_, Some(changed))) => {
            view.dirty
                .iter_mut()
                .zip(changed.words())
                .for_each(|(dirty, changed)| *dirty |= changed);
        }
        Some((change_cursor, None)) => match store.changed_since(change_cursor) {
            Some((slots, _)) => slots.for_each(|slot| view.set_dirty(slot, true)),
            None => store.iter().for_each(|(_, slot)| view.set_dirty(slot, true)),
        },
        None => store.iter().for_each(|(_, slot)| {
            view.set_dirty(slot, true);
            // The receiver has the object from the beginning.
            if !store.slot(slot).initial.is_empty() {
                view.maybe_known_slots.set(slot, true);
            }
        }),
    }
    view.change_cursor = Some(store.change_cursor());
}

/// Marks the objects dirty that were not relevant: without `interest` all are.
fn mark_irrelevant_dirty(view: &mut View) {
    for slot in 0..view.objects.len() {
        if view.objects[slot].is_irrelevant {
            view.set_dirty(slot as u32, true);
        }
    }
}

/// Looks for unchanged objects that became relevant, or ceased to be, as when the receiver's own
/// position moves.
fn recheck_relevancy(store: &Store, view: &mut View, weights: &mut Weights<'_, '_>) {
    let slots = store.slots();
    for _ in 0..slots.div_ceil(RELEVANCY_PERIOD) {
        let slot = (view.relevancy_cursor % slots) as u32;
        view.relevancy_cursor = slot as usize + 1;
        if view.is_dirty(slot) || !weights.relevancy.is_custom(slot) {
            continue;
        }
        let Some(current) = store.newest(slot) else { continue };
        let Some(cells) = current.cells else { continue };
        let row = Row { class: current.class, cells };
        let is_irrelevant = weights.of(view, slot, row).is_none();
        if is_irrelevant != view.objects[slot as usize].is_irrelevant {
            view.set_dirty(slot, true);
        }
    }
}

/// Whether two rows of cells differ. Compares all cells, since a branch at the first difference
/// would be mispredicted.
fn differs(one: &[u32], other: &[u32]) -> bool {
    let cells = one.iter().zip(other);
    one.len() != other.len() || cells.fold(0, |any, (one, other)| any | (one ^ other)) != 0
}
