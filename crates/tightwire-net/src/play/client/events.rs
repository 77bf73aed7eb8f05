//! Events and counts of a client.

use core::time::Duration;

use tightwire_core::schema::ObjectId;

use crate::play::asset::{AssetError, AssetProgress};
use crate::play::predict::PredictionStats;
use crate::play::time::TimeJump;
use crate::reason::Reason;

/// An event of a [`Client`](super::Client).
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ClientEvent {
    /// The server has accepted this client.
    Connected {
        /// The player of an earlier connection goes on.
        is_resumed: bool,
    },
    /// An object is shown from now on.
    Spawned {
        /// The object.
        id: ObjectId,
    },
    /// An object is not shown any more.
    Despawned {
        /// The object.
        id: ObjectId,
    },
    /// This client owns an object now.
    Mine {
        /// The object.
        id: ObjectId,
    },
    /// This client does not own an object any more.
    NotMine {
        /// The object.
        id: ObjectId,
    },
    /// The server has confirmed a predicted spawn: the object has another id from now on.
    Matched {
        /// Provisional id.
        provisional: ObjectId,
        /// Id of the server's spawn.
        id: ObjectId,
    },
    /// The server offers an asset: see [`Client::accept_asset`](super::Client::accept_asset).
    AssetOffered(AssetProgress),
    /// An asset is complete.
    Asset {
        /// The asset.
        progress: AssetProgress,
        /// Bytes of the asset, or the error if they are not the offered ones.
        bytes: Result<Vec<u8>, AssetError>,
    },
    /// The clock of inputs was too far off to be corrected smoothly.
    TimeJump(TimeJump),
    /// The connection is lost. This client connects again by itself.
    Reconnecting {
        /// Time until the next attempt.
        after: Duration,
        /// Reason of the loss.
        reason: Reason,
    },
    /// The connection has ended for good, or was never established.
    Disconnected {
        /// Reason of the end.
        reason: Reason,
    },
}

/// Counts of a client since it was made.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct ClientStats {
    /// Snapshots that arrived and were accepted.
    pub snapshots: u64,
    /// Snapshots that were refused: they were late, or malformed.
    pub snapshots_refused: u64,
    /// Bytes of snapshots that arrived.
    pub snapshot_bytes: u64,
    /// Counts of predictions.
    pub prediction: PredictionStats,
}
