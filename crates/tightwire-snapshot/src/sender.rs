//! The sending side: [`Sender`] has the world and makes a snapshot per tick for each receiver.

mod all;
mod dynamic;
mod edit;
mod into;
mod level;
mod make;
mod ownership;
#[cfg(feature = "parallel")]
mod parallel;
mod relevancy;
mod rewind;
#[cfg(test)]
mod rewind_tests;
mod rows;
mod spawn;
mod timer;

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::auto_level::TickLevels;
use super::bodies::Bodies;
use super::relevancy::Relevancy;
use super::store::Store;
use super::view::{SentPacket, View};
use super::{Ack, Leaving, ObjectView, Protocol, SetError};
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::Wire;

use make::Maker;

pub use all::SnapshotRequest;
pub use edit::RowEdit;
pub use into::Snapshot;

/// Handle of a receiver of a [`Sender`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReceiverId {
    pub(super) place: u32,
    /// Generation of the place: a receiver that reuses the place has another one.
    generation: u32,
}

/// Replicates a world: takes its objects, and makes a snapshot per tick for each receiver, with the
/// objects that are dirty for that receiver.
///
/// A tick is [`begin_tick`](Self::begin_tick), then [`set`](Self::set) and [`remove`](Self::remove)
/// for the objects that changed, then [`snapshot`](Self::snapshot) for each receiver. The acks of
/// receivers go to [`handle_ack`](Self::handle_ack).
///
/// ```
/// use tightwire::{snapshot, Wire};
/// use tightwire::snapshot::Leaving;
///
/// #[derive(Wire, Default, PartialEq, Debug)]
/// struct Door {
///     open: bool,
/// }
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<Door>().build()?;
/// let (mut sender, mut receiver) = (snapshot::Sender::new(&protocol), snapshot::Receiver::new(&protocol));
/// let client = sender.add_receiver(Leaving::Despawn);
/// for tick in 1..=3 {
///     sender.begin_tick(tick);
///     if tick < 3 {
///         sender.set(7, &Door { open: tick == 2 })?;
///     } else {
///         sender.remove(7)?;
///     }
///     receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap())?;
///     sender.handle_ack(client, receiver.ack().unwrap());
///     let expected = [Some(Door { open: false }), Some(Door { open: true }), None];
///     assert_eq!(receiver.get::<Door>(7), expected[tick as usize - 1]);
/// }
/// sender.remove_receiver(client);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sender {
    protocol: Protocol,
    store: Store,
    views: Vec<Option<Box<View>>>,
    /// Generation of the current or last receiver of each place.
    generations: Vec<u32>,
    epoch: u32,
    /// Sequence number of the first packet to a new receiver: above those of all removed receivers,
    /// so that a remote receiver that goes on with a new view sees that its packets start over.
    first_number: u32,
    /// The tick is frozen: a snapshot of it was sent.
    is_sent: bool,
    bodies: Bodies,
    levels: TickLevels,
    relevancy: Relevancy,
    maker: Maker,
    value: Vec<u8>,
    cells: Vec<u32>,
    packet: Vec<u8>,
    /// Packets that are made at once, and memory of the threads that make them.
    #[cfg(feature = "parallel")]
    jobs: Vec<parallel::Job>,
    #[cfg(feature = "parallel")]
    makers: Vec<Maker>,
}

impl Sender {
    /// Creates a sender with an empty world and no receivers.
    #[must_use]
    pub fn new(protocol: &Protocol) -> Self {
        Self {
            protocol: protocol.clone(),
            store: Store::new(protocol),
            views: Vec::new(),
            generations: Vec::new(),
            epoch: 0,
            first_number: 1,
            is_sent: false,
            bodies: Bodies::new(),
            levels: TickLevels::default(),
            relevancy: Relevancy::new(protocol),
            maker: Maker::default(),
            value: Vec::new(),
            cells: Vec::new(),
            packet: Vec::new(),
            #[cfg(feature = "parallel")]
            jobs: Vec::new(),
            #[cfg(feature = "parallel")]
            makers: Vec::new(),
        }
    }

    /// Sets the epoch, by which receivers tell this sender from others, as from the one before a
    /// restart. Use a number that other senders are unlikely to have, such as a random one or the time.
    /// The default is 0.
    ///
    /// A receiver that had snapshots of a sender of another epoch
    /// [refuses](crate::ReceiveError::OtherSender) those of this one, until its application calls
    /// [resync](crate::Receiver::resync). Two senders of the same epoch are told apart by the
    /// checksums of their packets, and never mixed up either, but the refusal may not name the
    /// reason.
    ///
    /// ```
    /// use tightwire::snapshot;
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<bool>().build()?;
    /// let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    /// let sender = snapshot::Sender::new(&protocol).with_epoch(started.as_millis() as u32);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_epoch(mut self, epoch: u32) -> Self {
        self.epoch = epoch;
        self
    }

    /// Adds an object that every receiver has from the beginning, such as one of the level.
    /// To be called before the first tick. The receivers [do the
    /// same](crate::Receiver::set_initial), and nothing of the object is sent until it changes.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn set_initial<T: Wire + 'static>(
        &mut self,
        id: impl Into<ObjectId>,
        value: &T,
    ) -> Result<(), SetError> {
        if self.store.tick > 0 || self.is_sent {
            return Err(SetError::AlreadyStarted);
        }
        let class = self.protocol.cells_of(value, &mut self.value, &mut self.cells)?;
        self.store.set_initial(id.into(), class, &self.cells)
    }

    /// Begins a tick, whose number must be above that of the tick before. Objects keep their states
    /// until they are set.
    ///
    /// A tick that is not above the one before is ignored.
    pub fn begin_tick(&mut self, tick: u32) {
        if tick <= self.store.tick {
            return;
        }
        self.is_sent = false;
        self.free_acked_despawns();
        self.bodies.begin_tick();
        self.levels.begin_tick();
        self.store.begin_tick(tick);
    }

    /// Sets the state of an object from this tick on: adds the object, or changes it if the state
    /// differs. Receivers get the state quantised.
    ///
    /// # Errors
    ///
    /// [`SetError`] if `T` is no class of the protocol, an integer is out of its range, a float is
    /// not finite, there are too many objects, or the tick is frozen: after its first snapshot, set
    /// objects in the next tick. A quantised float beyond its bounds is no error, and is clamped.
    /// An id that [`spawn`](Self::spawn) gave out can be set until the object is removed; then it
    /// is in quarantine.
    pub fn set<T: Wire + 'static>(
        &mut self,
        id: impl Into<ObjectId>,
        value: &T,
    ) -> Result<(), SetError> {
        if self.is_sent {
            return Err(SetError::TickFrozen);
        }
        let id = id.into();
        let slot = self.store.find_next(id);
        let class = self.protocol.class_index::<T>();
        if let (Some(slot), Some(class)) = (slot, class)
            && self.store.is_given(slot, class, value)
        {
            return Ok(());
        }
        let class = self.protocol.cells_of(value, &mut self.value, &mut self.cells)?;
        match slot {
            // An object that has a slot may be despawned, and in quarantine.
            Some(slot) if self.store.is_spawned(slot) => {
                self.store.change(slot, class, Some(&self.cells));
                self.store.keep_given(slot, class);
                Ok(())
            }
            _ => self.store.set(id, class, &self.cells),
        }
    }

    /// Despawns an object from this tick on. Does nothing if there is no such object.
    ///
    /// # Errors
    ///
    /// [`SetError::TickFrozen`] after the first snapshot of a tick.
    pub fn remove(&mut self, id: impl Into<ObjectId>) -> Result<(), SetError> {
        if self.is_sent {
            return Err(SetError::TickFrozen);
        }
        if let Some(slot) = self.store.remove(id.into()) {
            self.change_owner(slot, None);
            self.relevancy.clear(slot);
            if self.relevancy.has_scopes() {
                self.views
                    .iter_mut()
                    .flatten()
                    .for_each(|view| view.receiver_relevancy.leave(slot));
            }
        }
        Ok(())
    }

    /// Adds a receiver that has no states yet: its first snapshot is a keyframe.
    pub fn add_receiver(&mut self, leaving: Leaving) -> ReceiverId {
        let free = self.views.iter().position(Option::is_none);
        let place = free.unwrap_or_else(|| {
            self.views.push(None);
            self.generations.push(0);
            self.views.len() - 1
        });
        self.generations[place] = self.generations[place].wrapping_add(1);
        let receiver = ReceiverId { place: place as u32, generation: self.generations[place] };
        let level = self.protocol.config().level;
        let view = View::new(receiver, leaving, level, self.first_number);
        self.views[place] = Some(Box::new(view));
        receiver
    }

    /// Removes a receiver. While a sender has a receiver, it keeps the states that the receiver may
    /// have.
    pub fn remove_receiver(&mut self, receiver: ReceiverId) {
        if let Some(view) = self.slot_of(receiver).and_then(|place| self.views[place].take()) {
            self.clear_owned(receiver);
            view.bodies().for_each(|body| self.bodies.release(body));
            self.first_number = self.first_number.max(view.next());
        }
    }

    /// Handles an ack of the receiver: the states in the acked packets become its baseline.
    pub fn handle_ack(&mut self, receiver: ReceiverId, ack: Ack) {
        if let Some(place) = self.slot_of(receiver)
            && let Some(view) = &mut self.views[place]
        {
            view.handle_ack(&self.store, ack, |body| self.bodies.release(body));
        }
    }

    /// Returns the number of packets in flight: sent after the newest acked one. After 96 the sender
    /// resyncs. On links with a long round trip, send less often. `None` if the receiver was removed.
    ///
    /// ```
    /// # use tightwire::snapshot::{self, Leaving};
    /// # let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<bool>().build()?;
    /// # let (mut sender, mut receiver) = (snapshot::Sender::new(&protocol), snapshot::Receiver::new(&protocol));
    /// # let client = sender.add_receiver(Leaving::Despawn);
    /// for tick in 1..=3 {
    ///     sender.begin_tick(tick);
    ///     receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap())?;
    /// }
    /// assert_eq!(sender.in_flight(client), Some(3));
    /// sender.handle_ack(client, receiver.ack().unwrap());
    /// assert_eq!(sender.in_flight(client), Some(0));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn in_flight(&self, receiver: ReceiverId) -> Option<u32> {
        Some(self.views[self.slot_of(receiver)?].as_ref()?.in_flight())
    }

    /// Returns the tick of the newest snapshot that the receiver is known to have; `None` if there
    /// is none, or if the receiver was removed.
    ///
    /// ```
    /// # use tightwire::snapshot::{self, Leaving};
    /// # let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<bool>().build()?;
    /// # let (mut sender, mut receiver) = (snapshot::Sender::new(&protocol), snapshot::Receiver::new(&protocol));
    /// # let client = sender.add_receiver(Leaving::Despawn);
    /// sender.begin_tick(41);
    /// receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap())?;
    /// assert_eq!(sender.acked_tick(client), None);
    /// sender.handle_ack(client, receiver.ack().unwrap());
    /// assert_eq!(sender.acked_tick(client), Some(41));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn acked_tick(&self, receiver: ReceiverId) -> Option<u32> {
        let view = self.views[self.slot_of(receiver)?].as_ref()?;
        view.baseline().map(SentPacket::tick)
    }

    /// Makes the packet of this tick for a receiver, of at most `budget` bytes: as many of the
    /// dirty objects as fit, by priority. `None` if the receiver already had a packet in this tick,
    /// if it was removed, or if the budget is below 64 bytes.
    pub fn snapshot(&mut self, receiver: ReceiverId, budget: usize) -> Option<&[u8]> {
        self.snapshot_into(receiver, budget, 0, None).map(|made| &*made.bytes)
    }

    /// Makes the packet of this tick as [`snapshot`](Self::snapshot) does, with the relevancy and
    /// priority of objects for this receiver.
    ///
    /// `interest` returns the weight of an object, or `None` if the object is not relevant to the
    /// receiver; it can look at the [value](ObjectView::get) of the object. Each snapshot that
    /// leaves out a dirty object raises the priority of the object by its weight, so that no object
    /// waits for ever. `interest` is called for every dirty object, and for each other object at
    /// least once in 16 snapshots.
    ///
    /// ```
    /// # use tightwire::snapshot::{self, Leaving};
    /// # let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<bool>().build()?;
    /// # let (mut sender, mut receiver) = (snapshot::Sender::new(&protocol), snapshot::Receiver::new(&protocol));
    /// # let client = sender.add_receiver(Leaving::Despawn);
    /// sender.begin_tick(1);
    /// (0..10u32).try_for_each(|id| sender.set(id, &true))?;
    /// // Every second object, and the last ones first.
    /// let packet = sender.snapshot_with(client, 1000, |object| {
    ///     let id = object.id.0;
    ///     (id % 2 == 0).then_some(id)
    /// });
    /// receiver.handle_snapshot(packet.unwrap())?;
    /// assert_eq!(receiver.objects().count(), 5);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn snapshot_with(
        &mut self,
        receiver: ReceiverId,
        budget: usize,
        mut interest: impl FnMut(ObjectView<'_>) -> Option<u32>,
    ) -> Option<&[u8]> {
        self.snapshot_into(receiver, budget, 0, Some(&mut interest)).map(|made| &*made.bytes)
    }

    /// The place of a receiver, if it was not removed.
    fn slot_of(&self, receiver: ReceiverId) -> Option<usize> {
        let place = receiver.place as usize;
        let is_current = self.generations.get(place) == Some(&receiver.generation);
        is_current.then_some(place).filter(|&place| self.views[place].is_some())
    }

    /// Number of objects that changed in this tick.
    #[cfg(test)]
    pub(super) fn changed_objects(&self) -> usize {
        self.store.changed_in_tick()
    }

    /// Number of times that updates were coded, and number of these updates.
    #[cfg(test)]
    pub(super) fn coded(&self) -> (u64, u64) {
        let crate::CodedUpdates { packed, modeled } = self.bodies.coded_updates;
        (self.bodies.coded, packed + modeled)
    }

    /// Frees the slots of despawned objects whose despawn every receiver has acked.
    fn free_acked_despawns(&mut self) {
        let Self { store, views, .. } = self;
        let mut despawned = core::mem::take(&mut store.despawned);
        despawned.retain(|&slot| {
            let Some(current) = store.newest(slot).filter(|current| current.cells.is_none()) else {
                store.unlist_despawned(slot);
                return false;
            };
            let tick = current.stamp.tick;
            if !store.slot(slot).initial.is_empty()
                || !views.iter().flatten().all(|view| view.has_acked_despawn(slot, tick))
            {
                return true;
            }
            for view in views.iter_mut().flatten() {
                view.clear_slot(slot);
            }
            store.free(slot);
            false
        });
        store.despawned = despawned;
    }
}
