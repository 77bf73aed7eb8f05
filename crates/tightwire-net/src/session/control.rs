//! Control messages of sessions, besides the application's.

use crate::message::InternalBatch;
use tightwire_core::stream::Wire;

use super::description::Description;

/// Version of the control messages: changes with their format.
pub(super) const FORMAT: u8 = 3;

/// Largest token, in bytes.
pub(super) const MAX_TOKEN: usize = 2048;

/// Largest description of a side, in bytes: the sender decides how much work it is.
pub(super) const MAX_DESCRIPTION: usize = 64 << 10;

/// A control message. docs/WIRE.md lists them.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ControlMessage {
    /// First message of the client.
    Hello(Hello),
    /// The server accepts the client.
    Welcome(Welcome),
    /// The client has got its welcome. Messages of the server can no longer overtake the welcome.
    Ready,
    /// The protocol ids differ: the server's description.
    ServerDescription(Box<Description>),
    /// The client's description, in reply to `ServerDescription`.
    ClientDescription(Box<Description>),
    /// Requests the schema of the other side's messages.
    SchemaRequest,
    /// Description in reply to `SchemaRequest`.
    SchemaReply(Box<Description>),
}

/// Protocol id and token of the client.
#[derive(Wire, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Hello {
    /// Always first: a server with another format can still report it.
    pub(super) format: u8,
    pub(super) protocol: u64,
    #[wire(max_len = MAX_TOKEN)]
    pub(super) token: Vec<u8>,
}

/// The client's number, from its token.
#[derive(Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Welcome {
    pub(super) client: u64,
}

/// Reason why a control message was not understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ControlError {
    /// A hello of another format.
    Format(u8),
    /// An unknown number, or a malformed body.
    Malformed,
}

impl ControlMessage {
    /// Name of the control message in the reason of a disconnect.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "Hello",
            Self::Welcome(_) => "Welcome",
            Self::Ready => "Ready",
            Self::ServerDescription(_) => "ServerDescription",
            Self::ClientDescription(_) => "ClientDescription",
            Self::SchemaRequest => "SchemaRequest",
            Self::SchemaReply(_) => "SchemaReply",
        }
    }

    /// Replaces `batch` by one with this message; empties it if the message cannot be written.
    pub(super) fn write(&mut self, batch: &mut Vec<u8>) {
        let written = match self {
            Self::Hello(hello) => InternalBatch::write(HELLO, hello, batch),
            Self::Welcome(welcome) => InternalBatch::write(WELCOME, welcome, batch),
            Self::Ready => InternalBatch::write(READY, &(), batch),
            Self::ServerDescription(description) => {
                InternalBatch::write(SERVER_DESCRIPTION, &**description, batch)
            }
            Self::ClientDescription(description) => {
                InternalBatch::write(CLIENT_DESCRIPTION, &**description, batch)
            }
            Self::SchemaRequest => InternalBatch::write(SCHEMA_REQUEST, &(), batch),
            Self::SchemaReply(description) => {
                InternalBatch::write(SCHEMA_REPLY, &**description, batch)
            }
        };
        if written.is_err() {
            batch.clear();
        }
    }

    /// Whether this is the number of an answer.
    pub(super) fn is_schema_reply(number: u8) -> bool {
        number == SCHEMA_REPLY
    }

    /// Reads the control message of this number with this body.
    pub(super) fn read(number: u8, body: &[u8]) -> Result<Self, ControlError> {
        fn decode<T: Wire + Default>(body: &[u8]) -> Result<T, ControlError> {
            tightwire_core::stream::decode(body).map_err(|_| ControlError::Malformed)
        }
        fn description(body: &[u8]) -> Result<Box<Description>, ControlError> {
            if body.len() > MAX_DESCRIPTION {
                return Err(ControlError::Malformed);
            }
            decode(body).map(Box::new)
        }
        match number {
            HELLO => match body.first() {
                Some(&format) if format != FORMAT => Err(ControlError::Format(format)),
                _ => decode(body).map(Self::Hello),
            },
            WELCOME => decode(body).map(Self::Welcome),
            READY => decode(body).map(|()| Self::Ready),
            SERVER_DESCRIPTION => description(body).map(Self::ServerDescription),
            CLIENT_DESCRIPTION => description(body).map(Self::ClientDescription),
            SCHEMA_REQUEST => decode(body).map(|()| Self::SchemaRequest),
            SCHEMA_REPLY => description(body).map(Self::SchemaReply),
            _ => Err(ControlError::Malformed),
        }
    }
}

const HELLO: u8 = 0;
const WELCOME: u8 = 1;
const READY: u8 = 2;
const SERVER_DESCRIPTION: u8 = 3;
const CLIENT_DESCRIPTION: u8 = 4;
const SCHEMA_REQUEST: u8 = 5;
const SCHEMA_REPLY: u8 = 6;

#[cfg(test)]
#[path = "control_tests.rs"]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
