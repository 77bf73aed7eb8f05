//! A snapshot within a message.

use alloc::vec::Vec;

use tightwire_derive::Wire;

/// A packet of a [`SnapshotSender`](crate::SnapshotSender) as a field of a message: tools that read
/// recorded messages know by this type where snapshots are.
///
/// ```
/// use tightwire::{
///     Leaving, Message, SnapshotConfig, SnapshotPacket, SnapshotProtocol, SnapshotReceiver,
///     SnapshotSender, Wire,
/// };
///
/// #[derive(Wire, Message, Default)]
/// struct Snapshot {
///     packet: SnapshotPacket,
/// }
///
/// let protocol = SnapshotProtocol::builder(SnapshotConfig::default()).class::<u16>().build()?;
/// let mut sender = SnapshotSender::new(&protocol);
/// let client = sender.add_receiver(Leaving::Despawn);
/// sender.begin_tick(1);
/// sender.set(7, &300u16)?;
///
/// // Sent with `Delivery::Unreliable`; its memory can be used again.
/// let mut message = Snapshot::default();
/// message.packet.replace(sender.snapshot(client, 1000).unwrap());
///
/// let mut receiver = SnapshotReceiver::new(&protocol);
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
    /// The longest packet that can be sent in one.
    pub const MAX_LEN: usize = 65_000;

    /// Has these bytes from now on, in the memory that is there.
    ///
    /// ```
    /// let mut packet = tightwire::SnapshotPacket::default();
    /// packet.replace(&[1, 2, 3]);
    /// assert_eq!(packet.bytes, [1, 2, 3]);
    /// ```
    pub fn replace(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
    }
}
