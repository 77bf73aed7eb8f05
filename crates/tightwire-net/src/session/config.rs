//! The configuration of a session.

use core::time::Duration;
use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::message::MessengerConfig;
use tightwire_snapshot as snapshot;

/// Configuration of a [`Server`](crate::session::Server) or [`Client`](crate::session::Client).
/// Both sides need the same [`game`](Self::game) and [`version`](Self::version), and the same
/// fields of [`messenger`](Self::messenger) that [`MessengerConfig`] lists.
///
/// ```
/// use tightwire::SessionConfig;
///
/// let config = SessionConfig { max_clients: 4, ..SessionConfig::new("arena", "1.0") };
/// assert_eq!(config.game, "arena");
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct SessionConfig {
    /// Name of the game, of up to 255 bytes.
    pub game: String,
    /// Version of the game, of up to 255 bytes.
    pub version: String,
    /// The snapshot protocol, `None` (the default) if there are no snapshots: see
    /// [`with_snapshots`](Self::with_snapshots).
    pub snapshots: Option<snapshot::Description>,
    /// Limits of messages. `max_fragmented` is at most that of the transport, or no connection is
    /// established. A server makes `receive_queue` so long that no client takes another's room.
    pub messenger: MessengerConfig,
    /// Largest number of clients of a server. The default is 64.
    pub max_clients: usize,
    /// Time limit of a handshake. The default is 5 seconds.
    pub hello_timeout: Duration,
    /// Backlog of a peer in bytes above which its unreliable batches are dropped. The default is 64
    /// KiB.
    pub drop_unreliable_above: usize,
    /// Backlog of a peer in bytes above which sending to it is an error: see
    /// [`SendError::Blocked`](crate::message::SendError::Blocked). The default is 512 KiB.
    pub refuse_above: usize,
    /// Time after which a blocked peer is disconnected. It starts over whenever the backlog becomes
    /// smaller than before: a slow line takes its time. The default is 5 seconds.
    pub patience: Duration,
    /// Time since 1970 at which the session's own time is zero, for the expiry of tokens. The
    /// default is the system's time; set it for a virtual clock.
    pub unix_start: Duration,
    /// Seed for the game's own random numbers: recordings have it, so that the numbers are the same
    /// in a replay. The default is random.
    pub seed: u64,
}

impl SessionConfig {
    /// Creates the default configuration for this game in this version.
    #[must_use]
    pub fn new(game: &str, version: &str) -> Self {
        Self { game: game.into(), version: version.into(), ..Self::default() }
    }

    /// Makes the snapshot protocol a part of the session's protocol id: a side with another class,
    /// field or setting is refused, with the [difference](snapshot::Description::diff), as one with
    /// other messages is.
    ///
    /// ```
    /// use tightwire::{SessionConfig, snapshot};
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u16>().build()?;
    /// let config = SessionConfig::new("arena", "1.0").with_snapshots(&protocol);
    /// assert_eq!(config.snapshots, Some(protocol.description()));
    /// # Ok::<(), snapshot::ProtocolError>(())
    /// ```
    #[must_use]
    pub fn with_snapshots(mut self, protocol: &snapshot::Protocol) -> Self {
        self.snapshots = Some(protocol.description());
        self
    }
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            game: String::new(),
            version: String::new(),
            snapshots: None,
            messenger: MessengerConfig::default(),
            max_clients: 64,
            hello_timeout: Duration::from_secs(5),
            drop_unreliable_above: 64 << 10,
            refuse_above: 512 << 10,
            patience: Duration::from_secs(5),
            unix_start: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            seed: RandomState::new().hash_one(0),
        }
    }
}
