//! Settings of the input clock.

use core::time::Duration;

use crate::limits::{LimitError, at_least, at_most};

/// Settings of a client's input clock.
///
/// The defaults suit action games at 30 to 128 ticks per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimeConfig {
    /// Age after which a measurement of the uplink's delay no longer counts. A longer window lowers
    /// the number of late inputs, and keeps the lead longer after the network got better. Less
    /// than a tick counts as one, more than an hour as an hour.
    /// Default: 8 s.
    pub window: Duration,
    /// Target margin of the slowest measured inputs, in ticks, as a reserve for slower ones. At most
    /// 64.
    /// Default: 0.5.
    pub guard: f64,
    /// Largest increase of speed, as a share of up to 1.
    /// Default: 0.05.
    pub speed_up: f64,
    /// Largest increase of speed while inputs arrive late, as a share of up to 1.
    /// Default: 0.125.
    pub starving: f64,
    /// Largest decrease of speed, as a share of up to 0.5; twice as much if the clock is more than 100 ms ahead
    /// of its target.
    /// Default: 0.025.
    pub slow_down: f64,
    /// Error above which the clock skips ticks instead of running faster. Also the shortest pause of
    /// the program, and the smallest change of the network's delay, that counts as a discontinuity.
    /// Less than two ticks count as two.
    /// Default: 250 ms.
    pub jump_ahead: Duration,
    /// Error above which the clock waits instead of running slower. Less than two ticks count as
    /// two.
    /// Default: 500 ms.
    pub jump_back: Duration,
}

impl Default for TimeConfig {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(8),
            guard: 0.5,
            speed_up: 0.05,
            starving: 0.125,
            slow_down: 0.025,
            jump_ahead: Duration::from_millis(250),
            jump_back: Duration::from_millis(500),
        }
    }
}

impl TimeConfig {
    /// Refuses numbers that are out of their ranges. Times that are shorter than a slow game's ticks
    /// are raised instead, or the defaults would not fit every tick rate.
    pub(crate) fn check(&self) -> Result<(), LimitError> {
        for (limit, value, most) in [
            ("time.guard", self.guard, MAX_GUARD),
            ("time.speed_up", self.speed_up, MAX_SPEED_UP),
            ("time.starving", self.starving, MAX_SPEED_UP),
            ("time.slow_down", self.slow_down, MAX_SLOW_DOWN),
        ] {
            at_least(limit, value, "", 0.0)?;
            at_most(limit, value, "", most)?;
        }
        Ok(())
    }
}

/// Largest [`guard`](TimeConfig::guard): more than any server buffers.
const MAX_GUARD: f64 = 64.0;
/// Largest [`speed_up`](TimeConfig::speed_up) and [`starving`](TimeConfig::starving).
const MAX_SPEED_UP: f64 = 1.0;
/// Largest [`slow_down`](TimeConfig::slow_down): twice of it still is no step back.
const MAX_SLOW_DOWN: f64 = 0.5;

/// A [`TimeConfig`] in ticks, within bounds in which every computation stays finite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    pub(super) ticks_per_second: f64,
    pub(super) window: f64,
    pub(super) guard: f64,
    pub(super) speed_up: f64,
    pub(super) starving: f64,
    pub(super) slow_down: f64,
    pub(super) jump_ahead: f64,
    pub(super) jump_back: f64,
}

impl Tuning {
    pub(super) fn new(tick_rate: u32, config: &TimeConfig) -> Self {
        let ticks_per_second = f64::from(tick_rate.max(1));
        let ticks = |time: Duration| time.as_secs_f64().min(3600.0) * ticks_per_second;
        let default = TimeConfig::default();
        Self {
            ticks_per_second,
            window: ticks(config.window).max(1.0),
            guard: within(config.guard, 0.0, MAX_GUARD, default.guard),
            speed_up: within(config.speed_up, 0.0, MAX_SPEED_UP, default.speed_up),
            starving: within(config.starving, 0.0, MAX_SPEED_UP, default.starving),
            slow_down: within(config.slow_down, 0.0, MAX_SLOW_DOWN, default.slow_down),
            jump_ahead: ticks(config.jump_ahead).max(2.0),
            jump_back: ticks(config.jump_back).max(2.0),
        }
    }

    /// Returns `now` in ticks.
    pub(super) fn local(&self, now: Duration) -> f64 {
        now.as_secs_f64() * self.ticks_per_second
    }

    /// Returns a duration given in seconds, in ticks.
    pub(super) fn seconds(&self, seconds: f64) -> f64 {
        seconds * self.ticks_per_second
    }
}

/// Clamps a share; NaN becomes the default.
fn within(value: f64, least: f64, most: f64, default: f64) -> f64 {
    if value.is_nan() { default } else { value.clamp(least, most) }
}
