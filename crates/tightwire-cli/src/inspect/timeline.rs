//! Bytes over time, in a limited number of steps.

/// Maximum number of steps; beyond it, every two steps become one.
const MAX_STEPS: usize = 240;

/// Maximum number of packet kinds; the other kinds share the last entry.
const MAX_KINDS: usize = 12;

/// Bytes in each step of time, by kind of packet.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// Length of a step, in seconds.
    pub(crate) step: f64,
    /// Bytes by kind in each step; the last entry is for all other packets.
    pub(crate) bytes: Vec<[u64; MAX_KINDS + 1]>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { step: 1.0 / 64.0, bytes: Vec::new() }
    }
}

impl Timeline {
    pub(crate) fn add(&mut self, time: f64, kind: Option<usize>, bytes: u64) {
        // Times before the first packet, and NaN, count for the first step.
        let time = time.clamp(0.0, 1e12);
        while time / self.step >= MAX_STEPS as f64 {
            self.halve();
        }
        let at = (time / self.step) as usize;
        if self.bytes.len() <= at {
            self.bytes.resize(at + 1, [0; MAX_KINDS + 1]);
        }
        self.bytes[at][kind.map_or(MAX_KINDS, |kind| kind.min(MAX_KINDS))] += bytes;
    }

    /// Returns the bytes of each step.
    pub(crate) fn totals(&self) -> Vec<u64> {
        self.bytes.iter().map(|step| step.iter().sum()).collect()
    }

    fn halve(&mut self) {
        self.step *= 2.0;
        let pairs = self.bytes.chunks(2);
        self.bytes = pairs
            .map(|pair| {
                let mut sum = pair[0];
                for (to, from) in sum.iter_mut().zip(pair.get(1).into_iter().flatten()) {
                    *to += from;
                }
                sum
            })
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_capture_has_as_many_steps_as_a_short_one_and_loses_nothing() {
        let mut timeline = Timeline::default();
        for second in 0..100_000 {
            timeline.add(f64::from(second), Some(second as usize % 20), 3);
        }
        assert!((MAX_STEPS / 2..=MAX_STEPS).contains(&timeline.bytes.len()));
        assert_eq!(timeline.totals().iter().sum::<u64>(), 300_000);
    }

    #[test]
    fn times_out_of_order_and_out_of_range_are_counted() {
        let mut timeline = Timeline::default();
        for time in [0.0, -5.0, f64::NAN, 1e300, f64::INFINITY] {
            timeline.add(time, None, 1);
        }
        assert_eq!(timeline.totals().iter().sum::<u64>(), 5);
        assert!(timeline.bytes.len() <= MAX_STEPS);
    }
}
