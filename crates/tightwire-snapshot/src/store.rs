//! The sender's world: the current states of objects, and their history.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::{replace, take};

use super::check::Origin;
use super::history::{History, Stamp, State, Versions};
use super::protocol::Protocol;
use super::slots::Slots;
use tightwire_core::schema::ObjectId;

/// The objects, with the versions of the last ticks.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) tick: u32,
    slots: Slots<Slot>,
    pub(super) history: History,
    /// Slots that changed in each of the last ticks, oldest first.
    changes: VecDeque<Changes>,
    /// Slots of despawned objects whose despawn is not yet acked by every receiver.
    pub(super) gone: Vec<u32>,
    /// Bytes of the largest value, by class.
    max_bytes: Vec<usize>,
    most: usize,
    /// Largest number of changes of a tick so far; all records reserve as much, so that in time
    /// none has to grow.
    most_changes: usize,
    remembered: u32,
    pub(super) origin: Origin,
}

/// An object, until every receiver has acked its despawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) id: ObjectId,
    pub(super) versions: Versions,
    /// The state that every receiver has from the beginning; empty if there is none.
    pub(super) initial: Versions,
    /// The slot is in [`Store::gone`], although the object may have spawned again.
    pub(super) is_listed_gone: bool,
}

/// Position in the record of changes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recorded {
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
            history: History::new(columns),
            changes: VecDeque::from(vec![Changes::default()]),
            gone: Vec::new(),
            max_bytes: protocol.classes().iter().map(|class| class.max_bytes).collect(),
            most: config.max_objects,
            most_changes: 0,
            remembered: config.history,
            origin: Origin::default(),
        }
    }

    /// Begins a tick, and lets the versions expire that were replaced longer ago than the history
    /// goes back.
    pub(super) fn begin_tick(&mut self, tick: u32) {
        self.tick = tick;
        let oldest = tick.saturating_sub(self.remembered);
        // No state from before a version of this age is a baseline any more. Goes by versions and
        // not by objects, whose lists are long and scattered in memory.
        let is_old = |changes: &&mut Changes| changes.tick <= oldest;
        for changes in self.changes.iter_mut().take_while(is_old) {
            if !replace(&mut changes.is_oldest, true) {
                for &version in &changes.versions {
                    self.history.forget_older(version, changes.tick);
                }
            }
        }
        let mut changes = Changes::default();
        while self.changes.front().is_some_and(|changes| changes.tick < oldest) {
            changes = self.changes.pop_front().unwrap_or_default();
        }
        self.most_changes = self.most_changes.max(self.recorded().changes);
        changes.slots.clear();
        changes.slots.reserve(self.most_changes);
        changes.versions.clear();
        changes.versions.reserve(self.most_changes);
        (changes.tick, changes.is_oldest) = (tick, false);
        self.changes.push_back(changes);
    }

    /// Returns the slots that changed since a position in the record of changes, and the current
    /// end of the record. `None` if the record does not go back so far.
    pub(super) fn changed_since(
        &self,
        from: Recorded,
    ) -> Option<(impl Iterator<Item = u32>, Recorded)> {
        let oldest = self.changes.front()?;
        if from.tick < oldest.tick {
            return None;
        }
        let of_tick =
            move |changes: &'_ Changes| if changes.tick == from.tick { from.changes } else { 0 };
        let newer = self.changes.iter().skip_while(move |changes| changes.tick < from.tick);
        let slots =
            newer.flat_map(move |changes| changes.slots[of_tick(changes)..].iter().copied());
        Some((slots, self.recorded()))
    }

    /// Returns the end of the record of changes.
    pub(super) fn recorded(&self) -> Recorded {
        let newest = self.changes.back();
        newest.map_or_else(Recorded::default, |changes| Recorded {
            tick: changes.tick,
            changes: changes.slots.len(),
        })
    }

    /// How many objects changed in this tick.
    pub(super) fn changed_now(&self) -> usize {
        self.recorded().changes
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

    /// Iterates over all objects, despawned ones included, in the order of their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ObjectId, u32)> {
        self.slots.iter()
    }

    pub(super) fn newest(&self, slot: u32) -> Option<State<'_>> {
        self.history.newest(self.slot(slot).versions)
    }

    /// Sets the state of an object from this tick on; `None` despawns it. Returns whether there was
    /// room.
    pub(super) fn set(&mut self, id: ObjectId, class: u16, cells: Option<&[u32]>) -> bool {
        let slot = match self.slots.find(id) {
            Some(slot) => slot,
            None if cells.is_none() => return true,
            None if self.slots.len() >= self.most => return false,
            None => self.add(id),
        };
        let now = self.newest(slot);
        let is_same =
            now.is_some_and(|now| now.cells == cells && (now.class == class || cells.is_none()));
        if is_same {
            return true;
        }
        let tick = self.tick;
        let is_new = now.is_none_or(|now| now.stamp.tick != tick);
        let before = self.slots[slot].versions;
        let mut versions = before;
        if !is_new {
            self.history.forget_newest(&mut versions);
        }
        self.history.push(&mut versions, Stamp { tick, packet: 0 }, class, cells);
        let place = &mut self.slots[slot];
        if cells.is_none() && !place.is_listed_gone {
            place.is_listed_gone = true;
            self.gone.push(slot);
        }
        self.slots[slot].versions = versions;
        if let Some(changes) = self.changes.back_mut() {
            if is_new {
                changes.slots.push(slot);
            }
            // By the newest version, `begin_tick` later finds the older ones that expire.
            if is_new || versions != before {
                changes.versions.push(versions);
            }
        }
        true
    }

    /// Sets the state that every receiver has from the beginning. Returns whether there was room.
    pub(super) fn set_initial(&mut self, id: ObjectId, class: u16, cells: &[u32]) -> bool {
        if !self.set(id, class, Some(cells)) {
            return false;
        }
        if let Some(slot) = self.slots.find(id) {
            let slot = &mut self.slots[slot];
            let before = self.history.newest(slot.initial);
            let before = before.and_then(|before| Some((before.class, before.cells?)));
            self.origin.replace(id, before, (class, cells));
            self.history.retain(&mut slot.initial, |_, _| false);
            self.history.push(&mut slot.initial, Stamp::default(), class, Some(cells));
        }
        true
    }

    fn add(&mut self, id: ObjectId) -> u32 {
        let none = Versions::NONE;
        let new = Slot { id, versions: none, initial: none, is_listed_gone: false };
        let slot = self.slots.add(id, new);
        // All objects may despawn at once; reserved here, so that `set` does not allocate for them.
        self.gone.reserve(self.slots.places());
        slot
    }

    /// Frees the slot of a despawned object, once every receiver has acked the despawn.
    pub(super) fn forget(&mut self, slot: u32) {
        let mut versions = take(&mut self.slots[slot].versions);
        self.history.retain(&mut versions, |_, _| false);
        self.slots.remove(self.slots[slot].id, slot);
    }

    pub(super) fn unlist_gone(&mut self, slot: u32) {
        self.slots[slot].is_listed_gone = false;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn an_object_that_is_made_anew_in_each_tick_leaves_no_more_behind_than_others() {
        let config = Config::default();
        let protocol = Protocol::builder(config).class::<bool>().class::<u32>();
        let protocol = protocol.build().unwrap();
        let (mut store, id) = (Store::new(&protocol), ObjectId(7));
        for tick in 1..=200 {
            store.begin_tick(tick);
            store.set(id, 0, None);
            store.set(id, 0, Some(&[1]));
            store.set(id, 1, Some(&[tick]));
        }
        let slot = store.slots.find(id).unwrap();
        let ticks: Vec<_> =
            store.history.iter(store.slot(slot).versions).map(|state| state.stamp.tick).collect();
        assert_eq!(ticks, (200 - config.history..=200).rev().collect::<Vec<_>>());
    }
}
