//! Objects as rows of cells, for layers that know classes by their schema only.

use super::{ReceiverId, Sender};
use crate::{Row, SetError};
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::Wire;

impl Sender {
    /// Returns the state of an object in the current tick, as receivers get it; `None` if it does
    /// not exist.
    #[must_use]
    pub fn row(&self, id: impl Into<ObjectId>) -> Option<Row<'_>> {
        let state = self.store.newest(self.store.find(id.into())?)?;
        Some(Row { class: state.class, cells: state.cells? })
    }

    /// Returns the state of an object in the current tick as a receiver gets it if the object is
    /// relevant to it: fields that are `#[wire(owner)]`, or `#[wire(others)]` for the owner, have
    /// neutral values. `None` if the object does not exist.
    #[must_use]
    pub fn row_for(&self, receiver: ReceiverId, id: impl Into<ObjectId>) -> Option<Row<'_>> {
        let slot = self.store.find(id.into())?;
        let is_owner = self.store.owners.get(slot) == Some(receiver);
        let state = self.store.history.newest(self.store.versions_for(slot, is_owner))?;
        Some(Row { class: state.class, cells: state.cells? })
    }

    /// Returns an object as receivers get it, if it exists and is a `T`.
    ///
    /// ```
    /// # use tightwire::snapshot;
    /// # let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u16>().build()?;
    /// # let mut sender = snapshot::Sender::new(&protocol);
    /// sender.begin_tick(1);
    /// sender.set(7, &300u16)?;
    /// assert_eq!(sender.get::<u16>(7), Some(300));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get<T: Wire + Default + 'static>(&self, id: impl Into<ObjectId>) -> Option<T> {
        self.protocol.value_of(self.row(id)?)
    }

    /// Sets the state of an object by its cells, as [`set`](Self::set) does by a value. Equal cells
    /// change nothing.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set), and [`SetError::Row`] if the cells are not those of a value of the
    /// class.
    pub fn set_row(&mut self, id: impl Into<ObjectId>, row: Row<'_>) -> Result<(), SetError> {
        if self.is_sent {
            return Err(SetError::TickFrozen);
        }
        if !self.protocol.accepts(row) {
            return Err(SetError::Row { class: row.class });
        }
        self.store.set(id.into(), row.class, row.cells)
    }

    /// Iterates over the objects whose ids are at least `from`, in the order of ids, with the
    /// indices of their classes.
    pub fn objects_from(&self, from: ObjectId) -> impl Iterator<Item = (ObjectId, u16)> {
        self.store.iter_from(from).filter_map(|(id, slot)| {
            let state = self.store.newest(slot)?;
            state.cells.map(|_| (id, state.class))
        })
    }
}
