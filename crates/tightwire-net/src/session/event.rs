//! Events, reports and errors of a session.

use core::fmt;
use std::net::SocketAddr;

use crate::message::{PeerId, PeerMessageStats, PeerStats, RegistryError};
use tightwire_core::packet::Identity;
use tightwire_core::schema::SchemaError;

use crate::limits::LimitError;
use crate::reason::Reason;
use crate::transport::Path;

/// An event of a [`Server`](crate::session::Server) or a [`Client`](crate::session::Client),
/// besides messages.
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
    /// A peer is connected: it can be sent to, and its messages come.
    Connected {
        /// Id of the peer.
        peer: PeerId,
        /// Number of the client, from its token; on a client, its own.
        client: u64,
        /// User data from its token; empty on a client.
        user_data: Vec<u8>,
        /// Address of the peer; `None` if the transport has no addresses.
        address: Option<SocketAddr>,
    },
    /// A peer has disconnected, and its messages from before have been handled. On a client also if
    /// it never connected.
    Disconnected {
        /// Id of the peer; `None` if it had not connected.
        peer: Option<PeerId>,
        /// Reason of the end.
        reason: Reason,
    },
    /// A connection to this server was refused.
    Refused {
        /// Address of the other end; `None` if the transport has no addresses.
        address: Option<SocketAddr>,
        /// Reason of the refusal. A [`Reason::Mismatch`] is from the view of this side.
        reason: Reason,
    },
    /// A peer has sent the schema of its messages, on request.
    Schema {
        /// Id of the peer.
        peer: PeerId,
        /// Identity of the peer, with its schema.
        identity: Box<Identity>,
    },
}

/// State of the connection to a peer.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct PeerReport {
    /// Measurements of the transport.
    pub path: Path,
    /// Traffic with the peer.
    pub stats: PeerStats,
    /// Traffic with the peer, by type of message.
    pub messages: Vec<PeerMessageStats>,
    /// Unreliable batches that were not sent, since the peer does not keep up.
    pub batches_dropped: u64,
}

/// Reason why a session cannot be built.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// The messages or their limits are invalid.
    Messages(RegistryError),
    /// A message has an invalid description.
    Schema(SchemaError),
    /// No message is registered.
    NoMessages,
    /// A limit is invalid, alone or beside another.
    Limit(LimitError),
    /// The server has no setting for which clients may connect.
    NoAdmission,
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Messages(error) => error.fmt(f),
            Self::Schema(error) => error.fmt(f),
            Self::NoMessages => f.write_str("no message is registered: add one to the builder"),
            Self::Limit(error) => error.fmt(f),
            Self::NoAdmission => f.write_str(
                "the server has no admission: call `with_tokens`, or `open_to_anyone` to admit \
                 everybody",
            ),
        }
    }
}

impl core::error::Error for SessionError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Messages(error) => Some(error),
            Self::Schema(error) => Some(error),
            Self::Limit(error) => Some(error),
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
