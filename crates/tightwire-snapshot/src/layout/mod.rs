//! What a snapshot's codecs see of a class: columns of numbers, and which of them belong together.
//!
//! An object's quantised state is a row of `u32` cells, one for each column. A layout is made of a
//! schema, and turns the packet of a value into cells and back, bit for bit.

mod build;
mod cells;
mod columns;
mod condition;
mod fields;
mod fixed;
mod order;
mod scale;
mod size;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use cells::Program;
use condition::Guard;
use fields::Fields;
pub(crate) use size::parts;
use tightwire_core::schema::Schema;
use tightwire_core::stream::{ReadError, WriteError};
use xxhash_rust::xxh3::Xxh3;

/// The most columns of a class: a row is kept for each object of each snapshot.
pub(crate) const MAX_COLUMNS: usize = 1024;

/// The columns of a class. No cell is above the [`max`](Column::max) of its column, and the cells of
/// a part that is absent (`when` is false, an option is none, another variant) are 0.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Layout {
    /// In the order of their bits in a packet.
    pub(crate) columns: Vec<Column>,
    /// Columns that are predicted and coded together, in the order of coding. A column that can
    /// only be 0 is in none.
    pub(crate) groups: Vec<Group>,
    /// The guard of each group, if it is not always there.
    presence: Vec<Option<usize>>,
    guards: Vec<Guard>,
    /// What the groups are called.
    pub(crate) fields: Fields,
    program: Program,
}

/// One number of every row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    /// The largest cell.
    pub(crate) max: u32,
}

/// Adjacent columns of one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Group {
    /// Its first column.
    pub(crate) first: usize,
    pub(crate) kind: Kind,
    /// There are values between two values, which can be shown.
    pub(crate) is_continuous: bool,
    /// Neighbours are looked for by this group, a position.
    pub(crate) spatial: bool,
    /// What codes mean where: positions of the same space can be compared. Only of a spatial group.
    pub(crate) space: u64,
    /// The code that means zero, rounded. Only of a spatial group.
    pub(crate) origin: i64,
    /// Objects of this class are what others move with.
    pub(crate) reference: bool,
    /// The group, a position, has a derivative that is coded before it.
    pub(crate) derivative: Option<Derivative>,
}

/// What the cells of a group mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// One column without order: a bool, the ordinal of an enum, whether an option has a value.
    Category,
    /// 1 to 4 columns of ordered codes that move together: integers, quantised floats and vectors.
    Number {
        components: usize,
        /// The largest code is next to 0.
        wraps: bool,
    },
    /// 4 columns: the index of the largest component, which is below 4, then the other three, as codes of which `max` is
    /// the largest, for 1/sqrt(2).
    Rotation { max: u32 },
    /// One column of bits that mean nothing to us: raw floats, text, parts of wide integers.
    Raw,
}

/// What a position has to do with its velocity. A velocity that is not
/// [present](Layout::is_present) says nothing: its cells are then 0, which is a speed like others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Derivative {
    /// The group of the velocity, which has as many components.
    pub(crate) group: usize,
    /// Codes of the position per code of the velocity and tick, with 32 bits behind the point.
    pub(crate) scale: i64,
    /// The code of the velocity that means zero, with 32 bits behind the point.
    pub(crate) zero: i64,
}

/// Why a type has no layout, and which field it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LayoutError {
    /// The names that lead to it, as in `Player.inventory[3].count`.
    pub(crate) path: String,
    /// What is wrong, and what to do.
    pub(crate) reason: String,
}

impl Layout {
    /// The layout of the values that `schema` describes.
    pub(crate) fn new(schema: &Schema, ticks_per_second: u32) -> Result<Self, LayoutError> {
        build::layout(schema, ticks_per_second)
    }

    /// Whether the group is there, by the cells of groups that are coded before it.
    #[inline]
    pub(crate) fn is_present(&self, group: usize, cells: &[u32]) -> bool {
        let mut next = self.presence.get(group).copied().flatten();
        while let Some(guard) = next.and_then(|guard| self.guards.get(guard)) {
            if !guard.test.holds(cells) {
                return false;
            }
            next = guard.outer;
        }
        true
    }

    /// Whether the group is in every row.
    pub(crate) fn is_always_present(&self, group: usize) -> bool {
        self.presence.get(group).copied().flatten().is_none()
    }

    /// 64 bits that both sides of a snapshot must have in common, beside the fingerprint of the
    /// schema: that one takes a `bool` and a number of 0 to 1 for the same, and knows no ticks.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hash = Xxh3::new();
        let mut put = |word: i64| hash.update(&word.to_le_bytes());
        put(self.columns.len() as i64);
        self.columns.iter().for_each(|column| put(column.max.into()));
        for group in &self.groups {
            let (kind, parameter, wraps) = match group.kind {
                Kind::Category => (0, 0, false),
                Kind::Number { components, wraps } => (1, components as i64, wraps),
                Kind::Rotation { max } => (2, max.into(), false),
                Kind::Raw => (3, 0, false),
            };
            let flags = [wraps, group.spatial, group.reference, group.derivative.is_some()];
            [group.first as i64, kind, parameter].into_iter().for_each(&mut put);
            flags.map(i64::from).into_iter().for_each(&mut put);
            if let Some(Derivative { group, scale, zero }) = group.derivative {
                [group as i64, scale, zero].into_iter().for_each(&mut put);
            }
        }
        hash.digest()
    }

    /// Turns a packet, as `encode` writes it, into cells; after a refusal they are any.
    pub(crate) fn cells_of(&self, packet: &[u8], cells: &mut [u32]) -> Result<(), ReadError> {
        cells::read(self, packet, cells)
    }

    /// Whether cells come from a packet, for which the buffer has room.
    pub(crate) fn accepts(&self, cells: &[u32], buffer: &mut [u8]) -> bool {
        cells::accepts(self, cells, buffer)
    }

    /// Turns cells into the packet that they come from. Cells that come from no packet are refused.
    pub(crate) fn packet_of<'b>(
        &self,
        cells: &[u32],
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], WriteError> {
        cells::write(self, cells, buffer)
    }
}

#[cfg(test)]
impl Layout {
    /// Columns and groups as they are given; a group with a column and a number is there if the cell
    /// is that number. It has no packets.
    pub(crate) fn of_groups(
        columns: Vec<Column>,
        groups: Vec<Group>,
        presence: &[Option<(usize, u32)>],
    ) -> Self {
        let guards = presence.iter().flatten().map(|&(column, value)| Guard {
            test: condition::Test::Is { column, value },
            outer: None,
        });
        let mut count = 0..;
        let presence = presence.iter().map(|test| test.and_then(|_| count.next()));
        let (presence, guards) = (presence.collect(), guards.collect());
        let mut fields = Fields::default();
        let of_groups = (0..groups.len()).map(|group| fields.add(&alloc::format!("group{group}")));
        let of_groups = of_groups.collect();
        fields.set_groups(of_groups);
        let program = Program::new(&columns, Vec::new());
        Self { columns, groups, presence, guards, fields, program }
    }
}

impl Group {
    /// Its columns.
    #[inline]
    pub(crate) fn columns(&self) -> core::ops::Range<usize> {
        self.first..self.first + self.kind.width()
    }
}

impl Kind {
    /// How many columns a group of this kind has.
    #[inline]
    pub(crate) fn width(&self) -> usize {
        match *self {
            Self::Category | Self::Raw => 1,
            Self::Number { components, .. } => components,
            Self::Rotation { .. } => 4,
        }
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl core::error::Error for LayoutError {}
