//! Errors of sending and receiving messages.

use core::fmt;

use super::{Delivery, PeerId, Stage};
use crate::limits::LimitError;
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::{ExplainedError, ReadError};

/// Reason why a message was not sent. The batches are unchanged.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The type is not registered here.
    NotRegistered {
        /// Name of the message.
        message: &'static str,
    },
    /// The message is to this side, which does not handle it.
    NotHandled {
        /// Name of the message.
        message: &'static str,
    },
    /// The peer does not exist, or was removed.
    UnknownPeer(PeerId),
    /// The channel does not exist.
    UnknownChannel {
        /// Name of the message.
        message: &'static str,
        /// The channel.
        channel: u8,
    },
    /// The message is [bound](crate::message::Route::with_object) to an id that no replicated
    /// object has.
    UnknownObject {
        /// Name of the message.
        message: &'static str,
        /// The object.
        object: ObjectId,
    },
    /// The message is to this side, which does not run its stage.
    UnknownStage {
        /// Name of the message.
        message: &'static str,
        /// The stage.
        stage: Stage,
    },
    /// The message is larger than its delivery carries.
    TooLarge {
        /// Name of the message.
        message: &'static str,
        /// The delivery.
        delivery: Delivery,
        /// Bytes of the message.
        size: usize,
        /// Largest number of bytes.
        limit: usize,
    },
    /// A value in the message is out of its range.
    NotWritten {
        /// Name of the message.
        message: &'static str,
        /// The field, its value, and its range.
        error: ExplainedError,
    },
    /// The peer is blocked: it does not keep up, and nothing more is sent to it.
    Blocked(PeerId),
    /// The peer has [`send_queue`](crate::message::MessengerConfig::send_queue) batches in this
    /// frame already.
    QueueFull(PeerId),
    /// A hook vetoed the message.
    Vetoed {
        /// Name of the message.
        message: &'static str,
    },
}

/// Fault of a received batch or message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MessageError {
    /// The sender is not a peer.
    UnknownPeer,
    /// The batch is longer than its delivery allows.
    BatchTooLong {
        /// Bytes of the batch.
        length: usize,
        /// Largest number of bytes.
        limit: usize,
    },
    /// The batch has no message, or not even a size.
    NoMessages,
    /// The size in the batch is not its actual size.
    BatchSize {
        /// Size in the batch, in bytes.
        declared: usize,
        /// Actual size, in bytes.
        actual: usize,
    },
    /// A message, or its header, ends beyond its batch.
    BeyondBatch {
        /// Bytes of the message or header.
        size: usize,
        /// Bytes left in the batch.
        left: usize,
    },
    /// No message has this number, or none that is handled here.
    UnknownMessage {
        /// The number.
        number: u8,
    },
    /// The stage does not exist, or is not run on this side.
    UnknownStage {
        /// Number of the stage.
        stage: u8,
    },
    /// The channel does not exist.
    UnknownChannel {
        /// The channel.
        channel: u8,
    },
    /// The body is no value of its type, or too short or too long.
    Malformed(ReadError),
    /// The queue of the message's stage is full.
    QueueFull(Stage),
    /// Too many messages of the type wait to be [drained](crate::message::Messenger::drain).
    NotDrained,
    /// The peer has too many waiting messages or bytes.
    PeerLimit,
    /// The handler returned an error, or panicked.
    Handler,
    /// A hook vetoed the message.
    Vetoed,
}

/// A batch or a message that was refused: `peer 3: Chat: 2 more bytes than …`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusedMessageError {
    /// The peer that sent it.
    pub peer: PeerId,
    /// Name of the message; `None` for a batch, or for an unknown number.
    pub message: Option<&'static str>,
    /// The fault.
    pub fault: MessageError,
}

/// Reason why a [`Messenger`](crate::message::Messenger) cannot be built.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum RegistryError {
    /// Two types have the same name.
    SameName(&'static str),
    /// A type is registered twice.
    Twice(&'static str),
    /// There are more types than numbers.
    TooMany(usize),
    /// A limit is invalid, alone or beside another.
    Limit(LimitError),
}

/// Error of the callback of [`Messenger::end_frame`](super::Messenger::end_frame) if the transport
/// cannot deliver to a peer. The peer stays until
/// [`Messenger::remove_peer`](super::Messenger::remove_peer).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DisconnectedError;

/// Error text of a handler; `None` if there are no hooks to pass it to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HandlerError(pub(super) Option<String>);

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRegistered { message } => {
                write!(f, "{message} is not registered: give it to the messenger's builder")
            }
            Self::NotHandled { message } => {
                write!(f, "{message} has no handler on this side: register one")
            }
            Self::UnknownPeer(peer) => write!(f, "{peer} is not connected"),
            Self::UnknownChannel { message, channel } => {
                write!(f, "{message}: channel {channel} does not exist: raise `channels`")
            }
            Self::UnknownObject { message, object } => {
                write!(
                    f,
                    "{message} is bound to object {object}, which is no id of a replicated object"
                )
            }
            Self::UnknownStage { message, stage } => {
                write!(
                    f,
                    "{message}: stage {stage:?} is not run here: add it to `stages`, or use \
                     another stage"
                )
            }
            Self::TooLarge { message, delivery, size, limit } => {
                let way_out = match delivery.fragments() {
                    true => "raise `max_fragmented` of both sides",
                    false => "use a delivery that fragments",
                };
                write!(
                    f,
                    "{message} takes {size} bytes, but {delivery:?} carries at most {limit}: make \
                     it smaller, or {way_out}"
                )
            }
            Self::NotWritten { message, error } => write!(f, "{message} was not sent: {error}"),
            Self::Blocked(peer) => {
                write!(f, "{peer} is blocked: its backlog is at the limit; retry later")
            }
            Self::QueueFull(peer) => {
                write!(
                    f,
                    "the send queue of {peer} is full: send less per frame, or raise its limit"
                )
            }
            Self::Vetoed { message } => write!(f, "{message} was vetoed by a hook"),
        }
    }
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPeer => f.write_str("the peer is not connected"),
            Self::BatchTooLong { length, limit } => {
                write!(f, "the batch has {length} bytes: at most {limit} are allowed")
            }
            Self::NoMessages => f.write_str("the batch has no messages"),
            Self::BatchSize { declared, actual } => {
                write!(f, "the batch declares {declared} bytes, but has {actual}")
            }
            Self::BeyondBatch { size, left } => {
                write!(f, "the message declares {size} bytes, but the batch has {left} left")
            }
            Self::UnknownMessage { number } => {
                write!(f, "no handler for message number {number}")
            }
            Self::UnknownStage { stage } => write!(f, "stage {stage} is not run here"),
            Self::UnknownChannel { channel } => write!(f, "channel {channel} does not exist"),
            Self::Malformed(refused) => refused.fmt(f),
            Self::QueueFull(stage) => write!(f, "the queue of stage {stage:?} is full"),
            Self::NotDrained => {
                f.write_str("the queue of this type is full: call `drain` every frame")
            }
            Self::PeerLimit => {
                f.write_str("the peer has too many waiting messages: raise `peer_messages`")
            }
            Self::Handler => f.write_str("the handler failed"),
            Self::Vetoed => f.write_str("vetoed by a hook"),
        }
    }
}

impl fmt::Display for RefusedMessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { peer, message, fault } = self;
        match message {
            Some(message) => write!(f, "{peer}: {message}: {fault}"),
            None => write!(f, "{peer}: {fault}"),
        }
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameName(name) => {
                write!(f, "two messages are named {name}: rename one by `#[message(name = \"…\")]`")
            }
            Self::Twice(name) => write!(f, "{name} is registered twice: remove one registration"),
            Self::TooMany(count) => {
                write!(
                    f,
                    "{count} messages are registered: at most {} are allowed",
                    super::MAX_MESSAGES
                )
            }
            Self::Limit(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for DisconnectedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the peer is not connected: its batches are dropped")
    }
}

impl core::error::Error for DisconnectedError {}

impl core::error::Error for SendError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::NotWritten { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl core::error::Error for MessageError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            _ => None,
        }
    }
}

impl core::error::Error for RefusedMessageError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.fault)
    }
}

impl core::error::Error for RegistryError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Limit(error) => Some(error),
            _ => None,
        }
    }
}
