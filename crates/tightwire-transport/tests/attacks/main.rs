//! What an attacker, a bad clock or a hasty application can do. Each test is named by what holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/game.rs"]
mod game;
#[path = "../common/net.rs"]
mod net;
#[allow(dead_code, reason = "not every test needs all")]
#[path = "../common/raw.rs"]
mod raw;

mod ends;
mod newcomers;
mod settings;
mod world;
