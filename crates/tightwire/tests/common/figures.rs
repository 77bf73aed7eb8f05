//! Figures for whoever runs the tests.

use std::io::Write;

/// A line that also shows when the test passes, which swallows what is printed.
pub(crate) fn say(figure: &str) {
    std::io::stderr().write_all(format!("{figure}\n").as_bytes()).unwrap();
}
