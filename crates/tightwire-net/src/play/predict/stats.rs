//! Counts of predictions, and the last ones that were wrong.

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::Row;

/// Counts of a client's predictions.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct PredictionStats {
    /// Snapshots that were compared with the prediction of their tick.
    pub compared: u64,
    /// Snapshots that differed from the prediction.
    pub mispredicted: u64,
    /// Ticks whose step function panicked: their objects stand until the server's state is there.
    pub unpredicted_ticks: u64,
    /// Ticks that were replayed.
    pub replayed_ticks: u64,
    /// Largest distance that a correction moved an object by, in the units of the game.
    pub largest_offset: f32,
    /// Corrections that were shown as a jump, since they were too large to be blended.
    pub snaps: u64,
    /// Predicted spawns that the server did not confirm.
    pub spawns_unmatched: u64,
    /// Replays of correct predictions that had another result: the simulation reads state outside
    /// of the scene. Counted with [`always_replay`](super::PredictConfig::always_replay).
    pub replays_differing: u64,
}

/// A prediction that differed from the server's state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Misprediction {
    /// The tick.
    pub tick: u32,
    /// The object.
    pub id: ObjectId,
    /// Index of the object's class.
    pub class: u16,
    /// Path of the first field that differed; empty if the class did.
    pub field: String,
    /// The predicted cells.
    pub predicted: Vec<u32>,
    /// The server's cells.
    pub received: Vec<u32>,
}

/// Number of mispredictions that are kept.
const MAX_KEPT: usize = 32;

/// The last mispredictions.
#[derive(Debug, Default)]
pub(super) struct Mispredictions {
    list: Vec<Misprediction>,
    next: usize,
    /// Number of mispredictions of each class.
    counts: Vec<u64>,
}

impl Mispredictions {
    pub(super) fn push(
        &mut self,
        tick: u32,
        id: ObjectId,
        field: &str,
        predicted: Row<'_>,
        received: Row<'_>,
    ) {
        let class = usize::from(received.class);
        if self.counts.len() <= class {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += 1;
        if self.list.len() < MAX_KEPT {
            self.list.push(Misprediction::default());
        }
        let place = self.next % MAX_KEPT;
        self.next = place + 1;
        let Some(entry) = self.list.get_mut(place) else { return };
        (entry.tick, entry.id, entry.class) = (tick, id, received.class);
        entry.field.clear();
        entry.field.push_str(field);
        for (to, from) in
            [(&mut entry.predicted, predicted.cells), (&mut entry.received, received.cells)]
        {
            to.clear();
            to.extend_from_slice(from);
        }
    }

    pub(super) fn count(&self, class: u16) -> u64 {
        self.counts.get(usize::from(class)).copied().unwrap_or(0)
    }

    /// The last mispredictions, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Misprediction> {
        let (newer, older) = self.list.split_at(self.next.min(self.list.len()));
        older.iter().chain(newer)
    }
}
