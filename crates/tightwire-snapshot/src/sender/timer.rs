//! The time that a sender spends on coding, by a clock of the program: this layer has none.

use core::time::Duration;

use super::Sender;

/// Sum of the times of some work, if there is a clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timer {
    pub(super) clock: Option<fn() -> Duration>,
    total: Duration,
}

impl Timer {
    /// Does the work, and adds its time.
    pub(super) fn measure<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let Some(clock) = self.clock else { return work() };
        let start = clock();
        let result = work();
        self.total += clock().saturating_sub(start);
        result
    }
}

impl Sender {
    /// Sets the clock by which [`coding_time`](Self::coding_time) is measured: a function that returns the time
    /// since any fixed moment. Without one, which is the default, nothing is measured.
    pub fn set_clock(&mut self, clock: fn() -> Duration) {
        self.maker.timer.clock = Some(clock);
    }

    /// Time that was spent on coding the bodies of snapshots since [`set_clock`](Self::set_clock), of all threads
    /// together. The rest of the time of a snapshot is that of finding and ordering the dirty objects, and of
    /// recording what was sent.
    ///
    /// ```
    /// use std::sync::LazyLock;
    /// use std::time::{Duration, Instant};
    /// use tightwire::snapshot::{self, Leaving};
    ///
    /// static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u32>().build()?;
    /// let mut sender = snapshot::Sender::new(&protocol);
    /// let client = sender.add_receiver(Leaving::Despawn);
    /// sender.set_clock(|| START.elapsed());
    /// sender.begin_tick(1);
    /// sender.set(7, &100u32)?;
    /// assert_eq!(sender.coding_time(), Duration::ZERO);
    /// sender.snapshot(client, 1000);
    /// assert!(sender.coding_time() > Duration::ZERO);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn coding_time(&self) -> Duration {
        let total = self.maker.timer.total;
        #[cfg(feature = "parallel")]
        let total = total + self.makers.iter().map(|maker| maker.timer.total).sum::<Duration>();
        total
    }
}
