//! Draining: messages that the application takes instead of a handler.

use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::time::Duration;

use super::context::MessageOrigin;
use super::handling::Handling;
use super::inbox::{QueueIndex, QueuedMessage};
use super::{Message, Messenger, PeerId, Route, Stage};

/// A drained message, or a reference to one, with its origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ReceivedMessage<M> {
    /// The message.
    pub message: M,
    /// The peer that sent the message.
    pub sender: PeerId,
    /// Route of the message: its delivery, channel and stage.
    pub route: Route,
    /// Time at which its batch came, as passed to [`Messenger::receive`]; for a message of this
    /// side to itself, the time of the frame, as passed to [`Messenger::begin_frame`].
    pub received_at: Duration,
    /// The message was held for too long, and its tick or object is not there: see
    /// [`Drain::next_ready`].
    pub is_overdue: bool,
}

/// Iterator over the waiting messages of a type, in the order in which they came: see
/// [`Messenger::drain`]. Messages that are not taken go on waiting.
// It has no destructor, so that the messenger can be used in
// `while let Some(chat) = messenger.drain::<Chat>().next()`.
pub struct Drain<'m, M, C> {
    pub(super) messenger: &'m mut Messenger<C>,
    pub(super) queue: Option<QueueIndex>,
    messages: PhantomData<fn() -> M>,
}

impl<C: 'static> Messenger<C> {
    /// Takes the messages of a type that was registered with
    /// [`queue`](super::MessengerBuilder::queue), in the order in which they came. Empty for
    /// another type.
    ///
    /// A message is there as soon as it was [received](Self::receive), and stays until it is taken
    /// or its sender is [removed](Self::remove_peer). It does not wait for its stage: the stage in
    /// [`ReceivedMessage::route`] only tells the game when to handle it. A malformed message is
    /// refused at its turn, and skipped.
    ///
    /// Waiting messages count as any other: the limits are
    /// [`peer_messages`](super::MessengerConfig::peer_messages) and
    /// [`peer_bytes`](super::MessengerConfig::peer_bytes) for a peer, and
    /// [`receive_queue`](super::MessengerConfig::receive_queue) messages of all peers for a type. A
    /// type that is not drained about once a frame therefore holds up its senders: they are no
    /// longer [received](Self::can_receive) from, and memory does not grow.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tightwire::{Delivery, Message, Wire};
    /// use tightwire::message::{Messenger, MessengerConfig};
    ///
    /// #[derive(Wire, Message, Default)]
    /// struct Input { stick: u8 }
    ///
    /// let mut messenger = Messenger::<()>::builder(MessengerConfig::default()).queue::<Input>().build()?;
    /// let peer = messenger.add_peer(1200);
    /// let batch = [12, 0, 16, 4, 1, 0, 0, 7, 16, 4, 1, 0, 0, 9];
    /// messenger.receive(peer, Delivery::Unreliable, &batch, Duration::ZERO)?;
    ///
    /// let mut sticks = Vec::new();
    /// for input in messenger.drain::<Input>() {
    ///     sticks.push((input.sender, input.message.stick));
    /// }
    /// assert_eq!(sticks, [(peer, 7), (peer, 9)]);
    ///
    /// // One by one, to answer each.
    /// while let Some(input) = messenger.drain::<Input>().next() {
    ///     messenger.send(input.sender, &input.message, Delivery::Reliable)?;
    /// }
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn drain<M: Message>(&mut self) -> Drain<'_, M, C> {
        let entry = self.registry.number::<M>().and_then(|number| self.registry.entry(number));
        let entry = entry.filter(|entry| entry.drained.is_some());
        // The stage does not matter for a type that is drained.
        let queue = entry.map(|entry| entry.queue(Stage::Update));
        Drain { messenger: self, queue, messages: PhantomData }
    }
}

impl<M: Message, C: 'static> Drain<'_, M, C> {
    /// Returns the next message by reference, read into a value that is kept for its type: strings
    /// and lists keep their memory, whereas [`next`](Iterator::next) gives it away.
    ///
    /// ```
    /// use tightwire::{Delivery, Message, PeerId, Wire};
    /// use tightwire::message::{Messenger, MessengerConfig};
    ///
    /// #[derive(Wire, Message, Default)]
    /// struct Chat { #[wire(max_len = 100)] text: String }
    ///
    /// let mut messenger = Messenger::<()>::builder(MessengerConfig::default()).queue::<Chat>().build()?;
    /// messenger.send(PeerId::LOCAL, &Chat { text: "gg".into() }, Delivery::Reliable)?;
    /// let mut letters = 0;
    /// let mut chats = messenger.drain::<Chat>();
    /// while let Some(chat) = chats.next_ref() {
    ///     letters += chat.message.text.len();
    /// }
    /// assert_eq!(letters, 2);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn next_ref(&mut self) -> Option<ReceivedMessage<&M>> {
        let (origin, message) = self.read_next()?;
        Some(received(origin, message))
    }

    /// Reads messages until one is not refused.
    fn read_next(&mut self) -> Option<(MessageOrigin, &mut M)> {
        let origin = loop {
            let (origin, item) = self.messenger.inbox.pop(self.queue?)?;
            self.messenger.release_held(&origin, &item);
            if Handling::new(self.messenger, origin, Some(item)).read::<M>() {
                break origin;
            }
        };
        let entry = self.messenger.registry.entry(origin.number)?;
        Some((origin, entry.value_mut()?))
    }

    /// Reads a message; `None` if it was refused.
    pub(super) fn read(&mut self, origin: MessageOrigin, item: QueuedMessage) -> Option<&mut M> {
        if !Handling::new(self.messenger, origin, Some(item)).read::<M>() {
            return None;
        }
        self.messenger.registry.entry(origin.number)?.value_mut()
    }
}

impl<M: Message, C: 'static> Iterator for Drain<'_, M, C> {
    type Item = ReceivedMessage<M>;

    fn next(&mut self) -> Option<ReceivedMessage<M>> {
        let (origin, message) = self.read_next()?;
        Some(received(origin, mem::take(message)))
    }
}

impl<M: Message, C> fmt::Debug for Drain<'_, M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("message", &M::NAME).finish_non_exhaustive()
    }
}

pub(super) fn received<M>(origin: MessageOrigin, message: M) -> ReceivedMessage<M> {
    let MessageOrigin { sender, route, time, .. } = origin;
    ReceivedMessage { message, sender, route, received_at: time, is_overdue: false }
}
