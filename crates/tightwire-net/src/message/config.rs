//! How much of everything there may be.

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
    /// How bodies are written: in the fewest bits, or for whoever looks for a bug in whole bytes.
    pub packing: Packing,
    /// How many channels there are; a message on another is refused. At most 256.
    pub channels: usize,
    /// The stages that this side runs: messages for others are refused, since they would wait for
    /// ever.
    pub stages: &'static [Stage],
    /// The largest batch of a delivery that fragments, in bytes.
    pub max_fragmented: usize,
    /// How many messages a batch has at most, so that whoever has room for so many can take the next
    /// batch of an honest peer, whatever it is.
    pub batch_messages: usize,
    /// How many batches a peer can have in a frame until more is refused.
    pub send_queue: usize,
    /// How many received messages can wait for each stage; newcomers are then discarded.
    pub receive_queue: usize,
    /// How many messages of one peer can wait in all: a fraction of `receive_queue`, so that one that
    /// floods does not fill the queues of the others. What is beyond is discarded, whatever its
    /// delivery, unless whoever has the batches waits until the messenger
    /// [can receive](crate::message::Messenger::can_receive): then it is at least twice `batch_messages`.
    pub peer_messages: usize,
    /// How many bytes the batches of one peer can have in all while they wait, unless it is a single
    /// one. The memory that they take is at most twice as much, or 2048 for each message that waits.
    pub peer_bytes: usize,
    /// The memory in bytes that is kept for batches to come.
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
