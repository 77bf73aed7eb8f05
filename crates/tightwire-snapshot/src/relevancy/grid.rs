//! Objects by room, team, or square of the world.

use alloc::vec;
use alloc::vec::Vec;

/// A set of objects: a room, a team, or a square of the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Room(u32),
    Team(u32),
    /// A square of the world, or of a room.
    Square {
        room: Option<u32>,
        square: [i32; 3],
    },
}

/// Objects by key: a hash table of linked lists. Costs nothing for squares without objects, and
/// allocates only when the number of objects grows.
#[derive(Debug)]
pub(super) struct Grid {
    /// First entry of each list, by hash; the length is a power of 2.
    heads: Vec<u32>,
    /// Entries by slot.
    entries: Vec<GridEntry>,
    len: usize,
}

/// An object in the table.
#[derive(Clone, Copy, Debug)]
struct GridEntry {
    /// `None` if the object is not in the table.
    key: Option<Key>,
    position: [f32; 3],
    next: u32,
    previous: u32,
}

const NONE: u32 = u32::MAX;

const ABSENT: GridEntry = GridEntry { key: None, position: [0.0; 3], next: NONE, previous: NONE };

impl Grid {
    pub(super) fn new() -> Self {
        Self { heads: vec![NONE; 64], entries: Vec::new(), len: 0 }
    }

    /// Puts an object at a key and a position; without a key, removes it.
    pub(super) fn place(&mut self, slot: u32, key: Option<Key>, position: [f32; 3]) {
        let place = slot as usize;
        if self.entries.len() <= place {
            if key.is_none() {
                return;
            }
            self.entries.resize(place + 1, ABSENT);
        }
        self.entries[place].position = position;
        let before = self.entries[place].key;
        if before == key {
            return;
        }
        if let Some(before) = before {
            self.unlink(slot, before);
        }
        self.entries[place].key = key;
        if let Some(key) = key {
            self.len += 1;
            if self.len > self.heads.len() {
                self.grow();
            } else {
                self.link(slot, key);
            }
        }
    }

    /// Returns the key of an object.
    pub(super) fn key(&self, slot: u32) -> Option<Key> {
        self.entries.get(slot as usize)?.key
    }

    /// Returns the position of an object.
    pub(super) fn position(&self, slot: u32) -> [f32; 3] {
        self.entries.get(slot as usize).map_or([0.0; 3], |entry| entry.position)
    }

    /// Passes the objects at a key to `each`, and returns how many entries were looked at.
    pub(super) fn for_each(&self, key: Key, mut each: impl FnMut(u32, [f32; 3])) -> usize {
        let mut next = self.heads[self.bucket(key)];
        let mut count = 0;
        while let Some(entry) = self.entries.get(next as usize) {
            count += 1;
            if entry.key == Some(key) {
                each(next, entry.position);
            }
            next = entry.next;
        }
        count
    }

    pub(super) fn clear(&mut self) {
        self.heads.fill(NONE);
        self.entries.fill(ABSENT);
        self.len = 0;
    }

    fn link(&mut self, slot: u32, key: Key) {
        let bucket = self.bucket(key);
        let next = core::mem::replace(&mut self.heads[bucket], slot);
        let entry = &mut self.entries[slot as usize];
        (entry.next, entry.previous) = (next, NONE);
        if let Some(next) = self.entries.get_mut(next as usize) {
            next.previous = slot;
        }
    }

    fn unlink(&mut self, slot: u32, key: Key) {
        let GridEntry { next, previous, .. } = self.entries[slot as usize];
        match self.entries.get_mut(previous as usize) {
            Some(previous) => previous.next = next,
            None => {
                let bucket = self.bucket(key);
                self.heads[bucket] = next;
            }
        }
        if let Some(next) = self.entries.get_mut(next as usize) {
            next.previous = previous;
        }
        self.len -= 1;
    }

    /// Doubles the table.
    fn grow(&mut self) {
        self.heads = vec![NONE; self.heads.len() * 2];
        for slot in 0..self.entries.len() {
            if let Some(key) = self.entries[slot].key {
                self.link(slot as u32, key);
            }
        }
    }

    fn bucket(&self, key: Key) -> usize {
        let (kind, number, square) = match key {
            Key::Room(room) => (1, room, [0; 3]),
            Key::Team(team) => (2, team, [0; 3]),
            Key::Square { room: None, square } => (3, 0, square),
            Key::Square { room: Some(room), square } => (4, room, square),
        };
        let mix = |hash: u64, word: u32| {
            let mixed = (hash ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ mixed >> 29
        };
        let hash = square.iter().fold(mix(kind, number), |hash, &part| mix(hash, part as u32));
        hash as usize & (self.heads.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    use super::*;
    use crate::random_worlds::{Rng, seed};

    #[test]
    fn objects_are_where_they_were_put_last() {
        let (mut grid, mut expected) = (Grid::new(), BTreeMap::new());
        let rng = &mut Rng(seed(5) | 1);
        let key = |number: u64| match number % 4 {
            0 => Key::Room(number as u32 / 4),
            1 => Key::Team(number as u32 / 4),
            kind => {
                let room = (kind == 2).then_some(number as u32 / 32);
                Key::Square { room, square: [number as i32 / 4 - 3, 7, -1] }
            }
        };
        for step in 0..20_000 {
            let slot = rng.below(if step < 5000 { 40 } else { 400 }) as u32;
            if rng.is_one_in(4) {
                grid.place(slot, None, [0.0; 3]);
                expected.remove(&slot);
            } else {
                let (key, position) = (key(rng.below(64)), [rng.below(9) as f32; 3]);
                grid.place(slot, Some(key), position);
                expected.insert(slot, (key, position));
            }
            if step % 97 == 0 {
                for key in (0..64).map(key) {
                    let mut found = Vec::new();
                    grid.for_each(key, |slot, position| found.push((slot, position)));
                    found.sort_unstable_by_key(|(slot, _)| *slot);
                    let all = expected.iter().filter(|(_, (at, _))| *at == key);
                    assert!(found.into_iter().eq(all.map(|(&slot, &(_, at))| (slot, at))));
                }
            }
            assert_eq!(grid.len, expected.len());
        }
    }
}
