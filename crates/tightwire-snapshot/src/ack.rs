//! The ack that a receiver sends for snapshots.

use tightwire_core::Wire;

use super::check::Checksums;

/// Acks of the newest snapshots, for any message or packet from the receiver to the sender, as
/// often as there is one: 25 bits while nothing is lost, and at most 57.
///
/// Each ack covers the 33 newest snapshots, so that acks may get lost, duplicated, or come late. An
/// ack has a sum over the checksums of these snapshots: a sender that sent other ones ignores it.
///
/// ```
/// use tightwire::{snapshot, Wire};
///
/// #[derive(Wire)]
/// struct Input {
///     jump: bool,
///     ack: Option<snapshot::Ack>,
/// }
/// assert_eq!(snapshot::Ack::MAX_BITS, 57);
/// ```
#[derive(Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// Lowest bits of the sequence number of the newest snapshot.
    newest: u8,
    /// Sum over the checksums of all acked snapshots.
    tag: u16,
    /// All 32 snapshots before the newest arrived.
    all: bool,
    /// Otherwise bits of the snapshots before the newest that arrived; the lowest bit is the newest
    /// of them.
    #[wire(when = !self.all)]
    earlier: u32,
}

impl Ack {
    /// Creates an ack of `newest` and the earlier packets that have checksums; `None` if `newest`
    /// has no checksum.
    pub(super) fn new(newest: u32, checksums: &Checksums) -> Option<Self> {
        let has_arrived = |&bit: &u32| {
            newest.checked_sub(bit + 1).is_some_and(|number| checksums.get(number).is_some())
        };
        let earlier = (0..u32::BITS).filter(has_arrived).fold(0, |bits, bit| bits | 1 << bit);
        let tag = checksums.tag(newest, earlier)?;
        let all = earlier == u32::MAX;
        Some(Self { newest: newest as u8, tag, all, earlier: if all { 0 } else { earlier } })
    }

    /// Returns the acked packets, newest first, or `None` if they are not the ones that were sent.
    /// `sent` is the newest packet that was sent.
    pub(super) fn packets(
        self,
        sent: u32,
        checksums: &Checksums,
    ) -> Option<impl Iterator<Item = u32> + use<>> {
        let newest = sent.checked_sub(u32::from((sent as u8).wrapping_sub(self.newest)))?;
        let earlier = if self.all { u32::MAX } else { self.earlier };
        if checksums.tag(newest, earlier)? != self.tag {
            return None;
        }
        let earlier = (0..u32::BITS).filter(move |bit| earlier >> bit & 1 == 1);
        Some(core::iter::once(newest).chain(earlier.map(move |bit| newest - bit - 1)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::check::{Check, InitialChecksum};
    use crate::header::Header;
    use alloc::vec::Vec;

    /// Checksums of packets of a sender with this epoch.
    fn checksums(epoch: u32, numbers: impl Iterator<Item = u32>) -> Checksums {
        let mut checksums = Checksums::default();
        for number in numbers {
            let header = Header { number, epoch, ..Header::default() };
            let checksum = Check::default().packet(&header, InitialChecksum::default(), &checksums);
            checksums.set(number, checksum.unwrap());
        }
        checksums
    }

    #[test]
    fn an_ack_round_trips_its_packets() {
        for first in [0, 0x1_fffa] {
            let sent = checksums(7, (1..=9).map(|number| first + number));
            let arrived = checksums(7, [1, 2, 5].into_iter().map(|number| first + number));
            let ack = Ack::new(first + 5, &arrived).unwrap();
            let named: Vec<_> = ack.packets(first + 9, &sent).unwrap().collect();
            assert_eq!(named, [5, 2, 1].map(|number| first + number));
            // More packets were sent meanwhile, but none has the same lowest bits until 256 later.
            assert!(ack.packets(first + 260, &sent).is_some());
            assert!(ack.packets(first + 261, &sent).is_none());
        }
        assert_eq!(Ack::new(0, &Checksums::default()), None);
        let all = checksums(7, 1..=40);
        let ack = Ack::new(40, &all).unwrap();
        assert!(ack.all && ack.packets(40, &all).unwrap().eq((8..=40).rev()));
    }

    #[test]
    fn acks_of_another_senders_packets_are_ignored() {
        let mut taken = 0;
        for epoch in 1..2000 {
            let others = checksums(epoch, 1..=40);
            let ack = Ack::new(40, &checksums(0, 1..=40)).unwrap();
            taken += usize::from(ack.packets(40, &others).is_some());
        }
        // The tag has 16 bits: one in 65,536 matches by chance.
        assert!(taken <= 1, "{taken} of 2000");
    }
}
