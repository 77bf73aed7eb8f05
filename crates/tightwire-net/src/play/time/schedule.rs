//! The server's schedule of ticks.

use core::time::Duration;

/// Begins ticks at fixed times after the first one, whenever the loop calls.
///
/// A server that is late catches up. If it is very late, the schedule slips, since simulating many
/// ticks in a burst would make it later still. Tick numbers are never skipped.
#[derive(Debug)]
pub(crate) struct TickSchedule {
    tick_rate: u32,
    max_late_ticks: u32,
    first_tick: u32,
    /// Time and number of a tick, from which the times of later ones are computed: a sum of rounded
    /// intervals would drift.
    anchor: (Duration, u32),
    /// Number of the current tick, and the time at which it began; `None` before the first.
    current: Option<(u32, Duration)>,
    ticks_slipped: u64,
}

/// A time of the server: the current tick, whose inputs are frozen, and the share of it that has
/// passed, from 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ServerTime {
    pub(crate) tick: u32,
    pub(crate) fraction: f64,
}

impl TickSchedule {
    /// Creates a schedule whose first tick, of number `first_tick`, is due at once.
    pub(crate) fn new(tick_rate: u32, max_late_ticks: u32, first_tick: u32) -> Self {
        Self {
            tick_rate: tick_rate.max(1),
            max_late_ticks,
            first_tick,
            anchor: (Duration::ZERO, first_tick),
            current: None,
            ticks_slipped: 0,
        }
    }

    /// Begins the next tick and returns its number; `None` if no tick is due. To be called until it
    /// returns `None`, so that a late server catches up.
    pub(crate) fn begin_tick(&mut self, now: Duration) -> Option<u32> {
        let tick = match self.current {
            None => {
                self.anchor = (now, self.first_tick);
                self.first_tick
            }
            Some((current, began)) => {
                let next = current.checked_add(1)?;
                let late = now.max(began).checked_sub(self.due(next))?;
                if late > self.ticks(self.max_late_ticks) {
                    let slipped = late.as_secs_f64() * f64::from(self.tick_rate);
                    self.ticks_slipped = self.ticks_slipped.saturating_add(slipped as u64);
                    self.anchor = (now, next);
                }
                next
            }
        };
        self.current = Some((tick, now));
        Some(tick)
    }

    /// Returns the server's time; `None` before the first tick.
    ///
    /// The fraction is relative to the time at which the tick really began, since its inputs were
    /// frozen then, and stays 1 if the next one begins late.
    pub(crate) fn time(&self, now: Duration) -> Option<ServerTime> {
        let (tick, began) = self.current?;
        let passed = now.saturating_sub(began).as_secs_f64() * f64::from(self.tick_rate);
        Some(ServerTime { tick, fraction: passed.min(1.0) })
    }

    /// Returns the time at which the next tick is due; `None` if it is the first, which is due at
    /// once.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        let (tick, _) = self.current?;
        Some(self.due(tick.saturating_add(1)))
    }

    /// Returns the number of ticks by which the schedule slipped so far.
    pub(crate) fn ticks_slipped(&self) -> u64 {
        self.ticks_slipped
    }

    fn due(&self, tick: u32) -> Duration {
        self.anchor.0.saturating_add(self.ticks(tick.saturating_sub(self.anchor.1)))
    }

    /// Returns the duration of `count` ticks. A product of a u32 and a second fits in 64 bits.
    fn ticks(&self, count: u32) -> Duration {
        Duration::from_nanos(u64::from(count) * 1_000_000_000 / u64::from(self.tick_rate))
    }
}

impl ServerTime {
    /// Returns the time in ticks.
    pub(crate) fn ticks(self) -> f64 {
        f64::from(self.tick) + self.fraction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    #[test]
    fn ticks_begin_at_their_times_without_drift() {
        let mut schedule = TickSchedule::new(60, 5, 7);
        let start = 12_345 * MILLI;
        let mut began = Vec::new();
        for step in 0..3_600_000 / 4 {
            let now = start + step * 4 * MILLI;
            assert_eq!(schedule.next_due().is_none_or(|due| due <= now), {
                let tick = schedule.begin_tick(now);
                began.extend(tick.map(|tick| (tick, now)));
                tick.is_some()
            });
        }
        assert_eq!(began.len(), 60 * 3600);
        for (index, (tick, now)) in began.into_iter().enumerate() {
            assert_eq!(tick, index as u32 + 7);
            let exact = start.as_secs_f64() + index as f64 / 60.0;
            assert!((-1e-6..0.004).contains(&(now.as_secs_f64() - exact)));
        }
        assert_eq!(schedule.ticks_slipped(), 0);
    }

    #[test]
    fn a_late_server_catches_up() {
        let mut schedule = TickSchedule::new(50, 5, 0);
        assert_eq!(schedule.begin_tick(Duration::ZERO), Some(0));
        // Tick 1 was due at 20 ms, and is 90 ms late.
        let now = 110 * MILLI;
        let ticks: Vec<u32> = core::iter::from_fn(|| schedule.begin_tick(now)).collect();
        assert_eq!(ticks, [1, 2, 3, 4, 5]);
        assert_eq!(schedule.ticks_slipped(), 0);
        assert_eq!(schedule.next_due(), Some(120 * MILLI));
    }

    #[test]
    fn a_very_late_server_slips_and_skips_no_number() {
        let mut schedule = TickSchedule::new(50, 5, 0);
        assert_eq!(schedule.begin_tick(Duration::ZERO), Some(0));
        assert_eq!(schedule.begin_tick(1000 * MILLI), Some(1));
        assert_eq!(schedule.begin_tick(1000 * MILLI), None);
        assert_eq!(schedule.ticks_slipped(), 49);
        assert_eq!(schedule.next_due(), Some(1020 * MILLI));
    }

    #[test]
    fn the_fraction_stays_within_the_tick() {
        let mut schedule = TickSchedule::new(50, 5, 3);
        assert_eq!(schedule.time(Duration::ZERO), None);
        schedule.begin_tick(100 * MILLI);
        let at = |millis: u32| schedule.time(millis * MILLI).map(ServerTime::ticks);
        assert_eq!([at(100), at(110), at(150)], [Some(3.0), Some(3.5), Some(4.0)]);
        // A clock that goes back is no reason to panic.
        assert_eq!(at(50), Some(3.0));
    }

    #[test]
    fn the_last_number_ends_the_schedule() {
        let mut schedule = TickSchedule::new(1000, 5, u32::MAX);
        assert_eq!(schedule.begin_tick(Duration::ZERO), Some(u32::MAX));
        assert_eq!(schedule.begin_tick(Duration::MAX), None);
        assert_eq!(schedule.time(Duration::MAX).map(|time| time.fraction), Some(1.0));
    }
}
