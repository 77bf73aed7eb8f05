//! Packets, with their protection (RFC 9000, 17; RFC 9001, 5).

use rustls::quic::{DirectionalKeys, Keys};

use super::frames::{number, split, varint};

/// Encryption level: the keys that protect a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Initial,
    Handshake,
    OneRtt,
}

/// Fields before the packet number.
pub(crate) struct Header<'a> {
    pub(crate) level: Level,
    pub(crate) destination: &'a [u8],
    pub(crate) source: &'a [u8],
    /// Token of a Retry; empty without one.
    pub(crate) token: &'a [u8],
    /// Whether the keys of the last level were updated an odd number of times.
    pub(crate) key_phase: bool,
}

/// A packet with these frames. Its number has 4 bytes, so that every payload is long enough.
pub(crate) fn seal(
    keys: &DirectionalKeys,
    header: &Header<'_>,
    number: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut packet = Vec::with_capacity(64 + payload.len());
    if header.level == Level::OneRtt {
        packet.push(0x43 | u8::from(header.key_phase) << 2);
        packet.extend(header.destination);
    } else {
        let kind = if header.level == Level::Initial { 0xc3 } else { 0xe3 };
        packet.extend([kind, 0, 0, 0, 1, header.destination.len() as u8]);
        packet.extend(header.destination);
        packet.push(header.source.len() as u8);
        packet.extend(header.source);
        if header.level == Level::Initial {
            varint(&mut packet, header.token.len() as u64);
            packet.extend(header.token);
        }
        packet.extend((0x4000 | (4 + payload.len() + TAG) as u16).to_be_bytes());
    }
    let at = packet.len();
    packet.extend(number.to_be_bytes());
    packet.extend(payload);
    let (head, body) = packet.split_at_mut(at + 4);
    let tag = keys.packet.encrypt_in_place(number.into(), head, body).unwrap();
    packet.extend(tag.as_ref());
    let sample: [u8; 16] = packet[at + 4..at + 20].try_into().unwrap();
    let (first, rest) = packet.split_at_mut(1);
    keys.header.encrypt_in_place(&sample, &mut first[0], &mut rest[at - 1..at + 3]).unwrap();
    packet
}

/// A packet of the other side.
#[derive(Debug)]
pub(crate) enum Opened {
    Packet { level: Level, number: u64, source: Vec<u8>, payload: Vec<u8> },
    Retry { source: Vec<u8>, token: Vec<u8> },
}

/// Takes the first packet off a datagram. Nothing if there are no keys for it, or they do not fit.
pub(crate) fn open(
    datagram: &mut &[u8],
    own_id: usize,
    keys: &[Option<Keys>; 3],
    largest: [u64; 3],
) -> Option<Opened> {
    let whole = *datagram;
    let first = *whole.first()?;
    let mut rest = &whole[1..];
    let (level, source) = if first & 0x80 == 0 {
        split(&mut rest, own_id)?;
        (Level::OneRtt, Vec::new())
    } else {
        split(&mut rest, 4)?;
        let length = split(&mut rest, 1)?[0];
        split(&mut rest, length.into())?;
        let length = split(&mut rest, 1)?[0];
        let source = split(&mut rest, length.into())?.to_vec();
        match first & 0x30 {
            0x30 => {
                *datagram = &[];
                let token = rest[..rest.len().checked_sub(TAG)?].to_vec();
                return Some(Opened::Retry { source, token });
            }
            0x20 => (Level::Handshake, source),
            _ => {
                let length = number(&mut rest)?;
                split(&mut rest, length as usize)?;
                (Level::Initial, source)
            }
        }
    };
    let length = if level == Level::OneRtt { rest.len() } else { number(&mut rest)? as usize };
    let at = whole.len() - rest.len();
    *datagram = whole.get(at + length..)?;
    let mut packet = whole[..at + length].to_vec();
    let keys = &keys[level as usize].as_ref()?.remote;
    let sample: [u8; 16] = packet.get(at + 4..at + 20)?.try_into().ok()?;
    let (first, rest) = packet.split_at_mut(1);
    keys.header.decrypt_in_place(&sample, &mut first[0], &mut rest[at - 1..at + 3]).ok()?;
    let bytes = usize::from(packet[0] & 3) + 1;
    let low = packet[at..at + bytes].iter().fold(0, |low, byte| low << 8 | u64::from(*byte));
    let number = expand(low, bytes as u32 * 8, largest[level as usize] + 1);
    let (head, body) = packet.split_at_mut(at + bytes);
    let payload = keys.packet.decrypt_in_place(number, head, body).ok()?.to_vec();
    Some(Opened::Packet { level, number, source, payload })
}

/// The number with these low bits that is nearest to the expected one.
fn expand(low: u64, bits: u32, expected: u64) -> u64 {
    let window = 1u64 << bits;
    let near = expected & !(window - 1) | low;
    if near + window / 2 <= expected {
        near + window
    } else if near > expected + window / 2 && near >= window {
        near - window
    } else {
        near
    }
}

const TAG: usize = 16;
