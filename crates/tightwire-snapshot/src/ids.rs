//! Map from object ids to slots.

use alloc::vec::Vec;

use tightwire_core::schema::ObjectId;

/// Slots of objects, by id. Two sorted lists: no choice of ids can slow down a binary search, and
/// iteration is in the order of ids.
///
/// Inserting into the middle of a long list is slow. Therefore new entries go into a short list,
/// which is merged into the long one from time to time, and a removed entry stays without a slot
/// until there are many.
#[derive(Debug, Default)]
pub(super) struct Ids {
    long: Vec<SlotEntry>,
    short: Vec<SlotEntry>,
    removed: usize,
    /// Place in `long` of the entry after the one that was found last.
    next: usize,
}

type SlotEntry = (ObjectId, u32);

/// Slot of a removed entry.
const NONE: u32 = u32::MAX;

/// Number of entries of the short list at which it is merged.
const SHORT: usize = 256;

impl Ids {
    pub(super) fn len(&self) -> usize {
        self.long.len() + self.short.len() - self.removed
    }

    pub(super) fn get(&self, id: ObjectId) -> Option<u32> {
        let find = |list: &[SlotEntry]| Some(list[place(list, id).ok()?].1);
        find(&self.long).or_else(|| find(&self.short)).filter(|&slot| slot != NONE)
    }

    /// Returns the slot as [`get`](Self::get) does, without a search for the id after the one that
    /// was found last: a loop over all objects is mostly in the order of their ids.
    pub(super) fn get_next(&mut self, id: ObjectId) -> Option<u32> {
        if self.long.get(self.next).is_none_or(|entry| entry.0 != id) {
            match place(&self.long, id) {
                Ok(place) => self.next = place,
                Err(_) => return self.get(id),
            }
        }
        let slot = self.long[self.next].1;
        self.next += 1;
        if slot != NONE { Some(slot) } else { self.get(id) }
    }

    pub(super) fn insert(&mut self, id: ObjectId, slot: u32) {
        for list in [&mut self.long, &mut self.short] {
            if let Ok(place) = place(list, id) {
                self.removed -= usize::from(list[place].1 == NONE);
                list[place].1 = slot;
                return;
            }
        }
        if self.long.last().is_none_or(|last| last.0 < id) && self.short.is_empty() {
            return self.long.push((id, slot));
        }
        if let Err(place) = place(&self.short, id) {
            self.short.insert(place, (id, slot));
        }
        if self.short.len() >= SHORT {
            self.merge();
        }
    }

    pub(super) fn remove(&mut self, id: ObjectId) {
        for list in [&mut self.long, &mut self.short] {
            if let Ok(place) = place(list, id) {
                self.removed += usize::from(list[place].1 != NONE);
                list[place].1 = NONE;
            }
        }
        if self.removed > SHORT + self.long.len() / 2 {
            self.long.retain(|entry| entry.1 != NONE);
            self.short.retain(|entry| entry.1 != NONE);
            self.removed = 0;
        }
    }

    /// The objects in the order of their ids.
    pub(super) fn iter(&self) -> Entries<'_> {
        Entries { long: &self.long, short: &self.short }
    }

    /// The objects whose ids are at least `from`, in the order of their ids.
    pub(super) fn iter_from(&self, from: ObjectId) -> Entries<'_> {
        let rest = |list| place(list, from).unwrap_or_else(|place| place);
        let (long, short) = (rest(&self.long[..]), rest(&self.short[..]));
        Entries { long: &self.long[long..], short: &self.short[short..] }
    }

    /// Merges the short list into the long one, from the end, so that no entry is overwritten.
    fn merge(&mut self) {
        let mut from = self.long.len();
        self.long.resize(from + self.short.len(), (ObjectId(0), NONE));
        let mut to = self.long.len();
        while let Some(&new) = self.short.last() {
            to -= 1;
            if from > 0 && self.long[from - 1].0 > new.0 {
                from -= 1;
                self.long[to] = self.long[from];
            } else {
                self.long[to] = new;
                self.short.pop();
            }
        }
    }
}

/// Objects in the order of their ids, with their places.
#[derive(Clone, Debug)]
pub(super) struct Entries<'i> {
    long: &'i [SlotEntry],
    short: &'i [SlotEntry],
}

impl Iterator for Entries<'_> {
    type Item = SlotEntry;

    fn next(&mut self) -> Option<SlotEntry> {
        loop {
            let list = match (self.long.first(), self.short.first()) {
                (Some(long), Some(short)) if short.0 < long.0 => &mut self.short,
                (Some(_), _) => &mut self.long,
                (None, _) => &mut self.short,
            };
            let (&entry, rest) = list.split_first()?;
            *list = rest;
            if entry.1 != NONE {
                return Some(entry);
            }
        }
    }
}

fn place(list: &[SlotEntry], id: ObjectId) -> Result<usize, usize> {
    list.binary_search_by_key(&id, |entry| entry.0)
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;

    #[test]
    fn iteration_is_in_the_order_of_ids() {
        let (mut ids, mut map) = (Ids::default(), BTreeMap::new());
        let mut number = 1u32;
        for step in 0..20_000 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let id = ObjectId(number >> 20);
            if number >> 8 & 3 == 0 {
                ids.remove(id);
                map.remove(&id);
            } else {
                ids.insert(id, step);
                map.insert(id, step);
            }
            let expected = map.get(&id).copied();
            assert_eq!((ids.len(), ids.get(id), ids.get_next(id)), (map.len(), expected, expected));
            let after = ObjectId(id.0 + number % 3);
            assert_eq!(ids.get_next(after), map.get(&after).copied());
            if step % 1000 == 0 {
                let later = map.range(id..).map(|(id, slot)| (*id, *slot));
                assert!(ids.iter_from(id).eq(later));
                assert!(ids.iter().eq(map.iter().map(|(id, slot)| (*id, *slot))));
            }
        }
        map.keys().for_each(|id| assert!(ids.get(*id).is_some()));
        map.keys().for_each(|id| ids.remove(*id));
        assert_eq!((ids.len(), ids.iter().count()), (0, 0));
    }
}
