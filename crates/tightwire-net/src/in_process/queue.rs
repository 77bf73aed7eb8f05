//! Queue of batches, in the order in which they were sent.

use std::collections::VecDeque;

use crate::message::Delivery;

/// A queue of batches, whose bytes are adjacent in one buffer: in its steady state a queue
/// allocates nothing.
#[derive(Debug, Default)]
pub(super) struct BatchQueue {
    entries: VecDeque<QueuedBatch>,
    bytes: Vec<u8>,
    /// Index of the first byte of the first batch.
    start: usize,
    /// Sum of all waiting batches.
    total: Amount,
}

/// A waiting batch.
#[derive(Clone, Copy, Debug)]
struct QueuedBatch {
    number: u64,
    delivery: Delivery,
    length: usize,
}

/// A number of batches, and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Amount {
    pub(super) batches: u64,
    pub(super) bytes: u64,
}

impl BatchQueue {
    /// Largest buffer that is kept, in bytes.
    const MAX_SPARE_BYTES: usize = 16 << 20;

    /// Adds a batch with the next number of its sender.
    pub(super) fn push(&mut self, number: u64, delivery: Delivery, batch: &[u8]) {
        self.compact();
        self.entries.push_back(QueuedBatch { number, delivery, length: batch.len() });
        self.bytes.extend_from_slice(batch);
        self.total.add(batch.len());
    }

    /// Takes the first batch.
    pub(super) fn pop(&mut self) -> Option<(Delivery, &[u8])> {
        let QueuedBatch { delivery, length, .. } = self.entries.pop_front()?;
        let start = self.start;
        self.start += length;
        self.total.remove(length);
        Some((delivery, &self.bytes[start..self.start]))
    }

    /// Moves batches of `other` behind those of this queue: all if this queue is empty, else as
    /// many as keep its cost up to `limit`. Returns the moved amount.
    pub(super) fn append(&mut self, other: &mut Self, limit: u64) -> Amount {
        let before = other.total;
        if self.entries.is_empty() {
            core::mem::swap(self, other);
            other.clear();
            return before;
        }
        while let Some(QueuedBatch { number, length, .. }) = other.entries.front().copied() {
            let mut more = self.total;
            more.add(length);
            if more.cost() > limit {
                break;
            }
            if let Some((delivery, batch)) = other.pop() {
                self.push(number, delivery, batch);
            }
        }
        before.without(other.total)
    }

    /// Drops the oldest batches until the rest costs no more than `limit`, and returns their
    /// number.
    pub(super) fn drop_oldest(&mut self, limit: u64) -> u64 {
        let before = self.total.batches;
        while self.total.cost() > limit && self.pop().is_some() {}
        before - self.total.batches
    }

    /// Returns the number of the first batch.
    pub(super) fn front(&self) -> Option<u64> {
        self.entries.front().map(|entry| entry.number)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Memory of all batches that wait, in bytes.
    pub(super) fn cost(&self) -> u64 {
        self.total.cost()
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        (self.start, self.total) = (0, Amount::default());
        self.bytes.clear();
        if self.bytes.capacity() > Self::MAX_SPARE_BYTES {
            self.bytes = Vec::new();
        }
    }

    /// Frees the space of batches that were taken, at a cost of one copy per byte on average.
    fn compact(&mut self) {
        if self.entries.is_empty() {
            self.clear();
        } else if self.start > self.bytes.len() / 2 {
            self.bytes.copy_within(self.start.., 0);
            self.bytes.truncate(self.bytes.len() - self.start);
            self.start = 0;
        }
    }
}

impl Amount {
    pub(super) fn add(&mut self, length: usize) {
        self.batches += 1;
        self.bytes += length as u64;
    }

    /// Returns the sum of two amounts.
    pub(super) fn with(self, other: Self) -> Self {
        Self { batches: self.batches + other.batches, bytes: self.bytes + other.bytes }
    }

    fn remove(&mut self, length: usize) {
        self.batches -= 1;
        self.bytes -= length as u64;
    }

    /// Returns the amount without a part of it.
    pub(super) fn without(self, part: Self) -> Self {
        Self { batches: self.batches - part.batches, bytes: self.bytes - part.bytes }
    }

    /// Returns the cost in bytes to keep the batches: a batch of one byte needs an entry too.
    pub(super) fn cost(self) -> u64 {
        self.bytes + 64 * self.batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_round_trip_through_the_queue() {
        let (mut here, mut there) = (BatchQueue::default(), BatchQueue::default());
        let (mut next, mut expected) = (0u64, 0u64);
        for round in 0..1000u64 {
            for _ in 0..round % 7 {
                here.push(next, Delivery::Reliable, &next.to_le_bytes()[..1 + next as usize % 8]);
                next += 1;
            }
            if round % 3 == 0 {
                there.append(&mut here, u64::MAX);
                assert!(here.is_empty() && here.total == Amount::default());
            }
            for _ in 0..round % 5 {
                assert_eq!(there.front(), (!there.is_empty()).then_some(expected));
                let Some((_, batch)) = there.pop() else { break };
                assert_eq!(*batch, expected.to_le_bytes()[..1 + expected as usize % 8]);
                expected += 1;
            }
            if round % 100 == 99 {
                expected += there.drop_oldest(500);
                assert!(there.total.cost() <= 500);
            }
        }
        assert!(expected > 1000, "{expected}");
    }
}
