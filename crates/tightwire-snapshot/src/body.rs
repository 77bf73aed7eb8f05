//! The body of a packet: its updates as bytes.

use alloc::vec::Vec;

use super::check::Checksum;
use super::model::Model;
use super::protocol::Protocol;
use super::trace::SpanRecord;
use super::update::{Baseline, ObjectUpdates};
use super::{PacketLevel, modeled, packed};
use tightwire_core::stream::{ErrorKind, ReadError, ReadStream, WriteStream};

/// Size of the check that every body begins with, in bytes.
const CHECK: usize = 2;

/// Writes the body with the updates into `bytes`; returns whether it fits into `limit` bytes.
/// `model` is the model of the baseline packet, and becomes that of this packet. The check covers
/// the whole packet, and is filled in later.
pub(super) fn write(
    (protocol, level): (&Protocol, PacketLevel),
    updates: &mut ObjectUpdates,
    baseline: &impl Baseline,
    model: &mut Model,
    bytes: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
    limit: usize,
) -> bool {
    let Some(room) = limit.checked_sub(CHECK) else { return false };
    bytes.clear();
    bytes.extend_from_slice(&[0; CHECK]);
    match level {
        PacketLevel::Packed => {
            let room = room.min(bound(protocol, updates));
            if scratch.len() < room {
                scratch.resize(room, 0);
            }
            let mut stream = WriteStream::new(&mut scratch[..room]);
            let Ok(()) = packed::code(&mut stream, protocol, updates, baseline, &mut model.packed);
            let Ok(packed) = stream.finish() else { return false };
            bytes.extend_from_slice(packed);
            true
        }
        PacketLevel::Modeled => {
            let state = model.modeled(protocol);
            modeled::write(protocol, updates, baseline, state, bytes, limit)
        }
    }
}

/// Returns an upper bound of the bytes of packed updates, so that a huge budget allocates no more
/// than that.
fn bound(protocol: &Protocol, updates: &ObjectUpdates) -> usize {
    let most = protocol.classes().iter().map(|class| class.max_bytes).max().unwrap_or(0);
    let groups: usize = protocol.classes().iter().map(|class| class.layout.groups.len()).sum();
    1024 + 4 * groups + updates.list.len() * (2 * most + 64) + updates.cells.len() * 4
}

/// Reads updates, and returns the check in the body. A trace records every part; its second value
/// is the byte of the packet at which the body begins.
pub(super) fn read(
    (protocol, level): (&Protocol, PacketLevel),
    bytes: &[u8],
    updates: &mut ObjectUpdates,
    baseline: &impl Baseline,
    model: &mut Model,
    mut trace: Option<(&mut SpanRecord, usize)>,
) -> Result<u16, ReadError> {
    updates.clear();
    let Some((check, bytes)) = bytes.split_first_chunk::<CHECK>() else {
        return Err(ReadError { kind: ErrorKind::UnexpectedEnd, bit: 0 });
    };
    if let Some((record, at)) = &mut trace {
        record.mark_check(8 * *at as u64);
    }
    let mut traced = trace.as_mut().map(|(record, at)| (&mut **record, 8 * (*at + CHECK) as u64));
    let read = match (level, &mut traced) {
        (PacketLevel::Packed, None) => {
            let mut stream = ReadStream::new(bytes);
            let read = packed::code(&mut stream, protocol, updates, baseline, &mut model.packed);
            read.and_then(|()| stream.finish())
        }
        (PacketLevel::Packed, Some((record, start))) => {
            let mut stream = ReadStream::new(bytes);
            let mut traced = record.stream(&mut stream, *start);
            let read = packed::code(&mut traced, protocol, updates, baseline, &mut model.packed);
            record.end((*start + stream.position()) as f64);
            read.and_then(|()| stream.finish())
        }
        (PacketLevel::Modeled, _) => {
            let state = model.modeled(protocol);
            modeled::read(protocol, bytes, updates, baseline, state, traced)
        }
    };
    if let Some((record, _)) = trace {
        match read {
            Ok(()) => record.fill(),
            Err(_) => record.refuse(),
        }
    }
    read.map_err(|error| ReadError { bit: error.bit + 8 * CHECK as u64, ..error })?;
    Ok(u16::from_le_bytes(*check))
}

/// Returns the check at the start of the body, which is at byte `at` of the packet.
pub(super) fn sent_check(packet: &[u8], at: usize) -> Option<u16> {
    packet.get(at..)?.first_chunk().map(|sum| u16::from_le_bytes(*sum))
}

/// Appends a body to the header of a packet, with the checksum of the packet.
pub(super) fn append(packet: &mut Vec<u8>, body: &[u8], checksum: Checksum) {
    packet.extend_from_slice(&checksum.short().to_le_bytes());
    packet.extend_from_slice(body.get(CHECK..).unwrap_or_default());
}
