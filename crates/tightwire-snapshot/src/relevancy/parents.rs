//! Objects that are relevant only where their parent is.

use alloc::vec::Vec;

use crate::slot_set::SlotSet;

/// The parents of objects, by slot.
#[derive(Debug, Default)]
pub(super) struct Parents {
    /// Parent of each slot; `None` if the object has none.
    of: Vec<Option<u32>>,
    /// Slots with a parent. A parent comes before its children, unless `is_unsorted`.
    children: Vec<u32>,
    is_unsorted: bool,
    /// Children with an ancestor that is not relevant to everybody, in the order of `children`.
    restricted: Vec<u32>,
    is_restricted: SlotSet,
}

/// Longest chain of parents that is followed: a guard against cycles.
const MAX_DEPTH: usize = 1024;

impl Parents {
    /// Sets the parent of an object.
    pub(super) fn set(&mut self, slot: u32, parent: Option<u32>) {
        let place = slot as usize;
        if self.of.len() <= place {
            if parent.is_none() {
                return;
            }
            self.of.resize(place + 1, None);
        }
        if core::mem::replace(&mut self.of[place], parent).is_none() && parent.is_some() {
            self.children.push(slot);
        }
        self.is_unsorted = true;
    }

    /// Forgets the parent and the children of an object that despawned.
    pub(super) fn clear(&mut self, slot: u32) {
        if self.children.is_empty() {
            return;
        }
        for parent in &mut self.of {
            if *parent == Some(slot) {
                *parent = None;
            }
        }
        self.set(slot, None);
    }

    /// Finds the children with an ancestor that is not in `always`.
    pub(super) fn update(&mut self, always: &SlotSet) {
        self.restricted.clear();
        if self.children.is_empty() {
            return;
        }
        if core::mem::take(&mut self.is_unsorted) {
            let Self { of, children, .. } = self;
            children.retain(|&slot| of[slot as usize].is_some());
            children.sort_unstable_by_key(|&slot| (depth(of, slot), slot));
            children.dedup();
        }
        self.is_restricted.clear();
        self.is_restricted.resize(self.of.len());
        for &slot in &self.children {
            let Some(parent) = self.of[slot as usize] else { continue };
            if !always.contains(parent) || self.is_restricted.contains(parent) {
                self.is_restricted.set(slot, true);
                self.restricted.push(slot);
            }
        }
    }

    /// Removes the children of invisible parents from the visible objects of a receiver. `owned`
    /// are the slots of its own objects, which stay.
    pub(super) fn hide(&self, visible: &mut SlotSet, owned: &[u32]) {
        for &slot in &self.restricted {
            let parent = self.of.get(slot as usize).copied().flatten();
            if parent.is_some_and(|parent| !visible.contains(parent)) && !owned.contains(&slot) {
                visible.set(slot, false);
            }
        }
    }
}

fn depth(of: &[Option<u32>], slot: u32) -> usize {
    let parent = |slot: &u32| of.get(*slot as usize).copied().flatten();
    core::iter::successors(parent(&slot), parent).take(MAX_DEPTH).count()
}
