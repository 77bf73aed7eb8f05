//! Assembly of a packet: header, then a body with the dirty objects that fit. The packet is then
//! recorded as sent.

use alloc::vec::Vec;

use super::{ReceiverId, Sender};
use crate::baseline::SenderBaseline;
use crate::body::{self, BodyRequest};
use crate::header::Header;
use crate::select::{Candidate, Interest};
use crate::store::Store;
use crate::update::ObjectUpdates;
use crate::view::{SentObject, View};
use tightwire_core::stream::WriteStream;

/// Properties of the packet in [`Sender::packet`].
#[derive(Clone, Copy, Debug)]
pub(super) struct MadePacket {
    pub(super) is_complete: bool,
    /// The receiver has every object that it owns as it is in this tick.
    pub(super) is_owned_exact: bool,
}

impl Sender {
    /// Makes the packet of this tick for a receiver, behind `prefix` bytes in `self.packet`; `None`
    /// if the receiver gets no packet.
    pub(super) fn make_snapshot(
        &mut self,
        receiver: ReceiverId,
        budget: usize,
        prefix: usize,
        interest: Option<&mut Interest<'_>>,
    ) -> Option<MadePacket> {
        let place = self.slot_of(receiver)?;
        let mut view = self.views[place].take()?;
        let budget = budget.min(MAX_BUDGET);
        let made = match budget >= MIN_BUDGET && !view.has_sent(self.store.tick) {
            true => self.make_for(&mut view, budget, prefix, interest),
            false => None,
        };
        self.views[place] = Some(view);
        self.is_sent |= made.is_some();
        made
    }

    fn make_for(
        &mut self,
        view: &mut View,
        budget: usize,
        prefix: usize,
        interest: Option<&mut Interest<'_>>,
    ) -> Option<MadePacket> {
        if view.needs_resync() {
            view.resync(|body| self.bodies.release(body));
        }
        let Self { protocol, store, relevancy, .. } = self;
        relevancy.update(protocol, store);
        self.selection.collect(protocol, store, relevancy, view, interest);
        self.make_collected(view, budget, prefix)
    }

    /// Makes the packet of a receiver whose dirty objects are collected.
    pub(super) fn make_collected(
        &mut self,
        view: &mut View,
        budget: usize,
        prefix: usize,
    ) -> Option<MadePacket> {
        // The flag `is_complete` does not change the length of the header.
        let mut header = view.header(self.store.tick, self.epoch);
        let length = write_header(&mut self.packet, view, &header, prefix)?;
        let (body, is_complete) = self.fitting_body(view, budget - length)?;
        header.is_complete = is_complete;
        if !is_complete {
            write_header(&mut self.packet, view, &header, prefix)?;
        }
        let check = self.bodies.check(body);
        let checksum = check.packet(&header, self.store.origin, &view.checksums)?;
        body::append(&mut self.packet, self.bodies.bytes(body), checksum);
        view.checksums.set(header.number, checksum);
        self.bodies.retain(body);
        let chosen = &self.selection.chosen;
        let sent = view.sent(&header, chosen.len(), |body| self.bodies.release(body));
        sent.body = Some(body);
        let object =
            |&Candidate { slot, kind, version, .. }: &Candidate| SentObject { slot, kind, version };
        sent.objects.extend(chosen.iter().map(object));
        sent.ids.extend(chosen.iter().map(|candidate| candidate.id));
        for candidate in chosen {
            view.maybe_known_slots.set(candidate.slot, true);
            let status = &mut view.objects[candidate.slot as usize];
            status.sent = Some(self.store.tick);
            status.priority = 0;
        }
        let is_owned_exact = view.owned_exact(&self.store, is_complete);
        Some(MadePacket { is_complete, is_owned_exact })
    }

    /// Returns a body with as many dirty objects as fit, and whether these are all.
    fn fitting_body(&mut self, view: &mut View, room: usize) -> Option<(u32, bool)> {
        if self.selection.may_be_complete(&self.store, view, room) {
            self.selection.choose_all();
            if let Some(body) = self.chosen_body(view, true, room) {
                return Some((body, true));
            }
        }
        let (mut count, mut has_large) = self.selection.rank(&self.store, view, room);
        loop {
            self.selection.choose_first(count);
            if let Some(body) = self.chosen_body(view, false, room) {
                return Some((body, false));
            }
            if has_large {
                // The large object has its turn again later, and must not keep others waiting until
                // then.
                let large = self.selection.candidates.remove(0);
                view.objects[large.slot as usize].priority = 0;
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
    fn chosen_body(&mut self, view: &mut View, is_complete: bool, room: usize) -> Option<u32> {
        // The view is taken out of `views` while its packet is made.
        let is_shared = self.views.iter().any(Option::is_some);
        let request = BodyRequest { view, chosen: &self.selection.chosen, is_complete, is_shared };
        let body = match self.bodies.find(request, room) {
            Some(body) => body,
            None => self.make_body(view, is_complete, is_shared, room),
        }?;
        view.measure_updates(self.selection.chosen.len(), self.bodies.bytes(body).len());
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
        push_updates(&mut self.updates, &self.store, &self.selection.chosen)?;
        let chosen = &self.selection.chosen;
        let request = BodyRequest { view, chosen, is_complete, is_shared };
        let baseline = SenderBaseline::new(&self.store, view, chosen);
        self.bodies.make(&self.protocol, request, &mut self.updates, &baseline, room)
    }
}

/// Writes the header at the start of the packet, behind the prefix, and returns its length in bytes.
pub(super) fn write_header(
    packet: &mut Vec<u8>,
    view: &View,
    header: &Header,
    prefix: usize,
) -> Option<usize> {
    packet.clear();
    packet.resize(prefix + MAX_HEADER, 0);
    let mut stream = WriteStream::new(&mut packet[prefix..]);
    let Ok(()) =
        header.clone().serialize(&mut stream, header.number, |packet| view.summary(packet));
    let length = stream.finish().ok()?.len();
    packet.truncate(prefix + length);
    Some(length)
}

/// Replaces the updates by those of the chosen objects.
pub(super) fn push_updates(
    updates: &mut ObjectUpdates,
    store: &Store,
    chosen: &[Candidate],
) -> Option<()> {
    updates.clear();
    for &Candidate { id, kind, version, .. } in chosen {
        let current = store.history.newest(version)?;
        updates.push(id, current.class, kind, current.cells.unwrap_or_default());
    }
    Some(())
}

/// Smallest budget, in bytes: below, not even a packet without updates is sure to fit.
pub(super) const MIN_BUDGET: usize = 64;

/// Largest budget, in bytes: more is as good as no limit.
pub(super) const MAX_BUDGET: usize = 1 << 24;

/// Size of the longest header, in bytes.
const MAX_HEADER: usize = 64;
