//! The sender's view of one receiver: which objects are dirty for it, which packets were sent, and
//! which of those are acked.

use alloc::vec::Vec;
use core::mem::take;

use super::check::Checksums;
use super::config::PAST_TICKS;
use super::header::{Header, IN_FLIGHT, Known, LATE, SPAN, Told, first_untold};
use super::history::{State, Versions};
use super::mention::{Change, MANY, MOST_PASTS, Past, tell};
use super::store::{Recorded, Store};
use super::{Ack, Leaving};
use tightwire_core::schema::ObjectId;

/// The dirty, sent and acked states of one receiver.
#[derive(Debug)]
pub(super) struct View {
    /// The acked states of each object, by slot of the store.
    pub(super) objects: Vec<Seen>,
    /// Bit set of dirty slots: objects of which the receiver may not have the current state. The
    /// order of slots is mostly the order of ids too.
    pub(super) outdated: Vec<u64>,
    /// End of the recorded changes that are in `outdated`; `None` before the first snapshot, and
    /// after a resync.
    pub(super) recorded: Option<Recorded>,
    /// Slot at which the search for objects whose relevancy changed goes on.
    pub(super) patrol: usize,
    pub(super) leaving: Leaving,
    /// The last snapshot had a relevancy function.
    pub(super) has_interest: bool,
    /// Ring of the last [`SPAN`] packets, by sequence number.
    packets: Vec<Sent>,
    pub(super) checksums: Checksums,
    next: u32,
    /// Sequence number of the first packet since the last resync; acks of earlier packets are
    /// ignored.
    start: u32,
    /// The baseline packet: the newest acked one. `None` until a packet is acked.
    base: Option<u32>,
    known: Known,
    /// Largest number of mentions of a packet so far, up to [`MANY`]; all records reserve as much,
    /// so that in time none has to grow.
    most_mentions: usize,
    /// Running average of the size of a mention to this receiver, in 1/16 bits. Receivers with the
    /// same baselines must get the same packets, so only packets of this receiver change it.
    pub(super) mention_cost: usize,
    /// Mentions in packets of late, less two for each in a packet that was acked. Work for a receiver that
    /// withholds acks is bounded by it.
    debt: usize,
    /// How many of the next packets may mention everything: those before the first ack can be there, and one
    /// since the receiver was lost.
    keyframes: u32,
    /// The memory of records that nobody asks for any more.
    spare: Vec<(Vec<SentObject>, Vec<ObjectId>)>,
}

/// The packets to a new receiver that may mention everything: at 60 in a second, acks of the first are there by then.
const JOINING: u32 = 24;

/// How often packets may mention as many objects as there are, without an ack.
const WORLDS_UNACKED: usize = 4;

/// The mentions that a packet may have whether or not there are acks, beside those of what changed.
const MENTIONS_UNACKED: usize = 64;

/// State of one object for this receiver, in one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Seen {
    /// States of this object in acked packets, newest first.
    told: [ToldState; MOST_PASTS],
    len: u8,
    /// Tick of the newest acked packet that despawned the object; states before are no baseline.
    /// `None` if there is no such packet.
    gone: Option<u32>,
    /// The object is not relevant to this receiver.
    pub(super) is_outside: bool,
    /// Tick in which the object was last sent; `None` if no packet with it is in flight.
    pub(super) sent: Option<u32>,
    /// Tick in which the object ceased to be relevant, and froze; `None` while it is relevant.
    pub(super) left: Option<u32>,
    /// Priority: grows while the object is dirty and not sent.
    pub(super) urgency: u64,
}

/// A state of an object in an acked packet.
#[derive(Clone, Copy, Debug, Default)]
struct ToldState {
    tick: u32,
    /// Block of the version in the history, which may have expired.
    version: Versions,
}

/// Identity of an object's baseline: the number of acked states, and their ticks.
pub(super) type Basis = (u8, [u32; MOST_PASTS]);

/// An object in a packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentObject {
    pub(super) slot: u32,
    pub(super) change: Change,
    pub(super) version: Versions,
}

/// A packet that was sent.
#[derive(Debug, Default)]
pub(super) struct Sent {
    number: Option<u32>,
    told: Option<Told>,
    pub(super) objects: Vec<SentObject>,
    pub(super) ids: Vec<ObjectId>,
    /// Its body, as long as a later packet may have this one as its baseline.
    pub(super) body: Option<u32>,
}

impl View {
    /// Creates the view of a receiver without a baseline; its packets are numbered from `first` on.
    pub(super) fn new(leaving: Leaving, first: u32) -> Self {
        Self {
            objects: Vec::new(),
            outdated: Vec::new(),
            recorded: None,
            patrol: 0,
            leaving,
            has_interest: false,
            packets: (0..SPAN).map(|_| Sent::default()).collect(),
            checksums: Checksums::default(),
            next: first,
            start: first,
            base: None,
            known: Known::default(),
            most_mentions: 0,
            mention_cost: 16 * 40,
            debt: 0,
            keyframes: JOINING,
            spare: Vec::new(),
        }
    }

    /// Updates the average size of a mention with a body of `bytes` bytes.
    pub(super) fn measure_mentions(&mut self, mentions: usize, bytes: usize) {
        if mentions >= 8 {
            self.mention_cost = (self.mention_cost * 7 + bytes * 8 * 16 / mentions) / 8;
        }
    }

    /// How many objects the next packet may mention. All of them, as long as the receiver acks: one that does
    /// not makes every packet say again what those before said, which is five times the work of a receiver that
    /// does. It gets a little more than what changes in a tick, and everything when it is given up for lost.
    pub(super) fn allowance(&self, store: &Store) -> usize {
        if self.keyframes > 0 {
            return usize::MAX;
        }
        let changed = store.changed_now();
        let credit = WORLDS_UNACKED * store.slots();
        credit.saturating_sub(self.debt).max(changed + changed / 4 + MENTIONS_UNACKED)
    }

    /// Whether the receiver was not heard of for so long that it gets everything anew.
    pub(super) fn is_lost(&self) -> bool {
        self.next - self.base.unwrap_or(self.start) > IN_FLIGHT
    }

    /// Returns the number of packets after the newest acked one.
    pub(super) fn in_flight(&self) -> u32 {
        self.next - self.base.map_or(self.start, |base| base + 1)
    }

    /// Returns the sequence number of the next packet.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Whether a packet of this tick, or of a later one, was sent.
    pub(super) fn is_served(&self, tick: u32) -> bool {
        let newest = self.next.checked_sub(1).and_then(|newest| self.told(newest));
        newest.is_some_and(|told| told.tick >= tick)
    }

    /// Iterates over the bodies of packets that may become the baseline of another.
    pub(super) fn bodies(&self) -> impl Iterator<Item = u32> {
        self.packets.iter().filter_map(|sent| sent.body)
    }

    /// Drops the baseline: the next packet is a keyframe.
    pub(super) fn restart(&mut self, release: impl FnMut(u32)) {
        self.packets.iter_mut().filter_map(|sent| sent.body.take()).for_each(release);
        self.start = self.next;
        self.base = None;
        self.known = Known::default();
        self.recorded = None;
        self.outdated.fill(0);
        self.objects.fill(Seen::default());
        self.keyframes = self.keyframes.max(1);
    }

    /// Returns the header of the next packet.
    pub(super) fn header(&self, tick: u32, epoch: u32) -> Header {
        let mut known = self.known.clone();
        known.first = match self.base.and_then(|base| self.told(base)) {
            Some(told) => first_untold(told),
            None => self.start,
        };
        let Self { next: number, start, base, .. } = *self;
        Header { number, tick, is_complete: true, epoch, start, base, known }
    }

    pub(super) fn told(&self, number: u32) -> Option<Told> {
        self.packet(number)?.told
    }

    /// Returns the baseline packet of the next packet.
    pub(super) fn base(&self) -> Option<&Sent> {
        self.packet(self.base?)
    }

    fn packet(&self, number: u32) -> Option<&Sent> {
        self.packets.get(number as usize % SPAN).filter(|sent| sent.number == Some(number))
    }

    /// Drops all that is recorded of an object.
    pub(super) fn forget(&mut self, slot: u32) {
        if let Some(seen) = self.objects.get_mut(slot as usize) {
            *seen = Seen::default();
            self.set_outdated(slot, false);
        }
    }

    /// Makes room for `slots` objects.
    pub(super) fn resize(&mut self, slots: usize) {
        self.objects.resize(slots, Seen::default());
        self.outdated.resize(slots.div_ceil(64), 0);
    }

    /// Whether the object is dirty for this receiver.
    pub(super) fn is_outdated(&self, slot: u32) -> bool {
        self.outdated.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 != 0)
    }

    pub(super) fn set_outdated(&mut self, slot: u32, is_outdated: bool) {
        if let Some(word) = self.outdated.get_mut(slot as usize / 64) {
            *word = *word & !(1 << (slot % 64)) | u64::from(is_outdated) << (slot % 64);
        }
    }

    /// Records the packet with this header as sent, and returns the record, to be filled with its
    /// `mentions` objects.
    pub(super) fn sent(
        &mut self,
        header: &Header,
        mentions: usize,
        release: impl FnMut(u32),
    ) -> &mut Sent {
        self.most_mentions = self.most_mentions.max(mentions.min(MANY));
        // No more than is forgiven with the next ack, so that an outage has no consequences.
        self.debt = (self.debt + mentions).min(WORLDS_UNACKED * self.objects.len());
        self.keyframes = self.keyframes.saturating_sub(1);
        self.known.set(header.number, false);
        self.next = header.number + 1;
        let sent = &mut self.packets[header.number as usize % SPAN];
        sent.number = Some(header.number);
        let Header { tick, is_complete, start, base, .. } = *header;
        sent.told = Some(Told { tick, is_complete, start, base });
        sent.body.take().into_iter().for_each(release);
        if sent.objects.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            (sent.objects, sent.ids) = spare;
        }
        sent.objects.clear();
        sent.ids.clear();
        sent.objects.reserve(self.most_mentions);
        sent.ids.reserve(self.most_mentions);
        sent
    }

    /// Returns the sequence number of the first packet whose ack would still count.
    fn first_in_flight(&self) -> u32 {
        self.base.map_or(self.start, |base| base.saturating_sub(LATE).max(self.start))
    }

    /// Returns the tick of the oldest packet whose ack would still count; `u32::MAX` if there is
    /// none.
    pub(super) fn oldest_in_flight(&self) -> u32 {
        let first = self.first_in_flight();
        (first..self.next).find_map(|number| self.told(number)).map_or(u32::MAX, |told| told.tick)
    }

    /// Handles an ack: the states in the acked packets become baselines, and objects that changed
    /// since are dirty.
    pub(super) fn handle_ack(&mut self, store: &Store, ack: Ack, mut release: impl FnMut(u32)) {
        let Some(newest_sent) = self.next.checked_sub(1) else { return };
        // The ack is of packets that this view never sent, as those of another sender.
        let Some(packets) = ack.packets(newest_sent, &self.checksums) else { return };
        let (first_base, first) = (self.base.unwrap_or(self.start), self.first_in_flight());
        for number in packets {
            if number < self.first_in_flight() || self.known.contains(number) {
                continue;
            }
            let place = number as usize % SPAN;
            if self.packets[place].number != Some(number) {
                continue;
            }
            self.known.set(number, true);
            self.base = self.base.max(Some(number));
            let sent = &self.packets[place];
            let Some(told) = sent.told else { continue };
            self.debt = self.debt.saturating_sub(2 * sent.objects.len());
            for &SentObject { slot, change, version } in &sent.objects {
                let seen = &mut self.objects[slot as usize];
                seen.learn(ToldState { tick: told.tick, version }, change);
                let newest = store.newest(slot);
                if newest.is_some_and(|state| state.stamp.tick > told.tick) {
                    self.outdated[slot as usize / 64] |= 1 << (slot % 64);
                }
            }
        }
        for number in first_base..self.base.unwrap_or(first_base) {
            self.packets[number as usize % SPAN].body.take().into_iter().for_each(&mut release);
        }
        for number in first..self.first_in_flight() {
            let sent = &mut self.packets[number as usize % SPAN];
            self.spare.push((take(&mut sent.objects), take(&mut sent.ids)));
        }
    }

    /// Whether the receiver has no state of an object that despawned at `tick`, and no packet in
    /// flight has one.
    pub(super) fn has_forgotten(&self, slot: u32, tick: u32) -> bool {
        let Some(seen) = self.objects.get(slot as usize) else { return true };
        let has_heard = self.recorded.is_some_and(|recorded| recorded.tick > tick);
        !self.is_outdated(slot) && seen.sent.is_none() && (!seen.was_told() || has_heard)
    }

    /// Returns the age in ticks of the baseline packet; `None` if it is not complete.
    pub(super) fn complete_age(&self, tick: u32) -> Option<u32> {
        let told = self.base()?.told.filter(|told| told.is_complete)?;
        Some(tick - told.tick)
    }

    /// Returns the newest baseline state of an object; `None` if there is none, or if it has
    /// expired.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn known<'s>(&self, store: &'s Store, slot: u32) -> Option<State<'s>> {
        let seen = &self.objects[slot as usize];
        match seen.told().first() {
            Some(&ToldState { tick, version }) => {
                store.history.remembered(version, tick).map(|state| state.told_at(tick))
            }
            None if seen.gone.is_some() => None,
            None => store.history.newest(store.slot(slot).initial),
        }
    }

    /// Passes the baseline states of an object to `each`, newest first, and returns the class of
    /// the object.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pasts<'s>(
        &self,
        store: &'s Store,
        slot: u32,
        complete_age: Option<u32>,
        each: impl FnMut(Past<'s>) -> bool,
    ) -> Option<u16> {
        let past = |tick: u32, cells| Past { age: (store.tick - tick).max(1), cells };
        let State { stamp, class, cells } = self.known(store, slot)?;
        let told = self.objects[slot as usize].told().iter();
        let older = told.skip(1).map_while(|&ToldState { tick, version }| {
            let state = store.history.remembered(version, tick)?;
            let is_of_use = state.class == class && store.tick - tick <= PAST_TICKS;
            state.cells.filter(|_| is_of_use).map(|cells| past(tick, cells))
        });
        tell(past(stamp.tick, cells?), complete_age, older, each);
        Some(class)
    }
}

impl Sent {
    pub(super) fn tick(&self) -> u32 {
        self.told.map_or(0, |told| told.tick)
    }
}

impl Seen {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn told(&self) -> &[ToldState] {
        self.told.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Whether a packet with a state of the object was acked.
    pub(super) fn was_told(&self) -> bool {
        self.len > 0
    }

    /// Returns the identity of the baseline: equal ones code the object alike.
    pub(super) fn basis(&self) -> Basis {
        let mut ticks = [0; MOST_PASTS];
        for (tick, told) in ticks.iter_mut().zip(self.told()) {
            *tick = told.tick;
        }
        // A despawned object does not have its initial state as its baseline.
        let is_gone = self.gone.is_some() && !self.was_told();
        (if is_gone { u8::MAX } else { self.len }, ticks)
    }

    /// Returns the tick of the newest acked packet that mentions the object.
    pub(super) fn newest(&self) -> Option<u32> {
        self.told().first().map(|told| told.tick).max(self.gone)
    }

    /// Records that a packet with this state of the object was acked.
    fn learn(&mut self, state: ToldState, change: Change) {
        let tick = state.tick;
        if change == Change::Gone {
            self.gone = self.gone.max(Some(tick));
            self.len = self.told().iter().filter(|told| Some(told.tick) > self.gone).count() as u8;
        } else if Some(tick) > self.gone {
            let len = usize::from(self.len);
            let place = self.told().iter().position(|told| told.tick < tick).unwrap_or(len);
            if place < MOST_PASTS {
                self.told[place..].rotate_right(1);
                self.told[place] = state;
                self.len = (self.len + 1).min(MOST_PASTS as u8);
            }
        }
        self.sent = self.sent.filter(|&sent| Some(sent) > self.newest());
    }
}
