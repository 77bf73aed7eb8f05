//! The side that gets the world.

use alloc::vec::Vec;
use core::cell::Cell;

use super::body::{self, BodyError};
use super::header::Header;
use super::history::State;
use super::knowledge::ReceiverKnowledge;
use super::mention::{Change, Mentions};
use super::model::Model;
use super::scratch::with_room;
use super::trace::{Record, Trace};
use super::world::World;
use super::{Ack, Protocol, ReceiveError, SetError};
use tightwire_core::schema::{Dynamic, ObjectId};
use tightwire_core::stream::{ReadError, ReadStream, Wire};

/// Gets the world from a [`Sender`](crate::Sender), packet by packet.
///
/// Each packet goes to [`handle_snapshot`](Self::handle_snapshot), and what
/// [`ack`](Self::ack) says goes back with whatever is sent next.
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
/// assert_eq!((change.kind, Some(change.class)), (ChangeKind::Spawned, protocol.place_of::<u16>()));
/// assert_eq!(receiver.get::<u16>(7), Some(300));
///
/// // The network doubled it.
/// assert_eq!(receiver.handle_snapshot(packet), Err(snapshot::ReceiveError::Late));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Receiver {
    protocol: Protocol,
    world: World,
    changes: Vec<ObjectChange>,
    mentions: Mentions,
    /// The model of the packet that is being read.
    model: Model,
    pristine: Model,
    value: Vec<u8>,
    cells: Vec<u32>,
}

/// What a snapshot did to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectChange {
    /// Which object.
    pub id: ObjectId,
    /// The place of its class in the protocol, as [`Protocol::place_of`] says; of one that is
    /// gone, the class that it had.
    pub class: u16,
    /// What happened to it.
    pub kind: ChangeKind,
}

/// What happened to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ChangeKind {
    /// It was not there before.
    Spawned,
    /// It has another value.
    Changed,
    /// It is not there any more.
    Despawned,
}

/// What a snapshot was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Received {
    /// The tick of the sender.
    pub tick: u32,
    /// All that is for this receiver to see is now as it was for the sender at that tick. Otherwise some
    /// of it is, since not everything fitted.
    pub is_complete: bool,
}

impl Receiver {
    /// An empty world.
    #[must_use]
    pub fn new(protocol: &Protocol) -> Self {
        Self {
            world: World::new(protocol),
            changes: Vec::new(),
            mentions: Mentions::default(),
            model: Model::new(protocol),
            pristine: Model::new(protocol),
            value: Vec::new(),
            cells: Vec::new(),
            protocol: protocol.clone(),
        }
    }

    /// Adds an object that is known from the beginning: see
    /// [`Sender::set_initial`](crate::Sender::set_initial). To be called before the
    /// first snapshot.
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
            return Err(SetError::HasBegun);
        }
        let class = self.protocol.quantise(value, &mut self.value, &mut self.cells)?;
        match self.world.set_initial(id.into(), class, &self.cells) {
            true => Ok(()),
            false => Err(SetError::TooManyObjects),
        }
    }

    /// Takes a packet of the sender.
    ///
    /// # Errors
    ///
    /// [`ReceiveError`], and nothing has changed. [`ReceiveError::Late`] is no fault of anybody.
    pub fn handle_snapshot(&mut self, packet: &[u8]) -> Result<Received, ReceiveError> {
        self.handle(packet, None)
    }

    /// The same, and says what every bit of the packet was for. Packets may be taken with and without
    /// a trace in turn.
    ///
    /// # Errors
    ///
    /// As [`handle_snapshot`](Self::handle_snapshot); the trace has what was read up to the refusal.
    pub fn handle_snapshot_traced(
        &mut self,
        packet: &[u8],
        trace: &mut Trace,
    ) -> Result<Received, ReceiveError> {
        trace.begin(&self.protocol, packet);
        self.handle(packet, Some(trace))
    }

    fn handle(
        &mut self,
        packet: &[u8],
        mut trace: Option<&mut Trace>,
    ) -> Result<Received, ReceiveError> {
        let mut header = Header::default();
        let mut stream = ReadStream::new(packet);
        let newest = self.world.next.saturating_sub(1);
        let is_known_base = Cell::new(true);
        let told = |number| {
            let told = self.world.packet(number).and_then(|packet| packet.told);
            is_known_base.set(told.is_some());
            told
        };
        let read = match &mut trace {
            None => header.serialize(&mut stream, newest, told),
            Some(trace) => trace.read_header(&mut header, &mut stream, newest, told),
        };
        if let Err(error) = read {
            let is_late = header.number < self.world.next;
            return Err(match is_known_base.get() {
                _ if is_late && stream.position() > 12 => ReceiveError::Late,
                true => ReceiveError::Malformed(error),
                false => ReceiveError::UnknownBase,
            });
        }
        if header.number < self.world.next || header.start < self.world.start {
            return Err(ReceiveError::Late);
        }
        let at = (stream.position() as usize).div_ceil(8);
        let record = trace.as_mut().map(|trace| (&mut trace.record, at));
        let read = self.read_body(&header, packet, at, record);
        if let Some(trace) = trace {
            trace.keep(body::sent_check(packet, at), &self.mentions);
        }
        read?;
        self.changes.clear();
        self.world.apply(&header, &self.mentions, &mut self.model, &mut self.changes);
        Ok(Received { tick: header.tick, is_complete: header.is_complete })
    }

    /// Reads the body, which begins `at` a byte.
    fn read_body(
        &mut self,
        header: &Header,
        packet: &[u8],
        at: usize,
        trace: Option<(&mut Record, usize)>,
    ) -> Result<(), ReceiveError> {
        self.mentions.clear();
        let knowledge = ReceiverKnowledge::new(&self.world, header);
        let learned = match knowledge.base() {
            Some(base) => base.model.as_ref().ok_or(ReceiveError::UnknownBase)?,
            None => &self.pristine,
        };
        self.model.clone_from(learned);
        let body = packet.get(at..).unwrap_or_default();
        let Self { protocol, mentions, model, .. } = self;
        body::read(protocol, body, mentions, &knowledge, model, trace).map_err(
            |error| match error {
                BodyError::Malformed(ReadError { kind, bit }) => {
                    ReceiveError::Malformed(ReadError { kind, bit: bit + 8 * at as u64 })
                }
                BodyError::Check { sent, computed } => ReceiveError::Check { at, sent, computed },
            },
        )?;
        let mut added = 0;
        for mention in self.mentions.list.iter().filter(|mention| mention.change != Change::Gone) {
            let class = &self.protocol.classes()[usize::from(mention.class)];
            let cells = self.mentions.cells_of(mention).unwrap_or_default();
            self.value.resize(class.max_bytes, 0);
            if !class.layout.accepts(cells, &mut self.value) {
                return Err(ReceiveError::Object(mention.id));
            }
            added += usize::from(!self.world.has(mention.id));
        }
        // Those that are gone take places until both sides know, and the next ones are there already.
        match self.world.len() + added > 2 * self.protocol.config().max_objects {
            true => Err(ReceiveError::TooManyObjects),
            false => Ok(()),
        }
    }

    /// What arrived, for the sender: send it with whatever goes there next. None at the beginning.
    #[must_use]
    pub fn ack(&self) -> Option<Ack> {
        let newest = self.world.next.checked_sub(1).filter(|&newest| newest > 0)?;
        let arrived = |&bit: &u32| {
            newest.checked_sub(bit + 1).is_some_and(|number| self.world.packet(number).is_some())
        };
        let earlier = (0..u32::BITS).filter(arrived).fold(0, |bits, bit| bits | 1 << bit);
        Some(Ack { newest: newest as u16, earlier })
    }

    /// What the newest snapshot was.
    #[must_use]
    pub fn newest(&self) -> Option<Received> {
        self.world.newest
    }

    /// What the newest snapshot did.
    #[must_use]
    pub fn changes(&self) -> &[ObjectChange] {
        &self.changes
    }

    /// The state of an object.
    pub(super) fn row(&self, id: ObjectId) -> Option<State<'_>> {
        self.world.shown(id)
    }

    /// The objects with their states.
    pub(super) fn rows(&self) -> impl Iterator<Item = (ObjectId, State<'_>)> {
        self.world.iter()
    }

    /// The objects that the newest snapshot mentions.
    #[cfg(test)]
    pub(super) fn mentioned(&self) -> impl Iterator<Item = ObjectId> {
        self.mentions.list.iter().map(|mention| mention.id)
    }

    /// The objects that are there, in the order of their ids, with the places of their classes in the
    /// protocol.
    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, u16)> {
        self.world.iter().map(|(id, shown)| (id, shown.class))
    }

    /// The objects that are a `T`, in the order of their ids. One that the sender sent and that is no `T`,
    /// as text that is not UTF-8, is left out.
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
    pub fn iter<T: Wire + Default + 'static>(&self) -> impl Iterator<Item = (ObjectId, T)> {
        let class = self.protocol.place_of::<T>();
        let is_class = move |(_, place): &(ObjectId, u16)| Some(*place) == class;
        self.objects().filter(is_class).filter_map(|(id, _)| Some((id, self.get(id)?)))
    }

    /// Reads an object into `value`; whether it is there, and is a `T`.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the sender sent what is no `T`, as text that is not UTF-8.
    pub fn read<T: Wire + 'static>(
        &self,
        id: impl Into<ObjectId>,
        value: &mut T,
    ) -> Result<bool, ReadError> {
        let shown = self.world.shown(id.into());
        let Some(State { class, cells: Some(cells), .. }) = shown else { return Ok(false) };
        self.protocol.read_cells(class, cells, value)
    }

    /// An object, if it is there and is a `T`.
    #[must_use]
    pub fn get<T: Wire + Default + 'static>(&self, id: impl Into<ObjectId>) -> Option<T> {
        let mut value = T::default();
        self.read(id, &mut value).ok()?.then_some(value)
    }

    /// An object as a tree of values, if it is there: for those who have no Rust type for it, as with a
    /// protocol [from a description](Protocol::from_description). None also if the sender sent
    /// what is no value, as text that is not UTF-8.
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
        with_room(class.max_bytes, |room| {
            let packet = class.layout.packet_of(cells?, room).ok()?;
            class.declared.schema.decode(packet).ok()
        })
    }
}
