//! What the sender knows of what one receiver has.

use alloc::vec::Vec;

use super::config::PAST_TICKS;
use super::header::{Header, IN_FLIGHT, Known, LATE, SPAN, Told, first_untold};
use super::history::State;
use super::mention::{Change, MANY, MOST_PASTS, Past, Pasts};
use super::store::{Recorded, Store};
use super::{Leaving, SnapshotAck};
use crate::schema::ObjectId;

/// What one receiver has.
#[derive(Debug)]
pub(super) struct View {
    /// By slot of the store.
    pub(super) objects: Vec<Seen>,
    /// The slots of objects that the receiver may not have as they are.
    pub(super) outdated: Vec<u32>,
    /// The changes that went into `outdated`.
    pub(super) recorded: Option<Recorded>,
    /// Where the search for objects that became relevant, or are no longer, goes on.
    pub(super) patrol: usize,
    pub(super) leaving: Leaving,
    /// Somebody decided what the receiver sees.
    pub(super) has_interest: bool,
    /// The packets of late, by their numbers, which begin with 1.
    packets: Vec<Sent>,
    next: u32,
    /// The first packet that counts.
    start: u32,
    /// The newest packet that is known.
    base: Option<u32>,
    known: Known,
    /// Records have room for as many as there ever were, so that in time none has to grow.
    most_mentions: usize,
}

/// What the receiver has of one object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// When the known packets that mention it were made, the newest first.
    ticks: [u32; MOST_PASTS],
    len: u8,
    /// When the newest known packet was made that says that it is gone: what was before is of no use.
    gone: Option<u32>,
    pub(super) is_outdated: bool,
    /// It is not for this receiver to see.
    pub(super) is_outside: bool,
    /// When it was mentioned last, if the packet may still arrive.
    pub(super) sent: Option<u32>,
    /// When it left what the receiver sees, and is frozen.
    pub(super) left: Option<u32>,
    /// Grows while it waits to be mentioned.
    pub(super) urgency: u64,
}

/// A packet that was sent.
#[derive(Debug, Default)]
pub(super) struct Sent {
    number: Option<u32>,
    told: Option<Told>,
    pub(super) slots: Vec<(u32, Change)>,
    pub(super) ids: Vec<ObjectId>,
    /// Which body it had, while it can be the base of another.
    pub(super) body: Option<u32>,
}

impl View {
    pub(super) fn new(leaving: Leaving) -> Self {
        Self {
            objects: Vec::new(),
            outdated: Vec::new(),
            recorded: None,
            patrol: 0,
            leaving,
            has_interest: false,
            packets: (0..SPAN).map(|_| Sent::default()).collect(),
            next: 1,
            start: 1,
            base: None,
            known: Known::default(),
            most_mentions: 0,
        }
    }

    /// Whether the receiver was not heard of for so long that it gets everything anew.
    pub(super) fn is_lost(&self) -> bool {
        self.next - self.base.unwrap_or(self.start) > IN_FLIGHT
    }

    /// The packets after the newest that is known.
    pub(super) fn in_flight(&self) -> u32 {
        self.next - self.base.map_or(self.start, |base| base + 1)
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
        self.outdated.clear();
        self.objects.fill(Seen::default());
    }

    /// The header of the next packet.
    pub(super) fn header(&self, tick: u32, is_complete: bool) -> Header {
        let mut known = self.known.clone();
        known.first = match self.base.and_then(|base| self.told(base)) {
            Some(told) => first_untold(told),
            None => self.start,
        };
        Header { number: self.next, tick, is_complete, start: self.start, base: self.base, known }
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
        self.known.set(header.number, false);
        self.next = header.number + 1;
        let sent = &mut self.packets[header.number as usize % SPAN];
        sent.number = Some(header.number);
        let Header { tick, is_complete, start, base, .. } = *header;
        sent.told = Some(Told { tick, is_complete, start, base });
        sent.body.take().into_iter().for_each(release);
        sent.slots.clear();
        sent.ids.clear();
        sent.slots.reserve(self.most_mentions);
        sent.ids.reserve(self.most_mentions);
        sent
    }

    /// The oldest tick of which an acknowledgement would still count.
    pub(super) fn oldest_in_flight(&self) -> u32 {
        let first = self.base.map_or(self.start, |base| base.saturating_sub(LATE).max(self.start));
        (first..self.next).find_map(|number| self.told(number)).map_or(u32::MAX, |told| told.tick)
    }

    /// What the receiver says that it has.
    pub(super) fn handle_ack(&mut self, store: &Store, ack: SnapshotAck, release: impl FnMut(u32)) {
        let Some(newest_sent) = self.next.checked_sub(1) else { return };
        let base = self.base;
        for number in ack.packets(newest_sent) {
            let first =
                self.base.map_or(self.start, |base| base.saturating_sub(LATE).max(self.start));
            if number < first || self.known.contains(number) {
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
            for &(slot, change) in &sent.slots {
                let seen = &mut self.objects[slot as usize];
                seen.learn(told.tick, change);
                let is_newest =
                    store.newest(slot).is_none_or(|state| state.stamp.tick <= told.tick);
                if !is_newest && !seen.is_outdated {
                    seen.is_outdated = true;
                    self.outdated.push(slot);
                }
            }
        }
        if self.base != base {
            let oldest = self.base.unwrap_or(0);
            let is_before = |sent: &&mut Sent| sent.number.is_some_and(|number| number < oldest);
            let before = self.packets.iter_mut().filter(is_before);
            before.filter_map(|sent| sent.body.take()).for_each(release);
        }
    }

    /// Whether the receiver has nothing of an object that is gone since `tick`, and never will.
    pub(super) fn has_forgotten(&self, slot: u32, tick: u32) -> bool {
        let Some(seen) = self.objects.get(slot as usize) else { return true };
        let has_heard = self.recorded.is_some_and(|recorded| recorded.tick > tick);
        !seen.is_outdated && seen.sent.is_none() && (seen.ticks().is_empty() || has_heard)
    }

    /// The state of an object that the receiver has for sure.
    pub(super) fn known<'s>(&self, store: &'s Store, slot: u32) -> Option<State<'s>> {
        let versions = store.slot(slot);
        let seen = &self.objects[slot as usize];
        match seen.ticks().first() {
            Some(&tick) => {
                store.history.at(versions.versions, tick).map(|state| state.told_at(tick))
            }
            None if seen.gone.is_some() => None,
            None => store.history.newest(versions.initial),
        }
    }

    /// The same with the states before it.
    pub(super) fn pasts<'s>(&self, store: &'s Store, slot: u32) -> Option<Pasts<'s>> {
        let complete = self.base().and_then(|base| base.told).filter(|base| base.is_complete);
        let complete_age = complete.map(|base| store.tick - base.tick);
        let past = |tick: u32, cells| Past { age: (store.tick - tick).max(1), cells };
        let Some((&newest_tick, older)) = self.objects[slot as usize].ticks().split_first() else {
            let State { stamp, class, cells } = self.known(store, slot)?;
            return Some(Pasts::new(class, past(stamp.tick, cells?), complete_age));
        };
        // The list is long, and walked once.
        let mut versions = store.history.iter(store.slot(slot).versions).peekable();
        let mut at = |tick: u32| {
            while versions.next_if(|state| state.stamp.tick > tick).is_some() {}
            versions.peek().copied()
        };
        let newest = at(newest_tick)?;
        let mut pasts = Pasts::new(newest.class, past(newest_tick, newest.cells?), complete_age);
        for &tick in older.iter().take_while(|&&tick| store.tick - tick <= PAST_TICKS) {
            let state = at(tick).filter(|state| state.class == newest.class);
            let Some(cells) = state.and_then(|state| state.cells) else { break };
            pasts.push(past(tick, cells));
        }
        Some(pasts)
    }
}

impl Sent {
    pub(super) fn tick(&self) -> u32 {
        self.told.map_or(0, |told| told.tick)
    }
}

impl Seen {
    pub(super) fn ticks(&self) -> &[u32] {
        &self.ticks[..usize::from(self.len)]
    }

    /// Whether another receiver knows the same of it.
    pub(super) fn knows_as(&self, other: &Self) -> bool {
        // What is gone is not as it was at first.
        let is_initial = |seen: &Self| seen.ticks().is_empty() && seen.gone.is_none();
        self.ticks() == other.ticks() && is_initial(self) == is_initial(other)
    }

    /// When the receiver heard of it last, for sure.
    pub(super) fn newest(&self) -> Option<u32> {
        self.ticks().first().copied().max(self.gone)
    }

    /// A packet of this tick, which mentions it, arrived.
    fn learn(&mut self, tick: u32, change: Change) {
        if change == Change::Gone {
            self.gone = self.gone.max(Some(tick));
            self.len = self.ticks().iter().filter(|&&known| Some(known) > self.gone).count() as u8;
        } else if Some(tick) > self.gone {
            let len = usize::from(self.len);
            let place = self.ticks().iter().position(|&known| known < tick).unwrap_or(len);
            if place < MOST_PASTS {
                self.ticks[place..].rotate_right(1);
                self.ticks[place] = tick;
                self.len = (self.len + 1).min(MOST_PASTS as u8);
            }
        }
        self.sent = self.sent.filter(|&sent| Some(sent) > self.newest());
    }
}
