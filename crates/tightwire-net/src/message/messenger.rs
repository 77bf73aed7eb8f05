//! The messenger: messages of the application to batches, and batches to handlers.

use core::time::Duration;
use core::{fmt, mem};

#[cfg(doc)]
use super::MessageError;
use super::inbox::Inbox;
use super::peer::{PeerIds, Peers};
use super::pool::Pool;
use super::registry::{MessageType, Outcome, Registry};
use super::{
    Context, Delivery, DisconnectedError, FaultCounters, Hooks, Message, MessengerConfig, PeerId,
    RegistryError, Stage,
};
use tightwire_core::schema::{Schema, SchemaError};

/// Sends and receives the messages of an application: makes batches for a transport, and takes
/// batches from it. `C` is the application's own state, which handlers get.
///
/// A frame is [`begin_frame`](Self::begin_frame), [`receive`](Self::receive) for each batch that
/// came, [`run_stage`](Self::run_stage) for each stage of the frame, in order, and
/// [`end_frame`](Self::end_frame), which hands out batches. In between, the application
/// [sends](Self::send), and [drains](Self::drain) the messages of types without a handler.
///
/// ```
/// use std::time::Duration;
/// use tightwire::{Context, Delivery, Message, Stage, Wire};
/// use tightwire::message::{Messenger, MessengerConfig};
///
/// #[derive(Wire, Message, Default)]
/// struct Jump;
///
/// let mut messenger = Messenger::builder(MessengerConfig::default())
///     .handle(|_: &Jump, context: &mut Context<'_, u32>| *context.state += 1)
///     .build()?;
/// let peer = messenger.add_peer(1200);
/// let mut jumps = 0;
///
/// messenger.begin_frame(Duration::ZERO);
/// messenger.send(peer, &Jump, Delivery::Unreliable)?;
/// let mut sent = Vec::new();
/// messenger.end_frame(|to, delivery, batch| {
///     sent.push((to, delivery, batch.to_vec()));
///     Ok(())
/// });
///
/// // What it sent comes back from its peer.
/// let (from, delivery, batch) = &sent[0];
/// messenger.receive(*from, *delivery, batch, Duration::from_millis(16))?;
/// Stage::ALL.into_iter().for_each(|stage| messenger.run_stage(stage, &mut jumps));
/// assert_eq!(jumps, 1);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Messenger<C> {
    pub(super) config: MessengerConfig,
    pub(super) registry: Registry<C>,
    pub(super) peers: Peers,
    pub(super) inbox: Inbox,
    pub(super) pool: Pool,
    /// Buffer for a message to many peers.
    pub(super) scratch: Vec<u8>,
    /// The stage that is running, or ran last in this frame; `None` before the first.
    pub(super) stage: Option<Stage>,
    pub(super) now: Duration,
    pub(super) hooks: Option<Box<dyn Hooks>>,
    pub(super) faults: FaultCounters,
    /// Peers to be kicked, with the reasons; each peer once.
    pub(super) kicks: Vec<(PeerId, String)>,
}

/// Registers the messages of a [`Messenger`].
///
/// ```
/// use tightwire::{Context, Message, Wire};
/// use tightwire::message::{Messenger, MessengerConfig};
///
/// #[derive(Wire, Message, Default)]
/// struct Jump;
/// #[derive(Wire, Message, Default)]
/// struct Duck;
///
/// let messenger = Messenger::builder(MessengerConfig::default())
///     .handle(|_: &Jump, context: &mut Context<'_, u32>| *context.state += 1)
///     .send_only::<Duck>()
///     .build()?;
/// let numbers: Vec<_> = messenger.messages().map(|(number, name, _)| (number, name)).collect();
/// assert_eq!(numbers, [(16, "Duck"), (17, "Jump")]);
/// # Ok::<(), tightwire::message::RegistryError>(())
/// ```
pub struct MessengerBuilder<C> {
    config: MessengerConfig,
    pub(super) entries: Vec<MessageType<C>>,
    hooks: Option<Box<dyn Hooks>>,
}

impl<C: 'static> MessengerBuilder<C> {
    /// Handles the messages of a type with `handler`, which is `Send` and `Sync` so that the
    /// messenger is: the messenger can be moved to a thread, and be a resource of an engine.
    #[must_use]
    pub fn handle<M: Message, R: Outcome>(
        mut self,
        handler: impl FnMut(&M, &mut Context<'_, C>) -> R + Send + Sync + 'static,
    ) -> Self {
        self.entries.push(MessageType::handled(handler));
        self
    }

    /// Keeps the messages of a type until the application takes them with [`Messenger::drain`]: for
    /// games whose systems pull, each when it runs. The type has no handler.
    #[must_use]
    pub fn queue<M: Message>(mut self) -> Self {
        self.entries.push(MessageType::drained::<M>());
        self
    }

    /// Registers a type that this side only sends. Both sides register the same types, since the
    /// set of types decides the numbers.
    #[must_use]
    pub fn send_only<M: Message>(mut self) -> Self {
        self.entries.push(MessageType::sent::<M>());
        self
    }

    /// Sets the hooks.
    #[must_use]
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.hooks = Some(Box::new(hooks));
        self
    }

    /// Builds the messenger.
    ///
    /// # Errors
    ///
    /// [`RegistryError`] if two messages have the same name, if there are too many, or if a limit
    /// is invalid.
    pub fn build(self) -> Result<Messenger<C>, RegistryError> {
        let Self { config, entries, hooks } = self;
        config.check().map_err(RegistryError::Limit)?;
        let registry = Registry::new(entries)?;
        Ok(Messenger {
            inbox: Inbox::new(config.receive_queue, registry.drained()),
            registry,
            peers: Peers::default(),
            pool: Pool::new(config.pool_bytes),
            scratch: Vec::new(),
            stage: None,
            now: Duration::ZERO,
            hooks,
            faults: FaultCounters::default(),
            kicks: Vec::new(),
            config,
        })
    }
}

impl<C: 'static> Messenger<C> {
    /// Begins a messenger with these limits, and no messages yet.
    #[must_use]
    pub fn builder(config: MessengerConfig) -> MessengerBuilder<C> {
        MessengerBuilder { config, entries: Vec::new(), hooks: None }
    }

    /// Adds a peer that has connected, to which datagrams of up to `mtu` bytes can be sent.
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
    /// let peer = messenger.add_peer(1200);
    /// assert_eq!(messenger.peers().collect::<Vec<_>>(), [peer]);
    /// messenger.remove_peer(peer);
    /// assert!(messenger.send(peer, &Jump, Delivery::Reliable).is_err());
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn add_peer(&mut self, mtu: usize) -> PeerId {
        self.peers.add(mtu, self.registry.len(), &self.config)
    }

    /// Removes a peer. Drops its open batches, and its received messages that wait for their stage,
    /// since otherwise a peer that reconnects again and again would fill the queues: run the stages
    /// before, if its last messages matter.
    pub fn remove_peer(&mut self, peer: PeerId) {
        if let Some(gone) = self.peers.remove(peer) {
            gone.discard(&mut self.pool);
            self.inbox.discard(peer, &mut self.pool);
            self.kicks.retain(|(other, _)| *other != peer);
        }
    }

    /// Sets the largest datagram to a peer, in bytes. Waiting batches keep their size, and a
    /// smaller limit does not apply to batches of the peer.
    pub fn set_mtu(&mut self, peer: PeerId, mtu: usize) {
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.set_mtu(mtu);
        }
    }

    /// Sets the largest batch to a peer that the transport carries with the delivery that
    /// fragments: fewer bytes than [`max_fragmented`](MessengerConfig::max_fragmented).
    ///
    /// ```
    /// # use tightwire::{Delivery, Message, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # #[derive(Wire, Message, Default)]
    /// # struct Duck([u64; 8]);
    /// # let mut messenger = Messenger::<()>::builder(MessengerConfig::default()).send_only::<Duck>().build()?;
    /// let peer = messenger.add_peer(1200);
    /// messenger.set_max_fragmented(peer, 64);
    /// let delivery = Delivery::ReliableOrderedFragmented;
    /// assert!(messenger.send(peer, &Duck::default(), delivery).is_err());
    /// # Ok::<(), tightwire::message::RegistryError>(())
    /// ```
    pub fn set_max_fragmented(&mut self, peer: PeerId, most: usize) {
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.set_max_fragmented(most, &self.config);
        }
    }

    /// Sets whether a peer is blocked, so that sending to it is an error. Waiting batches are still
    /// sent.
    ///
    /// ```
    /// # use tightwire::{Context, Delivery, Message, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # #[derive(Wire, Message, Default)]
    /// # struct Jump;
    /// # let mut messenger = Messenger::builder(MessengerConfig::default())
    /// #     .handle(|_: &Jump, context: &mut Context<'_, u32>| *context.state += 1)
    /// #     .build()?;
    /// # let mut jumps = 0;
    /// use tightwire::message::SendError;
    ///
    /// let peer = messenger.add_peer(1200);
    /// messenger.set_blocked(peer, true);
    /// let sent = messenger.send(peer, &Jump, Delivery::Reliable);
    /// assert_eq!(sent, Err(SendError::Blocked(peer)));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn set_blocked(&mut self, peer: PeerId, is_blocked: bool) {
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.set_blocked(is_blocked);
        }
    }

    /// Sets whether a peer is blocked only for the fragmented delivery: its batches wait, and
    /// batches of other deliveries overtake them.
    ///
    /// ```
    /// # use tightwire::{Context, Delivery, Message, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # #[derive(Wire, Message, Default)]
    /// # struct Jump;
    /// # let mut messenger = Messenger::<()>::builder(MessengerConfig::default())
    /// #     .send_only::<Jump>()
    /// #     .build()?;
    /// use tightwire::message::SendError;
    ///
    /// let peer = messenger.add_peer(1200);
    /// messenger.set_fragmented_blocked(peer, true);
    /// let sent = messenger.send(peer, &Jump, Delivery::ReliableOrderedFragmented);
    /// assert_eq!(sent, Err(SendError::Blocked(peer)));
    /// assert_eq!(messenger.send(peer, &Jump, Delivery::Reliable), Ok(()));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn set_fragmented_blocked(&mut self, peer: PeerId, is_blocked: bool) {
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.set_fragmented_blocked(is_blocked);
        }
    }

    /// Iterates over the peers, in no order.
    ///
    /// ```
    /// # use tightwire::{Delivery, Message, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # #[derive(Wire, Message, Default)]
    /// # struct Jump;
    /// # let mut messenger = Messenger::<()>::builder(MessengerConfig::default()).send_only::<Jump>().build()?;
    /// # messenger.add_peer(1200);
    /// if let Some(peer) = messenger.peers().next() {
    ///     messenger.send(peer, &Jump, Delivery::Reliable)?;
    /// }
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn peers(&self) -> PeerIds<'_> {
        self.peers.ids()
    }

    /// Begins a frame at time `now`.
    pub fn begin_frame(&mut self, now: Duration) {
        self.now = now;
        self.stage = None;
    }

    /// Handles the messages that wait for `stage`, which is the running stage from now on. Messages
    /// that a handler adds to the same stage are handled too, up to the length of the queue.
    ///
    /// A handler that panics does not harm the messenger. An application that catches the panic
    /// goes on: the message counts as [refused](MessageError::Handler) and is dropped, the messages
    /// behind it wait for the next call, and the type is handled as before. Changes by the handler
    /// itself stay as they were at the panic.
    ///
    /// ```
    /// use std::panic::{AssertUnwindSafe, catch_unwind};
    /// use std::time::Duration;
    /// use tightwire::{Context, Delivery, Message, Stage, Wire};
    /// use tightwire::message::{Messenger, MessengerConfig};
    ///
    /// #[derive(Wire, Message, Default)]
    /// struct Pick(u8);
    ///
    /// let cards = ["ace", "king"];
    /// let mut messenger = Messenger::builder(MessengerConfig::default())
    ///     .handle(move |pick: &Pick, context: &mut Context<'_, Vec<&str>>| {
    ///         context.state.push(cards[usize::from(pick.0)]);
    ///     })
    ///     .build()?;
    /// let peer = messenger.add_peer(1200);
    /// // Cards 0, 9 and 1.
    /// let batch = [18, 0, 16, 4, 1, 0, 0, 0, 16, 4, 1, 0, 0, 9, 16, 4, 1, 0, 0, 1];
    /// messenger.receive(peer, Delivery::Reliable, &batch, Duration::ZERO)?;
    ///
    /// let mut picked = Vec::new();
    /// let mut run = || messenger.run_stage(Stage::Update, &mut picked);
    /// assert!(catch_unwind(AssertUnwindSafe(&mut run)).is_err());
    /// run();
    /// assert_eq!(picked, ["ace", "king"]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn run_stage(&mut self, stage: Stage, state: &mut C) {
        self.stage = Some(stage);
        let mut left = self.inbox.queue_length();
        while left > 0 && self.handle_next(stage, state, &mut left) {}
    }

    /// Ends the frame: passes every batch to `deliver`, which gives it to the transport, and frees
    /// the buffers. The batches of a peer come in order; after one that is refused, the rest of
    /// this peer's are dropped.
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
    /// # let peer = messenger.add_peer(1200);
    /// use tightwire::message::DisconnectedError;
    ///
    /// messenger.send(peer, &Jump, Delivery::Reliable)?;
    /// messenger.send(peer, &Jump, Delivery::Unreliable)?;
    /// messenger.end_frame(|_, _, _| Err(DisconnectedError));
    /// assert_eq!(messenger.peer_stats(peer).unwrap().batches_lost, 2);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn end_frame(
        &mut self,
        mut deliver: impl FnMut(PeerId, Delivery, &[u8]) -> Result<(), DisconnectedError>,
    ) {
        let Self { peers, pool, inbox, .. } = self;
        for (id, peer) in peers.iter_mut() {
            peer.flush(pool, |delivery, batch| deliver(id, delivery, batch));
            peer.waiting_bytes -= mem::take(&mut peer.refused_bytes);
        }
        inbox.close_local(pool);
        self.stage = None;
    }

    /// Returns the next peer that a handler [kicked](Context::kick), and the reason. The owner of
    /// the connections ends it.
    pub fn poll_kick(&mut self) -> Option<(PeerId, String)> {
        (!self.kicks.is_empty()).then(|| self.kicks.remove(0))
    }

    /// Returns the 64 bits that both sides must share. They change with a message's layout or name,
    /// since names decide numbers, and with packing, channels,
    /// [`max_fragmented`](MessengerConfig::max_fragmented) or
    /// [`batch_messages`](MessengerConfig::batch_messages). docs/WIRE.md gives the form that is
    /// hashed.
    ///
    /// ```
    /// # use tightwire::{Context, Message, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # #[derive(Wire, Message, Default)]
    /// # struct Heal(u8);
    /// # #[derive(Wire, Message, Default)]
    /// # struct Kill(u8);
    /// # #[derive(Wire, Message, Default)]
    /// # struct Mute(u8);
    /// let builder = || Messenger::<()>::builder(MessengerConfig::default());
    /// let here = builder().send_only::<Heal>().send_only::<Kill>().build()?;
    /// let there = builder().send_only::<Kill>().send_only::<Mute>().build()?;
    /// // The same bytes mean something else.
    /// assert_ne!(here.id(), there.id());
    /// # Ok::<(), tightwire::message::RegistryError>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> u64 {
        self.registry.id(&self.config)
    }

    /// Returns the schema of the messages: an enum of them, in the order of their numbers. Its
    /// [`diff`](Schema::diff) lists the differences between two sides whose [ids](Self::id) differ.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if a message has an invalid description.
    pub fn schema(&self) -> Result<Schema, SchemaError> {
        self.registry.schema()
    }
}

impl<C> fmt::Debug for Messenger<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messenger")
            .field("config", &self.config)
            .field("stage", &self.stage)
            .field("now", &self.now)
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}

impl<C> fmt::Debug for MessengerBuilder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessengerBuilder").field("config", &self.config).finish_non_exhaustive()
    }
}
