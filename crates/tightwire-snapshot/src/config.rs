//! What both sides agree on, and how much there may be.

use tightwire_core::Wire;

/// How worlds are replicated. Both sides need the same; [`max_objects`](Self::max_objects) and
/// [`history`](Self::history) are not part of the
/// [fingerprint](crate::Protocol::fingerprint), since only a receiver with too small a number of
/// objects would notice.
///
/// ```
/// use tightwire::snapshot::{self, Level};
///
/// let config = snapshot::Config { level: Level::Packed, ..snapshot::Config::default() };
/// assert_eq!(config.ticks_per_second, 60);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// How hard snapshots are compressed.
    pub level: Level,
    /// How many ticks a second has, for fields that are `derivative_of` another.
    pub ticks_per_second: u32,
    /// How many objects there can be, those that are gone but not yet for everyone included.
    pub max_objects: usize,
    /// For how many ticks the sender remembers what objects were like: a receiver that is further
    /// behind with an object gets it anew. At least 64.
    ///
    /// It is also the bound of the sender's memory, which holds `history + 1` states of an object at most;
    /// a receiver holds as many as packets can be on their way. What is learned with
    /// [`Level::Modeled`] is kept for each packet that can be the base of another: some tens of kilobytes
    /// each.
    pub history: u32,
}

/// How hard snapshots are compressed.
///
/// ```
/// use tightwire::snapshot::{self, Level};
///
/// assert_eq!(snapshot::Config::default().level, Level::Modeled);
/// ```
#[derive(Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Level {
    /// Changed bits and small differences, in bits: the fastest.
    Packed,
    /// Predicted, and coded by a model that learns what this game's objects do: the smallest.
    #[default]
    Modeled,
}

/// What becomes of an object, for a receiver that is no longer to see it.
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
    /// It is gone. A [`Playback`](crate::Playback) moves it on until then, as its last velocity says.
    #[default]
    Despawn,
    /// It stays as it was last.
    Freeze,
}

/// How old a version other than the newest can be to predict with: the sender still has it.
pub(super) const PAST_TICKS: u32 = 48;

impl Default for Config {
    fn default() -> Self {
        Self { level: Level::Modeled, ticks_per_second: 60, max_objects: 4096, history: 64 }
    }
}
