//! When the next tick is due.

use std::time::Duration;

/// A steady schedule. Ticks are counted, not added up, so it does not drift; what cannot be caught up
/// with is left out, since ticks that are late make the next ones later.
#[derive(Debug)]
pub(super) struct Pace {
    /// When the first tick was due, which has the number 1.
    start: Duration,
    next: u64,
}

impl Pace {
    /// The first tick is due now.
    pub(super) fn new(now: Duration) -> Self {
        Self { start: now, next: 1 }
    }

    /// The number of the tick that is due, if one is: it counts as done. Numbers are left out with their
    /// ticks, so that they are always those of the time.
    pub(super) fn take(&mut self, now: Duration) -> Option<u64> {
        let late = now.checked_sub(self.due())?;
        if late > MOST_LATE {
            self.next += (late.as_nanos() / TICK.as_nanos()) as u64;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// When the next one is.
    pub(super) fn due(&self) -> Duration {
        let passed = (self.next - 1) * 1_000_000_000 / u64::from(TICKS_PER_SECOND);
        self.start + Duration::from_nanos(passed)
    }
}

/// Of the physics, of the inputs and of what is shown.
pub(crate) const TICKS_PER_SECOND: u32 = 60;

const TICK: Duration = Duration::from_nanos(1_000_000_000 / TICKS_PER_SECOND as u64);

/// So late, a tick is still made up for: the system was busy for a moment.
const MOST_LATE: Duration = Duration::from_millis(30);

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
    fn a_moment_is_made_up_for_and_a_long_pause_is_not() {
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
