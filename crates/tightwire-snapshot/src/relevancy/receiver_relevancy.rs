//! The objects that are relevant to one receiver.

use alloc::vec::Vec;

use super::scope::{RoomId, TeamId};
use crate::slot_set::SlotSet;

/// Rooms, team and viewers of a receiver, and the objects that are relevant to it.
#[derive(Debug, Default)]
pub(crate) struct ReceiverRelevancy {
    pub(crate) rooms: Vec<RoomId>,
    pub(crate) team: Option<TeamId>,
    /// Viewers that the application gave; empty if they are the objects that the receiver owns.
    pub(crate) viewers: Vec<[f32; 3]>,
    /// Viewers of the last refresh.
    pub(super) viewpoints: Vec<[f32; 3]>,
    /// Slots of objects that are within the distance, as of the last refresh.
    pub(super) near: SlotSet,
    /// The same; a slot that is no longer in `near` is void.
    pub(super) near_list: Vec<u32>,
    pub(super) scratch: Vec<u32>,
    /// Slots of objects that are relevant, by all scopes. Of [`Scope::Custom`](super::Scope), all.
    pub(super) visible: SlotSet,
    /// Tick of the last refresh; `None` if the next snapshot has to refresh.
    pub(super) refreshed: Option<u32>,
    /// `visible` is in force: the last snapshot was made with scopes.
    pub(super) is_active: bool,
    /// Number of objects that were looked at, for tests of the cost.
    #[cfg(test)]
    pub(crate) examined: usize,
}

impl ReceiverRelevancy {
    /// Makes the next snapshot look at all distances.
    pub(crate) fn refresh(&mut self) {
        self.refreshed = None;
    }

    /// Whether scopes decide which objects are relevant.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.is_active
    }

    /// Whether the object is relevant, or may be if its scope is `Custom`.
    #[inline]
    pub(crate) fn is_visible(&self, slot: u32) -> bool {
        !self.is_active || self.visible.contains(slot)
    }

    /// Returns 64 slots of the visible objects.
    #[inline]
    pub(crate) fn visible_word(&self, place: usize) -> u64 {
        if self.is_active { self.visible.word(place) } else { u64::MAX }
    }

    /// Forgets that an object was near.
    pub(crate) fn leave(&mut self, slot: u32) {
        self.near.set(slot, false);
    }

    /// Forgets an object.
    pub(crate) fn clear_slot(&mut self, slot: u32) {
        self.near.set(slot, false);
        self.visible.set(slot, false);
    }

    /// Whether the distances are to be looked at in this tick. Receivers that were added in one tick
    /// have different turns from the second one on.
    pub(super) fn is_due(&self, tick: u32, place: u32, interval: u32) -> bool {
        self.refreshed.is_none_or(|refreshed| {
            let age = tick.saturating_sub(refreshed);
            age >= interval || age > 0 && tick.wrapping_add(place).is_multiple_of(interval)
        })
    }

    /// Returns the square of the distance to the nearest viewer; infinite without viewers.
    #[inline]
    pub(super) fn distance_squared(&self, position: [f32; 3]) -> f32 {
        let mut least = f32::INFINITY;
        for viewpoint in &self.viewpoints {
            let [x, y, z] = [0, 1, 2].map(|axis| position[axis] - viewpoint[axis]);
            least = least.min(x * x + y * y + z * z);
        }
        least
    }

    /// Counts objects that were looked at.
    #[cfg(test)]
    pub(crate) fn count(&mut self, examined: usize) {
        self.examined += examined;
    }

    #[cfg(not(test))]
    #[inline]
    pub(crate) fn count(&mut self, _: usize) {}
}
