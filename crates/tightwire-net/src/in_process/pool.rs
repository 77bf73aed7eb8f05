//! Memory for batches to come.

/// Buffers that are used again, so that a connection in its steady state allocates nothing.
#[derive(Debug)]
pub(super) struct Pool {
    spare: Vec<Vec<u8>>,
    /// Buffers that grew beyond that are not kept.
    largest: usize,
}

impl Pool {
    /// How many buffers are kept.
    const MOST: usize = 1024;

    pub(super) fn new(piece: usize) -> Self {
        Self { spare: Vec::new(), largest: piece.saturating_mul(2) }
    }

    /// These bytes, in a buffer of its own.
    pub(super) fn copy(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.extend_from_slice(bytes);
        buffer
    }

    /// Takes a buffer that is not needed any more.
    pub(super) fn give(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() <= self.largest && self.spare.len() < Self::MOST {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

/// What it costs to keep some bytes: also a batch of one byte needs a place.
pub(super) const fn cost(bytes: usize) -> usize {
    bytes + 64
}
