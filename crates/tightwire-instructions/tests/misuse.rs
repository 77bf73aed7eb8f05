//! Misuse in release builds. The tests of `tightwire` run with debug assertions; the same tests run
//! here without.
#![cfg(not(debug_assertions))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../tightwire/tests/common"]
mod common {
    pub(crate) mod everything;
    #[allow(dead_code, reason = "the tests of tightwire use all of it")]
    pub(crate) mod field;
}

#[path = "../../tightwire/tests/it/misuse.rs"]
mod misuse;
