//! Receiving: from batches to the queues of handlers.

use core::time::Duration;

use super::bound::STAGE;
use super::context::MessageOrigin;
use super::error::HandlerError;
use super::header::{Header, Sizes};
use super::inbox::{Inbox, QueueIndex, QueuedMessage};
use super::split::{BatchFault, Split};
use super::{
    Bound, Delivery, MessageError, MessageEvent, Messenger, PeerId, RefusedMessageError, Route,
    Stage,
};
use tightwire_core::bytes::Packing;
use tightwire_core::stream::ExplainedError;

impl<C: 'static> Messenger<C> {
    /// Receives a batch that came from a peer at this time. Its messages wait for their stages.
    ///
    /// A refused message is counted, and does not affect the next one, as long as the start of the
    /// next one is known.
    ///
    /// ```
    /// # use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # use std::time::Duration;
    /// # #[derive(Wire, Message, Default)]
    /// # struct Jump;
    /// # let mut messenger = Messenger::builder(MessengerConfig::default())
    /// #     .handle(|_: &Jump, context: &mut Context<'_, u32>| *context.state += 1)
    /// #     .build()?;
    /// # let mut jumps = 0;
    /// let peer = messenger.add_peer(1200);
    /// // A message of an unknown type, and a jump.
    /// let batch = [10, 0, 99, 4, 0, 0, 0, 16, 4, 0, 0, 0];
    /// messenger.receive(peer, Delivery::Reliable, &batch, Duration::ZERO)?;
    /// messenger.run_stage(Stage::Update, &mut jumps);
    /// assert_eq!((jumps, messenger.faults().unknown_message), (1, 1));
    ///
    /// let refused = messenger.receive(peer, Delivery::Reliable, &batch[..9], Duration::ZERO);
    /// let sentence = "peer 0: the batch declares 10 bytes, but has 7";
    /// assert_eq!(refused.unwrap_err().to_string(), sentence);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RefusedMessageError`] if the batch was refused, as a whole or from some message on.
    pub fn receive(
        &mut self,
        from: PeerId,
        delivery: Delivery,
        batch: &[u8],
        now: Duration,
    ) -> Result<(), RefusedMessageError> {
        self.receive_batch(from, delivery, batch, now).map_err(|BatchFault { fault, number }| {
            let message = self.refuse(from, number, fault);
            RefusedMessageError { peer: from, message, fault }
        })
    }

    /// Returns the number of messages of a peer that can be received now, whatever their stages; 0
    /// for a peer that is not connected.
    ///
    /// ```
    /// # use tightwire::{Context, Delivery, Message, Stage, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # use std::time::Duration;
    /// # #[derive(Wire, Message, Default)]
    /// # struct Jump;
    /// let mut messenger = Messenger::builder(MessengerConfig::default())
    ///     .handle(|_: &Jump, _: &mut Context<'_, ()>| {})
    ///     .build()?;
    /// let peer = messenger.add_peer(1200);
    /// assert_eq!(messenger.room(peer), 512);
    /// messenger.receive(peer, Delivery::Reliable, &[5, 0, 16, 4, 0, 0, 0], Duration::ZERO)?;
    /// assert_eq!(messenger.room(peer), 511);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn room(&self, peer: PeerId) -> usize {
        let Some(peer) = self.peers.get(peer) else { return 0 };
        let stages = self.config.stages.iter().map(|stage| QueueIndex::from(*stage));
        let rooms = stages.chain(self.inbox.drained()).map(|queue| self.inbox.room(queue));
        let own = self.config.peer_messages.saturating_sub(peer.waiting_messages);
        rooms.fold(own, usize::min)
    }

    /// Whether any batch of an honest peer can be received now without a message being discarded.
    /// If not, let the reliable batches wait until stages were run and the frame has ended.
    ///
    /// ```
    /// # use tightwire::{Context, Delivery, Message, Stage, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # use std::time::Duration;
    /// # #[derive(Wire, Message, Default)]
    /// # struct Jump;
    /// let limits = MessengerConfig { batch_messages: 2, peer_messages: 4, ..Default::default() };
    /// let mut messenger =
    ///     Messenger::builder(limits).handle(|_: &Jump, _: &mut Context<'_, ()>| {}).build()?;
    /// let peer = messenger.add_peer(1200);
    /// let batch = [15, 0, 16, 4, 0, 0, 0, 16, 4, 0, 0, 0, 16, 4, 0, 0, 0];
    /// messenger.receive(peer, Delivery::Reliable, &batch, Duration::ZERO)?;
    /// assert!(!messenger.can_receive(peer));
    /// messenger.run_stage(Stage::Update, &mut ());
    /// assert!(messenger.can_receive(peer));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn can_receive(&self, peer: PeerId) -> bool {
        let has_bytes = self.peers.get(peer).is_some_and(|peer| peer.has_room(&self.config));
        has_bytes && self.room(peer) >= self.config.batch_messages
    }

    fn receive_batch(
        &mut self,
        from: PeerId,
        delivery: Delivery,
        batch: &[u8],
        now: Duration,
    ) -> Result<(), BatchFault> {
        let peer = self.peers.get_mut(from).ok_or(MessageError::UnknownPeer)?;
        let (length, limit) = (batch.len(), peer.receive_limit(delivery, &self.config));
        if length > limit {
            return Err(MessageError::BatchTooLong { length, limit }.into());
        }
        let split = Split::new(batch, Sizes::of(delivery))?;
        // A single batch is always accepted, or the largest could never arrive.
        if peer.waiting_bytes > 0 && peer.waiting_bytes + length > self.config.peer_bytes() {
            return Err(MessageError::PeerLimit.into());
        }
        peer.waiting_bytes += length;
        peer.count_batch();

        let room = self.config.peer_messages.saturating_sub(peer.waiting_messages);
        let mut taken = BatchProgress { held: None, room, messages: 0 };
        let walked = self.receive_messages(from, delivery, (batch, split), now, &mut taken);
        if let Some(peer) = self.peers.get_mut(from) {
            peer.waiting_messages += taken.messages;
            peer.refused_bytes += if taken.held.is_none() { length } else { 0 };
        }
        walked
    }

    fn receive_messages(
        &mut self,
        from: PeerId,
        delivery: Delivery,
        (batch, mut split): (&[u8], Split<'_>),
        now: Duration,
        taken: &mut BatchProgress,
    ) -> Result<(), BatchFault> {
        let sizes = Sizes::of(delivery);
        while let Some(message) = split.next() {
            let (header, body) = message?;
            let (number, size) = (header.number, header.size as usize);
            let content = batch.get(body.clone()).unwrap_or_default();
            let (route, queue) = match self.admit(from, delivery, (&header, content), taken.room) {
                Ok(admitted) => admitted,
                Err(fault) => {
                    self.refuse(from, Some(number), fault);
                    continue;
                }
            };
            let Self { inbox, pool, .. } = self;
            let held = *taken.held.get_or_insert_with(|| inbox.hold(from, batch, now, pool));
            // Adjacent messages with the same header are queued together, as long as there is room.
            // Hooks are called for each message.
            let room = taken.room.min(inbox.room(queue));
            let is_alone = self.hooks.is_some() || route.bound.is_some();
            let more = if !is_alone { split.skip_same(room - 1) } else { 0 };
            let messages = 1 + more;
            let origin = MessageOrigin { sender: from, route, time: now, number };
            let body = body.start + Bound::size_of(route.bound)..body.end;
            inbox.push(&origin, queue, held, body, messages);
            taken.room -= messages;
            taken.messages += messages;
            if let Some(peer) = self.peers.get_mut(from) {
                peer.count_received(number, messages, sizes.header() + size);
            }
            if let Some(entry) = self.registry.entry(number) {
                entry.stats.received.add_many(messages, sizes.header() + size);
                if let Some(hooks) = &mut self.hooks {
                    let message = entry.name;
                    let event = MessageEvent { peer: from, message, route, size: Some(size) };
                    hooks.after_receive(&event);
                }
            }
        }
        Ok(())
    }

    /// Checks whether a message may be queued: its stage, channel and type, and the room of its
    /// sender and its queue.
    #[inline]
    fn admit(
        &mut self,
        peer: PeerId,
        delivery: Delivery,
        (header, content): (&Header, &[u8]),
        room: usize,
    ) -> Result<(Route, QueueIndex), MessageError> {
        let &Header { number, stage, size, channel } = header;
        let entry = self.registry.entry(number).filter(|entry| entry.is_handled);
        let entry = entry.ok_or(MessageError::UnknownMessage { number })?;
        let message = entry.name;
        let known = Stage::ALL.get(usize::from(stage & STAGE));
        let known = known.filter(|stage| self.config.stages.contains(stage));
        let stage = known.ok_or(MessageError::UnknownStage { stage })?;
        let (queue, is_drained) = (entry.queue(*stage), entry.drained.is_some());
        if usize::from(channel) >= self.config.channels {
            return Err(MessageError::UnknownChannel { channel });
        }
        let bound = Bound::read(header.stage, content)?;
        let route = Route { delivery, channel, stage: *stage, bound };
        if let Some(hooks) = &mut self.hooks {
            let event = MessageEvent { peer, message, route, size: Some(size as usize) };
            if !hooks.before_receive(&event) {
                return Err(MessageError::Vetoed);
            }
        }
        if room == 0 {
            return Err(MessageError::PeerLimit);
        }
        if !self.inbox.has_room(queue) {
            let full = MessageError::QueueFull(route.stage);
            return Err(if is_drained { MessageError::NotDrained } else { full });
        }
        Ok((route, queue))
    }

    /// Returns the next message of the run after one that was handled, if one more may be handled.
    /// With hooks, each message takes the slow path, which calls them.
    #[inline]
    pub(super) fn next_of_run(
        &mut self,
        handled: &QueuedMessage,
        origin: &MessageOrigin,
        left: &mut usize,
    ) -> Option<QueuedMessage> {
        if *left == 0 || self.hooks.is_some() {
            return None;
        }
        let item = self.inbox.pop_in_run(origin.route.stage.into(), handled)?;
        self.count_popped(origin.sender, left);
        if let Some(entry) = self.registry.entry(origin.number) {
            entry.stats.handled += 1;
        }
        Some(item)
    }

    #[inline]
    pub(super) fn count_popped(&mut self, sender: PeerId, left: &mut usize) {
        *left -= 1;
        if let Some(peer) = self.peers.get_mut(sender) {
            // Not below zero, also when a hook has panicked before this was counted.
            peer.waiting_messages = peer.waiting_messages.saturating_sub(1);
        }
    }

    #[inline]
    pub(super) fn body(&self, item: &QueuedMessage) -> &[u8] {
        self.inbox.body(item)
    }

    pub(super) fn packing(&self) -> Packing {
        self.config.packing
    }

    /// Counts the result of a handler.
    pub(super) fn count_handled(
        &mut self,
        number: u8,
        result: Result<(), HandlerError>,
        event: impl FnOnce() -> MessageEvent,
    ) {
        match result {
            Ok(()) => {
                if let Some(entry) = self.registry.entry(number) {
                    entry.stats.handled += 1;
                }
            }
            Err(HandlerError(error)) => {
                let event = event();
                self.refuse(event.peer, Some(number), MessageError::Handler);
                if let (Some(hooks), Some(error)) = (&mut self.hooks, error) {
                    hooks.handler_failed(&event, &error);
                }
            }
        }
    }

    /// Counts a refused message, and returns its name, if the number is known.
    pub(super) fn refuse(
        &mut self,
        peer: PeerId,
        number: Option<u8>,
        fault: MessageError,
    ) -> Option<&'static str> {
        self.refuse_explained(peer, number, fault, |_| None)
    }

    #[cold]
    pub(super) fn refuse_explained(
        &mut self,
        peer: PeerId,
        number: Option<u8>,
        fault: MessageError,
        explain: impl Fn(&Inbox) -> Option<ExplainedError>,
    ) -> Option<&'static str> {
        self.faults.count(fault);
        let message = number.and_then(|number| self.registry.entry(number)).map(|entry| {
            entry.stats.refused += 1;
            entry.name
        });
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.count_refused();
        }
        if let Some(hooks) = &mut self.hooks {
            let inbox = &self.inbox;
            hooks.refused(&RefusedMessageError { peer, message, fault }, &|| explain(inbox));
        }
        message
    }
}

/// Progress within a batch, and the room that its sender has left.
struct BatchProgress {
    /// Index of the kept batch; `None` until its first message waits. A batch with nothing but
    /// refused messages takes no memory.
    held: Option<usize>,
    room: usize,
    messages: usize,
}
