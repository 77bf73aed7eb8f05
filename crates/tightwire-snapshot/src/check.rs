//! A sum over all that a packet says: what a damaged one says, or a receiver that does not compute as
//! its sender does, is noticed.

use super::mention::Mention;

/// Two sums of two numbers at a time: a sum has to wait for what was added before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    one: u64,
    other: u64,
}

impl Check {
    /// Adds a mention with its cells.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn add(&mut self, mention: &Mention, cells: &[u32]) {
        let change = u32::from(mention.class) << 2 | mention.change as u32;
        add(&mut self.one, mention.id.0, change);
        let (fours, rest) = cells.as_chunks();
        for &[a, b, c, d] in fours {
            add(&mut self.one, a, b);
            add(&mut self.other, c, d);
        }
        rest.iter().for_each(|&cell| add(&mut self.one, cell, 0));
    }

    pub(super) fn value(self) -> u16 {
        ((self.one ^ self.other.rotate_left(32)).wrapping_mul(MULTIPLIER) >> 48) as u16
    }
}

impl Default for Check {
    fn default() -> Self {
        Self { one: MULTIPLIER, other: !MULTIPLIER }
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn add(sum: &mut u64, low: u32, high: u32) {
    let both = u64::from(high) << 32 | u64::from(low);
    *sum = (*sum ^ both).wrapping_mul(MULTIPLIER).rotate_left(29);
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
