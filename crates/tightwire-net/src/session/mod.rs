//! Sessions: connections, handshakes, protocol ids and messages.

mod builder;
mod client;
mod common;
mod config;
mod control;
mod description;
mod event;
mod events;
mod frames;
mod gate;
mod hub;
mod links;
mod play_access;
mod role;
mod server;

pub use crate::limits::{LimitBound, LimitError, LimitValue};
pub use builder::{ClientBuilder, ServerBuilder};
pub use client::Client;
pub use config::SessionConfig;
pub use event::{PeerReport, SessionError, SessionEvent};
#[allow(unused_imports, reason = "Play uses them")]
pub(crate) use frames::{INPUT_FRAME, SNAPSHOT_FRAME};
pub use gate::{Admit, Admitted, OpenToAnyone};
pub use links::SessionPeers;
pub use server::Server;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod frame_tests;
