//! How long a thread has worked.

use std::fs;
use std::time::{Duration, Instant};

/// The time that a thread was on a processor, where the system says it; otherwise the time that passed
/// between [`begin`](Self::begin) and [`end`](Self::end).
#[derive(Debug)]
pub(super) struct Busy {
    started: Instant,
    passed: Duration,
}

impl Busy {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), passed: Duration::ZERO }
    }

    /// Work begins.
    pub(super) fn begin(&mut self) {
        self.started = Instant::now();
    }

    /// Work ends.
    pub(super) fn end(&mut self) {
        self.passed += self.started.elapsed();
    }

    /// In all, of the thread that asks.
    pub(super) fn total(&self) -> Duration {
        on_processor().unwrap_or(self.passed)
    }
}

/// Linux knows, and does not count the time in which another thread had the processor.
fn on_processor() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}
