//! Messages: defined in one place, written once, batched per peer, handled at their stage.

mod batch;
mod bound;
mod capture_schema;
mod config;
mod context;
mod definition;
mod delivery;
mod drain;
mod error;
mod frame;
mod handling;
mod header;
mod held;
mod hooks;
mod inbox;
mod internal;
mod local;
mod messenger;
mod peer;
mod pool;
mod raw;
mod receive;
mod registry;
mod send;
mod split;
mod stats;

pub use bound::Bound;
pub use config::MessengerConfig;
pub use context::Context;
pub use definition::Message;
pub use delivery::{Delivery, Route, Stage};
pub use drain::{Drain, ReceivedMessage};
pub use error::{DisconnectedError, MessageError, RefusedMessageError, RegistryError, SendError};
pub(crate) use frame::put_frame;
pub use frame::{FRAME_PREFIX, frame_in};
pub use hooks::{Hooks, MessageEvent};
pub use internal::InternalBatch;
pub use messenger::{Messenger, MessengerBuilder};
pub use peer::{PeerId, PeerIds};
pub use raw::RawDrain;
pub use registry::{MAX_MESSAGES, Outcome};
pub use send::SentTo;
pub use split::{MessagesIn, RawMessage, messages_in};
pub use stats::{FaultCounters, MessageStats, PeerMessageStats, PeerStats, Traffic};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod bound_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod raw_tests;
