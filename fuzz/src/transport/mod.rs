//! The checks of `tightwire-net`: one function per fuzz target, as in `checks`.

mod game;
pub(crate) mod quic;
mod recording;
mod session;
mod token;

pub(crate) use quic::quic;
pub(crate) use recording::recording;
pub(crate) use session::session;
pub(crate) use token::token;
