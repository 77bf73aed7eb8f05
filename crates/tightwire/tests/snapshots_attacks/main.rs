//! Misuse, bad luck and large worlds: what snapshots must survive.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod budgets;
mod classes;
mod game;
mod misuse;
#[expect(dead_code, reason = "only the body of that world is of use here")]
#[path = "../common/moving.rs"]
mod moving;
mod outages;
mod playback;
mod soak;
mod values;
