//! Snapshots behind a prefix of another layer, so that its frame needs no copy of the packet.

use super::make::PacketSize;
use super::{ReceiverId, Sender};
use crate::{Level, ObjectView};

/// A snapshot for a receiver, as [`Sender::snapshot_into`] makes it.
#[derive(PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Snapshot<'s> {
    /// The prefix, all 0 and to be filled in, and then the packet.
    pub bytes: &'s mut [u8],
    /// The receiver that handles the packet has every object that is relevant to it as it is in
    /// this tick.
    pub is_complete: bool,
    /// The receiver that handles the packet has every object that it owns as it is in this tick.
    pub is_owned_exact: bool,
    /// The level of the packet, `Packed` or `Modeled`: if that of the receiver is [`Level::Auto`],
    /// the one that was picked.
    pub level: Level,
}

impl Sender {
    /// Makes the packet of this tick as [`snapshot`](Self::snapshot) does, behind `prefix` free
    /// bytes in the same memory: a layer above writes the header of its frame there. The budget
    /// counts the packet only.
    ///
    /// `custom` is the relevancy function of [`snapshot_with`](Self::snapshot_with).
    ///
    /// ```
    /// # use tightwire::snapshot::{self, Leaving};
    /// # let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<bool>().build()?;
    /// # let (mut sender, mut receiver) = (snapshot::Sender::new(&protocol), snapshot::Receiver::new(&protocol));
    /// # let client = sender.add_receiver(Leaving::Despawn);
    /// sender.begin_tick(1);
    /// sender.set(7, &true)?;
    /// let made = sender.snapshot_into(client, 1000, 2, None).unwrap();
    /// assert!(made.is_complete);
    /// let size = made.bytes.len() as u16 - 2;
    /// made.bytes[..2].copy_from_slice(&size.to_le_bytes());
    /// receiver.handle_snapshot(&made.bytes[2..])?;
    /// assert_eq!(receiver.get::<bool>(7), Some(true));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "an alias would hide it from the documentation")]
    pub fn snapshot_into(
        &mut self,
        receiver: ReceiverId,
        budget: usize,
        prefix: usize,
        custom: Option<&mut dyn FnMut(ObjectView<'_>) -> Option<u32>>,
    ) -> Option<Snapshot<'_>> {
        let size = PacketSize { prefix, budget };
        let made = self.make_snapshot(receiver, size, custom)?;
        Some(made.snapshot(&mut self.packet))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{Config, Leaving, Protocol, Receiver, Sender};

    #[test]
    fn a_prefix_changes_neither_the_packet_nor_its_budget() {
        let protocol = Protocol::builder(Config::default()).class::<u64>().build().unwrap();
        let mut sender = Sender::new(&protocol);
        let clients = [(); 2].map(|()| sender.add_receiver(Leaving::Despawn));
        let mut receivers = [(); 2].map(|()| Receiver::new(&protocol));
        let mut incomplete = 0;
        for tick in 1..=60u32 {
            sender.begin_tick(tick);
            for id in 0..40u32 {
                sender.set(id, &(u64::from(tick * id) << 20)).unwrap();
            }
            let budget = 64 + 5 * tick as usize;
            let plain = sender.snapshot(clients[0], budget).unwrap().to_vec();
            let made = sender.snapshot_into(clients[1], budget, 5, None).unwrap();
            assert!(plain.len() <= budget);
            assert_eq!(made.bytes[..5], [0; 5]);
            assert_eq!(made.bytes[5..], plain);
            made.bytes[..5].fill(0xff);
            let is_complete = made.is_complete;
            incomplete += u32::from(!is_complete);
            let packets = [&plain[..], &made.bytes[5..]];
            for (receiver, packet) in receivers.iter_mut().zip(packets) {
                assert_eq!(receiver.handle_snapshot(packet).unwrap().is_complete, is_complete);
            }
            for (receiver, client) in receivers.iter().zip(clients) {
                sender.handle_ack(client, receiver.ack().unwrap());
                assert_eq!(sender.acked_tick(client), Some(tick));
            }
        }
        assert!((1..60).contains(&incomplete), "{incomplete}");
        sender.remove_receiver(clients[0]);
        assert_eq!(sender.acked_tick(clients[0]), None);
        assert!(sender.snapshot_into(clients[0], 1000, 5, None).is_none());
    }
}
