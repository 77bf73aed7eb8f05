//! Results of the suite for a transport that passed.

use core::fmt;
use core::time::Duration;

use crate::message::Delivery;

/// Results for a transport that keeps its promises.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Counts of each delivery, in the order of [`Delivery::ALL`], both directions together.
    pub deliveries: [DeliveryCounts; Delivery::ALL.len()],
    /// Duration of all checks, on the clocks of the pairs.
    pub time: Duration,
    /// Number of frames of all checks.
    pub frames: u64,
    /// Hash of every event with its time: equal for two runs that went alike.
    pub digest: u64,
}

/// Counts of a delivery's batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct DeliveryCounts {
    /// Number of batches that were sent.
    pub sent: u64,
    /// Number of batches that arrived, each counted once.
    pub arrived: u64,
    /// Number of batches that arrived again.
    pub duplicated: u64,
    /// Number of batches that arrived after one that was sent later.
    pub overtaken: u64,
    /// Number of bytes that were sent.
    pub bytes: u64,
}

impl DeliveryCounts {
    /// Returns the number of batches that never arrived.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.sent.saturating_sub(self.arrived)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.arrived += other.arrived;
        self.duplicated += other.duplicated;
        self.overtaken += other.overtaken;
        self.bytes += other.bytes;
    }
}

/// Writes the results as a table.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (delivery, counts) in Delivery::ALL.iter().zip(&self.deliveries) {
            let DeliveryCounts { sent, arrived, duplicated, overtaken, bytes } = counts;
            let dropped = counts.dropped();
            let name = format!("{delivery:?}");
            writeln!(
                f,
                "{name:27} {sent:>7} sent, {bytes:>9} bytes; {arrived:>7} arrived, \
                 {dropped:>6} dropped, {duplicated:>5} duplicated, {overtaken:>6} overtaken"
            )?;
        }
        write!(f, "{:.3} s in {} frames", self.time.as_secs_f64(), self.frames)
    }
}
