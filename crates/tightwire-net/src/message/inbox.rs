//! What came in and waits for its stage.
//!
//! A received batch is copied once and kept until its messages are handled; queues hold places in it.
//! Memory is limited by number and by bytes for each peer; the queue of a stage is shared by all.

use core::ops::Range;
use core::time::Duration;
use std::collections::VecDeque;

use super::context::Origin;
use super::header::Sizes;
use super::pool::Pool;
use super::{Delivery, PeerId, Route, Stage};

/// A queue of messages for each stage and for each type that is drained, and the batches that they stand
/// in.
#[derive(Debug)]
pub(super) struct Inbox {
    /// Those of the stages come first.
    queues: Vec<Queue>,
    queue_length: usize,
    batches: Vec<Option<Held>>,
    free: Vec<usize>,
    /// The batch that messages of this side to itself are added to.
    local: Option<usize>,
}

/// One of the queues: of a stage, or of a type that is drained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lane(usize);

/// What waits in a queue.
#[derive(Debug, Default)]
struct Queue {
    runs: VecDeque<Run>,
    /// The messages in all of them.
    messages: usize,
}

/// Messages that wait, which follow each other in a batch and have the same header. Small, since there
/// can be thousands: what all messages of a batch have in common stands there.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where the next body begins, and the bytes of each.
    start: usize,
    size: u32,
    messages: u32,
    batch: u32,
    number: u8,
    delivery: Delivery,
    channel: u8,
    stage: Stage,
}

/// A message that waited, and where its body stands.
#[derive(Debug)]
pub(super) struct Item {
    body: Range<usize>,
    batch: usize,
    /// The messages of its run that wait.
    behind: u32,
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

impl Lane {
    /// The queue of the type that is drained and has this place among those.
    pub(super) fn drained(place: usize) -> Self {
        Self(Stage::ALL.len() + place)
    }
}

impl From<Stage> for Lane {
    #[inline]
    fn from(stage: Stage) -> Self {
        Self(stage as usize)
    }
}

impl Inbox {
    /// With so many types that are drained.
    pub(super) fn new(queue_length: usize, drained: usize) -> Self {
        let stage = |_| {
            let runs = VecDeque::with_capacity(queue_length.min(RESERVED));
            Queue { runs, messages: 0 }
        };
        let stages = Stage::ALL.into_iter().map(stage);
        Self {
            queues: stages.chain((0..drained).map(|_| Queue::default())).collect(),
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

    pub(super) fn has_room(&self, lane: Lane) -> bool {
        self.room(lane) > 0
    }

    /// How many messages a queue can still take.
    pub(super) fn room(&self, lane: Lane) -> usize {
        self.queue_length.saturating_sub(self.queues[lane.0].messages)
    }

    /// The queues of the types that are drained.
    pub(super) fn drained(&self) -> impl Iterator<Item = Lane> {
        (Stage::ALL.len()..self.queues.len()).map(Lane)
    }

    /// Queues so many messages with the same header of which the bodies are kept, the first of them
    /// here; there must be room.
    #[inline]
    pub(super) fn push(
        &mut self,
        origin: &Origin,
        lane: Lane,
        batch: usize,
        first: Range<usize>,
        messages: usize,
    ) {
        if let Some(held) = &mut self.batches[batch] {
            held.waiting += messages;
        }
        let Origin { route, number, .. } = *origin;
        let Route { delivery, channel, stage } = route;
        let (start, size) = (first.start, first.len() as u32);
        let queue = &mut self.queues[lane.0];
        queue.messages += messages;
        let (messages, batch) = (messages as u32, batch as u32);
        queue.runs.push_back(Run {
            start,
            size,
            messages,
            batch,
            number,
            delivery,
            channel,
            stage,
        });
    }

    /// The next message of a queue, and where it comes from. Its batch is kept until it is released.
    #[inline]
    pub(super) fn pop(&mut self, lane: Lane) -> Option<(Origin, Item)> {
        let run = *self.queues[lane.0].runs.front()?;
        let item = self.take(lane)?;
        let held = self.batches[item.batch].as_ref()?;
        let route = Route { delivery: run.delivery, channel: run.channel, stage: run.stage };
        Some((Origin { sender: held.owner, route, time: held.time, number: run.number }, item))
    }

    /// The next message of a queue, if it is of the run of the one before: it has the same origin, and
    /// stands in the same batch.
    #[inline]
    pub(super) fn pop_behind(&mut self, lane: Lane, before: &Item) -> Option<Item> {
        if before.behind == 0 { None } else { self.take(lane) }
    }

    #[inline]
    fn take(&mut self, lane: Lane) -> Option<Item> {
        let queue = &mut self.queues[lane.0];
        let run = queue.runs.front_mut()?;
        let (batch, body) = (run.batch as usize, run.start..run.start + run.size as usize);
        run.messages -= 1;
        let behind = run.messages;
        run.start = body.end + Sizes::of(run.delivery).header();
        queue.messages -= 1;
        if behind == 0 {
            queue.runs.pop_front();
            if queue.runs.is_empty() {
                // Starts again at its beginning, in memory that was used a moment ago.
                queue.runs.clear();
            }
        }
        if let Some(held) = &mut self.batches[batch] {
            held.waiting -= 1;
        }
        Some(Item { body, batch, behind })
    }

    #[inline]
    pub(super) fn body(&self, item: &Item) -> &[u8] {
        let held = self.batches[item.batch].as_ref();
        held.map_or(&[], |held| &held.bytes[item.body.clone()])
    }

    pub(super) fn queue_length(&self) -> usize {
        self.queue_length
    }

    /// Gives back the batch of a message that was handled, if it was the last in it. Tells whose it
    /// was, and how long.
    pub(super) fn release(&mut self, item: &Item, pool: &mut Pool) -> Option<(PeerId, usize)> {
        let place = item.batch;
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
        for Queue { runs, messages } in queues {
            runs.retain(|run| !is_its(&batches[run.batch as usize]));
            *messages = runs.iter().map(|run| run.messages as usize).sum();
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
