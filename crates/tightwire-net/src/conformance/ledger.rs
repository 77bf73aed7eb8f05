//! Account of the batches of a delivery in one direction: sent and arrived.

use crate::message::Delivery;

use super::batch::{self, BatchId};
use super::{DeliveryCounts, End, Fault};

/// The batches of one delivery in one direction.
pub(super) struct Ledger {
    from: End,
    delivery: Delivery,
    counts: DeliveryCounts,
    /// One bit for each batch that has arrived.
    arrived: Vec<u64>,
    /// Highest number of the batches that have arrived; `None` before the first.
    latest: Option<u32>,
    /// Counts of the smallest batches, by their byte.
    tiny: Vec<SmallBatchCounts>,
}

/// Counts of batches that are too small to carry their number.
#[derive(Clone, Default)]
struct SmallBatchCounts {
    sent: u32,
    /// Number of these batches that have not arrived.
    left: u32,
}

impl Ledger {
    pub(super) fn new(from: End, delivery: Delivery) -> Self {
        let (arrived, tiny) = (Vec::new(), vec![SmallBatchCounts::default(); 256]);
        Self { from, delivery, counts: DeliveryCounts::default(), arrived, latest: None, tiny }
    }

    pub(super) fn counts(&self) -> &DeliveryCounts {
        &self.counts
    }

    /// Returns the number of the next batch to send.
    pub(super) fn next(&self) -> u32 {
        self.counts.sent as u32
    }

    /// Returns whether every sent batch has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.counts.arrived == self.counts.sent
    }

    pub(super) fn is_reliable(&self) -> bool {
        self.delivery.is_reliable()
    }

    fn is_in_order(&self) -> bool {
        !matches!(self.delivery, Delivery::Unreliable | Delivery::Reliable)
    }

    /// Counts the next batch as sent.
    pub(super) fn handle_sent(&mut self, length: usize) {
        let number = self.next();
        if number.is_multiple_of(64) {
            self.arrived.push(0);
        }
        if batch::is_tiny(number) {
            let tiny = &mut self.tiny[number as usize % 256];
            tiny.sent += 1;
            tiny.left += 1;
        }
        self.counts.sent += 1;
        self.counts.bytes += length as u64;
    }

    /// Checks and counts a batch that arrived.
    pub(super) fn handle_batch(&mut self, batch: &[u8]) -> Result<(), Fault> {
        let delivery = self.delivery;
        let changed = Fault::Changed { delivery, size: batch.len() };
        match batch::read(batch, self.from, delivery) {
            None => Err(changed),
            Some(BatchId::Tiny(byte)) if self.is_reliable() && self.is_in_order() => {
                // Ordered: this must be the next tiny batch. Missing batches before it are found
                // later.
                let first = self.latest.map_or(0, |latest| latest + 1);
                let next = (first..self.next()).find(|&number| batch::is_tiny(number));
                let Some(number) = next.filter(|&number| number as u8 == byte) else {
                    let after = self.latest.unwrap_or(0);
                    return Err(Fault::Order { delivery, number: byte.into(), after });
                };
                self.handle_number(number)
            }
            Some(BatchId::Tiny(byte)) if self.is_in_order() => {
                // Sequenced: this must be a batch behind the latest. How many were lost between is
                // unknown.
                let first = self.latest.map_or(0, |latest| latest + 1);
                let is_match = |number: &u32| batch::is_tiny(*number) && *number as u8 == byte;
                let Some(number) = (first..self.next()).find(is_match) else {
                    let after = self.latest.unwrap_or(0);
                    return Err(Fault::Order { delivery, number: byte.into(), after });
                };
                self.handle_number(number)
            }
            Some(BatchId::Tiny(byte)) => self.handle_tiny(byte, changed),
            Some(BatchId::Number(number)) if number >= self.next() => Err(changed),
            Some(BatchId::Number(number)) => self.handle_number(number),
        }
    }

    fn handle_number(&mut self, number: u32) -> Result<(), Fault> {
        let delivery = self.delivery;
        if let Some(after) = self.latest.filter(|&latest| number < latest)
            && delivery == Delivery::UnreliableSequenced
        {
            return Err(Fault::Order { delivery, number, after });
        }
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.arrived[word] & bit != 0 {
            if delivery != Delivery::Unreliable {
                return Err(Fault::Twice { delivery, number });
            }
            self.counts.duplicated += 1;
            return Ok(());
        }
        self.arrived[word] |= bit;
        self.counts.arrived += 1;
        match self.latest {
            Some(after) if number < after => {
                if self.is_in_order() {
                    return Err(Fault::Order { delivery, number, after });
                }
                self.counts.overtaken += 1;
            }
            _ => self.latest = Some(number),
        }
        Ok(())
    }

    /// Counts a batch that does not carry its number: only the totals are known.
    fn handle_tiny(&mut self, byte: u8, changed: Fault) -> Result<(), Fault> {
        let delivery = self.delivery;
        let SmallBatchCounts { sent, left } = &mut self.tiny[usize::from(byte)];
        match *left {
            0 if *sent == 0 => Err(changed),
            0 if delivery != Delivery::Unreliable => {
                Err(Fault::Twice { delivery, number: byte.into() })
            }
            0 => {
                self.counts.duplicated += 1;
                Ok(())
            }
            _ => {
                *left -= 1;
                self.counts.arrived += 1;
                Ok(())
            }
        }
    }

    /// Returns the fault if batches are still missing.
    pub(super) fn check_complete(&self) -> Result<(), Fault> {
        if self.is_complete() {
            return Ok(());
        }
        let DeliveryCounts { sent, arrived, .. } = self.counts;
        let has_arrived =
            |number: u32| self.arrived[number as usize / 64] >> (number % 64) & 1 == 1;
        let is_named = self.is_in_order();
        let is_missing =
            |number: &u32| (is_named || !batch::is_tiny(*number)) && !has_arrived(*number);
        let first = (0..self.next()).find(is_missing);
        Err(Fault::Lost { delivery: self.delivery, arrived, sent, first })
    }
}
