//! The trait of transports, which carry batches from one side to the other.

mod wrapper;

pub use crate::cause::Cause;
pub use crate::conformance;
pub use crate::in_process::InProcess;
pub use crate::reason::Reason;
pub use wrapper::TransportWrapper;

use core::fmt;
use core::time::Duration;
use std::net::SocketAddr;

use crate::message::Delivery;

/// Carries batches between this side and its connections, and keeps the promises of their
/// [`Delivery`].
///
/// A transport owns no thread and no clock. Its methods are of three kinds:
///
/// * [`handle_input`](Self::handle_input) takes input from the network, and
///   [`handle_output`](Self::handle_output) gives waiting output to it; both get the time, which
///   only goes forward.
/// * [`poll_event`](Self::poll_event) returns events, until there are no more.
/// * [`send`](Self::send), [`pause`](Self::pause), [`close`](Self::close), and for unauthenticated
///   connections [`hold_unauthenticated`](Self::hold_unauthenticated) and
///   [`welcome`](Self::welcome) are commands of the application. They take effect with
///   [`handle_output`](Self::handle_output).
///
/// A frame is therefore: `handle_input`, `poll_event` until it is empty, `send`, `handle_output`.
///
/// To write a transport for another platform, implement this trait and let [`conformance::run`]
/// judge the implementation. It has to promise:
///
/// * **Deliveries.** Each batch arrives as its [`Delivery`] says, whole and unchanged, with the
///   delivery that it was sent with. The two ordered deliveries are each in order by itself. A lost
///   batch of [`Delivery::Reliable`] holds up no other batch.
/// * **Connections** have a number that is never reused. A connection is an [`Event::Connected`],
///   then its batches, then an [`Event::Disconnected`], unless this side closed it; no event of it
///   follows. Batches that arrived before the end are handed out before it.
/// * **Hostile peers.** Malformed input closes the connection or is dropped. Memory per connection
///   is bounded: [`send`](Self::send) refuses batches that would not fit, and a peer that sends
///   faster than [`poll_event`](Self::poll_event) is called is slowed down if its batches are
///   reliable, and loses the others.
pub trait Transport {
    /// Takes the input of the network up to `now`, and runs due timers. [Paused](Self::pause)
    /// connections go on.
    fn handle_input(&mut self, now: Duration);

    /// Returns the next event, if there is one.
    fn poll_event(&mut self) -> Option<Event<'_>>;

    /// Sends a batch. Unreliable batches may be dropped, also by this side.
    ///
    /// The batch is as a [`Messenger`](crate::message::Messenger) makes it: it begins with the size
    /// of its content, in 2 bytes, or in 4 for a delivery that [fragments](Delivery::fragments),
    /// lowest first. On a stream of bytes, a transport therefore needs no framing of its own.
    ///
    /// # Errors
    ///
    /// [`NotSentError`] with the reason why the batch will not arrive.
    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError>;

    /// Hands out no reliable batches of a connection until the next
    /// [`handle_input`](Self::handle_input), since the application has no room for them. They wait,
    /// up to a limit, and then their sender has to wait.
    fn pause(&mut self, connection: Connection);

    /// Announces that the application authenticates the other end of each connection, and calls
    /// [`welcome`](Self::welcome) when it has: until then a transport can hold a connection to much
    /// lower limits. A [`Server`](crate::session::Server) does so, and welcomes clients that have
    /// shown their token. Without this call, and by default in a transport that ignores it, every
    /// connection is welcome.
    fn hold_unauthenticated(&mut self) {}

    /// Tells the transport that the application knows the other end of a connection: see
    /// [`hold_unauthenticated`](Self::hold_unauthenticated).
    fn welcome(&mut self, connection: Connection) {
        let _ = connection;
    }

    /// Closes a connection and tells the other side the reason. Batches that were sent before may
    /// be lost. There is no event for it on this side.
    fn close(&mut self, connection: Connection, reason: &Reason);

    /// Gives the waiting output that may be sent by `now` to the network.
    fn handle_output(&mut self, now: Duration);

    /// Connects again to where this end was connected to, once that connection is over and its
    /// [`Event::Disconnected`] was polled. An [`Event::Connected`] with another number follows, or
    /// an [`Event::Disconnected`].
    ///
    /// # Errors
    ///
    /// [`ReconnectError`] says why this end does not try.
    fn reconnect(&mut self, now: Duration) -> Result<(), ReconnectError> {
        let _ = now;
        Err(ReconnectError::Unsupported)
    }

    /// Returns the limits that are known before there is a connection, so that a session that does
    /// not fit them is refused when it is built. By default none.
    fn limits(&self) -> TransportLimits {
        TransportLimits::default()
    }

    /// Returns limits and measurements of a connection; `None` if it does not exist.
    fn path(&self, connection: Connection) -> Option<Path>;

    /// Returns the time at which [`handle_input`](Self::handle_input) has a due timer, unless input
    /// comes from the network before: for programs that sleep, and for virtual clocks.
    fn next_time(&self) -> Option<Duration>;
}

/// A connection of a [`Transport`], which chooses the number and never reuses it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Connection(pub u64);

/// An event of a [`Transport`].
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A connection is established.
    Connected {
        /// Number of the connection.
        connection: Connection,
        /// Address of the other end; `None` if the transport has no addresses.
        address: Option<SocketAddr>,
    },
    /// A batch arrived.
    Batch {
        /// The connection that sent it.
        from: Connection,
        /// Delivery that it was sent with.
        delivery: Delivery,
        /// The batch.
        batch: &'a [u8],
    },
    /// A connection has ended, or this side could not connect.
    Disconnected {
        /// Number of the connection.
        connection: Connection,
        /// Reason of the end.
        reason: Reason,
    },
    /// The transport itself refused a connection.
    Refused {
        /// Address of the other end; `None` if the transport has no addresses.
        address: Option<SocketAddr>,
        /// Reason of the refusal.
        reason: Reason,
    },
}

/// Limits of a [`Transport`] that hold for all of its connections.
///
/// ```
/// use tightwire::transport::{InProcess, Transport};
///
/// let limits = InProcess::pair().0.limits();
/// assert_eq!(limits.max_connections, None);
/// assert!(limits.max_fragmented >= Some(1 << 20));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransportLimits {
    /// Largest number of connections; `None` if it is not known, or does not matter.
    pub max_connections: Option<usize>,
    /// Largest batch of a delivery that fragments, in bytes; `None` if it is not known.
    pub max_fragmented: Option<usize>,
}

/// State of a connection: its limits, and its measurements.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Path {
    /// Largest batch of a delivery that does not fragment, in bytes.
    pub max_datagram: usize,
    /// Largest batch of a delivery that fragments, in bytes.
    pub max_fragmented: usize,
    /// Smoothed round-trip time.
    pub round_trip: Duration,
    /// Variation of the round-trip time.
    pub jitter: Duration,
    /// Share of the packets sent so far that were lost, as far as this side can tell: a packet that
    /// many others overtook may count as lost.
    pub loss: f64,
    /// Bytes of reliable batches that wait: those not yet sent, and, if the transport knows, those
    /// not yet acked. Over [`Quic`](crate::quic::Quic), large batches count only a small part of
    /// their rest, since other batches pass them.
    ///
    /// [The suite](crate::transport::conformance) and sessions rely on three properties: the
    /// backlog is above 0 while [`send`](Transport::send) refuses batches as
    /// [`NotSentError::Full`]; it changes while a large batch makes progress; it is 0 soon after
    /// all batches were handed out.
    pub backlog: usize,
    /// Congestion window: the bytes that may be in flight; `None` without a limit, as within a
    /// process.
    pub window: Option<usize>,
    /// Room for unreliable batches, in bytes: sending more drops waiting ones. A sender that finds
    /// little room is faster than the network.
    pub datagram_room: usize,
    /// Number of unreliable batches that this side dropped, since its buffer was full.
    pub dropped: u64,
    /// Bytes sent to the network for this connection, including all headers of the transport.
    pub bytes_sent: u64,
    /// Bytes received from the network for this connection.
    pub bytes_received: u64,
    /// Packets sent to the network for this connection.
    pub packets_sent: u64,
    /// Packets received from the network for this connection.
    pub packets_received: u64,
}

/// Reason why a batch will not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotSentError {
    /// The connection does not exist, is not established yet, or has ended.
    NotConnected(Connection),
    /// The batch is larger than its delivery carries.
    TooLarge {
        /// Bytes of the batch.
        size: usize,
        /// Largest number of bytes.
        limit: usize,
    },
    /// The other side is too slow: the backlog is at its limit.
    Full {
        /// Bytes of the backlog.
        backlog: usize,
    },
}

/// Reason why a [`Transport`] cannot reconnect.
///
/// ```
/// use tightwire::transport::ReconnectError;
///
/// let error = ReconnectError::TokenTooLong { size: 3000, limit: 2048 };
/// assert_eq!(error.to_string(), "the connect token has 3000 bytes: at most 2048 are allowed");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReconnectError {
    /// The transport cannot reconnect: create a new one.
    Unsupported,
    /// The last connection has not ended, or its event was not polled.
    Connected,
    /// The token of a client has more bytes than can be sent.
    TokenTooLong {
        /// Length of the token, in bytes.
        size: usize,
        /// Largest length, in bytes.
        limit: usize,
    },
    /// Reconnecting failed, with the reason.
    Failed(Cause),
}

impl fmt::Display for ReconnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => f.write_str("this transport cannot reconnect: create a new one"),
            Self::Connected => {
                f.write_str("the last connection has not ended: wait for its event `Disconnected`")
            }
            Self::TokenTooLong { size, limit } => {
                write!(f, "the connect token has {size} bytes: at most {limit} are allowed")
            }
            Self::Failed(why) => write!(f, "cannot reconnect: {why}"),
        }
    }
}

impl core::error::Error for ReconnectError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Failed(cause) => cause.source(),
            _ => None,
        }
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {}", self.0)
    }
}

impl fmt::Display for NotSentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConnected(connection) => write!(f, "{connection} is not connected"),
            Self::TooLarge { size, limit } => {
                write!(f, "the batch has {size} bytes: at most {limit} are allowed")
            }
            Self::Full { backlog } => {
                write!(f, "the send buffer is full: {backlog} bytes are queued")
            }
        }
    }
}

impl core::error::Error for NotSentError {}

/// Latest time, a hundred years, to which times are clamped so that additions to it do not
/// overflow.
#[cfg(feature = "quic")]
pub(crate) const LAST_TIME: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
