//! Sessions and transports for [Tightwire](tightwire).

mod reason;
mod transport;

pub use reason::{Reason, TokenFault};
pub use transport::{Connection, Event, NotSent, Path, Transport};
