//! The window of sequence numbers that were received.

/// Accepts each sequence number once, in any order, as long as it is among the latest
/// [`SIZE`](Self::SIZE).
///
/// A ring of words with a bit for each number. The window moves by whole words, which are cleared
/// when it enters them, so that moving costs a few stores, however far it goes.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplayWindow {
    /// One above the highest number that was received.
    end: u64,
    seen: [u64; WORDS as usize],
}

const WORDS: u64 = 16;

impl ReplayWindow {
    /// Size of the window. The word of the highest number may have just been cleared, so it does
    /// not count.
    pub(super) const SIZE: u64 = (WORDS - 1) * 64;

    /// Whether this number is new. It is not recorded yet: an unauthenticated datagram may be
    /// forged.
    pub(super) fn is_new(&self, sequence: u64) -> bool {
        if sequence >= self.end {
            // No peer uses the last number, and nothing could follow it.
            return sequence != u64::MAX;
        }
        let is_late = sequence.saturating_add(Self::SIZE) < self.end;
        !is_late && self.seen[word(sequence)] & bit(sequence) == 0
    }

    /// Records the number of a new and authentic datagram.
    pub(super) fn remember(&mut self, sequence: u64) {
        if sequence >= self.end {
            let entered = sequence / 64;
            // The word of the highest number so far is already cleared.
            let first = if self.end == 0 { 0 } else { (self.end - 1) / 64 + 1 };
            let from = first.max((entered + 1).saturating_sub(WORDS));
            (from..=entered).for_each(|index| self.seen[(index % WORDS) as usize] = 0);
            self.end = sequence + 1;
        }
        self.seen[word(sequence)] |= bit(sequence);
    }
}

fn word(sequence: u64) -> usize {
    (sequence / 64 % WORDS) as usize
}

fn bit(sequence: u64) -> u64 {
    1 << (sequence % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_list_of_everything_that_was_seen() {
        let mut random = 1u64;
        let mut next = |bound: u64| {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (random >> 33) % bound
        };
        for _ in 0..200 {
            let (mut window, mut seen, mut base) = (ReplayWindow::default(), Vec::new(), 0);
            for _ in 0..500 {
                base += [0, 1, 64, next(200), next(3000)][next(5) as usize];
                let sequence = base.saturating_sub(next(1500)) + next(5);
                let highest = seen.iter().max().copied();
                let is_late = highest.is_some_and(|high| sequence + ReplayWindow::SIZE <= high);
                assert_eq!(window.is_new(sequence), !is_late && !seen.contains(&sequence));
                if window.is_new(sequence) {
                    window.remember(sequence);
                    seen.push(sequence);
                }
            }
        }
    }

    #[test]
    fn the_last_numbers_do_not_wrap() {
        let mut window = ReplayWindow::default();
        window.remember(u64::MAX - 1);
        assert!(!window.is_new(u64::MAX - 1));
        assert!(!window.is_new(u64::MAX));
        assert!(!window.is_new(0));
        assert!(window.is_new(u64::MAX - 2));
    }
}
