//! Which object has which place.

use alloc::vec::Vec;

use crate::schema::ObjectId;

/// The places of objects, by their ids. A list in order: a search that no choice of ids can slow
/// down, and objects come in the order of their ids.
#[derive(Debug, Default)]
pub(super) struct Ids {
    entries: Vec<(ObjectId, u32)>,
}

impl Ids {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, id: ObjectId) -> Option<u32> {
        let place = self.entries.binary_search_by_key(&id, |entry| entry.0).ok()?;
        Some(self.entries[place].1)
    }

    pub(super) fn insert(&mut self, id: ObjectId, slot: u32) {
        match self.entries.binary_search_by_key(&id, |entry| entry.0) {
            Ok(place) => self.entries[place].1 = slot,
            Err(place) => self.entries.insert(place, (id, slot)),
        }
    }

    pub(super) fn remove(&mut self, id: ObjectId) {
        if let Ok(place) = self.entries.binary_search_by_key(&id, |entry| entry.0) {
            self.entries.remove(place);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ObjectId, u32)> {
        self.entries.iter().copied()
    }
}
