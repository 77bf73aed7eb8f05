//! Relevancy of objects to receivers, by scopes.

use super::{ReceiverId, Sender};
use crate::relevancy::{ReceiverRelevancy, RelevancyConfig, RoomId, Scope, TeamId};
use tightwire_core::schema::ObjectId;

impl Sender {
    /// Sets the configuration of relevancy by distance. It is in force from the next snapshot on.
    /// Numbers below the least are raised to it.
    pub fn set_relevancy(&mut self, config: RelevancyConfig) {
        self.relevancy.set_config(config);
        self.refresh_all();
    }

    /// Sets the [`Scope`] of the objects of a class that have no scope of their own. The default is
    /// [`Scope::Always`]. Returns whether there is such a class.
    ///
    /// As long as no scope is set, relevancy costs nothing, and the function of
    /// [`snapshot_with`](Self::snapshot_with) is asked for all objects; from the first scope other
    /// than `Always` on, it is asked for those of [`Scope::Custom`] only.
    pub fn set_class_scope(&mut self, class: u16, scope: Scope) -> bool {
        let is_set = self.relevancy.set_class_scope(class, scope);
        self.refresh_all();
        is_set
    }

    /// Sets the scope of one object, until it despawns. Returns whether the object exists.
    ///
    /// An object whose new scope is by distance is found by receivers within
    /// [`refresh_interval`](RelevancyConfig::refresh_interval) ticks; all other changes are in the
    /// next snapshot.
    pub fn set_scope(&mut self, id: impl Into<ObjectId>, scope: Scope) -> bool {
        let Some(slot) = self.store.find_spawned(id.into()) else { return false };
        self.relevancy.set_scope(&self.protocol, &self.store, slot, scope);
        self.views.iter_mut().flatten().for_each(|view| view.receiver_relevancy.leave(slot));
        true
    }

    /// Makes an object relevant only to the receivers to which another one is, until one of the two
    /// despawns; with `None`, its scope alone decides again. It stays relevant to its owner. Returns
    /// whether both objects exist.
    pub fn set_parent(&mut self, id: impl Into<ObjectId>, parent: Option<ObjectId>) -> bool {
        let Some(slot) = self.store.find_spawned(id.into()) else { return false };
        let parent_slot = parent.and_then(|parent| self.store.find_spawned(parent));
        self.relevancy.set_parent(slot, parent_slot);
        parent.is_some() == parent_slot.is_some()
    }

    /// Sets the weight of the objects of a class that have no weight of their own. The default is
    /// 1; 0 is the priority of an object at the border of the radius. Returns whether there is such
    /// a class.
    ///
    /// With scopes, each snapshot that leaves out a dirty object raises its priority by its weight
    /// times 1 at the border of the radius to 256 at a viewer, by the square of the closeness; an
    /// object without a position counts as one at half the radius.
    pub fn set_class_weight(&mut self, class: u16, weight: u8) -> bool {
        self.relevancy.set_class_weight(class, weight)
    }

    /// Sets the weight of one object, until it despawns. Returns whether the object exists.
    pub fn set_weight(&mut self, id: impl Into<ObjectId>, weight: u8) -> bool {
        let Some(slot) = self.store.find_spawned(id.into()) else { return false };
        self.relevancy.set_weight(slot, weight);
        true
    }

    /// Puts a receiver into these rooms, and no others, from the next snapshot on. Returns whether
    /// there is such a receiver.
    pub fn set_rooms(&mut self, receiver: ReceiverId, rooms: &[RoomId]) -> bool {
        let Some(receiver_relevancy) = self.receiver_relevancy(receiver) else { return false };
        if receiver_relevancy.rooms != rooms {
            receiver_relevancy.rooms.clear();
            receiver_relevancy.rooms.extend_from_slice(rooms);
            receiver_relevancy.refresh();
        }
        true
    }

    /// Puts a receiver into a team, or into none, from the next snapshot on. Returns whether there
    /// is such a receiver.
    pub fn set_team(&mut self, receiver: ReceiverId, team: Option<TeamId>) -> bool {
        let Some(receiver_relevancy) = self.receiver_relevancy(receiver) else { return false };
        receiver_relevancy.team = team;
        true
    }

    /// Sets the positions from which a receiver sees, such as that of a camera. Without any, the
    /// objects that it owns and that have a position are its viewers. In worlds whose positions have
    /// two components, the third one is ignored. Returns whether there is such a receiver.
    pub fn set_viewers(&mut self, receiver: ReceiverId, viewers: &[[f32; 3]]) -> bool {
        let Some(receiver_relevancy) = self.receiver_relevancy(receiver) else { return false };
        receiver_relevancy.viewers.clear();
        receiver_relevancy.viewers.extend_from_slice(viewers);
        true
    }

    /// Makes the next snapshot of a receiver look at all distances, and not only when it is its
    /// turn, for example after a teleport. Returns whether there is such a receiver.
    pub fn refresh(&mut self, receiver: ReceiverId) -> bool {
        self.receiver_relevancy(receiver).map(ReceiverRelevancy::refresh).is_some()
    }

    fn receiver_relevancy(&mut self, receiver: ReceiverId) -> Option<&mut ReceiverRelevancy> {
        let place = self.slot_of(receiver)?;
        self.views[place].as_mut().map(|view| &mut view.receiver_relevancy)
    }

    fn refresh_all(&mut self) {
        self.views.iter_mut().flatten().for_each(|view| view.receiver_relevancy.refresh());
    }
}

#[cfg(test)]
impl Sender {
    pub(crate) fn relevancy(&self) -> &crate::relevancy::Relevancy {
        &self.relevancy
    }

    pub(crate) fn view(&self, place: usize) -> Option<&crate::view::View> {
        self.views[place].as_deref()
    }

    pub(crate) fn slot(&self, id: ObjectId) -> Option<u32> {
        self.store.find_spawned(id)
    }

    /// Number of objects that snapshots looked at.
    pub(crate) fn examined(&self) -> usize {
        self.views.iter().flatten().map(|view| view.receiver_relevancy.examined).sum()
    }

    pub(crate) fn reset_examined(&mut self) {
        self.views.iter_mut().flatten().for_each(|view| view.receiver_relevancy.examined = 0);
    }
}
