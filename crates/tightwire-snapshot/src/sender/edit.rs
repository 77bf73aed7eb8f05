//! Edits of some fields of an object, for layers that know the cells of each field.

use core::ops::Range;

use super::Sender;
use crate::{Row, SetError};
use tightwire_core::schema::ObjectId;

/// An edit of the state of an object in the current tick, by [`Sender::edit`]. Nothing changes
/// before [`finish`](Self::finish).
#[derive(Debug)]
#[must_use = "nothing changes before `finish`"]
pub struct RowEdit<'s> {
    sender: &'s mut Sender,
    slot: u32,
    class: u16,
    is_changed: bool,
    /// Cells were put where there are no such columns.
    is_outside: bool,
}

impl Sender {
    /// Begins to edit the state of an object in the current tick: fields that are not put keep
    /// their cells, and equal cells change nothing.
    ///
    /// The object is found by a binary search for its id, once. Of the 980 instructions of an edit
    /// of a position, that takes 110 in a world of 1,000 objects, and 160 of 1,030 in one of 50,000
    /// (callgrind). There is no handle that saves the search: slots are used again, so that a handle
    /// needs a generation, which is compared instead, and every layer above would keep it beside the
    /// id.
    ///
    /// ```
    /// use tightwire::{snapshot, Wire};
    ///
    /// #[derive(Wire, Default, PartialEq, Debug)]
    /// struct Door {
    ///     #[wire(range = 0..=90)]
    ///     angle: u8,
    ///     is_locked: bool,
    /// }
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<Door>().build()?;
    /// let mut sender = snapshot::Sender::new(&protocol);
    /// sender.begin_tick(1);
    /// sender.set(7, &Door { angle: 10, is_locked: true })?;
    ///
    /// let angle = protocol.field_columns(0, "angle").unwrap();
    /// let mut edit = sender.edit(7)?;
    /// edit.put(angle, &[45]);
    /// edit.finish()?;
    /// assert_eq!(sender.get::<Door>(7), Some(Door { angle: 45, is_locked: true }));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SetError::TickFrozen`] after the first snapshot of a tick, and
    /// [`SetError::NoSuchObject`].
    pub fn edit(&mut self, id: impl Into<ObjectId>) -> Result<RowEdit<'_>, SetError> {
        let id = id.into();
        if self.is_sent {
            return Err(SetError::TickFrozen);
        }
        let newest = self.store.find(id).and_then(|slot| {
            let newest = self.store.newest(slot)?;
            Some((slot, newest.class, newest.cells?))
        });
        let Some((slot, class, cells)) = newest else { return Err(SetError::NoSuchObject { id }) };
        self.cells.clear();
        self.cells.extend_from_slice(cells);
        Ok(RowEdit { sender: self, slot, class, is_changed: false, is_outside: false })
    }
}

impl RowEdit<'_> {
    /// Returns the state as it is edited so far.
    #[must_use]
    pub fn row(&self) -> Row<'_> {
        Row { class: self.class, cells: &self.sender.cells }
    }

    /// Replaces the cells of these columns, as [those of a
    /// field](crate::Protocol::field_columns).
    pub fn put(&mut self, columns: Range<usize>, cells: &[u32]) {
        match self.sender.cells.get_mut(columns) {
            Some(place) if place.len() == cells.len() => {
                if place != cells {
                    place.copy_from_slice(cells);
                    self.is_changed = true;
                }
            }
            _ => self.is_outside = true,
        }
    }

    /// Makes the cells of these columns 0, as those of an absent part are.
    pub fn clear(&mut self, columns: Range<usize>) {
        match self.sender.cells.get_mut(columns) {
            Some(place) => {
                self.is_changed |= place.iter().any(|&cell| cell != 0);
                place.fill(0);
            }
            None => self.is_outside = true,
        }
    }

    /// Sets the edited state, if it differs from the one before.
    ///
    /// # Errors
    ///
    /// [`SetError::Row`], and the object is unchanged, if the cells are not those of a value of the
    /// class, or were put into columns that it does not have.
    pub fn finish(self) -> Result<(), SetError> {
        let Self { sender, slot, class, is_changed, is_outside } = self;
        let row = Row { class, cells: &sender.cells };
        if is_outside || is_changed && !sender.protocol.accepts(row) {
            return Err(SetError::Row { class });
        }
        if is_changed {
            sender.store.change(slot, class, Some(&sender.cells));
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Config, Leaving, Protocol};
    use tightwire_core::Wire;

    #[derive(Wire, Clone, PartialEq, Debug, Default)]
    struct Tank {
        #[wire(range = 0..=100)]
        health: u8,
        turret: Turret,
        #[wire(max_len = 9)]
        name: alloc::string::String,
        crew: Option<u8>,
    }

    #[derive(Wire, Clone, PartialEq, Debug, Default)]
    struct Turret {
        heading: u16,
        #[wire(range = 5..=5)]
        constant: u8,
        barrels: [u8; 2],
    }

    fn tank() -> Tank {
        let turret = Turret { heading: 300, constant: 5, barrels: [1, 2] };
        Tank { health: 90, turret, name: "Anna".into(), crew: Some(3) }
    }

    fn sender() -> (Protocol, Sender) {
        let protocol = Protocol::builder(Config::default()).class::<bool>().class::<Tank>();
        let protocol = protocol.build().unwrap();
        let mut sender = Sender::new(&protocol);
        sender.begin_tick(1);
        sender.set(7, &tank()).unwrap();
        (protocol, sender)
    }

    #[test]
    fn the_columns_of_fields_make_the_row() {
        let (protocol, _) = sender();
        let mut next = 0;
        for name in ["health", "turret", "name", "crew"] {
            let columns = protocol.field_columns(1, name).unwrap();
            assert_eq!(columns.start, next, "{name}");
            next = columns.end;
        }
        assert_eq!(next, protocol.columns(1));
        assert_eq!(protocol.field_columns(1, "turret.heading"), None);
        assert_eq!(protocol.field_columns(0, "health"), None);
        assert_eq!(protocol.field_columns(2, "health"), None);
    }

    #[test]
    fn only_the_fields_that_are_put_change() {
        let (protocol, mut sender) = sender();
        let other =
            Tank { turret: Turret { heading: 9, barrels: [7, 8], ..tank().turret }, ..tank() };
        sender.set(8, &other).unwrap();
        let turret = protocol.field_columns(1, "turret").unwrap();
        let cells = sender.row(8).unwrap().cells[turret.clone()].to_vec();
        let crew = protocol.field_columns(1, "crew").unwrap();
        let mut edit = sender.edit(7).unwrap();
        edit.put(turret, &cells);
        edit.clear(crew);
        edit.finish().unwrap();
        assert_eq!(sender.get::<Tank>(7), Some(Tank { crew: None, ..other }));
    }

    #[test]
    fn equal_cells_make_no_version() {
        let (protocol, mut sender) = sender();
        let client = sender.add_receiver(Leaving::Despawn);
        let changed = |sender: &Sender| sender.store.changed_in_tick();
        sender.begin_tick(2);
        let health = protocol.field_columns(1, "health").unwrap();
        let mut edit = sender.edit(7).unwrap();
        edit.put(health.clone(), &[90]);
        edit.finish().unwrap();
        assert_eq!(changed(&sender), 0);
        let mut edit = sender.edit(7).unwrap();
        edit.put(health.clone(), &[91]);
        edit.put(health.clone(), &[92]);
        assert_eq!(edit.row().cells[0], 92);
        edit.finish().unwrap();
        assert_eq!(changed(&sender), 1);
        let mut dropped = sender.edit(7).unwrap();
        dropped.put(health, &[93]);
        drop(dropped);
        assert_eq!(sender.get::<Tank>(7).unwrap().health, 92);
        sender.snapshot(client, 1000).unwrap();
        assert!(matches!(sender.edit(7), Err(SetError::TickFrozen)));
    }

    #[test]
    fn cells_of_no_value_are_refused() {
        let (protocol, mut sender) = sender();
        let columns = |name| protocol.field_columns(1, name).unwrap();
        let (health, crew, name) = (columns("health"), columns("crew"), columns("name"));
        let mut refused = |columns, cells: &[u32]| {
            let mut edit = sender.edit(7).unwrap();
            edit.put(columns, cells);
            assert_eq!(edit.finish(), Err(SetError::Row { class: 1 }), "{cells:?}");
            assert_eq!(sender.get::<Tank>(7), Some(tank()));
        };
        refused(health.clone(), &[101]);
        refused(health, &[1, 2]);
        refused(crew, &[0, 3]);
        refused(name.start..name.start + 1, &[10]);
        refused(500..501, &[0]);
        let missing = ObjectId(9);
        assert!(matches!(sender.edit(9), Err(SetError::NoSuchObject { id }) if id == missing));
        sender.remove(7).unwrap();
        assert!(sender.edit(7).is_err());
    }
}
