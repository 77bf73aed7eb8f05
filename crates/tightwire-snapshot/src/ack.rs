//! What a receiver tells the sender.

use tightwire_core::Wire;

use super::check::Checksums;

/// Which snapshots arrived, for any message or packet from the receiver to the sender, as often as there is
/// one: 25 bits while nothing is lost, and at most 57.
///
/// Each tells of the 33 newest snapshots, so that it may get lost, doubled, or come late. It has a sum over what
/// these snapshots said: a sender that sent other ones takes no notice of it.
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
    /// The lowest bits of the number of the newest snapshot.
    newest: u8,
    /// Sum over the checksums of all snapshots that it tells of.
    tag: u16,
    /// All of the ones before arrived.
    all: bool,
    /// Otherwise the ones before that arrived, the newest of them in the lowest bit.
    #[wire(when = !self.all)]
    earlier: u32,
}

impl Ack {
    /// Tells of the packets of which there are checksums, of which `newest` is the newest; `None` if there is
    /// none of that one.
    pub(super) fn new(newest: u32, checksums: &Checksums) -> Option<Self> {
        let has_arrived = |&bit: &u32| {
            newest.checked_sub(bit + 1).is_some_and(|number| checksums.get(number).is_some())
        };
        let earlier = (0..u32::BITS).filter(has_arrived).fold(0, |bits, bit| bits | 1 << bit);
        let tag = checksums.tag(newest, earlier)?;
        let all = earlier == u32::MAX;
        Some(Self { newest: newest as u8, tag, all, earlier: if all { 0 } else { earlier } })
    }

    /// The packets that it tells of, the newest first, if these are the ones that were sent; `sent` is the
    /// newest of them.
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
    use crate::check::{Check, Origin};
    use crate::header::Header;
    use alloc::vec::Vec;

    /// Checksums of packets of a sender that has this epoch.
    fn checksums(epoch: u32, numbers: impl Iterator<Item = u32>) -> Checksums {
        let mut checksums = Checksums::default();
        for number in numbers {
            let header = Header { number, epoch, ..Header::default() };
            let checksum = Check::default().packet(&header, Origin::default(), &checksums);
            checksums.set(number, checksum.unwrap());
        }
        checksums
    }

    #[test]
    fn an_ack_names_its_packets() {
        for first in [0, 0x1_fffa] {
            let sent = checksums(7, (1..=9).map(|number| first + number));
            let arrived = checksums(7, [1, 2, 5].into_iter().map(|number| first + number));
            let ack = Ack::new(first + 5, &arrived).unwrap();
            let named: Vec<_> = ack.packets(first + 9, &sent).unwrap().collect();
            assert_eq!(named, [5, 2, 1].map(|number| first + number));
            // More were sent by now, but not so many that another has the lowest bits.
            assert!(ack.packets(first + 260, &sent).is_some());
            assert!(ack.packets(first + 261, &sent).is_none());
        }
        assert_eq!(Ack::new(0, &Checksums::default()), None);
        let all = checksums(7, 1..=40);
        let ack = Ack::new(40, &all).unwrap();
        assert!(ack.all && ack.packets(40, &all).unwrap().eq((8..=40).rev()));
    }

    #[test]
    fn an_ack_is_for_the_sender_of_what_it_names() {
        let mut taken = 0;
        for epoch in 1..2000 {
            let others = checksums(epoch, 1..=40);
            let ack = Ack::new(40, &checksums(0, 1..=40)).unwrap();
            taken += usize::from(ack.packets(40, &others).is_some());
        }
        // One in 65,536.
        assert!(taken <= 1, "{taken} of 2000");
    }
}
