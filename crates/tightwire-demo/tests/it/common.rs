//! The demo's binary, and files for its tests.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The demo's command, without arguments yet.
pub(crate) fn demo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tightwire-demo"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the demo to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    demo().args(arguments).output().unwrap()
}

/// A path for a file of a test.
pub(crate) fn file(name: &str) -> String {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).to_str().unwrap().into()
}

/// Held by a test whose demo must keep to the clock: several at a time, or one beside a browser without
/// a graphics card, would take each other's time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}
