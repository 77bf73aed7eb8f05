//! What went out, what came in, and what was refused.

use core::ops::AddAssign;

use super::peer::Peer;
use super::{Message, MessageError, Messenger, PeerId};

/// Messages and the bytes of their bodies and headers; one of this side to itself has no header.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    /// How many.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What became of the messages of one type.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct MessageStats {
    /// Written for a peer; once for each that it was sent to.
    pub sent: Traffic,
    /// Queued for a stage, from peers and from this side itself; not what is handled at once.
    pub received: Traffic,
    /// Given to the handler, which returned no error, or to whoever drained it.
    pub handled: u64,
    /// PacketError when they came in or when they were read, and failed in the handler.
    pub refused: u64,
}

/// What went to one peer and came from it, of one type.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct PeerMessageStats {
    /// The name of the type.
    pub message: &'static str,
    /// Written into the peer's batches.
    pub sent: Traffic,
    /// Queued for a stage.
    pub received: Traffic,
}

/// What went to one peer and came from it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct PeerStats {
    /// Written into its batches.
    pub sent: Traffic,
    /// Queued for a stage.
    pub received: Traffic,
    /// Batches that the transport took.
    pub batches_sent: u64,
    /// Batches that the transport did not take, and those behind them.
    pub batches_lost: u64,
    /// Batches that came.
    pub batches_received: u64,
    /// Batches and messages that were refused.
    pub refused: u64,
}

/// How many batches and messages were refused for each reason.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "named after the variants of `MessageFault`")]
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
    /// The numbers of the messages and what became of them.
    pub fn messages(&self) -> impl Iterator<Item = (u8, &'static str, MessageStats)> {
        self.registry.iter().map(|(number, entry)| (number, entry.name, entry.stats))
    }

    /// What became of the messages of a type.
    #[must_use]
    pub fn message_stats<M: Message>(&self) -> Option<MessageStats> {
        let number = self.registry.number::<M>()?;
        self.messages().find(|(other, ..)| *other == number).map(|(.., stats)| stats)
    }

    /// What went to a peer and came from it.
    #[must_use]
    pub fn peer_stats(&self, peer: PeerId) -> Option<PeerStats> {
        self.peers.get(peer).map(Peer::stats)
    }

    /// What went to a peer and came from it of each type, in the order of their numbers; nothing for one
    /// that is not connected.
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

    /// What was refused, by its reason.
    #[must_use]
    pub fn faults(&self) -> FaultCounters {
        self.faults
    }
}

impl Traffic {
    pub(super) fn add(&mut self, bytes: usize) {
        self.add_many(1, bytes);
    }

    /// Messages of so many bytes each.
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
    /// All of them.
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
