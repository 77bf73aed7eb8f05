//! What an end receives: batches in the order in which they are handed out.

use std::collections::VecDeque;

use crate::message::Delivery;

use super::estimate::is_later;
use super::frame::{LANES, LaneAck, WINDOW};
use super::pool::{Pool, cost};

/// Everything that came and was not handed out.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    lanes: [Lane; LANES.len()],
    /// The frame number of the last batch that is unreliable and sequenced.
    latest: Option<u32>,
    reliable: Queue,
    unreliable: Queue,
    /// The place of the next batch.
    place: u64,
    /// The one that was handed out last.
    current: Batch,
}

/// A reliable delivery.
#[derive(Debug, Default)]
struct Lane {
    /// All before this one have come.
    next: u32,
    /// What came behind it, and gaps.
    slots: VecDeque<Slot>,
    /// The pieces of the batch whose end has not come.
    assembly: Vec<u8>,
}

#[derive(Debug)]
enum Slot {
    Missing,
    /// It came and went on.
    Passed,
    /// It came, and waits for those before it.
    Waits {
        bytes: Vec<u8>,
        is_last: bool,
    },
}

/// Batches that wait to be handed out.
#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<Batch>,
    cost: usize,
}

/// A batch, with its place among all: the two queues are handed out as one.
#[derive(Debug, Default)]
pub(super) struct Batch {
    place: u64,
    pub(super) delivery: Delivery,
    pub(super) bytes: Vec<u8>,
}

/// What became of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// It came, now or before.
    Yes,
    /// There is no room: it has to come again.
    No,
    /// Its batch is larger than any may be.
    TooLarge,
}

impl Incoming {
    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.reliable.batches.is_empty() && self.unreliable.batches.is_empty()
    }

    /// Whether reliable batches wait.
    pub(super) fn has_reliable(&self) -> bool {
        !self.reliable.batches.is_empty()
    }

    /// What was handed out last.
    pub(super) fn current(&self) -> &Batch {
        &self.current
    }

    /// Makes the next batch the current one, if there is one.
    pub(super) fn advance(&mut self, is_paused: bool, pool: &mut Pool) -> bool {
        let place = |queue: &Queue| queue.batches.front().map_or(u64::MAX, |batch| batch.place);
        let is_reliable = !is_paused && place(&self.reliable) < place(&self.unreliable);
        let queue = if is_reliable { &mut self.reliable } else { &mut self.unreliable };
        let Some(batch) = queue.pop() else { return false };
        pool.give(core::mem::replace(&mut self.current, batch).bytes);
        true
    }

    /// Takes an unreliable batch. If too many wait, the oldest are dropped; says how many.
    pub(super) fn handle_plain(
        &mut self,
        delivery: Delivery,
        frame: u32,
        content: &[u8],
        limit: usize,
        pool: &mut Pool,
    ) -> u64 {
        if delivery == Delivery::UnreliableSequenced {
            if self.latest.is_some_and(|latest| !is_later(frame, latest)) {
                return 0;
            }
            self.latest = Some(frame);
        }
        self.place += 1;
        self.unreliable.push(Batch { place: self.place, delivery, bytes: pool.copy(content) });
        let mut dropped = 0;
        while self.unreliable.cost > limit
            && let Some(batch) = self.unreliable.pop()
        {
            pool.give(batch.bytes);
            dropped += 1;
        }
        dropped
    }

    /// Takes a piece of a reliable batch, unless as much waits as may.
    pub(super) fn handle_piece(
        &mut self,
        lane: usize,
        (number, is_last): (u32, bool),
        content: &[u8],
        limits: &Limits,
        pool: &mut Pool,
    ) -> Taken {
        let index = number.wrapping_sub(self.lanes[lane].next);
        if index >= WINDOW {
            // It is from before: no sender goes beyond the window.
            return Taken::Yes;
        }
        // Only what can be handed out counts. What waits for those before it has the window as its
        // bound; would it count, it could keep out the one that it waits for.
        if self.reliable.cost >= limits.waiting {
            return Taken::No;
        }
        let slots = &mut self.lanes[lane].slots;
        while slots.len() <= index as usize {
            slots.push_back(Slot::Missing);
        }
        if !matches!(slots[index as usize], Slot::Missing) {
            return Taken::Yes;
        }
        let bytes = pool.copy(content);
        if LANES[lane] == Delivery::Reliable {
            slots[index as usize] = Slot::Passed;
            self.hand_out(lane, bytes);
        } else {
            slots[index as usize] = Slot::Waits { bytes, is_last };
        }
        self.go_on(lane, limits, pool)
    }

    /// Takes from the front of a lane what no longer waits for anything.
    fn go_on(&mut self, lane: usize, limits: &Limits, pool: &mut Pool) -> Taken {
        loop {
            let Lane { next, slots, assembly } = &mut self.lanes[lane];
            match slots.pop_front() {
                None => return Taken::Yes,
                Some(Slot::Missing) => {
                    slots.push_front(Slot::Missing);
                    return Taken::Yes;
                }
                Some(Slot::Passed) => *next = next.wrapping_add(1),
                Some(Slot::Waits { bytes, is_last }) => {
                    *next = next.wrapping_add(1);
                    if assembly.len() + bytes.len() > limits.batch {
                        return Taken::TooLarge;
                    }
                    let batch = match (assembly.is_empty(), is_last) {
                        (true, true) => bytes,
                        (_, is_last) => {
                            assembly.extend_from_slice(&bytes);
                            pool.give(bytes);
                            if !is_last {
                                continue;
                            }
                            core::mem::take(assembly)
                        }
                    };
                    self.hand_out(lane, batch);
                }
            }
        }
    }

    fn hand_out(&mut self, lane: usize, bytes: Vec<u8>) {
        self.place += 1;
        self.reliable.push(Batch { place: self.place, delivery: LANES[lane], bytes });
    }

    /// What has come of a lane.
    pub(super) fn acknowledge(&self, lane: usize, ack: &mut LaneAck) {
        let Lane { next, slots, .. } = &self.lanes[lane];
        ack.next = *next;
        ack.beyond.clear();
        ack.beyond.resize(slots.len().div_ceil(64), 0);
        for (index, slot) in slots.iter().enumerate() {
            let has_come = !matches!(slot, Slot::Missing);
            ack.beyond[index / 64] |= u64::from(has_come) << (index % 64);
        }
    }
}

/// How much an end takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The cost of batches that wait to be handed out.
    pub(super) waiting: usize,
    /// The bytes of a batch.
    pub(super) batch: usize,
}

impl Queue {
    fn push(&mut self, batch: Batch) {
        self.cost += cost(batch.bytes.len());
        self.batches.push_back(batch);
    }

    fn pop(&mut self) -> Option<Batch> {
        let batch = self.batches.pop_front()?;
        self.cost -= cost(batch.bytes.len());
        Some(batch)
    }
}
