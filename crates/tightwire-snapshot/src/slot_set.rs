//! Sets of slots, as bits.

use alloc::vec::Vec;

/// A set of slots. Slots beyond its [size](Self::resize) are not in it.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotSet {
    words: Vec<u64>,
}

impl SlotSet {
    /// Makes room for `slots` slots; new ones are not in the set.
    pub(super) fn resize(&mut self, slots: usize) {
        self.words.resize(slots.div_ceil(64), 0);
    }

    pub(super) fn contains(&self, slot: u32) -> bool {
        self.word(slot as usize / 64) >> (slot % 64) & 1 != 0
    }

    /// Adds or removes a slot. Returns whether it was in the set.
    pub(super) fn set(&mut self, slot: u32, is_in: bool) -> bool {
        let Some(word) = self.words.get_mut(slot as usize / 64) else { return false };
        let was_in = *word >> (slot % 64) & 1 != 0;
        *word = *word & !(1 << (slot % 64)) | u64::from(is_in) << (slot % 64);
        was_in
    }

    pub(super) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Returns 64 slots of the set, from slot `64 * place` on.
    #[inline]
    pub(super) fn word(&self, place: usize) -> u64 {
        self.words.get(place).copied().unwrap_or(0)
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
}
