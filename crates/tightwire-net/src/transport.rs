//! What carries batches from one side to the other.

pub use crate::conformance;
pub use crate::in_process::InProcess;
pub use crate::reason::Reason;

use core::fmt;
use core::time::Duration;
use std::net::SocketAddr;

use crate::message::Delivery;

/// Carries batches between this side and its connections, and keeps what their [`Delivery`] promises.
///
/// A transport owns no thread and no clock. Its methods are of three kinds:
///
/// * [`handle_input`](Self::handle_input) takes what has come from the network, and
///   [`handle_output`](Self::handle_output) gives to it what waits; both are told the time, which
///   only goes forward.
/// * [`poll_event`](Self::poll_event) says what happened, until nothing is left.
/// * [`send`](Self::send), [`pause`](Self::pause), [`close`](Self::close), and for strangers
///   [`hold_strangers`](Self::hold_strangers) and [`welcome`](Self::welcome) are what the application
///   wants. They wait for [`handle_output`](Self::handle_output).
///
/// So a frame is: `handle_input`, `poll_event` until it is empty, `send`, `handle_output`.
///
/// To write one for another platform, implement this and let
/// [`conformance::run`] judge it. What it has to promise:
///
/// * **Deliveries.** Each batch arrives as its [`Delivery`] says, whole and unchanged, with the
///   delivery that it was sent with. The two ordered ones are in order each by itself. A
///   lost batch of [`Delivery::Reliable`] holds nobody else up.
/// * **Connections** are known by a number that is never used again. A connection is an
///   [`Event::Connected`], then its batches, then an [`Event::Disconnected`], unless this side closed
///   it; nothing comes of it afterwards. What had arrived before the end is handed out before it.
/// * **Hostile peers.** What is not understood closes the connection or is dropped. Memory for each
///   connection is bounded: [`send`](Self::send) refuses what would not fit, and a sender who is
///   faster than [`poll_event`](Self::poll_event) is slowed down if its batches are reliable, and
///   loses the others.
pub trait Transport {
    /// Takes what has come by `now`, and does what is due. Connections that were
    /// [paused](Self::pause) go on.
    fn handle_input(&mut self, now: Duration);

    /// The next thing that happened, if there is one.
    fn poll_event(&mut self) -> Option<Event<'_>>;

    /// Sends a batch. The unreliable ones may be dropped, also by this side.
    ///
    /// It is a batch as a [`Messenger`](crate::message::Messenger) makes it: it begins with the size of what
    /// follows, in 2 bytes, or in 4 for a delivery that [fragments](Delivery::fragments), the lowest
    /// first. So on a stream of bytes, a transport needs no frames of its own.
    ///
    /// # Errors
    ///
    /// [`NotSentError`] says why it will not arrive.
    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError>;

    /// Hands out no reliable batches of a connection until the next
    /// [`handle_input`](Self::handle_input), since there is no room for them. They wait, within bounds,
    /// and then their sender does.
    fn pause(&mut self, connection: Connection);

    /// Says that the application finds out who is at the other end of each connection, and calls
    /// [`welcome`](Self::welcome) when it knows: until then a transport can hold a connection to much
    /// less than its limits. A [`Server`](crate::session::Server) does so, and welcomes those who have shown their
    /// token. Without it, and by default in a transport that has no use for it, everybody is welcome.
    fn hold_strangers(&mut self) {}

    /// The application knows who is at the other end of a connection: see
    /// [`hold_strangers`](Self::hold_strangers).
    fn welcome(&mut self, connection: Connection) {
        let _ = connection;
    }

    /// Ends a connection and tells the other side why. What was sent before may be lost. There is no
    /// event for it on this side.
    fn close(&mut self, connection: Connection, reason: &Reason);

    /// Gives to the network what waits to be sent and may be sent by `now`.
    fn handle_output(&mut self, now: Duration);

    /// Connects again to where this end was connected to, once that connection is over and its
    /// [`Event::Disconnected`] was polled. An [`Event::Connected`] with another number follows, or an
    /// [`Event::Disconnected`].
    ///
    /// # Errors
    ///
    /// [`ReconnectError`] says why this end does not try.
    fn reconnect(&mut self, now: Duration) -> Result<(), ReconnectError> {
        let _ = now;
        Err(ReconnectError::Unsupported)
    }

    /// How a connection is doing; nothing if there is no such connection.
    fn path(&self, connection: Connection) -> Option<Path>;

    /// When [`handle_input`](Self::handle_input) has something to do, unless something comes from the
    /// network before: for those who sleep, and for virtual clocks.
    fn next_time(&self) -> Option<Duration>;
}

/// One of the connections of a [`Transport`], which chooses the number and never uses it again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Connection(pub u64);

/// What happened to a [`Transport`].
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// There is a connection.
    Connected {
        /// Its number.
        connection: Connection,
        /// Where it comes from or goes to, if there is such a thing.
        address: Option<SocketAddr>,
    },
    /// A batch came.
    Batch {
        /// Who sent it.
        from: Connection,
        /// How it was sent.
        delivery: Delivery,
        /// What was sent.
        batch: &'a [u8],
    },
    /// There is no such connection any more, or this side could not connect.
    Disconnected {
        /// Its number.
        connection: Connection,
        /// Why it ended.
        reason: Reason,
    },
    /// Somebody who wanted to connect was refused by the transport itself.
    Refused {
        /// Who.
        address: Option<SocketAddr>,
        /// Why.
        reason: Reason,
    },
}

/// How a connection is doing.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Path {
    /// The largest batch of a delivery that does not fragment.
    pub max_datagram: usize,
    /// The largest batch of a delivery that fragments.
    pub max_fragmented: usize,
    /// The time to the other side and back, smoothed.
    pub round_trip: Duration,
    /// How much the round trip varies.
    pub jitter: Duration,
    /// The share of packets that were lost, of those sent so far: as far as this side can tell, which
    /// may take one that is overtaken by many for lost.
    pub loss: f64,
    /// The bytes of reliable batches that wait: those that were not sent yet, and, if the transport
    /// knows, those that have not arrived. Of a large batch that others pass on its way, as over
    /// [`Quic`](crate::quic::Quic), a small part of what is left. More than 0 while [`send`](Transport::send) refuses batches
    /// as [`NotSentError::Full`], other than before while a large batch goes on, and 0 soon after all of them
    /// were handed out: [the suite](crate::transport::conformance) and sessions rely on it.
    pub backlog: usize,
    /// The bytes that may be in flight, which is what congestion control allows in a round trip; nothing
    /// if nothing limits it, as within a process.
    pub window: Option<usize>,
    /// The bytes of unreliable batches that can be sent now so that none that waits is dropped for them.
    /// As much as waits less than may: a sender that finds little room is faster than the network.
    pub datagram_room: usize,
    /// The unreliable batches that this side dropped since too much waited.
    pub dropped: u64,
    /// The bytes that went to the network for this connection, all headers of the transport included.
    pub bytes_sent: u64,
    /// The bytes that came from it.
    pub bytes_received: u64,
    /// The packets that went to the network for this connection.
    pub packets_sent: u64,
    /// The packets that came from it.
    pub packets_received: u64,
}

/// Why a batch will not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotSentError {
    /// There is no such connection, or not yet, or not any more.
    NotConnected(Connection),
    /// The batch is larger than its delivery carries.
    TooLarge {
        /// Its bytes.
        size: usize,
        /// The most.
        limit: usize,
    },
    /// The other side is too slow: as much waits for it as may.
    Full {
        /// The bytes that wait.
        backlog: usize,
    },
}

/// Why a [`Transport`] does not connect again.
///
/// ```
/// use tightwire_transport::ReconnectError;
///
/// let error = ReconnectError::TokenTooLong { size: 3000, limit: 2048 };
/// assert_eq!(error.to_string(), "the connect token has 3000 bytes, where 2048 are the most");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReconnectError {
    /// The transport never does, as one that listens: make a new one.
    Unsupported,
    /// The last connection is not over yet, or nobody has polled its end.
    Connected,
    /// The token of a client has more bytes than can be sent.
    TokenTooLong {
        /// Its bytes.
        size: usize,
        /// The most.
        limit: usize,
    },
    /// It cannot, and why.
    Failed(String),
}

impl fmt::Display for ReconnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => {
                f.write_str("this transport does not connect again: make a new one")
            }
            Self::Connected => f.write_str(
                "the last connection is not over: wait until it is reported as disconnected",
            ),
            Self::TokenTooLong { size, limit } => {
                write!(f, "the connect token has {size} bytes, where {limit} are the most")
            }
            Self::Failed(why) => write!(f, "cannot connect again: {why}"),
        }
    }
}

impl core::error::Error for ReconnectError {}

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
                write!(f, "a batch of {size} bytes, where {limit} are the most")
            }
            Self::Full { backlog } => {
                write!(f, "{backlog} bytes wait for this connection already: it is too slow")
            }
        }
    }
}

impl core::error::Error for NotSentError {}

/// The latest time that ours take, a hundred years: what is added to it can still be told.
#[cfg(feature = "quic")]
pub(crate) const LAST_TIME: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
