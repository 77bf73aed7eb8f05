//! Batches with a number and a checkable pattern, so that a changed byte is detected.

use crate::message::Delivery;

use super::End;

/// Returns the length of the size field at the start of a batch, in bytes.
pub(super) const fn prefix(delivery: Delivery) -> usize {
    if delivery.fragments() { 4 } else { 2 }
}

/// Returns whether a batch has a single byte behind its size field, as the smallest batch. Such a
/// batch carries only the last 8 bits of its number.
pub(super) const fn is_tiny(number: u32) -> bool {
    number % 97 == 3
}

/// Number of a batch, as far as the batch carries it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BatchId {
    Number(u32),
    Tiny(u8),
}

/// Returns the length of a batch in bytes, with its size field.
pub(super) fn length(delivery: Delivery, number: u32, max_datagram: usize) -> usize {
    let random = mix(u64::from(number) << 8 | delivery as u64);
    // Room for bytes that identify the batch.
    let least = prefix(delivery) + 8;
    // Most messages of a game are small.
    let length = match random % 64 {
        0 => max_datagram,
        1..4 => least + (random >> 8) as usize % max_datagram,
        _ => least + (random >> 8) as usize % 100,
    };
    if is_tiny(number) { prefix(delivery) + 1 } else { length.min(max_datagram).max(least) }
}

/// Writes a batch of `length` bytes in all.
pub(super) fn write(
    batch: &mut Vec<u8>,
    from: End,
    delivery: Delivery,
    number: u32,
    length: usize,
) {
    batch.clear();
    let body = length - prefix(delivery);
    let size = (body as u32).to_le_bytes();
    batch.extend_from_slice(&size[..prefix(delivery)]);
    if is_tiny(number) {
        batch.push(number as u8);
        return;
    }
    batch.extend_from_slice(&number.to_le_bytes());
    let mut state = start(from, delivery, number);
    while batch.len() < length {
        state = mix(state);
        let word = state.to_le_bytes();
        let count = word.len().min(length - batch.len());
        batch.extend_from_slice(&word[..count]);
    }
}

/// Reads a batch; `None` if it is not exactly as that end sent it with that delivery.
pub(super) fn read(batch: &[u8], from: End, delivery: Delivery) -> Option<BatchId> {
    let (size, body) = batch.split_at_checked(prefix(delivery))?;
    let mut whole = [0; 4];
    whole.get_mut(..size.len())?.copy_from_slice(size);
    if u32::from_le_bytes(whole) as usize != body.len() {
        return None;
    }
    if let [tiny] = body {
        return Some(BatchId::Tiny(*tiny));
    }
    let (number, rest) = body.split_first_chunk::<4>()?;
    let number = u32::from_le_bytes(*number);
    let mut state = start(from, delivery, number);
    for chunk in rest.chunks(8) {
        state = mix(state);
        if *chunk != state.to_le_bytes()[..chunk.len()] {
            return None;
        }
    }
    Some(BatchId::Number(number))
}

/// Returns the seed of a batch's bytes: no two batches of a run have the same.
fn start(from: End, delivery: Delivery, number: u32) -> u64 {
    mix(u64::from(number) << 8 | (delivery as u64) << 1 | from as u64)
}

/// Mixes a number into pseudo-random bits.
pub(super) const fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_round_trip_and_every_changed_byte_is_detected() {
        let mut batch = Vec::new();
        for delivery in Delivery::ALL {
            for number in [0, 1, 2, 500, 70_000] {
                let length = length(delivery, number, 1200);
                write(&mut batch, End::Client, delivery, number, length);
                assert_eq!(batch.len(), length);
                assert_eq!(read(&batch, End::Client, delivery), Some(BatchId::Number(number)));
                assert_eq!(read(&batch[..length - 1], End::Client, delivery), None);
                assert_eq!(read(&batch, End::Server, delivery), None);
                for byte in 0..length {
                    batch[byte] ^= 1;
                    assert_eq!(read(&batch, End::Client, delivery), None);
                    batch[byte] ^= 1;
                }
            }
            write(&mut batch, End::Client, delivery, 3, length(delivery, 3, 1200));
            assert_eq!(batch.len(), prefix(delivery) + 1);
            assert_eq!(read(&batch, End::Client, delivery), Some(BatchId::Tiny(3)));
        }
    }
}
