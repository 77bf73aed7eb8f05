//! The baseline of a packet: the states of objects in acked packets. Sender and receiver each look
//! up the baseline in their own history, and have to find the same states.

use super::config::PAST_TICKS;
use super::header::{Header, Told};
use super::history::State;
use super::mention::{Knowledge, Past, tell};
use super::select::Candidate;
use super::store::Store;
use super::view::View;
use super::world::{Got, World};
use tightwire_core::schema::ObjectId;

/// Baseline on the sending side: the states of the chosen objects in packets that the receiver
/// acked.
pub(super) struct SenderKnowledge<'s> {
    store: &'s Store,
    view: &'s View,
    chosen: &'s [Candidate],
    complete_age: Option<u32>,
}

impl<'s> SenderKnowledge<'s> {
    pub(super) fn new(store: &'s Store, view: &'s View, chosen: &'s [Candidate]) -> Self {
        Self { store, view, chosen, complete_age: view.complete_age(store.tick) }
    }
}

impl Knowledge for SenderKnowledge<'_> {
    #[inline]
    fn pasts<'k>(
        &'k self,
        mention: usize,
        _: ObjectId,
        each: impl FnMut(Past<'k>) -> bool,
    ) -> Option<u16> {
        self.view.pasts(self.store, self.chosen.get(mention)?.slot, self.complete_age, each)
    }

    fn find<'k>(&'k self, id: ObjectId, each: impl FnMut(Past<'k>) -> bool) -> Option<u16> {
        self.view.pasts(self.store, self.store.find(id)?, self.complete_age, each)
    }

    fn mentioned_before(&self) -> &[ObjectId] {
        match self.view.base() {
            Some(base) if self.store.tick - base.tick() <= PAST_TICKS => &base.ids,
            _ => &[],
        }
    }
}

/// Baseline on the receiving side: the states in the packets that the header of a packet says are
/// acked.
pub(super) struct ReceiverKnowledge<'w> {
    world: &'w World,
    header: &'w Header,
    /// Age of the baseline packet in ticks; `None` unless that packet is complete.
    complete_age: Option<u32>,
}

impl<'w> ReceiverKnowledge<'w> {
    pub(super) fn new(world: &'w World, header: &'w Header) -> Self {
        let mut knowledge = Self { world, header, complete_age: None };
        let told = knowledge.base().and_then(|base| base.told).filter(|base| base.is_complete);
        knowledge.complete_age = told.map(|base| header.tick.saturating_sub(base.tick));
        knowledge
    }

    pub(super) fn base(&self) -> Option<&Got> {
        self.world.packet(self.header.base?)
    }

    fn age(&self, state: State<'_>) -> u32 {
        self.header.tick.saturating_sub(state.stamp.tick).max(1)
    }
}

impl Knowledge for ReceiverKnowledge<'_> {
    fn pasts<'k>(
        &'k self,
        _: usize,
        id: ObjectId,
        each: impl FnMut(Past<'k>) -> bool,
    ) -> Option<u16> {
        self.find(id, each)
    }

    fn find<'k>(&'k self, id: ObjectId, each: impl FnMut(Past<'k>) -> bool) -> Option<u16> {
        let (mut known, initial) = self.world.known(id, self.header)?;
        let newest = known.next().or_else(initial)?;
        let past = |state, cells| Past { age: self.age(state), cells };
        let older = known.map_while(|state| {
            let is_of_use = state.class == newest.class && self.age(state) <= PAST_TICKS;
            state.cells.filter(|_| is_of_use).map(|cells| past(state, cells))
        });
        tell(past(newest, newest.cells?), self.complete_age, older, each);
        Some(newest.class)
    }

    fn mentioned_before(&self) -> &[ObjectId] {
        let is_recent = |told: Told| self.header.tick.saturating_sub(told.tick) <= PAST_TICKS;
        match self.base() {
            Some(base) if base.told.is_some_and(is_recent) => &base.ids,
            _ => &[],
        }
    }
}
