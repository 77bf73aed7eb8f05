//! Reuse of buffers.
//!
//! A batch that is sent grows in a buffer of the pool, which it exchanges for a larger one if
//! necessary. Buffers keep their sizes, so that after a while there is one for every use.

use core::mem;

/// Free buffers, up to a number of bytes in all.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Buffers for datagrams, and larger ones: a large buffer is not spent on a small batch.
    small: Vec<Vec<u8>>,
    large: Vec<Vec<u8>>,
    bytes: usize,
    max_bytes: usize,
}

impl Pool {
    /// Size of a small buffer, in bytes: somewhat more than any datagram on a common network.
    pub(super) const SMALL: usize = 2048;

    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// Returns the capacity of a buffer for `room` bytes: one of few sizes, so that buffers can be
    /// reused for each other.
    pub(super) fn size(room: usize) -> usize {
        room.max(Self::SMALL).next_power_of_two()
    }

    /// Returns an empty buffer with room for `room` bytes.
    pub(super) fn take(&mut self, room: usize) -> Vec<u8> {
        let found = if room <= Self::SMALL {
            self.small.pop()
        } else {
            // The smallest that fits, or the next large batch would find none.
            let rooms = self.large.iter().map(Vec::capacity).enumerate();
            let smallest = rooms.filter(|(_, has)| *has >= room).min_by_key(|(_, has)| *has);
            smallest.map(|(place, _)| self.large.swap_remove(place))
        };
        let Some(buffer) = found else { return Vec::with_capacity(Self::size(room)) };
        self.bytes -= buffer.capacity();
        buffer
    }

    /// Exchanges a buffer for one with room for `room` bytes, and copies its contents.
    pub(super) fn enlarge(&mut self, buffer: &mut Vec<u8>, room: usize) {
        let mut larger = self.take(room);
        larger.extend_from_slice(buffer);
        self.put(mem::replace(buffer, larger));
    }

    /// Takes a buffer back, or frees it if the pool is full.
    pub(super) fn put(&mut self, mut buffer: Vec<u8>) {
        let room = buffer.capacity();
        if room == 0 || self.bytes + room > self.max_bytes {
            return;
        }
        buffer.clear();
        self.bytes += room;
        if room <= Self::SMALL { self.small.push(buffer) } else { self.large.push(buffer) }
    }
}
