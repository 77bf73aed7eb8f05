//! Makes packets.

use super::{ReceiverId, Sender};
use crate::body::{self, Recipe};
use crate::header::Header;
use crate::knowledge::SenderKnowledge;
use crate::select::{Candidate, Interest};
use crate::view::{SentObject, View};
use tightwire_core::stream::WriteStream;

impl Sender {
    /// Makes the packet of this tick for a receiver; `None` if it gets none.
    pub(super) fn make_snapshot(
        &mut self,
        receiver: ReceiverId,
        budget: usize,
        interest: Option<&mut Interest<'_>>,
    ) -> Option<&[u8]> {
        let place = self.place_of(receiver)?;
        let mut view = self.views[place].take()?;
        let budget = budget.min(MAX_BUDGET);
        let is_made = budget >= MIN_BUDGET
            && !view.is_served(self.store.tick)
            && self.make_for(&mut view, budget, interest);
        self.views[place] = Some(view);
        self.is_sent |= is_made;
        is_made.then_some(&self.packet)
    }

    fn make_for(
        &mut self,
        view: &mut View,
        budget: usize,
        interest: Option<&mut Interest<'_>>,
    ) -> bool {
        if view.is_lost() {
            view.restart(|body| self.bodies.release(body));
        }
        self.selection.collect(&self.protocol, &self.store, view, interest);
        // Whether it is complete does not change how long it is.
        let mut header = view.header(self.store.tick, self.epoch);
        let Some(length) = self.write_header(view, &header) else { return false };
        let Some((body, is_complete)) = self.fitting_body(view, budget - length) else {
            return false;
        };
        header.is_complete = is_complete;
        if !is_complete && self.write_header(view, &header).is_none() {
            return false;
        }
        let check = self.bodies.check(body);
        let checksum = check.packet(&header, self.store.origin, &view.checksums);
        let Some(checksum) = checksum else { return false };
        body::append(&mut self.packet, self.bodies.bytes(body), checksum);
        view.checksums.set(header.number, checksum);
        self.bodies.retain(body);
        let chosen = &self.selection.chosen;
        let sent = view.sent(&header, chosen.len(), |body| self.bodies.release(body));
        sent.body = Some(body);
        let object = |&Candidate { slot, change, version, .. }: &Candidate| SentObject {
            slot,
            change,
            version,
        };
        sent.objects.extend(chosen.iter().map(object));
        sent.ids.extend(chosen.iter().map(|candidate| candidate.id));
        for candidate in chosen {
            let seen = &mut view.objects[candidate.slot as usize];
            seen.sent = Some(self.store.tick);
            seen.urgency = 0;
        }
        true
    }

    /// Begins the packet; how long the header is.
    fn write_header(&mut self, view: &View, header: &Header) -> Option<usize> {
        self.packet.resize(MAX_HEADER, 0);
        let mut stream = WriteStream::new(&mut self.packet);
        let Ok(()) =
            header.clone().serialize(&mut stream, header.number, |packet| view.told(packet));
        let length = stream.finish().ok()?.len();
        self.packet.truncate(length);
        Some(length)
    }

    /// The body that mentions as much as fits; whether that is everything.
    fn fitting_body(&mut self, view: &mut View, room: usize) -> Option<(u32, bool)> {
        let everything = self.selection.differing;
        let affordable = room * 8 * 16 / view.mention_cost.max(1);
        let allowance = view.allowance(&self.store);
        if !self.selection.never_complete && everything <= allowance.min(2 * affordable + 64) {
            self.selection.choose_all();
            if let Some(body) = self.body_of_chosen(view, true, room) {
                return Some((body, true));
            }
        }
        self.selection.sort_by_urgency(view);
        let mut has_large = self.selection.keep_one_large(&self.store, room);
        let mut count = self.selection.candidates.len().min(affordable + 1).min(allowance);
        loop {
            self.selection.choose_first(count);
            if let Some(body) = self.body_of_chosen(view, false, room) {
                return Some((body, false));
            }
            if has_large {
                // It has its turn again, and is not to keep others waiting until then.
                let large = self.selection.candidates.remove(0);
                view.objects[large.slot as usize].urgency = 0;
                has_large = false;
            } else if count == 0 {
                return None;
            } else {
                count = count * 3 / 4;
            }
            count = count.min(self.selection.candidates.len());
        }
    }

    /// The body that mentions what is chosen.
    fn body_of_chosen(&mut self, view: &mut View, is_complete: bool, room: usize) -> Option<u32> {
        // The view is not among the others while a packet is made for it.
        let is_shared = self.views.iter().any(Option::is_some);
        let recipe = Recipe { view, chosen: &self.selection.chosen, is_complete, is_shared };
        let body = match self.bodies.find(recipe, room) {
            Some(body) => body,
            None => self.make_body(view, is_complete, is_shared, room),
        }?;
        view.measure_mentions(self.selection.chosen.len(), self.bodies.bytes(body).len());
        Some(body)
    }

    /// Codes the body that mentions what is chosen; `None` if it takes more than `room` bytes.
    fn make_body(
        &mut self,
        view: &View,
        is_complete: bool,
        is_shared: bool,
        room: usize,
    ) -> Option<u32> {
        self.mentions.clear();
        for candidate in &self.selection.chosen {
            let Candidate { id, change, version, .. } = *candidate;
            let now = self.store.history.newest(version)?;
            self.mentions.push(id, now.class, change, now.cells.unwrap_or_default());
        }
        let chosen = &self.selection.chosen;
        let recipe = Recipe { view, chosen, is_complete, is_shared };
        let knowledge = SenderKnowledge::new(&self.store, view, chosen);
        self.bodies.make(&self.protocol, recipe, &mut self.mentions, &knowledge, room)
    }
}

/// Below, not even a packet that mentions nothing is sure to fit.
const MIN_BUDGET: usize = 64;

/// Above, a budget is as good as none.
const MAX_BUDGET: usize = 1 << 24;

/// The bytes of the longest header.
const MAX_HEADER: usize = 64;
