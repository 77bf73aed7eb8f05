//! Builders of servers and clients.

use core::fmt;
use core::marker::PhantomData;

use crate::message::{Context, Hooks, Message, Messenger, MessengerBuilder, Outcome};
use tightwire_core::packet::{Identity, Protection};
use tightwire_core::schema::Schema;

use super::common::Session;
use super::control::MAX_TOKEN;
use super::gate::OpenToAnyone;
use super::role::{ClientRole, ServerRole};
use super::{Admit, Client, Server, SessionConfig, SessionError};
use crate::limits::at_most_bytes;
use crate::transport::Transport;

/// Registers the messages of a [`Server`], and sets which clients may connect to it.
///
/// See [`Server::builder`].
pub struct ServerBuilder<C, T> {
    config: SessionConfig,
    messages: MessengerBuilder<C>,
    gate: Option<Box<dyn Admit>>,
    is_open: bool,
    transport: PhantomData<T>,
}

/// Registers the messages of a [`Client`], and sets its token.
///
/// See [`Client::builder`].
pub struct ClientBuilder<C, T> {
    config: SessionConfig,
    messages: MessengerBuilder<C>,
    token: Vec<u8>,
    transport: PhantomData<T>,
}

/// The methods for messages, which both builders have.
macro_rules! registers_messages {
    ($builder:ident) => {
        impl<C: 'static, T: Transport> $builder<C, T> {
            /// Handles the messages of a type: see [`MessengerBuilder::handle`].
            #[must_use]
            pub fn handle<M: Message, R: Outcome>(
                self,
                handler: impl FnMut(&M, &mut Context<'_, C>) -> R + Send + Sync + 'static,
            ) -> Self {
                self.register(|messages| messages.handle(handler))
            }

            /// Keeps the messages of a type until the application drains them: see
            /// [`MessengerBuilder::queue`].
            #[must_use]
            pub fn queue<M: Message>(self) -> Self {
                self.register(MessengerBuilder::queue::<M>)
            }

            /// Registers messages by their name and schema: see [`MessengerBuilder::queue_raw`].
            #[must_use]
            pub fn queue_raw(self, name: &'static str, schema: Schema) -> Self {
                self.register(|messages| messages.queue_raw(name, schema))
            }

            /// Registers a type that this side only sends: see [`MessengerBuilder::send_only`].
            #[must_use]
            pub fn send_only<M: Message>(self) -> Self {
                self.register(MessengerBuilder::send_only::<M>)
            }

            /// Sets the hooks of the messages.
            #[must_use]
            pub fn hooks(self, hooks: impl Hooks + 'static) -> Self {
                self.register(|messages| messages.hooks(hooks))
            }

            /// Registers messages with a function that both sides share, so that a new message is a
            /// struct, a handler, and a line there: see [`Server`].
            #[must_use]
            pub fn register(
                mut self,
                register: impl FnOnce(MessengerBuilder<C>) -> MessengerBuilder<C>,
            ) -> Self {
                self.messages = register(self.messages);
                self
            }

            /// Returns the identity of the session for captures, with the schema of single messages
            /// with their headers: see [`Messenger::capture_schema`]. For an `inspect::Captured`
            /// transport, once all messages are registered.
            ///
            /// ```
            /// use tightwire::{Message, Wire};
            /// use tightwire::{Server, SessionConfig};
            /// use tightwire::transport::InProcess;
            ///
            /// #[derive(Wire, Message, Default)]
            /// struct Jump;
            ///
            /// let builder = Server::<(), InProcess>::builder(SessionConfig::new("arena", "1.0"));
            /// let identity = builder.send_only::<Jump>().capture_identity()?;
            /// assert_eq!(
            ///     identity.decode(&[16, 4, 0, 0, 0])?.to_string(),
            ///     "Message { number: 16, stage: 4, size: 0, channel: 0, Jump: Jump }"
            /// );
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            ///
            /// [`SessionError::Schema`] if a message cannot be described.
            pub fn capture_identity(&self) -> Result<Identity, SessionError> {
                let SessionConfig { game, version, messenger, .. } = &self.config;
                let schema = self.messages.capture_schema()?;
                let identity = Identity::new(game, version, Protection::None, schema);
                Ok(identity.with_packing(messenger.packing))
            }
        }

        impl<C, T> fmt::Debug for $builder<C, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($builder))
                    .field("config", &self.config)
                    .finish_non_exhaustive()
            }
        }
    };
}

registers_messages!(ServerBuilder);
registers_messages!(ClientBuilder);

impl<C: 'static, T: Transport> ServerBuilder<C, T> {
    pub(super) fn new(mut config: SessionConfig) -> Self {
        let limits = &mut config.messenger;
        // Each stage has room for the waiting messages of all clients, or some could be kept out
        // for ever by others.
        let all = limits.peer_messages.saturating_mul(config.max_clients);
        limits.receive_queue = limits.receive_queue.max(all);
        Self {
            messages: Messenger::builder(config.messenger),
            config,
            gate: None,
            is_open: false,
            transport: PhantomData,
        }
    }

    /// Accepts clients whose tokens are valid.
    #[must_use]
    pub fn with_tokens(mut self, gate: impl Admit + 'static) -> Self {
        self.gate = Some(Box::new(gate));
        self
    }

    /// Accepts any client, with or without a token: for tests, and for games among friends. It is
    /// logged.
    #[must_use]
    pub fn open_to_anyone(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// Builds the server over this transport.
    ///
    /// # Errors
    ///
    /// [`SessionError`] with the setting that is missing or invalid.
    pub fn build(self, transport: T) -> Result<Server<C, T>, SessionError> {
        let Self { config, messages, gate, is_open, .. } = self;
        let gate = match gate {
            Some(gate) => gate,
            None if is_open => {
                log::warn!("{} {}: open to anyone, without tokens", config.game, config.version);
                Box::new(OpenToAnyone::default())
            }
            None => return Err(SessionError::NoAdmission),
        };
        let messenger = messages.build()?;
        Ok(Server { session: Session::new(transport, config, messenger, ServerRole::new(gate))? })
    }
}

impl<C: 'static, T: Transport> ClientBuilder<C, T> {
    pub(super) fn new(config: SessionConfig) -> Self {
        Self {
            messages: Messenger::builder(config.messenger),
            config,
            token: Vec::new(),
            transport: PhantomData,
        }
    }

    /// Connects with this token, which the game's backend issued, of up to 2048 bytes.
    #[must_use]
    pub fn token(mut self, token: &[u8]) -> Self {
        self.token = token.into();
        self
    }

    /// Builds the client over this transport.
    ///
    /// # Errors
    ///
    /// [`SessionError`] with the setting that is invalid.
    pub fn build(self, transport: T) -> Result<Client<C, T>, SessionError> {
        let Self { config, messages, token, .. } = self;
        at_most_bytes("token", token.len(), MAX_TOKEN).map_err(SessionError::Limit)?;
        let mut messenger = messages.build()?;
        let no_peer = messenger.add_peer(0);
        messenger.remove_peer(no_peer);
        let session = Session::new(transport, config, messenger, ClientRole { token })?;
        Ok(Client { session, no_peer })
    }
}
