//! The baseline of a packet: the states of objects in acked packets. Sender and receiver each look
//! up the baseline in their own history, and have to find the same states.

use core::cell::Cell;

use super::config::MAX_BASELINE_AGE;
use super::header::{Header, HeaderSummary};
use super::history::State;
use super::select::Candidate;
use super::store::Store;
use super::update::{AckedState, Baseline, visit_acked_states};
use super::view::View;
use super::world::{Cursor, ReceivedPacket, World};
use tightwire_core::schema::ObjectId;

/// Baseline on the sending side: the states of the chosen objects in packets that the receiver
/// acked.
pub(super) struct SenderBaseline<'s> {
    store: &'s Store,
    view: &'s View,
    chosen: &'s [Candidate],
    complete_age: Option<u32>,
}

impl<'s> SenderBaseline<'s> {
    pub(super) fn new(store: &'s Store, view: &'s View, chosen: &'s [Candidate]) -> Self {
        Self { store, view, chosen, complete_age: view.complete_age(store.tick) }
    }
}

impl Baseline for SenderBaseline<'_> {
    #[inline]
    fn acked_states<'k>(
        &'k self,
        update: usize,
        _: ObjectId,
        each: impl FnMut(AckedState<'k>) -> bool,
    ) -> Option<u16> {
        self.view.acked_states(self.store, self.chosen.get(update)?.slot, self.complete_age, each)
    }

    fn find<'k>(&'k self, id: ObjectId, each: impl FnMut(AckedState<'k>) -> bool) -> Option<u16> {
        self.view.acked_states(self.store, self.store.find(id)?, self.complete_age, each)
    }

    fn baseline_ids(&self) -> &[ObjectId] {
        match self.view.baseline() {
            Some(baseline) if self.store.tick - baseline.tick() <= MAX_BASELINE_AGE => {
                &baseline.ids
            }
            _ => &[],
        }
    }
}

/// Baseline on the receiving side: the states in the packets that the header of a packet says are
/// acked.
pub(super) struct ReceiverBaseline<'w> {
    world: &'w World,
    header: &'w Header,
    /// Age of the baseline packet in ticks; `None` unless that packet is complete.
    complete_age: Option<u32>,
    cursor: Cell<Cursor>,
}

impl<'w> ReceiverBaseline<'w> {
    pub(super) fn new(world: &'w World, header: &'w Header) -> Self {
        let cursor = Cell::default();
        let mut baseline = Self { world, header, complete_age: None, cursor };
        let summary = baseline
            .baseline()
            .and_then(|baseline| baseline.summary)
            .filter(|baseline| baseline.is_complete);
        baseline.complete_age = summary.map(|baseline| header.tick.saturating_sub(baseline.tick));
        baseline
    }

    pub(super) fn baseline(&self) -> Option<&ReceivedPacket> {
        self.world.packet(self.header.baseline?)
    }

    /// Returns the index of an object in the baseline packet.
    fn place(&self, id: ObjectId) -> Option<usize> {
        let mut cursor = self.cursor.get();
        let place = cursor.place(&self.baseline()?.ids, id);
        self.cursor.set(cursor);
        place
    }

    fn age(&self, state: State<'_>) -> u32 {
        self.header.tick.saturating_sub(state.stamp.tick).max(1)
    }
}

impl Baseline for ReceiverBaseline<'_> {
    fn acked_states<'k>(
        &'k self,
        _: usize,
        id: ObjectId,
        each: impl FnMut(AckedState<'k>) -> bool,
    ) -> Option<u16> {
        self.find(id, each)
    }

    fn find<'k>(&'k self, id: ObjectId, each: impl FnMut(AckedState<'k>) -> bool) -> Option<u16> {
        let place = self.place(id);
        let (mut acked, initial) = self.world.acked_states(id, self.header, place)?;
        let newest = acked.next().or_else(initial)?;
        let with_age = |state, cells| AckedState { age: self.age(state), cells };
        let older = acked.map_while(|state| {
            let is_of_use = state.class == newest.class && self.age(state) <= MAX_BASELINE_AGE;
            state.cells.filter(|_| is_of_use).map(|cells| with_age(state, cells))
        });
        visit_acked_states(with_age(newest, newest.cells?), self.complete_age, older, each);
        Some(newest.class)
    }

    fn baseline_ids(&self) -> &[ObjectId] {
        let is_recent = |summary: HeaderSummary| {
            self.header.tick.saturating_sub(summary.tick) <= MAX_BASELINE_AGE
        };
        match self.baseline() {
            Some(baseline) if baseline.summary.is_some_and(is_recent) => &baseline.ids,
            _ => &[],
        }
    }
}
