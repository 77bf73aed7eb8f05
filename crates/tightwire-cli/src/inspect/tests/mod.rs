//! `inspect` on captures that a recorder makes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod game;
mod speed;
