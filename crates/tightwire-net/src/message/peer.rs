//! The peers, with their batches and limits.

use core::{fmt, mem};

use super::batch::Batch;
use super::header::Sizes;
use super::held::HeldMessages;
use super::pool::Pool;
use super::registry::FIRST;
use super::{Delivery, DisconnectedError, MessengerConfig, PeerStats, SendError, Traffic};

/// A peer of a [`Messenger`](crate::message::Messenger), or its own side.
///
/// An id is never reused: after a peer is removed, no other peer gets its id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId {
    place: u32,
    /// Number of peers that had the place before.
    generation: u32,
}

/// The state of one peer.
#[derive(Debug)]
pub(super) struct Peer {
    /// Largest batch to the peer that is not fragmented, in bytes.
    mtu: usize,
    /// Largest value that `mtu` ever had, in bytes: the limit of batches from the peer, which may
    /// use a larger one than this side, or were sent before this side lowered its own.
    largest_mtu: usize,
    /// Largest batch to the peer that is fragmented, in bytes.
    max_fragmented: usize,
    /// Nothing more can be sent to the peer, or nothing that fragments.
    is_blocked: bool,
    is_fragmented_blocked: bool,
    /// The batch that is being filled. Its buffer stays with the peer, since a broadcast to many
    /// peers takes as long as the memory that it touches.
    open: Batch,
    /// Completed batches, before the open one.
    complete: Vec<Batch>,
    /// Numbers of the peer's messages and bytes of its batches that wait to be handled.
    pub(super) waiting_messages: usize,
    pub(super) waiting_bytes: usize,
    /// Bytes of its batches without a waiting message; they count until the frame ends, or a peer
    /// could send any number of them.
    pub(super) refused_bytes: usize,
    /// Bound messages of the peer that are held.
    pub(super) held: HeldMessages,
    stats: PeerStats,
    /// Sent and received traffic of each type, by its index.
    types: Vec<[Traffic; 2]>,
}

/// All peers, by place.
#[derive(Debug, Default)]
pub(super) struct Peers {
    places: Vec<(u32, Option<Peer>)>,
    free: Vec<u32>,
}

impl PeerId {
    /// This side itself: a host that also plays sends to itself.
    pub const LOCAL: Self = Self { place: u32::MAX, generation: 0 };
}

impl Peer {
    /// Whether nothing more of a delivery can be sent to the peer.
    fn blocks(&self, delivery: Delivery) -> bool {
        self.is_blocked || (self.is_fragmented_blocked && delivery.fragments())
    }

    /// Returns the largest batch of a delivery to the peer, in bytes; 0 if the peer is blocked.
    pub(super) fn limit(&self, delivery: Delivery) -> usize {
        if self.blocks(delivery) {
            return 0;
        }
        let configured = if delivery.fragments() { self.max_fragmented } else { self.mtu };
        configured.min(Sizes::of(delivery).max_batch())
    }

    /// Returns the largest batch of a delivery from the peer, in bytes.
    pub(super) fn receive_limit(&self, delivery: Delivery, config: &MessengerConfig) -> usize {
        if delivery.fragments() { config.max_fragmented } else { self.largest_mtu }
    }

    /// Sets the largest fragmented batch, up to the limit that both sides have agreed on.
    pub(super) fn set_max_fragmented(&mut self, most: usize, config: &MessengerConfig) {
        self.max_fragmented = most.min(config.max_fragmented);
    }

    pub(super) fn set_blocked(&mut self, is_blocked: bool) {
        self.is_blocked = is_blocked;
    }

    pub(super) fn set_fragmented_blocked(&mut self, is_blocked: bool) {
        self.is_fragmented_blocked = is_blocked;
    }

    /// Whether there is room for a batch of any size from the peer.
    pub(super) fn has_room(&self, config: &MessengerConfig) -> bool {
        let longest = config.max_fragmented.max(self.largest_mtu);
        self.waiting_bytes == 0 || self.waiting_bytes.saturating_add(longest) <= config.peer_bytes()
    }

    pub(super) fn set_mtu(&mut self, mtu: usize) {
        self.mtu = mtu;
        self.largest_mtu = self.largest_mtu.max(mtu);
    }

    /// Returns the batch that has room for `additional_bytes` bytes: the open one if it is of this
    /// delivery, else the next.
    #[inline]
    pub(super) fn batch(
        &mut self,
        id: PeerId,
        delivery: Delivery,
        additional_bytes: usize,
        pool: &mut Pool,
        config: &MessengerConfig,
    ) -> Result<&mut Batch, SendError> {
        let limit = self.limit(delivery);
        let is_full = self.open.len() + additional_bytes > limit
            || self.open.messages() >= config.batch_messages;
        if self.open.is_empty() || self.open.delivery() != delivery || is_full {
            self.next_batch(id, delivery, limit, pool, config)?;
        }
        Ok(&mut self.open)
    }

    /// Opens the next batch, of this delivery and with at most `limit` bytes.
    #[inline(never)]
    fn next_batch(
        &mut self,
        id: PeerId,
        delivery: Delivery,
        limit: usize,
        pool: &mut Pool,
        config: &MessengerConfig,
    ) -> Result<(), SendError> {
        if !self.open.is_empty() {
            if self.complete.len() + 1 >= config.send_queue {
                return Err(SendError::QueueFull(id));
            }
            let next = Batch::new(delivery, pool.take(limit.min(self.mtu)));
            self.complete.push(mem::replace(&mut self.open, next));
        } else {
            // The open batch can be of any delivery, and have no buffer yet.
            self.open.restart(delivery, limit.min(self.mtu), pool);
        }
        Ok(())
    }

    /// Reopens the previous batch, if nothing was written into the open one.
    pub(super) fn reopen(&mut self, pool: &mut Pool) {
        if self.open.is_empty()
            && let Some(last) = self.complete.pop()
        {
            pool.put(mem::replace(&mut self.open, last).into_bytes());
        }
    }

    /// Appends a message that is already written to the open batch. `false` if that takes another
    /// batch, more memory, or is an error.
    #[inline]
    pub(super) fn append_quickly(
        &mut self,
        number: u8,
        message: &[u8],
        delivery: Delivery,
        config: &MessengerConfig,
    ) -> bool {
        let limit = self.limit(delivery);
        if !self.open.append_within(message, delivery, config.batch_messages, limit) {
            return false;
        }
        self.count_sent(number, message.len());
        true
    }

    /// Counts a message in a batch. This is the only counter, or every copy of a broadcast would
    /// pay for two.
    #[inline]
    pub(super) fn count_sent(&mut self, number: u8, bytes: usize) {
        if let Some([sent, _]) = self.types.get_mut(place(number)) {
            sent.add(bytes);
        }
    }

    /// Counts messages of `bytes` each that wait for their stage.
    #[inline]
    pub(super) fn count_received(&mut self, number: u8, messages: usize, bytes: usize) {
        if let Some([_, received]) = self.types.get_mut(place(number)) {
            received.add_many(messages, bytes);
        }
    }

    /// Counts a received batch.
    pub(super) fn count_batch(&mut self) {
        self.stats.batches_received += 1;
    }

    /// Counts a refused batch or message.
    pub(super) fn count_refused(&mut self) {
        self.stats.refused += 1;
    }

    /// Returns the sent and received traffic of each type.
    pub(super) fn types(&self) -> &[[Traffic; 2]] {
        &self.types
    }

    pub(super) fn stats(&self) -> PeerStats {
        self.types.iter().fold(self.stats, |mut all, [sent, received]| {
            all.sent += *sent;
            all.received += *received;
            all
        })
    }

    /// Passes each batch that has messages to `deliver`, in order, until one is refused.
    pub(super) fn flush(
        &mut self,
        pool: &mut Pool,
        mut deliver: impl FnMut(Delivery, &[u8]) -> Result<(), DisconnectedError>,
    ) {
        let mut is_connected = true;
        let stats = &mut self.stats;
        let mut give = |batch: &mut Batch| {
            let delivery = batch.delivery();
            if let Some(bytes) = batch.finish() {
                is_connected = is_connected && deliver(delivery, bytes).is_ok();
                stats.batches_sent += u64::from(is_connected);
                stats.batches_lost += u64::from(!is_connected);
            }
        };
        for mut batch in self.complete.drain(..) {
            give(&mut batch);
            pool.put(batch.into_bytes());
        }
        give(&mut self.open);
        // The buffer stays with the peer, unless it has grown for one large message.
        self.open.clear(self.mtu.max(Pool::SMALL), pool);
    }

    /// Returns the buffers of a removed peer to the pool.
    pub(super) fn discard(mut self, pool: &mut Pool) {
        let open = mem::take(&mut self.open);
        for batch in self.complete.into_iter().chain([open]) {
            pool.put(batch.into_bytes());
        }
    }
}

impl Peers {
    pub(super) fn add(&mut self, mtu: usize, types: usize, config: &MessengerConfig) -> PeerId {
        let peer = Peer {
            mtu,
            largest_mtu: mtu,
            max_fragmented: config.max_fragmented,
            is_blocked: false,
            is_fragmented_blocked: false,
            open: Batch::default(),
            complete: Vec::with_capacity(config.send_queue.min(64)),
            waiting_messages: 0,
            waiting_bytes: 0,
            refused_bytes: 0,
            held: HeldMessages::default(),
            stats: PeerStats::default(),
            types: vec![Default::default(); types],
        };
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            self.places.len() as u32 - 1
        });
        let (generation, there) = &mut self.places[place as usize];
        *there = Some(peer);
        PeerId { place, generation: *generation }
    }

    /// Removes a peer. Its id is never reused, unless four billion others had its place.
    pub(super) fn remove(&mut self, id: PeerId) -> Option<Peer> {
        let (generation, there) = self.places.get_mut(id.place as usize)?;
        if *generation != id.generation {
            return None;
        }
        let peer = there.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(id.place);
        Some(peer)
    }

    pub(super) fn get(&self, id: PeerId) -> Option<&Peer> {
        let (generation, peer) = self.places.get(id.place as usize)?;
        peer.as_ref().filter(|_| *generation == id.generation)
    }

    pub(super) fn get_mut(&mut self, id: PeerId) -> Option<&mut Peer> {
        let (generation, peer) = self.places.get_mut(id.place as usize)?;
        peer.as_mut().filter(|_| *generation == id.generation)
    }

    /// Returns a peer that is not blocked for a delivery.
    pub(super) fn open_mut(
        &mut self,
        id: PeerId,
        delivery: Delivery,
    ) -> Result<&mut Peer, SendError> {
        let peer = self.get_mut(id).ok_or(SendError::UnknownPeer(id))?;
        if peer.blocks(delivery) { Err(SendError::Blocked(id)) } else { Ok(peer) }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (PeerId, &mut Peer)> {
        (0..).zip(&mut self.places).filter_map(|(place, (generation, peer))| {
            Some((PeerId { place, generation: *generation }, peer.as_mut()?))
        })
    }

    /// Returns the peer at a place, if there is one; `None` beyond the last place.
    pub(super) fn at(&self, place: u32) -> Option<Option<PeerId>> {
        let (generation, peer) = self.places.get(place as usize)?;
        Some(peer.as_ref().map(|_| PeerId { place, generation: *generation }))
    }

    pub(super) fn ids(&self) -> PeerIds<'_> {
        PeerIds { peers: self, place: 0 }
    }
}

/// Iterator over the peers of a [`Messenger`](crate::message::Messenger), in no order.
// A named type, since an opaque one could have a destructor, so that
// `if let Some(peer) = messenger.peers().next() { messenger.send(…) }` would not compile.
#[derive(Clone)]
pub struct PeerIds<'m> {
    peers: &'m Peers,
    place: u32,
}

impl Iterator for PeerIds<'_> {
    type Item = PeerId;

    fn next(&mut self) -> Option<PeerId> {
        loop {
            let peer = self.peers.at(self.place)?;
            self.place += 1;
            if peer.is_some() {
                return peer;
            }
        }
    }
}

impl fmt::Debug for PeerIds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// Returns the index of a type.
#[inline]
fn place(number: u8) -> usize {
    usize::from(number.wrapping_sub(FIRST))
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::LOCAL => f.write_str("this side"),
            Self { place, generation: 0 } => write!(f, "peer {place}"),
            Self { place, generation } => write!(f, "peer {place}.{generation}"),
        }
    }
}

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerId({self})")
    }
}
