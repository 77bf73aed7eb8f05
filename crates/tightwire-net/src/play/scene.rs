//! The scene: the world of one tick, which the game's step function reads and changes.

use core::fmt;

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::{Protocol, Row, RowBuffer, SetError};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::frame::ROOM;
use super::{Class, SceneError, Tick};

/// A world that can be stepped: the server's, or the predicted part of a client's.
pub(super) trait Steppable<I> {
    fn protocol(&self) -> &Protocol;

    /// The input of an object's owner in this tick; `None` if it is not known.
    fn input(&self, id: ObjectId) -> Option<&I>;

    /// Passes the row of an object, simulated or only shown, to `read`, if there is one.
    fn with_row(&self, id: ObjectId, read: &mut dyn FnMut(Row<'_>));

    /// Whether the object is stepped on this side.
    fn is_simulated(&self, id: ObjectId) -> bool;

    /// Appends the objects that are stepped on this side, in the order of ids.
    fn simulated(&self, ids: &mut Vec<ObjectId>);

    /// The first object of a class whose id is at least `from`.
    fn next(&self, class: u16, from: ObjectId) -> Option<ObjectId>;

    fn set(&mut self, id: ObjectId, row: Row<'_>) -> Result<(), SceneError>;

    fn spawn(
        &mut self,
        by: ObjectId,
        ordinal: Option<u16>,
        row: Row<'_>,
    ) -> Result<ObjectId, SceneError>;

    /// Spawns an object of this client's player, whose ordinal in the tick the game gives. A server
    /// has no player of its own: [`World::set_spawned_owner`](super::World::set_spawned_owner).
    fn spawn_own(&mut self, ordinal: u16, row: Row<'_>) -> Result<ObjectId, SceneError>;

    fn remove(&mut self, id: ObjectId);

    /// Takes the running step back, since it did not end.
    fn abandon(&mut self) {}
}

/// Buffers of a scene, which are used again.
#[derive(Debug)]
pub(super) struct SceneBuffers {
    pub(super) ids: Vec<ObjectId>,
    pub(super) row: RowBuffer,
}

impl Default for SceneBuffers {
    fn default() -> Self {
        Self { ids: Vec::with_capacity(ROOM), row: RowBuffer::default() }
    }
}

/// The world of one tick, as the step function of the game sees it: on the server all objects, on a
/// client the predicted ones, and the others as they are shown.
///
/// A step function reads its state from the scene only: it runs on both sides, and on a client
/// once more for each tick that is replayed. Values that are [set](Self::set) are rounded to the
/// resolution of the wire, on both sides alike. Therefore motion below half of the resolution
/// per tick stands still: predicted fields need a fine one.
pub struct Scene<'s, I> {
    pub(super) world: &'s mut (dyn Steppable<I> + 's),
    pub(super) buffers: &'s mut SceneBuffers,
    pub(super) tick: Tick,
    pub(super) ticks_per_second: u32,
    pub(super) is_replay: bool,
}

impl<I> Scene<'_, I> {
    /// Returns the tick that is stepped.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Returns the duration of a tick, in seconds.
    #[must_use]
    pub fn dt(&self) -> f32 {
        1.0 / self.ticks_per_second as f32
    }

    /// Whether this tick was stepped before, and is stepped again after a correction: sounds and
    /// sparks were there already.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.is_replay
    }

    /// Returns a random number that is the same for this tick and object on both sides, and in a
    /// replay. Clients can compute the number, so do not use it for anything that a cheater must
    /// not foresee.
    #[must_use]
    pub fn random(&self, id: ObjectId) -> u64 {
        xxh3_64_with_seed(&id.0.to_le_bytes(), u64::from(self.tick.0))
    }

    /// Returns the input of the object's owner in this tick. `None` if nobody owns the object, or if
    /// the owner's input is not known here, as on other clients.
    #[must_use]
    pub fn input(&self, id: ObjectId) -> Option<&I> {
        self.world.input(id)
    }

    /// Calls `step` for each simulated object of a class, in the order of ids, and sets the object to
    /// the value that `step` leaves, unless it was removed. Objects that spawn meanwhile are stepped
    /// from the next tick on.
    pub fn for_each<C: Class>(&mut self, mut step: impl FnMut(&mut Self, ObjectId, &mut C)) {
        let Some(class) = self.world.protocol().class_index::<C>() else { return };
        let mut ids = core::mem::take(&mut self.buffers.ids);
        ids.clear();
        let mut from = ObjectId(0);
        while let Some(id) = self.world.next(class, from) {
            if self.world.is_simulated(id) {
                ids.push(id);
            }
            let Some(next) = id.0.checked_add(1) else { break };
            from = ObjectId(next);
        }
        for &id in &ids {
            let Some(mut value) = self.get::<C>(id) else { continue };
            step(self, id, &mut value);
            if self.world.is_simulated(id)
                && let Err(error) = self.set(id, &value)
            {
                log::warn!("object {id} was not changed: {error}");
            }
        }
        self.buffers.ids = ids;
    }

    /// Returns an object, if it exists and is a `C`.
    #[must_use]
    pub fn get<C: Class>(&self, id: ObjectId) -> Option<C> {
        let mut value = None;
        self.world.with_row(id, &mut |row| value = self.world.protocol().value_of(row));
        value
    }

    /// Iterates over the objects of a class, in the order of ids. On a client, those that are not
    /// predicted are where they are shown.
    pub fn iter<C: Class>(&self) -> impl Iterator<Item = (ObjectId, C)> {
        let class = self.world.protocol().class_index::<C>();
        let mut from = Some(ObjectId(0));
        core::iter::from_fn(move || {
            loop {
                let id = self.world.next(class?, from?)?;
                from = id.0.checked_add(1).map(ObjectId);
                if let Some(value) = self.get(id) {
                    return Some((id, value));
                }
            }
        })
    }

    /// Iterates over the other objects of a class within `radius` of an object, by their `spatial`
    /// fields.
    pub fn near<C: Class>(&self, id: ObjectId, radius: f32) -> impl Iterator<Item = (ObjectId, C)> {
        let class = self.world.protocol().class_index::<C>();
        let center = self.position(id);
        let mut from = Some(ObjectId(0));
        core::iter::from_fn(move || {
            loop {
                let other = self.world.next(class?, from?)?;
                from = other.0.checked_add(1).map(ObjectId);
                let Some(position) = self.position(other) else { continue };
                let distances = center?.into_iter().zip(position).map(|(a, b)| (a - b) * (a - b));
                if other != id
                    && distances.sum::<f32>() <= radius * radius
                    && let Some(value) = self.get(other)
                {
                    return Some((other, value));
                }
            }
        })
    }

    fn position(&self, id: ObjectId) -> Option<[f32; 3]> {
        let mut position = None;
        self.world.with_row(id, &mut |row| position = self.world.protocol().position(row));
        position
    }

    /// Sets an object, rounded to the resolution of the wire.
    ///
    /// # Errors
    ///
    /// [`SceneError`] if the object is not simulated on this side, or if the value cannot be sent.
    pub fn set<C: Class>(&mut self, id: ObjectId, value: &C) -> Result<(), SceneError> {
        self.world.protocol().quantise(value, &mut self.buffers.row)?;
        self.world.set(id, self.buffers.row.row())
    }

    /// Spawns an object that belongs to the owner of the object `by`. On a client it gets a
    /// provisional id until the server has spawned it too; both know it by its tick and by how many
    /// objects spawned before it in the tick.
    ///
    /// # Errors
    ///
    /// [`SceneError`] if there are too many objects, or if the value cannot be sent.
    pub fn spawn<C: Class>(&mut self, by: ObjectId, value: &C) -> Result<ObjectId, SceneError> {
        self.spawn_as(by, None, value)
    }

    /// Spawns an object as [`spawn`](Self::spawn) does, with the number by which both sides know it
    /// within its tick: for simulations that do not step objects in the same order on both sides.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_as<C: Class>(
        &mut self,
        by: ObjectId,
        ordinal: impl Into<Option<u16>>,
        value: &C,
    ) -> Result<ObjectId, SceneError> {
        self.world.protocol().quantise(value, &mut self.buffers.row)?;
        self.world.spawn(by, ordinal.into(), self.buffers.row.row())
    }

    /// Passes the cells of an object, simulated or only shown, to `read`; `None` if there is no such
    /// object.
    pub fn with_row<R>(&self, id: ObjectId, read: impl FnOnce(Row<'_>) -> R) -> Option<R> {
        let (mut read, mut result) = (Some(read), None);
        self.world.with_row(id, &mut |row| result = read.take().map(|read| read(row)));
        result
    }

    /// Sets the cells of an object that is simulated on this side.
    ///
    /// # Errors
    ///
    /// [`SceneError`] if the object is not simulated on this side, or if the cells are not those of
    /// a value of the class.
    pub fn set_row(&mut self, id: ObjectId, row: Row<'_>) -> Result<(), SceneError> {
        self.check(row)?;
        self.world.set(id, row)
    }

    /// Spawns an object of this client's player by its cells, on a client only. The ordinal is the
    /// game's number for it in this tick; the server gives it to
    /// [`World::set_spawned_owner`](super::World::set_spawned_owner). The same spawn of a replay
    /// has the same id.
    ///
    /// # Errors
    ///
    /// [`SceneError`] if there are too many objects, if the class is not predicted, or if the cells
    /// are not those of a value of the class.
    pub fn spawn_own_row(&mut self, ordinal: u16, row: Row<'_>) -> Result<ObjectId, SceneError> {
        self.check(row)?;
        self.world.spawn_own(ordinal, row)
    }

    fn check(&self, row: Row<'_>) -> Result<(), SceneError> {
        match self.world.protocol().accepts(row) {
            true => Ok(()),
            false => Err(SetError::Row { class: row.class }.into()),
        }
    }

    /// Appends the objects that are stepped on this side, in the order of ids.
    pub fn simulated(&self, ids: &mut Vec<ObjectId>) {
        self.world.simulated(ids);
    }

    /// Whether the object is stepped on this side.
    #[must_use]
    pub fn is_simulated(&self, id: ObjectId) -> bool {
        self.world.is_simulated(id)
    }

    /// Despawns an object that is simulated on this side.
    pub fn remove(&mut self, id: ObjectId) {
        self.world.remove(id);
    }
}

impl<I> Drop for Scene<'_, I> {
    fn drop(&mut self) {
        // A step function that panicked has stepped some objects, and not the others.
        if std::thread::panicking() {
            self.world.abandon();
        }
    }
}

impl<I> fmt::Debug for Scene<'_, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene")
            .field("tick", &self.tick)
            .field("is_replay", &self.is_replay)
            .finish_non_exhaustive()
    }
}
