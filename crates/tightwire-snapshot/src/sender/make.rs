//! Assembly of a packet: header, then a body with the dirty objects that fit. The packet is then
//! recorded as sent.

use super::{ReceiverId, Sender};
use crate::body::{self, Recipe};
use crate::header::Header;
use crate::knowledge::SenderKnowledge;
use crate::select::{Candidate, Interest};
use crate::view::{SentObject, View};
use tightwire_core::stream::WriteStream;

impl Sender {
    /// Makes the packet of this tick for a receiver; `None` if the receiver gets none.
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
        // The flag `is_complete` does not change the length of the header.
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

    /// Writes the header at the start of the packet, and returns its length in bytes.
    fn write_header(&mut self, view: &View, header: &Header) -> Option<usize> {
        self.packet.resize(MAX_HEADER, 0);
        let mut stream = WriteStream::new(&mut self.packet);
        let Ok(()) =
            header.clone().serialize(&mut stream, header.number, |packet| view.told(packet));
        let length = stream.finish().ok()?.len();
        self.packet.truncate(length);
        Some(length)
    }

    /// Returns a body with as many dirty objects as fit, and whether these are all.
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
                // The large object has its turn again later, and must not keep others waiting until
                // then.
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

    /// Returns the body with the chosen objects: one that another receiver already got, or a new
    /// one.
    fn body_of_chosen(&mut self, view: &mut View, is_complete: bool, room: usize) -> Option<u32> {
        // The view is taken out of `views` while its packet is made.
        let is_shared = self.views.iter().any(Option::is_some);
        let recipe = Recipe { view, chosen: &self.selection.chosen, is_complete, is_shared };
        let body = match self.bodies.find(recipe, room) {
            Some(body) => body,
            None => self.make_body(view, is_complete, is_shared, room),
        }?;
        view.measure_mentions(self.selection.chosen.len(), self.bodies.bytes(body).len());
        Some(body)
    }

    /// Codes the body with the chosen objects; `None` if it takes more than `room` bytes.
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

/// Smallest budget, in bytes: below, not even a packet without mentions is sure to fit.
const MIN_BUDGET: usize = 64;

/// Largest budget, in bytes: more is as good as no limit.
const MAX_BUDGET: usize = 1 << 24;

/// Size of the longest header, in bytes.
const MAX_HEADER: usize = 64;
