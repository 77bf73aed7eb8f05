//! The client's world: objects of the server, interpolated or predicted.

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::{ObjectChange, OffsetSize, Playback, Protocol, Receiver, Row, RowBuffer};

use super::changes::Changes;
use super::touch::PredictedOthers;
use crate::play::frame::RowSet;
use crate::play::predict::{FIRST_PROVISIONAL, Misprediction, Prediction};
use crate::play::scene::Steppable;
use crate::play::{Class, SceneError};

/// The received objects, what is shown of them, and the predicted ones.
pub(super) struct ClientWorld<I> {
    pub(super) protocol: Protocol,
    pub(super) receiver: Receiver,
    pub(super) playback: Playback,
    pub(super) prediction: Prediction,
    /// Objects that this client owns, sorted.
    pub(super) owned: Vec<ObjectId>,
    pub(super) others: PredictedOthers,
    /// Classes whose owned objects are predicted.
    pub(super) predicted_classes: Vec<bool>,
    /// The input of the tick that is stepped.
    pub(super) input: I,
    /// The shown part of the newest predicted tick.
    pub(super) fraction: f64,
    /// Shown rows of objects that are not simply interpolated.
    pub(super) shown: RowSet,
    /// Changes of the frame before.
    pub(super) shown_before: RowSet,
    pub(super) changes: Changes,
    /// Predicted objects whose rows arrived with the last call of `receive`.
    pub(super) arrived: Vec<ObjectId>,
    pub(super) scratch: RowBuffer,
}

impl<I> ClientWorld<I> {
    pub(super) fn is_owned(&self, id: ObjectId) -> bool {
        self.owned.binary_search(&id).is_ok()
    }

    pub(super) fn set_owned(&mut self, id: ObjectId, is_owned: bool) {
        match (self.owned.binary_search(&id), is_owned) {
            (Err(place), true) => self.owned.insert(place, id),
            (Ok(place), false) => drop(self.owned.remove(place)),
            _ => {}
        }
    }

    /// Computes the shown states of objects that are not only interpolated: predicted ones, and
    /// those whose prediction has just ended. This runs once a frame, so that reading a state
    /// allocates nothing.
    pub(super) fn refresh_shown(&mut self) {
        core::mem::swap(&mut self.shown, &mut self.shown_before);
        self.shown.clear();
        for (id, _) in self.prediction.frame().iter() {
            if self.prediction.show(id, self.fraction, &mut self.scratch) {
                self.shown.set(id, self.scratch.row());
            }
        }
        for id in self.prediction.offset_ids() {
            if !self.prediction.is_predicted(id)
                && self.playback.with_row(id, |row| self.scratch.copy_from(row)).is_some()
            {
                self.prediction.apply_offset(id, &mut self.scratch);
                self.shown.set(id, self.scratch.row());
            }
        }
        for place in 0..self.shown_before.len() + self.shown.len() {
            let before = self.shown_before.id_at(place);
            let id = before.or_else(|| self.shown.id_at(place - self.shown_before.len()));
            if let Some(id) = id {
                self.record_switched(id);
            }
        }
    }

    pub(super) fn is_shown(&self, id: ObjectId) -> bool {
        self.show(id, |_| ()).is_some()
    }

    /// Passes the shown state of an object to `read`.
    fn show<R>(&self, id: ObjectId, read: impl FnOnce(Row<'_>) -> R) -> Option<R> {
        match self.shown.get(id) {
            Some(row) => Some(read(row)),
            None => self.playback.with_row(id, read),
        }
    }

    /// The first object whose id is at least `from`, with its class: of `frame`, or else
    /// interpolated.
    fn next_of(&self, frame: &RowSet, from: ObjectId) -> Option<(ObjectId, u16)> {
        let is_interpolated = |(id, _): &(ObjectId, u16)| !frame.contains(*id);
        let interpolated = self.playback.objects_from(from).find(is_interpolated);
        let other = frame.first_from(from).map(|(id, row)| (id, row.class));
        match (interpolated, other) {
            (Some(one), Some(other)) => Some(if one.0 <= other.0 { one } else { other }),
            (one, other) => one.or(other),
        }
    }
}

impl<I> Steppable<I> for ClientWorld<I> {
    fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    fn input(&self, id: ObjectId) -> Option<&I> {
        self.is_owned(id).then_some(&self.input)
    }

    fn with_row(&self, id: ObjectId, read: &mut dyn FnMut(Row<'_>)) {
        match self.prediction.frame().get(id) {
            Some(row) => read(row),
            None => drop(self.playback.with_row(id, read)),
        }
    }

    fn is_simulated(&self, id: ObjectId) -> bool {
        self.prediction.is_predicted(id)
    }

    fn simulated(&self, ids: &mut Vec<ObjectId>) {
        ids.extend(self.prediction.frame().iter().map(|(id, _)| id));
    }

    fn next(&self, class: u16, from: ObjectId) -> Option<ObjectId> {
        let mut from = Some(from);
        loop {
            let (id, of) = self.next_of(self.prediction.frame(), from?)?;
            if of == class {
                return Some(id);
            }
            from = id.0.checked_add(1).map(ObjectId);
        }
    }

    fn set(&mut self, id: ObjectId, row: Row<'_>) -> Result<(), SceneError> {
        if !self.is_simulated(id) {
            return Err(SceneError::NotSimulated { id });
        }
        self.prediction.frame_mut().set(id, row);
        Ok(())
    }

    fn spawn(
        &mut self,
        by: ObjectId,
        ordinal: Option<u16>,
        row: Row<'_>,
    ) -> Result<ObjectId, SceneError> {
        // Only the owner's inputs decide which of its objects spawn another.
        let is_own = self.is_owned(by) || self.prediction.is_provisional(by);
        let is_predicted = self.predicted_classes.get(usize::from(row.class)) == Some(&true);
        if is_own && !is_predicted {
            // The server counts the spawns of all classes.
            self.prediction.skip_spawn(ordinal);
        }
        if !is_own || !is_predicted {
            return Err(SceneError::NotSimulated { id: by });
        }
        self.prediction.spawn(ordinal, row).ok_or(SceneError::TooManySpawns)
    }

    fn spawn_own(&mut self, ordinal: u16, row: Row<'_>) -> Result<ObjectId, SceneError> {
        if self.predicted_classes.get(usize::from(row.class)) != Some(&true) {
            return Err(SceneError::NotSimulated { id: ObjectId(FIRST_PROVISIONAL) });
        }
        self.prediction.spawn(Some(ordinal), row).ok_or(SceneError::TooManySpawns)
    }

    fn remove(&mut self, id: ObjectId) {
        self.prediction.frame_mut().remove(id);
    }

    fn abandon(&mut self) {
        self.prediction.abandon();
    }
}

/// The shown world of a client: predicted objects at the present, all others interpolated between
/// snapshots. Made by [`Client::world`](super::Client::world).
#[derive(Clone, Copy)]
pub struct View<'v, I> {
    pub(super) world: &'v ClientWorld<I>,
}

impl<'v, I> View<'v, I> {
    /// Returns an object as it is to be drawn, if it is shown and is a `C`.
    #[must_use]
    pub fn get<C: Class>(&self, id: impl Into<ObjectId>) -> Option<C> {
        self.world.show(id.into(), |row| self.world.protocol.value_of(row))?
    }

    /// Passes the cells of a shown object to `read`.
    pub fn with_row<R>(
        &self,
        id: impl Into<ObjectId>,
        read: impl FnOnce(Row<'_>) -> R,
    ) -> Option<R> {
        self.world.show(id.into(), read)
    }

    /// Passes the cells that an object had at the last tick that playback has passed to `read`:
    /// those of [`with_row`](Self::with_row) before they are interpolated. `None` for objects that
    /// are predicted and not interpolated yet.
    pub fn with_held_row<R>(
        &self,
        id: impl Into<ObjectId>,
        read: impl FnOnce(Row<'_>) -> R,
    ) -> Option<R> {
        self.world.playback.with_held_row(id, read)
    }

    /// Passes the rows between which an object is interpolated to `read`, and the shown fraction of
    /// the way: see [`Playback::with_rows_around`]. `None` for an object that is not interpolated,
    /// or whose offset to its predicted place still fades.
    pub fn with_rows_around<R>(
        &self,
        id: impl Into<ObjectId>,
        read: impl FnOnce(Row<'_>, Row<'_>, f64) -> R,
    ) -> Option<R> {
        let id = id.into();
        match self.world.shown.contains(id) {
            true => None,
            false => self.world.playback.with_rows_around(id, read),
        }
    }

    /// Returns the shown part of the newest predicted tick, from 0 to 1.
    #[must_use]
    pub fn predicted_fraction(&self) -> f64 {
        self.world.fraction
    }

    /// Returns the newest cells of an object that have arrived.
    #[must_use]
    pub fn received_row(&self, id: impl Into<ObjectId>) -> Option<Row<'v>> {
        self.world.receiver.row(id.into())
    }

    /// Iterates over the predicted objects, in the order of ids.
    pub fn predicted(&self) -> impl Iterator<Item = ObjectId> + use<'v, I> {
        self.world.prediction.frame().iter().map(|(id, _)| id)
    }

    /// Returns the classes of the game.
    #[must_use]
    pub fn protocol(&self) -> &'v Protocol {
        &self.world.protocol
    }

    /// Iterates over the shown objects of a class, in the order of ids.
    pub fn iter<C: Class>(&self) -> impl Iterator<Item = (ObjectId, C)> + use<'v, C, I> {
        let class = self.world.protocol.class_index::<C>();
        let world = self.world;
        let of_class = self.objects().filter(move |(_, of)| Some(*of) == class);
        of_class.filter_map(move |(id, _)| {
            Some((id, world.show(id, |row| world.protocol.value_of(row))??))
        })
    }

    /// Returns the interpolated objects that changed in this frame, each with its class: an engine
    /// copies only these. A frame is all calls of [`receive`](super::Client::receive) up to a
    /// [`send`](super::Client::send), and its changes can be read until the `receive` of the next.
    ///
    /// Predicted objects are here when they begin and end to be shown between snapshots, but not
    /// with their motion: they move in every frame. An object whose prediction has ended is here
    /// until it is shown where it is interpolated. One that despawned and spawned again is here
    /// twice, in this order.
    #[must_use]
    pub fn changes(&self) -> &'v [ObjectChange] {
        self.world.changes.list()
    }

    /// Iterates over all shown objects, in the order of ids, with the indices of their classes.
    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, u16)> + use<'v, I> {
        let world = self.world;
        let mut from = Some(ObjectId(0));
        core::iter::from_fn(move || {
            let (id, class) = world.next_of(&world.shown, from?)?;
            from = id.0.checked_add(1).map(ObjectId);
            Some((id, class))
        })
    }

    /// Whether this client owns the object.
    #[must_use]
    pub fn is_mine(&self, id: impl Into<ObjectId>) -> bool {
        let id = id.into();
        self.world.is_owned(id) || self.world.prediction.is_provisional(id)
    }

    /// Whether the object is predicted, and not interpolated.
    #[must_use]
    pub fn is_predicted(&self, id: impl Into<ObjectId>) -> bool {
        self.world.prediction.is_predicted(id.into())
    }

    /// Returns how far an object is shown from its predicted state, since a correction fades.
    #[must_use]
    pub fn correction(&self, id: impl Into<ObjectId>) -> OffsetSize {
        self.world.prediction.offset(id.into())
    }

    /// Returns the number of predictions of objects of a class that differed from the server's state.
    #[must_use]
    pub fn mispredicted(&self, class: u16) -> u64 {
        self.world.prediction.mispredicted(class)
    }

    /// Iterates over the last predictions that differed from the server's state, oldest first.
    pub fn mispredictions(&self) -> impl Iterator<Item = &'v Misprediction> {
        self.world.prediction.mispredictions()
    }
}

impl<I> core::fmt::Debug for View<'_, I> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("View").field("owned", &self.world.owned).finish_non_exhaustive()
    }
}
