//! Owners of objects: which receiver an object belongs to.

use super::{ReceiverId, Sender};
use tightwire_core::schema::ObjectId;

impl Sender {
    /// Sets the owner of an object, or removes it, from the next snapshot on. Returns whether the
    /// object exists, and the receiver was not removed.
    ///
    /// An object is always relevant to its owner, whatever its scope is and whatever the function
    /// of [`snapshot_with`](Self::snapshot_with) returns, and has the highest priority for it. An
    /// object loses its owner when it despawns, and when the receiver is removed.
    ///
    /// ```
    /// # use tightwire::snapshot::{self, Leaving};
    /// # let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<bool>().build()?;
    /// # let mut sender = snapshot::Sender::new(&protocol);
    /// let client = sender.add_receiver(Leaving::Despawn);
    /// sender.begin_tick(1);
    /// let tank = sender.spawn(&true)?;
    /// assert!(sender.set_owner(tank, Some(client)));
    /// assert_eq!(sender.owner(tank), Some(client));
    /// assert!(sender.owned(client).eq([tank]));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn set_owner(&mut self, id: impl Into<ObjectId>, owner: Option<ReceiverId>) -> bool {
        let Some(slot) = self.store.find_spawned(id.into()) else { return false };
        if owner.is_some_and(|owner| self.slot_of(owner).is_none()) {
            return false;
        }
        self.change_owner(slot, owner);
        true
    }

    /// Returns the owner of an object; `None` if it has no owner, or does not exist.
    #[must_use]
    pub fn owner(&self, id: impl Into<ObjectId>) -> Option<ReceiverId> {
        self.store.owners.get(self.store.find(id.into())?)
    }

    /// Iterates over the objects that a receiver owns.
    pub fn owned(&self, receiver: ReceiverId) -> impl Iterator<Item = ObjectId> {
        let owned = self.slot_of(receiver).map_or(&[][..], |_| self.store.owners.of(receiver));
        owned.iter().map(|&slot| self.store.slot(slot).id)
    }

    pub(super) fn change_owner(&mut self, slot: u32, owner: Option<ReceiverId>) {
        let before = self.store.owners.set(slot, owner);
        if before == owner {
            return;
        }
        // Relevancy and priority changed, although the object did not.
        for receiver in [before, owner].into_iter().flatten() {
            if let Some(Some(view)) = self.views.get_mut(receiver.place as usize) {
                view.set_dirty(slot, true);
            }
        }
    }

    /// Takes all objects from a receiver.
    pub(super) fn clear_owned(&mut self, receiver: ReceiverId) {
        while let Some(&slot) = self.store.owners.of(receiver).first() {
            self.change_owner(slot, None);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::vec::Vec;

    use crate::{Config, Leaving, Protocol, Receiver, Sender};
    use tightwire_core::schema::ObjectId;

    fn protocol() -> Protocol {
        Protocol::builder(Config::default()).class::<[u16; 16]>().build().unwrap()
    }

    #[test]
    fn an_owned_object_is_relevant_whatever_the_function_says() {
        let protocol = protocol();
        let (mut sender, mut receiver) = (Sender::new(&protocol), Receiver::new(&protocol));
        let client = sender.add_receiver(Leaving::Despawn);
        let mut shown = |sender: &mut Sender, tick: u32, owner| {
            sender.begin_tick(tick);
            if tick == 1 {
                (0..3u32).for_each(|id| sender.set(id, &[7u16; 16]).unwrap());
            }
            assert!(sender.set_owner(1, owner));
            receiver
                .handle_snapshot(sender.snapshot_with(client, 4000, |_| None).unwrap())
                .unwrap();
            sender.handle_ack(client, receiver.ack().unwrap());
            receiver.objects().map(|(id, _)| id.0).collect::<Vec<_>>()
        };
        assert_eq!(shown(&mut sender, 1, Some(client)), [1]);
        assert!(shown(&mut sender, 2, None).is_empty());
        assert_eq!(shown(&mut sender, 3, Some(client)), [1]);
    }

    #[test]
    fn an_owned_object_has_the_highest_priority_and_is_exact_in_every_packet() {
        let protocol = protocol();
        let mut sender = Sender::new(&protocol);
        let client = sender.add_receiver(Leaving::Despawn);
        let mut receiver = Receiver::new(&protocol);
        for tick in 1..=60u32 {
            sender.begin_tick(tick);
            for id in 0..200u32 {
                let value = [0; 16].map(|_: u16| (tick * 7919 * (id + 3)) as u16);
                sender.set(id, &value).unwrap();
            }
            sender.set_owner(150, Some(client));
            let made = sender.snapshot_into(client, 300, 0, None).unwrap();
            assert!(!made.is_complete && made.is_owned_exact, "tick {tick}");
            receiver.handle_snapshot(made.bytes).unwrap();
            assert_eq!(receiver.get::<[u16; 16]>(150), sender.get::<[u16; 16]>(150), "tick {tick}");
            if tick % 3 == 0 {
                sender.handle_ack(client, receiver.ack().unwrap());
            }
        }
        // More than fits.
        sender.begin_tick(61);
        for id in 0..200u32 {
            sender.set(id, &[61; 16].map(|word: u16| word * id as u16)).unwrap();
            sender.set_owner(id, Some(client));
        }
        assert!(!sender.snapshot_into(client, 300, 0, None).unwrap().is_owned_exact);
    }

    #[test]
    fn an_owner_is_forgotten_with_its_receiver_and_with_the_object() {
        let protocol = protocol();
        let mut sender = Sender::new(&protocol);
        let (one, two) =
            (sender.add_receiver(Leaving::Despawn), sender.add_receiver(Leaving::Despawn));
        sender.begin_tick(1);
        (0..3u32).for_each(|id| sender.set(id, &[7u16; 16]).unwrap());
        assert!(!sender.set_owner(9, Some(one)), "no such object");
        assert!(sender.set_owner(0, Some(one)) && sender.set_owner(1, Some(one)));
        assert!(sender.set_owner(0, Some(two)) && sender.set_owner(2, Some(two)));
        assert!(sender.owned(one).eq([ObjectId(1)]) && sender.owned(two).eq([0, 2].map(ObjectId)));
        sender.remove(2).unwrap();
        assert!(sender.owned(two).eq([ObjectId(0)]) && !sender.set_owner(2, Some(two)));
        sender.remove_receiver(two);
        assert_eq!((sender.owner(0), sender.owner(1)), (None, Some(one)));
        assert!(!sender.set_owner(0, Some(two)));
        let three = sender.add_receiver(Leaving::Despawn);
        assert!(sender.owned(two).eq([]) && sender.owned(three).eq([]));
    }
}
