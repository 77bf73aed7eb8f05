//! Receiving: from streams and datagrams to batches.

use std::collections::{HashMap, VecDeque};

use crate::message::Delivery;
use bytes::{Buf, Bytes, BytesMut};
use quinn_proto::{Connection as Quinn, Dir, ReadError, StreamId};

use super::QuicConfig;
use super::guard::Guard;

/// Received streams and datagrams of one connection that are not yet handed out.
/// [`Outgoing`](super::outgoing::Outgoing) describes the form.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// Sequence number of the newest unreliable sequenced batch; `None` before the first.
    newest: Option<u16>,
    /// Streams that are not complete.
    streams: HashMap<StreamId, Assembly>,
    /// Streams that may have data, each once.
    readable: VecDeque<StreamId>,
    /// Ordered deliveries that have their one stream.
    ordered: Vec<Delivery>,
}

/// The start of a batch in a stream, up to the bytes that have arrived.
#[derive(Debug, Default)]
struct Assembly {
    delivery: Option<Delivery>,
    bytes: BytesMut,
    /// Whether the stream is in the queue of readable streams.
    is_queued: bool,
}

/// Name of a protocol violation that no honest peer commits.
pub(super) type Violation = &'static str;

impl Incoming {
    /// Handles new streams.
    pub(super) fn handle_opened(&mut self, quinn: &mut Quinn) {
        while let Some(stream) = quinn.streams().accept(Dir::Uni) {
            self.handle_readable(stream);
        }
    }

    /// Handles new data of a stream. QUIC reports each frame, also empty and repeated ones: a
    /// stream is queued once, or a paused peer could fill the queue.
    pub(super) fn handle_readable(&mut self, stream: StreamId) {
        let assembly = self.streams.entry(stream).or_default();
        if !core::mem::replace(&mut assembly.is_queued, true) {
            self.readable.push_back(stream);
        }
    }

    /// Makes another stream the first to be read, since a stream with data in each frame could
    /// starve the others.
    pub(super) fn rotate(&mut self) {
        if !self.readable.is_empty() {
            self.readable.rotate_left(1);
        }
    }

    /// Returns the next unreliable batch.
    pub(super) fn next_datagram(
        &mut self,
        quinn: &mut Quinn,
        guard: &Guard,
    ) -> Result<Option<(Delivery, Bytes)>, Violation> {
        while let Some(mut datagram) = quinn.datagrams().recv() {
            guard.handle_datagram(true);
            let delivery = delivery_of(&mut datagram)?;
            match delivery {
                Delivery::Unreliable => return Ok(Some((delivery, datagram))),
                Delivery::UnreliableSequenced => {
                    if self.is_newest(&mut datagram)? {
                        return Ok(Some((delivery, datagram)));
                    }
                }
                _ => return Err("reliable batch in a datagram"),
            }
        }
        guard.handle_datagram(false);
        Ok(None)
    }

    /// Whether a batch is newer than all before it, as far as 16 bits can tell.
    fn is_newest(&mut self, datagram: &mut Bytes) -> Result<bool, Violation> {
        if datagram.len() < 2 {
            return Err("datagram without a sequence number");
        }
        let number = datagram.split_to(2);
        let number = tightwire_core::stream::decode::<u16>(&number)
            .map_err(|_| "datagram without a sequence number")?;
        let is_newest = self.newest.is_none_or(|newest| (number.wrapping_sub(newest) as i16) > 0);
        if is_newest {
            self.newest = Some(number);
        }
        Ok(is_newest)
    }

    /// Returns the next reliable batch.
    pub(super) fn next_batch(
        &mut self,
        quinn: &mut Quinn,
        guard: &Guard,
        config: &QuicConfig,
    ) -> Result<Option<(Delivery, Bytes)>, Violation> {
        let Self { streams, readable, ordered, .. } = self;
        while let Some(&stream) = readable.front() {
            let assembly = streams.entry(stream).or_default();
            let mut read = StreamProgress::default();
            let next = assembly.read(quinn, stream, ordered, config, &mut read);
            match &next {
                Ok(Next::Batch(..) | Next::Blocked) if read.count == 0 => {}
                Ok(Next::Batch(..) | Next::Blocked) => {
                    guard.handle_read(stream.into(), read.count, read.offset);
                }
                Ok(Next::Last(_) | Next::Nothing) | Err(_) => guard.handle_end(stream.into()),
            }
            match next? {
                // Further batches may follow in the same stream.
                Next::Batch(delivery, batch) => return Ok(Some((delivery, batch))),
                Next::Last(batch) => {
                    readable.pop_front();
                    streams.remove(&stream);
                    return Ok(Some((Delivery::Reliable, batch)));
                }
                Next::Blocked => {
                    readable.pop_front();
                    assembly.is_queued = false;
                }
                Next::Nothing => {
                    readable.pop_front();
                    streams.remove(&stream);
                }
            }
        }
        Ok(None)
    }
}

/// Number of parts of a stream that were read, and the offset up to which.
#[derive(Default)]
struct StreamProgress {
    count: u32,
    offset: u64,
}

/// Result of reading a stream.
enum Next {
    Batch(Delivery, Bytes),
    /// A batch that is the whole stream.
    Last(Bytes),
    /// A batch is incomplete: more data has to come.
    Blocked,
    Nothing,
}

impl Assembly {
    /// Reads the next batch of its stream.
    fn read(
        &mut self,
        quinn: &mut Quinn,
        stream: StreamId,
        ordered: &mut Vec<Delivery>,
        config: &QuicConfig,
        read: &mut StreamProgress,
    ) -> Result<Next, Violation> {
        if let Some(found) = self.next(config)? {
            return Ok(found);
        }
        let mut receiving = quinn.recv_stream(stream);
        // The stream was read to its end before.
        let Ok(mut chunks) = receiving.read(true) else { return Ok(Next::Nothing) };
        loop {
            match chunks.next(self.wanted(config)) {
                Ok(Some(chunk)) => {
                    read.count += 1;
                    read.offset = chunk.offset + chunk.bytes.len() as u64;
                    let mut bytes = chunk.bytes;
                    if self.delivery.is_none() {
                        self.begin(&mut bytes, ordered)?;
                    }
                    let whole = self.take_whole(&mut bytes, config);
                    self.bytes.extend_from_slice(&bytes);
                    let found = if whole.is_some() { whole } else { self.next(config)? };
                    if let Some(found) = found {
                        return Ok(found);
                    }
                }
                Ok(None) if self.delivery == Some(Delivery::Reliable) => {
                    return Ok(Next::Last(self.bytes.split().freeze()));
                }
                Ok(None) => return Err("unexpected end of a stream"),
                Err(ReadError::Blocked) => return Ok(Next::Blocked),
                Err(ReadError::Reset(_)) => return Err("stream reset"),
            }
        }
    }

    /// Takes the first byte, which is the delivery.
    fn begin(&mut self, bytes: &mut Bytes, ordered: &mut Vec<Delivery>) -> Result<(), Violation> {
        let delivery = delivery_of(bytes)?;
        match delivery {
            Delivery::Reliable => {}
            Delivery::ReliableOrdered | Delivery::ReliableOrderedFragmented => {
                if ordered.contains(&delivery) {
                    return Err("second stream of an ordered delivery");
                }
                ordered.push(delivery);
            }
            _ => return Err("unreliable batch in a stream"),
        }
        self.delivery = Some(delivery);
        Ok(())
    }

    /// Returns the next batch of an ordered stream, if it is complete.
    fn next(&mut self, config: &QuicConfig) -> Result<Option<Next>, Violation> {
        let Some(delivery) = self.delivery else { return Ok(None) };
        if delivery == Delivery::Reliable {
            // The batch ends with its stream.
            let is_short = self.bytes.len() <= MAX_BATCH;
            return if is_short { Ok(None) } else { Err("batch too long") };
        }
        let Some(length) = length_of(&self.bytes, delivery) else { return Ok(None) };
        if length > limit_of(delivery, config) {
            return Err("batch too long");
        }
        if self.bytes.len() < length {
            return Ok(None);
        }
        Ok(Some(Next::Batch(delivery, self.bytes.split_to(length).freeze())))
    }

    /// Returns the next batch of an ordered stream without a copy, if it is whole in the packet, as
    /// most are. The rest stays in `bytes`.
    fn take_whole(&self, bytes: &mut Bytes, config: &QuicConfig) -> Option<Next> {
        let delivery = self.delivery.filter(|delivery| *delivery != Delivery::Reliable)?;
        let length = length_of(bytes, delivery)?;
        let is_whole = self.bytes.is_empty() && length <= bytes.len();
        let is_allowed = length <= limit_of(delivery, config);
        (is_whole && is_allowed).then(|| Next::Batch(delivery, bytes.split_to(length)))
    }

    /// Returns the number of bytes to read at most: no further than the end of the batch, or a peer
    /// could have any number of small batches waiting here.
    fn wanted(&self, config: &QuicConfig) -> usize {
        let Some(delivery) = self.delivery else { return MAX_BATCH };
        let length = length_of(&self.bytes, delivery).unwrap_or(MAX_BATCH);
        length.min(limit_of(delivery, config)).saturating_sub(self.bytes.len()).max(1)
    }
}

/// Returns the length of the batch at the front of an ordered stream, including its size.
fn length_of(bytes: &[u8], delivery: Delivery) -> Option<usize> {
    let content = if delivery.fragments() {
        u32::from_le_bytes(*bytes.first_chunk()?) as usize
    } else {
        u16::from_le_bytes(*bytes.first_chunk()?).into()
    };
    content.checked_add(if delivery.fragments() { 4 } else { 2 })
}

fn limit_of(delivery: Delivery, config: &QuicConfig) -> usize {
    if delivery.fragments() { config.max_fragmented } else { MAX_BATCH }
}

/// Takes the byte with which a datagram or a stream begins.
fn delivery_of(bytes: &mut Bytes) -> Result<Delivery, Violation> {
    if bytes.is_empty() {
        return Err("empty datagram or stream");
    }
    tightwire_core::stream::decode(&[bytes.get_u8()]).map_err(|_| "a delivery that there is not")
}

/// Largest batch that is not fragmented, in bytes: no packet of ours is longer.
const MAX_BATCH: usize = 1500;

#[cfg(test)]
mod tests {
    use quinn_proto::Side;

    use super::*;

    #[test]
    fn a_stream_is_queued_once() {
        let mut incoming = Incoming::default();
        for frame in 0..10_000 {
            incoming.handle_readable(StreamId::new(Side::Client, Dir::Uni, frame % 10));
        }
        assert_eq!((incoming.readable.len(), incoming.streams.len()), (10, 10));
    }
}
