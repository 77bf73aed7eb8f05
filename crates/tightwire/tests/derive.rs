//! `#[derive(Wire)]` against serialize functions written by hand.
//!
//! Not in optimised builds: everything here is inlined into code for every stream, and takes minutes
//! to compile.
#![cfg(debug_assertions)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::box_collection, clippy::vec_box, reason = "whatever a user may box")]

mod common {
    pub(crate) mod rng;
}

mod derived {
    pub(crate) mod one_by_one;
    pub(crate) mod twin;

    mod collections;
    mod conditions;
    mod enums;
    mod floats;
    mod generics;
    mod in_place;
    mod names;
    mod numbers;
    mod runs;
    mod shape;
    mod sizes;
}
