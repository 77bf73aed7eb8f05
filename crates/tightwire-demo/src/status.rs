//! Status line in the terminal.

use std::io::{self, IsTerminal, Write as _};
use std::process::{Command, Stdio};

use super::stats::{Rate, Stats};

/// A line that is redrawn in place; hidden unless standard error is a terminal.
#[derive(Debug)]
pub(super) struct Status {
    is_shown: bool,
}

impl Status {
    pub(super) fn new() -> Self {
        Self { is_shown: io::stderr().is_terminal() }
    }

    /// Draws the newest statistics.
    pub(super) fn show(&mut self, stats: &Stats) {
        if self.is_shown {
            // A closed terminal does not stop the demo. A wrapped line would be drawn again below
            // itself: without autowrap, a narrow terminal cuts the line.
            let _ = write!(io::stderr(), "\r\x1b[?7l{}\x1b[K\x1b[?7h", line(stats));
        }
    }

    /// Erases the line.
    pub(super) fn clear(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Formats the line for a terminal of 80 columns.
fn line(stats: &Stats) -> String {
    let sum = |rates: &[Rate]| rates.iter().map(|rate| rate.bytes_per_second).sum::<f64>() / 1000.0;
    format!(
        "{:.1} kB/s down, {:.1} up, {:.0} B a snapshot (1:{:.0}), {:.1}% lost, {:.0} ms, {:.1} ms CPU",
        sum(&stats.down),
        sum(&stats.up),
        stats.snapshot_bytes,
        stats.ratio,
        stats.loss * 100.0,
        stats.round_trip_ms,
        stats.cpu_us_per_tick / 1000.0,
    )
}

/// Opens a page in the browser. The address is on the screen if that fails.
pub(super) fn open(address: &str) {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("cmd");
        command.args(["/C", "start", ""]);
        command
    } else {
        Command::new("xdg-open")
    };
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        eprintln!("no browser could be started ({error}): open the address yourself");
    }
}
