//! Checksums over the contents of a packet and over its baseline. They reveal a damaged packet, a
//! receiver that decodes differently from its sender, and a packet whose baseline is of another
//! sender.

use alloc::vec;
use alloc::vec::Vec;

use super::PacketLevel;
use super::header::{Header, PACKET_WINDOW};
use super::update::{ObjectUpdate, UpdateKind};
use tightwire_core::schema::ObjectId;

/// Running sums over updates: two that take turns, two cells each, since one sum would have to
/// wait for its last addition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    even: u64,
    odd: u64,
}

/// Checksum of a packet: over its updates, its header, and the checksums of the packets of its
/// baseline. The highest bits are in the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Checksum(u64);

/// The baseline of a keyframe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct InitialChecksum {
    /// Sum over the initial objects, which both sides have from the beginning, in any order.
    pub(super) initial: u64,
}

/// Checksums of packets that were sent, or that arrived: a ring of [`PACKET_WINDOW`] by sequence number.
#[derive(Debug)]
pub(super) struct Checksums {
    /// Sequence number and checksum of each packet; number 0 is an empty entry.
    list: Vec<(u32, Checksum)>,
}

impl Check {
    /// Adds an update with its cells.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn add(&mut self, update: &ObjectUpdate, cells: &[u32]) {
        let kind = u32::from(update.class) << 2 | update.kind as u32;
        add(&mut self.even, update.id.0, kind);
        let (fours, rest) = cells.as_chunks();
        for &[a, b, c, d] in fours {
            add(&mut self.even, a, b);
            add(&mut self.odd, c, d);
        }
        rest.iter().for_each(|&cell| add(&mut self.even, cell, 0));
    }

    /// Returns the checksum of a packet with these updates; `None` if a packet of its baseline has
    /// no checksum here.
    pub(super) fn packet(
        self,
        header: &Header,
        origin: InitialChecksum,
        checksums: &Checksums,
    ) -> Option<Checksum> {
        let mut sum = self.even ^ self.odd.rotate_left(32);
        add(&mut sum, header.number, header.tick);
        let flags = u32::from(header.is_complete)
            | u32::from(header.baseline.is_some()) << 1
            | u32::from(header.level == PacketLevel::Modeled) << 2;
        add(&mut sum, header.start, flags);
        match header.baseline {
            Some(baseline) => {
                for number in header.acked.first..=baseline {
                    if header.acked.contains(number) {
                        checksums.get(number)?.add_to(&mut sum);
                    }
                }
            }
            None => {
                add(&mut sum, header.epoch, 0);
                Checksum(origin.initial).add_to(&mut sum);
            }
        }
        Some(finished(sum))
    }
}

impl Default for Check {
    fn default() -> Self {
        Self { even: MULTIPLIER, odd: !MULTIPLIER }
    }
}

impl Checksum {
    /// Returns the bits that are in the packet.
    pub(super) fn short(self) -> u16 {
        (self.0 >> 48) as u16
    }

    fn add_to(self, sum: &mut u64) {
        add(sum, self.0 as u32, (self.0 >> 32) as u32);
    }
}

impl InitialChecksum {
    /// Replaces the state `before` of an initial object by `now`.
    pub(super) fn replace(
        &mut self,
        id: ObjectId,
        before: Option<(u16, &[u32])>,
        now: (u16, &[u32]),
    ) {
        let sum = |(class, cells): (u16, &[u32])| {
            let (mut check, kind) = (Check::default(), UpdateKind::Full);
            check.add(&ObjectUpdate { id, class, kind, start: 0, columns: cells.len() }, cells);
            finished(check.even ^ check.odd.rotate_left(32)).0
        };
        let before = before.map_or(0, sum);
        self.initial = self.initial.wrapping_sub(before).wrapping_add(sum(now));
    }
}

impl Checksums {
    pub(super) fn get(&self, number: u32) -> Option<Checksum> {
        let (of, checksum) = self.list[number as usize % PACKET_WINDOW];
        (of == number && number > 0).then_some(checksum)
    }

    pub(super) fn set(&mut self, number: u32, checksum: Checksum) {
        self.list[number as usize % PACKET_WINDOW] = (number, checksum);
    }

    pub(super) fn clear(&mut self) {
        self.list.fill(NONE);
    }

    /// Returns 16 bits over the checksums of the packet `newest`, and of the earlier packets whose
    /// bits are set in `earlier`; `None` if one of them has no checksum here.
    pub(super) fn tag(&self, newest: u32, earlier: u32) -> Option<u16> {
        let mut sum = !MULTIPLIER;
        self.get(newest)?.add_to(&mut sum);
        for bit in (0..u32::BITS).filter(|bit| earlier >> bit & 1 == 1) {
            self.get(newest.checked_sub(bit + 1)?)?.add_to(&mut sum);
        }
        Some(finished(sum).short())
    }
}

impl Default for Checksums {
    fn default() -> Self {
        Self { list: vec![NONE; PACKET_WINDOW] }
    }
}

const NONE: (u32, Checksum) = (0, Checksum(0));

#[cfg_attr(not(debug_assertions), inline(always))]
fn add(sum: &mut u64, low: u32, high: u32) {
    let both = u64::from(high) << 32 | u64::from(low);
    *sum = (*sum ^ both).wrapping_mul(MULTIPLIER).rotate_left(29);
}

/// Mixes every bit of the sum into every bit of the checksum, since later checksums are made of it.
fn finished(sum: u64) -> Checksum {
    let product = sum.wrapping_mul(MULTIPLIER);
    let product = (product ^ product >> 32).wrapping_mul(MULTIPLIER);
    Checksum(product ^ product >> 32)
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Checksum of a packet whose baseline is two others.
    fn packet(change: impl FnOnce(&mut Header, &mut Checksums)) -> Option<Checksum> {
        let mut checksums = Checksums::default();
        (1..=9).for_each(|number| checksums.set(number, finished(number.into())));
        let mut header =
            Header { number: 10, tick: 70, start: 3, baseline: Some(8), ..Header::default() };
        header.acked.first = 5;
        [6, 8].into_iter().for_each(|number| header.acked.set(number, true));
        change(&mut header, &mut checksums);
        Check::default().packet(&header, InitialChecksum::default(), &checksums)
    }

    #[test]
    fn a_checksum_covers_the_header_and_the_baseline() {
        let same = packet(|_, _| ());
        assert_eq!(same, packet(|_, checksums| checksums.set(7, Checksum(0))), "not acked");
        let changes: [fn(&mut Header, &mut Checksums); 9] = [
            |header, _| header.number += 1 << 16,
            |header, _| header.tick += 1 << 31,
            |header, _| header.is_complete = true,
            |header, _| header.level = PacketLevel::Modeled,
            |header, _| header.start -= 1,
            |header, _| header.acked.set(7, true),
            |header, _| header.baseline = None,
            |_, checksums| checksums.set(6, finished(60)),
            |_, checksums| checksums.set(8, finished(80)),
        ];
        for (place, change) in changes.into_iter().enumerate() {
            let changed = packet(change);
            assert_ne!(same.map(Checksum::short), changed.map(Checksum::short), "{place}");
        }
        assert_eq!(packet(|_, checksums| checksums.clear()), None);
    }

    #[test]
    fn the_checksum_of_initial_objects_ignores_their_order() {
        let mut origins = [InitialChecksum::default(); 2];
        for (origin, ids) in origins.iter_mut().zip([[1, 2], [2, 1]]) {
            for id in ids {
                origin.replace(ObjectId(id), None, (0, &[id, 7]));
            }
        }
        assert_eq!(origins[0], origins[1]);
        origins[1].replace(ObjectId(1), Some((0, &[1, 7])), (0, &[1, 8]));
        assert_ne!(origins[0], origins[1]);
        origins[1].replace(ObjectId(1), Some((0, &[1, 8])), (0, &[1, 7]));
        assert_eq!(origins[0], origins[1]);
    }
}
