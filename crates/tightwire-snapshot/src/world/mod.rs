//! The receiver's world: the states of received packets, which become baselines when they are
//! acked, and expire when no later packet can need them.

mod shown;

use alloc::vec::Vec;
use core::mem::take;

use super::check::{Checksum, Checksums, Origin};
use super::header::{Header, IN_FLIGHT, SPAN, Told};
use super::history::{History, Stamp, State, Versions};
use super::ids::Entries;
use super::mention::{MANY, MOST_PASTS, Mentions};
use super::model::Model;
use super::slots::Slots;
use super::{ObjectChange, Protocol, Received};
use tightwire_core::schema::ObjectId;

/// The objects, and the packets that their states came in.
#[derive(Debug)]
pub(super) struct World {
    slots: Slots<Slot>,
    history: History,
    packets: Vec<Got>,
    pub(super) checksums: Checksums,
    pub(super) origin: Origin,
    /// Epoch of the sender; `None` before the first packet, and after a resync.
    pub(super) epoch: Option<u32>,
    pub(super) newest: Option<Received>,
    /// Sequence number after the newest packet; there may be gaps before it.
    pub(super) next: u32,
    /// Sequence number of the first packet since the sender's last resync.
    pub(super) start: u32,
    /// The first packet that is not settled.
    first: u32,
    /// Objects from before a resync may still be shown.
    is_stale: bool,
    most: usize,
    /// The first packet that can be the baseline of another; and the memory of earlier models, for
    /// reuse.
    first_base: u32,
    spare_models: Vec<Model>,
    /// Packets whose acks the newest header confirmed.
    news: Vec<u32>,
    cells: Vec<u32>,
    /// Largest number of mentions of a packet so far, up to [`MANY`]; all records reserve as much,
    /// so that in time none has to grow.
    most_mentions: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    id: ObjectId,
    /// States of packets that are acked, or may still be.
    versions: Versions,
    initial: Versions,
    /// The state that the application sees, with the packet that it came in.
    shown: Versions,
}

/// A packet that arrived.
#[derive(Debug, Default)]
pub(super) struct Got {
    number: Option<u32>,
    pub(super) told: Option<Told>,
    /// The sender has the ack of the packet, as a later header said.
    is_known: bool,
    pub(super) ids: Vec<ObjectId>,
    /// Slots of the objects in `ids` that have one.
    slots: Vec<u32>,
    /// Model of the packet, as long as the packet can be the baseline of another.
    pub(super) model: Option<Model>,
}

impl World {
    pub(super) fn new(protocol: &Protocol) -> Self {
        let columns = protocol.classes().iter().map(|class| class.layout.columns.len());
        Self {
            slots: Slots::default(),
            history: History::new(columns),
            packets: (0..SPAN).map(|_| Got::default()).collect(),
            checksums: Checksums::default(),
            origin: Origin::default(),
            epoch: None,
            newest: None,
            next: 1,
            start: 0,
            first: 0,
            is_stale: false,
            first_base: 0,
            spare_models: Vec::new(),
            most: protocol.config().max_objects,
            news: Vec::new(),
            cells: Vec::new(),
            most_mentions: 0,
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

    /// All places of objects, in the order of their ids.
    pub(super) fn entries(&self) -> Entries<'_> {
        self.slots.iter()
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

    pub(super) fn packet(&self, number: u32) -> Option<&Got> {
        packet(&self.packets, number)
    }

    /// Returns the baseline states of an object, in packets that `header` says are acked, newest
    /// first; and its initial state.
    #[inline]
    pub(super) fn known<'w>(
        &'w self,
        id: ObjectId,
        header: &'w Header,
    ) -> Option<(impl Iterator<Item = State<'w>>, impl FnOnce() -> Option<State<'w>>)> {
        let slot = &self.slots[self.slots.find(id)?];
        let known = known(&self.history, &self.packets, slot, header);
        Some((known, || self.history.newest(slot.initial)))
    }

    /// Sets the initial state of an object. Returns whether there was room.
    pub(super) fn set_initial(&mut self, id: ObjectId, class: u16, cells: &[u32]) -> bool {
        let slot = match self.slots.find(id) {
            Some(slot) => slot,
            None if self.len() >= self.most => return false,
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
        self.slots.add(id, Slot { id, versions: none, initial: none, shown: none })
    }

    /// Whether a packet with a base was applied since the start: the sender has acks, and the bases
    /// of its next packets are the same or later.
    pub(super) fn has_base(&self) -> bool {
        self.first_base >= self.start.max(1)
    }

    /// Forgets the sender: accepts the next keyframe of any sender.
    pub(super) fn resync(&mut self) {
        self.forget_packets(0);
        for slot in self.slots.iter_mut() {
            // The next sender may use the same sequence numbers.
            self.history.set_packet(slot.shown, 0);
        }
        (self.next, self.first_base, self.epoch, self.is_stale) = (1, 0, None, true);
    }

    /// Applies a packet, from which `model` was learned, to the world.
    pub(super) fn apply(
        &mut self,
        (header, checksum): (&Header, Checksum),
        mentions: &Mentions,
        model: &mut Model,
        changes: &mut Vec<ObjectChange>,
    ) {
        if header.start > self.start {
            self.forget_packets(header.start);
            self.is_stale = true;
        }
        if header.base.is_none() {
            self.epoch = Some(header.epoch);
        }
        self.checksums.set(header.number, checksum);
        // Objects from before the resync stay until the sender has sent everything again, or so
        // many packets that it is taken for everything.
        let starts_anew =
            self.is_stale && (header.is_complete || header.number - header.start >= IN_FLIGHT);
        self.is_stale &= !starts_anew;
        self.learn_what_is_known(header);
        self.record(header, model);
        for place in 0..self.news.len() {
            self.for_slots_of(self.news[place], |world, slot| world.tidy(header, slot));
        }
        self.take_mentions(header, mentions, changes);
        self.show_the_rest(header, starts_anew, changes);
        for number in self.first..header.known.first {
            self.for_slots_of(number, |world, slot| {
                // Otherwise a state of a packet that counts as lost would be shown for ever.
                world.show_known_instead(header, slot, number..number + 1, changes);
                world.tidy(header, slot);
            });
        }
        self.first = header.known.first;
        self.next = header.number + 1;
        self.newest = Some(Received { tick: header.tick, is_complete: header.is_complete });
    }

    /// Drops the baseline: the sender has resynced.
    fn forget_packets(&mut self, start: u32) {
        for slot in self.slots.iter_mut() {
            self.history.retain(&mut slot.versions, |_, _| false);
        }
        for got in &mut self.packets {
            got.number = None;
        }
        self.checksums.clear();
        self.start = start;
        self.first = start;
    }

    fn learn_what_is_known(&mut self, header: &Header) {
        self.news.clear();
        for number in header.known.first.max(self.first)..header.number {
            let got = &mut self.packets[number as usize % SPAN];
            let is_news = got.number == Some(number) && !got.is_known;
            if is_news && header.known.contains(number) {
                got.is_known = true;
                self.news.push(number);
            }
        }
    }

    fn record(&mut self, header: &Header, model: &mut Model) {
        let got = &mut self.packets[header.number as usize % SPAN];
        got.number = Some(header.number);
        let Header { tick, is_complete, start, base, .. } = *header;
        got.told = Some(Told { tick, is_complete, start, base });
        got.is_known = false;
        got.ids.clear();
        got.slots.clear();
        let learned = got.model.replace(take(model));
        // The model of the next base is copied into the memory of a model that is no longer needed.
        *model = learned.or_else(|| self.spare_models.pop()).unwrap_or_default();
        self.forget_models(base);
    }

    /// Drops the models of packets before `base`: bases never go back.
    fn forget_models(&mut self, base: Option<u32>) {
        let Some(base) = base.filter(|&base| base > self.first_base) else { return };
        let oldest = base.saturating_sub(SPAN as u32).max(self.first_base);
        for number in oldest..base {
            let got = &mut self.packets[number as usize % SPAN];
            if got.number.is_none_or(|got| got < base) {
                self.spare_models.extend(got.model.take());
            }
        }
        self.first_base = base;
    }

    fn take_mentions(
        &mut self,
        header: &Header,
        mentions: &Mentions,
        changes: &mut Vec<ObjectChange>,
    ) {
        let stamp = Stamp { tick: header.tick, packet: header.number };
        let place = header.number as usize % SPAN;
        let mut got = take(&mut self.packets[place]);
        self.most_mentions = self.most_mentions.max(mentions.list.len().min(MANY));
        got.ids.reserve(self.most_mentions);
        got.slots.reserve(self.most_mentions);
        for mention in &mentions.list {
            got.ids.push(mention.id);
            let cells = mentions.cells_of(mention);
            let slot = match (self.slots.find(mention.id), cells) {
                (Some(slot), _) => slot,
                (None, Some(_)) => self.add(mention.id),
                (None, None) => continue,
            };
            got.slots.push(slot);
            let versions = &mut self.slots[slot].versions;
            self.history.push(versions, stamp, mention.class, cells);
            let is_change = self.show(slot, stamp, mention.class, cells);
            changes.extend(is_change);
        }
        self.packets[place] = got;
    }

    fn for_slots_of(&mut self, number: u32, mut each: impl FnMut(&mut Self, u32)) {
        let place = number as usize % SPAN;
        if self.packets[place].number != Some(number) {
            return;
        }
        let slots = take(&mut self.packets[place].slots);
        slots.iter().for_each(|&slot| each(self, slot));
        self.packets[place].slots = slots;
    }

    /// Lets the states of an object expire that no later packet can have as its baseline.
    fn tidy(&mut self, header: &Header, slot: u32) {
        let Self { slots, history, packets, .. } = self;
        let place = &mut slots[slot];
        let (mut known, mut is_gone) = (0, false);
        history.retain(&mut place.versions, |stamp, is_there| {
            let is_known = is_known(packets, header, stamp.packet);
            let is_open = !is_known && stamp.packet >= header.known.first;
            let keep = !is_gone && (is_open || is_known && known < MOST_PASTS);
            known += usize::from(is_known);
            is_gone |= is_known && !is_there;
            keep
        });
        self.release(header, slot);
    }

    /// Frees the slot of an object whose despawn is acked.
    fn release(&mut self, header: &Header, slot: u32) {
        let Self { slots, history, packets, .. } = self;
        let place = slots[slot];
        let is_over = |state: State<'_>| {
            state.cells.is_none() && is_known(packets, header, state.stamp.packet)
        };
        if place.initial.is_empty()
            && history.newest(place.shown).is_none_or(|shown| shown.cells.is_none())
            && history.iter(place.versions).all(is_over)
            && slots.find(place.id) == Some(slot)
        {
            let Slot { versions, shown, .. } = &mut slots[slot];
            history.retain(versions, |_, _| false);
            history.retain(shown, |_, _| false);
            slots.remove(place.id, slot);
        }
    }
}

fn packet(packets: &[Got], number: u32) -> Option<&Got> {
    packets.get(number as usize % SPAN).filter(|got| got.number == Some(number))
}

/// Iterates over the baseline states of an object, newest first.
fn known<'w>(
    history: &'w History,
    packets: &'w [Got],
    slot: &Slot,
    header: &'w Header,
) -> impl Iterator<Item = State<'w>> {
    history.iter(slot.versions).filter(move |state| is_known(packets, header, state.stamp.packet))
}

/// Whether the sender has the ack of a packet, as `header` says.
fn is_known(packets: &[Got], header: &Header, number: u32) -> bool {
    if number < header.start {
        // The sender resyncs: applying this packet drops all packets before it.
        false
    } else if number >= header.known.first {
        header.known.contains(number)
    } else {
        packet(packets, number).is_none_or(|got| got.is_known)
    }
}
