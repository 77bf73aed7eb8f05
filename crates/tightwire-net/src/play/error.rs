//! Errors of the play layer.

use core::fmt;

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::{ProtocolError, SetError};

use super::input::InputLayoutError;
use crate::limits::LimitError;
use crate::session::SessionError;

/// Reason why a game cannot be served or joined.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum PlayError {
    /// The session refused its configuration or a message.
    Session(SessionError),
    /// A class of objects cannot be replicated.
    Classes(ProtocolError),
    /// The input type cannot be replicated.
    Input(ProtocolError),
    /// The input type has too many columns.
    InputLayout(InputLayoutError),
    /// The neutral input cannot be sent.
    NeutralInput(SetError),
    /// Two limits do not work together.
    Limit(LimitError),
    /// The operating system provides no random numbers for the key of resume tickets.
    NoRandomNumbers,
}

impl fmt::Display for PlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(error) => error.fmt(f),
            Self::Classes(error) => error.fmt(f),
            Self::Input(error) => write!(f, "the input: {error}"),
            Self::InputLayout(error) => error.fmt(f),
            Self::NeutralInput(error) => write!(f, "the neutral input: {error}"),
            Self::Limit(error) => error.fmt(f),
            Self::NoRandomNumbers => f.write_str(
                "the operating system provides no random numbers for resume tickets: set \
                 `resume_key`",
            ),
        }
    }
}

impl core::error::Error for PlayError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Session(error) => Some(error),
            Self::Classes(error) | Self::Input(error) => Some(error),
            Self::InputLayout(error) => Some(error),
            Self::NeutralInput(error) => Some(error),
            Self::Limit(error) => Some(error),
            Self::NoRandomNumbers => None,
        }
    }
}

impl From<SessionError> for PlayError {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

/// Reason why a step function cannot change an object.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SceneError {
    /// The value cannot be sent.
    Set(SetError),
    /// The object is not simulated on this side: on a client, it is not predicted, or does not
    /// exist.
    NotSimulated {
        /// The object.
        id: ObjectId,
    },
    /// Too many predicted spawns wait for the server.
    TooManySpawns,
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set(error) => error.fmt(f),
            Self::NotSimulated { id } => write!(
                f,
                "object {id} is not simulated here: a client changes only objects that it predicts"
            ),
            Self::TooManySpawns => f.write_str(
                "too many predicted spawns are unconfirmed: spawn again after the server has \
                 confirmed some",
            ),
        }
    }
}

impl core::error::Error for SceneError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Set(error) => Some(error),
            _ => None,
        }
    }
}

impl From<SetError> for SceneError {
    fn from(error: SetError) -> Self {
        Self::Set(error)
    }
}
