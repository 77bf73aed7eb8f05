//! Counters of sent, received and refused messages.

use core::ops::AddAssign;

use super::peer::Peer;
use super::{Message, MessageError, Messenger, PeerId};

/// Messages, and the bytes of their bodies and headers. A message to the local side has no header.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    /// Number of messages.
    pub messages: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// Counters of the messages of one type.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct MessageStats {
    /// Messages written for peers; once for each recipient.
    pub sent: Traffic,
    /// Messages queued for a stage, from peers and from the local side; not those that are handled
    /// at once.
    pub received: Traffic,
    /// Messages that were drained, or whose handler returned no error.
    pub handled: u64,
    /// Messages that were refused on arrival or when read, or whose handler returned an error.
    pub refused: u64,
}

/// Traffic of one type with one peer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct PeerMessageStats {
    /// Name of the type.
    pub message: &'static str,
    /// Messages written into the peer's batches.
    pub sent: Traffic,
    /// Messages queued for a stage.
    pub received: Traffic,
}

/// Traffic with one peer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct PeerStats {
    /// Messages written into its batches.
    pub sent: Traffic,
    /// Messages queued for a stage.
    pub received: Traffic,
    /// Batches that the transport took.
    pub batches_sent: u64,
    /// Batches that the transport refused, and the batches queued behind them.
    pub batches_lost: u64,
    /// Batches that were received.
    pub batches_received: u64,
    /// Batches and messages that were refused.
    pub refused: u64,
}

/// Numbers of batches and messages that were refused, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "named after the variants of `MessageError`")]
pub struct FaultCounters {
    pub unknown_peer: u64,
    pub batch_too_long: u64,
    pub no_messages: u64,
    pub batch_size: u64,
    pub beyond_batch: u64,
    pub unknown_message: u64,
    pub unknown_stage: u64,
    pub unknown_channel: u64,
    pub malformed: u64,
    pub queue_full: u64,
    pub peer_limit: u64,
    pub handler: u64,
    pub vetoed: u64,
}

impl<C: 'static> Messenger<C> {
    /// Iterates over the types: number, name and counters.
    pub fn messages(&self) -> impl Iterator<Item = (u8, &'static str, MessageStats)> {
        self.registry.iter().map(|(number, entry)| (number, entry.name, entry.stats))
    }

    /// Returns the counters of a type; `None` if it is not registered.
    #[must_use]
    pub fn message_stats<M: Message>(&self) -> Option<MessageStats> {
        let number = self.registry.number::<M>()?;
        self.messages().find(|(other, ..)| *other == number).map(|(.., stats)| stats)
    }

    /// Returns the traffic with a peer; `None` if it is not connected.
    #[must_use]
    pub fn peer_stats(&self, peer: PeerId) -> Option<PeerStats> {
        self.peers.get(peer).map(Peer::stats)
    }

    /// Returns the traffic with a peer by type, in the order of the types' numbers; empty for a
    /// peer that is not connected.
    ///
    /// ```
    /// # use tightwire::{Context, Delivery, Message, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # #[derive(Wire, Message, Default)]
    /// # struct Duck;
    /// # #[derive(Wire, Message, Default)]
    /// # struct Jump;
    /// # let mut messenger = Messenger::<()>::builder(MessengerConfig::default())
    /// #     .send_only::<Duck>()
    /// #     .send_only::<Jump>()
    /// #     .build()?;
    /// let peer = messenger.add_peer(1200);
    /// messenger.send(peer, &Jump, Delivery::Reliable)?;
    /// let sent: Vec<_> =
    ///     messenger.peer_message_stats(peer).map(|stats| (stats.message, stats.sent.bytes)).collect();
    /// assert_eq!(sent, [("Duck", 0), ("Jump", 5)]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn peer_message_stats(&self, peer: PeerId) -> impl Iterator<Item = PeerMessageStats> {
        let types = self.peers.get(peer).map_or(&[][..], Peer::types);
        self.registry.iter().zip(types).map(|((_, entry), &[sent, received])| PeerMessageStats {
            message: entry.name,
            sent,
            received,
        })
    }

    /// Returns the numbers of refused batches and messages, by reason.
    #[must_use]
    pub fn faults(&self) -> FaultCounters {
        self.faults
    }
}

impl Traffic {
    pub(super) fn add(&mut self, bytes: usize) {
        self.add_many(1, bytes);
    }

    /// Adds messages of `bytes` each.
    pub(super) fn add_many(&mut self, messages: usize, bytes: usize) {
        self.messages += messages as u64;
        self.bytes += (messages * bytes) as u64;
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

impl FaultCounters {
    /// Returns the sum of all reasons.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Self {
            unknown_peer,
            batch_too_long,
            no_messages,
            batch_size,
            beyond_batch,
            unknown_message,
            unknown_stage,
            unknown_channel,
            malformed,
            queue_full,
            peer_limit,
            handler,
            vetoed,
        } = self;
        unknown_peer
            + batch_too_long
            + no_messages
            + batch_size
            + beyond_batch
            + unknown_message
            + unknown_stage
            + unknown_channel
            + malformed
            + queue_full
            + peer_limit
            + handler
            + vetoed
    }

    pub(super) fn count(&mut self, fault: MessageError) {
        *match fault {
            MessageError::UnknownPeer => &mut self.unknown_peer,
            MessageError::BatchTooLong { .. } => &mut self.batch_too_long,
            MessageError::NoMessages => &mut self.no_messages,
            MessageError::BatchSize { .. } => &mut self.batch_size,
            MessageError::BeyondBatch { .. } => &mut self.beyond_batch,
            MessageError::UnknownMessage { .. } => &mut self.unknown_message,
            MessageError::UnknownStage { .. } => &mut self.unknown_stage,
            MessageError::UnknownChannel { .. } => &mut self.unknown_channel,
            MessageError::Malformed(_) => &mut self.malformed,
            MessageError::QueueFull(_) | MessageError::NotDrained => &mut self.queue_full,
            MessageError::PeerLimit => &mut self.peer_limit,
            MessageError::Handler => &mut self.handler,
            MessageError::Vetoed => &mut self.vetoed,
        } += 1;
    }
}
