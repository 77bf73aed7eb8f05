//! Schedule of ticks.

use std::time::Duration;

/// A schedule without drift: the time of a tick is computed from its number, not from the tick
/// before. Ticks that are too late are skipped, since catching up would delay the next ones.
#[derive(Debug)]
pub(super) struct Pace {
    /// Time at which the first tick, number 1, was due.
    start: Duration,
    next: u64,
}

impl Pace {
    /// Begins a schedule whose first tick is due now.
    pub(super) fn new(now: Duration) -> Self {
        Self { start: now, next: 1 }
    }

    /// Takes the tick that is due, and returns its number; `None` if no tick is due. Skipped ticks
    /// skip their numbers, so that a number always tells the time.
    pub(super) fn take(&mut self, now: Duration) -> Option<u64> {
        let late = now.checked_sub(self.due())?;
        if late > MAX_DELAY {
            self.next += (late.as_nanos() / TICK.as_nanos()) as u64;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// Returns the time at which the next tick is due.
    pub(super) fn due(&self) -> Duration {
        let passed = (self.next - 1) * 1_000_000_000 / u64::from(TICKS_PER_SECOND);
        self.start + Duration::from_nanos(passed)
    }
}

/// Ticks per second of physics, inputs and shown frames.
pub(crate) const TICKS_PER_SECOND: u32 = 60;

const TICK: Duration = Duration::from_nanos(1_000_000_000 / TICKS_PER_SECOND as u64);

/// Maximum delay of a tick before ticks are skipped: the system may be busy for a moment.
const MAX_DELAY: Duration = Duration::from_millis(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_all_its_ticks() {
        let mut pace = Pace::new(Duration::ZERO);
        let ticks = (0..3_600_000).filter_map(|ms| pace.take(Duration::from_millis(ms)));
        assert!(ticks.eq(1..=60 * 3600));
    }

    #[test]
    fn short_delays_are_caught_up_and_long_pauses_are_not() {
        let mut pace = Pace::new(Duration::ZERO);
        let now = Duration::from_millis(30);
        let ticks: Vec<_> = (0..10).filter_map(|_| pace.take(now)).collect();
        assert_eq!(ticks, [1, 2]);
        let now = Duration::from_secs(100);
        let ticks: Vec<_> = (0..10).filter_map(|_| pace.take(now)).collect();
        assert_eq!(ticks, [6001]);
        assert!(pace.due() > now);
    }
}
