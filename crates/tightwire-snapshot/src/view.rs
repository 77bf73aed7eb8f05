//! What the sender knows of what one receiver has.

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

/// What one receiver has.
#[derive(Debug)]
pub(super) struct View {
    /// By slot of the store.
    pub(super) objects: Vec<Seen>,
    /// A bit for each slot: the receiver may not have the object as it is. In this order objects are
    /// mostly in the order of their ids too.
    pub(super) outdated: Vec<u64>,
    /// The changes that went into `outdated`.
    pub(super) recorded: Option<Recorded>,
    /// Where the search for objects that became relevant, or are no longer, goes on.
    pub(super) patrol: usize,
    pub(super) leaving: Leaving,
    /// Somebody decided what the receiver sees.
    pub(super) has_interest: bool,
    /// The packets of late, by their numbers.
    packets: Vec<Sent>,
    pub(super) checksums: Checksums,
    next: u32,
    /// The first packet that counts.
    start: u32,
    /// The newest packet that is known.
    base: Option<u32>,
    known: Known,
    /// Records have room for as many as there ever were, so that in time none has to grow.
    most_mentions: usize,
    /// Running average of the size of a mention to this receiver, in 1/16 bits. Receivers that have the
    /// same must get the same packets, so it moves by the packets of this receiver only.
    pub(super) mention_cost: usize,
    /// Mentions in packets of late, less two for each in a packet that was acked. Work for a receiver that
    /// withholds acks is bounded by it.
    debt: usize,
    /// The next packet is the first since the receiver was lost, and may mention everything.
    is_keyframe: bool,
    /// The memory of records that nobody asks for any more.
    spare: Vec<(Vec<SentObject>, Vec<ObjectId>)>,
}

/// How often packets may mention as many objects as there are, without an ack.
const WORLDS_UNACKED: usize = 4;

/// The mentions that a packet may have whether or not there are acks, beside those of what changed.
const MENTIONS_UNACKED: usize = 64;

/// What the receiver has of one object: a line of the processor's caches.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Seen {
    /// What the known packets told that mention it, the newest first.
    told: [ToldState; MOST_PASTS],
    len: u8,
    /// When the newest known packet was made that says that it is gone: what was before is of no use.
    gone: Option<u32>,
    /// It is not for this receiver to see.
    pub(super) is_outside: bool,
    /// When it was mentioned last, if the packet may still arrive.
    pub(super) sent: Option<u32>,
    /// When it left what the receiver sees, and is frozen.
    pub(super) left: Option<u32>,
    /// Grows while it waits to be mentioned.
    pub(super) urgency: u64,
}

/// What a packet told of an object.
#[derive(Clone, Copy, Debug, Default)]
struct ToldState {
    tick: u32,
    /// Where it is, if it is not forgotten.
    version: Versions,
}

/// Which states of an object a receiver has: how many, and of which ticks.
pub(super) type Basis = (u8, [u32; MOST_PASTS]);

/// An object that a packet mentions.
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
    /// Which body it had, while it can be the base of another.
    pub(super) body: Option<u32>,
}

impl View {
    /// Of a receiver that has nothing; its packets are numbered from `first` on.
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
            is_keyframe: true,
            spare: Vec::new(),
        }
    }

    /// Learns from a body of `bytes` bytes what a mention takes.
    pub(super) fn measure_mentions(&mut self, mentions: usize, bytes: usize) {
        if mentions >= 8 {
            self.mention_cost = (self.mention_cost * 7 + bytes * 8 * 16 / mentions) / 8;
        }
    }

    /// How many objects the next packet may mention. All of them, as long as the receiver acks: one that does
    /// not makes every packet say again what those before said, which is five times the work of a receiver that
    /// does. It gets a little more than what changes in a tick, and everything when it is given up for lost.
    pub(super) fn allowance(&self, store: &Store) -> usize {
        if self.is_keyframe {
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

    /// The packets after the newest that is known.
    pub(super) fn in_flight(&self) -> u32 {
        self.next - self.base.map_or(self.start, |base| base + 1)
    }

    /// The number of the next packet.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Whether the receiver had a packet of this tick, or of a later one.
    pub(super) fn is_served(&self, tick: u32) -> bool {
        let newest = self.next.checked_sub(1).and_then(|newest| self.told(newest));
        newest.is_some_and(|told| told.tick >= tick)
    }

    /// The bodies that may be the base of another.
    pub(super) fn bodies(&self) -> impl Iterator<Item = u32> {
        self.packets.iter().filter_map(|sent| sent.body)
    }

    /// Forgets what the receiver has.
    pub(super) fn restart(&mut self, release: impl FnMut(u32)) {
        self.packets.iter_mut().filter_map(|sent| sent.body.take()).for_each(release);
        self.start = self.next;
        self.base = None;
        self.known = Known::default();
        self.recorded = None;
        self.outdated.fill(0);
        self.objects.fill(Seen::default());
        self.is_keyframe = true;
    }

    /// The header of the next packet.
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

    /// The packet that the next one is relative to.
    pub(super) fn base(&self) -> Option<&Sent> {
        self.packet(self.base?)
    }

    fn packet(&self, number: u32) -> Option<&Sent> {
        self.packets.get(number as usize % SPAN).filter(|sent| sent.number == Some(number))
    }

    /// Forgets an object.
    pub(super) fn forget(&mut self, slot: u32) {
        if let Some(seen) = self.objects.get_mut(slot as usize) {
            *seen = Seen::default();
            self.set_outdated(slot, false);
        }
    }

    /// Room for so many objects.
    pub(super) fn resize(&mut self, slots: usize) {
        self.objects.resize(slots, Seen::default());
        self.outdated.resize(slots.div_ceil(64), 0);
    }

    /// Whether the receiver may not have the object as it is.
    pub(super) fn is_outdated(&self, slot: u32) -> bool {
        self.outdated.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 != 0)
    }

    pub(super) fn set_outdated(&mut self, slot: u32, is_outdated: bool) {
        if let Some(word) = self.outdated.get_mut(slot as usize / 64) {
            *word = *word & !(1 << (slot % 64)) | u64::from(is_outdated) << (slot % 64);
        }
    }

    /// Remembers the packet with this header as sent, and gives its record, to be filled with
    /// `mentions` of them.
    pub(super) fn sent(
        &mut self,
        header: &Header,
        mentions: usize,
        release: impl FnMut(u32),
    ) -> &mut Sent {
        self.most_mentions = self.most_mentions.max(mentions.min(MANY));
        // No more than is forgiven with the next ack, so that an outage has no consequences.
        self.debt = (self.debt + mentions).min(WORLDS_UNACKED * self.objects.len());
        self.is_keyframe = false;
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

    /// The first packet of which an acknowledgement would still count.
    fn first_in_flight(&self) -> u32 {
        self.base.map_or(self.start, |base| base.saturating_sub(LATE).max(self.start))
    }

    /// The tick of that one.
    pub(super) fn oldest_in_flight(&self) -> u32 {
        let first = self.first_in_flight();
        (first..self.next).find_map(|number| self.told(number)).map_or(u32::MAX, |told| told.tick)
    }

    /// What the receiver says that it has.
    pub(super) fn handle_ack(&mut self, store: &Store, ack: Ack, mut release: impl FnMut(u32)) {
        let Some(newest_sent) = self.next.checked_sub(1) else { return };
        // Of packets that this receiver was never sent, as of another sender.
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

    /// Whether the receiver has nothing of an object that is gone since `tick`, and never will.
    pub(super) fn has_forgotten(&self, slot: u32, tick: u32) -> bool {
        let Some(seen) = self.objects.get(slot as usize) else { return true };
        let has_heard = self.recorded.is_some_and(|recorded| recorded.tick > tick);
        !self.is_outdated(slot) && seen.sent.is_none() && (!seen.was_told() || has_heard)
    }

    /// How old the base of the next packet is, if that one is complete.
    pub(super) fn complete_age(&self, tick: u32) -> Option<u32> {
        let told = self.base()?.told.filter(|told| told.is_complete)?;
        Some(tick - told.tick)
    }

    /// The state of an object that the receiver has for sure.
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

    /// The same with the states before it, and its class.
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

    /// Whether the receiver has a state of it.
    pub(super) fn was_told(&self) -> bool {
        self.len > 0
    }

    /// Whoever has the same knows the same of it.
    pub(super) fn basis(&self) -> Basis {
        let mut ticks = [0; MOST_PASTS];
        for (tick, told) in ticks.iter_mut().zip(self.told()) {
            *tick = told.tick;
        }
        // What is gone is not as it was at first.
        let is_gone = self.gone.is_some() && !self.was_told();
        (if is_gone { u8::MAX } else { self.len }, ticks)
    }

    /// When the receiver heard of it last, for sure.
    pub(super) fn newest(&self) -> Option<u32> {
        self.told().first().map(|told| told.tick).max(self.gone)
    }

    /// A packet of this tick, which mentions it, arrived.
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
