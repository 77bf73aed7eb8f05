//! The receiver's world: the states of received packets, which become baselines when they are
//! acked, and expire when no later packet can need them.

mod shown;

use alloc::vec::Vec;
use core::mem::take;

use super::check::{Checksum, Checksums, InitialChecksum};
use super::header::{Header, HeaderSummary, MAX_IN_FLIGHT, MAX_LATE, PACKET_WINDOW};
use super::history::{History, Stamp, State, Versions};
use super::ids::Entries;
use super::model::Model;
use super::slots::Slots;
use super::update::{MAX_ACKED_STATES, ObjectUpdates, reserved_updates};
use super::{ObjectChange, Protocol, Received};
use tightwire_core::schema::ObjectId;

/// The objects, and the packets that their states came in.
#[derive(Debug)]
pub(super) struct World {
    slots: Slots<ReceivedObject>,
    history: History,
    packets: Vec<ReceivedPacket>,
    pub(super) checksums: Checksums,
    pub(super) origin: InitialChecksum,
    /// Epoch of the sender; `None` before the first packet, and after a resync.
    pub(super) epoch: Option<u32>,
    pub(super) newest: Option<Received>,
    /// Sequence number after the newest packet; there may be gaps before it.
    pub(super) next: u32,
    /// Sequence number of the first packet since the sender's last resync.
    pub(super) start: u32,
    /// Sequence number of the first packet that may still be acked: earlier ones are acked or lost.
    first: u32,
    /// Newest packet after which all objects that it did not update were shown in their baseline
    /// states; 0 before the first.
    newest_complete: u32,
    /// Whether objects from before a resync may still be shown.
    is_stale: bool,
    max_objects: usize,
    /// Sequence number of the first packet that can still be a baseline.
    first_baseline: u32,
    /// Memory of models that are no longer needed, for reuse.
    spare_models: Vec<Model>,
    /// Packets whose acks the newest header confirmed.
    newly_acked: Vec<u32>,
    cells: Vec<u32>,
    /// The largest [`reserved_updates`] of a packet so far; all records reserve as much, so that in
    /// time none has to grow.
    max_updates: usize,
}

#[derive(Clone, Copy, Debug)]
struct ReceivedObject {
    id: ObjectId,
    /// States of packets that are acked, or may still be.
    versions: Versions,
    /// Number of states that were acked since the last time that states expired.
    newly_acked: u8,
    initial: Versions,
    /// The state that the application sees, with the packet that it came in.
    shown: Versions,
}

/// A packet that arrived.
#[derive(Debug, Default)]
pub(super) struct ReceivedPacket {
    number: Option<u32>,
    pub(super) summary: Option<HeaderSummary>,
    /// The sender has the ack of the packet, as a later header said.
    is_acked: bool,
    pub(super) ids: Vec<ObjectId>,
    /// Slots of the objects in `ids`, and the versions that the packet added; `NO_SLOT` for a
    /// despawn of an object that was not there.
    versions: Vec<(u32, Versions)>,
    /// Whether the packet despawns objects.
    has_despawns: bool,
    /// Model of the packet, as long as the packet can be the baseline of another.
    pub(super) model: Option<Model>,
}

/// Number of acks of an object's states after which its states expire: to look for them at every
/// ack would take more time than a few states more take memory.
const EXPIRE_EVERY: u8 = 4;

/// Slot of an object that has none.
const NO_SLOT: u32 = u32::MAX;

impl World {
    pub(super) fn new(protocol: &Protocol) -> Self {
        let columns = protocol.classes().iter().map(|class| class.layout.columns.len());
        // Few packets need this memory: it would be allocated at any time later.
        let cells = Vec::with_capacity(columns.clone().max().unwrap_or(0));
        Self {
            slots: Slots::default(),
            history: History::new(columns),
            packets: (0..PACKET_WINDOW).map(|_| ReceivedPacket::default()).collect(),
            checksums: Checksums::default(),
            origin: InitialChecksum::default(),
            epoch: None,
            newest: None,
            next: 1,
            start: 0,
            first: 0,
            newest_complete: 0,
            is_stale: false,
            first_baseline: 0,
            spare_models: Vec::new(),
            max_objects: protocol.config().max_objects,
            newly_acked: Vec::with_capacity((MAX_IN_FLIGHT + MAX_LATE) as usize),
            cells,
            max_updates: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn has(&self, id: ObjectId) -> bool {
        self.slots.find(id).is_some()
    }

    /// Returns the state of an object that the application sees.
    pub(super) fn shown(&self, id: ObjectId) -> Option<State<'_>> {
        self.history.newest(self.slots[self.slots.find(id)?].shown)
    }

    /// Iterates over the ids and slots of all objects, in the order of ids.
    pub(super) fn entries(&self) -> Entries<'_> {
        self.slots.iter()
    }

    /// Iterates over the ids and slots of objects whose ids are at least `from`, in the order of
    /// ids.
    pub(super) fn iter_from(&self, from: ObjectId) -> Entries<'_> {
        self.slots.iter_from(from)
    }

    /// State of the object in this slot that the application sees; `None` if it does not exist.
    pub(super) fn shown_at(&self, slot: u32) -> Option<State<'_>> {
        self.history.newest(self.slots[slot].shown)
    }

    /// Iterates over the objects that the application sees, in the order of their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ObjectId, State<'_>)> {
        self.slots.iter().filter_map(|(id, slot)| {
            let shown = self.history.newest(self.slots[slot].shown)?;
            shown.cells.is_some().then_some((id, shown))
        })
    }

    pub(super) fn packet(&self, number: u32) -> Option<&ReceivedPacket> {
        packet(&self.packets, number)
    }

    /// Returns the baseline states of an object, in packets that `header` says are acked, newest
    /// first; and its initial state. `place` is the index of the object in the baseline packet;
    /// `None` if that does not update it.
    #[inline]
    pub(super) fn acked_states<'w>(
        &'w self,
        id: ObjectId,
        header: &'w Header,
        place: Option<usize>,
    ) -> Option<(impl Iterator<Item = State<'w>>, impl FnOnce() -> Option<State<'w>>)> {
        // The baseline packet is the newest acked one: its version is the newest baseline state.
        // All versions that are newer are in flight, and there may be many.
        let (versions, initial) = match self.version_in_baseline(header, place) {
            Some(version) => (version, Versions::NONE),
            None => {
                let slot = &self.slots[self.slots.find(id)?];
                (slot.versions, slot.initial)
            }
        };
        let acked = acked_states(&self.history, &self.packets, versions, header);
        Some((acked, move || self.history.newest(initial)))
    }

    /// Returns the version that the baseline packet added for the object at this place; `None` if
    /// it has expired.
    #[inline]
    fn version_in_baseline(&self, header: &Header, place: Option<usize>) -> Option<Versions> {
        let number = header.baseline?;
        let &(_, version) = self.packet(number)?.versions.get(place?)?;
        self.history.is_of_packet(version, number).then_some(version)
    }

    /// Sets the initial state of an object. Returns whether there was room.
    pub(super) fn set_initial(&mut self, id: ObjectId, class: u16, cells: &[u32]) -> bool {
        let slot = match self.slots.find(id) {
            Some(slot) => slot,
            None if self.len() >= self.max_objects => return false,
            None => self.add(id),
        };
        let slot = &mut self.slots[slot];
        let before = self.history.newest(slot.initial);
        let before = before.and_then(|before| Some((before.class, before.cells?)));
        self.origin.replace(id, before, (class, cells));
        self.history.retain(&mut slot.initial, |_, _| false);
        self.history.retain(&mut slot.shown, |_, _| false);
        self.history.push(&mut slot.initial, Stamp::default(), class, Some(cells));
        self.history.push(&mut slot.shown, Stamp::default(), class, Some(cells));
        true
    }

    fn add(&mut self, id: ObjectId) -> u32 {
        let none = Versions::NONE;
        self.slots.add(
            id,
            ReceivedObject { id, versions: none, newly_acked: 0, initial: none, shown: none },
        )
    }

    /// Whether a packet with a baseline was applied since the sender's last resync: the sender has
    /// acks, and the baselines of its next packets are the same or later.
    pub(super) fn has_baseline(&self) -> bool {
        self.first_baseline >= self.start.max(1)
    }

    /// Forgets the sender: accepts the next keyframe of any sender.
    pub(super) fn resync(&mut self) {
        self.drop_packets(0);
        for slot in self.slots.iter_mut() {
            // The next sender may use the same sequence numbers.
            self.history.set_packet(slot.shown, 0);
        }
        (self.next, self.first_baseline, self.epoch, self.is_stale) = (1, 0, None, true);
    }

    /// Applies a packet, from which `model` was learned, to the world.
    pub(super) fn apply(
        &mut self,
        (header, checksum): (&Header, Checksum),
        updates: &ObjectUpdates,
        model: &mut Model,
        changes: &mut Vec<ObjectChange>,
    ) {
        if header.start > self.start {
            self.drop_packets(header.start);
            self.is_stale = true;
        }
        if header.baseline.is_none() {
            self.epoch = Some(header.epoch);
        }
        self.checksums.set(header.number, checksum);
        // Objects from before the resync are shown until the sender has sent a complete snapshot,
        // or `MAX_IN_FLIGHT` packets, which count as complete.
        let completes_resync =
            self.is_stale && (header.is_complete || header.number - header.start >= MAX_IN_FLIGHT);
        self.is_stale &= !completes_resync;
        self.record_acks(header);
        self.record_packet(header, model);
        for place in 0..self.newly_acked.len() {
            self.expire_versions_of(header, self.newly_acked[place]);
        }
        self.apply_updates(header, updates, changes);
        self.show_baseline_of_others(header, completes_resync, changes);
        for number in self.first..header.acked.first {
            // States that an ack made obsolete expired then.
            let is_acked = self.packet(number).is_some_and(|received| received.is_acked);
            if is_acked && self.packet(number).is_some_and(|received| !received.has_despawns) {
                continue;
            }
            self.for_slots_of(number, |world, slot| {
                if is_acked {
                    return world.release(header, slot);
                }
                // Otherwise a state of a packet that counts as lost would be shown for ever.
                world.show_baseline_instead(header, slot, number..number + 1, changes);
                world.expire_versions(header, slot);
            });
        }
        self.first = header.acked.first;
        self.next = header.number + 1;
        self.newest = Some(Received { tick: header.tick, is_complete: header.is_complete });
    }

    /// Drops all packets and baselines, since the sender has resynced; `start` is its first packet
    /// since then.
    fn drop_packets(&mut self, start: u32) {
        for slot in self.slots.iter_mut() {
            self.history.retain(&mut slot.versions, |_, _| false);
        }
        for received in &mut self.packets {
            received.number = None;
        }
        self.checksums.clear();
        self.start = start;
        self.first = start;
        self.newest_complete = 0;
    }

    fn record_acks(&mut self, header: &Header) {
        self.newly_acked.clear();
        for number in header.acked.first.max(self.first)..header.number {
            let received = &mut self.packets[number as usize % PACKET_WINDOW];
            let is_newly_acked = received.number == Some(number) && !received.is_acked;
            if is_newly_acked && header.acked.contains(number) {
                received.is_acked = true;
                self.newly_acked.push(number);
            }
        }
    }

    fn record_packet(&mut self, header: &Header, model: &mut Model) {
        let received = &mut self.packets[header.number as usize % PACKET_WINDOW];
        received.number = Some(header.number);
        let Header { tick, is_complete, start, baseline, .. } = *header;
        received.summary = Some(HeaderSummary { tick, is_complete, start, baseline });
        received.is_acked = false;
        received.ids.clear();
        received.versions.clear();
        received.has_despawns = false;
        let learned = received.model.replace(take(model));
        // The model of the next baseline is copied into the memory of a model that is no longer
        // needed.
        *model = learned.or_else(|| self.spare_models.pop()).unwrap_or_default();
        self.drop_models(baseline);
    }

    /// Drops the models of packets before the baseline packet: baselines never go back.
    fn drop_models(&mut self, baseline: Option<u32>) {
        let Some(baseline) = baseline.filter(|&baseline| baseline > self.first_baseline) else {
            return;
        };
        let oldest = baseline.saturating_sub(PACKET_WINDOW as u32).max(self.first_baseline);
        for number in oldest..baseline {
            let received = &mut self.packets[number as usize % PACKET_WINDOW];
            if received.number.is_none_or(|received| received < baseline) {
                self.spare_models.extend(received.model.take());
            }
        }
        self.first_baseline = baseline;
    }

    fn apply_updates(
        &mut self,
        header: &Header,
        updates: &ObjectUpdates,
        changes: &mut Vec<ObjectChange>,
    ) {
        let stamp = Stamp { tick: header.tick, packet: header.number };
        let place = header.number as usize % PACKET_WINDOW;
        let mut received = take(&mut self.packets[place]);
        self.max_updates = self.max_updates.max(reserved_updates(updates.list.len()));
        received.ids.reserve(self.max_updates);
        received.versions.reserve(self.max_updates);
        let mut cursor = Cursor::default();
        for update in &updates.list {
            received.ids.push(update.id);
            let cells = updates.cells_of(update);
            received.has_despawns |= cells.is_none();
            let known = self.slot_in_baseline(header, &mut cursor, update.id);
            let slot = match (known.or_else(|| self.slots.find(update.id)), cells) {
                (Some(slot), _) => slot,
                (None, Some(_)) => self.add(update.id),
                (None, None) => {
                    received.versions.push((NO_SLOT, Versions::NONE));
                    continue;
                }
            };
            let versions = &mut self.slots[slot].versions;
            self.history.push(versions, stamp, update.class, cells);
            received.versions.push((slot, *versions));
            let is_change = self.show(slot, stamp, update.class, cells);
            changes.extend(is_change);
        }
        self.packets[place] = received;
    }

    /// Returns the slot of an object that the baseline packet updates, without a search.
    fn slot_in_baseline(&self, header: &Header, cursor: &mut Cursor, id: ObjectId) -> Option<u32> {
        let received = self.packet(header.baseline?)?;
        let &(slot, _) = received.versions.get(cursor.place(&received.ids, id)?)?;
        let object = self.slots.get(slot)?;
        // A slot without versions may be free.
        (object.id == id && !object.versions.is_empty()).then_some(slot)
    }

    fn for_slots_of(&mut self, number: u32, mut each: impl FnMut(&mut Self, u32)) {
        let place = number as usize % PACKET_WINDOW;
        if self.packets[place].number != Some(number) {
            return;
        }
        let versions = take(&mut self.packets[place].versions);
        let slots = versions.iter().map(|&(slot, _)| slot).filter(|&slot| slot != NO_SLOT);
        slots.for_each(|slot| each(self, slot));
        self.packets[place].versions = versions;
    }

    /// Removes the states that no later packet can have as its baseline, of all objects in a packet
    /// that is newly acked.
    fn expire_versions_of(&mut self, header: &Header, number: u32) {
        let place = number as usize % PACKET_WINDOW;
        let is_newest = header.baseline == Some(number) && !self.packets[place].has_despawns;
        if !is_newest || self.packets[place].number != Some(number) {
            return self.for_slots_of(number, |world, slot| world.expire_versions(header, slot));
        }
        // Newer versions are in flight and stay, and this one stays.
        let Self { slots, history, packets, .. } = self;
        for &(slot, mut version) in &packets[place].versions {
            if slot == NO_SLOT || !history.is_of_packet(version, number) {
                continue;
            }
            let newly_acked = &mut slots[slot].newly_acked;
            *newly_acked += 1;
            if *newly_acked == EXPIRE_EVERY {
                *newly_acked = 0;
                history.retain(&mut version, expiring(packets, header));
            }
        }
    }

    /// Removes those states of an object that no later packet can have as its baseline.
    fn expire_versions(&mut self, header: &Header, slot: u32) {
        let Self { slots, history, packets, .. } = self;
        let place = &mut slots[slot];
        history.retain(&mut place.versions, expiring(packets, header));
        self.release(header, slot);
    }

    /// Frees the slot of an object whose despawn is acked.
    fn release(&mut self, header: &Header, slot: u32) {
        let Self { slots, history, packets, .. } = self;
        let place = slots[slot];
        let is_acked_despawn = |state: State<'_>| {
            state.cells.is_none() && is_acked(packets, header, state.stamp.packet)
        };
        if place.initial.is_empty()
            && history.newest(place.shown).is_none_or(|shown| shown.cells.is_none())
            && history.iter(place.versions).all(is_acked_despawn)
            && slots.find(place.id) == Some(slot)
        {
            let ReceivedObject { versions, shown, .. } = &mut slots[slot];
            history.retain(versions, |_, _| false);
            history.retain(shown, |_, _| false);
            slots.remove(place.id, slot);
        }
    }
}

/// Returns a function that says whether a version, the newest first, may be in the baseline of a
/// later packet.
fn expiring(packets: &[ReceivedPacket], header: &Header) -> impl FnMut(Stamp, bool) -> bool {
    let (mut acked, mut is_despawned) = (0, false);
    move |stamp, is_there| {
        let is_acked = is_acked(packets, header, stamp.packet);
        let is_open = !is_acked && stamp.packet >= header.acked.first;
        let keep = !is_despawned && (is_open || is_acked && acked < MAX_ACKED_STATES);
        acked += usize::from(is_acked);
        is_despawned |= is_acked && !is_there;
        keep
    }
}

/// Place in a list of ids, which are mostly looked up in their order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor(usize);

impl Cursor {
    /// Returns the place of an id.
    #[inline]
    pub(super) fn place(&mut self, ids: &[ObjectId], id: ObjectId) -> Option<usize> {
        let place = match ids.get(self.0) {
            Some(next) if *next == id => self.0,
            _ => ids.binary_search(&id).ok()?,
        };
        self.0 = place + 1;
        Some(place)
    }
}

fn packet(packets: &[ReceivedPacket], number: u32) -> Option<&ReceivedPacket> {
    packets.get(number as usize % PACKET_WINDOW).filter(|received| received.number == Some(number))
}

/// Iterates over the baseline states of an object, newest first.
fn acked_states<'w>(
    history: &'w History,
    packets: &'w [ReceivedPacket],
    versions: Versions,
    header: &'w Header,
) -> impl Iterator<Item = State<'w>> {
    history.iter(versions).filter(move |state| is_acked(packets, header, state.stamp.packet))
}

/// Whether the sender has the ack of a packet, as `header` says.
fn is_acked(packets: &[ReceivedPacket], header: &Header, number: u32) -> bool {
    if number < header.start {
        // The sender resyncs: applying this packet drops all packets before it.
        false
    } else if number >= header.acked.first {
        header.acked.contains(number)
    } else {
        packet(packets, number).is_none_or(|received| received.is_acked)
    }
}
