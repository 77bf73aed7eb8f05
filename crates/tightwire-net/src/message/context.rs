//! The context of a handler.

use core::time::Duration;

use super::header::Sizes;
use super::{Bound, Message, Messenger, PeerId, Route, SendError, SentTo};

/// The second argument of a handler: the application's own state, the sender and route of the
/// message, and functions to answer.
///
/// ```
/// use tightwire::{Context, Delivery, Message, Wire};
/// use tightwire::message::{Messenger, MessengerConfig, SendError};
///
/// #[derive(Wire, Message, Default)]
/// struct Ping { time: u32 }
/// #[derive(Wire, Message, Default)]
/// struct Pong { time: u32 }
///
/// fn answer(ping: &Ping, context: &mut Context<'_, u32>) -> Result<(), SendError> {
///     *context.state += 1;
///     let sender = context.sender();
///     context.send(sender, &Pong { time: ping.time }, Delivery::Unreliable)
/// }
///
/// let messenger = Messenger::builder(MessengerConfig::default()).handle(answer).send_only::<Pong>().build();
/// assert!(messenger.is_ok());
/// ```
#[derive(Debug)]
pub struct Context<'a, C> {
    /// The application's own state.
    pub state: &'a mut C,
    messenger: &'a mut Messenger<C>,
    origin: MessageOrigin,
}

/// Sender, route and time of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageOrigin {
    pub(super) sender: PeerId,
    pub(super) route: Route,
    pub(super) time: Duration,
    pub(super) number: u8,
}

impl<'a, C: 'static> Context<'a, C> {
    pub(super) fn new(
        state: &'a mut C,
        messenger: &'a mut Messenger<C>,
        origin: MessageOrigin,
    ) -> Self {
        Self { state, messenger, origin }
    }

    /// Whether there are hooks, which get the error of a handler.
    pub(super) fn is_watched(&self) -> bool {
        self.messenger.hooks.is_some()
    }

    /// Returns the sender of the message.
    #[must_use]
    pub fn sender(&self) -> PeerId {
        self.origin.sender
    }

    /// Returns the route of the message: its delivery, channel and stage.
    #[must_use]
    pub fn route(&self) -> Route {
        self.origin.route
    }

    /// Returns the time at which its batch came, as passed to [`Messenger::receive`]; for a message
    /// of this side to itself, the time of the frame, as passed to [`Messenger::begin_frame`].
    #[must_use]
    pub fn received_at(&self) -> Duration {
        self.origin.time
    }

    /// Returns the tick or object that the message is bound to; `None` if it is not. A handler gets
    /// it at once: see [`Drain::next_ready`](super::Drain::next_ready) for one that waits.
    #[must_use]
    pub fn bound(&self) -> Option<Bound> {
        self.origin.route.bound
    }

    /// Returns the number of the message's type.
    #[must_use]
    pub fn number(&self) -> u8 {
        self.origin.number
    }

    /// Returns the bytes of the header before the message, and of the header before its batch.
    #[must_use]
    pub fn header_sizes(&self) -> (usize, usize) {
        let sizes = Sizes::of(self.origin.route.delivery);
        (sizes.header(), sizes.batch())
    }

    /// Asks for a peer to be disconnected, with a reason that the peer gets to read. The peer stays
    /// until the owner of the connections calls [`Messenger::poll_kick`]. Only the first reason
    /// counts.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tightwire::{Context, Delivery, Message, Stage, Wire};
    /// use tightwire::message::{Messenger, MessengerConfig};
    ///
    /// #[derive(Wire, Message, Default)]
    /// struct Cheat;
    ///
    /// let mut messenger = Messenger::builder(MessengerConfig::default())
    ///     .handle(|_: &Cheat, context: &mut Context<'_, ()>| context.kick(context.sender(), "cheating"))
    ///     .build()?;
    /// let peer = messenger.add_peer(1200);
    /// messenger.receive(peer, Delivery::Reliable, &[5, 0, 16, 4, 0, 0, 0], Duration::ZERO)?;
    /// messenger.run_stage(Stage::Update, &mut ());
    /// assert_eq!(messenger.poll_kick(), Some((peer, "cheating".to_string())));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn kick(&mut self, peer: PeerId, reason: &str) {
        let Messenger { kicks, peers, .. } = &mut *self.messenger;
        if peers.get(peer).is_some() && kicks.iter().all(|(other, _)| *other != peer) {
            kicks.push((peer, reason.into()));
        }
    }

    /// Sends to one peer: see [`Messenger::send`], and for this side [`Messenger::send_local`]. A
    /// message of the type that is being handled, to this side and this stage, waits until the
    /// handler has returned.
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
        self.messenger.send_one(Some(self.state), to, message, route.into())
    }

    /// Sends to many peers: see [`Messenger::send_to`].
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
        let mut recipients = recipients.into_iter();
        self.messenger.send_each(Some(self.state), message, route.into(), |_| recipients.next())
    }

    /// Sends to every peer but one, or to all: see [`Messenger::broadcast`].
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
        self.messenger.broadcast(except, message, route)
    }
}
