//! Interpolation and extrapolation of an object's state.
//!
//! Only the shown state depends on this, and nothing that both sides have to compute alike: floats
//! will do.

use core::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use super::layout::{Derivative, Kind, Layout};

/// A state and its tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample<'s> {
    pub(super) tick: u32,
    pub(super) cells: &'s [u32],
}

/// Computes the state at `time`, in ticks, between two samples, into `cells`.
///
/// Positions move along a line, or along a curve that fits the velocities if the class has some;
/// rotations turn the shorter way; a group without values in between keeps the earlier one.
pub(super) fn interpolate(
    layout: &Layout,
    before: Sample<'_>,
    after: Sample<'_>,
    time: f64,
    cells: &mut [u32],
) {
    cells.copy_from_slice(before.cells);
    let span = f64::from(after.tick) - f64::from(before.tick);
    let fraction = ((time - f64::from(before.tick)) / span).clamp(0.0, 1.0);
    for (place, group) in layout.groups.iter().enumerate() {
        let is_present = |row: Sample<'_>| layout.is_present(place, row.cells);
        if !group.is_continuous || !is_present(before) || !is_present(after) {
            continue;
        }
        match group.kind {
            Kind::Number { wraps, .. } => {
                let curve = group.derivative.filter(|derivative| {
                    [before, after].iter().all(|row| layout.is_present(derivative.group, row.cells))
                });
                for (component, column) in group.columns().enumerate() {
                    let max = layout.columns[column].max;
                    let from = f64::from(before.cells[column]);
                    let distance = signed_distance(
                        before.cells[column],
                        after.cells[column],
                        wraps.then_some(max),
                    );
                    let moved = match curve {
                        Some(derivative) => {
                            let slope = |row: Sample<'_>| {
                                slope(layout, derivative, component, row.cells) * span
                            };
                            hermite(distance, slope(before), slope(after), fraction)
                        }
                        None => distance * fraction,
                    };
                    cells[column] = rounded(from + moved, max, wraps);
                }
            }
            Kind::Rotation { max } => {
                let codes = |row: &[u32]| [0, 1, 2, 3].map(|place| row[group.first + place]);
                let turned = turn(
                    quaternion(codes(before.cells), max),
                    quaternion(codes(after.cells), max),
                    fraction,
                );
                cells[group.columns()].copy_from_slice(&smallest_three(turned, max));
            }
            Kind::Category | Kind::Raw => {}
        }
    }
}

/// Computes the state of an object that is about to despawn, at a `time` after its last state, into
/// `cells`: positions with a velocity go on with it, for at most `most` ticks.
pub(super) fn extrapolate(
    layout: &Layout,
    last: Sample<'_>,
    time: f64,
    most: f64,
    cells: &mut [u32],
) {
    cells.copy_from_slice(last.cells);
    let ticks = (time - f64::from(last.tick)).clamp(0.0, most);
    for (place, group) in layout.groups.iter().enumerate() {
        let (Kind::Number { wraps, .. }, Some(derivative)) = (group.kind, group.derivative) else {
            continue;
        };
        if ![place, derivative.group].iter().all(|&place| layout.is_present(place, last.cells)) {
            continue;
        }
        for (component, column) in group.columns().enumerate() {
            let moved = slope(layout, derivative, component, last.cells) * ticks;
            let from = f64::from(last.cells[column]);
            cells[column] = rounded(from + moved, layout.columns[column].max, wraps);
        }
    }
}

/// Returns the signed distance from one code to another, the shorter way if the codes wrap.
pub(super) fn signed_distance(from: u32, to: u32, wraps_after: Option<u32>) -> f64 {
    let distance = f64::from(to) - f64::from(from);
    let Some(max) = wraps_after else { return distance };
    let round = f64::from(max) + 1.0;
    if distance > round / 2.0 {
        distance - round
    } else if distance < -round / 2.0 {
        distance + round
    } else {
        distance
    }
}

pub(super) fn rounded(code: f64, max: u32, wraps: bool) -> u32 {
    let code = floor(code + 0.5);
    let round = i64::from(max) + 1;
    if wraps { code.rem_euclid(round) as u32 } else { code.clamp(0, i64::from(max)) as u32 }
}

fn floor(value: f64) -> i64 {
    let whole = value as i64;
    whole - i64::from((whole as f64) > value)
}

/// Returns the velocity in codes of the position per tick.
fn slope(layout: &Layout, derivative: Derivative, component: usize, cells: &[u32]) -> f64 {
    const ONE: f64 = (1u64 << 32) as f64;
    let velocity = f64::from(cells[layout.groups[derivative.group].first + component]);
    (velocity - derivative.zero as f64 / ONE) * (derivative.scale as f64 / ONE)
}

/// Returns the part of the distance `end` that is done at `fraction`; slopes are in distances per
/// whole interval.
fn hermite(end: f64, start_slope: f64, end_slope: f64, fraction: f64) -> f64 {
    let (square, cube) = (fraction * fraction, fraction * fraction * fraction);
    (cube - 2.0 * square + fraction) * start_slope
        + (3.0 * square - 2.0 * cube) * end
        + (cube - square) * end_slope
}

/// Decodes a rotation; `max` is its largest code.
pub(super) fn quaternion(codes: [u32; 4], max: u32) -> [f64; 4] {
    let component = |code: u32| (f64::from(code) / f64::from(max) * 2.0 - 1.0) * FRAC_1_SQRT_2;
    let mut rest = codes[1..].iter().map(|&code| component(code));
    let mut quaternion = [0.0; 4];
    let mut squares = 0.0;
    for place in (0..4).filter(|&place| place != codes[0] as usize) {
        quaternion[place] = rest.next().unwrap_or_default();
        squares += quaternion[place] * quaternion[place];
    }
    quaternion[codes[0] as usize & 3] = libm::sqrt((1.0 - squares).max(0.0));
    quaternion
}

/// Interpolates two rotations, the shorter way. Over the angles between two snapshots, a normalised
/// straight line differs from an arc by nothing that is seen.
fn turn(from: [f64; 4], to: [f64; 4], fraction: f64) -> [f64; 4] {
    let product: f64 = from.iter().zip(to).map(|(a, b)| a * b).sum();
    let sign = if product < 0.0 { -1.0 } else { 1.0 };
    let between = |place: usize| from[place] * (1.0 - fraction) + to[place] * sign * fraction;
    let turned = [0, 1, 2, 3].map(between);
    let length = libm::sqrt(turned.iter().map(|part| part * part).sum());
    if length > 0.0 { turned.map(|part| part / length) } else { from }
}

/// Encodes a rotation.
pub(super) fn smallest_three(rotation: [f64; 4], max: u32) -> [u32; 4] {
    let mut largest = 0;
    for place in 1..4 {
        if rotation[place].abs() > rotation[largest].abs() {
            largest = place;
        }
    }
    let sign = if rotation[largest] < 0.0 { -1.0 } else { 1.0 };
    let code = |part: f64| rounded((part * sign * SQRT_2 + 1.0) / 2.0 * f64::from(max), max, false);
    let mut codes = [largest as u32, 0, 0, 0];
    let rest = (0..4).filter(|&place| place != largest);
    codes[1..].iter_mut().zip(rest).for_each(|(to, place)| *to = code(rotation[place]));
    codes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tightwire_core::Wire;
    use tightwire_core::schema::Schema;

    #[derive(Wire)]
    struct Mover {
        #[wire(min = -100.0, max = 100.0, resolution = 0.01)]
        position: [f32; 3],
        #[wire(derivative_of = position, min = -50.0, max = 50.0, resolution = 0.01)]
        velocity: [f32; 3],
        #[wire(wraps, range = 0..=359)]
        heading: u16,
        #[wire(smallest_three = 12)]
        rotation: [f32; 4],
        #[wire(range = 0..=100)]
        health: u8,
    }

    fn between(before: Mover, after: Mover, ticks: u32, time: f64) -> Mover {
        let layout = Layout::new(&Schema::of::<Mover>(), 60).unwrap();
        let mut buffer = [0; 128];
        let mut row = |mover: Mover| {
            let mut cells = alloc::vec![0; layout.columns.len()];
            layout
                .cells_of(tightwire_core::stream::encode(&mover, &mut buffer).unwrap(), &mut cells)
                .unwrap();
            cells
        };
        let (before, after) = (row(before), row(after));
        let mut cells = before.clone();
        let before = Sample { tick: 100, cells: &before };
        let after = Sample { tick: 100 + ticks, cells: &after };
        interpolate(&layout, before, after, time, &mut cells);
        let mut mover = still();
        tightwire_core::stream::decode_into(
            layout.packet_of(&cells, &mut buffer).unwrap(),
            &mut mover,
        )
        .unwrap();
        mover
    }

    fn still() -> Mover {
        Mover {
            position: [0.0; 3],
            velocity: [0.0; 3],
            heading: 0,
            rotation: [0.0, 0.0, 0.0, 1.0],
            health: 100,
        }
    }

    fn assert_near(here: &[f32], there: &[f32], error: f32) {
        let is_near = here.iter().zip(there).all(|(a, b)| (a - b).abs() <= error);
        assert!(is_near, "{here:?} is not {there:?}");
    }

    #[test]
    fn a_falling_object_is_interpolated_on_its_parabola() {
        // Thrown upwards with 6 m/s, 30 ticks later: a curve of second degree, which is exact.
        let at = |time: f32| 6.0 * time - 5.0 * time * time;
        let speed = |time: f32| 6.0 - 10.0 * time;
        let start = Mover { velocity: [1.0, 0.0, 6.0], ..still() };
        let end =
            Mover { position: [0.5, 0.0, at(0.5)], velocity: [1.0, 0.0, speed(0.5)], ..still() };
        let mover = between(start, end, 30, 115.0);
        assert_near(&mover.position, &[0.25, 0.0, at(0.25)], 0.011);
        assert_near(&mover.velocity, &[1.0, 0.0, speed(0.25)], 0.011);
    }

    #[test]
    fn angles_and_rotations_go_the_shorter_way() {
        let turned = |degrees: f32| {
            let half = degrees.to_radians() / 2.0;
            [half.sin(), 0.0, 0.0, half.cos()]
        };
        let start = Mover { heading: 350, rotation: turned(-100.0), ..still() };
        let end = Mover { heading: 20, rotation: turned(-120.0).map(|part| -part), ..still() };
        let mover = between(start, end, 6, 102.0);
        assert_eq!(mover.heading, 0);
        let wanted = turned(-106.667);
        let sign = if mover.rotation[3] * wanted[3] < 0.0 { -1.0 } else { 1.0 };
        assert_near(&mover.rotation, &wanted.map(|part| part * sign), 0.002);
    }

    #[test]
    fn counters_are_not_interpolated() {
        let mover = between(still(), Mover { health: 50, ..still() }, 6, 105.9);
        assert_eq!(mover.health, 100);
    }
}
