//! Owners of objects.

use alloc::vec::Vec;

use super::ReceiverId;

/// Owner of each object, and the objects of each receiver.
#[derive(Debug, Default)]
pub(super) struct Owners {
    by_slot: Vec<Option<ReceiverId>>,
    /// Slots of the objects that each receiver owns, indexed by `ReceiverId::place`.
    owned: Vec<Vec<u32>>,
}

impl Owners {
    /// Returns the owner of the object in a slot.
    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<ReceiverId> {
        self.by_slot.get(slot as usize).copied().flatten()
    }

    /// Returns the slots of the objects that a receiver owns.
    pub(super) fn of(&self, receiver: ReceiverId) -> &[u32] {
        self.owned.get(receiver.place as usize).map_or(&[], |owned| owned)
    }

    /// Sets the owner of the object in a slot, and returns the previous owner.
    pub(super) fn set(&mut self, slot: u32, owner: Option<ReceiverId>) -> Option<ReceiverId> {
        let place = slot as usize;
        if self.by_slot.len() <= place {
            owner?;
            self.by_slot.resize(place + 1, None);
        }
        let before = core::mem::replace(&mut self.by_slot[place], owner);
        if before == owner {
            return before;
        }
        if let Some(owned) = before.and_then(|before| self.owned.get_mut(before.place as usize)) {
            owned.retain(|&other| other != slot);
        }
        if let Some(owner) = owner {
            let places = self.owned.len().max(owner.place as usize + 1);
            self.owned.resize_with(places, Vec::new);
            self.owned[owner.place as usize].push(slot);
        }
        before
    }
}
