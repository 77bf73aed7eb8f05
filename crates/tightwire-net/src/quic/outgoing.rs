//! Sending: from batches to streams and datagrams.

use std::collections::VecDeque;

use crate::message::Delivery;
use bytes::{Bytes, BytesMut};
use quinn_proto::{Connection as Quinn, Dir, StreamId, WriteError};

use super::QuicConfig;
use crate::transport::NotSentError;

/// Batches that wait to be sent over one connection.
///
/// An unreliable batch is a datagram of QUIC. A batch of [`Delivery::Reliable`] is a stream of its
/// own, so that the loss of one delays no other. The batches of an ordered delivery follow each
/// other in one stream without further framing, since a batch begins with its size.
/// Each datagram and each stream begins with a byte that is its delivery.
///
/// Large batches let the others pass: their stream has the lowest priority, and leaves a part of
/// the congestion window free.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Sequence number of the next unreliable sequenced batch.
    sequence: u16,
    ordered: Ordered,
    fragmented: Ordered,
    /// Batches that wait for a stream.
    reliable: VecDeque<Bytes>,
    /// The batch that has a stream, and is not yet written as a whole; `None` if there is none.
    unfinished: Option<(StreamId, Bytes)>,
    /// Bytes of all waiting batches, and of those that fragment.
    backlog: usize,
    fragmented_backlog: usize,
    dropped: u64,
    /// Largest number of unacked bytes.
    window: u64,
    /// Buffer from which batches are split; QUIC returns the memory.
    buffer: BytesMut,
}

/// A stream of consecutive batches.
#[derive(Debug, Default)]
struct Ordered {
    /// Whether the first byte was sent, or waits.
    is_started: bool,
    stream: Option<StreamId>,
    /// Priority of the stream: streams of a higher priority are sent first.
    priority: i32,
    waiting: VecDeque<Bytes>,
}

impl Outgoing {
    pub(super) fn new(config: &QuicConfig) -> Self {
        let batches = |priority| Ordered { priority, ..Ordered::default() };
        Self {
            sequence: 0,
            ordered: batches(0),
            fragmented: batches(-1),
            reliable: VecDeque::new(),
            unfinished: None,
            backlog: 0,
            fragmented_backlog: 0,
            dropped: 0,
            window: config.send_window.into(),
            buffer: BytesMut::new(),
        }
    }

    /// Returns the bytes of waiting reliable batches. Large fragmented batches, and the one that is
    /// being sent, count little, since they delay no other.
    pub(super) fn backlog(&self) -> usize {
        let waiting = self.fragmented.waiting.iter().map(Bytes::len).enumerate();
        let passed = waiting.filter(|(place, length)| *place == 0 || *length > LARGE);
        passed.fold(self.backlog, |sum, (_, length)| sum - length + length.div_ceil(LARGE_SHARE))
    }

    /// Returns the number of waiting unreliable batches that were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Takes a batch that is not too long.
    pub(super) fn send(
        &mut self,
        quinn: &mut Quinn,
        delivery: Delivery,
        batch: &[u8],
        config: &QuicConfig,
    ) -> Result<(), NotSentError> {
        if !delivery.is_reliable() {
            self.send_datagram(quinn, delivery, batch);
            return Ok(());
        }
        // Fragmented batches leave room for the others, which pass them.
        let (waiting, most) = match delivery.fragments() {
            true => (self.fragmented_backlog, config.max_fragmented_backlog()),
            false => (self.backlog, config.max_backlog()),
        };
        // A single batch is always accepted, or the largest could never be sent.
        if waiting > 0 && waiting + batch.len() > most {
            return Err(NotSentError::Full { backlog: self.backlog });
        }
        let (queue, is_started) = match delivery {
            Delivery::ReliableOrdered => self.ordered.queue(),
            Delivery::ReliableOrderedFragmented => self.fragmented.queue(),
            _ => (&mut self.reliable, false),
        };
        let head = [head_of(delivery)];
        let head = if is_started { &[][..] } else { &head };
        self.backlog += head.len() + batch.len();
        if delivery.fragments() {
            self.fragmented_backlog += head.len() + batch.len();
        }
        queue.push_back(with_head(&mut self.buffer, head, batch));
        self.write(quinn);
        Ok(())
    }

    fn send_datagram(&mut self, quinn: &mut Quinn, delivery: Delivery, batch: &[u8]) {
        let mut head = [0; 3];
        head[0] = head_of(delivery);
        let head: &[u8] = if delivery == Delivery::UnreliableSequenced {
            // Never fails: two bytes have room for 16 bits.
            let _ = tightwire_core::stream::encode(&self.sequence, &mut head[1..]);
            self.sequence = self.sequence.wrapping_add(1);
            &head
        } else {
            &head[..1]
        };
        let datagram = with_head(&mut self.buffer, head, batch);
        let mut datagrams = quinn.datagrams();
        // QUIC makes room by dropping the oldest.
        self.dropped += u64::from(datagrams.send_buffer_space() < datagram.len());
        self.dropped += u64::from(datagrams.send(datagram, true).is_err());
    }

    /// Writes waiting batches to QUIC, as far as it takes them.
    pub(super) fn write(&mut self, quinn: &mut Quinn) {
        if self.backlog == 0 {
            return;
        }
        self.ordered.write(quinn, &mut self.backlog);
        self.write_reliable(quinn);
        quinn.set_send_window(self.window - self.window / 4);
        let before = self.backlog;
        self.fragmented.write(quinn, &mut self.backlog);
        self.fragmented_backlog -= before - self.backlog;
        quinn.set_send_window(self.window);
    }

    fn write_reliable(&mut self, quinn: &mut Quinn) {
        while let Some((stream, mut batch)) = self.next_reliable(quinn) {
            if !write(quinn, stream, &mut batch, &mut self.backlog) {
                self.unfinished = Some((stream, batch));
                return;
            }
            // Fails only if the other side refused the stream: the loss is its own.
            let _ = quinn.send_stream(stream).finish();
        }
    }

    fn next_reliable(&mut self, quinn: &mut Quinn) -> Option<(StreamId, Bytes)> {
        if let Some(unfinished) = self.unfinished.take() {
            return Some(unfinished);
        }
        let batch = self.reliable.pop_front()?;
        match quinn.streams().open(Dir::Uni) {
            Some(stream) => Some((stream, batch)),
            None => {
                self.reliable.push_front(batch);
                None
            }
        }
    }
}

impl Ordered {
    /// Returns the waiting batches, and whether there were any before.
    fn queue(&mut self) -> (&mut VecDeque<Bytes>, bool) {
        let is_started = core::mem::replace(&mut self.is_started, true);
        (&mut self.waiting, is_started)
    }

    fn write(&mut self, quinn: &mut Quinn, backlog: &mut usize) {
        if self.waiting.is_empty() {
            return;
        }
        let stream = match self.stream {
            Some(stream) => stream,
            None => {
                let Some(stream) = quinn.streams().open(Dir::Uni) else { return };
                // Never fails: it was just opened.
                let _ = quinn.send_stream(stream).set_priority(self.priority);
                *self.stream.insert(stream)
            }
        };
        while let Some(batch) = self.waiting.front_mut() {
            if !write(quinn, stream, batch, backlog) {
                return;
            }
            self.waiting.pop_front();
        }
    }
}

/// Bytes above which a waiting fragmented batch is large. Smaller ones count in full as backlog, so
/// that a peer that does not keep up with many of them counts as slow long before the limit of
/// waiting bytes.
const LARGE: usize = 16 << 10;
/// Divisor of the bytes of large batches that count as backlog: few enough that a session does not
/// hold back other batches for all of those that may wait.
const LARGE_SHARE: usize = 128;

/// Returns the largest batch that is not fragmented, for every delivery.
pub(super) fn max_datagram(quinn: &mut Quinn) -> usize {
    quinn.datagrams().max_size().unwrap_or(0).saturating_sub(3)
}

/// Returns the bytes of unreliable batches that can be sent without dropping others.
pub(super) fn datagram_room(quinn: &mut Quinn) -> usize {
    quinn.datagrams().send_buffer_space().saturating_sub(3)
}

/// Returns the first byte of a datagram or a stream.
fn head_of(delivery: Delivery) -> u8 {
    let mut byte = [0];
    // Never fails: a byte has room for 3 bits.
    let _ = tightwire_core::stream::encode(&delivery, &mut byte);
    byte[0]
}

fn with_head(buffer: &mut BytesMut, head: &[u8], batch: &[u8]) -> Bytes {
    buffer.reserve(head.len() + batch.len());
    buffer.extend_from_slice(head);
    buffer.extend_from_slice(batch);
    buffer.split().freeze()
}

/// Writes as much of a batch as QUIC takes. `true` if that is all of it.
fn write(quinn: &mut Quinn, stream: StreamId, batch: &mut Bytes, backlog: &mut usize) -> bool {
    match quinn.send_stream(stream).write_chunks(core::slice::from_mut(batch)) {
        Ok(written) => {
            *backlog -= written.bytes;
            batch.is_empty()
        }
        Err(WriteError::Blocked) => false,
        // The other side refused the stream: the loss is its own.
        Err(_) => {
            *backlog -= batch.len();
            true
        }
    }
}
