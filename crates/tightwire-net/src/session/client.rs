//! The client: the side that connects to a server.

use core::fmt;
use core::time::Duration;

use crate::message::{Drain, Message, Messenger, PeerId, RawDrain, Route, SendError, Stage};
use tightwire_core::packet::Identity;

use super::common::Session;
use super::control::MAX_TOKEN;
use super::role::ClientRole;
use super::{ClientBuilder, PeerReport, SessionConfig, SessionEvent};
use crate::reason::Reason;
use crate::transport::{ReconnectError, Transport};

/// The side that connects to a [`Server`](crate::session::Server), over any [`Transport`]. `C` is
/// the application's own state, which handlers get.
///
/// It sends its hello as soon as its transport is connected, and can send messages after
/// [`SessionEvent::Connected`]. A frame is as the server's. [`Server`](crate::session::Server) has
/// an example.
pub struct Client<C, T> {
    pub(super) session: Session<C, T, ClientRole>,
    /// An id that no peer has, for sending while there is no server.
    pub(super) no_peer: PeerId,
}

impl<C: 'static, T: Transport> Client<C, T> {
    /// Begins a client with this configuration, and no messages yet.
    #[must_use]
    pub fn builder(config: SessionConfig) -> ClientBuilder<C, T> {
        ClientBuilder::new(config)
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
    /// [`queue`](crate::session::ClientBuilder::queue): see [`Messenger::drain`]. Call it between
    /// [`receive`](Self::receive) and [`transmit`](Self::transmit), which removes a server that has
    /// disconnected, with its waiting messages.
    pub fn drain<M: Message>(&mut self) -> Drain<'_, M, C> {
        self.session.hub.messenger.drain()
    }

    /// Ends the frame: sends all batches, and removes peers that have disconnected, whose messages
    /// were handled.
    pub fn transmit(&mut self, now: Duration) {
        self.session.transmit(now);
    }

    /// Returns the next event, until there are no more.
    pub fn poll_event(&mut self) -> Option<SessionEvent> {
        self.session.hub.events.poll()
    }

    /// Sends a message to the server: see [`Messenger::send`].
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was not sent.
    pub fn send<M: Message>(
        &mut self,
        message: &M,
        route: impl Into<Route>,
    ) -> Result<(), SendError> {
        let to = self.server().unwrap_or(self.no_peer);
        self.session.hub.messenger.send(to, message, route)
    }

    /// Sends a message that is known by its name and schema to the server: see
    /// [`Messenger::send_raw`], and for its number [`Messenger::number_of`].
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was not sent.
    pub fn send_raw(
        &mut self,
        number: u8,
        body: &[u8],
        route: impl Into<Route>,
    ) -> Result<(), SendError> {
        let to = self.server().unwrap_or(self.no_peer);
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

    /// Returns the server, if this side is connected.
    #[must_use]
    pub fn server(&self) -> Option<PeerId> {
        self.session.hub.links.peers().next()
    }

    /// Disconnects, also before the connection is established: then it never is. A
    /// [`SessionEvent::Disconnected`] follows.
    ///
    /// The server learns of it from the packets of [`transmit`](Self::transmit): keep
    /// calling it for about a second, since packets get lost. Otherwise the client times out on the
    /// server.
    pub fn disconnect(&mut self, now: Duration) {
        self.session.close_all(&Reason::Left);
        self.session.hub.leave();
        self.session.transmit(now);
    }

    /// Connects again, with another token, to where the transport was connected to, once a
    /// [`SessionEvent::Disconnected`] has said that the last connection is over. A
    /// [`SessionEvent::Connected`] or [`SessionEvent::Disconnected`] follows.
    ///
    /// Messages, handlers, hooks and totals stay as they are. Nothing stays of the last connection:
    /// what was sent over it and did not arrive is lost, the server is another [`PeerId`], and this
    /// client is a new one for the server. A token works once, so the game's backend has to give
    /// another; a server that is open to anyone takes an empty one.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tightwire::{Message, Wire};
    /// use tightwire::link::LinkConfig;
    /// use tightwire::{Client, Server, SessionConfig, SessionEvent};
    /// use tightwire::quic::{Network, Quic, QuicConfig};
    ///
    /// #[derive(Wire, Message, Default)]
    /// struct Jump;
    ///
    /// let network = Network::new(LinkConfig::default(), 7);
    /// let (client_end, server_end) = Quic::pair(&network, QuicConfig::default())?;
    /// let config = SessionConfig::new("arena", "1.0");
    /// let builder = Server::<(), _>::builder(config.clone()).send_only::<Jump>();
    /// let mut server = builder.open_to_anyone().build(server_end)?;
    /// let mut client = Client::<(), _>::builder(config).send_only::<Jump>().build(client_end)?;
    /// let mut connected = 0;
    /// for frame in 0..60 {
    ///     let now = Duration::from_millis(16) * frame;
    ///     client.receive(now, &mut ());
    ///     client.transmit(now);
    ///     while let Some(event) = client.poll_event() {
    ///         match event {
    ///             SessionEvent::Disconnected { .. } => client.reconnect(b"", now)?,
    ///             SessionEvent::Connected { .. } => connected += 1,
    ///             _ => {}
    ///         }
    ///     }
    ///     server.receive(now, &mut ());
    ///     if frame == 30
    ///         && let Some(peer) = server.peers().next()
    ///     {
    ///         server.kick(peer, "come again");
    ///     }
    ///     server.transmit(now);
    /// }
    /// assert_eq!(connected, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ReconnectError`] says why it does not. Then nothing has changed.
    pub fn reconnect(&mut self, token: &[u8], now: Duration) -> Result<(), ReconnectError> {
        if token.len() > MAX_TOKEN {
            return Err(ReconnectError::TokenTooLong { size: token.len(), limit: MAX_TOKEN });
        }
        if self.session.hub.links.len() > 0 {
            return Err(ReconnectError::Connected);
        }
        self.session.transport.reconnect(now)?;
        self.session.role.token = token.into();
        self.session.hub.has_left = false;
        self.session.hub.has_ended = false;
        Ok(())
    }

    /// Requests the schema of the server's messages: a [`SessionEvent::Schema`] follows. The server
    /// answers once a second; asking again before it has is asking once.
    pub fn request_schema(&mut self) {
        if let Some(server) = self.server() {
            self.session.request_schema(server);
        }
    }

    /// Returns the state of the connection to the server; `None` while there is none.
    #[must_use]
    pub fn stats(&self) -> Option<PeerReport> {
        self.session.report(self.server()?)
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

impl<C, T> fmt::Debug for Client<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("config", &self.session.hub.config).finish_non_exhaustive()
    }
}
