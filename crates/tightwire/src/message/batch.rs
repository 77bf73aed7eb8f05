//! Messages on their way to one peer, one after the other.

use alloc::vec::Vec;

use super::header::{Header, Sizes};
use super::pool::Pool;
use super::{Delivery, Message, Route};
use crate::bytes::Packing;
use crate::stream::WriteError;

/// Messages of one delivery, with room for the size in front.
#[derive(Debug)]
pub(super) struct Batch {
    delivery: Delivery,
    bytes: Vec<u8>,
}

impl Batch {
    /// Without messages, in a buffer that is empty.
    pub(super) fn new(delivery: Delivery, mut bytes: Vec<u8>) -> Self {
        bytes.resize(Sizes::of(delivery).batch(), 0);
        Self { delivery, bytes }
    }

    pub(super) fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// The bytes so far, that of the size included.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is no message in it.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.len() == Sizes::of(self.delivery).batch()
    }

    /// Writes a message straight to its place, within so many bytes; then its header, in the space
    /// before it. Returns the bytes of its body. One that is refused leaves the batch as it was.
    pub(super) fn write<M: Message>(
        &mut self,
        message: &mut M,
        bound: usize,
        packing: Packing,
        pool: &mut Pool,
        header: impl FnOnce(usize) -> Header,
    ) -> Result<usize, WriteError> {
        let sizes = Sizes::of(self.delivery);
        let start = self.bytes.len();
        let body = start + sizes.header();
        // Whole words are written the fastest. They are zeros, so that nothing of an earlier batch
        // can be sent.
        let room = bound.next_multiple_of(8);
        self.make_room(body + room, pool);
        self.bytes.resize(body + room, 0);
        let written = packing.encode(message, &mut self.bytes[body..]).map(<[u8]>::len);
        let size = *written.as_ref().unwrap_or(&0);
        self.bytes.truncate(if written.is_ok() { body + size } else { start });
        written?;
        if size > bound {
            self.bytes.truncate(start);
            let [needed_bits, capacity_bits] = [size, bound].map(|bytes| bytes as u64 * 8);
            return Err(WriteError::Full { needed_bits, capacity_bits });
        }
        sizes.put_header(&mut self.bytes[start..], header(size));
        Ok(size)
    }

    /// Appends a message that is written already, header and all.
    pub(super) fn append(&mut self, message: &[u8], pool: &mut Pool) {
        self.make_room(self.bytes.len() + message.len(), pool);
        self.bytes.extend_from_slice(message);
    }

    /// Has memory for so many bytes in all.
    fn make_room(&mut self, length: usize, pool: &mut Pool) {
        if length > self.bytes.capacity() {
            pool.enlarge(&mut self.bytes, length);
        }
    }

    /// Completes the batch, if there are messages in it.
    pub(super) fn finish(&mut self) -> Option<&[u8]> {
        if self.is_empty() {
            return None;
        }
        Sizes::of(self.delivery).put_batch(&mut self.bytes);
        Some(&self.bytes)
    }

    /// Its memory, for the next.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// The largest body that a peer can get in one message.
pub(super) fn max_body(route: Route, limit: usize) -> usize {
    let sizes = Sizes::of(route.delivery);
    limit.min(sizes.max_batch()).saturating_sub(sizes.header() + sizes.batch())
}
