//! Faults of a transport that the suite finds.

use core::fmt;
use core::time::Duration;

use crate::message::Delivery;

use super::End;
use crate::reason::Reason;
use crate::transport::NotSentError;

/// A broken promise, with the check that found it and the end at which it was seen.
///
/// ```
/// use tightwire::Delivery;
/// use tightwire::transport::conformance::{ConformanceError, End, Fault};
///
/// let fault = Fault::Order { delivery: Delivery::ReliableOrdered, number: 512, after: 514 };
/// let broken = ConformanceError { check: "traffic", end: End::Server, fault };
/// assert_eq!(broken.to_string(), "traffic: server: ReliableOrdered: batch 512 arrived after batch 514");
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct ConformanceError {
    /// Name of the check: see [the list](super).
    pub check: &'static str,
    /// End at which the fault was seen.
    pub end: End,
    /// Fault that was seen.
    pub fault: Fault,
}

/// A fault that a check saw.
pub(super) struct EndFault {
    pub(super) end: End,
    pub(super) fault: Fault,
}

impl EndFault {
    /// Adds the name of the check.
    pub(super) fn by(self, check: &'static str) -> ConformanceError {
        ConformanceError { check, end: self.end, fault: self.fault }
    }
}

/// Faults of a transport. Batches are numbered from 0, for each delivery and direction.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// There was no [`Event::Connected`](crate::transport::Event::Connected).
    NotConnected,
    /// There was more than one [`Event::Connected`](crate::transport::Event::Connected).
    ConnectedTwice,
    /// The connection ended although neither end closed it.
    Ended(Reason),
    /// An event named a connection that does not exist, or no longer exists.
    NoSuchConnection(&'static str),
    /// A batch of an ordered or sequenced delivery arrived out of order.
    Order {
        /// Delivery of the batch.
        delivery: Delivery,
        /// Number of the batch; of the smallest batches, its last 8 bits.
        number: u32,
        /// Number of a batch that was sent later and arrived before.
        after: u32,
    },
    /// A batch arrived twice.
    Twice {
        /// Delivery of the batch.
        delivery: Delivery,
        /// Number of the batch; of the smallest batches, its last 8 bits.
        number: u32,
    },
    /// Batches never arrived.
    Lost {
        /// Delivery of the batches.
        delivery: Delivery,
        /// Number of batches that arrived, each counted once.
        arrived: u64,
        /// Number of batches that were sent.
        sent: u64,
        /// Number of the first missing batch; `None` if only the smallest are missing, which do not
        /// carry their number.
        first: Option<u32>,
    },
    /// A batch arrived that was never sent like this: its bytes, its length or its delivery differ.
    Changed {
        /// Delivery of the batch, as it arrived.
        delivery: Delivery,
        /// Length of the batch, in bytes.
        size: usize,
    },
    /// A batch was refused that should have been accepted.
    Refused(Delivery, NotSentError),
    /// A batch was accepted, or refused with another error than expected.
    NotRefused {
        /// Expected error, in words.
        expected: &'static str,
        /// Result of the call.
        result: Result<(), NotSentError>,
    },
    /// More and more batches are accepted or kept for an end that takes none.
    Unbounded {
        /// Delivery of the batches.
        delivery: Delivery,
        /// Bytes that were accepted, or that arrived later.
        accepted: usize,
    },
    /// A reliable batch arrived although the connection was paused.
    NotPaused(Delivery),
    /// No unreliable batch arrived while the connection was paused.
    HeldBack(Delivery),
    /// The connection was closed, and the other end got no event.
    CloseNotHeard,
    /// The other end got another reason.
    OtherReason {
        /// Reason that the connection was closed with.
        sent: Reason,
        /// Reason that arrived.
        received: Reason,
    },
    /// Batches that had arrived before the close came after its event, or never.
    AfterEnd {
        /// Number of batches before the event.
        arrived: u64,
        /// Number of batches that should have come before the event.
        sent: u64,
    },
    /// An event came at the end that closed the connection.
    EventAfterClose,
    /// The result of [`path`](crate::transport::Transport::path) is impossible.
    Path(&'static str),
    /// There was no progress for this time.
    Stuck(Duration),
}

impl fmt::Display for ConformanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { check, end, fault } = self;
        write!(f, "{check}: {end}: {fault}")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConnected => write!(f, "the ends did not connect"),
            Self::ConnectedTwice => write!(f, "connected twice"),
            Self::Ended(reason) => write!(f, "the connection ended by itself: {reason}"),
            Self::NoSuchConnection(event) => write!(f, "{event} of an unknown connection"),
            Self::Order { delivery, number, after } => {
                write!(f, "{delivery:?}: batch {number} arrived after batch {after}")
            }
            Self::Twice { delivery, number } => {
                write!(f, "{delivery:?}: batch {number} arrived twice")
            }
            Self::Lost { delivery, arrived, sent, first } => {
                write!(f, "{delivery:?}: {arrived} of {sent} batches arrived")?;
                first.map_or(Ok(()), |first| write!(f, "; the first missing one is {first}"))
            }
            Self::Changed { delivery, size } => {
                write!(f, "{delivery:?}: a batch of {size} bytes arrived that was never sent")
            }
            Self::Refused(delivery, why) => write!(f, "{delivery:?}: a batch was refused: {why}"),
            Self::NotRefused { expected, result: Ok(()) } => {
                write!(f, "a batch was accepted that should be refused as {expected}")
            }
            Self::NotRefused { expected, result: Err(why) } => {
                write!(f, "a batch should be refused as {expected}, and was refused because {why}")
            }
            Self::Unbounded { delivery, accepted } => {
                write!(f, "{delivery:?}: {accepted} bytes were buffered, without a limit")
            }
            Self::NotPaused(delivery) => write!(f, "{delivery:?}: a batch arrived during a pause"),
            Self::HeldBack(delivery) => write!(f, "{delivery:?}: no batch arrived during a pause"),
            Self::CloseNotHeard => {
                write!(f, "the connection was closed, and the other end got no event")
            }
            Self::OtherReason { sent, received } => {
                write!(f, "closed with reason \"{sent}\", received \"{received}\"")
            }
            Self::AfterEnd { arrived, sent } => {
                write!(f, "the end was reported after {arrived} of {sent} batches")
            }
            Self::EventAfterClose => write!(f, "an event after this end closed the connection"),
            Self::Path(what) => write!(f, "path: {what}"),
            Self::Stuck(time) => write!(f, "nothing happened for {time:?}"),
        }
    }
}

impl core::error::Error for ConformanceError {}
