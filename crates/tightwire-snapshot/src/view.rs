//! The sender's view of one receiver: which objects are dirty for it, which packets were sent, and
//! which of those are acked.

use alloc::vec::Vec;
use core::mem::take;

use super::auto_level::Bandwidth;
use super::check::Checksums;
use super::config::MAX_BASELINE_AGE;
use super::header::{
    AckedPackets, Header, HeaderSummary, MAX_IN_FLIGHT, MAX_LATE, PACKET_WINDOW, first_unsettled,
};
use super::history::{State, Versions};
use super::relevancy::ReceiverRelevancy;
use super::slot_set::SlotSet;
use super::store::{ChangeCursor, Store};
use super::update::{
    AckedState, MAX_ACKED_STATES, UpdateKind, reserved_updates, visit_acked_states,
};
use super::{Ack, Leaving, Level, PacketLevel, ReceiverId};
use tightwire_core::schema::ObjectId;

/// The dirty, sent and acked states of one receiver.
#[derive(Debug)]
pub(super) struct View {
    pub(super) receiver: ReceiverId,
    /// The acked states of each object, by slot of the store.
    pub(super) objects: Vec<ObjectStatus>,
    /// Bit set of dirty slots: objects of which the receiver may not have the current state. The
    /// order of slots is mostly the order of ids too.
    pub(super) dirty: Vec<u64>,
    /// Slots of objects of which the receiver may have a state, or a packet in flight has one.
    pub(super) maybe_known_slots: SlotSet,
    pub(super) receiver_relevancy: ReceiverRelevancy,
    /// Position in the record of changes up to which changes are in `dirty`; `None` before the first snapshot, and
    /// after a resync.
    pub(super) change_cursor: Option<ChangeCursor>,
    /// Slot at which the search for objects whose relevancy changed goes on.
    pub(super) relevancy_cursor: usize,
    pub(super) leaving: Leaving,
    pub(super) level: Level,
    /// Level of the next packet.
    pub(super) packet_level: PacketLevel,
    pub(super) bandwidth: Bandwidth,
    /// The last snapshot had a relevancy function.
    pub(super) has_interest: bool,
    /// Ring of the last [`PACKET_WINDOW`] packets, by sequence number.
    packets: Vec<SentPacket>,
    pub(super) checksums: Checksums,
    next: u32,
    /// Sequence number of the first packet since the last resync; acks of earlier packets are
    /// ignored.
    start: u32,
    /// The baseline packet: the newest acked one. `None` until a packet is acked.
    baseline: Option<u32>,
    acked: AckedPackets,
    /// The largest [`reserved_updates`] of a packet so far; all records reserve as much, so that in
    /// time none has to grow.
    max_updates: usize,
    /// Running average of the size of an update to this receiver, in 1/16 bits. Receivers with the
    /// same baselines must get the same packets, so only packets of this receiver change it.
    pub(super) update_cost: usize,
    /// Unacked updates: those in recent packets, less two for each acked update. Bounds the work for a
    /// receiver that withholds acks.
    debt: usize,
    /// Number of further packets that may update everything, without an ack.
    keyframes: u32,
    /// Spare memory of records of packets whose acks no longer count.
    spare: Vec<(Vec<SentObject>, Vec<ObjectId>)>,
    /// Number of records that have memory, or are spare.
    records: usize,
}

/// Packets to a new receiver that may update everything: 0.4 s at 60 Hz, enough for the first acks.
const INITIAL_KEYFRAMES: u32 = 24;

/// Largest number of unacked updates, as a multiple of the number of objects.
const WORLDS_UNACKED: usize = 4;

/// Updates that a packet may have without acks, beside the changes of its tick.
const UPDATES_UNACKED: usize = 64;

/// State of one object for this receiver, in one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct ObjectStatus {
    /// States of this object in acked packets, newest first.
    acked: [AckedVersion; MAX_ACKED_STATES],
    len: u8,
    /// Tick of the newest acked packet that despawned the object; states before are no baseline.
    /// `None` if there is no such packet.
    despawned: Option<u32>,
    /// The object is not relevant to this receiver.
    pub(super) is_irrelevant: bool,
    /// Tick in which the object was last sent; `None` if no packet with it is in flight.
    pub(super) sent: Option<u32>,
    /// Tick in which the object ceased to be relevant, and froze; `None` while it is relevant.
    pub(super) frozen: Option<u32>,
    /// Priority: grows while the object is dirty and not sent.
    pub(super) priority: u64,
}

/// A state of an object in an acked packet.
#[derive(Clone, Copy, Debug, Default)]
struct AckedVersion {
    tick: u32,
    /// Block of the version in the history, which may have expired.
    version: Versions,
}

/// Identity of an object's baseline: the number of acked states, their ticks and versions. An owner
/// and others may have different versions of a tick.
pub(super) type BaselineId = (u8, [(u32, Versions); MAX_ACKED_STATES]);

/// An object in a packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentObject {
    pub(super) slot: u32,
    pub(super) kind: UpdateKind,
    pub(super) version: Versions,
}

/// A packet that was sent.
#[derive(Debug, Default)]
pub(super) struct SentPacket {
    number: Option<u32>,
    summary: Option<HeaderSummary>,
    pub(super) objects: Vec<SentObject>,
    pub(super) ids: Vec<ObjectId>,
    /// Body of the packet, as long as a later packet may have this one as its baseline.
    pub(super) body: Option<u32>,
}

impl View {
    /// Creates the view of a receiver without a baseline; its packets are numbered from `first` on.
    pub(super) fn new(receiver: ReceiverId, leaving: Leaving, level: Level, first: u32) -> Self {
        Self {
            receiver,
            objects: Vec::new(),
            dirty: Vec::new(),
            maybe_known_slots: SlotSet::default(),
            receiver_relevancy: ReceiverRelevancy::default(),
            change_cursor: None,
            relevancy_cursor: 0,
            leaving,
            level,
            packet_level: level.first(),
            bandwidth: Bandwidth::default(),
            has_interest: false,
            packets: (0..PACKET_WINDOW).map(|_| SentPacket::default()).collect(),
            checksums: Checksums::default(),
            next: first,
            start: first,
            baseline: None,
            acked: AckedPackets::default(),
            max_updates: 0,
            update_cost: 16 * 40,
            debt: 0,
            keyframes: INITIAL_KEYFRAMES,
            spare: Vec::with_capacity((MAX_IN_FLIGHT + MAX_LATE) as usize),
            records: 0,
        }
    }

    /// Updates the average size of an update with a body of `bytes` bytes.
    pub(super) fn measure_updates(&mut self, updates: usize, bytes: usize) {
        if updates >= 8 {
            self.update_cost = (self.update_cost * 7 + bytes * 8 * 16 / updates) / 8;
        }
    }

    /// Returns the largest number of updates of the next packet: unlimited while the receiver acks;
    /// otherwise little more than the changes of a tick, since unacked updates are repeated in every
    /// packet.
    pub(super) fn allowance(&self, store: &Store) -> usize {
        if self.keyframes > 0 {
            return usize::MAX;
        }
        let changed = store.changed_in_tick();
        let credit = WORLDS_UNACKED * store.slots();
        credit.saturating_sub(self.debt).max(changed + changed / 4 + UPDATES_UNACKED)
    }

    /// Whether so many packets are in flight without an ack that the sender has to resync.
    pub(super) fn needs_resync(&self) -> bool {
        self.next - self.baseline.unwrap_or(self.start) > MAX_IN_FLIGHT
    }

    /// Returns the number of packets after the newest acked one.
    pub(super) fn in_flight(&self) -> u32 {
        self.next - self.baseline.map_or(self.start, |baseline| baseline + 1)
    }

    /// Returns the sequence number of the next packet.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Whether a packet of this tick, or of a later one, was sent.
    pub(super) fn has_sent(&self, tick: u32) -> bool {
        let newest = self.next.checked_sub(1).and_then(|newest| self.summary(newest));
        newest.is_some_and(|summary| summary.tick >= tick)
    }

    /// Iterates over the bodies of packets that may become the baseline of another.
    pub(super) fn bodies(&self) -> impl Iterator<Item = u32> {
        self.packets.iter().filter_map(|sent| sent.body)
    }

    /// Drops the baseline: the next packet is a keyframe.
    pub(super) fn resync(&mut self, release: impl FnMut(u32)) {
        self.packets.iter_mut().filter_map(|sent| sent.body.take()).for_each(release);
        self.start = self.next;
        self.baseline = None;
        self.acked = AckedPackets::default();
        self.change_cursor = None;
        self.dirty.fill(0);
        self.maybe_known_slots.clear();
        self.objects.fill(ObjectStatus::default());
        self.keyframes = self.keyframes.max(1);
        self.bandwidth.handle_resync();
    }

    /// Returns the header of the next packet.
    pub(super) fn header(&self, tick: u32, epoch: u32) -> Header {
        let mut acked = self.acked.clone();
        acked.first = match self.baseline.and_then(|baseline| self.summary(baseline)) {
            Some(summary) => first_unsettled(summary),
            None => self.start,
        };
        let Self { next: number, packet_level: level, start, baseline, .. } = *self;
        Header { number, tick, is_complete: true, level, epoch, start, baseline, acked }
    }

    pub(super) fn summary(&self, number: u32) -> Option<HeaderSummary> {
        self.packet(number)?.summary
    }

    /// Returns the baseline packet of the next packet.
    pub(super) fn baseline(&self) -> Option<&SentPacket> {
        self.packet(self.baseline?)
    }

    fn packet(&self, number: u32) -> Option<&SentPacket> {
        self.packets.get(number as usize % PACKET_WINDOW).filter(|sent| sent.number == Some(number))
    }

    /// Drops the state of an object.
    pub(super) fn clear_slot(&mut self, slot: u32) {
        if let Some(status) = self.objects.get_mut(slot as usize) {
            *status = ObjectStatus::default();
            self.set_dirty(slot, false);
            self.maybe_known_slots.set(slot, false);
            self.receiver_relevancy.clear_slot(slot);
        }
    }

    /// Makes room for `slots` objects.
    pub(super) fn resize(&mut self, slots: usize) {
        self.objects.resize(slots, ObjectStatus::default());
        self.dirty.resize(slots.div_ceil(64), 0);
        self.maybe_known_slots.resize(slots);
    }

    /// Whether the object is dirty for this receiver.
    pub(super) fn is_dirty(&self, slot: u32) -> bool {
        self.dirty.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 != 0)
    }

    pub(super) fn set_dirty(&mut self, slot: u32, is_dirty: bool) {
        if let Some(word) = self.dirty.get_mut(slot as usize / 64) {
            *word = *word & !(1 << (slot % 64)) | u64::from(is_dirty) << (slot % 64);
        }
    }

    /// Whether the packet of this tick has, or the receiver already had, the current states of all
    /// objects that the receiver owns. To be asked after the objects of the packet are recorded as
    /// sent.
    pub(super) fn owned_exact(&self, store: &Store, is_complete: bool) -> bool {
        is_complete
            || store.owners.of(self.receiver).iter().all(|&slot| {
                let status = self.objects.get(slot as usize);
                !self.is_dirty(slot) || status.is_some_and(|status| status.sent == Some(store.tick))
            })
    }

    /// Records the packet with this header as sent, and returns the record, to be filled with its
    /// `updates` objects.
    pub(super) fn sent(
        &mut self,
        header: &Header,
        updates: usize,
        release: impl FnMut(u32),
    ) -> &mut SentPacket {
        if self.max_updates < reserved_updates(updates) {
            self.max_updates = reserved_updates(updates);
            for (objects, ids) in &mut self.spare {
                objects.reserve(self.max_updates);
                ids.reserve(self.max_updates);
            }
        }
        // No more than is forgiven with the next ack, so that an outage has no consequences.
        self.debt = (self.debt + updates).min(WORLDS_UNACKED * self.objects.len());
        self.keyframes = self.keyframes.saturating_sub(1);
        self.acked.set(header.number, false);
        self.next = header.number + 1;
        let sent = &mut self.packets[header.number as usize % PACKET_WINDOW];
        sent.number = Some(header.number);
        let Header { tick, is_complete, start, baseline, .. } = *header;
        sent.summary = Some(HeaderSummary { tick, is_complete, start, baseline });
        sent.body.take().into_iter().for_each(release);
        if sent.objects.capacity() == 0 {
            if self.spare.is_empty() {
                // Twice as many, so that an outage or two later none is missing.
                let more = self.records.max(1);
                self.records += more;
                let updates = self.max_updates;
                let record = || (Vec::with_capacity(updates), Vec::with_capacity(updates));
                self.spare.extend(core::iter::repeat_with(record).take(more));
            }
            (sent.objects, sent.ids) = self.spare.pop().unwrap_or_default();
        }
        sent.objects.clear();
        sent.ids.clear();
        sent.objects.reserve(self.max_updates);
        sent.ids.reserve(self.max_updates);
        sent
    }

    /// Returns the body of the newest packet; `None` before the first packet, and after a resync.
    pub(super) fn newest_body(&self) -> Option<u32> {
        self.packet(self.next.checked_sub(1)?)?.body
    }

    /// Sets the body of the newest packet.
    pub(super) fn set_newest_body(&mut self, body: u32) {
        if let Some(newest) = self.next.checked_sub(1) {
            self.packets[newest as usize % PACKET_WINDOW].body = Some(body);
        }
    }

    /// Returns the sequence number of the first packet whose ack would still count.
    fn first_in_flight(&self) -> u32 {
        self.baseline
            .map_or(self.start, |baseline| baseline.saturating_sub(MAX_LATE).max(self.start))
    }

    /// Returns the tick of the oldest packet whose ack would still count; `u32::MAX` if there is
    /// none.
    pub(super) fn oldest_in_flight(&self) -> u32 {
        let first = self.first_in_flight();
        (first..self.next)
            .find_map(|number| self.summary(number))
            .map_or(u32::MAX, |summary| summary.tick)
    }

    /// Handles an ack: the states in the acked packets become baselines, and objects that changed
    /// since are dirty.
    pub(super) fn handle_ack(&mut self, store: &Store, ack: Ack, mut release: impl FnMut(u32)) {
        let Some(newest_sent) = self.next.checked_sub(1) else { return };
        // The ack is of packets that this view never sent, such as those of another sender.
        let Some(packets) = ack.packets(newest_sent, &self.checksums) else { return };
        let (first_baseline, first) = (self.baseline.unwrap_or(self.start), self.first_in_flight());
        for number in packets {
            if number < self.first_in_flight() || self.acked.contains(number) {
                continue;
            }
            let place = number as usize % PACKET_WINDOW;
            if self.packets[place].number != Some(number) {
                continue;
            }
            self.acked.set(number, true);
            self.baseline = self.baseline.max(Some(number));
            let sent = &self.packets[place];
            let Some(summary) = sent.summary else { continue };
            self.debt = self.debt.saturating_sub(2 * sent.objects.len());
            for &SentObject { slot, kind, version } in &sent.objects {
                let status = &mut self.objects[slot as usize];
                status.handle_ack(AckedVersion { tick: summary.tick, version }, kind);
                let newest = store.newest(slot);
                if newest.is_some_and(|state| state.stamp.tick > summary.tick) {
                    self.dirty[slot as usize / 64] |= 1 << (slot % 64);
                }
            }
        }
        for number in first_baseline..self.baseline.unwrap_or(first_baseline) {
            self.packets[number as usize % PACKET_WINDOW]
                .body
                .take()
                .into_iter()
                .for_each(&mut release);
        }
        for number in first..self.first_in_flight() {
            let sent = &mut self.packets[number as usize % PACKET_WINDOW];
            let (mut objects, mut ids) = (take(&mut sent.objects), take(&mut sent.ids));
            objects.clear();
            ids.clear();
            // Now, and not when more packets are in flight than usual.
            objects.reserve(self.max_updates);
            ids.reserve(self.max_updates);
            self.spare.push((objects, ids));
        }
    }

    /// Whether the receiver has no state of an object that despawned at `tick`, and no packet in
    /// flight has one.
    pub(super) fn has_acked_despawn(&self, slot: u32, tick: u32) -> bool {
        let Some(status) = self.objects.get(slot as usize) else { return true };
        // With scopes, an object that never was relevant stays dirty.
        if self.receiver_relevancy.is_active() && !self.maybe_known_slots.contains(slot) {
            return true;
        }
        let was_notified =
            self.change_cursor.is_some_and(|change_cursor| change_cursor.tick > tick);
        !self.is_dirty(slot) && status.sent.is_none() && (!status.has_acked_state() || was_notified)
    }

    /// Returns the age in ticks of the baseline packet; `None` if it is not complete.
    pub(super) fn complete_age(&self, tick: u32) -> Option<u32> {
        let summary = self.baseline()?.summary.filter(|summary| summary.is_complete)?;
        Some(tick - summary.tick)
    }

    /// Returns the newest baseline state of an object; `None` if there is none, or if it has
    /// expired.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn newest_acked<'s>(&self, store: &'s Store, slot: u32) -> Option<State<'s>> {
        let status = &self.objects[slot as usize];
        match status.acked().first() {
            Some(&AckedVersion { tick, version }) => {
                store.history.unexpired(version, tick).map(|state| state.with_tick(tick))
            }
            None if status.despawned.is_some() => None,
            None => store.history.newest(store.slot(slot).initial),
        }
    }

    /// Passes the baseline states of an object to `each`, newest first, and returns the class of
    /// the object.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn acked_states<'s>(
        &self,
        store: &'s Store,
        slot: u32,
        complete_age: Option<u32>,
        each: impl FnMut(AckedState<'s>) -> bool,
    ) -> Option<u16> {
        let with_age = |tick: u32, cells| AckedState { age: (store.tick - tick).max(1), cells };
        let State { stamp, class, cells } = self.newest_acked(store, slot)?;
        let acked = self.objects[slot as usize].acked().iter();
        let older = acked.skip(1).map_while(|&AckedVersion { tick, version }| {
            let state = store.history.unexpired(version, tick)?;
            let is_of_use = state.class == class && store.tick - tick <= MAX_BASELINE_AGE;
            state.cells.filter(|_| is_of_use).map(|cells| with_age(tick, cells))
        });
        visit_acked_states(with_age(stamp.tick, cells?), complete_age, older, each);
        Some(class)
    }
}

impl SentPacket {
    pub(super) fn tick(&self) -> u32 {
        self.summary.map_or(0, |summary| summary.tick)
    }
}

impl ObjectStatus {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn acked(&self) -> &[AckedVersion] {
        self.acked.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Whether a packet with a state of the object was acked.
    pub(super) fn has_acked_state(&self) -> bool {
        self.len > 0
    }

    /// Returns the identity of the baseline: equal ones code the object alike.
    pub(super) fn baseline_id(&self) -> BaselineId {
        let mut states = [(0, Versions::NONE); MAX_ACKED_STATES];
        for (state, acked) in states.iter_mut().zip(self.acked()) {
            *state = (acked.tick, acked.version);
        }
        // A despawned object does not have its initial state as its baseline.
        let is_despawned = self.despawned.is_some() && !self.has_acked_state();
        (if is_despawned { u8::MAX } else { self.len }, states)
    }

    /// Returns the tick of the newest acked packet that updates the object.
    pub(super) fn newest(&self) -> Option<u32> {
        self.acked().first().map(|acked| acked.tick).max(self.despawned)
    }

    /// Records that a packet with this state of the object was acked.
    fn handle_ack(&mut self, state: AckedVersion, kind: UpdateKind) {
        let tick = state.tick;
        if kind == UpdateKind::Despawn {
            self.despawned = self.despawned.max(Some(tick));
            self.len =
                self.acked().iter().filter(|acked| Some(acked.tick) > self.despawned).count() as u8;
        } else if Some(tick) > self.despawned {
            let len = usize::from(self.len);
            let place = self.acked().iter().position(|acked| acked.tick < tick).unwrap_or(len);
            if place < MAX_ACKED_STATES {
                self.acked[place..].rotate_right(1);
                self.acked[place] = state;
                self.len = (self.len + 1).min(MAX_ACKED_STATES as u8);
            }
        }
        self.sent = self.sent.filter(|&sent| Some(sent) > self.newest());
    }
}
