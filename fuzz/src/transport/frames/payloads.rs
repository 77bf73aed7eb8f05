//! Payloads of packets with STREAM frames.

/// Returns the id of a stream of the peer.
pub(super) fn stream_id(is_server: bool, index: u64) -> u64 {
    index << 2 | if is_server { 2 } else { 3 }
}

/// Adds a STREAM frame with one byte.
pub(super) fn add_part(payload: &mut Vec<u8>, id: u64, offset: u64) {
    payload.push(0x0e);
    payload.extend_from_slice(&(0x8000_0000 | id as u32).to_be_bytes());
    payload.extend_from_slice(&(0x8000_0000 | offset as u32).to_be_bytes());
    payload.extend_from_slice(&[1, 9]);
}

/// Returns frames of a byte each, from an offset on, with gaps of a byte.
pub(super) fn parts(is_server: bool, index: u64, offset: u64, count: u64) -> Vec<u8> {
    let mut payload = Vec::new();
    (0..count).for_each(|at| add_part(&mut payload, stream_id(is_server, index), offset + 2 * at));
    payload
}
