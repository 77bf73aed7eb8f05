//! Number of cases that a test runs.
#![allow(clippy::panic)]

use std::env;

/// Returns `quick`, or `full` with `TIGHTWIRE_TEST_VOLUME=full`: seconds, or everything.
pub(crate) fn volume<T>(quick: T, full: T) -> T {
    match env::var("TIGHTWIRE_TEST_VOLUME").as_deref() {
        Ok("full") => full,
        Ok("quick") | Err(_) => quick,
        Ok(other) => panic!("TIGHTWIRE_TEST_VOLUME is {other:?}, and can be quick or full"),
    }
}
