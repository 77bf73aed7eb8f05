//! Places for objects, which are found by their ids.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use super::ids::Ids;
use tightwire_core::schema::ObjectId;

/// What is kept of each object, at a place that it has for as long as anybody may know of it.
#[derive(Debug)]
pub(super) struct Slots<T> {
    ids: Ids,
    list: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    /// How many objects there are.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// How many places there are, those that are free included.
    pub(super) fn places(&self) -> usize {
        self.list.len()
    }

    pub(super) fn find(&self, id: ObjectId) -> Option<u32> {
        self.ids.get(id)
    }

    /// The objects in the order of their ids, with their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ObjectId, u32)> {
        self.ids.iter()
    }

    /// What is at each place, also at those that are free.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.list.iter_mut()
    }

    /// A place for an object that has none.
    pub(super) fn add(&mut self, id: ObjectId, new: T) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => {
                self[slot] = new;
                slot
            }
            None => {
                self.list.push(new);
                // All of them may be free at a time: then there is room for that.
                self.free.reserve(self.list.len());
                self.list.len() as u32 - 1
            }
        };
        self.ids.insert(id, slot);
        slot
    }

    /// Gives up the place of an object.
    pub(super) fn remove(&mut self, id: ObjectId, slot: u32) {
        self.ids.remove(id);
        self.free.push(slot);
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { ids: Ids::default(), list: Vec::new(), free: Vec::new() }
    }
}

impl<T> Index<u32> for Slots<T> {
    type Output = T;

    fn index(&self, slot: u32) -> &T {
        &self.list[slot as usize]
    }
}

impl<T> IndexMut<u32> for Slots<T> {
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.list[slot as usize]
    }
}
