//! The shown states of predicted objects.

use core::time::Duration;

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::{OffsetSize, RowBuffer};

use super::{Authoritative, HISTORY_TICKS, Prediction};
use crate::play::frame::RowSet;

impl Prediction {
    /// Saves the shown states before a correction.
    pub(super) fn save_shown(&mut self, server: &Authoritative<'_>, fraction: f64) {
        let mut before = core::mem::take(&mut self.before);
        before.clear();
        let mut shown = core::mem::take(&mut self.scratch);
        for (id, _) in self.current.iter() {
            if self.show(id, fraction, &mut shown) {
                before.set(id, shown.row());
            }
        }
        // Objects whose prediction begins are shown where they were interpolated.
        self.switched.clear();
        for &id in &self.members {
            if !self.current.contains(id) && server.objects.show(id, &mut shown) {
                before.set(id, shown.row());
                self.switched.push(id);
            }
        }
        (self.before, self.scratch, self.fraction) = (before, shown, fraction);
    }

    /// Drops objects whose prediction has ended. Objects that are now interpolated keep an offset
    /// to their predicted place, which fades.
    pub(super) fn drop_removed(&mut self, server: &Authoritative<'_>, fraction: f64) {
        let removed = core::mem::take(&mut self.removed);
        let mut shown = core::mem::take(&mut self.scratch);
        let mut interpolated = core::mem::take(&mut self.interpolated);
        for &id in &removed {
            if self.show(id, fraction, &mut shown) && server.objects.show(id, &mut interpolated) {
                let (from, to) = (shown.row(), interpolated.row());
                self.blends.set_switch(&self.protocol, id, from, to, &self.config);
            }
            self.current.remove(id);
            // A later replay would bring the object back.
            for kept in &mut self.frames {
                kept.frame.remove(id);
            }
        }
        (self.removed, self.scratch, self.interpolated) = (removed, shown, interpolated);
    }

    /// Turns the differences between the states that were shown and those after the replay into
    /// offsets.
    pub(super) fn end_replay(&mut self) {
        self.replayed = None;
        if let Some(expected) = self.expected.take() {
            let is_same = expected.iter().eq(self.current.iter());
            self.stats.replays_differing += u64::from(!is_same);
        }
        let before = core::mem::take(&mut self.before);
        let mut shown = core::mem::take(&mut self.scratch);
        for (id, was) in before.iter() {
            if !self.between(id, self.fraction, &mut shown) {
                continue;
            }
            if self.switched.contains(&id) {
                self.blends.set_switch(&self.protocol, id, was, shown.row(), &self.config);
                continue;
            }
            let blend = self.blends.set(&self.protocol, id, was, shown.row(), &self.config);
            self.stats.snaps += u64::from(blend.is_snap);
            self.stats.largest_offset = self.stats.largest_offset.max(blend.size.distance);
        }
        (self.before, self.scratch) = (before, shown);
    }

    /// Lets offsets fade.
    pub(in crate::play) fn advance(&mut self, elapsed: Duration) {
        self.blends.advance(&self.protocol, elapsed, &self.config);
    }

    /// Iterates over the objects that are shown away from their state.
    pub(in crate::play) fn offset_ids(&self) -> impl Iterator<Item = ObjectId> {
        self.blends.ids()
    }

    /// Adds the offset of an object to its shown row.
    pub(in crate::play) fn apply_offset(&self, id: ObjectId, shown: &mut RowBuffer) {
        self.blends.apply(&self.protocol, id, shown);
    }

    /// Returns how far an object is shown from its predicted state.
    pub(in crate::play) fn offset(&self, id: ObjectId) -> OffsetSize {
        self.blends.size(&self.protocol, id)
    }

    /// Writes the shown state of a predicted object: between the last two ticks, with its offset.
    /// Returns whether there is one.
    pub(in crate::play) fn show(&self, id: ObjectId, fraction: f64, shown: &mut RowBuffer) -> bool {
        let is_shown = self.between(id, fraction, shown);
        if is_shown {
            self.apply_offset(id, shown);
        }
        is_shown
    }

    fn between(&self, id: ObjectId, fraction: f64, shown: &mut RowBuffer) -> bool {
        let Some(newest) = self.newest else { return false };
        let Some(after) = self.frame_of(newest).and_then(|frame| frame.get(id)) else {
            return false;
        };
        let before = newest.checked_sub(1).and_then(|tick| self.frame_of(tick)?.get(id));
        self.protocol.interpolate(before.unwrap_or(after), after, fraction, shown);
        true
    }

    fn frame_of(&self, tick: u32) -> Option<&RowSet> {
        let kept = self.frames.get(tick as usize % HISTORY_TICKS)?;
        (kept.tick == Some(tick)).then_some(&kept.frame)
    }
}
