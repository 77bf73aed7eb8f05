//! What an end knows of its path: how long it takes, and which frames have come.

use core::time::Duration;

/// The time to the other end and back, and when to send again what was not acknowledged.
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    smoothed: Option<Duration>,
    jitter: Duration,
    /// How often the time to resend was doubled since something was acknowledged.
    backoff: u32,
}

/// Before anything is known.
const FIRST_GUESS: Duration = Duration::from_millis(250);
/// What the two ends take for a frame is not seen as jitter if it is always the same.
const LEAST_MARGIN: Duration = Duration::from_millis(20);
/// For paths that are shorter than that.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// More is a broken clock.
const LONGEST_SAMPLE: Duration = Duration::from_secs(60);

impl RoundTrip {
    /// Smoothed; zero if nothing is known.
    pub(super) fn smoothed(&self) -> Duration {
        self.smoothed.unwrap_or_default()
    }

    pub(super) fn jitter(&self) -> Duration {
        self.jitter
    }

    /// Takes one measurement. The weights are those of TCP.
    pub(super) fn handle_sample(&mut self, sample: Duration) {
        if sample > LONGEST_SAMPLE {
            return;
        }
        let Some(smoothed) = self.smoothed else {
            (self.smoothed, self.jitter) = (Some(sample), sample / 2);
            return;
        };
        self.jitter = (self.jitter * 3 + smoothed.abs_diff(sample)) / 4;
        self.smoothed = Some((smoothed * 7 + sample) / 8);
    }

    /// How long to wait for an acknowledgement.
    pub(super) fn wait(&self) -> Duration {
        let known = self.smoothed.map(|smoothed| {
            // A path that was steady for long is not trusted to the millisecond.
            smoothed + (self.jitter * 4).max(smoothed / 4).max(LEAST_MARGIN)
        });
        let wait = known.unwrap_or(FIRST_GUESS);
        wait.saturating_mul(1 << self.backoff).min(wait.max(LONGEST_WAIT))
    }

    /// Something was acknowledged.
    pub(super) fn handle_progress(&mut self) {
        self.backoff = 0;
    }

    /// Nothing was for as long as [`wait`](Self::wait) says.
    pub(super) fn handle_silence(&mut self) {
        self.backoff = (self.backoff + 1).min(6);
    }
}

/// The frames that came, each counted once.
#[derive(Debug)]
pub(super) struct Seen {
    latest: u32,
    count: u64,
    /// One bit for each of the last numbers, at the number's place in a circle.
    bits: [u64; Self::MEMORY as usize / 64],
}

impl Seen {
    /// How many numbers are remembered.
    const MEMORY: u32 = 2048;

    pub(super) fn new() -> Self {
        Self { latest: u32::MAX, count: 0, bits: [0; Self::MEMORY as usize / 64] }
    }

    pub(super) fn latest(&self) -> u32 {
        self.latest
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether a frame is not known to have come before. One that is too old to be remembered is not
    /// counted.
    pub(super) fn insert(&mut self, number: u32) -> bool {
        if is_later(number, self.latest) {
            let steps = number.wrapping_sub(self.latest);
            for step in 1..=steps.min(Self::MEMORY) {
                let number = self.latest.wrapping_add(step);
                *self.word(number) &= !bit(number);
            }
            self.latest = number;
        } else if self.latest.wrapping_sub(number) >= Self::MEMORY {
            return true;
        }
        let word = self.word(number);
        let is_new = *word & bit(number) == 0;
        *word |= bit(number);
        self.count += u64::from(is_new);
        is_new
    }

    fn word(&mut self, number: u32) -> &mut u64 {
        &mut self.bits[(number % Self::MEMORY / 64) as usize]
    }
}

fn bit(number: u32) -> u64 {
    1 << (number % 64)
}

/// Whether a number comes after another, where numbers start again after the last one.
pub(super) fn is_later(number: u32, than: u32) -> bool {
    number != than && number.wrapping_sub(than) <= u32::MAX / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_once_also_where_numbers_start_again() {
        let mut seen = Seen::new();
        assert!(seen.insert(0));
        seen.latest = u32::MAX - 2;
        seen.bits.fill(0);
        for number in [u32::MAX, 1, 0, u32::MAX - 1] {
            assert!(seen.insert(number), "{number}");
            assert!(!seen.insert(number), "{number} again");
        }
        assert_eq!((seen.latest(), seen.count()), (1, 5));
        assert!(seen.insert(5000));
        assert!(seen.insert(5000 - Seen::MEMORY + 1));
        assert_eq!(seen.count(), 7);
        // Not known, not counted.
        assert!(seen.insert(1));
        assert_eq!(seen.count(), 7);
    }

    #[test]
    fn the_wait_follows_the_round_trip_and_grows_in_silence() {
        let mut round_trip = RoundTrip::default();
        assert_eq!(round_trip.wait(), FIRST_GUESS);
        for _ in 0..100 {
            round_trip.handle_sample(Duration::from_millis(100));
        }
        let wait = round_trip.wait();
        assert!((125..126).contains(&wait.as_millis()), "{wait:?}");
        round_trip.handle_silence();
        assert_eq!(round_trip.wait(), wait * 2);
        for _ in 0..10 {
            round_trip.handle_silence();
        }
        assert_eq!(round_trip.wait(), LONGEST_WAIT);
        round_trip.handle_progress();
        assert_eq!(round_trip.wait(), wait);
    }
}
