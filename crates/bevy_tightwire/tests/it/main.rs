//! Apps on a virtual clock, over a link with 100 ms round trip, 15 ms jitter and 3% loss.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cost;
mod extras;
mod game;
mod inspect;
mod messages;
mod precision;
mod prediction;
mod prelude;
mod random;
mod replication;
mod visibility;
