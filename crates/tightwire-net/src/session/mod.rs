//! Sessions: connections, handshakes, protocol ids and messages.

mod builder;
mod client;
mod common;
mod config;
mod description;
mod event;
mod events;
mod gate;
mod hub;
mod links;
mod role;
mod said;
mod server;

pub use crate::limits::LimitError;
pub use builder::{ClientBuilder, ServerBuilder};
pub use client::Client;
pub use config::SessionConfig;
pub use event::{PeerReport, SessionError, SessionEvent};
pub use gate::{Admit, Admitted};
pub use links::SessionPeers;
pub use server::Server;
