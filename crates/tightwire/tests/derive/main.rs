//! `#[derive(Wire)]` against serialize functions written by hand.
//!
//! A binary of its own, so that it is compiled beside the other: derived code is much code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::box_collection, clippy::vec_box, reason = "whatever a user may box")]

#[path = "../common"]
mod common {
    pub(crate) mod rng;
    pub(crate) mod volume;
}

mod collections;
mod conditions;
mod enums;
mod floats;
mod generics;
// Its lints see only what a user of the crate would.
pub mod hygiene;
mod in_place;
mod names;
mod numbers;
mod one_by_one;
mod runs;
mod shape;
mod sizes;
mod twin;
