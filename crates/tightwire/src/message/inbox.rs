//! What came in and waits for its stage.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::array;
use core::ops::Range;
use core::time::Duration;

use super::context::Origin;
use super::pool::Pool;
use super::{Delivery, PeerId, Route, Stage};

/// A queue of messages for each stage, and the batches that they stand in.
#[derive(Debug)]
pub(super) struct Inbox {
    queues: [VecDeque<Item>; Stage::ALL.len()],
    queue_length: usize,
    batches: Vec<Option<Held>>,
    free: Vec<usize>,
    /// The batch that messages of this side to itself are added to.
    local: Option<usize>,
}

/// A message that waits, and where its body stands. Small, since there can be thousands: what all
/// messages of a batch have in common stands there.
#[derive(Debug)]
pub(super) struct Item {
    body: Range<usize>,
    batch: u32,
    number: u8,
    delivery: Delivery,
    channel: u8,
}

/// A batch that is kept until all of its messages are handled.
#[derive(Debug)]
struct Held {
    owner: PeerId,
    time: Duration,
    bytes: Vec<u8>,
    waiting: usize,
}

impl Item {
    /// The bytes of its body.
    pub(super) fn size(&self) -> usize {
        self.body.len()
    }
}

impl Inbox {
    pub(super) fn new(queue_length: usize) -> Self {
        Self {
            queues: array::from_fn(|_| VecDeque::with_capacity(queue_length.min(RESERVED))),
            queue_length,
            batches: Vec::new(),
            free: Vec::new(),
            local: None,
        }
    }

    /// Keeps a copy of a batch, and tells its place.
    pub(super) fn hold(
        &mut self,
        owner: PeerId,
        batch: &[u8],
        time: Duration,
        pool: &mut Pool,
    ) -> usize {
        let mut bytes = pool.take(batch.len());
        bytes.extend_from_slice(batch);
        self.keep(Held { owner, time, bytes, waiting: 0 })
    }

    fn keep(&mut self, held: Held) -> usize {
        let Some(place) = self.free.pop() else {
            self.batches.push(Some(held));
            return self.batches.len() - 1;
        };
        self.batches[place] = Some(held);
        place
    }

    /// Adds a body to a batch for messages of this side to itself, and tells where it stands.
    pub(super) fn add_local(
        &mut self,
        body: &[u8],
        time: Duration,
        pool: &mut Pool,
    ) -> (usize, Range<usize>) {
        let fits = |held: &Held| {
            held.time == time && held.bytes.len() + body.len() <= held.bytes.capacity()
        };
        let open = self.local.filter(|place| self.batches[*place].as_ref().is_some_and(fits));
        let place = open.unwrap_or_else(|| {
            self.close_local(pool);
            self.hold(PeerId::LOCAL, &[], time, pool)
        });
        self.local = Some(place);
        let Some(held) = &mut self.batches[place] else { return (place, 0..0) };
        let start = held.bytes.len();
        if start + body.len() > held.bytes.capacity() {
            pool.enlarge(&mut held.bytes, start + body.len());
        }
        held.bytes.extend_from_slice(body);
        (place, start..start + body.len())
    }

    pub(super) fn has_room(&self, stage: Stage) -> bool {
        self.room(stage) > 0
    }

    /// How many messages a stage's queue can still take.
    pub(super) fn room(&self, stage: Stage) -> usize {
        self.queue_length.saturating_sub(self.queues[stage as usize].len())
    }

    /// Queues a message of which the body is kept; there must be room.
    #[inline]
    pub(super) fn push(&mut self, origin: &Origin, batch: usize, body: Range<usize>) {
        if let Some(held) = &mut self.batches[batch] {
            held.waiting += 1;
        }
        let Origin { route, number, .. } = *origin;
        let Route { delivery, channel, stage } = route;
        let item = Item { body, batch: batch as u32, number, delivery, channel };
        self.queues[stage as usize].push_back(item);
    }

    /// The next message of a stage, and where it comes from. Its batch is kept until the end of the
    /// frame.
    #[inline]
    pub(super) fn pop(&mut self, stage: Stage) -> Option<(Origin, Item)> {
        let queue = &mut self.queues[stage as usize];
        let item = queue.pop_front()?;
        if queue.is_empty() {
            // Starts again at its beginning, in memory that was used a moment ago.
            queue.clear();
        }
        let Item { batch, number, delivery, channel, .. } = item;
        let held = self.batches[batch as usize].as_mut()?;
        held.waiting -= 1;
        let route = Route { delivery, channel, stage };
        Some((Origin { sender: held.owner, route, time: held.time, number }, item))
    }

    #[inline]
    pub(super) fn body(&self, item: &Item) -> &[u8] {
        let held = self.batches[item.batch as usize].as_ref();
        held.map_or(&[], |held| &held.bytes[item.body.clone()])
    }

    pub(super) fn queue_length(&self) -> usize {
        self.queue_length
    }

    /// Gives back the batch of a message that was handled, if it was the last in it. Tells whose it
    /// was, and how long.
    pub(super) fn release(&mut self, item: &Item, pool: &mut Pool) -> Option<(PeerId, usize)> {
        let place = item.batch as usize;
        // More may be added to the one for this side, until it is closed.
        self.batches[place].as_ref().filter(|held| held.waiting == 0)?;
        if self.local == Some(place) {
            return None;
        }
        self.give_back(place, pool)
    }

    /// Closes the batch for messages of this side to itself, and gives it back if all of it was handled
    /// while more could be added.
    pub(super) fn close_local(&mut self, pool: &mut Pool) {
        if let Some(place) = self.local.take()
            && self.batches[place].as_ref().is_some_and(|held| held.waiting == 0)
        {
            self.give_back(place, pool);
        }
    }

    /// Forgets everything of a sender.
    pub(super) fn discard(&mut self, sender: PeerId, pool: &mut Pool) {
        let is_its = |held: &Option<Held>| held.as_ref().is_some_and(|held| held.owner == sender);
        let Self { queues, batches, .. } = self;
        for queue in queues {
            queue.retain(|item| !is_its(&batches[item.batch as usize]));
        }
        for place in 0..self.batches.len() {
            if is_its(&self.batches[place]) {
                self.give_back(place, pool);
            }
        }
    }

    fn give_back(&mut self, place: usize, pool: &mut Pool) -> Option<(PeerId, usize)> {
        let held = self.batches[place].take()?;
        let length = held.bytes.len();
        pool.put(held.bytes);
        self.free.push(place);
        Some((held.owner, length))
    }
}

/// Messages that a queue has memory for from the start; a longer one gets it as it fills.
const RESERVED: usize = 4096;
