//! Messages, transports and sessions: the upper layers of [Tightwire](https://docs.rs/tightwire), the
//! crate to add, which re-exports everything that is here and has the tour.
//!
//! [`message`] stands on the core alone. A [`session`] puts it on a [`transport`], of which [`quic`] is
//! one; [`token`]s say who may connect; a [`recording`] is a transport around another; a [`link`] is a
//! bad network for tests.

// Derived code says `::tightwire`, also where this crate derives.
extern crate self as tightwire;

mod cause;
pub mod conformance;
mod hex;
mod in_process;
mod limits;
pub mod link;
pub mod message;
pub mod play;
pub mod quic;
mod reason;
pub mod recording;
pub mod session;
pub mod token;
pub mod transport;

pub use message::Message;

/// Paths that derived code uses.
#[doc(hidden)]
pub mod __private {
    pub use crate::message::Message;
    pub use tightwire_core::__private::*;
}
