//! Batches: the messages to one peer, one after the other.

use core::mem;

use super::header::{Header, Sizes};
use super::pool::Pool;
use super::{Bound, Delivery, Message, Route};
use tightwire_core::bytes::Packing;
use tightwire_core::stream::WriteError;

/// Messages of one delivery, with space for the batch's size in front.
#[derive(Debug, Default)]
pub(super) struct Batch {
    delivery: Delivery,
    /// Number of messages.
    messages: usize,
    bytes: Vec<u8>,
}

impl Batch {
    /// Creates an empty batch in this buffer.
    pub(super) fn new(delivery: Delivery, bytes: Vec<u8>) -> Self {
        let mut batch = Self { delivery, messages: 0, bytes };
        batch.start(delivery);
        batch
    }

    pub(super) fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Returns the number of messages.
    pub(super) fn messages(&self) -> usize {
        self.messages
    }

    /// Returns the bytes so far, including those of the size.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the batch has no messages.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.len() <= Sizes::of(self.delivery).batch()
    }

    /// Makes an empty batch the next one of this delivery; takes a buffer of `room` bytes if it has
    /// none.
    pub(super) fn restart(&mut self, delivery: Delivery, room: usize, pool: &mut Pool) {
        if self.bytes.capacity() == 0 {
            self.bytes = pool.take(room);
        }
        self.start(delivery);
    }

    #[inline]
    fn start(&mut self, delivery: Delivery) {
        self.delivery = delivery;
        self.messages = 0;
        self.bytes.clear();
        // With a length known at compile time, or this would be a call.
        match Sizes::of(delivery).batch() {
            2 => self.bytes.extend_from_slice(&[0; 2]),
            size => self.bytes.resize(size, 0),
        }
    }

    /// Drops the messages, and keeps the buffer if that has no more than `most` bytes.
    pub(super) fn clear(&mut self, most: usize, pool: &mut Pool) {
        self.bytes.clear();
        if self.bytes.capacity() > most {
            pool.put(mem::take(&mut self.bytes));
        }
    }

    /// Writes a message of at most `most` bytes in place, then its header and binding in the space
    /// before it. Returns the bytes of its body. A refused message leaves the batch as it was.
    pub(super) fn write<M: Message>(
        &mut self,
        message: &M,
        most: usize,
        packing: Packing,
        pool: &mut Pool,
        (number, route): (u8, Route),
    ) -> Result<usize, WriteError> {
        let sizes = Sizes::of(self.delivery);
        let start = self.bytes.len();
        let binding = start + sizes.header();
        let body = binding + Bound::size_of(route.bound);
        // Writers are fastest with whole words. The words are zeroed, so that no bytes of an
        // earlier batch can be sent.
        let room = most.next_multiple_of(8);
        self.make_room(body + room, pool);
        if body + room <= start + SMALL && start + SMALL <= self.bytes.capacity() {
            // With a length known at compile time, or this would be a call.
            self.bytes.extend_from_slice(&[0; SMALL]);
            self.bytes.truncate(body + room);
        } else {
            self.bytes.resize(body + room, 0);
        }
        let written = packing.encode(message, &mut self.bytes[body..]).map(<[u8]>::len);
        let size = *written.as_ref().unwrap_or(&0);
        self.bytes.truncate(if written.is_ok() { body + size } else { start });
        written?;
        if size > most {
            self.bytes.truncate(start);
            let [needed_bits, capacity_bits] = [size, most].map(|bytes| bytes as u64 * 8);
            return Err(WriteError::Full { needed_bits, capacity_bits });
        }
        sizes.put_header(&mut self.bytes[start..], Header::new(number, route, size));
        Bound::put(route.bound, &mut self.bytes[binding..]);
        self.messages += 1;
        Ok(size)
    }

    /// Appends a message that is already written, with its header.
    #[inline]
    pub(super) fn append(&mut self, message: &[u8], pool: &mut Pool) {
        self.make_room(self.bytes.len() + message.len(), pool);
        self.bytes.extend_from_slice(message);
        self.messages += 1;
    }

    /// Appends a message that is already written, if it is of the batch's delivery, and the batch
    /// then has no more than `most` messages and `limit` bytes and fits its buffer.
    #[inline]
    pub(super) fn append_within(
        &mut self,
        message: &[u8],
        delivery: Delivery,
        most: usize,
        limit: usize,
    ) -> bool {
        let is_empty = self.is_empty();
        let before = if is_empty { Sizes::of(delivery).batch() } else { self.bytes.len() };
        let end = before + message.len();
        let is_same = is_empty || (self.delivery == delivery && self.messages < most);
        if !is_same || end > limit || end > self.bytes.capacity() {
            return false;
        }
        if is_empty {
            self.start(delivery);
        }
        self.bytes.extend_from_slice(message);
        self.messages += 1;
        true
    }

    /// Makes room for `length` bytes in all.
    #[inline]
    fn make_room(&mut self, length: usize, pool: &mut Pool) {
        if length > self.bytes.capacity() {
            pool.enlarge(&mut self.bytes, length);
        }
    }

    /// Completes the batch, if it has messages.
    pub(super) fn finish(&mut self) -> Option<&[u8]> {
        if self.is_empty() {
            return None;
        }
        Sizes::of(self.delivery).put_batch(&mut self.bytes);
        Some(&self.bytes)
    }

    /// Returns the buffer, for reuse.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Bytes of a small message, with its header.
const SMALL: usize = 64;

/// Returns the largest body of a message in a batch of at most `limit` bytes; `None` if there is no
/// room for a header.
pub(super) fn max_body(route: Route, limit: usize) -> Option<usize> {
    let sizes = Sizes::of(route.delivery);
    let before = sizes.header() + Bound::size_of(route.bound) + sizes.batch();
    limit.min(sizes.max_batch()).checked_sub(before)
}
