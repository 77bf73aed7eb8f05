//! What the suite saw of a transport that passed.

use core::fmt;
use core::time::Duration;

use crate::message::Delivery;

/// What was seen of a transport that keeps its promises.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// In the order of [`Delivery::ALL`], both directions together.
    pub deliveries: [Figures; Delivery::ALL.len()],
    /// How long all checks took on the clock of the pairs.
    pub time: Duration,
    /// How many frames that were.
    pub frames: u64,
    /// Made of every event, with its time: two runs with the same one went alike.
    pub digest: u64,
}

/// What became of the batches of a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Figures {
    /// How many were sent.
    pub sent: u64,
    /// How many arrived, each counted once.
    pub arrived: u64,
    /// How many came again.
    pub doubled: u64,
    /// How many came after one that was sent later.
    pub overtaken: u64,
    /// The bytes that were sent.
    pub bytes: u64,
}

impl Figures {
    /// How many never arrived.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.sent.saturating_sub(self.arrived)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.arrived += other.arrived;
        self.doubled += other.doubled;
        self.overtaken += other.overtaken;
        self.bytes += other.bytes;
    }
}

/// A table, for people.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (delivery, figures) in Delivery::ALL.iter().zip(&self.deliveries) {
            let Figures { sent, arrived, doubled, overtaken, bytes } = figures;
            let dropped = figures.dropped();
            let name = format!("{delivery:?}");
            writeln!(
                f,
                "{name:27} {sent:>7} sent, {bytes:>9} bytes; {arrived:>7} arrived, \
                 {dropped:>6} dropped, {doubled:>5} doubled, {overtaken:>6} overtaken"
            )?;
        }
        write!(f, "{:.3} s in {} frames", self.time.as_secs_f64(), self.frames)
    }
}
