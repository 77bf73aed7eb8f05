//! Predictions of a number from other objects.

use super::mixture::Forecast;
use super::neighbours::distance_class;
use super::plan::ObjectContext;
use super::quaternion::Matrix;

/// Predictions of a position from neighbouring objects, with 8 fraction bits.
pub(super) struct NeighbourPrediction {
    /// Predicted position if the object moves with its reference, and with its neighbour; `None`
    /// without one.
    pub(super) with_reference: Option<[i64; 3]>,
    pub(super) with_neighbour: Option<[i64; 3]>,
    /// Predicted motion if the object tumbles; `None` if it does not turn, or has a velocity.
    tumbling: Option<[i64; 3]>,
    /// Residual of the neighbour's own prediction.
    pub(super) residual: [i64; 3],
    /// Classes of the neighbour's prediction error, and of its distance.
    pub(super) error_class: usize,
    pub(super) distance_class: usize,
}

impl NeighbourPrediction {
    /// Predicts a position from its last `point`. `ground` is the height on which objects stand.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of_position(
        context: &ObjectContext<'_>,
        point: [i64; 3],
        ground: i64,
        has_derivative: bool,
    ) -> Self {
        let turned = context.turned.filter(|_| !has_derivative);
        Self {
            with_reference: context.reference.map(|(other, _)| other.carry(point)),
            with_neighbour: context.neighbour.map(|(other, _)| other.carry(point)),
            tumbling: turned.map(|(before, after)| tumble(point[2] - ground, &before, &after)),
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
            residual: context.neighbour.map_or([0; 3], |(other, _)| other.residual),
            error_class: context.neighbour_error_class(1),
            distance_class: context.neighbour.map_or(3, |(_, distance)| distance_class(distance)),
        }
    }

    /// Adds predictions of a component of a position that was at `base`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn add_to(&self, forecast: &mut Forecast, c: usize, base: i64) {
        if let Some(place) = self.with_neighbour {
            forecast.add(5, place[c]);
        }
        if let Some(way) = self.tumbling {
            forecast.add(7, base + way[c]);
        }
    }
}

/// Returns the motion of the centre of a box that tumbles on its lowest corner, with 8 fraction
/// bits.
fn tumble(height: i64, before: &Matrix, after: &Matrix) -> [i64; 3] {
    let upright: i64 = before[2].iter().map(|x| x.abs()).sum();
    let half = ((height.max(0) << 16) / (upright >> 14).max(1)).min(1 << 28); // codes
    let corner = after[2].map(|x| if x > 0 { -half } else { half });
    core::array::from_fn(|row| {
        let moved = |axis: usize| ((before[row][axis] - after[row][axis]) >> 10) * corner[axis];
        (moved(0) + moved(1) + moved(2)) >> 12
    })
}
