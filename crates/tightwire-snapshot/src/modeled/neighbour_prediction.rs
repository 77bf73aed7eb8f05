//! Predictions of a number from other objects.

use super::linear::bounded;
use super::neighbours::distance_class;
use super::plan::ObjectContext;
use super::quaternion::Matrix;
use wide::f32x4;

/// Predictions of a position from neighbouring objects: motions, with 8 fraction bits.
pub(super) struct NeighbourPrediction {
    /// Predicted motion if the object moves with its reference, and with its neighbour; `None`
    /// without one.
    pub(super) with_reference: Option<f32x4>,
    pub(super) with_neighbour: Option<f32x4>,
    /// Predicted motion if the object tumbles; `None` if it does not turn, or has a velocity.
    pub(super) tumbling: Option<f32x4>,
    /// Residual of the neighbour's own prediction.
    pub(super) residual: f32x4,
    /// Classes of the neighbour's prediction error, and of its distance.
    pub(super) error_class: usize,
    pub(super) distance_class: usize,
}

impl NeighbourPrediction {
    /// For a number whose predictions do not depend on other objects.
    pub(super) const NONE: Self = Self {
        with_reference: None,
        with_neighbour: None,
        tumbling: None,
        residual: f32x4::ZERO,
        error_class: 0,
        distance_class: 0,
    };

    /// Predicts a position from its last `point`. `ground` is the height on which objects stand;
    /// `None` in a world without a vertical axis.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of_position(
        context: &ObjectContext<'_>,
        point: [i64; 3],
        ground: Option<i64>,
        has_derivative: bool,
    ) -> Self {
        let up = context.axes[2];
        let height = ground.map_or(0, |ground| point[up] - ground) as f32;
        let turned = context.turned.as_ref().filter(|_| !has_derivative);
        Self {
            with_reference: context.reference.map(|(other, _)| lanes(other.carry(point))),
            with_neighbour: context.neighbour.map(|(other, _)| lanes(other.carry(point))),
            tumbling: turned.map(|(before, after)| lanes(tumble(up, height, before, after))),
            ..Self::of_number(context)
        }
    }

    /// Creates the context of a number that is no position.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of_number(context: &ObjectContext<'_>) -> Self {
        Self {
            with_reference: None,
            with_neighbour: None,
            tumbling: None,
            residual: context.neighbour.map_or(f32x4::ZERO, |(other, _)| lanes(other.residual)),
            error_class: context.neighbour_error_class(1),
            distance_class: context.neighbour.map_or(3, |(_, distance)| distance_class(distance)),
        }
    }
}

fn lanes([x, y, z]: [f32; 3]) -> f32x4 {
    bounded(f32x4::from([x, y, z, 0.0]))
}

/// Returns the motion of the centre of a box that tumbles on the corner that is nearest to the
/// ground, with 8 fraction bits. `height` is negative below the ground.
#[cfg_attr(not(debug_assertions), inline(always))]
fn tumble(up: usize, height: f32, before: &Matrix, after: &Matrix) -> [f32; 3] {
    let (before_up, after_up) = (&before[up], &after[up]);
    let upright = before_up[0].abs() + before_up[1].abs() + before_up[2].abs();
    // A matrix of codes that are no rotation may be all zeros.
    let half = (height / (upright + 1e-6) * 256.0).clamp(-1e8, 1e8);
    let corner = after_up.map(|part| if part > 0.0 { -half } else { half });
    core::array::from_fn(|row| {
        let moved = |axis: usize| (before[row][axis] - after[row][axis]) * corner[axis];
        moved(0) + moved(1) + moved(2)
    })
}
