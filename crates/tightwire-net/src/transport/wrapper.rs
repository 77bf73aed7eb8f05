//! Transports around others.

use core::time::Duration;

use super::{
    Connection, Event, NotSentError, Path, Reason, ReconnectError, Transport, TransportLimits,
};
use crate::message::Delivery;

/// A [`Transport`] around another one: a wrapper implements the methods that it watches or changes,
/// and all others forward to the [inner](Self::inner) transport.
///
/// ```
/// use tightwire::Delivery;
/// use tightwire::transport::{Connection, InProcess, NotSentError, Transport, TransportWrapper};
///
/// /// Counts the bytes that are sent.
/// struct Counted<T> {
///     transport: T,
///     bytes: usize,
/// }
///
/// impl<T: Transport> TransportWrapper for Counted<T> {
///     type Inner = T;
///
///     fn inner(&self) -> &T {
///         &self.transport
///     }
///
///     fn inner_mut(&mut self) -> &mut T {
///         &mut self.transport
///     }
///
///     fn send(
///         &mut self,
///         to: Connection,
///         delivery: Delivery,
///         batch: &[u8],
///     ) -> Result<(), NotSentError> {
///         self.bytes += batch.len();
///         self.transport.send(to, delivery, batch)
///     }
/// }
///
/// let mut counted = Counted { transport: InProcess::pair().0, bytes: 0 };
/// let _ = Transport::send(&mut counted, Connection(1), Delivery::Reliable, &[1, 0, 7]);
/// assert_eq!(counted.bytes, 3);
/// ```
#[expect(clippy::missing_errors_doc, reason = "the methods are those of `Transport`")]
pub trait TransportWrapper {
    /// Type of the inner transport.
    type Inner: Transport + ?Sized;

    /// Returns the inner transport.
    fn inner(&self) -> &Self::Inner;

    /// Returns the inner transport.
    fn inner_mut(&mut self) -> &mut Self::Inner;

    /// See [`Transport::handle_input`].
    fn handle_input(&mut self, now: Duration) {
        self.inner_mut().handle_input(now);
    }

    /// See [`Transport::poll_event`].
    fn poll_event(&mut self) -> Option<Event<'_>> {
        self.inner_mut().poll_event()
    }

    /// See [`Transport::send`].
    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        self.inner_mut().send(to, delivery, batch)
    }

    /// See [`Transport::pause`].
    fn pause(&mut self, connection: Connection) {
        self.inner_mut().pause(connection);
    }

    /// See [`Transport::hold_unauthenticated`].
    fn hold_unauthenticated(&mut self) {
        self.inner_mut().hold_unauthenticated();
    }

    /// See [`Transport::welcome`].
    fn welcome(&mut self, connection: Connection) {
        self.inner_mut().welcome(connection);
    }

    /// See [`Transport::close`].
    fn close(&mut self, connection: Connection, reason: &Reason) {
        self.inner_mut().close(connection, reason);
    }

    /// See [`Transport::handle_output`].
    fn handle_output(&mut self, now: Duration) {
        self.inner_mut().handle_output(now);
    }

    /// See [`Transport::reconnect`].
    fn reconnect(&mut self, now: Duration) -> Result<(), ReconnectError> {
        self.inner_mut().reconnect(now)
    }

    /// See [`Transport::limits`].
    fn limits(&self) -> TransportLimits {
        self.inner().limits()
    }

    /// See [`Transport::path`].
    fn path(&self, connection: Connection) -> Option<Path> {
        self.inner().path(connection)
    }

    /// See [`Transport::next_time`].
    fn next_time(&self) -> Option<Duration> {
        self.inner().next_time()
    }
}

impl<W: TransportWrapper> Transport for W {
    fn handle_input(&mut self, now: Duration) {
        TransportWrapper::handle_input(self, now);
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        TransportWrapper::poll_event(self)
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        TransportWrapper::send(self, to, delivery, batch)
    }

    fn pause(&mut self, connection: Connection) {
        TransportWrapper::pause(self, connection);
    }

    fn hold_unauthenticated(&mut self) {
        TransportWrapper::hold_unauthenticated(self);
    }

    fn welcome(&mut self, connection: Connection) {
        TransportWrapper::welcome(self, connection);
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        TransportWrapper::close(self, connection, reason);
    }

    fn handle_output(&mut self, now: Duration) {
        TransportWrapper::handle_output(self, now);
    }

    fn reconnect(&mut self, now: Duration) -> Result<(), ReconnectError> {
        TransportWrapper::reconnect(self, now)
    }

    fn limits(&self) -> TransportLimits {
        TransportWrapper::limits(self)
    }

    fn path(&self, connection: Connection) -> Option<Path> {
        TransportWrapper::path(self, connection)
    }

    fn next_time(&self) -> Option<Duration> {
        TransportWrapper::next_time(self)
    }
}

/// A transport that is chosen at run time: `Box<dyn Transport>`, or with `Send` and `Sync`.
///
/// ```
/// use tightwire::{Message, Server, SessionConfig, Wire};
/// use tightwire::transport::{InProcess, Transport};
///
/// #[derive(Wire, Message, Default)]
/// struct Jump;
///
/// let transport: Box<dyn Transport + Send + Sync> = Box::new(InProcess::pair().1);
/// let builder = Server::<(), _>::builder(SessionConfig::new("arena", "1.0")).send_only::<Jump>();
/// let server = builder.open_to_anyone().build(transport)?;
/// assert_eq!(server.peers().count(), 0);
/// # Ok::<(), tightwire::session::SessionError>(())
/// ```
impl<T: Transport + ?Sized> TransportWrapper for Box<T> {
    type Inner = T;

    fn inner(&self) -> &T {
        self
    }

    fn inner_mut(&mut self) -> &mut T {
        self
    }
}
