//! Limits of a messenger.

use super::Stage;
use tightwire_core::bytes::Packing;

/// The limits of a [`Messenger`](crate::message::Messenger). Both sides need the same
/// [`packing`](Self::packing), [`channels`](Self::channels),
/// [`max_fragmented`](Self::max_fragmented) and [`batch_messages`](Self::batch_messages).
///
/// ```
/// use tightwire::message::MessengerConfig;
///
/// let config = MessengerConfig { send_queue: 8, ..MessengerConfig::default() };
/// assert_eq!(config.max_fragmented, 1 << 20);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessengerConfig {
    /// Packing of bodies: the fewest bits, or whole bytes for debugging.
    pub packing: Packing,
    /// Number of channels; a message on another is refused. At most 256; the default is 16.
    pub channels: usize,
    /// The stages that this side runs: messages for others are refused, since they would wait for
    /// ever. The default is all of them.
    pub stages: &'static [Stage],
    /// Largest batch of a delivery that fragments, in bytes. The default is 1 MiB.
    pub max_fragmented: usize,
    /// Largest number of messages of a batch. A receiver that has room for so many can take any
    /// batch of an honest peer. The default is 256.
    pub batch_messages: usize,
    /// Largest number of batches to a peer in a frame; more are refused. The default is 64.
    pub send_queue: usize,
    /// Largest number of received messages that wait for each stage; newer ones are then discarded.
    /// The default is 4096.
    pub receive_queue: usize,
    /// Largest number of messages of one peer that wait in all: a fraction of `receive_queue`, so
    /// that a peer that floods does not fill the queues of the others. Messages beyond are
    /// discarded, whatever their delivery, unless the owner of the batches waits until the
    /// messenger [can receive](crate::message::Messenger::can_receive): then the limit must be at
    /// least twice `batch_messages`. The default is 512.
    pub peer_messages: usize,
    /// Largest number of bytes of one peer's waiting batches in all, unless it is a single batch.
    /// Their memory is at most twice as much, or 2048 bytes for each waiting message. The default
    /// is 2 MiB.
    pub peer_bytes: usize,
    /// Largest number of bytes of free buffers that are kept for later batches. The default is 16
    /// MiB.
    pub pool_bytes: usize,
}

impl Default for MessengerConfig {
    fn default() -> Self {
        Self {
            packing: Packing::default(),
            channels: 16,
            stages: &Stage::ALL,
            max_fragmented: 1 << 20,
            batch_messages: 256,
            send_queue: 64,
            receive_queue: 4096,
            peer_messages: 512,
            peer_bytes: 2 << 20,
            pool_bytes: 16 << 20,
        }
    }
}
