//! What a receiver tells the sender.

use tightwire_core::Wire;

/// Which snapshots arrived: 6 bytes, for any message or packet from the receiver to the sender, as
/// often as there is one.
///
/// Each tells of the 33 newest snapshots, so that it may get lost, doubled, or come late.
///
/// ```
/// use tightwire::{snapshot, Wire};
///
/// #[derive(Wire)]
/// struct Input {
///     jump: bool,
///     ack: Option<snapshot::Ack>,
/// }
/// assert_eq!(snapshot::Ack::MAX_BYTES, 6);
/// ```
#[derive(Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// The lowest bits of the number of the newest snapshot.
    pub(super) newest: u16,
    /// The ones before, the newest of them in the lowest bit.
    pub(super) earlier: u32,
}

impl Ack {
    /// The packets that it tells of, the newest first; `sent` is the newest that was ever sent.
    pub(super) fn packets(self, sent: u32) -> impl Iterator<Item = u32> {
        let behind = u32::from((sent as u16).wrapping_sub(self.newest));
        let newest = sent.checked_sub(behind);
        let earlier = (0..u32::BITS).filter(move |bit| self.earlier >> bit & 1 == 1);
        let earlier = earlier.filter_map(move |bit| newest?.checked_sub(bit + 1));
        newest.into_iter().chain(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn an_ack_names_its_packets() {
        let ack = Ack { newest: 3, earlier: 0b1001 };
        assert_eq!(ack.packets(5).collect::<Vec<_>>(), [3, 2]);
        assert_eq!(ack.packets(0x2_0005).collect::<Vec<_>>(), [0x2_0003, 0x2_0002, 0x1_ffff]);
        // Of the future: it can only be meant for a sender that sent far more.
        assert_eq!(Ack { newest: 9, earlier: 1 }.packets(5).count(), 0);
    }
}
