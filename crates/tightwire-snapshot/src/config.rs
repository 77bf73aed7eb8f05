//! The configuration of a snapshot protocol.

use core::time::Duration;

/// Configuration of replication. Both sides need the same
/// [`ticks_per_second`](Self::ticks_per_second). The rest is not part of the
/// [fingerprint](crate::Protocol::fingerprint): each packet says its level, and
/// [`max_objects`](Self::max_objects) bounds the memory of each side by itself. A receiver that has
/// room for fewer objects than it is sent refuses those snapshots, and takes smaller ones.
///
/// ```
/// use tightwire::snapshot::{self, Level};
///
/// let config = snapshot::Config { level: Level::Packed, ..snapshot::Config::default() };
/// assert_eq!(config.ticks_per_second, 60);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Compression of snapshots to new receivers, until [`Sender::set_level`] sets another. Only a
    /// sender uses it. Default: [`Level::Auto`].
    ///
    /// [`Sender::set_level`]: crate::Sender::set_level
    pub level: Level,
    /// Time that the snapshots of a tick may take, to all receivers together, on one core: the limit
    /// for [`Level::Auto`], which is the only one to use it. The sender has no clock, so that it makes the same
    /// packets again: it estimates 1.2 us for an update at the level `Modeled`, and 0.2 us at the
    /// level `Packed`. Default: 4 ms.
    pub snapshot_time: Duration,
    /// Ticks per second, for fields that are `derivative_of` another. At least 1. Default: 60.
    pub ticks_per_second: u32,
    /// Largest number of objects, including despawned ones whose despawn is not yet acked by every
    /// receiver. At least 1. Default: 4,096.
    pub max_objects: usize,
    /// Number of ticks for which the sender keeps a state after a newer one has replaced it; then
    /// the state expires. An object whose acked states have all expired is sent without a baseline.
    /// At least 64. Default: 64.
    ///
    /// It also bounds the sender's memory: at most `history + 1` states of an object. A receiver
    /// holds as many states as packets can be in flight. At the level `Modeled`, a model is kept
    /// for each packet that can be the baseline of another: some tens of kilobytes each.
    pub history: u32,
}

/// Compression of snapshots. Each packet is `Packed` or `Modeled`, and receivers read both.
///
/// ```
/// use tightwire::snapshot::{self, Level};
///
/// assert_eq!(snapshot::Config::default().level, Level::Auto);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Level {
    /// The sender picks one of the others for each receiver and tick: `Modeled` while the
    /// receiver's bandwidth is short, which is while budgets cut its snapshots; `Packed` otherwise,
    /// and where `Modeled` would take more than [`Config::snapshot_time`]. Receivers whose
    /// budgets leave out the largest share come first.
    ///
    /// Bandwidth becomes short when the budget has cut more than three of the last 64 snapshots, not
    /// counting those in the receiver's first second, which has to get the world. It is plenty again
    /// after five seconds of snapshots that took less than half of their budgets.
    #[default]
    Auto,
    /// Changed bits and small differences, bit-packed: the fastest.
    Packed,
    /// Predictions, with residuals coded by a model that learns how this game's objects behave: the
    /// smallest.
    Modeled,
}

impl Level {
    /// Returns the level of the first packet.
    pub(super) fn first(self) -> PacketLevel {
        match self {
            Self::Auto | Self::Packed => PacketLevel::Packed,
            Self::Modeled => PacketLevel::Modeled,
        }
    }
}

/// Level of a packet, as its header says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum PacketLevel {
    #[default]
    Packed,
    Modeled,
}

impl From<PacketLevel> for Level {
    fn from(level: PacketLevel) -> Self {
        match level {
            PacketLevel::Packed => Self::Packed,
            PacketLevel::Modeled => Self::Modeled,
        }
    }
}

/// The fate of an object on a receiver to which it is no longer relevant.
///
/// ```
/// use tightwire::snapshot::{self, Leaving};
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).build()?;
/// let mut sender = snapshot::Sender::new(&protocol);
/// let spectator = sender.add_receiver(Leaving::Freeze);
/// # Ok::<(), tightwire::snapshot::ProtocolError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Leaving {
    /// The object despawns. A [`Playback`](crate::Playback) extrapolates it until then, by its last
    /// velocity.
    #[default]
    Despawn,
    /// The object stays in its last state.
    Freeze,
}

/// Largest age, in ticks, of a baseline state other than the newest to predict from: the sender
/// still has such a state.
pub(super) const MAX_BASELINE_AGE: u32 = 48;

impl Default for Config {
    fn default() -> Self {
        Self {
            level: Level::Auto,
            snapshot_time: Duration::from_millis(4),
            ticks_per_second: 60,
            max_objects: 4096,
            history: 64,
        }
    }
}
