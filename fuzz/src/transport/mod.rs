//! The checks of `tightwire-net`: one function per fuzz target, as in `checks`.

pub(crate) mod frames;
mod game;
mod play;
pub(crate) mod quic;
mod recording;
mod session;
mod token;

pub(crate) use frames::frames;
pub(crate) use play::play;
pub(crate) use quic::quic;
pub(crate) use recording::recording;
pub(crate) use session::session;
pub(crate) use token::token;
