//! Environment variables of the tests: seed and volume.

use std::env;

/// Returns the seed of a test with random input: `TIGHTWIRE_SEED`, or the given one. The seed is
/// printed, so that a failing test shows it.
pub(crate) fn seed(default: u64) -> u64 {
    let given = env::var("TIGHTWIRE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or(default);
    println!("TIGHTWIRE_SEED={seed}");
    seed
}

/// Number of inputs of a test: `quick` takes a second or two, `full` is for
/// `TIGHTWIRE_TEST_VOLUME=full`.
pub(crate) fn volume(quick: usize, full: usize) -> usize {
    match env::var("TIGHTWIRE_TEST_VOLUME").as_deref() {
        Ok("full") => full,
        Ok("quick") | Err(_) => quick,
        Ok(other) => panic!("TIGHTWIRE_TEST_VOLUME is quick or full, not {other}"),
    }
}
