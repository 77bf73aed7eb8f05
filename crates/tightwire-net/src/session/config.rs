//! The configuration of a session.

use core::time::Duration;
use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::message::MessengerConfig;
use tightwire_snapshot as snapshot;

use crate::limits::{LimitError, at_least, at_most};
use crate::transport::TransportLimits;

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
    /// Default: "".
    pub game: String,
    /// Version of the game, of up to 255 bytes.
    /// Default: "".
    pub version: String,
    /// The snapshot protocol, `None` if there are no snapshots: see
    /// [`with_snapshots`](Self::with_snapshots).
    /// Default: None.
    pub snapshots: Option<snapshot::Description>,
    /// Description of the players' input, which is part of the protocol id:
    /// [`Game::input`](crate::play::Game::input) sets it. Default: `None`.
    pub input: Option<snapshot::Description>,
    /// Limits of messages. `max_fragmented` is at most that of the transport, or the session is not
    /// built; over a transport that does not [tell](crate::transport::Transport::limits), no
    /// connection is established. A server makes `receive_queue` so long that no client takes another's room.
    /// Default: that of [`MessengerConfig`].
    pub messenger: MessengerConfig,
    /// Largest number of clients of a server; at most the connections of its transport.
    /// Default: 64.
    pub max_clients: usize,
    /// Time limit of the session's handshake, which follows that of the transport: until the client
    /// is welcome. The two have limits of their own, since no session knows of a connection before
    /// its transport does.
    /// Default: 5 s.
    pub hello_timeout: Duration,
    /// Backlog of a peer in bytes above which sending to it is an error: see
    /// [`SendError::Blocked`](crate::message::SendError::Blocked). Above an eighth of it, the peer's
    /// unreliable batches are dropped.
    /// Default: 524,288.
    pub max_backlog: usize,
    /// Time after which a blocked peer is disconnected. It starts over whenever the backlog becomes
    /// smaller than before: a slow line takes its time.
    /// Default: 5 s.
    pub stall_timeout: Duration,
    /// Time since 1970 at which the session's own time is zero, for the expiry of tokens.
    /// Default: the time at which the configuration is made.
    pub unix_start: Duration,
    /// Seed for the game's own random numbers: recordings have it, so that the numbers are the same
    /// in a replay.
    /// Default: a random one.
    pub seed: u64,
}

/// Shortest time limit. With less, nobody could answer.
const MIN_TIMEOUT: Duration = Duration::from_millis(1);

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

    /// Sets the [input](Self::input) of the session.
    #[must_use]
    pub(crate) fn with_input(mut self, protocol: &snapshot::Protocol) -> Self {
        self.input = Some(protocol.description());
        self
    }

    /// Returns the backlog of a peer in bytes above which its unreliable batches are dropped.
    pub(super) const fn drop_unreliable_above(&self) -> usize {
        self.max_backlog / 8
    }

    /// Refuses limits that cannot work together.
    pub(super) fn check(
        &self,
        transport: &TransportLimits,
        is_server: bool,
    ) -> Result<(), LimitError> {
        let most = transport.max_fragmented.unwrap_or(usize::MAX);
        let largest = self.messenger.max_fragmented;
        at_most("messenger.max_fragmented", largest, "`max_fragmented` of the transport", most)?;
        let most = transport.max_connections.filter(|_| is_server).unwrap_or(usize::MAX);
        at_least("hello_timeout", self.hello_timeout, "", MIN_TIMEOUT)?;
        at_least("stall_timeout", self.stall_timeout, "", MIN_TIMEOUT)?;
        at_least("max_backlog", self.max_backlog, "", 1)?;
        at_most("max_clients", self.max_clients, "`max_connections` of the transport", most)?;
        let MessengerConfig { batch_messages, peer_messages, receive_queue, .. } = self.messenger;
        let twice = batch_messages.saturating_mul(2);
        at_least("peer_messages", peer_messages, "twice `batch_messages`", twice)?;
        at_least("receive_queue", receive_queue, "twice `batch_messages`", twice)
    }
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            game: String::new(),
            version: String::new(),
            snapshots: None,
            input: None,
            messenger: MessengerConfig::default(),
            max_clients: 64,
            hello_timeout: Duration::from_secs(5),
            max_backlog: 512 << 10,
            stall_timeout: Duration::from_secs(5),
            unix_start: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            seed: RandomState::new().hash_one(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_config_field_documents_its_default() {
        crate::limits::check_documented(include_str!("config.rs"), &SessionConfig::default());
    }

    #[test]
    fn contradicting_limits_are_refused_with_both_numbers() {
        let refused = |change: fn(&mut SessionConfig)| {
            let mut config = SessionConfig::default();
            change(&mut config);
            let transport =
                TransportLimits { max_fragmented: Some(50 << 20), max_connections: Some(64) };
            config.check(&transport, true).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(refused(|_| {}), "");
        assert_eq!(refused(|config| config.messenger.max_fragmented = 50 << 20), "");
        assert_eq!(
            refused(|config| config.messenger.peer_messages = 511),
            "`peer_messages` is 511, but must be at least 512 (twice `batch_messages`)"
        );
        assert_eq!(
            refused(|config| config.messenger.max_fragmented = 60_000_000),
            "`messenger.max_fragmented` is 60000000, but must be at most 52428800 \
             (`max_fragmented` of the transport)"
        );
        assert_eq!(
            refused(|config| config.max_clients = 65),
            "`max_clients` is 65, but must be at most 64 (`max_connections` of the transport)"
        );
        let many = SessionConfig { max_clients: 65, ..SessionConfig::default() };
        let one = TransportLimits { max_connections: Some(1), ..TransportLimits::default() };
        assert_eq!(many.check(&one, false), Ok(()), "a client has no clients");
        assert_eq!(many.check(&TransportLimits::default(), true), Ok(()));
        assert_eq!(
            refused(|config| config.messenger.receive_queue = 0),
            "`receive_queue` is 0, but must be at least 512 (twice `batch_messages`)"
        );
        assert_eq!(
            refused(|config| config.hello_timeout = Duration::ZERO),
            "`hello_timeout` is 0ns, but must be at least 1ms"
        );
        assert_eq!(
            refused(|config| config.stall_timeout = Duration::from_micros(999)),
            "`stall_timeout` is 999µs, but must be at least 1ms"
        );
        assert_eq!(
            refused(|config| config.max_backlog = 0),
            "`max_backlog` is 0, but must be at least 1"
        );
    }
}
