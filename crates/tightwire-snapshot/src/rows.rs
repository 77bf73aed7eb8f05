//! Rows: the states of objects as cells, for layers that know classes by their schema only.
//!
//! Prediction and replication by an engine compare, keep and blend states of any class. They work
//! on rows; a value of a Rust type is made of a row at the very end, or never.

mod offset;

pub use offset::{OffsetSize, RowOffset};

use core::ops::Range;

use alloc::vec::Vec;

use super::interpolate::{Sample, interpolate};
use super::layout::{Kind, Layout};
use super::scratch::with_scratch;
use super::{Protocol, SetError};
use tightwire_core::schema::Dynamic;
use tightwire_core::stream::{ReadError, Wire};

/// The quantised state of an object: a cell for each column of its class.
///
/// ```
/// use tightwire::{snapshot, Wire};
/// use tightwire::snapshot::{Row, RowBuffer};
///
/// #[derive(Wire, Default, PartialEq, Debug)]
/// struct Door {
///     #[wire(range = 0..=90)]
///     angle: u8,
/// }
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<Door>().build()?;
/// let mut row = RowBuffer::default();
/// protocol.quantise(&Door { angle: 45 }, &mut row)?;
/// assert_eq!(row.row(), Row { class: 0, cells: &[45] });
/// assert_eq!(protocol.value_of::<Door>(row.row()), Some(Door { angle: 45 }));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row<'r> {
    /// Index of the class in the protocol.
    pub class: u16,
    /// The cells, one for each column.
    pub cells: &'r [u32],
}

/// A [`Row`] that owns its cells, and reuses its memory.
#[derive(Debug, Default)]
pub struct RowBuffer {
    class: u16,
    cells: Vec<u32>,
    /// Scratch memory for the packet of a value.
    packet: Vec<u8>,
}

impl RowBuffer {
    /// Returns the row.
    #[must_use]
    pub fn row(&self) -> Row<'_> {
        Row { class: self.class, cells: &self.cells }
    }

    /// Replaces the row by a copy of another.
    pub fn copy_from(&mut self, row: Row<'_>) {
        self.class = row.class;
        self.cells.clear();
        self.cells.extend_from_slice(row.cells);
    }

    /// Returns the cells, to be changed in place. Cells that are above the
    /// [maximum](Protocol::column_max) of their column make a row that is
    /// [refused](Protocol::accepts).
    pub fn cells_mut(&mut self) -> &mut [u32] {
        &mut self.cells
    }

    /// Returns the cells of a row of this class, all 0, to be filled.
    pub fn reset(&mut self, class: u16, columns: usize) -> &mut [u32] {
        self.class = class;
        self.cells.clear();
        self.cells.resize(columns, 0);
        &mut self.cells
    }
}

impl Clone for RowBuffer {
    fn clone(&self) -> Self {
        Self { class: self.class, cells: self.cells.clone(), packet: Vec::new() }
    }

    fn clone_from(&mut self, other: &Self) {
        self.copy_from(other.row());
    }
}

/// Columns that are coded and compared together: a number, a vector, a rotation, or a choice.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ColumnGroup<'p> {
    /// Path of the field within the class, such as `turret.heading`.
    pub field: &'p str,
    /// Columns of the group.
    pub columns: Range<usize>,
    /// The value changes continuously, and is interpolated: a quantised float, an angle, a
    /// rotation, or a position.
    pub is_continuous: bool,
    /// The value is a position in the world.
    pub is_spatial: bool,
    /// The value is a rotation.
    pub is_rotation: bool,
}

impl Protocol {
    /// Quantises a value into `row`.
    ///
    /// # Errors
    ///
    /// [`SetError`] if `T` is no class of the protocol, or if the value cannot be written.
    pub fn quantise<T: Wire + 'static>(
        &self,
        value: &T,
        row: &mut RowBuffer,
    ) -> Result<(), SetError> {
        row.class = self.cells_of(value, &mut row.packet, &mut row.cells)?;
        Ok(())
    }

    /// Reads a row into `value`; returns whether the row is of the class `T`.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if `T` refuses the row, for example text that is not UTF-8.
    pub fn read_row<T: Wire + 'static>(
        &self,
        row: Row<'_>,
        value: &mut T,
    ) -> Result<bool, ReadError> {
        self.read_cells(row.class, row.cells, value)
    }

    /// Returns the value of a row, if the row is of the class `T`.
    #[must_use]
    pub fn value_of<T: Wire + Default + 'static>(&self, row: Row<'_>) -> Option<T> {
        let mut value = T::default();
        self.read_row(row, &mut value).ok()?.then_some(value)
    }

    /// Quantises an encoded value of a class into `row`: the counterpart of
    /// [`packet_of`](Self::packet_of), for classes without a Rust type.
    ///
    /// ```
    /// use tightwire::{schema::Schema, snapshot};
    /// use tightwire::snapshot::{Row, RowBuffer};
    ///
    /// let builder = snapshot::Protocol::builder(snapshot::Config::default());
    /// let protocol = builder.class_of("count", Schema::of::<u16>()).build()?;
    /// let mut row = RowBuffer::default();
    /// protocol.quantise_packet(0, &[44, 1], &mut row)?;
    /// assert_eq!(row.row(), Row { class: 0, cells: &[300] });
    /// let read = protocol.packet_of(row.row(), |packet| packet.to_vec());
    /// assert_eq!(read, Some(vec![44, 1]));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the packet is not that of a value of the class. The row of a class that
    /// does not exist is empty.
    pub fn quantise_packet(
        &self,
        class: u16,
        packet: &[u8],
        row: &mut RowBuffer,
    ) -> Result<(), ReadError> {
        let layout = self.layout(class);
        row.reset(class, layout.map_or(0, |layout| layout.columns.len()));
        match layout {
            Some(layout) => layout.cells_of(packet, &mut row.cells),
            None => Ok(()),
        }
    }

    /// Passes the encoded value of a row to `read`; `None` if the cells are not those of a value of
    /// the class.
    pub fn packet_of<R>(&self, row: Row<'_>, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let class = self.classes().get(usize::from(row.class))?;
        with_scratch(class.max_bytes, |room| {
            Some(read(class.layout.packet_of(row.cells, room).ok()?))
        })
    }

    /// Returns a row as a tree of values, for classes without a Rust type. A tree allocates.
    #[must_use]
    pub fn tree_of(&self, row: Row<'_>) -> Option<Dynamic> {
        let class = self.classes().get(usize::from(row.class))?;
        with_scratch(class.max_bytes, |room| {
            let packet = class.layout.packet_of(row.cells, room).ok()?;
            class.declared.schema.decode(packet).ok()
        })
    }

    /// Returns the number of columns of a class; 0 if there is no such class.
    #[must_use]
    pub fn columns(&self, class: u16) -> usize {
        self.layout(class).map_or(0, |layout| layout.columns.len())
    }

    /// Returns the largest cell of a column; `None` if there is no such column.
    #[must_use]
    pub fn column_max(&self, class: u16, column: usize) -> Option<u32> {
        Some(self.layout(class)?.columns.get(column)?.max)
    }

    /// Returns the columns of a field of a class, which are adjacent; also those of the fields
    /// within it. `None` if the class has no such field, or is no struct.
    ///
    /// ```
    /// use tightwire::{snapshot, Wire};
    ///
    /// #[derive(Wire, Default)]
    /// struct Tank {
    ///     #[wire(range = 0..=100)]
    ///     health: u8,
    ///     turret: Turret,
    /// }
    ///
    /// #[derive(Wire, Default)]
    /// struct Turret {
    ///     heading: u16,
    ///     ammunition: Option<u8>,
    /// }
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<Tank>().build()?;
    /// assert_eq!(protocol.field_columns(0, "health"), Some(0..1));
    /// assert_eq!(protocol.field_columns(0, "turret"), Some(1..4));
    /// assert_eq!(protocol.field_columns(0, "heading"), None);
    /// # Ok::<(), tightwire::snapshot::ProtocolError>(())
    /// ```
    #[must_use]
    pub fn field_columns(&self, class: u16, name: &str) -> Option<Range<usize>> {
        self.layout(class)?.fields.columns_of(name)
    }

    /// Iterates over the groups of columns of a class. A column that can only be 0 is in none.
    pub fn groups(&self, class: u16) -> impl ExactSizeIterator<Item = ColumnGroup<'_>> {
        let layout = self.layout(class);
        let groups = layout.map_or(&[][..], |layout| &layout.groups);
        groups.iter().enumerate().map(move |(place, group)| ColumnGroup {
            field: layout.map_or("", |layout| layout.fields.path(layout.fields.of_group(place))),
            columns: group.columns(),
            is_continuous: group.is_continuous,
            is_spatial: group.spatial,
            is_rotation: matches!(group.kind, Kind::Rotation { .. }),
        })
    }

    /// Whether the cells are those of some value of the class. To be asked of cells from outside.
    #[must_use]
    pub fn accepts(&self, row: Row<'_>) -> bool {
        self.classes().get(usize::from(row.class)).is_some_and(|class| {
            with_scratch(class.max_bytes, |room| class.layout.accepts(row.cells, room))
        })
    }

    /// Returns the first group in which two rows of a class differ: a continuous one by more than
    /// `tolerance` codes, any other one at all. `None` if the rows are of different classes, or do
    /// not differ.
    #[must_use]
    pub fn first_difference(&self, one: Row<'_>, other: Row<'_>, tolerance: u32) -> Option<usize> {
        self.first_difference_among(one, other, |_| Some(tolerance))
    }

    /// Returns the first difference as [`first_difference`](Self::first_difference) does, with a
    /// tolerance for each group, by its place. A group without one is not compared.
    #[must_use]
    pub fn first_difference_among(
        &self,
        one: Row<'_>,
        other: Row<'_>,
        tolerance: impl Fn(usize) -> Option<u32>,
    ) -> Option<usize> {
        let layout = self.layout(one.class).filter(|_| one.class == other.class)?;
        if one.cells == other.cells {
            return None;
        }
        (0..layout.groups.len()).find(|&place| {
            tolerance(place).is_some_and(|codes| layout.differs(place, one, other, codes))
        })
    }

    /// Writes the row between two rows of the same class into `shown`: continuous groups by
    /// `fraction` of the way, all others as in `before`. Rows of different classes, or of another
    /// number of cells, are not mixed: `shown` is then `before`.
    pub fn interpolate(
        &self,
        before: Row<'_>,
        after: Row<'_>,
        fraction: f64,
        shown: &mut RowBuffer,
    ) {
        shown.copy_from(before);
        let Some(layout) = self.layout(before.class) else { return };
        let columns = layout.columns.len();
        let is_like = |row: Row<'_>| row.class == before.class && row.cells.len() == columns;
        if before.cells != after.cells && is_like(before) && is_like(after) {
            let (from, to) =
                (Sample { tick: 0, cells: before.cells }, Sample { tick: 1, cells: after.cells });
            interpolate(layout, from, to, fraction, &mut shown.cells);
        }
    }

    /// Returns the position of an object, from the first field of its class that is `spatial`;
    /// missing components are 0. `None` if the class has no such field, or if it is absent.
    #[must_use]
    pub fn position(&self, row: Row<'_>) -> Option<[f32; 3]> {
        let layout = self.layout(row.class)?;
        let (place, group) = layout.groups.iter().enumerate().find(|(_, group)| group.spatial)?;
        if row.cells.len() != layout.columns.len() || !layout.is_present(place, row.cells) {
            return None;
        }
        let mut position = [0.0; 3];
        for (component, column) in position.iter_mut().zip(group.columns()) {
            let code = f64::from(row.cells[column]) - group.unit.zero;
            *component = (code * group.unit.step) as f32;
        }
        Some(position)
    }

    pub(super) fn layout(&self, class: u16) -> Option<&Layout> {
        self.classes().get(usize::from(class)).map(|class| &class.layout)
    }
}

impl Layout {
    fn differs(&self, place: usize, one: Row<'_>, other: Row<'_>, tolerance: u32) -> bool {
        let is_present = |row: Row<'_>| self.is_present(place, row.cells);
        if is_present(one) != is_present(other) {
            return true;
        }
        let group = &self.groups[place];
        let wraps = matches!(group.kind, Kind::Number { wraps: true, .. });
        group.columns().any(|column| {
            let (Some(&a), Some(&b)) = (one.cells.get(column), other.cells.get(column)) else {
                return true;
            };
            let distance = a.abs_diff(b);
            let around = self.columns[column].max.saturating_sub(distance).saturating_add(1);
            let distance = if wraps { distance.min(around) } else { distance };
            distance > if group.is_continuous { tolerance } else { 0 }
        })
    }
}
