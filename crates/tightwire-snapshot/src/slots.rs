//! Slots of objects, found by their ids.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use super::ids::{Entries, Ids};
use tightwire_core::schema::ObjectId;

/// A `T` for each object, in a slot that the object keeps as long as sender or receiver may refer
/// to it.
#[derive(Debug)]
pub(super) struct Slots<T> {
    ids: Ids,
    list: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    /// Returns the number of objects.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the number of slots, free ones included.
    pub(super) fn places(&self) -> usize {
        self.list.len()
    }

    /// Returns the contents of a slot, which may be free; `None` beyond the last one.
    pub(super) fn get(&self, slot: u32) -> Option<&T> {
        self.list.get(slot as usize)
    }

    pub(super) fn find(&self, id: ObjectId) -> Option<u32> {
        self.ids.get(id)
    }

    /// Like [`find`](Self::find), faster for the id after the one that was found last.
    pub(super) fn find_next(&mut self, id: ObjectId) -> Option<u32> {
        self.ids.get_next(id)
    }

    /// The objects in the order of their ids, with their places.
    pub(super) fn iter(&self) -> Entries<'_> {
        self.ids.iter()
    }

    /// The objects whose ids are at least `from`, in the order of their ids, with their places.
    pub(super) fn iter_from(&self, from: ObjectId) -> Entries<'_> {
        self.ids.iter_from(from)
    }

    /// Iterates over the contents of all slots, free ones included.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.list.iter_mut()
    }

    /// Adds an object that has no slot, and returns its slot.
    pub(super) fn add(&mut self, id: ObjectId, new: T) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => {
                self[slot] = new;
                slot
            }
            None => {
                self.list.push(new);
                // All slots may be free at once; reserved here, so that `remove` never allocates.
                self.free.reserve(self.list.len());
                self.list.len() as u32 - 1
            }
        };
        self.ids.insert(id, slot);
        slot
    }

    /// Frees the slot of an object.
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
