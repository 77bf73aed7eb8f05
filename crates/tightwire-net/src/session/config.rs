//! What a session is told before it begins.

use core::time::Duration;
use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::message::MessengerConfig;
use tightwire_snapshot as snapshot;

/// What a [`Server`](crate::session::Server) and a [`Client`](crate::session::Client) are told. Both sides need the same
/// [`game`](Self::game) and [`version`](Self::version), and in [`messenger`](Self::messenger) what
/// [`MessengerConfig`] says.
///
/// ```
/// use tightwire::SessionConfig;
///
/// let config = SessionConfig { max_clients: 4, ..SessionConfig::new("arena", "1.0") };
/// assert_eq!(config.game, "arena");
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct SessionConfig {
    /// The name of the game, of up to 255 bytes.
    pub game: String,
    /// Its version, of up to 255 bytes.
    pub version: String,
    /// The snapshot protocol, `None` (the default) if there are no snapshots: see
    /// [`with_snapshots`](Self::with_snapshots).
    pub snapshots: Option<snapshot::Description>,
    /// The limits for messages. Its `max_fragmented` is at most that of the transport, or nobody
    /// connects. A server makes `receive_queue` so long that no client takes another's
    /// room.
    pub messenger: MessengerConfig,
    /// How many clients a server takes.
    pub max_clients: usize,
    /// How long a connection may take to say who it is.
    pub hello_timeout: Duration,
    /// If more bytes than this are on their way to a peer, its unreliable batches are dropped.
    pub drop_unreliable_above: usize,
    /// If more bytes than this are, sending to the peer is an error: see
    /// [`SendError::Blocked`](crate::message::SendError::Blocked).
    pub refuse_above: usize,
    /// A peer for which that lasts so long is disconnected, unless fewer bytes are on their way to it
    /// than at any time since: a slow line takes its time.
    pub patience: Duration,
    /// The time since 1970 at which the session's own time is zero: tokens have an end. The real one,
    /// unless it is set for a clock that is not.
    pub unix_start: Duration,
    /// For the game's own random numbers: it is in recordings, so that they are the same in a replay.
    /// Another one each time, unless it is set.
    pub seed: u64,
}

impl SessionConfig {
    /// The default, for this game in this version.
    #[must_use]
    pub fn new(game: &str, version: &str) -> Self {
        Self { game: game.into(), version: version.into(), ..Self::default() }
    }

    /// Makes the snapshot protocol a part of the session's protocol id: a side with another class, field or
    /// setting is refused, with the [difference](snapshot::Description::diff), as one with other messages is.
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
