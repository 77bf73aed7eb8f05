//! Processor time of a thread.

use std::fs;
use std::time::{Duration, Instant};

/// Processor time of the calling thread, where the system reports it; otherwise the wall-clock time
/// between [`begin`](Self::begin) and [`end`](Self::end).
#[derive(Debug)]
pub(super) struct CpuTimer {
    started: Instant,
    passed: Duration,
}

impl CpuTimer {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), passed: Duration::ZERO }
    }

    /// Begins a stretch of work.
    pub(super) fn begin(&mut self) {
        self.started = Instant::now();
    }

    /// Ends a stretch of work.
    pub(super) fn end(&mut self) {
        self.passed += self.started.elapsed();
    }

    /// Returns the time of the calling thread so far.
    pub(super) fn total(&self) -> Duration {
        on_processor().unwrap_or(self.passed)
    }
}

/// Returns the calling thread's processor time on Linux, which excludes the time of other threads
/// on the same processor.
fn on_processor() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}
