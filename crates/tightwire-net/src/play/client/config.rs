//! The configuration of a client.

use core::time::Duration;

use tightwire_snapshot::{self as snapshot, PlaybackConfig};

use crate::limits::{LimitError, at_least, at_most};
use crate::play::predict::PredictConfig;
use crate::play::time::TimeConfig;
use crate::session::SessionConfig;

/// Configuration of a [`Client`](super::Client).
#[derive(Clone, PartialEq, Debug)]
pub struct ClientConfig {
    /// Configuration of the session; the game sets its name, its version and its classes.
    /// Default: [`SessionConfig::default`].
    pub session: SessionConfig,
    /// Configuration of replication; the game sets the tick rate.
    /// Default: [`Config::default`](snapshot::Config::default), with room for 2^16 objects. Of a server
    /// that has more objects than `max_objects`, snapshots are refused, as
    /// [`snapshots_refused`](super::ClientStats::snapshots_refused) counts.
    pub snapshot: snapshot::Config,
    /// Bounds of the delay of what is interpolated. Default: [`PlaybackConfig::default`].
    pub playback: PlaybackConfig,
    /// Configuration of the clock that inputs are stamped by.
    /// Default: [`TimeConfig::default`].
    pub time: TimeConfig,
    /// Configuration of prediction. Default: [`PredictConfig::default`].
    pub predict: PredictConfig,
    /// Largest number of new ticks in one frame; a longer pause is skipped. At least 1. Default: 8.
    pub max_ticks_per_frame: u32,
    /// Largest number of ticks that this client is ahead of the newest snapshot, and so the longest
    /// replay. From 1 to 32. Default: 32.
    pub max_predicted: u32,
    /// Number of ticks between input packets: more of them send less, and take as much longer. From 1
    /// to `max_redundancy`, or a packet would not hold the inputs since the one before.
    /// Default: 1.
    pub send_interval: u32,
    /// Largest number of inputs in a packet: those that the server does not have yet are sent again.
    /// From 1 to 32. Default: 32.
    pub max_redundancy: u32,
    /// Connects again after a lost connection, as the same player. Default: true.
    pub reconnect: bool,
    /// Largest asset of the server, in bytes; larger ones are declined. Default: 67108864.
    pub max_asset: u32,
    /// Longest time that a message which is bound to a tick or an object waits for it.
    /// Default: 2 s.
    pub bound_hold: Duration,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            session: SessionConfig::default(),
            snapshot: snapshot::Config { max_objects: 1 << 16, ..snapshot::Config::default() },
            playback: PlaybackConfig::default(),
            time: TimeConfig::default(),
            predict: PredictConfig::default(),
            max_ticks_per_frame: 8,
            max_predicted: 32,
            send_interval: 1,
            max_redundancy: 32,
            reconnect: true,
            max_asset: 64 << 20,
            bound_hold: Duration::from_secs(2),
        }
    }
}

impl ClientConfig {
    /// Checks the limits that the server's ring of inputs sets, and those that contradict each other.
    pub(super) fn check(&self) -> Result<(), LimitError> {
        let Self { max_predicted, send_interval, max_redundancy, max_ticks_per_frame, .. } = *self;
        at_least("max_ticks_per_frame", max_ticks_per_frame, "", 1)?;
        at_least("max_predicted", max_predicted, "", 1)?;
        at_most("max_predicted", max_predicted, "ticks of inputs that a server buffers", 32)?;
        at_least("max_redundancy", max_redundancy, "", 1)?;
        at_most("max_redundancy", max_redundancy, "inputs of a packet", 32)?;
        at_least("send_interval", send_interval, "", 1)?;
        // A packet reaches back to the one before, or it could not be read without an ack of it.
        at_most("send_interval", send_interval, "`max_redundancy`", max_redundancy)?;
        self.time.check()?;
        self.predict.check()?;
        let PlaybackConfig { min_delay, max_delay } = self.playback;
        at_least("playback.max_delay", max_delay, "`playback.min_delay`", min_delay)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::play::Touch;

    #[test]
    fn the_documentation_of_each_field_has_its_default() {
        crate::limits::check_documented(include_str!("config.rs"), &ClientConfig::default());
    }

    #[test]
    fn limits_that_cannot_work_are_refused_with_both_numbers() {
        let refused = |config: ClientConfig| config.check().unwrap_err().to_string();
        assert_eq!(
            refused(ClientConfig { max_predicted: 33, ..ClientConfig::default() }),
            "`max_predicted` is 33, but must be at most 32 (ticks of inputs that a server buffers)"
        );
        let changed = |change: fn(&mut ClientConfig)| {
            let mut config = ClientConfig::default();
            change(&mut config);
            config
        };
        let texts = [
            refused(changed(|config| config.max_ticks_per_frame = 0)),
            refused(changed(|config| config.max_predicted = 0)),
            refused(changed(|config| config.max_redundancy = 0)),
            refused(changed(|config| config.max_redundancy = 100)),
            refused(changed(|config| config.send_interval = 0)),
            refused(changed(|config| config.send_interval = 40)),
            refused(changed(|config| (config.send_interval, config.max_redundancy) = (8, 4))),
            refused(changed(|config| config.time.guard = f64::NAN)),
            refused(changed(|config| config.time.speed_up = -0.5)),
            refused(changed(|config| config.time.slow_down = 0.75)),
            refused(changed(|config| config.predict.snap = f32::NAN)),
            refused(changed(|config| {
                config.predict.touch = Some(Touch { enter: 9.0, leave: 1.5, ..Touch::default() });
            })),
        ];
        let expected = [
            "`max_ticks_per_frame` is 0, but must be at least 1",
            "`max_predicted` is 0, but must be at least 1",
            "`max_redundancy` is 0, but must be at least 1",
            "`max_redundancy` is 100, but must be at most 32 (inputs of a packet)",
            "`send_interval` is 0, but must be at least 1",
            "`send_interval` is 40, but must be at most 32 (`max_redundancy`)",
            "`send_interval` is 8, but must be at most 4 (`max_redundancy`)",
            "`time.guard` is NaN, but must be at least 0",
            "`time.speed_up` is -0.5, but must be at least 0",
            "`time.slow_down` is 0.75, but must be at most 0.5",
            "`predict.snap` is NaN, but must be at least 0",
            "`predict.touch.leave` is 1.5, but must be at least 9 (`predict.touch.enter`)",
        ];
        assert_eq!(texts, expected);
        let most = changed(|config| (config.send_interval, config.max_redundancy) = (4, 4));
        assert_eq!(most.check(), Ok(()));
        let playback = PlaybackConfig {
            min_delay: Duration::from_millis(60),
            max_delay: Duration::from_millis(50),
        };
        assert_eq!(
            refused(ClientConfig { playback, ..ClientConfig::default() }),
            "`playback.max_delay` is 50ms, but must be at least 60ms (`playback.min_delay`)"
        );
        assert_eq!(ClientConfig::default().check(), Ok(()));
    }
}
