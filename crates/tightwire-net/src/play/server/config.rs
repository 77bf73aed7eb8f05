//! The configuration of a server.

use core::time::Duration;

use tightwire_snapshot::{self as snapshot, Leaving, RelevancyConfig};

use crate::limits::{LimitError, at_least};
use crate::play::resume::DuplicateLogin;
use crate::session::SessionConfig;
use crate::token::TokenKey;

/// Configuration of a [`Server`](super::Server).
#[derive(Clone, PartialEq, Debug)]
pub struct ServerConfig {
    /// Configuration of the session; the game sets its name, its version and its classes.
    /// Default: [`SessionConfig::default`].
    pub session: SessionConfig,
    /// Configuration of replication; the game sets the tick rate.
    /// Default: [`Config::default`](snapshot::Config::default), with room for 2^16 objects.
    pub snapshot: snapshot::Config,
    /// Relevancy of objects that are near: the radius, and how often it is looked at.
    /// Default: [`RelevancyConfig::default`].
    pub relevancy: RelevancyConfig,
    /// The fate of an object on a client to which it is no longer relevant.
    /// Default: [`Leaving::Despawn`].
    pub leaving: Leaving,
    /// Number of ticks between snapshots. Default: 1.
    pub snapshot_interval: u32,
    /// Largest number of bytes that a peer gets per second; 0 means as many as congestion control
    /// allows. Default: 0.
    pub max_rate: u32,
    /// Number of ticks for which a missing input is repeated, before the neutral input takes its
    /// place. Default: 12.
    pub max_repeat: u32,
    /// Longest time that lag compensation goes back. Default: 400 ms.
    pub max_rewind: Duration,
    /// Number of ticks that a late schedule catches up; more are dropped. Default: 5.
    pub max_late_ticks: u32,
    /// Time for which a peer that lost its connection can resume. Default: 120 s; with 0, a
    /// lost connection is the end.
    pub resume_window: Duration,
    /// Key of the tickets with which players resume; no recording has it. Default: `None`: a new
    /// one of the operating system's random numbers. A server whose recording is to be replayed has
    /// one that is kept, and the replay gets the same: otherwise nobody resumes in the replay.
    pub resume_key: Option<TokenKey>,
    /// The answer to a second connection of the same client.
    /// Default: [`DuplicateLogin::Replace`].
    pub duplicate_login: DuplicateLogin,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            session: SessionConfig::default(),
            snapshot: snapshot::Config { max_objects: 1 << 16, ..snapshot::Config::default() },
            relevancy: RelevancyConfig::default(),
            leaving: Leaving::Despawn,
            snapshot_interval: 1,
            max_rate: 0,
            max_repeat: 12,
            max_rewind: Duration::from_millis(400),
            max_late_ticks: 5,
            resume_window: Duration::from_secs(120),
            resume_key: None,
            duplicate_login: DuplicateLogin::Replace,
        }
    }
}

impl ServerConfig {
    pub(super) fn check(&self, tick_rate: u32) -> Result<(), LimitError> {
        at_least("snapshot_interval", self.snapshot_interval, "", 1)?;
        let RelevancyConfig { radius, leave_factor, refresh_interval } = self.relevancy;
        at_least("relevancy.radius", radius, "", 0.001)?;
        at_least("relevancy.leave_factor", leave_factor, "", 1.0)?;
        at_least("relevancy.refresh_interval", refresh_interval, "", 1)?;
        let rewind = self.rewind_ticks(tick_rate) as usize;
        let needed = rewind.saturating_add(8);
        let history = self.snapshot.history as usize;
        at_least("snapshot.history", history, "8 ticks more than `max_rewind`", needed)
    }

    /// Returns the longest time that lag compensation goes back, in ticks.
    pub(super) fn rewind_ticks(&self, tick_rate: u32) -> u32 {
        (self.max_rewind.as_secs_f64() * f64::from(tick_rate)).min(1e6) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_of_each_field_has_its_default() {
        crate::limits::check_documented(include_str!("config.rs"), &ServerConfig::default());
    }

    #[test]
    fn limits_that_cannot_work_are_refused_with_both_numbers() {
        let config = ServerConfig { max_rewind: Duration::from_secs(1), ..ServerConfig::default() };
        let error = config.check(60).map_err(|error| error.to_string());
        assert_eq!(
            error,
            Err("`snapshot.history` is 64, but must be at least 68 (8 ticks more than `max_rewind`)"
                .into())
        );
        assert_eq!(ServerConfig::default().check(60), Ok(()));
        let refused = |change: fn(&mut ServerConfig)| {
            let mut config = ServerConfig::default();
            change(&mut config);
            config.check(60).map_err(|error| error.to_string()).err().unwrap_or_default()
        };
        let texts = [
            refused(|config| config.snapshot_interval = 0),
            refused(|config| config.relevancy.radius = -1.0),
            refused(|config| config.relevancy.radius = f32::NAN),
            refused(|config| config.relevancy.leave_factor = 0.5),
            refused(|config| config.relevancy.refresh_interval = 0),
        ];
        let expected = [
            "`snapshot_interval` is 0, but must be at least 1",
            "`relevancy.radius` is -1, but must be at least 0.001",
            "`relevancy.radius` is NaN, but must be at least 0.001",
            "`relevancy.leave_factor` is 0.5, but must be at least 1",
            "`relevancy.refresh_interval` is 0, but must be at least 1",
        ];
        assert_eq!(texts, expected);
    }
}
