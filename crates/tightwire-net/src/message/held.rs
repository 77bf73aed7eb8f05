//! Taking of messages whose tick or object is there, while others are held.

use core::time::Duration;

use super::context::MessageOrigin;
use super::drain::{Drain, received};
use super::inbox::{DeferredMessage, QueueIndex, QueuedMessage};
use super::{Bound, Message, Messenger, PeerId, ReceivedMessage};

impl<M: Message, C: 'static> Drain<'_, M, C> {
    /// Returns the next message that is not bound, or whose tick or object is there as `is_ready`
    /// says. Others are held, and later messages pass them.
    ///
    /// A message is held for at most `hold`, and at most 256 messages and 64 KiB of batches of one
    /// peer are held, of all types. Those beyond are returned with
    /// [`is_overdue`](ReceivedMessage::is_overdue), since a reliable message must not vanish.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tightwire::{Delivery, Message, PeerId, Wire};
    /// use tightwire::message::{Bound, Messenger, MessengerConfig, Route};
    ///
    /// #[derive(Wire, Message, Default)]
    /// struct Spark { size: u8 }
    ///
    /// let mut messenger = Messenger::<()>::builder(MessengerConfig::default()).queue::<Spark>().build()?;
    /// let route = Route::from(Delivery::Unreliable).at_tick(100);
    /// messenger.send(PeerId::LOCAL, &Spark { size: 7 }, route)?;
    ///
    /// let hold = Duration::from_secs(2);
    /// for shown in [98, 99, 100] {
    ///     let is_ready = |_, bound: Bound| bound.tick_near(shown).is_some_and(|tick| tick <= shown);
    ///     let spark = messenger.drain::<Spark>().next_ready(hold, is_ready);
    ///     assert_eq!(spark.is_some(), shown == 100);
    /// }
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn next_ready(
        &mut self,
        hold: Duration,
        mut is_ready: impl FnMut(PeerId, Bound) -> bool,
    ) -> Option<ReceivedMessage<M>> {
        loop {
            let (origin, item, is_overdue) =
                self.messenger.pop_ready(self.queue?, hold, &mut is_ready)?;
            self.messenger.release_held(&origin, &item);
            if let Some(message) = self.read(origin, item) {
                let message = core::mem::take(message);
                return Some(ReceivedMessage { is_overdue, ..received(origin, message) });
            }
        }
    }
}

impl<C: 'static> Messenger<C> {
    /// Returns the next message that is not bound, whose tick or object is there, or that is
    /// overdue, and whether it is.
    pub(super) fn pop_ready(
        &mut self,
        queue: QueueIndex,
        hold: Duration,
        is_ready: &mut impl FnMut(PeerId, Bound) -> bool,
    ) -> Option<(MessageOrigin, QueuedMessage, bool)> {
        let (peers, now) = (&mut self.peers, self.now);
        let mut is_overdue = false;
        let (origin, item) = self.inbox.pop_if(queue, |deferred| {
            let &mut DeferredMessage { sender, bound, time, batch_len, ref mut is_held } = deferred;
            is_overdue = false;
            if is_ready(sender, bound) {
                return true;
            }
            let peer = peers.get_mut(sender);
            let has_room = *is_held || peer.is_none_or(|peer| peer.held.add(batch_len));
            *is_held = has_room;
            is_overdue = !has_room || now.saturating_sub(time) >= hold;
            is_overdue
        })?;
        Some((origin, item, is_overdue))
    }

    /// Counts a message that was held and no longer is.
    pub(super) fn release_held(&mut self, origin: &MessageOrigin, item: &QueuedMessage) {
        if let Some(bytes) = self.inbox.held_bytes(item)
            && let Some(peer) = self.peers.get_mut(origin.sender)
        {
            peer.held.remove(bytes);
        }
    }
}

/// Bound messages of a peer that are held, of all types.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeldMessages {
    messages: usize,
    /// Bytes of the batches that are kept for them, each counted for each message.
    bytes: usize,
}

impl HeldMessages {
    /// Counts one more message; `false` if too many are held.
    pub(super) fn add(&mut self, batch_len: usize) -> bool {
        let bytes = self.bytes.saturating_add(batch_len);
        if self.messages >= MAX_HELD || bytes > MAX_HELD_BYTES {
            return false;
        }
        self.messages += 1;
        self.bytes = bytes;
        true
    }

    /// Counts a held message that was taken.
    pub(super) fn remove(&mut self, batch_len: usize) {
        self.messages = self.messages.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(batch_len);
    }
}

/// Largest number of messages of a peer that are held.
const MAX_HELD: usize = 256;

/// Largest number of bytes of a peer's batches that are held.
const MAX_HELD_BYTES: usize = 64 << 10;
