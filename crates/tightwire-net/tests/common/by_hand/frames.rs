//! Frames as bytes (RFC 9000, 19), and a parser of a server's frames.

/// A number in the fewest bytes that QUIC has for it.
pub(crate) fn varint(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0x3f => out.push(value as u8),
        0x40..=0x3fff => out.extend((0x4000 | value as u16).to_be_bytes()),
        0x4000..=0x3fff_ffff => out.extend((0x8000_0000 | value as u32).to_be_bytes()),
        _ => out.extend((0xc000_0000_0000_0000 | value).to_be_bytes()),
    }
}

/// A frame that is its type and numbers.
pub(crate) fn numbers(kind: u64, values: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(&mut out, kind);
    values.iter().for_each(|value| varint(&mut out, *value));
    out
}

pub(crate) fn with_data(kind: u64, values: &[u64], data: &[u8]) -> Vec<u8> {
    let mut out = numbers(kind, values);
    varint(&mut out, data.len() as u64);
    out.extend(data);
    out
}

pub(crate) fn ping() -> Vec<u8> {
    numbers(PING, &[])
}

/// Acknowledges `largest` and `first` packets before it; then pairs of a gap and a length.
pub(crate) fn ack(largest: u64, first: u64, ranges: &[(u64, u64)]) -> Vec<u8> {
    let mut out = numbers(ACK, &[largest, 0, ranges.len() as u64, first]);
    for (gap, length) in ranges {
        varint(&mut out, *gap);
        varint(&mut out, *length);
    }
    out
}

pub(crate) fn crypto(offset: u64, data: &[u8]) -> Vec<u8> {
    with_data(CRYPTO, &[offset], data)
}

/// STREAM frame of the client's unidirectional stream with this index.
pub(crate) fn stream(index: u64, offset: u64, data: &[u8], is_last: bool) -> Vec<u8> {
    with_data(STREAM | 6 | u64::from(is_last), &[stream_id(index), offset], data)
}

/// The number of the client's stream of one direction with this index.
pub(crate) fn stream_id(index: u64) -> u64 {
    index << 2 | 2
}

pub(crate) fn datagram(data: &[u8]) -> Vec<u8> {
    with_data(DATAGRAM, &[], data)
}

pub(crate) fn new_token(token: &[u8]) -> Vec<u8> {
    with_data(NEW_TOKEN, &[], token)
}

pub(crate) fn new_connection_id(sequence: u64, retire_before: u64, id: [u8; 8]) -> Vec<u8> {
    let mut out = with_data(NEW_CONNECTION_ID, &[sequence, retire_before], &id);
    out.extend([sequence as u8; 16]);
    out
}

pub(crate) fn path_challenge(token: [u8; 8]) -> Vec<u8> {
    [numbers(PATH_CHALLENGE, &[]), token.to_vec()].concat()
}

pub(crate) fn path_response(token: [u8; 8]) -> Vec<u8> {
    [numbers(PATH_RESPONSE, &[]), token.to_vec()].concat()
}

/// Closes the connection, as an application does, without a reason.
pub(crate) fn close() -> Vec<u8> {
    with_data(CLOSE_BY_APPLICATION, &[0], &[])
}

/// As many copies of a frame as a packet has room for.
pub(crate) fn packed(frame: &[u8]) -> Vec<u8> {
    frame.repeat(ROOM / frame.len())
}

/// Frames that the peer inspects.
#[derive(Debug)]
pub(crate) enum ReceivedFrame<'a> {
    Crypto { offset: u64, data: &'a [u8] },
    Stream { id: u64, offset: u64, data: &'a [u8] },
    Challenge([u8; 8]),
    Id { sequence: u64, id: &'a [u8] },
    Closed { code: u64, reason: &'a [u8] },
    Padding,
    Ack,
    Other,
}

/// Takes the first frame off a payload.
pub(crate) fn take<'a>(bytes: &mut &'a [u8]) -> Option<ReceivedFrame<'a>> {
    let kind = number(bytes)?;
    Some(match kind {
        0 => ReceivedFrame::Padding,
        ACK | ACK_ECN => {
            let [_, _, count, _] = four(bytes)?;
            for _ in 0..2 * count + if kind == ACK_ECN { 3 } else { 0 } {
                number(bytes)?;
            }
            ReceivedFrame::Ack
        }
        CRYPTO => ReceivedFrame::Crypto { offset: number(bytes)?, data: data(bytes)? },
        STREAM..=0x0f => {
            let id = number(bytes)?;
            let offset = if kind & 4 == 0 { 0 } else { number(bytes)? };
            let data = if kind & 2 == 0 { core::mem::take(bytes) } else { data(bytes)? };
            ReceivedFrame::Stream { id, offset, data }
        }
        NEW_TOKEN | DATAGRAM => {
            data(bytes)?;
            ReceivedFrame::Other
        }
        0x30 => {
            *bytes = &[];
            ReceivedFrame::Other
        }
        NEW_CONNECTION_ID => {
            let sequence = number(bytes)?;
            number(bytes)?;
            let id = data(bytes)?;
            split(bytes, 16)?;
            ReceivedFrame::Id { sequence, id }
        }
        PATH_CHALLENGE => ReceivedFrame::Challenge(split(bytes, 8)?.try_into().ok()?),
        PATH_RESPONSE => {
            split(bytes, 8)?;
            ReceivedFrame::Other
        }
        CLOSE | CLOSE_BY_APPLICATION => {
            let code = number(bytes)?;
            if kind == CLOSE {
                number(bytes)?;
            }
            ReceivedFrame::Closed { code, reason: data(bytes)? }
        }
        PING | HANDSHAKE_DONE => ReceivedFrame::Other,
        RESET_STREAM => {
            (0..3).try_for_each(|_| number(bytes).map(drop))?;
            ReceivedFrame::Other
        }
        STOP_SENDING | MAX_STREAM_DATA | STREAM_DATA_BLOCKED => {
            (0..2).try_for_each(|_| number(bytes).map(drop))?;
            ReceivedFrame::Other
        }
        MAX_DATA | MAX_STREAMS_BIDI | MAX_STREAMS | DATA_BLOCKED | STREAMS_BLOCKED_BIDI
        | STREAMS_BLOCKED | RETIRE_CONNECTION_ID => {
            number(bytes)?;
            ReceivedFrame::Other
        }
        _ => return None,
    })
}

/// Takes a number off some bytes.
pub(crate) fn number(bytes: &mut &[u8]) -> Option<u64> {
    let length = 1 << (bytes.first()? >> 6);
    let mut value = 0;
    for (at, byte) in split(bytes, length)?.iter().enumerate() {
        let byte = if at == 0 { byte & 0x3f } else { *byte };
        value = value << 8 | u64::from(byte);
    }
    Some(value)
}

fn four(bytes: &mut &[u8]) -> Option<[u64; 4]> {
    Some([number(bytes)?, number(bytes)?, number(bytes)?, number(bytes)?])
}

fn data<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = number(bytes)?;
    split(bytes, length.try_into().ok()?)
}

pub(crate) fn split<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(first)
}

pub(crate) const PING: u64 = 0x01;
pub(crate) const ACK: u64 = 0x02;
const ACK_ECN: u64 = 0x03;
pub(crate) const RESET_STREAM: u64 = 0x04;
pub(crate) const STOP_SENDING: u64 = 0x05;
pub(crate) const CRYPTO: u64 = 0x06;
pub(crate) const NEW_TOKEN: u64 = 0x07;
pub(crate) const STREAM: u64 = 0x08;
pub(crate) const MAX_DATA: u64 = 0x10;
pub(crate) const MAX_STREAM_DATA: u64 = 0x11;
pub(crate) const MAX_STREAMS_BIDI: u64 = 0x12;
pub(crate) const MAX_STREAMS: u64 = 0x13;
pub(crate) const DATA_BLOCKED: u64 = 0x14;
pub(crate) const STREAM_DATA_BLOCKED: u64 = 0x15;
const STREAMS_BLOCKED_BIDI: u64 = 0x16;
pub(crate) const STREAMS_BLOCKED: u64 = 0x17;
pub(crate) const NEW_CONNECTION_ID: u64 = 0x18;
pub(crate) const RETIRE_CONNECTION_ID: u64 = 0x19;
pub(crate) const PATH_CHALLENGE: u64 = 0x1a;
pub(crate) const PATH_RESPONSE: u64 = 0x1b;
const CLOSE: u64 = 0x1c;
const CLOSE_BY_APPLICATION: u64 = 0x1d;
pub(crate) const HANDSHAKE_DONE: u64 = 0x1e;
pub(crate) const IMMEDIATE_ACK: u64 = 0x1f;
pub(crate) const DATAGRAM: u64 = 0x31;
pub(crate) const ACK_FREQUENCY: u64 = 0xaf;

/// The bytes of frames that a packet of 1200 bytes has room for.
pub(crate) const ROOM: usize = 1150;
