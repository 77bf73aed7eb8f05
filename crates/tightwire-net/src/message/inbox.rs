//! Received messages that wait for their stage.
//!
//! A received batch is copied once and kept until its messages are handled; queues hold positions
//! in it. Memory is limited per peer, by messages and by bytes; the queue of a stage is shared by
//! all peers.

use core::ops::Range;
use core::time::Duration;
use std::collections::VecDeque;

use super::context::MessageOrigin;
use super::header::Sizes;
use super::pool::Pool;
use super::{Bound, Delivery, PeerId, Route, Stage};

/// A queue of messages for each stage and for each drained type, and the batches that the messages
/// are in.
#[derive(Debug)]
pub(super) struct Inbox {
    /// Queues of the stages, then those of drained types.
    queues: Vec<StageQueue>,
    queue_length: usize,
    batches: Vec<Option<HeldBatch>>,
    free: Vec<usize>,
    /// The batch to which messages of this side to itself are added; `None` if there is no open
    /// one.
    local: Option<usize>,
}

/// Index of a queue: of a stage, or of a drained type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct QueueIndex(usize);

/// A queue of runs of messages.
#[derive(Debug, Default)]
struct StageQueue {
    runs: VecDeque<Run>,
    /// Number of messages in all runs.
    messages: usize,
}

/// Waiting messages that are adjacent in a batch and have the same header. Small, since there can
/// be thousands: values that all messages of a batch share are in [`HeldBatch`].
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Position of the next body, and the bytes of each body.
    start: u32,
    size: u32,
    messages: u32,
    batch: u32,
    /// Binding of the message, which is then alone in its run; and whether it is held.
    bound: u32,
    number: u8,
    delivery: Delivery,
    channel: u8,
    stage: Stage,
}

/// A message from a queue, and the position of its body.
#[derive(Debug)]
pub(super) struct QueuedMessage {
    body: Range<usize>,
    batch: usize,
    /// Number of messages of its run that still wait.
    behind: u32,
    is_held: bool,
}

/// A bound message that waits.
pub(super) struct DeferredMessage {
    pub(super) sender: PeerId,
    pub(super) bound: Bound,
    /// Time at which the message arrived.
    pub(super) time: Duration,
    /// Size of the message's batch in bytes.
    pub(super) batch_len: usize,
    /// Whether the message counts as held.
    pub(super) is_held: bool,
}

/// A batch that is kept until all of its messages are handled.
#[derive(Debug)]
struct HeldBatch {
    owner: PeerId,
    time: Duration,
    bytes: Vec<u8>,
    waiting: usize,
}

impl QueuedMessage {
    /// Returns the bytes of the body.
    pub(super) fn size(&self) -> usize {
        self.body.len()
    }
}

impl QueueIndex {
    /// Returns the queue of the drained type with this index.
    pub(super) fn drained(place: usize) -> Self {
        Self(Stage::ALL.len() + place)
    }
}

impl From<Stage> for QueueIndex {
    #[inline]
    fn from(stage: Stage) -> Self {
        Self(stage as usize)
    }
}

impl Inbox {
    /// Creates an inbox with `drained` queues of drained types.
    pub(super) fn new(queue_length: usize, drained: usize) -> Self {
        let stage = |_| {
            let runs = VecDeque::with_capacity(queue_length.min(RESERVED));
            StageQueue { runs, messages: 0 }
        };
        let stages = Stage::ALL.into_iter().map(stage);
        Self {
            queues: stages.chain((0..drained).map(|_| StageQueue::default())).collect(),
            queue_length,
            batches: Vec::new(),
            free: Vec::new(),
            local: None,
        }
    }

    /// Keeps a copy of a batch, and returns its index.
    pub(super) fn hold(
        &mut self,
        owner: PeerId,
        batch: &[u8],
        time: Duration,
        pool: &mut Pool,
    ) -> usize {
        let mut bytes = pool.take(batch.len());
        bytes.extend_from_slice(batch);
        self.keep(HeldBatch { owner, time, bytes, waiting: 0 })
    }

    fn keep(&mut self, held: HeldBatch) -> usize {
        let Some(place) = self.free.pop() else {
            self.batches.push(Some(held));
            return self.batches.len() - 1;
        };
        self.batches[place] = Some(held);
        place
    }

    /// Adds a body to the batch of messages of this side to itself, and returns its position.
    pub(super) fn add_local(
        &mut self,
        body: &[u8],
        time: Duration,
        pool: &mut Pool,
    ) -> (usize, Range<usize>) {
        let fits = |held: &HeldBatch| {
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

    pub(super) fn has_room(&self, queue: QueueIndex) -> bool {
        self.room(queue) > 0
    }

    /// Returns the number of messages that a queue can still take.
    pub(super) fn room(&self, queue: QueueIndex) -> usize {
        self.queue_length.saturating_sub(self.queues[queue.0].messages)
    }

    /// Iterates over the queues of the drained types.
    pub(super) fn drained(&self) -> impl Iterator<Item = QueueIndex> {
        (Stage::ALL.len()..self.queues.len()).map(QueueIndex)
    }

    /// Queues `messages` with the same header, whose bodies are kept, the first one at `body`;
    /// there must be room.
    #[inline]
    pub(super) fn push(
        &mut self,
        origin: &MessageOrigin,
        queue: QueueIndex,
        batch: usize,
        first: Range<usize>,
        messages: usize,
    ) {
        if let Some(held) = &mut self.batches[batch] {
            held.waiting += messages;
        }
        let MessageOrigin { route, number, .. } = *origin;
        let Route { delivery, channel, stage, bound } = route;
        let (start, size) = (first.start as u32, first.len() as u32);
        let queue = &mut self.queues[queue.0];
        queue.messages += messages;
        let (messages, batch) = (messages as u32, batch as u32);
        queue.runs.push_back(Run {
            start,
            size,
            messages,
            batch,
            bound: Bound::pack(bound),
            number,
            delivery,
            channel,
            stage,
        });
    }

    /// Returns the next message of a queue, and its origin. Its batch is kept until it is released.
    #[inline]
    pub(super) fn pop(&mut self, queue: QueueIndex) -> Option<(MessageOrigin, QueuedMessage)> {
        let run = *self.queues[queue.0].runs.front()?;
        let item = self.take(queue, 0)?;
        Some((self.origin(&run)?, item))
    }

    #[inline]
    fn origin(&self, run: &Run) -> Option<MessageOrigin> {
        let held = self.batches[run.batch as usize].as_ref()?;
        let &Run { delivery, channel, stage, number, .. } = run;
        let route = Route { delivery, channel, stage, bound: Bound::unpack(run.bound) };
        Some(MessageOrigin { sender: held.owner, route, time: held.time, number })
    }

    /// Returns the next message of a queue that is not bound, or that `takes` returns `true` for.
    pub(super) fn pop_if(
        &mut self,
        queue: QueueIndex,
        mut takes: impl FnMut(&mut DeferredMessage) -> bool,
    ) -> Option<(MessageOrigin, QueuedMessage)> {
        let runs = &mut self.queues[queue.0].runs;
        for (place, run) in runs.iter_mut().enumerate() {
            if let Some(bound) = Bound::unpack(run.bound) {
                let held = self.batches[run.batch as usize].as_ref()?;
                let (sender, time, batch_len) = (held.owner, held.time, held.bytes.len());
                let is_held = run.bound & HELD != 0;
                let mut waiting = DeferredMessage { sender, bound, time, batch_len, is_held };
                let is_taken = takes(&mut waiting);
                run.bound = Bound::pack(Some(bound)) | if waiting.is_held { HELD } else { 0 };
                if !is_taken {
                    continue;
                }
            }
            let run = *run;
            let item = self.take(queue, place)?;
            return Some((self.origin(&run)?, item));
        }
        None
    }

    /// Returns the bytes of a message's batch, if the message counted as held.
    pub(super) fn held_bytes(&self, item: &QueuedMessage) -> Option<usize> {
        let held = self.batches[item.batch].as_ref().filter(|_| item.is_held)?;
        Some(held.bytes.len())
    }

    /// Returns the next message of a queue, if it is in the run of the one before: it has the same
    /// origin, and is in the same batch.
    #[inline]
    pub(super) fn pop_in_run(
        &mut self,
        queue: QueueIndex,
        before: &QueuedMessage,
    ) -> Option<QueuedMessage> {
        if before.behind == 0 { None } else { self.take(queue, 0) }
    }

    #[inline]
    fn take(&mut self, queue: QueueIndex, place: usize) -> Option<QueuedMessage> {
        let queue = &mut self.queues[queue.0];
        let run = queue.runs.get_mut(place)?;
        let start = run.start as usize;
        let (batch, body) = (run.batch as usize, start..start + run.size as usize);
        run.messages -= 1;
        let (behind, is_held) = (run.messages, run.bound & HELD != 0);
        run.start = (body.end + Sizes::of(run.delivery).header()) as u32;
        queue.messages -= 1;
        if behind == 0 {
            if place == 0 {
                queue.runs.pop_front();
            } else {
                queue.runs.remove(place);
            }
            if queue.runs.is_empty() {
                // Starts again at its beginning, in memory that is still in the cache.
                queue.runs.clear();
            }
        }
        if let Some(held) = &mut self.batches[batch] {
            held.waiting -= 1;
        }
        Some(QueuedMessage { body, batch, behind, is_held })
    }

    #[inline]
    pub(super) fn body(&self, item: &QueuedMessage) -> &[u8] {
        let held = self.batches[item.batch].as_ref();
        held.map_or(&[], |held| &held.bytes[item.body.clone()])
    }

    pub(super) fn queue_length(&self) -> usize {
        self.queue_length
    }

    /// Frees the batch of a handled message, if the message was the last in it. Returns the owner
    /// of the batch, and its length.
    pub(super) fn release(
        &mut self,
        item: &QueuedMessage,
        pool: &mut Pool,
    ) -> Option<(PeerId, usize)> {
        let place = item.batch;
        // More may be added to the batch of this side until it is closed.
        self.batches[place].as_ref().filter(|held| held.waiting == 0)?;
        if self.local == Some(place) {
            return None;
        }
        self.give_back(place, pool)
    }

    /// Closes the batch of messages of this side to itself, and frees it if all of it was already
    /// handled.
    pub(super) fn close_local(&mut self, pool: &mut Pool) {
        if let Some(place) = self.local.take()
            && self.batches[place].as_ref().is_some_and(|held| held.waiting == 0)
        {
            self.give_back(place, pool);
        }
    }

    /// Drops all batches and messages of a sender.
    pub(super) fn discard(&mut self, sender: PeerId, pool: &mut Pool) {
        let is_its =
            |held: &Option<HeldBatch>| held.as_ref().is_some_and(|held| held.owner == sender);
        let Self { queues, batches, .. } = self;
        for StageQueue { runs, messages } in queues {
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

/// Bit of a packed binding: the message counts as held.
const HELD: u32 = 1 << 31;

/// Messages that a queue reserves memory for at the start; a longer queue grows as it fills.
const RESERVED: usize = 4096;
