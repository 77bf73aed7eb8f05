//! Times at which a client tries to connect again.

use core::time::Duration;

/// Times of a client's attempts to connect again: 0.5, 1, 2, 4, 4, … seconds after each failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Backoff {
    /// Failures since the last success.
    failures: u32,
    /// Time of the next attempt; `None` if none is due.
    next: Option<Duration>,
}

impl Backoff {
    /// Records that the connection was lost, or that an attempt failed.
    pub(crate) fn handle_failure(&mut self, now: Duration) {
        let delay = FIRST.saturating_mul(1 << self.failures.min(3));
        self.failures = self.failures.saturating_add(1);
        self.next = Some(now.saturating_add(delay));
    }

    /// Records that this client is connected.
    pub(crate) fn handle_success(&mut self) {
        *self = Self::default();
    }

    /// Whether to try now; `true` once per failure.
    pub(crate) fn poll_attempt(&mut self, now: Duration) -> bool {
        self.next.take_if(|next| *next <= now).is_some()
    }

    /// Returns the time of the next attempt; `None` if none is planned.
    pub(crate) fn next_time(&self) -> Option<Duration> {
        self.next
    }

    /// Returns the number of failures since the last success.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }
}

/// Delay of the first attempt.
const FIRST: Duration = Duration::from_millis(500);
