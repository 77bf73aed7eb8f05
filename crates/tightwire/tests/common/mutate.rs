//! Mutations of bytes, as an attacker or a bad network makes them.

use super::rng::Rng;

/// Makes up to four changes: bytes are inserted, removed or changed, or the end is cut off.
pub(crate) fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..=rng.below(4) {
        let place = rng.below(bytes.len() + 1);
        match rng.below(6) {
            0 => bytes.insert(place, rng.next() as u8),
            1 if place < bytes.len() => drop(bytes.remove(place)),
            2 => bytes.truncate(place),
            3 if place < bytes.len() => bytes[place] = rng.next() as u8,
            4 if place < bytes.len() => bytes[place] = [0, 0x7f, 0x80, 0xff][rng.below(4)],
            _ if place < bytes.len() => bytes[place] ^= 1 << rng.below(8),
            _ => {}
        }
    }
}
