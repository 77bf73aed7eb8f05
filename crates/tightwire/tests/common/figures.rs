//! Figures for the person who runs the tests.

use std::io::Write;

/// Prints a line that also shows when the test passes: the harness captures `println!`, but not
/// this.
pub(crate) fn say(figure: &str) {
    std::io::stderr().write_all(format!("{figure}\n").as_bytes()).unwrap();
}
