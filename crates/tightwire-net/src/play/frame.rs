//! The states of simulated objects after one tick.

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::Row;

/// Rows of objects, sorted by id, in memory that is used again.
#[derive(Clone, Debug, Default)]
pub(super) struct RowSet {
    objects: Vec<Entry>,
    cells: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: ObjectId,
    class: u16,
    start: usize,
    len: usize,
}

impl RowSet {
    /// Creates a frame with room for the objects that most clients predict: a client has many
    /// frames, and each would grow by itself long after the start.
    pub(super) fn with_room() -> Self {
        Self { objects: Vec::with_capacity(ROOM), cells: Vec::with_capacity(ROOM * 8) }
    }

    pub(super) fn clear(&mut self) {
        self.objects.clear();
        self.cells.clear();
    }

    /// Copies another frame, without the cells of objects that were removed from it.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.clear();
        for entry in &other.objects {
            self.append(entry.id, other.row_of(entry));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The id at a place in the order of ids.
    pub(super) fn id_at(&self, place: usize) -> Option<ObjectId> {
        self.objects.get(place).map(|entry| entry.id)
    }

    pub(super) fn get(&self, id: ObjectId) -> Option<Row<'_>> {
        let place = self.place(id).ok()?;
        self.objects.get(place).map(|entry| self.row_of(entry))
    }

    pub(super) fn contains(&self, id: ObjectId) -> bool {
        self.place(id).is_ok()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ObjectId, Row<'_>)> {
        self.objects.iter().map(|entry| (entry.id, self.row_of(entry)))
    }

    /// The first object whose id is at least `from`.
    pub(super) fn first_from(&self, from: ObjectId) -> Option<(ObjectId, Row<'_>)> {
        let place = self.place(from).unwrap_or_else(|place| place);
        self.objects.get(place).map(|entry| (entry.id, self.row_of(entry)))
    }

    /// Adds an object, or replaces its row.
    pub(super) fn set(&mut self, id: ObjectId, row: Row<'_>) {
        match self.place(id) {
            Ok(place) => {
                let entry = &mut self.objects[place];
                entry.class = row.class;
                if entry.len != row.cells.len() {
                    (entry.start, entry.len) = (self.cells.len(), row.cells.len());
                    self.cells.extend_from_slice(row.cells);
                } else if let Some(cells) = self.cells.get_mut(entry.start..entry.start + entry.len)
                {
                    cells.copy_from_slice(row.cells);
                }
            }
            Err(place) if place == self.objects.len() => self.append(id, row),
            Err(place) => {
                let (start, len) = (self.cells.len(), row.cells.len());
                self.objects.insert(place, Entry { id, class: row.class, start, len });
                self.cells.extend_from_slice(row.cells);
            }
        }
    }

    pub(super) fn remove(&mut self, id: ObjectId) -> bool {
        let place = self.place(id);
        place.map(|place| self.objects.remove(place)).is_ok()
    }

    /// Gives an object another id; does nothing if there is no such object, or if the new id is
    /// taken.
    pub(super) fn rename(&mut self, id: ObjectId, to: ObjectId) {
        let (Ok(from), Err(_)) = (self.place(id), self.place(to)) else { return };
        let entry = self.objects.remove(from);
        let place = self.place(to).unwrap_or_else(|place| place);
        self.objects.insert(place, Entry { id: to, ..entry });
    }

    fn append(&mut self, id: ObjectId, row: Row<'_>) {
        let (start, len) = (self.cells.len(), row.cells.len());
        self.objects.push(Entry { id, class: row.class, start, len });
        self.cells.extend_from_slice(row.cells);
    }

    fn place(&self, id: ObjectId) -> Result<usize, usize> {
        self.objects.binary_search_by_key(&id, |entry| entry.id)
    }

    fn row_of(&self, entry: &Entry) -> Row<'_> {
        let cells = self.cells.get(entry.start..entry.start + entry.len).unwrap_or_default();
        Row { class: entry.class, cells }
    }
}

/// Objects that a frame has room for from the start, each of eight cells.
pub(super) const ROOM: usize = 64;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn row(class: u16, cells: &[u32]) -> Row<'_> {
        Row { class, cells }
    }

    #[test]
    fn rows_are_found_by_id_whatever_the_order_they_came_in() {
        let mut frame = RowSet::default();
        for id in [5, 1, 9, 3] {
            frame.set(ObjectId(id), row(0, &[id, id + 1]));
        }
        frame.set(ObjectId(3), row(1, &[7]));
        frame.set(ObjectId(9), row(0, &[8, 8]));
        assert!(frame.remove(ObjectId(5)) && !frame.remove(ObjectId(5)));
        let ids: Vec<u32> = frame.iter().map(|(id, _)| id.0).collect();
        assert_eq!(ids, [1, 3, 9]);
        assert_eq!(frame.get(ObjectId(3)), Some(row(1, &[7])));
        assert_eq!(frame.get(ObjectId(9)), Some(row(0, &[8, 8])));

        let mut copy = RowSet::default();
        copy.copy_from(&frame);
        assert_eq!(copy.cells.len(), 5, "removed and replaced cells are left behind");
        assert!(copy.iter().eq(frame.iter()));
    }

    #[test]
    fn a_renamed_object_keeps_its_row_and_the_order() {
        let mut frame = RowSet::default();
        for id in [1, 100, 200] {
            frame.set(ObjectId(id), row(0, &[id]));
        }
        frame.rename(ObjectId(200), ObjectId(7));
        frame.rename(ObjectId(1), ObjectId(100));
        let ids: Vec<u32> = frame.iter().map(|(id, _)| id.0).collect();
        assert_eq!(ids, [1, 7, 100], "a taken id is left alone");
        assert_eq!(frame.get(ObjectId(7)), Some(row(0, &[200])));
    }
}
