//! The playback clock: chooses the tick to show, although snapshots arrive at irregular times.

use core::time::Duration;

/// The sender's time minus the delay that the network's jitter makes necessary, in ticks.
#[derive(Debug)]
pub(super) struct Clock {
    ticks_per_second: f64,
    /// Difference of the local and the sender's clock by the fastest snapshots, in ticks. `None`
    /// before the first snapshot.
    offset: Option<f64>,
    /// Jitter: lateness of slow snapshots compared with the fastest, in ticks.
    lateness: f64,
    /// Average interval of snapshots, in ticks.
    interval: f64,
    newest: u32,
    bounds: [f64; 2],
    time: Option<(f64, f64)>,
}

impl Clock {
    /// Creates a clock with the least and the largest delay.
    pub(super) fn new(ticks_per_second: u32, bounds: [Duration; 2]) -> Self {
        let ticks_per_second = f64::from(ticks_per_second);
        let bounds = bounds.map(|bound| bound.as_secs_f64() * ticks_per_second);
        Self {
            ticks_per_second,
            offset: None,
            lateness: 0.0,
            interval: 1.0,
            newest: 0,
            bounds,
            time: None,
        }
    }

    /// Handles the arrival of a snapshot of `tick`.
    pub(super) fn handle_tick(&mut self, now: Duration, tick: u32) {
        let measured = self.local(now) - f64::from(tick);
        let Some(offset) = self.offset else {
            self.offset = Some(measured);
            self.newest = tick;
            return;
        };
        if measured - offset > self.ticks_per_second {
            // The sender paused for longer than a second: the measurements before are of no use.
            (self.offset, self.lateness) = (Some(measured), 0.0);
            self.newest = self.newest.max(tick);
            return;
        }
        // Clocks drift and routes change: the offset of the fastest snapshot rises slowly.
        let offset = measured.min(offset + (measured - offset) * DECAY_RATE);
        self.offset = Some(offset);
        let lateness = measured - offset;
        let decayed = self.lateness + (lateness - self.lateness) * DECAY_RATE;
        self.lateness = decayed.max(lateness.min(self.bounds[1]));
        let gap = f64::from(tick.saturating_sub(self.newest)).min(self.bounds[1].max(1.0));
        self.interval += (gap - self.interval) * SMOOTHING;
        self.newest = self.newest.max(tick);
    }

    /// Returns the delay behind the newest snapshot, in ticks: the next snapshot must have arrived,
    /// even if it is late and one is lost.
    pub(super) fn delay(&self) -> f64 {
        let [least, most] = self.bounds;
        (self.lateness + 2.0 * self.interval).clamp(least, most.max(least))
    }

    /// Advances the shown time, which never goes back; `None` before the first snapshot.
    pub(super) fn advance(&mut self, now: Duration) -> Option<f64> {
        let local = self.local(now);
        let target = local - self.offset? - self.delay();
        let time = match self.time {
            None => target,
            Some((_, time)) if (target - time).abs() > self.ticks_per_second => target.max(time),
            Some((before, time)) => {
                // A slightly stretched time is not noticed; a jump is.
                let passed = (local - before).max(0.0);
                let error = target - (time + passed);
                let correction =
                    (error * CORRECTION).clamp(-passed * MAX_STRETCH, passed * MAX_STRETCH);
                time + passed + correction
            }
        };
        // There is no state after the newest snapshot: time waits for the next one.
        let time = match self.time {
            Some((_, before)) => time.min(f64::from(self.newest)).max(before),
            None => time.min(f64::from(self.newest)),
        };
        self.time = Some((local, time));
        Some(time)
    }

    /// Returns the shown time, in ticks.
    pub(super) fn time(&self) -> Option<f64> {
        self.time.map(|(_, time)| time)
    }

    fn local(&self, now: Duration) -> f64 {
        now.as_secs_f64() * self.ticks_per_second
    }
}

/// Share of the measured offset and jitter that each snapshot replaces.
const DECAY_RATE: f64 = 0.005;

/// Weight of a new interval in the average.
const SMOOTHING: f64 = 0.1;

/// Share of the error that a step corrects, and the most that time is stretched for that.
const CORRECTION: f64 = 0.1;
const MAX_STRETCH: f64 = 0.1;

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const BOUNDS: [Duration; 2] = [Duration::ZERO, Duration::from_millis(500)];

    /// Plays snapshots with this `latency` in milliseconds; returns the clock, and how often the
    /// shown time had no later snapshot.
    fn play(latency: impl Fn(u32) -> u64, frames: u32) -> (Clock, u32) {
        let mut clock = Clock::new(60, BOUNDS);
        let mut arrivals: Vec<(u64, u32)> =
            (0..frames).map(|tick| (u64::from(tick) * 50 / 3 + latency(tick), tick)).collect();
        arrivals.sort_unstable();
        let mut arrivals = arrivals.into_iter().peekable();
        let (mut newest, mut starved, mut last) = (0, 0, f64::NEG_INFINITY);
        for millis in 0..u64::from(frames) * 50 / 3 {
            while let Some((_, tick)) = arrivals.next_if(|arrival| arrival.0 <= millis) {
                clock.handle_tick(Duration::from_millis(millis), tick);
                newest = newest.max(tick);
            }
            let Some(time) = clock.advance(Duration::from_millis(millis)) else { continue };
            assert!(time >= last, "time went back");
            last = time;
            starved += u32::from(millis > 3000 && time > f64::from(newest));
        }
        (clock, starved)
    }

    #[test]
    fn on_a_steady_network_two_snapshots_of_delay_suffice() {
        let (clock, starved) = play(|_| 80, 600);
        assert_eq!(starved, 0);
        assert!((1.9..2.6).contains(&clock.delay()), "{}", clock.delay());
    }

    #[test]
    fn the_delay_grows_with_the_jitter_and_shrinks_again() {
        let jitter = |tick: u32| 50 + u64::from(tick.wrapping_mul(2_654_435_761) >> 25);
        let (clock, starved) = play(jitter, 1800);
        assert_eq!(starved, 0);
        // 127 ms of jitter are 7.6 ticks.
        assert!((8.0..11.0).contains(&clock.delay()), "{}", clock.delay());
        let (clock, _) = play(|tick| if tick < 600 { jitter(tick) } else { 80 }, 2400);
        assert!(clock.delay() < 4.5, "{}", clock.delay());
    }
}
