//! Lag compensation: the world as a peer saw it.

use core::cell::RefCell;
use core::fmt;

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::{Row, RowBuffer};

use super::world::ServerWorld;
use crate::message::PeerId;
use crate::play::Class;

/// The world as a peer saw it: see [`Server::as_seen_by`](super::Server::as_seen_by).
pub struct Past<'p, I> {
    world: &'p ServerWorld<I>,
    peer: PeerId,
    time: f64,
    row: RefCell<RowBuffer>,
}

impl<'p, I> Past<'p, I> {
    pub(super) fn new(world: &'p ServerWorld<I>, peer: PeerId) -> Self {
        let present = f64::from(world.tick);
        let seen = world.players.get(&peer).and_then(|player| player.rewind.view());
        let time = seen.unwrap_or(present).min(present);
        // A call within another one, or on another thread, makes a buffer of its own.
        let row = world.past_row.try_lock().map(|mut row| core::mem::take(&mut *row));
        Self { world, peer, time, row: RefCell::new(row.unwrap_or_default()) }
    }

    /// Returns the tick that the peer saw, with a fraction.
    #[must_use]
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Returns an object as the peer saw it, if it existed and is a `C`.
    #[must_use]
    pub fn get<C: Class>(&self, id: impl Into<ObjectId>) -> Option<C> {
        self.with_row(id.into(), |row| self.world.protocol.value_of(row))?
    }

    /// Passes the cells of an object, as the peer saw it, to `read`.
    pub fn with_row<R>(
        &self,
        id: impl Into<ObjectId>,
        read: impl FnOnce(Row<'_>) -> R,
    ) -> Option<R> {
        let id = id.into();
        if self.world.owner(id) == Some(self.peer) {
            return self.world.sender.row(id).map(read);
        }
        let mut row = self.row.take();
        let found = self.world.sender.row_at(id, self.time, &mut row);
        let result = found.then(|| read(row.row()));
        self.row.replace(row);
        result
    }

    /// Iterates over the objects of a class that the peer saw and that still exist, in the order of
    /// ids.
    pub fn iter<C: Class>(&self) -> impl Iterator<Item = (ObjectId, C)> {
        let class = self.world.protocol.class_index::<C>();
        let objects = self.world.sender.objects_from(ObjectId(0));
        let of_class = objects.filter(move |(_, of)| Some(*of) == class);
        of_class.filter_map(|(id, _)| Some((id, self.get(id)?)))
    }
}

impl<I> Drop for Past<'_, I> {
    fn drop(&mut self) {
        if let Ok(mut row) = self.world.past_row.try_lock() {
            *row = self.row.take();
        }
    }
}

impl<I> fmt::Debug for Past<'_, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Past").field("time", &self.time).finish_non_exhaustive()
    }
}
