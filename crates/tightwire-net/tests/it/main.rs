//! The tests of sessions and transports that need no process of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::duplicate_mod, reason = "other crates include some of the helpers alone")]

#[path = "../../../../fuzz/src/transport/mod.rs"]
mod checks;
#[path = "../common/mod.rs"]
mod common;

mod attacks;
mod boxed;
mod captured;
mod conformance;
mod conformance_attacks;
mod corpus;
mod golden;
mod in_process;
mod memory_sums;
mod quic_conformance;
mod quic_frames;
mod quic_hostile;
mod quic_large;
mod quic_latency;
mod quic_limits;
mod reconnect;
mod recording;
mod recording_attacks;
mod session;
mod session_attacks;
mod session_attacks_quic;
mod session_hostile;
mod session_log;
mod session_networks;
mod session_panics;
mod session_slow;
mod threads;
mod token;
mod token_attacks;
