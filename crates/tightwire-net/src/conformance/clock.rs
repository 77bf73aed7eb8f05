//! The time that a check runs on.

use core::time::Duration;
use std::thread;
use std::time::Instant;

/// The time that a pair runs on. It begins at zero.
///
/// ```
/// use std::time::Duration;
/// use tightwire::transport::conformance::Clock;
///
/// assert_eq!(Clock::jumping().now(), Duration::ZERO);
/// ```
#[derive(Clone, Debug)]
pub struct Clock(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Jumping(Duration),
    Real(Instant),
}

impl Clock {
    /// A frame is not shorter, also if something happens before: the suite would be slow.
    const STEP: Duration = Duration::from_millis(1);

    /// One that jumps to when something happens next: minutes take no time. For transports over a
    /// simulated network, whose arrivals are in their [`next_time`](crate::transport::Transport::next_time).
    #[must_use]
    pub fn jumping() -> Self {
        Self(Kind::Jumping(Duration::ZERO))
    }

    /// The clock on the wall, in steps of a millisecond. For transports over a real network.
    #[must_use]
    pub fn real() -> Self {
        Self(Kind::Real(Instant::now()))
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Duration {
        match &self.0 {
            Kind::Jumping(now) => *now,
            Kind::Real(start) => start.elapsed(),
        }
    }

    /// Goes on to when something happens, or by `most`.
    pub(super) fn advance(&mut self, next: Option<Duration>, most: Duration) {
        match &mut self.0 {
            Kind::Jumping(now) => {
                let last = *now + most.max(Self::STEP);
                *now = next.unwrap_or(last).clamp(*now + Self::STEP, last);
            }
            Kind::Real(_) => thread::sleep(Self::STEP),
        }
    }
}
