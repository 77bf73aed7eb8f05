//! Flags of the groups at rest that changed.
//!
//! Mostly none did: one bit says so. With few groups their flags follow, with many the indices of
//! up to three.

use tightwire_core::stream::{ErrorKind, Stream};

/// Largest number of groups that are flagged; of more, the changed ones are listed.
const FLAGGED: u32 = 6;

/// Largest number of changes that are listed; with more changes, all groups are flagged.
const LISTED: u32 = 3;

/// Codes which of the groups `at_rest` have `changed`. `must_change` leaves out the bit that says
/// whether any changed.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn flags<S: Stream>(
    stream: &mut S,
    changed: &mut u32,
    at_rest: u32,
    must_change: bool,
) -> Result<(), S::Error> {
    let count = at_rest.count_ones();
    if count > 1 && !must_change {
        let mut any = u64::from(*changed != 0);
        stream.raw_bits(&mut any, 1)?;
        if any == 0 {
            *changed = 0;
            return Ok(());
        }
    }
    let mut flags = 0;
    if S::WRITING {
        flags = gathered(*changed, at_rest);
    }
    if count <= FLAGGED {
        stream.raw_bits(&mut flags, count)?;
    } else {
        listed(stream, &mut flags, count)?;
    }
    if S::READING {
        *changed = scattered(flags, at_rest);
    }
    Ok(())
}

/// Gathers the bits of `set` at the positions of `among` into adjacent bits.
#[cfg_attr(not(debug_assertions), inline(always))]
fn gathered(mut set: u32, among: u32) -> u64 {
    let mut bits = 0;
    while set != 0 {
        let below = (set & set.wrapping_neg()) - 1;
        bits |= 1 << (among & below).count_ones();
        set &= set - 1;
    }
    bits
}

/// The inverse of [`gathered`].
#[cfg_attr(not(debug_assertions), inline(always))]
fn scattered(mut bits: u64, mut among: u32) -> u32 {
    let mut set = 0;
    while bits != 0 {
        let place = among & among.wrapping_neg();
        if bits & 1 != 0 {
            set |= place;
        }
        (bits, among) = (bits >> 1, among ^ place);
    }
    set
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn listed<S: Stream>(stream: &mut S, flags: &mut u64, count: u32) -> Result<(), S::Error> {
    let mut more = 0;
    if S::WRITING {
        // No change wraps to more than are listed.
        more = flags.count_ones().wrapping_sub(1).min(LISTED);
    }
    stream.raw_unary(&mut more, LISTED)?;
    if more == LISTED {
        return stream.raw_bits(flags, count);
    }
    let width = u32::BITS - (count - 1).leading_zeros();
    let (mut left, mut read) = (*flags, 0u64);
    for _ in 0..=more {
        let start = stream.position();
        let mut place = u64::from(left.trailing_zeros());
        stream.raw_bits(&mut place, width)?;
        if S::READING {
            // In ascending order, so that a set has one form.
            if place >= u64::from(count) || read >> place != 0 {
                return stream.refuse_at(ErrorKind::OutOfRange, start);
            }
            read |= 1 << place;
        }
        left &= left.wrapping_sub(1);
    }
    if S::READING {
        *flags = read;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tightwire_core::stream::{ReadError, ReadStream, WriteStream};

    fn written(mut changed: u32, at_rest: u32, must_change: bool) -> ([u8; 8], u64) {
        let mut bytes = [0; 8];
        let mut stream = WriteStream::new(&mut bytes);
        let Ok(()) = flags(&mut stream, &mut changed, at_rest, must_change);
        let bits = stream.position();
        stream.finish().unwrap();
        (bytes, bits)
    }

    fn read(bytes: &[u8], at_rest: u32, must_change: bool) -> Result<u32, ReadError> {
        let mut changed = 0;
        flags(&mut ReadStream::new(bytes), &mut changed, at_rest, must_change).map(|()| changed)
    }

    #[test]
    fn sets_of_changed_groups_round_trip() {
        let sets = [0, 1, 0b1010, 0x8000_0001, 0xffff_ffff, 0x1248_0000, 0x0123_4567];
        for at_rest in sets.into_iter().chain((0..32).map(|count| u32::MAX >> count)) {
            for set in sets.map(|set| set & at_rest) {
                for must_change in [false, true] {
                    let (bytes, _) = written(set, at_rest, must_change);
                    assert_eq!(read(&bytes, at_rest, must_change), Ok(set), "{set:b} {at_rest:b}");
                }
            }
        }
        assert_eq!(written(0, u32::MAX, false).1, 1, "nothing is one bit");
        assert_eq!(written(1 << 31, u32::MAX, true).1, 1 + 5, "one of many is its place");
    }

    #[test]
    fn indices_out_of_order_are_refused() {
        // Two of 20 indices: a zero and a one, and five bits for each.
        let two = |first: u16, second: u16| (0b10 | first << 2 | second << 7).to_le_bytes();
        let refused = |bit| Err(ReadError { kind: ErrorKind::OutOfRange, bit });
        assert_eq!(read(&two(3, 11), (1 << 20) - 1, true), Ok(1 << 3 | 1 << 11));
        assert_eq!(read(&two(11, 3), (1 << 20) - 1, true), refused(7), "descending");
        assert_eq!(read(&two(3, 3), (1 << 20) - 1, true), refused(7), "twice");
        assert_eq!(read(&two(3, 20), (1 << 20) - 1, true), refused(7), "beyond the last");
        assert_eq!(read(&two(31, 31), (1 << 20) - 1, true), refused(2));
    }
}
