//! The play layer on a virtual clock: a server and its clients over a simulated network.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arena;
mod assets;
mod changes;
mod events;
mod forged;
mod game;
mod hostile;
mod hub;
mod links;
mod memory;
mod motion;
mod players;
mod recorded;
mod relevancy;
mod rows;
mod shooting;
mod shown;
mod spawns;
mod steps;
mod suspended;
mod tables;
mod untyped;
#[path = "../../../tightwire/tests/common/volume.rs"]
mod volume;
mod world;
