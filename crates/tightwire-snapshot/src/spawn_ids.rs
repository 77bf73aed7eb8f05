//! Ids that the sender chooses: the lowest free one, with a quarantine after each use.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use tightwire_core::schema::ObjectId;

/// Number of ids that are given out: an id fits into 20 bits, and so does the code of "no object".
const MAX_IDS: u32 = (1 << 20) - 1;

/// The ids below `list.len()`: which of them are free, in use, or in quarantine.
#[derive(Debug)]
pub(super) struct SpawnIds {
    list: Vec<IdState>,
    /// Bit set of free ids.
    free: Vec<u64>,
    /// Word of `free` below which no bit is set.
    lowest: usize,
    /// Ids in quarantine with the tick in which it ends, oldest first. An entry is void if the id
    /// has another end by now.
    queue: VecDeque<(u32, ObjectId)>,
    /// Length of the quarantine in ticks.
    pub(super) quarantine: u32,
}

#[derive(Clone, Copy, Debug)]
struct IdState {
    phase: Phase,
    /// The id was given out, and not taken by the application.
    is_allocated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Free,
    Used,
    /// Despawned, and not yet forgotten by every receiver.
    Despawned,
    /// In quarantine until this tick.
    Quarantine(u32),
}

impl SpawnIds {
    pub(super) fn new(quarantine: u32) -> Self {
        let (list, free, queue) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { list, free, lowest: 0, queue, quarantine }
    }

    /// Returns the lowest free id; `is_used` tells ids that the application took. `None` if all are
    /// in use.
    pub(super) fn next(&mut self, is_used: impl Fn(ObjectId) -> bool) -> Option<ObjectId> {
        while let Some(word) = self.free.get(self.lowest) {
            if *word != 0 {
                return Some(ObjectId(self.lowest as u32 * 64 + word.trailing_zeros()));
            }
            self.lowest += 1;
        }
        loop {
            let id = ObjectId(self.list.len() as u32);
            if id.0 >= MAX_IDS {
                return None;
            }
            let is_free = !is_used(id);
            self.add(is_free);
            if is_free {
                return Some(id);
            }
        }
    }

    fn add(&mut self, is_free: bool) {
        let id = self.list.len() as u32;
        let phase = if is_free { Phase::Free } else { Phase::Used };
        self.list.push(IdState { phase, is_allocated: false });
        self.free.resize(self.list.len().div_ceil(64), 0);
        self.set_free(ObjectId(id), is_free);
    }

    /// Records that the object with this id was added, by a spawn or by the application.
    pub(super) fn take(&mut self, id: ObjectId, is_allocated: bool) {
        if let Some(state) = self.list.get_mut(id.0 as usize) {
            *state = IdState { phase: Phase::Used, is_allocated };
            self.set_free(id, false);
        }
    }

    /// Records that the object with this id despawned.
    pub(super) fn despawn(&mut self, id: ObjectId) {
        if let Some(state) = self.list.get_mut(id.0 as usize) {
            state.phase = Phase::Despawned;
        }
    }

    /// Records that every receiver has acked the despawn: the quarantine begins.
    pub(super) fn release(&mut self, id: ObjectId, tick: u32) {
        if let Some(state) = self.list.get_mut(id.0 as usize) {
            let end = tick.saturating_add(self.quarantine);
            state.phase = Phase::Quarantine(end);
            self.queue.push_back((end, id));
        }
    }

    /// Frees the ids whose quarantine ends in this tick or before.
    pub(super) fn begin_tick(&mut self, tick: u32) {
        while let Some(&(end, id)) = self.queue.front().filter(|(end, _)| *end <= tick) {
            self.queue.pop_front();
            let Some(state) = self.list.get_mut(id.0 as usize) else { continue };
            if state.phase == Phase::Quarantine(end) {
                *state = IdState { phase: Phase::Free, is_allocated: false };
                self.set_free(id, true);
            }
        }
    }

    /// Whether the application must not take the id: it was given out, and its object despawned a
    /// short time ago.
    pub(super) fn is_in_quarantine(&self, id: ObjectId) -> bool {
        self.list.get(id.0 as usize).is_some_and(|state| {
            state.is_allocated && matches!(state.phase, Phase::Despawned | Phase::Quarantine(_))
        })
    }

    fn set_free(&mut self, id: ObjectId, is_free: bool) {
        let place = id.0 as usize / 64;
        if let Some(word) = self.free.get_mut(place) {
            *word = *word & !(1 << (id.0 % 64)) | u64::from(is_free) << (id.0 % 64);
            if is_free {
                self.lowest = self.lowest.min(place);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn spawn(ids: &mut SpawnIds) -> u32 {
        let id = ids.next(|id| id.0 == 2).unwrap();
        ids.take(id, true);
        id.0
    }

    #[test]
    fn the_lowest_free_id_is_given_out() {
        let mut ids = SpawnIds::new(10);
        assert_eq!([(); 4].map(|()| spawn(&mut ids)), [0, 1, 3, 4], "2 is the application's");
        for id in [3, 1] {
            ids.despawn(ObjectId(id));
            ids.release(ObjectId(id), 5);
        }
        assert_eq!(spawn(&mut ids), 5);
        ids.begin_tick(14);
        assert!(ids.is_in_quarantine(ObjectId(1)));
        assert_eq!(spawn(&mut ids), 6);
        ids.begin_tick(15);
        assert!(!ids.is_in_quarantine(ObjectId(1)));
        assert_eq!([(); 3].map(|()| spawn(&mut ids)), [1, 3, 7]);
    }

    #[test]
    fn an_id_that_the_application_frees_has_its_quarantine_too() {
        let mut ids = SpawnIds::new(10);
        spawn(&mut ids);
        for _ in 0..3 {
            spawn(&mut ids);
        }
        ids.despawn(ObjectId(2));
        ids.release(ObjectId(2), 5);
        assert!(!ids.is_in_quarantine(ObjectId(2)), "it stays the application's");
        ids.take(ObjectId(2), false);
        ids.release(ObjectId(2), 9);
        ids.begin_tick(15);
        assert_eq!(spawn(&mut ids), 5);
        ids.begin_tick(19);
        assert_eq!(spawn(&mut ids), 2);
    }

    #[test]
    fn ids_end_below_the_code_of_no_object() {
        let mut ids = SpawnIds::new(10);
        for id in 0..MAX_IDS {
            assert_eq!(ids.next(|_| false), Some(ObjectId(id)));
            ids.take(ObjectId(id), true);
        }
        assert_eq!(ids.next(|_| false), None);
    }
}
