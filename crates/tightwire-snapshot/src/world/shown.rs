//! The states that the application sees: those in the newest packet, and the baseline of all other
//! objects.

use alloc::vec::Vec;
use core::mem::take;
use core::ops::Range;

use super::{ReceivedObject, ReceivedPacket, World, acked_states};
use crate::header::Header;
use crate::history::Stamp;
use crate::{ChangeKind, ObjectChange};

impl World {
    /// Shows the objects that the packet does not update. The shown state of such an object may be
    /// of a packet whose ack the sender does not have, and wrong.
    pub(super) fn show_baseline_of_others(
        &mut self,
        header: &Header,
        completes_resync: bool,
        changes: &mut Vec<ObjectChange>,
    ) {
        if completes_resync {
            for slot in 0..self.slots.places() as u32 {
                self.show_baseline(header, slot, changes);
                self.release(header, slot);
            }
        } else if header.is_complete {
            // The last complete packet showed the baseline of all objects that it did not update.
            // Since then only newly acked packets changed a baseline.
            for number in header.acked.first..header.number {
                let is_open = |received: &ReceivedPacket| !received.is_acked;
                let is_newer =
                    number >= self.newest_complete && self.packet(number).is_some_and(is_open);
                if is_newer || self.newly_acked.contains(&number) {
                    self.for_slots_of(number, |world, slot| {
                        world.show_baseline(header, slot, changes);
                    });
                }
            }
        } else {
            for place in 0..self.newly_acked.len() {
                let newly_acked = self.newly_acked[place];
                self.for_slots_of(newly_acked, |world, slot| {
                    world.show_baseline_instead(header, slot, 0..newly_acked, changes);
                });
            }
        }
        if header.is_complete || completes_resync {
            self.newest_complete = header.number;
        }
    }

    /// Shows the baseline state of an object, if its shown state is of one of the packets
    /// `instead_of`.
    pub(super) fn show_baseline_instead(
        &mut self,
        header: &Header,
        slot: u32,
        instead_of: Range<u32>,
        changes: &mut Vec<ObjectChange>,
    ) {
        let shown = self.history.newest(self.slots[slot].shown);
        if shown.is_none_or(|shown| instead_of.contains(&shown.stamp.packet)) {
            self.show_baseline(header, slot, changes);
        }
    }

    /// Shows the baseline state of an object, unless the packet updates the object.
    fn show_baseline(&mut self, header: &Header, slot: u32, changes: &mut Vec<ObjectChange>) {
        let Self { slots, history, packets, .. } = self;
        let place = &slots[slot];
        let shown = history.newest(place.shown);
        if shown.is_some_and(|shown| shown.stamp.packet == header.number) {
            return;
        }
        let acked = acked_states(history, packets, place.versions, header).next();
        let acked = acked.or_else(|| history.newest(place.initial));
        // A packet updates an object only once.
        if let (Some(acked), Some(shown)) = (acked, shown)
            && acked.stamp == shown.stamp
        {
            return;
        }
        let mut cells = take(&mut self.cells);
        cells.clear();
        cells.extend(acked.iter().flat_map(|acked| acked.cells).flatten());
        let (stamp, class) =
            acked.map_or_else(Default::default, |acked| (acked.stamp, acked.class));
        let is_there = acked.is_some_and(|acked| acked.cells.is_some());
        changes.extend(self.show(slot, stamp, class, is_there.then_some(&cells)));
        self.cells = cells;
    }

    /// Shows a new state of an object, or its despawn; returns the change, if there is one.
    pub(super) fn show(
        &mut self,
        slot: u32,
        stamp: Stamp,
        class: u16,
        cells: Option<&[u32]>,
    ) -> Option<ObjectChange> {
        let ReceivedObject { id, shown, .. } = &mut self.slots[slot];
        let before = self.history.newest(*shown);
        let class_shown = before.filter(|_| cells.is_none()).map_or(class, |before| before.class);
        if before.is_none() && cells.is_none() {
            // The slot was freed, and must stay empty: a state here would leak when the next object
            // takes the slot.
            return None;
        }
        let kind = match (before.and_then(|before| before.cells), cells) {
            (None, None) => None,
            (None, Some(_)) => Some(ChangeKind::Spawned),
            (Some(_), None) => Some(ChangeKind::Despawned),
            (before_cells, cells) => {
                let is_same = before_cells == cells && before.is_some_and(|was| was.class == class);
                (!is_same).then_some(ChangeKind::Changed)
            }
        };
        self.history.set_copy(shown, stamp, class, cells);
        kind.map(|kind| ObjectChange { id: *id, class: class_shown, kind })
    }
}
