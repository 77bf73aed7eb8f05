//! The tool, as it is typed.

use std::process::{Command, Output};

/// In a terminal of 100 columns without colours.
pub(crate) fn tightwire(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tightwire"))
        .args(arguments)
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}
