//! Despawned objects that have lost their slots, kept for lag compensation while the history covers
//! them.

use alloc::collections::VecDeque;

use super::history::{History, State, Versions};
use tightwire_core::schema::ObjectId;

/// The versions of despawned objects, in the order in which they lost their slots.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    list: VecDeque<Tombstone>,
}

#[derive(Clone, Copy, Debug)]
struct Tombstone {
    id: ObjectId,
    /// Tick in which the object lost its slot.
    tick: u32,
    versions: Versions,
}

impl Tombstones {
    pub(super) fn add(&mut self, id: ObjectId, tick: u32, versions: Versions) {
        self.list.push_back(Tombstone { id, tick, versions });
    }

    /// Drops the objects that lost their slots at `oldest` or before.
    pub(super) fn expire(&mut self, history: &mut History, oldest: u32) {
        while let Some(&Tombstone { tick, mut versions, .. }) = self.list.front()
            && tick <= oldest
        {
            history.retain(&mut versions, |_, _| false);
            self.list.pop_front();
        }
    }

    /// Returns the versions of the last object with this id that existed at `time` or before.
    pub(super) fn find(&self, history: &History, id: ObjectId, time: f64) -> Option<Versions> {
        let goes_back = |versions| {
            let mut states = history.iter(versions);
            states.any(|state: State<'_>| f64::from(state.stamp.tick) <= time)
        };
        let mut newest_first = self.list.iter().rev();
        let found =
            newest_first.find(|tombstone| tombstone.id == id && goes_back(tombstone.versions));
        found.map(|tombstone| tombstone.versions)
    }
}
