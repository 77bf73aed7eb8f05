//! Why a message was not sent, or not handled.

use core::fmt;

use super::{Delivery, PeerId, Stage};
use tightwire_core::stream::{ExplainedError, ReadError};

/// Why a message was not sent. Nothing of it is in a batch, and what was there before still is.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The type has no number here.
    NotRegistered {
        /// The message.
        message: &'static str,
    },
    /// The message is to this side, which does not handle it.
    NotHandled {
        /// The message.
        message: &'static str,
    },
    /// There is no such peer, or not any more.
    UnknownPeer(PeerId),
    /// There is no such channel.
    UnknownChannel {
        /// The message.
        message: &'static str,
        /// The channel.
        channel: u8,
    },
    /// The message is to this side, which does not run its stage.
    UnknownStage {
        /// The message.
        message: &'static str,
        /// The stage.
        stage: Stage,
    },
    /// The message is larger than its delivery carries.
    TooLarge {
        /// The message.
        message: &'static str,
        /// How it was to be sent.
        delivery: Delivery,
        /// The bytes that it takes.
        size: usize,
        /// The bytes that there are for it.
        limit: usize,
    },
    /// A value in the message is not allowed.
    NotWritten {
        /// The message.
        message: &'static str,
        /// The field, its value, and the values that are allowed.
        error: ExplainedError,
    },
    /// The peer does not keep up, and nothing more is taken for it.
    Blocked(PeerId),
    /// As many batches wait for the peer as there may be.
    QueueFull(PeerId),
    /// A hook did not let it pass.
    Vetoed {
        /// The message.
        message: &'static str,
    },
}

/// What was wrong with a batch or a message that came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MessageError {
    /// The sender is not a peer.
    UnknownPeer,
    /// A batch longer than its delivery allows.
    BatchTooLong {
        /// Its bytes.
        length: usize,
        /// How many there can be.
        limit: usize,
    },
    /// A batch without a message, or not even a size.
    NoMessages,
    /// A batch whose size is not the one that it says.
    BatchSize {
        /// What it says.
        says: usize,
        /// What there is.
        has: usize,
    },
    /// A message, or its header, that goes beyond the end of its batch.
    BeyondBatch {
        /// The bytes that it would have.
        size: usize,
        /// The bytes that are left.
        left: usize,
    },
    /// A number that no message has, or none that is handled here.
    UnknownMessage {
        /// The number.
        number: u8,
    },
    /// A stage that there is not, or that this side does not run.
    UnknownStage {
        /// What came.
        stage: u8,
    },
    /// A channel that there is not.
    UnknownChannel {
        /// What came.
        channel: u8,
    },
    /// A body that is not what the type reads: also one that is too short or too long.
    Malformed(ReadError),
    /// The queue of its stage was full.
    QueueFull(Stage),
    /// As many of its type wait to be [drained](crate::message::Messenger::drain) as may.
    NotDrained,
    /// Too much of this peer waits already.
    PeerLimit,
    /// The handler returned an error, or panicked.
    Handler,
    /// A hook did not let it pass.
    Vetoed,
}

/// A batch or a message that was refused: `peer 3: Chat: 2 more bytes than …`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusedMessageError {
    /// Who sent it.
    pub peer: PeerId,
    /// What it is; nothing for a batch, or for a number that nobody knows.
    pub message: Option<&'static str>,
    /// What was wrong.
    pub fault: MessageError,
}

/// Why a [`Messenger`](crate::message::Messenger) cannot be built.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RegistryError {
    /// Two types have the same name.
    SameName(&'static str),
    /// A type is registered twice.
    Twice(&'static str),
    /// There are more types than numbers.
    TooMany(usize),
    /// The configuration makes no sense.
    Config(&'static str),
}

/// What a handler said when it failed, if somebody wants to hear it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HandlerError(pub(super) Option<String>);

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRegistered { message } => {
                write!(f, "{message} is not registered: give it to the messenger's builder")
            }
            Self::NotHandled { message } => {
                write!(f, "{message} is only sent by this side: register a handler for it")
            }
            Self::UnknownPeer(peer) => write!(f, "{peer} is not connected"),
            Self::UnknownChannel { message, channel } => {
                write!(f, "{message}: there is no channel {channel}: configure more `channels`")
            }
            Self::UnknownStage { message, stage } => {
                write!(
                    f,
                    "{message}: {stage:?} is not run here: add it to `stages`, or send to another"
                )
            }
            Self::TooLarge { message, delivery, size, limit } => {
                let way_out = match delivery.fragments() {
                    true => "raise `max_fragmented` of both sides",
                    false => "send it by a delivery that fragments",
                };
                write!(
                    f,
                    "{message} takes {size} bytes, and there are {limit} for it by {delivery:?}: make it \
                     smaller, or {way_out}"
                )
            }
            Self::NotWritten { message, error } => write!(f, "{message} is not sent: {error}"),
            Self::Blocked(peer) => {
                write!(f, "{peer} does not keep up: send it less, and this later")
            }
            Self::QueueFull(peer) => {
                write!(
                    f,
                    "the send queue of {peer} is full: send less in a frame, or configure a longer one"
                )
            }
            Self::Vetoed { message } => write!(f, "{message} was vetoed by a hook"),
        }
    }
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPeer => f.write_str("not a peer"),
            Self::BatchTooLong { length, limit } => {
                write!(f, "a batch of {length} bytes, where {limit} are the most")
            }
            Self::NoMessages => f.write_str("a batch without a message"),
            Self::BatchSize { says, has } => {
                write!(f, "a batch that says it has {says} bytes, and has {has}")
            }
            Self::BeyondBatch { size, left } => {
                write!(f, "{size} bytes, where the batch has {left} left")
            }
            Self::UnknownMessage { number } => {
                write!(f, "no message that is handled here has the number {number}")
            }
            Self::UnknownStage { stage } => write!(f, "stage {stage} is not run here"),
            Self::UnknownChannel { channel } => write!(f, "there is no channel {channel}"),
            Self::Malformed(refused) => refused.fmt(f),
            Self::QueueFull(stage) => write!(f, "the queue of {stage:?} is full"),
            Self::NotDrained => f.write_str("too many of its type wait to be drained"),
            Self::PeerLimit => f.write_str("too much of this peer waits already"),
            Self::Handler => f.write_str("its handler failed"),
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
                write!(f, "two messages are called {name}: give one `#[message(name = \"…\")]`")
            }
            Self::Twice(name) => write!(f, "{name} is registered twice: once is enough"),
            Self::TooMany(count) => {
                write!(f, "{count} messages, where there are numbers for {}", super::MAX_MESSAGES)
            }
            Self::Config(wrong) => f.write_str(wrong),
        }
    }
}

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

impl core::error::Error for RegistryError {}
