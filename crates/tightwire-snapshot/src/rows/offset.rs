//! The error of a prediction that is still visible, and fades.

use alloc::vec::Vec;

use super::{Row, RowBuffer};
use crate::Protocol;
use crate::interpolate::{quaternion, rounded, signed_distance, smallest_three};
use crate::layout::Kind;

/// The difference between the shown state of an object and its corrected state, in codes of the
/// continuous columns. It fades by [`Protocol::fade`], so that a correction is not seen as a jump.
///
/// A rotation has the difference of the four components of its quaternion: for the angles up to
/// which corrections are blended that is as good as an angle, and does not depend on the order
/// of components that the game uses.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RowOffset {
    /// A value for each column; empty if there is no offset.
    values: Vec<f32>,
}

/// Size of a [`RowOffset`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct OffsetSize {
    /// Largest distance of a vector or number, in the units of its field.
    pub distance: f32,
    /// Largest angle of a rotation, in radians.
    pub angle: f32,
    /// Offset of the `spatial` field, in its units; zero without one.
    pub position: [f32; 3],
}

impl RowOffset {
    /// Creates an empty offset, with memory for that of a row of `columns` cells.
    #[must_use]
    pub fn with_room(columns: usize) -> Self {
        Self { values: Vec::with_capacity(columns) }
    }

    /// Whether nothing is added to the state.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Removes the offset: the state is shown as it was predicted.
    pub fn clear(&mut self) {
        self.values.clear();
    }
}

impl Protocol {
    /// Sets the offset that shows `row` as `shown`. Rows of different classes have no offset.
    pub fn set_offset(&self, shown: Row<'_>, row: Row<'_>, offset: &mut RowOffset) {
        offset.values.clear();
        let Some(layout) = self.layout(row.class) else { return };
        let columns = layout.columns.len();
        let is_like = |row: &Row<'_>| row.cells.len() == columns;
        if shown.class != row.class || !is_like(&shown) || !is_like(&row) {
            return;
        }
        offset.values.resize(columns, 0.0);
        for (place, group) in layout.groups.iter().enumerate() {
            let is_present = |row: Row<'_>| layout.is_present(place, row.cells);
            if !group.is_continuous || !is_present(shown) || !is_present(row) {
                continue;
            }
            match group.kind {
                Kind::Number { wraps, .. } => {
                    for column in group.columns() {
                        let wraps_after = wraps.then_some(layout.columns[column].max);
                        let distance =
                            signed_distance(row.cells[column], shown.cells[column], wraps_after);
                        offset.values[column] = distance as f32;
                    }
                }
                Kind::Rotation { max } => {
                    let [from, to] = [row, shown].map(|row| rotation_of(row, group.first, max));
                    let product: f64 = from.iter().zip(to).map(|(a, b)| a * b).sum();
                    let sign = if product < 0.0 { -1.0 } else { 1.0 };
                    for part in 0..4 {
                        offset.values[group.first + part] = (to[part] * sign - from[part]) as f32;
                    }
                }
                Kind::Category | Kind::Raw => {}
            }
        }
        if offset.values.iter().all(|value| *value == 0.0) {
            offset.values.clear();
        }
    }

    /// Fades an offset of a row of this class: multiplies numbers by `keep`, and rotations by
    /// `keep_rotation`. An offset below half a code is removed.
    pub fn fade(&self, class: u16, keep: f32, keep_rotation: f32, offset: &mut RowOffset) {
        let Some(layout) = self.layout(class) else { return offset.clear() };
        if offset.values.len() != layout.columns.len() {
            return offset.clear();
        }
        let mut is_visible = false;
        for group in &layout.groups {
            let (keep, least) = match group.kind {
                // The components of a unit quaternion are codes of `max` steps of a length of 1.4.
                Kind::Rotation { max } => (keep_rotation, 0.7 / max.max(1) as f32),
                _ => (keep, 0.5),
            };
            for value in &mut offset.values[group.columns()] {
                *value *= keep;
                is_visible |= value.abs() >= least;
            }
        }
        if !is_visible {
            offset.clear();
        }
    }

    /// Adds an offset to a row.
    pub fn add_offset(&self, offset: &RowOffset, row: &mut RowBuffer) {
        let Some(layout) = self.layout(row.class) else { return };
        let columns = layout.columns.len();
        if offset.values.len() != columns || row.cells.len() != columns {
            return;
        }
        for (place, group) in layout.groups.iter().enumerate() {
            if !group.is_continuous || !layout.is_present(place, &row.cells) {
                continue;
            }
            match group.kind {
                Kind::Number { wraps, .. } => {
                    for column in group.columns() {
                        let code = f64::from(row.cells[column]) + f64::from(offset.values[column]);
                        row.cells[column] = rounded(code, layout.columns[column].max, wraps);
                    }
                }
                Kind::Rotation { max } => {
                    let mut turned = rotation_of(row.row(), group.first, max);
                    for (part, turned) in turned.iter_mut().enumerate() {
                        *turned += f64::from(offset.values[group.first + part]);
                    }
                    let length = libm::sqrt(turned.iter().map(|part| part * part).sum());
                    if length > 1e-3 {
                        let turned = turned.map(|part| part / length);
                        row.cells[group.columns()].copy_from_slice(&smallest_three(turned, max));
                    }
                }
                Kind::Category | Kind::Raw => {}
            }
        }
    }

    /// Returns the size of an offset of a row of this class.
    #[must_use]
    pub fn offset_size(&self, class: u16, offset: &RowOffset) -> OffsetSize {
        let mut size = OffsetSize::default();
        let Some(layout) = self.layout(class) else { return size };
        if offset.values.len() != layout.columns.len() {
            return size;
        }
        // A velocity that is corrected moves nothing by itself.
        let is_velocity = |place: usize| {
            let mut derivatives = layout.groups.iter().filter_map(|group| group.derivative);
            derivatives.any(|derivative| derivative.group == place)
        };
        for (place, group) in layout.groups.iter().enumerate() {
            let values = &offset.values[group.columns()];
            if group.spatial {
                for (axis, value) in size.position.iter_mut().zip(values) {
                    *axis = value * group.unit.step as f32;
                }
            }
            let length = libm::sqrtf(values.iter().map(|value| value * value).sum());
            match group.kind {
                // A chord of the unit sphere of quaternions, on which angles are half as large.
                Kind::Rotation { .. } => {
                    let angle = 4.0 * libm::asinf((length / 2.0).min(1.0));
                    size.angle = size.angle.max(angle);
                }
                _ if is_velocity(place) => {}
                _ => size.distance = size.distance.max(length * group.unit.step as f32),
            }
        }
        size
    }
}

fn rotation_of(row: Row<'_>, first: usize, max: u32) -> [f64; 4] {
    quaternion([0, 1, 2, 3].map(|part| row.cells[first + part]), max)
}
