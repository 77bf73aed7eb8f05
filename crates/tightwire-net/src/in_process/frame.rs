//! What travels over a link: a header, the content, and a CRC-32 of both.

use crate::message::Delivery;
use tightwire_core::stream::{ReadStream, Stream as _, Wire};

/// How many pieces of a lane can be on their way: an acknowledgement names each of them.
pub(super) const WINDOW: u32 = 1024;

/// The reliable deliveries, each with numbers of its own.
pub(super) const LANES: [Delivery; 3] =
    [Delivery::Reliable, Delivery::ReliableOrdered, Delivery::ReliableOrderedFragmented];

/// The place of a delivery in [`LANES`], if it is there.
pub(super) fn lane_of(delivery: Delivery) -> Option<usize> {
    LANES.iter().position(|&lane| lane == delivery)
}

/// In front of every frame.
#[derive(Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Header {
    /// Counts the frames of the sender, and starts again after the last number.
    pub(super) number: u32,
    /// The sender's time in microseconds, for it to be told again.
    pub(super) stamp: u32,
    pub(super) kind: Kind,
}

/// What a frame is.
#[derive(Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Kind {
    /// Its content is [`Acks`]. Also keeps an idle connection alive.
    #[default]
    Acks,
    /// Its content is a batch.
    Unreliable,
    /// Its content is a batch; late if one with a later frame number has come.
    UnreliableSequenced,
    /// Its content is a batch of a reliable delivery, or a piece of one.
    Piece {
        delivery: Delivery,
        /// Counts the pieces of the delivery.
        number: u32,
        /// Whether the batch ends with it.
        is_last: bool,
    },
    /// The connection ends. Its content is a [`Reason`](crate::transport::Reason).
    Close,
    /// The end was heard.
    Closed,
}

/// What an end has received.
#[derive(Wire, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Acks {
    /// Whether the sender has heard nothing for a time, and asks for an answer.
    pub(super) is_asking: bool,
    /// The stamp of the last frame that came.
    pub(super) echo: u32,
    /// The microseconds since it came.
    pub(super) held: u32,
    /// The latest number of a frame that came.
    pub(super) latest: u32,
    /// The frames that came, each counted once. At 0, the fields above say nothing.
    #[wire(varint)]
    pub(super) heard: u64,
    /// In the order of [`LANES`].
    pub(super) lanes: [LaneAck; 3],
}

/// What an end has received of one lane.
#[derive(Wire, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct LaneAck {
    /// All before this one have come.
    pub(super) next: u32,
    /// A bit for each behind it, the lowest of the first word for `next` itself. What is not said is
    /// missing.
    #[wire(max_len = WINDOW as usize / 64)]
    pub(super) beyond: Vec<u64>,
}

/// Writes a frame into a buffer that is used again and again.
pub(super) fn seal<'a>(buffer: &'a mut Vec<u8>, header: Header, content: &[u8]) -> &'a [u8] {
    buffer.clear();
    let mut space = [0; Header::MAX_BYTES.next_multiple_of(8)];
    // A header has no value that cannot be written; without one, the receiver would drop the frame.
    buffer
        .extend_from_slice(tightwire_core::stream::encode(&header, &mut space).unwrap_or_default());
    buffer.extend_from_slice(content);
    let crc = crc32fast::hash(buffer);
    buffer.extend_from_slice(tightwire_core::stream::encode(&crc, &mut space).unwrap_or_default());
    buffer
}

/// Reads a frame; nothing if it is not as it was sent.
pub(super) fn open(datagram: &[u8]) -> Option<(Header, &[u8])> {
    let (frame, crc) = datagram.split_last_chunk::<{ u32::MAX_BYTES }>()?;
    if tightwire_core::stream::decode::<u32>(crc) != Ok(crc32fast::hash(frame)) {
        return None;
    }
    let mut header = Header::default();
    let mut stream = ReadStream::new(frame);
    stream.object(&mut header).ok()?;
    let content = frame.get(stream.position().div_ceil(8) as usize..)?;
    Some((header, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_with_any_bit_changed_or_cut_is_not_opened() {
        let kind = Kind::Piece { delivery: Delivery::Reliable, number: 77, is_last: true };
        let header = Header { number: 7, stamp: 9, kind };
        let mut buffer = Vec::new();
        let sealed = seal(&mut buffer, header, b"batch").to_vec();
        assert_eq!(open(&sealed), Some((header, &b"batch"[..])));
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(&changed), None, "bit {bit}");
        }
        for length in 0..sealed.len() {
            assert_eq!(open(&sealed[..length]), None, "{length} bytes");
        }
    }
}
