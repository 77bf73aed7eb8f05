//! Limits of a messenger.

use super::Stage;
use crate::limits::{LimitError, at_least, at_most};
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
    /// Default: Bits.
    pub packing: Packing,
    /// Number of channels; a message on another is refused. At most 256.
    /// Default: 16.
    pub channels: usize,
    /// The stages that this side runs: messages for others are refused, since they would wait for
    /// ever.
    /// Default: all of them.
    pub stages: &'static [Stage],
    /// Largest batch of a delivery that fragments, in bytes. Two of them can wait for each peer: see
    /// [`peer_bytes`](Self::peer_bytes). Both sides compare it when they connect, while that of a
    /// transport only bounds memory and may be more: that is why it is said here too.
    /// Default: 1,048,576.
    pub max_fragmented: usize,
    /// Largest number of messages of a batch. A receiver that has room for so many can take any
    /// batch of an honest peer.
    /// Default: 256.
    pub batch_messages: usize,
    /// Largest number of batches to a peer in a frame; more are refused.
    /// Default: 64.
    pub send_queue: usize,
    /// Largest number of received messages that wait for each stage; newer ones are then discarded.
    /// At least `batch_messages`, in a session at least twice as many.
    /// Default: 4,096.
    pub receive_queue: usize,
    /// Largest number of messages of one peer that wait in all: a fraction of `receive_queue`, so
    /// that a peer that floods does not fill the queues of the others. Messages beyond are
    /// discarded, whatever their delivery, unless the owner of the batches waits until the
    /// messenger [can receive](crate::message::Messenger::can_receive). At least `batch_messages`, or
    /// that would be never; in a session at least twice as many.
    /// Default: 512.
    pub peer_messages: usize,
    /// Largest number of bytes of free buffers that are kept for later batches.
    /// Default: 16,777,216.
    pub pool_bytes: usize,
}

impl MessengerConfig {
    /// Largest number of bytes of one peer's waiting batches in all, unless it is a single batch:
    /// twice [`max_fragmented`](Self::max_fragmented), since the largest batch would otherwise wait
    /// for ever if others are queued. The batches take at most twice as much memory, or 2048 bytes
    /// for each waiting message.
    #[must_use]
    pub const fn peer_bytes(&self) -> usize {
        self.max_fragmented.saturating_mul(2)
    }

    /// Refuses limits that cannot work.
    pub(super) fn check(&self) -> Result<(), LimitError> {
        let Self { channels, send_queue, batch_messages, .. } = *self;
        let Self { receive_queue, peer_messages, .. } = *self;
        at_least("send_queue", send_queue, "", 1)?;
        at_least("batch_messages", batch_messages, "", 1)?;
        at_least("channels", channels, "", 1)?;
        at_most("channels", channels, "", 256)?;
        // A whole batch of an honest peer could never be received.
        at_least("peer_messages", peer_messages, "`batch_messages`", batch_messages)?;
        at_least("receive_queue", receive_queue, "`batch_messages`", batch_messages)
    }
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
            pool_bytes: 16 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_config_field_documents_its_default() {
        crate::limits::check_documented(include_str!("config.rs"), &MessengerConfig::default());
    }

    #[test]
    fn limits_that_cannot_work_are_refused_with_both_numbers() {
        let refused = |change: fn(&mut MessengerConfig)| {
            let mut config = MessengerConfig::default();
            change(&mut config);
            config.check().map_err(|error| error.to_string()).err().unwrap_or_default()
        };
        assert_eq!(refused(|_| {}), "");
        assert_eq!(refused(|config| config.peer_messages = config.batch_messages), "");
        assert_eq!(
            refused(|config| config.peer_messages = 255),
            "`peer_messages` is 255, but must be at least 256 (`batch_messages`)"
        );
        assert_eq!(
            refused(|config| config.receive_queue = 100),
            "`receive_queue` is 100, but must be at least 256 (`batch_messages`)"
        );
        assert_eq!(
            refused(|config| config.send_queue = 0),
            "`send_queue` is 0, but must be at least 1"
        );
        assert_eq!(
            refused(|config| config.batch_messages = 0),
            "`batch_messages` is 0, but must be at least 1"
        );
        assert_eq!(
            refused(|config| config.channels = 0),
            "`channels` is 0, but must be at least 1"
        );
        assert_eq!(
            refused(|config| config.channels = 257),
            "`channels` is 257, but must be at most 256"
        );
    }
}
