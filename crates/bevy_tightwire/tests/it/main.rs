//! Apps on a virtual clock, over a link with 100 ms round trip, 15 ms jitter and 3% loss.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

// That of the demo's tests.
#[allow(dead_code)]
#[path = "../../../tightwire-demo/tests/it/browser.rs"]
mod browser;
mod commands;
mod components;
mod connection;
mod cost;
mod diagnostics;
mod disputes;
mod events;
mod extras;
mod game;
mod guide;
mod inspect;
mod markers;
mod messages;
mod mode_changes;
mod modes;
mod precision;
mod prediction;
mod prelude;
mod random;
mod registration;
mod replication;
mod test_net;
mod values;
mod visibility;
