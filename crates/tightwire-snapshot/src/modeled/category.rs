//! Values without order: flags, enum ordinals, presence; and bits without a known meaning.

use super::bucket::bucket;
use super::plan::ObjectContext;
use super::range_coder::Coder;
use super::state::{ModelState, code_bit};
use crate::update::AckedState;

/// Bits of a value that are coded adaptively, from the top; the lower bits are coded evenly.
const TREE: u32 = 6;

#[derive(Clone, Debug)]
pub(super) struct CategoryPlan {
    column: usize,
    bits: u32,
    max: u32,
    same: usize,
    tree: usize,
    rows: usize,
}

impl CategoryPlan {
    /// Creates a plan with the tables of `like`, or with new ones.
    pub(super) fn new(
        state: &mut ModelState,
        column: usize,
        max: u32,
        like: Option<&Self>,
    ) -> Self {
        let bits = 32 - max.leading_zeros();
        if let Some(other) = like {
            return Self { column, bits, max, ..other.clone() };
        }
        // Small categories condition on the previous value.
        let rows = if bits <= 3 { 1 + max as usize + 1 } else { 2 };
        Self {
            column,
            bits,
            max,
            same: state.add_bits(3 * 4 * 2 * 8),
            tree: state.add_bits(rows << bits.min(TREE)),
            rows,
        }
    }

    /// Whether a column can share the tables.
    pub(super) fn is_like(&self, max: u32) -> bool {
        self.max == max || (self.bits >= TREE && max >> (TREE - 1) != 0)
    }

    pub(super) fn code<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        cells: &mut [u32],
        acked: &[AckedState<'_>],
        context: &mut ObjectContext<'_>,
    ) {
        let value = cells[self.column];
        let mut row = 0;
        if let Some(p) = acked.first() {
            let old = p.cells[self.column];
            let was_changing = usize::from(context.motions.has_changed(self.column));
            let slot = self.same
                + ((context.unchanged_state * 4
                    + bucket(context.prediction_error, 7).saturating_sub(1) / 2)
                    * 2
                    + was_changing)
                    * 8
                + if self.bits <= 3 { old as usize & 7 } else { 0 };
            if code_bit(coder, &mut state.bits[slot], 255, value == old) {
                cells[self.column] = old;
                return;
            }
            context.unchanged_state = 2;
            row = if self.bits <= 3 { 1 + old as usize } else { 1 };
        }
        let low_bits = self.bits.saturating_sub(TREE);
        let tree = self.tree + (row.min(self.rows - 1) << self.bits.min(TREE));
        let mut node = 1usize;
        for i in (0..self.bits.min(TREE)).rev() {
            let bit = value >> (low_bits + i) & 1 != 0;
            let bit = code_bit(coder, &mut state.bits[tree + node], 60, bit);
            node = node * 2 + usize::from(bit);
        }
        let mut result = (node as u32).wrapping_sub(1 << self.bits.min(TREE));
        for i in (0..low_bits).rev() {
            let bit = coder.bit(1 << 15, value >> i & 1 != 0);
            result = result << 1 | u32::from(bit);
        }
        cells[self.column] = result.min(self.max);
    }
}
