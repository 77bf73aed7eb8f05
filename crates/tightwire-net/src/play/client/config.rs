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
    /// Default: [`Config::default`](snapshot::Config::default), with room for 2^16 objects.
    pub snapshot: snapshot::Config,
    /// Bounds of the delay of what is interpolated. Default: [`PlaybackConfig::default`].
    pub playback: PlaybackConfig,
    /// Configuration of the clock that inputs are stamped by.
    /// Default: [`TimeConfig::default`].
    pub time: TimeConfig,
    /// Configuration of prediction. Default: [`PredictConfig::default`].
    pub predict: PredictConfig,
    /// Largest number of new ticks in one frame; a longer pause is skipped. Default: 8.
    pub max_ticks_per_frame: u32,
    /// Largest number of ticks that this client is ahead of the newest snapshot, and so the longest
    /// replay. Default: 32.
    pub max_predicted: u32,
    /// Number of ticks between input packets: more of them send less, and take as much longer.
    /// Default: 1.
    pub send_interval: u32,
    /// Largest number of inputs in a packet: those that the server does not have yet are sent again.
    /// Default: 32.
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
        let predicted = self.max_predicted as usize;
        at_most("max_predicted", predicted, "ticks of inputs that a server buffers", 32)?;
        let PlaybackConfig { min_delay, max_delay } = self.playback;
        at_least("playback.max_delay", max_delay, "`playback.min_delay`", min_delay)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
