//! The play layer on a virtual clock: a server and its clients over a simulated network.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arena;
mod assets;
mod events;
mod forged;
mod game;
mod hostile;
mod links;
mod memory;
mod motion;
mod recorded;
mod relevancy;
mod shooting;
mod shown;
mod suspended;
mod tables;
#[path = "../../../tightwire/tests/common/volume.rs"]
mod volume;
mod world;
