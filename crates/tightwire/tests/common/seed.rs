//! Seeds of random numbers.
#![allow(clippy::panic)]

use std::cell::Cell;
use std::env;

/// Returns the seed for one place of a test: `number` plus `TIGHTWIRE_SEED`, which is 0 by default.
/// The variable changes all random numbers of a run, and the same value repeats the run.
pub(crate) fn seed(number: u64) -> u64 {
    let moved: u64 = match env::var("TIGHTWIRE_SEED") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("TIGHTWIRE_SEED is {text:?}")),
        Err(_) => 0,
    };
    // The harness shows it if the test fails. Once per test: each test has its own thread.
    if !IS_PRINTED.replace(true) {
        println!("TIGHTWIRE_SEED={moved}");
    }
    number.wrapping_add(moved)
}

thread_local! {
    static IS_PRINTED: Cell<bool> = const { Cell::new(false) };
}
