//! What a transport did that it should not have done.

use core::fmt;
use core::time::Duration;

use crate::message::Delivery;

use super::End;
use crate::reason::Reason;
use crate::transport::NotSentError;

/// A promise that was not kept, the check that found it, and the end where that was seen.
///
/// ```
/// use tightwire::Delivery;
/// use tightwire::transport::conformance::{ConformanceError, End, Fault};
///
/// let fault = Fault::Order { delivery: Delivery::ReliableOrdered, number: 512, after: 514 };
/// let broken = ConformanceError { check: "traffic", end: End::Server, fault };
/// assert_eq!(broken.to_string(), "traffic: server: ReliableOrdered: batch 512 came after 514");
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct ConformanceError {
    /// Which check it was: see [the list](super).
    pub check: &'static str,
    /// Who saw it.
    pub end: End,
    /// What it was.
    pub fault: Fault,
}

/// What a check saw.
pub(super) struct Seen {
    pub(super) end: End,
    pub(super) fault: Fault,
}

impl Seen {
    /// In the check of this name.
    pub(super) fn by(self, check: &'static str) -> ConformanceError {
        ConformanceError { check, end: self.end, fault: self.fault }
    }
}

/// What a transport did that it should not have done. Batches are numbered from 0, for each delivery
/// and direction.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// There was no [`Event::Connected`](crate::transport::Event::Connected).
    NotConnected,
    /// There was more than one.
    ConnectedTwice,
    /// The connection ended, and nobody wanted that.
    Ended(Reason),
    /// Something happened to a connection that there is not, or not any more.
    NoSuchConnection(&'static str),
    /// A batch of a delivery that is in order came late.
    Order {
        /// How it was sent.
        delivery: Delivery,
        /// The batch; of the smallest ones, the last 8 bits of its number.
        number: u32,
        /// One that was sent later.
        after: u32,
    },
    /// A batch came twice.
    Twice {
        /// How it was sent.
        delivery: Delivery,
        /// The batch; of the smallest ones, the last 8 bits of its number.
        number: u32,
    },
    /// Batches never came.
    Lost {
        /// How they were sent.
        delivery: Delivery,
        /// How many came, each counted once.
        arrived: u64,
        /// How many were sent.
        sent: u64,
        /// The first that did not, unless it is one of the smallest, which do not say who they are.
        first: Option<u32>,
    },
    /// A batch came that nobody sent like this: it was changed, cut, or its delivery is another.
    Changed {
        /// How it came.
        delivery: Delivery,
        /// Its bytes.
        size: usize,
    },
    /// A batch was refused that should not be.
    Refused(Delivery, NotSentError),
    /// A batch was not refused, or otherwise than it should be.
    NotRefused {
        /// How it should be.
        expected: &'static str,
        /// What was said instead.
        said: Result<(), NotSentError>,
    },
    /// The other end takes nothing, and more and more is accepted for it, or kept.
    Unbounded {
        /// How it was sent.
        delivery: Delivery,
        /// The bytes that were accepted, or came later.
        accepted: usize,
    },
    /// A reliable batch came although the connection was paused.
    NotPaused(Delivery),
    /// No batch of a delivery that is not reliable came while the connection was paused.
    HeldBack(Delivery),
    /// The connection was closed, and the other end was not told.
    CloseNotHeard,
    /// It was told another reason.
    OtherReason {
        /// What was said.
        said: Reason,
        /// What was heard.
        heard: Reason,
    },
    /// What came before the end came after it, or not at all.
    AfterEnd {
        /// How many batches came before it.
        arrived: u64,
        /// How many should have.
        sent: u64,
    },
    /// There is an event at the end that closed the connection.
    EventAfterClose,
    /// What [`path`](crate::transport::Transport::path) says cannot be.
    Path(&'static str),
    /// Nothing happened for so long, and something should have.
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
            Self::NotConnected => write!(f, "no connection"),
            Self::ConnectedTwice => write!(f, "connected twice"),
            Self::Ended(reason) => write!(f, "the connection ended by itself: {reason}"),
            Self::NoSuchConnection(event) => write!(f, "{event} of a connection that is none"),
            Self::Order { delivery, number, after } => {
                write!(f, "{delivery:?}: batch {number} came after {after}")
            }
            Self::Twice { delivery, number } => {
                write!(f, "{delivery:?}: batch {number} came twice")
            }
            Self::Lost { delivery, arrived, sent, first } => {
                write!(f, "{delivery:?}: of {sent} batches {arrived} came")?;
                first.map_or(Ok(()), |first| write!(f, "; the first that did not is {first}"))
            }
            Self::Changed { delivery, size } => {
                write!(f, "{delivery:?}: a batch of {size} bytes came that nobody sent")
            }
            Self::Refused(delivery, why) => write!(f, "{delivery:?}: a batch was refused: {why}"),
            Self::NotRefused { expected, said: Ok(()) } => {
                write!(f, "a batch was accepted that should be refused as {expected}")
            }
            Self::NotRefused { expected, said: Err(why) } => {
                write!(f, "a batch that should be refused as {expected} was refused: {why}")
            }
            Self::Unbounded { delivery, accepted } => {
                write!(f, "{delivery:?}: {accepted} bytes were kept that nobody takes")
            }
            Self::NotPaused(delivery) => write!(f, "{delivery:?}: a batch came in a pause"),
            Self::HeldBack(delivery) => write!(f, "{delivery:?}: none came in a pause"),
            Self::CloseNotHeard => write!(f, "the connection was closed, and nobody said so"),
            Self::OtherReason { said, heard } => {
                write!(f, "closed as \"{said}\", and heard as \"{heard}\"")
            }
            Self::AfterEnd { arrived, sent } => {
                write!(f, "the end came before the batches that had arrived: {arrived} of {sent}")
            }
            Self::EventAfterClose => write!(f, "an event after this end closed the connection"),
            Self::Path(what) => write!(f, "path: {what}"),
            Self::Stuck(time) => write!(f, "nothing happened for {time:?}"),
        }
    }
}

impl core::error::Error for ConformanceError {}
