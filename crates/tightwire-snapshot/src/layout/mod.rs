//! Layouts: a class as columns of numbers, grouped by value, as the coders of snapshots see it.
//!
//! An object's quantised state is a row of `u32` cells, one for each column. A layout is built from
//! a schema, and converts the packet of a value into cells and back, bit for bit.

mod build;
mod cells;
mod columns;
mod condition;
mod fields;
mod fixed;
mod masked;
mod order;
mod quantity;
mod scale;
mod size;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use crate::LayoutError;
use cells::Program;
use condition::Guard;
use fields::Fields;
pub(crate) use scale::Unit;
pub(crate) use size::parts;
use tightwire_core::schema::Schema;
use tightwire_core::stream::{ReadError, WriteError};
use xxhash_rust::xxh3::Xxh3;

/// Largest number of columns of a class: a row is kept for each object of each snapshot.
pub(crate) const MAX_COLUMNS: usize = 1024;

/// The columns of a class. No cell is above the [`max`](Column::max) of its column, and the cells
/// of an absent part (`when` is false, an option is none, another variant) are 0.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Layout {
    /// Columns in the order of their bits in a packet.
    pub(crate) columns: Vec<Column>,
    /// Columns that are predicted and coded together, in the order of coding. A column that can
    /// only be 0 is in no group.
    pub(crate) groups: Vec<Group>,
    /// Index in `guards` of each group's guard; `None` if the group is always present.
    presence: Vec<Option<usize>>,
    guards: Vec<Guard>,
    /// Names of the groups.
    pub(crate) fields: Fields,
    program: Program,
}

/// A place in the row of every object of the class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    /// Largest cell.
    pub(crate) max: u32,
}

/// Adjacent columns of one value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Group {
    /// First column of the group.
    pub(crate) first: usize,
    pub(crate) kind: Kind,
    /// Whether there are values between two values, so that the group can be interpolated.
    pub(crate) is_continuous: bool,
    /// Whether the group is the position by which neighbours are found.
    pub(crate) spatial: bool,
    /// Hash of the scale of the codes: positions with the same hash can be compared. Only of a
    /// spatial group.
    pub(crate) space: u64,
    /// Code that means zero, rounded. Only of a spatial group.
    pub(crate) origin: i64,
    /// Meaning of the codes of a number.
    pub(crate) unit: Unit,
    /// Whether objects of this class are references, with which others move.
    pub(crate) reference: bool,
    /// The receivers that get the group.
    pub(crate) audience: Audience,
    /// Set if the group is a position with a velocity, which is coded before it; `None` otherwise.
    pub(crate) derivative: Option<Derivative>,
}

/// The receivers that get a group; all others get its neutral value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Audience {
    #[default]
    All,
    /// Only the owner of the object.
    Owner,
    /// All but the owner of the object.
    Others,
}

/// Meaning of the cells of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// One column without order: a bool, the ordinal of an enum, the presence of an option's value.
    Category,
    /// 1 to 4 columns of ordered codes that move together: integers, quantised floats and vectors.
    Number {
        components: usize,
        /// The largest code is next to 0.
        wraps: bool,
    },
    /// 4 columns: the index of the largest component, which is below 4, then the codes of the other
    /// three; the largest code, `max`, is 1/sqrt(2).
    Rotation { max: u32 },
    /// One column of bits without a known meaning: raw floats, text, parts of wide integers.
    Raw,
}

/// Relation of a position to its velocity. A velocity that is not [present](Layout::is_present)
/// must not be used: its cells are 0, which is a speed like any other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Derivative {
    /// Group of the velocity, which has as many components.
    pub(crate) group: usize,
    /// Codes of the position per code of the velocity and tick, with 32 fraction bits.
    pub(crate) scale: i64,
    /// Code of the velocity that means zero, with 32 fraction bits.
    pub(crate) zero: i64,
}

impl Layout {
    /// Builds the layout of the values of `schema`.
    pub(crate) fn new(schema: &Schema, ticks_per_second: u32) -> Result<Self, LayoutError> {
        build::layout(schema, ticks_per_second)
    }

    /// Whether the group is present, by the cells of groups that are coded before it.
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

    /// Returns a column and a mask, if the group is present when the column has one of these bits,
    /// and under no other condition.
    pub(crate) fn guarding_bits(&self, group: usize) -> Option<(usize, u32)> {
        let guard = self.guards.get(self.presence.get(group).copied().flatten()?)?;
        match guard.test {
            condition::Test::Bits { column, mask } if guard.outer.is_none() => Some((column, mask)),
            _ => None,
        }
    }

    /// Whether the group is present in every row.
    pub(crate) fn is_always_present(&self, group: usize) -> bool {
        self.presence.get(group).copied().flatten().is_none()
    }

    /// Returns 64 bits that both sides of a snapshot must share, besides the fingerprint of the
    /// schema: that fingerprint is the same for a `bool` and a number of 0 to 1, and has no ticks.
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

    /// Converts a packet, as `encode` writes it, into cells. After a refusal the cells are
    /// unspecified.
    pub(crate) fn cells_of(&self, packet: &[u8], cells: &mut [u32]) -> Result<(), ReadError> {
        cells::read(self, packet, cells)
    }

    /// Whether `cells` are valid, which means that they have a packet. `buffer` has room for the
    /// packet.
    pub(crate) fn accepts(&self, cells: &[u32], buffer: &mut [u8]) -> bool {
        cells::accepts(self, cells, buffer)
    }

    /// Converts cells into their packet. Invalid cells are refused.
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
    /// Creates a layout of given columns and groups; a group with a column and a number is present
    /// if the cell is that number. The layout has no packets.
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
    /// Returns the columns of the group.
    #[inline]
    pub(crate) fn columns(&self) -> core::ops::Range<usize> {
        self.first..self.first + self.kind.width()
    }
}

impl Kind {
    /// Returns the number of columns of a group of this kind.
    #[inline]
    pub(crate) fn width(&self) -> usize {
        match *self {
            Self::Category | Self::Raw => 1,
            Self::Number { components, .. } => components,
            Self::Rotation { .. } => 4,
        }
    }
}
