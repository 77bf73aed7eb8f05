//! When the next tick is due.

use std::time::Duration;

/// A steady schedule. Ticks are counted, not added up, so it does not drift; what cannot be caught up
/// with is left out, since ticks that are late make the next ones later.
#[derive(Debug)]
pub(super) struct Pace {
    /// When the tick with the number 0 was due.
    start: Duration,
    next: u64,
    skipped: u64,
}

impl Pace {
    /// The first tick is due now.
    pub(super) fn new(now: Duration) -> Self {
        Self { start: now, next: 0, skipped: 0 }
    }

    /// Whether a tick is due, which is then taken.
    pub(super) fn take(&mut self, now: Duration) -> bool {
        if now < self.due() {
            return false;
        }
        let late = now - self.due();
        if late > MOST_LATE {
            let left_out = (late.as_nanos() / TICK.as_nanos()) as u64;
            self.skipped += left_out;
            self.next += left_out;
        }
        self.next += 1;
        true
    }

    /// When the next one is.
    pub(super) fn due(&self) -> Duration {
        self.start + Duration::from_nanos(self.next * 1_000_000_000 / u64::from(TICKS_PER_SECOND))
    }

    /// How many were left out.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }
}

/// Of the physics, of the inputs and of what is shown.
pub(super) const TICKS_PER_SECOND: u32 = 60;

const TICK: Duration = Duration::from_nanos(1_000_000_000 / TICKS_PER_SECOND as u64);

/// So late, a tick is still made up for: the system was busy for a moment.
const MOST_LATE: Duration = Duration::from_millis(80);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_all_its_ticks() {
        let mut pace = Pace::new(Duration::ZERO);
        let ticks = (0..3_600_000).filter(|&ms| pace.take(Duration::from_millis(ms))).count();
        assert_eq!((ticks, pace.skipped()), (60 * 3600, 0));
    }

    #[test]
    fn a_moment_is_made_up_for_and_a_long_pause_is_not() {
        let mut pace = Pace::new(Duration::ZERO);
        let now = Duration::from_millis(70);
        let ticks = (0..10).filter(|_| pace.take(now)).count();
        assert_eq!((ticks, pace.skipped()), (5, 0));
        let now = Duration::from_secs(100);
        let ticks = (0..10).filter(|_| pace.take(now)).count();
        assert!(ticks <= 2 && pace.skipped() > 5900, "{ticks}");
        assert!(pace.due() > now);
    }
}
