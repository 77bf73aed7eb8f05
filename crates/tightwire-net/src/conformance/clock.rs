//! The clock of a check.

use core::time::Duration;
use std::thread;
use std::time::Instant;

/// The clock of a pair. It begins at zero.
///
/// ```
/// use std::time::Duration;
/// use tightwire::transport::conformance::Clock;
///
/// assert_eq!(Clock::jumping().now(), Duration::ZERO);
/// ```
#[derive(Clone, Debug)]
pub struct Clock(ClockKind);

#[derive(Clone, Debug)]
enum ClockKind {
    Jumping(Duration),
    Real(Instant),
}

impl Clock {
    /// Minimum length of a frame, even if an event is due earlier: shorter frames would make the
    /// suite slow.
    const STEP: Duration = Duration::from_millis(1);

    /// Makes a virtual clock that jumps to the next event, so that simulated minutes pass at once.
    /// For transports over a simulated network, whose
    /// [`next_time`](crate::transport::Transport::next_time) includes the arrival of packets.
    #[must_use]
    pub fn jumping() -> Self {
        Self(ClockKind::Jumping(Duration::ZERO))
    }

    /// Makes a clock of real time, in steps of a millisecond. For transports over a real network.
    #[must_use]
    pub fn real() -> Self {
        Self(ClockKind::Real(Instant::now()))
    }

    /// Returns the time since the clock's start.
    #[must_use]
    pub fn now(&self) -> Duration {
        match &self.0 {
            ClockKind::Jumping(now) => *now,
            ClockKind::Real(start) => start.elapsed(),
        }
    }

    /// Advances to the next event, by at most `most`. A clock of real time sleeps for one step.
    pub(super) fn advance(&mut self, next: Option<Duration>, most: Duration) {
        match &mut self.0 {
            ClockKind::Jumping(now) => {
                let last = *now + most.max(Self::STEP);
                *now = next.unwrap_or(last).clamp(*now + Self::STEP, last);
            }
            ClockKind::Real(_) => thread::sleep(Self::STEP),
        }
    }
}
