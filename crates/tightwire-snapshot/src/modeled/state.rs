//! The learned state of the model. Every packet that may become a baseline keeps a copy of it, so
//! the state is plain arrays, which are cheap to copy.

use alloc::vec::Vec;

use super::mixture::TableRow;
use super::range_coder::Coder;
use super::vertical::Vertical;

/// Everything that the model has learned up to the end of a packet.
#[derive(Debug, Default)]
pub(crate) struct ModelState {
    /// Adaptive bits: 22 bits of probability, 10 bits of count.
    pub(super) bits: Vec<u32>,
    /// Weights and widths of the mixtures.
    pub(super) params: Vec<TableRow>,
    /// Weights of the linear predictors, four in a vector.
    pub(super) weights: Vec<[f32; 4]>,
    /// Recent values and averages.
    pub(super) recent: Vec<i32>,
    /// The vertical axis of positions.
    pub(super) vertical: Vertical,
    /// Largest id that was ever updated; `None` before the first update.
    pub(super) last_id: Option<u32>,
}

impl Clone for ModelState {
    fn clone(&self) -> Self {
        let mut clone = Self::default();
        clone.clone_from(self);
        clone
    }

    fn clone_from(&mut self, source: &Self) {
        // Reuses the memory of `self`, which a derived `Clone` would not.
        self.bits.clone_from(&source.bits);
        self.params.clone_from(&source.params);
        self.weights.clone_from(&source.weights);
        self.recent.clone_from(&source.recent);
        self.vertical = source.vertical;
        self.last_id = source.last_id;
    }
}

impl ModelState {
    /// Returns the size in bytes.
    pub(crate) fn size(&self) -> usize {
        4 * self.bits.len()
            + size_of::<TableRow>() * self.params.len()
            + 16 * self.weights.len()
            + 4 * self.recent.len()
    }

    /// Adds adaptive bits; returns the index of the first.
    pub(super) fn add_bits(&mut self, count: usize) -> usize {
        let first = self.bits.len();
        self.bits.resize(first + count, 1 << 31);
        first
    }

    /// Adds weights of a linear predictor; returns the index of the first vector.
    pub(super) fn add_weights(&mut self, weights: &[[f32; 4]]) -> usize {
        let first = self.weights.len();
        self.weights.extend_from_slice(weights);
        first
    }

    /// Adds recent values; returns the index of the first.
    pub(super) fn add_recent(&mut self, values: &[i32]) -> usize {
        let first = self.recent.len();
        self.recent.extend_from_slice(values);
        first
    }
}

/// Codes a bit by an adaptive probability, which learns fast at first and then averages over
/// `limit` bits.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn code_bit<C: Coder>(coder: &mut C, slot: &mut u32, limit: u32, bit: bool) -> bool {
    let chance = (*slot >> 16).clamp(32, 65536 - 32);
    let bit = coder.bit(chance, bit);
    learn(slot, limit, bit);
    bit
}

/// Weight of the next bit after `count` bits: `2 / (2 * count + 3)` with 16 fraction bits. The
/// probability is that of counting, with an initial count of one quarter for each value of the bit.
static SHARE_OF_NEXT: [u32; 256] = {
    let mut table = [0; 256];
    let mut count = 0;
    while count < 256 {
        table[count] = (2 << 16) / (2 * count as u32 + 3);
        count += 1;
    }
    table
};

#[cfg_attr(not(debug_assertions), inline(always))]
fn learn(slot: &mut u32, limit: u32, bit: bool) {
    let count = *slot & 1023;
    let chance = i64::from(*slot >> 10);
    let target = if bit { (1 << 22) - 1 } else { 0 };
    let share = i64::from(SHARE_OF_NEXT[count as usize & 255]);
    let chance = chance + (((target - chance) * share) >> 16);
    *slot = (chance as u32) << 10 | (count + u32::from(count < limit));
}
