//! Messages of this side to itself.

use super::context::MessageOrigin;
use super::handling::Handling;
use super::header::Sizes;
use super::send::not_written;
use super::{Bound, Message, MessageEvent, Messenger, PeerId, Route, SendError};
use tightwire_core::stream::check;

impl<C: 'static> Messenger<C> {
    /// Sends a message to this side. It is handled at once, without being written, if its stage is
    /// running and its handler is not; else it waits for its stage. A message of a
    /// [drained](Self::drain) type waits to be drained.
    ///
    /// ```
    /// # use tightwire::{Context, Delivery, Message, Stage, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # #[derive(Wire, Message, Default)]
    /// # struct Jump;
    /// # let mut messenger = Messenger::builder(MessengerConfig::default())
    /// #     .handle(|_: &Jump, context: &mut Context<'_, u32>| *context.state += 1)
    /// #     .build()?;
    /// let mut jumps = 0;
    /// messenger.run_stage(Stage::Update, &mut jumps);
    /// messenger.send_local(&mut jumps, &Jump, Delivery::Reliable)?;
    /// assert_eq!(jumps, 1);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was not sent.
    pub fn send_local<M: Message>(
        &mut self,
        state: &mut C,
        message: &M,
        route: impl Into<Route>,
    ) -> Result<(), SendError> {
        self.send_one(Some(state), PeerId::LOCAL, message, route.into())
    }

    /// Whether a message to this side is handled at once: its stage is running, and its handler is
    /// not.
    pub(super) fn is_handled_now(&mut self, number: u8, route: Route) -> bool {
        let entry = self.registry.entry(number);
        self.stage == Some(route.stage) && entry.is_some_and(|entry| entry.receiver.is_some())
    }

    /// Handles a message to this side at once, or queues its written form. Returns the bytes of its
    /// body, if it was written.
    pub(super) fn send_to_self<M: Message>(
        &mut self,
        state: Option<&mut C>,
        number: u8,
        message: &M,
        route: Route,
        written: Option<&[u8]>,
    ) -> Result<Option<usize>, SendError> {
        let origin = MessageOrigin { sender: PeerId::LOCAL, route, time: self.now, number };
        let entry = self.registry.entry(number).filter(|entry| entry.is_handled);
        let queue = entry.ok_or(SendError::NotHandled { message: M::NAME })?.queue(route.stage);
        if !self.config.stages.contains(&route.stage) {
            return Err(SendError::UnknownStage { message: M::NAME, stage: route.stage });
        }
        if let Some(state) = state
            && self.is_handled_now(number, route)
        {
            // A message that a peer would refuse to read is not handled here either.
            check(message).map_err(|error| not_written(message, error))?;
            let event = MessageEvent { peer: PeerId::LOCAL, message: M::NAME, route, size: None };
            self.handle_immediately(state, origin, message, &event)?;
            return Ok(None);
        }
        if !self.inbox.has_room(queue) {
            return Err(SendError::QueueFull(PeerId::LOCAL));
        }
        let header_len = Sizes::of(route.delivery).header() + Bound::size_of(route.bound);
        let (batch, body) = match written {
            Some(bytes) => self.inbox.add_local(&bytes[header_len..], self.now, &mut self.pool),
            None => {
                let bytes = self.write_once(number, message, route)?;
                let added = self.inbox.add_local(&bytes[header_len..], self.now, &mut self.pool);
                self.scratch = bytes;
                added
            }
        };
        let size = body.len();
        self.inbox.push(&origin, queue, batch, body, 1);
        if let Some(entry) = self.registry.entry(number) {
            entry.stats.received.add(size);
        }
        Ok(Some(size))
    }

    /// Passes a message to its handler without writing it.
    fn handle_immediately<M: Message>(
        &mut self,
        state: &mut C,
        origin: MessageOrigin,
        message: &M,
        event: &MessageEvent,
    ) -> Result<(), SendError> {
        if self.hooks.as_mut().is_some_and(|hooks| !hooks.before_handle(event)) {
            return Err(SendError::Vetoed { message: M::NAME });
        }
        let mut handling = Handling::new(self, origin, None);
        let Some(result) = handling.handle_value(message, state) else { return Ok(()) };
        drop(handling);
        self.count_handled(origin.number, result, || *event);
        if let Some(hooks) = &mut self.hooks {
            hooks.after_handle(event);
        }
        Ok(())
    }
}
