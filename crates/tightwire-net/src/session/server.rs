//! The server: the side that clients connect to.

use core::fmt;
use core::time::Duration;

use crate::message::{
    Drain, Message, Messenger, PeerId, RawDrain, Route, SendError, SentTo, Stage,
};
use tightwire_core::packet::Identity;

use super::common::Session;
use super::role::ServerRole;
use super::{PeerReport, ServerBuilder, SessionConfig, SessionEvent, SessionPeers};
use crate::reason::Reason;
use crate::transport::Transport;

/// The side that clients connect to, over any [`Transport`]. `C` is the application's own state,
/// which handlers get.
///
/// A frame begins with [`receive`](Self::receive) and [`poll_event`](Self::poll_event) until there
/// are no more events, and ends with [`transmit`](Self::transmit). In between, the game runs its
/// tick and [sends](Self::send): the tick sees all input, and its messages go out at once.
/// `receive` is [`handle_input`](Self::handle_input) and [`run_stage`](Self::run_stage) for each
/// stage, for games that need them one by one.
///
/// A client becomes a peer when it has shown its token, has the same protocol id, and knows that it
/// was accepted. No message of it is handled before, and none is sent to it. A peer that does not
/// keep up loses unreliable messages first; then sending to it is an [error](SendError::Blocked);
/// then it is disconnected. Its own reliable messages are never discarded: those that there is no
/// room for wait on its side.
///
/// A handler that panics does not affect other clients: a server that catches the panic of
/// [`receive`](Self::receive) goes on with the next frame, as [`Messenger::run_stage`] says.
///
/// A new message is three changes: its struct, its handler, and a line where it is registered.
///
/// ```
/// use tightwire::{Context, Message, Wire};
/// use tightwire::message::MessengerBuilder;
/// use tightwire::{Client, Server, SessionConfig};
/// # use std::time::Duration;
/// # use tightwire::transport::{Connection, Event, NotSentError, Path, Reason, Transport};
/// # struct Nowhere;
/// # impl Transport for Nowhere {
/// #     fn handle_input(&mut self, _: Duration) {}
/// #     fn poll_event(&mut self) -> Option<Event<'_>> { None }
/// #     fn send(&mut self, to: Connection, _: tightwire::Delivery, _: &[u8]) -> Result<(), NotSentError> {
/// #         Err(NotSentError::NotConnected(to))
/// #     }
/// #     fn pause(&mut self, _: Connection) {}
/// #     fn close(&mut self, _: Connection, _: &Reason) {}
/// #     fn handle_output(&mut self, _: Duration) {}
/// #     fn path(&self, _: Connection) -> Option<Path> { None }
/// #     fn next_time(&self) -> Option<Duration> { None }
/// # }
///
/// #[derive(Wire, Message, Default)]
/// struct Chat {
///     #[wire(max_len = 100)]
///     text: String,
/// }
///
/// fn on_chat(chat: &Chat, context: &mut Context<'_, Vec<String>>) {
///     context.state.push(chat.text.clone());
/// }
///
/// /// What the server and its clients have in common.
/// fn messages(builder: MessengerBuilder<Vec<String>>) -> MessengerBuilder<Vec<String>> {
///     builder.handle(on_chat)
/// }
///
/// let config = SessionConfig::new("arena", "1.0");
/// let server = Server::builder(config.clone()).register(messages).open_to_anyone().build(Nowhere)?;
/// let client = Client::builder(config).register(messages).build(Nowhere)?;
/// assert_eq!(server.protocol_id(), client.protocol_id());
/// # Ok::<(), tightwire::session::SessionError>(())
/// ```
pub struct Server<C, T> {
    pub(super) session: Session<C, T, ServerRole>,
}

impl<C: 'static, T: Transport> Server<C, T> {
    /// Begins a server with this configuration, and no messages yet.
    #[must_use]
    pub fn builder(config: SessionConfig) -> ServerBuilder<C, T> {
        ServerBuilder::new(config)
    }

    /// Begins a frame: receives all input up to `now`, and handles it at all stages. Messages that
    /// the game sends after it go out with this frame's [`transmit`](Self::transmit).
    pub fn receive(&mut self, now: Duration, state: &mut C) {
        self.session.receive(now);
        self.session.run_stages(state);
    }

    /// Receives all input up to `now`, and handles nothing: for games that run stages one by one,
    /// or that receive more often than once a frame, so that messages have the times at which they
    /// came.
    pub fn handle_input(&mut self, now: Duration) {
        self.session.receive(now);
    }

    /// Handles the messages that wait for a stage: see [`Messenger::run_stage`].
    pub fn run_stage(&mut self, stage: Stage, state: &mut C) {
        self.session.run_stage(stage, state);
    }

    /// Takes the messages of a type that was registered with
    /// [`queue`](crate::session::ServerBuilder::queue): see [`Messenger::drain`]. Call it between
    /// [`receive`](Self::receive) and [`transmit`](Self::transmit), which removes clients that have
    /// disconnected, with their waiting messages.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tightwire::{Delivery, Message, Wire};
    /// use tightwire::{Client, Server, SessionConfig};
    /// use tightwire::transport::InProcess;
    ///
    /// #[derive(Wire, Message, Default)]
    /// struct Input { stick: i8 }
    ///
    /// let (client_end, server_end) = InProcess::pair();
    /// let config = SessionConfig::new("arena", "1.0");
    /// let mut server = Server::<(), _>::builder(config.clone())
    ///     .queue::<Input>()
    ///     .open_to_anyone()
    ///     .build(server_end)?;
    /// let mut client = Client::<(), _>::builder(config).queue::<Input>().build(client_end)?;
    /// let mut sticks = Vec::new();
    /// for frame in 0..10 {
    ///     let now = Duration::from_millis(16) * frame;
    ///     client.receive(now, &mut ());
    ///     if client.server().is_some() {
    ///         client.send(&Input { stick: 7 }, Delivery::Unreliable)?;
    ///     }
    ///     client.transmit(now);
    ///     server.receive(now, &mut ());
    ///     sticks.extend(server.drain::<Input>().map(|input| input.message.stick));
    ///     server.transmit(now);
    /// }
    /// assert!(sticks.starts_with(&[7]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drain<M: Message>(&mut self) -> Drain<'_, M, C> {
        self.session.hub.messenger.drain()
    }

    /// Ends the frame: sends all batches, and removes peers that have disconnected, whose messages
    /// were handled.
    pub fn transmit(&mut self, now: Duration) {
        self.session.transmit(now);
    }

    /// Returns the next event, until there are no more. Call it in each frame: events wait without
    /// a limit, except for [refusals](SessionEvent::Refused), which unauthenticated peers can
    /// cause, of which at most 1024 wait.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.session.hub.events.poll()
    }

    /// Returns the number of [refusals](SessionEvent::Refused) without an event, since too many
    /// waited.
    #[must_use]
    pub fn refusals_dropped(&self) -> u64 {
        self.session.hub.events.refusals_dropped()
    }

    /// Sends a message to one peer: see [`Messenger::send`].
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was not sent.
    pub fn send<M: Message>(
        &mut self,
        to: PeerId,
        message: &M,
        route: impl Into<Route>,
    ) -> Result<(), SendError> {
        self.session.hub.messenger.send(to, message, route)
    }

    /// Sends a message that is known by its name and schema to one peer: see
    /// [`Messenger::send_raw`], and for its number [`Messenger::number_of`].
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was not sent.
    pub fn send_raw(
        &mut self,
        to: PeerId,
        number: u8,
        body: &[u8],
        route: impl Into<Route>,
    ) -> Result<(), SendError> {
        self.session.hub.messenger.send_raw(to, number, body, route)
    }

    /// Takes messages that are known by their name and schema: see [`Messenger::drain_raw`].
    pub fn drain_raw(&mut self, number: u8) -> RawDrain<'_, C> {
        self.session.hub.messenger.drain_raw(number)
    }

    /// Sends a message to this side, which handles it at once if its stage is running: see
    /// [`Messenger::send_local`].
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
        self.session.hub.messenger.send_local(state, message, route)
    }

    /// Sends a message to many peers: see [`Messenger::send_to`].
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was sent to no peer.
    pub fn send_to<M: Message>(
        &mut self,
        recipients: impl IntoIterator<Item = PeerId>,
        message: &M,
        route: impl Into<Route>,
    ) -> Result<SentTo, SendError> {
        self.session.hub.messenger.send_to(recipients, message, route)
    }

    /// Sends a message to every client but one, or to all: see [`Messenger::broadcast`].
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was sent to no peer.
    pub fn broadcast<M: Message>(
        &mut self,
        except: Option<PeerId>,
        message: &M,
        route: impl Into<Route>,
    ) -> Result<SentTo, SendError> {
        self.session.hub.messenger.broadcast(except, message, route)
    }

    /// Disconnects a client at once, with a reason that it gets to read. Its received messages that
    /// were not handled are dropped. A handler uses
    /// [`Context::kick`](crate::message::Context::kick).
    pub fn kick(&mut self, peer: PeerId, text: &str) {
        self.session.close(peer, &Reason::kicked(text));
    }

    /// Disconnects all clients, with the reason that the server stops. They learn of it from the
    /// packets of [`transmit`](Self::transmit): keep calling it for about a second,
    /// since packets get lost.
    pub fn shut_down(&mut self, now: Duration) {
        self.session.close_all(&Reason::ShuttingDown);
        self.session.transmit(now);
    }

    /// Asks a client for the schema of its messages: a [`SessionEvent::Schema`] follows. The client
    /// answers once a second; asking again before the answer counts as asking once.
    pub fn request_schema(&mut self, peer: PeerId) {
        self.session.request_schema(peer);
    }

    /// Iterates over the clients, in the order in which they connected.
    pub fn peers(&self) -> SessionPeers<'_> {
        self.session.hub.links.peers()
    }

    /// Returns the state of the connection to a client; `None` if there is no such client.
    #[must_use]
    pub fn stats(&self, peer: PeerId) -> Option<PeerReport> {
        self.session.report(peer)
    }

    /// Returns the protocol id, which both sides must share: of the game, its version, and all
    /// messages.
    #[must_use]
    pub fn protocol_id(&self) -> u64 {
        self.session.hub.protocol
    }

    /// Returns the identity of this side: the game, its version, and the schema of all messages.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        self.session.hub.description.identity()
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &SessionConfig {
        &self.session.hub.config
    }

    /// Returns the seed for the game's random numbers: the same in a replay.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.session.hub.config.seed
    }

    /// Returns the messenger: the messages with their numbers, totals and faults.
    #[must_use]
    pub fn messenger(&self) -> &Messenger<C> {
        &self.session.hub.messenger
    }

    /// Returns the transport.
    #[must_use]
    pub fn transport(&self) -> &T {
        &self.session.transport
    }

    /// Returns the transport. Its connections are the session's: do not poll its events.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.session.transport
    }
}

impl<C, T> fmt::Debug for Server<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("config", &self.session.hub.config).finish_non_exhaustive()
    }
}
