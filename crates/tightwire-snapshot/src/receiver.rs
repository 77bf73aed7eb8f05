//! The receiving side: [`Receiver`] has a copy of the world.

mod handle;

use alloc::vec::Vec;

use super::history::State;
use super::ids::Entries;
use super::model::Model;
use super::scratch::with_scratch;
use super::trace::Trace;
use super::update::ObjectUpdates;
use super::world::World;
use super::{Ack, Protocol, ReceiveError, ReceiverIter, Row, SetError};
use tightwire_core::schema::{Dynamic, ObjectId};
use tightwire_core::stream::{ReadError, Wire};

/// Receives the world of a [`Sender`](crate::Sender), packet by packet.
///
/// Each packet goes to [`handle_snapshot`](Self::handle_snapshot), and the [`ack`](Self::ack) goes
/// back with the next message to the sender.
///
/// ```
/// use tightwire::snapshot::{self, ChangeKind, Leaving};
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u16>().build()?;
/// let mut sender = snapshot::Sender::new(&protocol);
/// let client = sender.add_receiver(Leaving::Despawn);
/// sender.begin_tick(1);
/// sender.set(7, &300u16)?;
/// let packet = sender.snapshot(client, 1000).unwrap();
///
/// let mut receiver = snapshot::Receiver::new(&protocol);
/// let received = receiver.handle_snapshot(packet)?;
/// assert!(received.is_complete && received.tick == 1);
/// let change = receiver.changes()[0];
/// assert_eq!((change.kind, Some(change.class)), (ChangeKind::Spawned, protocol.class_index::<u16>()));
/// assert_eq!(receiver.get::<u16>(7), Some(300));
///
/// // The network duplicated the packet.
/// assert_eq!(receiver.handle_snapshot(packet), Err(snapshot::ReceiveError::Late));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Receiver {
    protocol: Protocol,
    world: World,
    changes: Vec<ObjectChange>,
    updates: ObjectUpdates,
    /// Model of the packet that is being read.
    model: Model,
    /// Model of a keyframe, before anything is learned.
    pristine: Model,
    value: Vec<u8>,
    cells: Vec<u32>,
}

/// A change of an object by a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectChange {
    /// Id of the object.
    pub id: ObjectId,
    /// Index of its class in the protocol, as [`Protocol::class_index`] returns it; of a despawned
    /// object, the class that it had.
    pub class: u16,
    /// Kind of the change.
    pub kind: ChangeKind,
}

/// Kind of a change of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ChangeKind {
    /// The object is new.
    Spawned,
    /// The object has another value.
    Changed,
    /// The object has despawned.
    Despawned,
}

/// Tick and completeness of a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Received {
    /// Tick of the sender.
    pub tick: u32,
    /// Every object that is relevant to this receiver is now as it was on the sender at that tick.
    /// If false, only some are, since not all dirty objects fitted into the budget.
    pub is_complete: bool,
}

impl Receiver {
    /// Creates a receiver with an empty world.
    #[must_use]
    pub fn new(protocol: &Protocol) -> Self {
        Self {
            world: World::new(protocol),
            changes: Vec::new(),
            updates: ObjectUpdates::default(),
            model: Model::default(),
            pristine: Model::default(),
            value: Vec::new(),
            cells: Vec::new(),
            protocol: protocol.clone(),
        }
    }

    /// Adds an object that both sides have from the beginning: see
    /// [`Sender::set_initial`](crate::Sender::set_initial). To be called before the first snapshot.
    ///
    /// # Errors
    ///
    /// As [`Sender::set`](crate::Sender::set).
    pub fn set_initial<T: Wire + 'static>(
        &mut self,
        id: impl Into<ObjectId>,
        value: &T,
    ) -> Result<(), SetError> {
        if self.world.newest.is_some() {
            return Err(SetError::AlreadyStarted);
        }
        let class = self.protocol.cells_of(value, &mut self.value, &mut self.cells)?;
        match self.world.set_initial(id.into(), class, &self.cells) {
            true => Ok(()),
            false => Err(SetError::TooManyObjects),
        }
    }

    /// Handles a packet of the sender.
    ///
    /// # Errors
    ///
    /// [`ReceiveError`], and the world is unchanged. [`ReceiveError::Late`] is normal on a network
    /// that reorders or duplicates packets.
    pub fn handle_snapshot(&mut self, packet: &[u8]) -> Result<Received, ReceiveError> {
        self.handle(packet, None)
    }

    /// Handles a packet, and records in `trace` which field each bit belongs to. Packets may be
    /// handled with and without a trace in turn.
    ///
    /// # Errors
    ///
    /// As [`handle_snapshot`](Self::handle_snapshot); the trace has the parts up to the refusal.
    pub fn handle_snapshot_traced(
        &mut self,
        packet: &[u8],
        trace: &mut Trace,
    ) -> Result<Received, ReceiveError> {
        trace.begin(&self.protocol, packet);
        self.handle(packet, Some(trace))
    }

    /// Accepts a keyframe of any sender as the next snapshot. Without this call, a receiver
    /// [refuses](ReceiveError::OtherSender) the snapshots of another sender, for example of a server
    /// that was restarted. Objects keep their states until a snapshot is complete.
    ///
    /// If the new sender's ticks start over, a [`Playback`](crate::Playback) of the same world
    /// starts over too.
    ///
    /// ```
    /// use tightwire::snapshot::{self, Leaving};
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u16>().build()?;
    /// let mut receiver = snapshot::Receiver::new(&protocol);
    /// for epoch in [17, 18] {
    ///     let mut sender = snapshot::Sender::new(&protocol).with_epoch(epoch);
    ///     let client = sender.add_receiver(Leaving::Despawn);
    ///     sender.begin_tick(1);
    ///     sender.set(epoch, &300u16)?;
    ///     let packet = sender.snapshot(client, 1000).unwrap();
    ///     if epoch == 18 {
    ///         let refused = snapshot::ReceiveError::OtherSender { here: 17, sent: 18 };
    ///         assert_eq!(receiver.handle_snapshot(packet), Err(refused));
    ///         receiver.resync();
    ///     }
    ///     receiver.handle_snapshot(packet)?;
    ///     assert_eq!(receiver.iter::<u16>().collect::<Vec<_>>(), [(epoch.into(), 300)]);
    /// }
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn resync(&mut self) {
        self.world.resync();
    }

    /// Returns the ack of the received snapshots: send it with the next message to the sender.
    /// `None` before the first snapshot.
    #[must_use]
    pub fn ack(&self) -> Option<Ack> {
        Ack::new(self.world.next.checked_sub(1)?, &self.world.checksums)
    }

    /// Returns tick and completeness of the newest snapshot; `None` before the first one.
    #[must_use]
    pub fn newest(&self) -> Option<Received> {
        self.world.newest
    }

    /// Returns the changes of objects by the newest snapshot.
    #[must_use]
    pub fn changes(&self) -> &[ObjectChange] {
        &self.changes
    }

    /// Returns the state of an object.
    pub(super) fn state(&self, id: ObjectId) -> Option<State<'_>> {
        self.world.shown(id)
    }

    /// Iterates over the objects whose ids are at least `from`, in the order of ids, with their
    /// cells.
    pub fn rows_from(&self, from: ObjectId) -> impl Iterator<Item = (ObjectId, Row<'_>)> {
        self.world.iter_from(from).filter_map(|(id, place)| {
            let state = self.world.shown_at(place)?;
            Some((id, Row { class: state.class, cells: state.cells? }))
        })
    }

    /// Returns the cells of an object; `None` if it does not exist.
    #[must_use]
    pub fn row(&self, id: impl Into<ObjectId>) -> Option<Row<'_>> {
        let state = self.state(id.into())?;
        Some(Row { class: state.class, cells: state.cells? })
    }

    /// Iterates over the objects and their states.
    pub(super) fn rows(&self) -> impl Iterator<Item = (ObjectId, State<'_>)> {
        self.world.iter()
    }

    /// Iterates over the objects that the newest snapshot updates.
    #[cfg(test)]
    pub(super) fn updated(&self) -> impl Iterator<Item = ObjectId> {
        self.updates.list.iter().map(|update| update.id)
    }

    /// Iterates over the objects in the order of their ids, with the indices of their classes in
    /// the protocol.
    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, u16)> {
        self.world.iter().map(|(id, shown)| (id, shown.class))
    }

    /// Iterates over the objects that are a `T`, in the order of their ids. Leaves out objects whose
    /// cells are no valid `T`, for example text that is not UTF-8.
    ///
    /// ```
    /// # use tightwire::snapshot::{self, Leaving};
    /// # let protocol = snapshot::Protocol::builder(snapshot::Config::default())
    /// #     .class::<u16>().class::<bool>().build()?;
    /// # let mut sender = snapshot::Sender::new(&protocol);
    /// # let client = sender.add_receiver(Leaving::Despawn);
    /// # let mut receiver = snapshot::Receiver::new(&protocol);
    /// sender.begin_tick(1);
    /// sender.set(7, &300u16)?;
    /// sender.set(8, &true)?;
    /// sender.set(9, &500u16)?;
    /// receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap())?;
    /// assert_eq!(receiver.iter::<u16>().collect::<Vec<_>>(), [(7.into(), 300), (9.into(), 500)]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn iter<T: Wire + Default + 'static>(&self) -> ReceiverIter<'_, T> {
        ReceiverIter::new(self)
    }

    pub(super) fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// Returns the slots of all objects, in the order of their ids.
    pub(super) fn entries(&self) -> Entries<'_> {
        self.world.entries()
    }

    /// Returns the class of the object in a slot; `None` if the object has despawned.
    pub(super) fn class_at(&self, place: u32) -> Option<u16> {
        let shown = self.world.shown_at(place)?;
        shown.cells.map(|_| shown.class)
    }

    /// Reads an object into `value`; returns whether it exists and is a `T`.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the object's cells are no valid `T`, for example text that is not UTF-8.
    pub fn read<T: Wire + 'static>(
        &self,
        id: impl Into<ObjectId>,
        value: &mut T,
    ) -> Result<bool, ReadError> {
        let shown = self.world.shown(id.into());
        let Some(State { class, cells: Some(cells), .. }) = shown else { return Ok(false) };
        self.protocol.read_cells(class, cells, value)
    }

    /// Returns an object, if it exists and is a `T`.
    #[must_use]
    pub fn get<T: Wire + Default + 'static>(&self, id: impl Into<ObjectId>) -> Option<T> {
        let mut value = T::default();
        self.read(id, &mut value).ok()?.then_some(value)
    }

    /// Returns an object as a tree of values, for programs that have no Rust type for it, such as
    /// tools with a protocol [from a description](Protocol::from_description). `None` if the object
    /// does not exist, or its cells are no valid value, for example text that is not UTF-8.
    ///
    /// ```
    /// use tightwire::snapshot::{self, Leaving};
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u16>().build()?;
    /// let mut sender = snapshot::Sender::new(&protocol);
    /// let client = sender.add_receiver(Leaving::Despawn);
    /// sender.begin_tick(1);
    /// sender.set(7, &300u16)?;
    ///
    /// let mut receiver = snapshot::Receiver::new(&protocol);
    /// receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap())?;
    /// assert_eq!(receiver.get_dynamic(7).unwrap().to_string(), "300");
    /// assert_eq!(receiver.get_dynamic(8), None);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get_dynamic(&self, id: impl Into<ObjectId>) -> Option<Dynamic> {
        let State { class, cells, .. } = self.world.shown(id.into())?;
        let class = &self.protocol.classes()[usize::from(class)];
        with_scratch(class.max_bytes, |room| {
            let packet = class.layout.packet_of(cells?, room).ok()?;
            class.declared.schema.decode(packet).ok()
        })
    }
}
