//! Conversion of the mixed probability of a value to an interval of integers.

/// Bits of a cumulative probability.
pub(super) const CHANCE: u32 = 24;

/// The values from 0 to `high`, and the probability that is left when each of them has its minimum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Range {
    high: i64,
    /// Bits of the total beyond `CHANCE`.
    more: u32,
    left: u64,
}

impl Range {
    pub(super) fn new(high: i64) -> Self {
        let values = high as u64 + 1;
        // The minimum shares of all values together are about 1/256 at most.
        let more = (64 - values.leading_zeros() + 8).saturating_sub(CHANCE);
        Self { high, more, left: (1 << CHANCE) - ((values + (1 << more) - 1) >> more) }
    }
}

/// Conversion of the mixed probability to integers up to a power of two: only values in
/// `first..=last` have a share of it, but every value has at least 1, so that any value can be
/// coded.
pub(super) struct Scale {
    pub(super) high: i64,
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) bottom: u64,
    pub(super) top: u64,
    is_bounded: bool,
    /// Factor of the probability between `bottom` and `top`, and the shift after it.
    factor: u64,
    shift: u32,
    /// Bits of the total.
    pub(super) bits: u32,
}

impl Scale {
    /// Creates the scale of a range, `inner` of which are the first and the last value that have a
    /// share, with the mixed probabilities below and up to them; `None` if all values have one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(range: &Range, inner: Option<((i64, i64), (u64, u64))>) -> Self {
        let Range { high, more, left } = *range;
        let ((first, last), (bottom, top)) = inner.unwrap_or(((0, high), (0, 1 << CHANCE)));
        let factor = match inner {
            Some(_) => (left << CHANCE) / (top - bottom).max(1),
            None => left,
        };
        let is_bounded = inner.is_some();
        let (shift, bits) = (CHANCE - more, CHANCE + more);
        Self { high, first, last, bottom, top, is_bounded, factor, shift, bits }
    }

    /// Returns the interval of a value, by the mixed probabilities at its edges.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn interval(&self, value: i64, [below, upto]: [u64; 2]) -> (u64, u64) {
        (self.place(value, below), self.place(value + 1, upto))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn place(&self, value: i64, mixed: u64) -> u64 {
        if value <= 0 {
            return 0;
        }
        if value > self.high {
            return 1 << self.bits;
        }
        let mass = if !self.is_bounded {
            mixed
        } else if value <= self.first {
            0
        } else if value > self.last {
            self.top - self.bottom
        } else {
            mixed.clamp(self.bottom, self.top) - self.bottom
        };
        ((mass * self.factor) >> self.shift) + value as u64
    }
}
