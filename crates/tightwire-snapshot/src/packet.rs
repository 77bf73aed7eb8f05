//! Field type for a snapshot within a message.

use alloc::vec::Vec;

use tightwire_core::Wire;

/// A packet of a [`Sender`](crate::Sender) as a field of a message. Tools that read captured
/// messages find snapshots by this type.
///
/// ```
/// use tightwire::{snapshot, Message, Wire};
/// use tightwire::snapshot::Leaving;
///
/// #[derive(Wire, Message, Default)]
/// struct Snapshot {
///     packet: snapshot::SnapshotPacket,
/// }
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u16>().build()?;
/// let mut sender = snapshot::Sender::new(&protocol);
/// let client = sender.add_receiver(Leaving::Despawn);
/// sender.begin_tick(1);
/// sender.set(7, &300u16)?;
///
/// // Sent with `Delivery::Unreliable`; its memory can be used again.
/// let mut message = Snapshot::default();
/// message.packet.replace(sender.snapshot(client, 1000).unwrap());
///
/// let mut receiver = snapshot::Receiver::new(&protocol);
/// receiver.handle_snapshot(&message.packet.bytes)?;
/// assert_eq!(receiver.get::<u16>(7), Some(300));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Wire, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SnapshotPacket {
    /// The packet, of at most [`MAX_LEN`](Self::MAX_LEN) bytes.
    #[wire(max_len = SnapshotPacket::MAX_LEN)]
    pub bytes: Vec<u8>,
}

impl SnapshotPacket {
    /// Size of the longest packet, in bytes.
    pub const MAX_LEN: usize = 65_000;

    /// Replaces the packet by `bytes`, and reuses the memory.
    ///
    /// ```
    /// let mut packet = tightwire::snapshot::SnapshotPacket::default();
    /// packet.replace(&[1, 2, 3]);
    /// assert_eq!(packet.bytes, [1, 2, 3]);
    /// ```
    pub fn replace(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
    }
}
