//! Messages without a type of this program: known by a name and a schema, and passed as bytes.

use core::fmt;
use core::time::Duration;

use super::context::MessageOrigin;
use super::handling::Handling;
use super::header::{Header, Sizes};
use super::inbox::{QueueIndex, QueuedMessage};
use super::registry::MessageType;
use super::{
    Bound, MessageEvent, Messenger, MessengerBuilder, PeerId, ReceivedMessage, Route, SendError,
    Stage,
};
use tightwire_core::schema::Schema;

impl<C: 'static> MessengerBuilder<C> {
    /// Registers messages by their name and schema instead of a [`Message`](super::Message) type:
    /// for engines and scripts, whose types are known at run time only. Their bodies are bytes, as
    /// [`Messenger::send_raw`] sends and [`Messenger::drain_raw`] returns them; the caller encodes
    /// and decodes them in the [`packing`](super::MessengerConfig::packing) of the messenger.
    ///
    /// The other side can have a type with this name and schema.
    ///
    /// ```
    /// use tightwire::{Delivery, PeerId};
    /// use tightwire::message::{Messenger, MessengerConfig};
    /// use tightwire::schema::Schema;
    ///
    /// let mut messenger = Messenger::<()>::builder(MessengerConfig::default())
    ///     .queue_raw("game::Score", Schema::of::<u16>())
    ///     .build()?;
    /// let score = messenger.number_of("game::Score").unwrap();
    /// messenger.send_raw(PeerId::LOCAL, score, &[7, 0], Delivery::Reliable)?;
    /// let mut scores = messenger.drain_raw(score);
    /// let received = scores.next_ref().unwrap();
    /// assert_eq!(tightwire::decode::<u16>(received.message)?, 7);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn queue_raw(mut self, name: &'static str, schema: Schema) -> Self {
        self.entries.push(MessageType::raw(name, schema));
        self
    }
}

/// The waiting messages that are known by name and schema, as bytes, in the order in which they
/// came: see [`Messenger::drain_raw`].
pub struct RawDrain<'m, C> {
    messenger: &'m mut Messenger<C>,
    queue: Option<QueueIndex>,
}

impl<C: 'static> Messenger<C> {
    /// Returns the number of the messages with this name; `None` if none has it.
    #[must_use]
    pub fn number_of(&self, name: &str) -> Option<u8> {
        self.registry.iter().find(|(_, entry)| entry.name == name).map(|(number, _)| number)
    }

    /// Sends a message that was [registered](MessengerBuilder::queue_raw) by name and schema, and
    /// is encoded already. It is not checked: the receiver refuses a body that does not fit the
    /// schema.
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was not sent. The batches are unchanged.
    pub fn send_raw(
        &mut self,
        to: PeerId,
        number: u8,
        body: &[u8],
        route: impl Into<Route>,
    ) -> Result<(), SendError> {
        let route = route.into();
        let entry = self.registry.entry(number).filter(|entry| entry.is_raw());
        let Some(entry) = entry else {
            return Err(SendError::NotRegistered { message: "a message without a type" });
        };
        let (message, queue) = (entry.name, entry.queue(route.stage));
        self.check_route(message, route)?;
        let event = || MessageEvent { peer: to, message, route, size: None };
        self.ask_before_send(event)?;
        if to == PeerId::LOCAL {
            if !self.inbox.has_room(queue) {
                return Err(SendError::QueueFull(to));
            }
            let (batch, place) = self.inbox.add_local(body, self.now, &mut self.pool);
            let origin = MessageOrigin { sender: to, route, time: self.now, number };
            self.inbox.push(&origin, queue, batch, place, 1);
        } else {
            let sizes = Sizes::of(route.delivery);
            let mut bytes = core::mem::take(&mut self.scratch);
            bytes.clear();
            bytes.resize(sizes.header() + Bound::size_of(route.bound), 0);
            sizes.put_header(&mut bytes, Header::new(number, route, body.len()));
            Bound::put(route.bound, &mut bytes[sizes.header()..]);
            bytes.extend_from_slice(body);
            let sent = self.copy(to, number, &bytes, message, route);
            let length = bytes.len();
            self.scratch = bytes;
            sent?;
            if let Some(entry) = self.registry.entry(number) {
                entry.stats.sent.add(length);
            }
        }
        self.after_send(event, Some(body.len()));
        Ok(())
    }

    /// Takes the messages with this [number](Self::number_of) that were
    /// [registered](MessengerBuilder::queue_raw) by name and schema, in the order in which they
    /// came. Empty for another number. What [`drain`](Self::drain) says of limits holds.
    pub fn drain_raw(&mut self, number: u8) -> RawDrain<'_, C> {
        let entry = self.registry.entry(number).filter(|entry| entry.is_raw());
        let queue = entry.map(|entry| entry.queue(Stage::Update));
        RawDrain { messenger: self, queue }
    }
}

impl<C: 'static> RawDrain<'_, C> {
    /// Returns the body of the next message, which nobody has checked: it may not be of the schema.
    pub fn next_ref(&mut self) -> Option<ReceivedMessage<&[u8]>> {
        let origin = loop {
            let (origin, item) = self.messenger.inbox.pop(self.queue?)?;
            if self.read(origin, item) {
                break origin;
            }
        };
        self.received(origin, false)
    }

    /// Returns the body of the next message that is not bound, or whose tick or object is there:
    /// see [`Drain::next_ready`](super::Drain::next_ready).
    pub fn next_ready_ref(
        &mut self,
        hold: Duration,
        mut is_ready: impl FnMut(PeerId, Bound) -> bool,
    ) -> Option<ReceivedMessage<&[u8]>> {
        let (origin, is_overdue) = loop {
            let (origin, item, is_overdue) =
                self.messenger.pop_ready(self.queue?, hold, &mut is_ready)?;
            if self.read(origin, item) {
                break (origin, is_overdue);
            }
        };
        self.received(origin, is_overdue)
    }

    fn read(&mut self, origin: MessageOrigin, item: QueuedMessage) -> bool {
        self.messenger.release_held(&origin, &item);
        Handling::new(self.messenger, origin, Some(item)).read_raw()
    }

    fn received(
        &mut self,
        origin: MessageOrigin,
        is_overdue: bool,
    ) -> Option<ReceivedMessage<&[u8]>> {
        let entry = self.messenger.registry.entry(origin.number)?;
        let body: &Vec<u8> = entry.value_mut()?;
        let MessageOrigin { sender, route, time: received_at, .. } = origin;
        Some(ReceivedMessage { message: body, sender, route, received_at, is_overdue })
    }
}

impl<C> fmt::Debug for RawDrain<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawDrain").finish_non_exhaustive()
    }
}
