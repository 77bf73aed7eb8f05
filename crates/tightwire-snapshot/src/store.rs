//! The sender's world: the current states of objects, and their history.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::{replace, take};

use super::SetError;
use super::check::InitialChecksum;
use super::given::GivenValue;
use super::history::{History, Stamp, State, Versions};
use super::layout::Audience;
use super::ownership::Owners;
use super::protocol::Protocol;
use super::slot_set::SlotSet;
use super::slots::Slots;
use super::spawn_ids::SpawnIds;
use super::tombstones::Tombstones;
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::Wire;

/// The objects, with the versions of the last ticks.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) tick: u32,
    slots: Slots<Slot>,
    /// The values that were given for the newest states, by slot.
    given: Vec<GivenValue>,
    pub(super) history: History,
    /// Slots that changed in each of the last ticks, oldest first.
    changes: VecDeque<Changes>,
    /// Slots that changed in this tick.
    changed: SlotSet,
    /// End of the record of changes when this tick began.
    tick_start: ChangeCursor,
    /// Slots of despawned objects whose despawn is not yet acked by every receiver.
    pub(super) despawned: Vec<u32>,
    /// Bytes of the largest value, by class.
    max_bytes: Vec<usize>,
    max_objects: usize,
    /// Largest number of changes of a tick so far; all records reserve as much, so that in time
    /// none has to grow.
    max_changes: usize,
    history_ticks: u32,
    pub(super) origin: InitialChecksum,
    /// Objects without a slot that the history still reaches.
    tombstones: Tombstones,
    pub(super) spawn_ids: SpawnIds,
    pub(super) owners: Owners,
    protocol: Protocol,
    /// A row as only some receivers get it, while it is made.
    masked: Vec<u32>,
}

/// An object, until every receiver has acked its despawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) id: ObjectId,
    pub(super) versions: Versions,
    /// The states as the owner gets them; empty if these are the states as they are.
    for_owner: Versions,
    /// The states as all others get them; empty if these are the states as they are.
    for_non_owners: Versions,
    /// The state that every receiver has from the beginning; empty if there is none.
    pub(super) initial: Versions,
    /// The slot is in [`Store::despawned`], although the object may have spawned again.
    pub(super) is_listed_despawned: bool,
}

/// Position in the record of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ChangeCursor {
    pub(super) tick: u32,
    changes: usize,
}

#[derive(Debug, Default)]
struct Changes {
    tick: u32,
    slots: Vec<u32>,
    /// The version of each slot; its block may have been reused for another version of the same
    /// tick.
    versions: Vec<Versions>,
    /// The versions before these have expired.
    is_oldest: bool,
}

impl Store {
    pub(super) fn new(protocol: &Protocol) -> Self {
        let config = protocol.config();
        let columns = protocol.classes().iter().map(|class| class.layout.columns.len());
        Self {
            tick: 0,
            slots: Slots::default(),
            given: Vec::new(),
            history: History::new(columns),
            changes: VecDeque::from(vec![Changes::default()]),
            changed: SlotSet::default(),
            tick_start: ChangeCursor::default(),
            despawned: Vec::new(),
            max_bytes: protocol.classes().iter().map(|class| class.max_bytes).collect(),
            max_objects: config.max_objects,
            max_changes: 0,
            history_ticks: config.history,
            origin: InitialChecksum::default(),
            tombstones: Tombstones::default(),
            spawn_ids: SpawnIds::new(config.ticks_per_second.saturating_mul(2)),
            owners: Owners::default(),
            protocol: protocol.clone(),
            masked: Vec::new(),
        }
    }

    /// Begins a tick, and lets the versions expire that were replaced longer ago than the history
    /// goes back.
    pub(super) fn begin_tick(&mut self, tick: u32) {
        self.tick = tick;
        self.spawn_ids.begin_tick(tick);
        self.tick_start = self.change_cursor();
        self.changed.clear();
        let oldest = tick.saturating_sub(self.history_ticks);
        // No state from before a version of this age is a baseline any more. Goes by versions and
        // not by objects, whose lists are long and scattered in memory.
        let is_old = |changes: &&mut Changes| changes.tick <= oldest;
        for changes in self.changes.iter_mut().take_while(is_old) {
            if !replace(&mut changes.is_oldest, true) {
                for &version in &changes.versions {
                    self.history.expire_older(version, changes.tick);
                }
            }
        }
        self.tombstones.expire(&mut self.history, oldest);
        let mut changes = Changes::default();
        while self.changes.front().is_some_and(|changes| changes.tick < oldest) {
            changes = self.changes.pop_front().unwrap_or_default();
        }
        self.max_changes = self.max_changes.max(self.tick_start.changes);
        changes.slots.clear();
        changes.slots.reserve(self.max_changes);
        changes.versions.clear();
        changes.versions.reserve(self.max_changes);
        (changes.tick, changes.is_oldest) = (tick, false);
        self.changes.push_back(changes);
    }

    /// Returns the slots that changed since a position in the record of changes, and the current
    /// end of the record. `None` if the record does not go back so far.
    pub(super) fn changed_since(
        &self,
        from: ChangeCursor,
    ) -> Option<(impl Iterator<Item = u32>, ChangeCursor)> {
        let oldest = self.changes.front()?;
        if from.tick < oldest.tick {
            return None;
        }
        let of_tick =
            move |changes: &'_ Changes| if changes.tick == from.tick { from.changes } else { 0 };
        let newer = self.changes.iter().skip_while(move |changes| changes.tick < from.tick);
        let slots =
            newer.flat_map(move |changes| changes.slots[of_tick(changes)..].iter().copied());
        Some((slots, self.change_cursor()))
    }

    /// Returns the slots that changed in this tick, if those are all since a position in the record
    /// of changes, and so many that a set is faster to read than the record.
    pub(super) fn changed_in(&self, from: ChangeCursor) -> Option<&SlotSet> {
        let is_dense = self.changed_in_tick() > self.changed.words().len();
        (from == self.tick_start && is_dense).then_some(&self.changed)
    }

    /// Returns the end of the record of changes.
    pub(super) fn change_cursor(&self) -> ChangeCursor {
        let newest = self.changes.back();
        newest.map_or_else(ChangeCursor::default, |changes| ChangeCursor {
            tick: changes.tick,
            changes: changes.slots.len(),
        })
    }

    /// Returns the number of objects that changed in this tick.
    pub(super) fn changed_in_tick(&self) -> usize {
        self.change_cursor().changes
    }

    pub(super) fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot]
    }

    /// Returns the size of the largest value of a class, in bytes.
    pub(super) fn max_bytes(&self, class: u16) -> usize {
        self.max_bytes.get(usize::from(class)).copied().unwrap_or(0)
    }

    pub(super) fn slots(&self) -> usize {
        self.slots.places()
    }

    pub(super) fn find(&self, id: ObjectId) -> Option<u32> {
        self.slots.find(id)
    }

    /// Returns the slot of an object, fast for the id after the one that was found last.
    pub(super) fn find_next(&mut self, id: ObjectId) -> Option<u32> {
        self.slots.find_next(id)
    }

    /// Returns the slot of an object that exists in this tick.
    pub(super) fn find_spawned(&self, id: ObjectId) -> Option<u32> {
        self.find(id).filter(|&slot| self.is_spawned(slot))
    }

    /// Whether the object in a slot exists in this tick.
    pub(super) fn is_spawned(&self, slot: u32) -> bool {
        self.newest(slot).is_some_and(|state| state.cells.is_some())
    }

    /// Iterates over all objects, despawned ones included, in the order of their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ObjectId, u32)> {
        self.slots.iter()
    }

    /// The objects whose ids are at least `from`, in the order of their ids, with their slots.
    pub(super) fn iter_from(&self, from: ObjectId) -> impl Iterator<Item = (ObjectId, u32)> {
        self.slots.iter_from(from)
    }

    pub(super) fn newest(&self, slot: u32) -> Option<State<'_>> {
        self.history.newest(self.slot(slot).versions)
    }

    /// Returns the states of an object as its owner, or everybody else, gets them.
    #[inline]
    pub(super) fn versions_for(&self, slot: u32, is_owner: bool) -> Versions {
        let slot = self.slot(slot);
        let masked = if is_owner { slot.for_owner } else { slot.for_non_owners };
        if masked.is_empty() { slot.versions } else { masked }
    }

    /// Compares a value with that which was last set in a slot. If it differs,
    /// [`keep_given`](Self::keep_given) follows once it is set.
    pub(super) fn is_given<T: Wire>(&mut self, slot: u32, class: u16, value: &T) -> bool {
        self.given[slot as usize].replace(class, value)
    }

    /// Confirms that the newest state in a slot is the value that was last compared.
    pub(super) fn keep_given(&mut self, slot: u32, class: u16) {
        self.given[slot as usize].confirm(class);
    }

    /// Sets the state of an object from this tick on.
    pub(super) fn set(&mut self, id: ObjectId, class: u16, cells: &[u32]) -> Result<(), SetError> {
        if self.spawn_ids.is_in_quarantine(id) {
            return Err(SetError::IdInQuarantine { id });
        }
        let slot = match self.slots.find(id) {
            Some(slot) => slot,
            None if self.slots.len() >= self.max_objects => return Err(SetError::TooManyObjects),
            None => {
                self.spawn_ids.take(id, false);
                self.add(id)
            }
        };
        self.change(slot, class, Some(cells));
        Ok(())
    }

    /// Adds an object with the lowest free id; `None` if there is no room.
    pub(super) fn spawn(&mut self, class: u16, cells: &[u32]) -> Option<ObjectId> {
        if self.slots.len() >= self.max_objects {
            return None;
        }
        let Self { spawn_ids, slots, .. } = self;
        let id = spawn_ids.next(|id| slots.find(id).is_some())?;
        spawn_ids.take(id, true);
        let slot = self.add(id);
        self.change(slot, class, Some(cells));
        Some(id)
    }

    /// Despawns an object from this tick on, and returns its slot; `None` if it does not exist.
    pub(super) fn remove(&mut self, id: ObjectId) -> Option<u32> {
        let slot = self.find_spawned(id)?;
        self.spawn_ids.despawn(id);
        self.change(slot, 0, None);
        Some(slot)
    }

    /// Sets the state in a slot from this tick on; `None` despawns the object.
    pub(super) fn change(&mut self, slot: u32, class: u16, cells: Option<&[u32]>) {
        let current = self.newest(slot);
        let is_same = current.is_some_and(|current| {
            current.cells == cells && (current.class == class || cells.is_none())
        });
        if is_same {
            return;
        }
        let tick = self.tick;
        let is_new = current.is_none_or(|current| current.stamp.tick != tick);
        self.given[slot as usize].forget();
        let before = self.slots[slot].versions;
        let mut versions = before;
        if !is_new {
            self.history.drop_newest(&mut versions);
        }
        self.history.push(&mut versions, Stamp { tick, packet: 0 }, class, cells);
        let place = &mut self.slots[slot];
        if cells.is_none() && !place.is_listed_despawned {
            place.is_listed_despawned = true;
            self.despawned.push(slot);
        }
        self.slots[slot].versions = versions;
        if let Some(changes) = self.changes.back_mut() {
            if is_new {
                changes.slots.push(slot);
                self.changed.set(slot, true);
            }
            // By the newest version, `begin_tick` later finds the older ones that expire.
            if is_new || versions != before {
                changes.versions.push(versions);
            }
        }
        self.change_masked(slot, class, cells, Audience::Others);
        self.change_masked(slot, class, cells, Audience::Owner);
    }

    /// Sets the state in a slot as the receivers get it to which the fields for `hidden` are not
    /// sent. Nothing changes if only such fields did.
    fn change_masked(&mut self, slot: u32, class: u16, cells: Option<&[u32]>, hidden: Audience) {
        let Some(layout) = self.protocol.layout(class) else { return };
        let place = &mut self.slots[slot];
        let versions = match hidden {
            Audience::Others => &mut place.for_owner,
            Audience::Owner | Audience::All => &mut place.for_non_owners,
        };
        let is_masked = cells.is_some() && self.protocol.has_audience(class, hidden);
        if versions.is_empty() && !is_masked {
            return;
        }
        let cells = match cells {
            Some(cells) if is_masked => {
                layout.mask(cells, hidden, &mut self.masked);
                Some(&self.masked[..])
            }
            cells => cells,
        };
        let current = self.history.newest(*versions);
        let is_same = current.is_some_and(|current| {
            current.cells == cells && (current.class == class || cells.is_none())
        });
        if is_same {
            return;
        }
        let before = *versions;
        let is_new = current.is_none_or(|current| current.stamp.tick != self.tick);
        if !is_new {
            self.history.drop_newest(versions);
        }
        self.history.push(versions, Stamp { tick: self.tick, packet: 0 }, class, cells);
        if (is_new || *versions != before)
            && let Some(changes) = self.changes.back_mut()
        {
            changes.versions.push(*versions);
        }
    }

    /// Sets the state that every receiver has from the beginning.
    pub(super) fn set_initial(
        &mut self,
        id: ObjectId,
        class: u16,
        cells: &[u32],
    ) -> Result<(), SetError> {
        self.set(id, class, cells)?;
        if let Some(slot) = self.slots.find(id) {
            let slot = &mut self.slots[slot];
            let before = self.history.newest(slot.initial);
            let before = before.and_then(|before| Some((before.class, before.cells?)));
            self.origin.replace(id, before, (class, cells));
            self.history.retain(&mut slot.initial, |_, _| false);
            self.history.push(&mut slot.initial, Stamp::default(), class, Some(cells));
        }
        Ok(())
    }

    fn add(&mut self, id: ObjectId) -> u32 {
        let none = Versions::NONE;
        let new = Slot {
            id,
            versions: none,
            for_owner: none,
            for_non_owners: none,
            initial: none,
            is_listed_despawned: false,
        };
        let slot = self.slots.add(id, new);
        self.changed.resize(self.slots.places());
        self.given.resize_with(self.slots.places(), GivenValue::default);
        // All objects may despawn at once; reserved here, so that `set` does not allocate for them.
        self.despawned.reserve(self.slots.places());
        slot
    }

    /// Frees the slot of a despawned object, once every receiver has acked the despawn. Its
    /// versions stay until the history no longer goes back to them.
    pub(super) fn free(&mut self, slot: u32) {
        let Slot { id, versions, for_owner, for_non_owners, .. } = &mut self.slots[slot];
        self.history.retain(for_owner, |_, _| false);
        self.history.retain(for_non_owners, |_, _| false);
        let (id, versions) = (*id, take(versions));
        self.tombstones.add(id, self.tick, versions);
        self.slots.remove(id, slot);
        self.spawn_ids.release(id, self.tick);
    }

    /// Returns the newest version of an object at or before `time`, and the next one after it;
    /// `None` if no version goes back so far.
    pub(super) fn around(&self, id: ObjectId, time: f64) -> Option<(State<'_>, Option<State<'_>>)> {
        let around = |versions| {
            let mut after = None;
            for state in self.history.iter(versions) {
                if f64::from(state.stamp.tick) <= time {
                    return Some((state, after));
                }
                after = Some(state);
            }
            None
        };
        let in_slot = self.slots.find(id).and_then(|slot| around(self.slots[slot].versions));
        in_slot.or_else(|| around(self.tombstones.find(&self.history, id, time)?))
    }

    pub(super) fn unlist_despawned(&mut self, slot: u32) {
        self.slots[slot].is_listed_despawned = false;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn respawning_in_every_tick_keeps_only_the_history() {
        let config = Config::default();
        let protocol = Protocol::builder(config).class::<bool>().class::<u32>();
        let protocol = protocol.build().unwrap();
        let (mut store, id) = (Store::new(&protocol), ObjectId(7));
        for tick in 1..=200 {
            store.begin_tick(tick);
            store.remove(id);
            store.set(id, 0, &[1]).unwrap();
            store.set(id, 1, &[tick]).unwrap();
        }
        let slot = store.slots.find(id).unwrap();
        let ticks: Vec<_> =
            store.history.iter(store.slot(slot).versions).map(|state| state.stamp.tick).collect();
        assert_eq!(ticks, (200 - config.history..=200).rev().collect::<Vec<_>>());
    }
}
