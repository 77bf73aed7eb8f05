//! Seeded random numbers.

/// A SplitMix64 generator. It is used for the demo's scene, never for secrets.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Makes a generator; each part of a demo has its own sequence of numbers.
    pub(super) fn new(seed: u64, part: u64) -> Self {
        Self(seed ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    /// Returns a number from `low` to below `high`.
    pub(super) fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.next() >> 40) as f32 / (1 << 24) as f32
    }

    /// Returns an index below `count`.
    pub(super) fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    /// Returns 64 random bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
