//! What happened to a session.

use core::fmt;
use std::net::SocketAddr;

use crate::message::{PeerId, PeerMessageStats, PeerStats, RegistryError};
use tightwire_core::packet::Identity;
use tightwire_core::schema::SchemaError;

use crate::reason::Reason;
use crate::transport::Path;

/// What happened to a [`Server`](crate::session::Server) or a [`Client`](crate::session::Client), besides messages.
///
/// ```
/// use tightwire::SessionEvent;
/// use tightwire::transport::Reason;
///
/// let event = SessionEvent::Refused { address: None, reason: Reason::Full };
/// assert!(matches!(event, SessionEvent::Refused { reason: Reason::Full, .. }));
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SessionEvent {
    /// A peer can be sent to, and its messages come.
    Connected {
        /// Who it is from now on.
        peer: PeerId,
        /// The number of the client, from its token: at a client its own.
        client: u64,
        /// What its token says about it; at a client nothing.
        user_data: Vec<u8>,
        /// Where it is, if the transport knows.
        address: Option<SocketAddr>,
    },
    /// A peer has gone, and what it sent before has been handled. At a client also if it never
    /// connected.
    Disconnected {
        /// Who it was, if it had connected.
        peer: Option<PeerId>,
        /// Why.
        reason: Reason,
    },
    /// Somebody wanted to connect to this server and was not let in.
    Refused {
        /// Where they are, if the transport knows.
        address: Option<SocketAddr>,
        /// Why. A [`Reason::Mismatch`] says it as this side sees it.
        reason: Reason,
    },
    /// A peer has said what its messages look like, since it was asked.
    Schema {
        /// Who.
        peer: PeerId,
        /// What it said.
        identity: Box<Identity>,
    },
}

/// How a peer is doing.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct PeerReport {
    /// How its connection is.
    pub path: Path,
    /// What went to it and came from it.
    pub stats: PeerStats,
    /// The same for each type of message.
    pub messages: Vec<PeerMessageStats>,
    /// Unreliable batches that were not sent, since the peer does not keep up.
    pub batches_dropped: u64,
}

/// Why a session cannot be built.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// Messages or their limits make no sense.
    Messages(RegistryError),
    /// A message describes itself in a way that makes no sense.
    Schema(SchemaError),
    /// The configuration makes no sense.
    Config(&'static str),
    /// It was not said who may connect to a server.
    NoGate,
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Messages(error) => error.fmt(f),
            Self::Schema(error) => error.fmt(f),
            Self::Config(wrong) => f.write_str(wrong),
            Self::NoGate => f.write_str(
                "who may connect? Call `with_tokens`, or `open_to_anyone` if it is meant so",
            ),
        }
    }
}

impl core::error::Error for SessionError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Messages(error) => Some(error),
            Self::Schema(error) => Some(error),
            _ => None,
        }
    }
}

impl From<RegistryError> for SessionError {
    fn from(error: RegistryError) -> Self {
        Self::Messages(error)
    }
}

impl From<SchemaError> for SessionError {
    fn from(error: SchemaError) -> Self {
        Self::Schema(error)
    }
}
