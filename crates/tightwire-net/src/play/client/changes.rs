//! The changes of the shown world in a frame.

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::{ChangeKind, ObjectChange};

use super::world::ClientWorld;

/// Objects whose shown state changed since the frame before, which may have several calls of
/// `receive`.
#[derive(Debug, Default)]
pub(super) struct Changes {
    list: Vec<ObjectChange>,
    /// A bit for each id: whether the list already has a changed value of the object.
    listed: Vec<u64>,
    /// Whether the frame has ended: the next change then begins another list.
    is_over: bool,
}

impl Changes {
    pub(super) fn list(&self) -> &[ObjectChange] {
        &self.list
    }

    /// Ends the frame. Its changes can be read until the next one begins.
    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// Begins a frame, if the one before has ended.
    pub(super) fn begin(&mut self) {
        if core::mem::take(&mut self.is_over) {
            for change in self.list.drain(..) {
                let (word, _) = place(change.id);
                self.listed.get_mut(word).into_iter().for_each(|word| *word = 0);
            }
        }
    }

    /// Adds a change. Of several new values of one object, one is enough.
    pub(super) fn push(&mut self, change: ObjectChange) {
        let (word, bit) = place(change.id);
        if self.listed.len() <= word {
            self.listed.resize(word + 1, 0);
        }
        let listed = &mut self.listed[word];
        match change.kind {
            ChangeKind::Despawned => *listed &= !bit,
            ChangeKind::Changed if *listed & bit != 0 => return,
            _ => *listed |= bit,
        }
        self.list.push(change);
    }
}

fn place(id: ObjectId) -> (usize, u64) {
    (id.0 as usize / 64, 1 << (id.0 % 64))
}

impl<I> ClientWorld<I> {
    /// Adds the changes of the last step of playback. Predicted objects spawn and despawn with
    /// playback, but their states do not come from it.
    pub(super) fn record_changes(&mut self) {
        self.changes.begin();
        for change in self.playback.shown_changes() {
            if change.kind != ChangeKind::Changed || !self.prediction.is_predicted(change.id) {
                self.changes.push(*change);
            }
        }
    }

    /// Adds an object that is now interpolated, and was shown elsewhere before.
    pub(super) fn record_switched(&mut self, id: ObjectId) {
        if self.prediction.is_predicted(id) {
            return;
        }
        if let Some(class) = self.playback.with_row(id, |row| row.class) {
            self.changes.push(ObjectChange { id, class, kind: ChangeKind::Changed });
        }
    }

    /// Adds that no object is shown any more.
    pub(super) fn record_start_over(&mut self) {
        self.changes.begin();
        for (id, class) in self.playback.objects_from(ObjectId(0)) {
            self.changes.push(ObjectChange { id, class, kind: ChangeKind::Despawned });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changes_of_all_calls_of_a_frame_are_listed_once_each() {
        use ChangeKind::{Changed, Despawned, Spawned};
        let mut changes = Changes::default();
        let push = |changes: &mut Changes, id, kind| {
            changes.begin();
            changes.push(ObjectChange { id: ObjectId(id), class: 0, kind });
        };
        let kinds = |changes: &Changes| {
            changes.list().iter().map(|change| (change.id.0, change.kind)).collect::<Vec<_>>()
        };
        for (id, kind) in [(7, Spawned), (90, Changed), (7, Changed), (90, Changed)] {
            push(&mut changes, id, kind);
        }
        assert_eq!(kinds(&changes), [(7, Spawned), (90, Changed)]);
        // Another object with the id.
        for kind in [Despawned, Spawned, Changed] {
            push(&mut changes, 7, kind);
        }
        assert_eq!(kinds(&changes)[2..], [(7, Despawned), (7, Spawned)]);
        changes.end();
        assert_eq!(changes.list().len(), 4);
        push(&mut changes, 90, Changed);
        assert_eq!(kinds(&changes), [(90, Changed)]);
    }
}
