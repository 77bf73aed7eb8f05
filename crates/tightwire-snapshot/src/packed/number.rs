//! Numbers and vectors: predicted by their motion, or by their velocity.

use super::motion::Motion;
use super::plan::{GroupPlan, Velocity};
use super::residual::{residual, unzigzag, width_of, zigzag};
use super::tuning::{GroupTuning, Mode};
use tightwire_core::stream::{ErrorKind, Stream};

/// Codes a group of `N` components. `sparse` says that the group was at rest.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn number<S: Stream, const N: usize>(
    stream: &mut S,
    plan: &GroupPlan,
    tuning: &mut GroupTuning,
    motion: &Motion<'_>,
    sparse: bool,
    cells: &mut [u32],
) -> Result<(), S::Error> {
    let start = stream.position();
    let (Some(now), Some(before)) = (plan.row::<N>(motion.newest), plan.row::<N>(motion.before))
    else {
        return stream.refuse_at(ErrorKind::Misuse, start);
    };
    let velocity = plan.velocity.as_ref().filter(|velocity| {
        velocity.is_in(motion.layout, cells) && velocity.is_in(motion.layout, motion.newest)
    });
    let (mut predicted, mut size) = ([0; N], 0);
    for i in 0..N {
        predicted[i] = i64::from(now[i]);
    }
    if let Some(velocity) = velocity {
        size = integrate(&mut predicted, velocity, tuning.mode, motion, cells);
    } else if !sparse {
        for i in 0..N {
            let acked = i64::from(before[i]);
            let on = motion.extend(difference(predicted[i], acked, plan.max[i], plan.wraps));
            size |= on.unsigned_abs();
            match tuning.mode {
                Mode::Linear => predicted[i] += on,
                Mode::Damped => predicted[i] += on / 2,
                _ => {}
            }
        }
    }
    for (predicted, &max) in predicted.iter_mut().zip(&plan.max) {
        *predicted = into_range(*predicted, max, plan.wraps);
    }
    let was_at_rest = sparse && velocity.is_none();
    let (expected, usual) = tuning.expect(size, was_at_rest, plan.top);
    let mut values = [0; N];
    if S::WRITING {
        let Some(cells_now) = plan.row::<N>(cells) else { return Ok(()) };
        for i in 0..N {
            let cell = i64::from(cells_now[i]);
            values[i] = zigzag(difference(cell, predicted[i], plan.max[i], plan.wraps));
        }
        if !was_at_rest && tuning.is_due() {
            match velocity {
                Some(velocity) => compare_velocity::<N>(plan, velocity, tuning, motion, cells),
                None => compare(plan, tuning, motion, cells),
            }
        }
        tuning.note(width_of(&values), usual, was_at_rest);
    }
    residual(stream, &mut values, expected, plan.top)?;
    if S::READING {
        let Some(cells) = plan.row_mut::<N>(cells) else { return Ok(()) };
        for i in 0..N {
            let max = i64::from(plan.max[i]);
            let mut cell = predicted[i] + unzigzag(values[i]);
            if plan.wraps {
                // The writer only writes the shorter way round.
                if cell < 0 {
                    cell += max + 1;
                } else if cell > max {
                    cell -= max + 1;
                }
            }
            if cell < 0 || cell > max {
                return stream.refuse_at(ErrorKind::OutOfRange, start);
            }
            cells[i] = cell as u32;
        }
    }
    Ok(())
}

/// Returns the difference of `to` and `from`; the shorter one if the codes wrap.
#[cfg_attr(not(debug_assertions), inline(always))]
fn difference(to: i64, from: i64, max: u32, wraps: bool) -> i64 {
    let way = to - from;
    if !wraps {
        return way;
    }
    let (circle, half) = (i64::from(max) + 1, (i64::from(max) + 1) / 2);
    if way > half {
        way - circle
    } else if way < -half {
        way + circle
    } else {
        way
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn into_range(value: i64, max: u32, wraps: bool) -> i64 {
    let max = i64::from(max);
    if !wraps {
        return value.clamp(0, max);
    }
    if (0..=max).contains(&value) { value } else { value.rem_euclid(max + 1) }
}

/// Beyond every range.
const FAR: i128 = 1 << 33;

/// Limit of the age, in ticks: an older velocity predicts nothing, and products stay within their
/// words.
const MAX_AGE: u32 = 1 << 16;

/// Moves a position by its velocities then and now; returns how far the prediction may be off.
///
/// Most engines move by the velocity that they have just changed, so the sum over `age` ticks has
/// the new velocity once more and the old one once less than their mean; others move by the mean.
/// The packet says which. A velocity that changes as it did before, as in a fall, adds no error; an
/// unexpected change does.
#[cfg_attr(not(debug_assertions), inline(always))]
fn integrate<const N: usize>(
    predicted: &mut [i64; N],
    velocity: &Velocity,
    mode: Mode,
    motion: &Motion<'_>,
    cells: &[u32],
) -> u64 {
    let age = i64::from(motion.age.min(MAX_AGE));
    let extra = i64::from(mode == Mode::Linear);
    let scale = i128::from(velocity.scale);
    let rest = i128::from(2 * age) * i128::from(velocity.zero_code_offset) - (1 << 32);
    let mut size = 0;
    for i in 0..N {
        let now = i64::from(cells[velocity.first + i]);
        let acked = i64::from(motion.newest[velocity.first + i]);
        let sum = now * (age + extra) + acked * (age - extra);
        // 32 bits of the scale, and one bit since the sum is twice the mean.
        let way = (i128::from(sum) * scale - rest) >> 33;
        predicted[i] += way.clamp(-FAR, FAR) as i64;
        let expected = motion.extend(acked - i64::from(motion.before[velocity.first + i]));
        let surprise = (now - acked - expected) * age;
        let off = (i128::from(surprise) * scale) >> 33;
        size |= off.clamp(-FAR, FAR).unsigned_abs() as u64;
    }
    size
}

/// Adds to the writer's statistics the residual that each prediction would have left.
#[inline(never)]
pub(super) fn compare(
    plan: &GroupPlan,
    tuning: &mut GroupTuning,
    motion: &Motion<'_>,
    cells: &[u32],
) {
    let mut left = [0; 3];
    for i in 0..plan.len {
        let (now, max) = (i64::from(motion.newest[plan.first + i]), plan.max[i]);
        let acked = i64::from(motion.before[plan.first + i]);
        let on = motion.extend(difference(now, acked, max, plan.wraps));
        let way = difference(i64::from(cells[plan.first + i]), now, max, plan.wraps);
        left[0] |= zigzag(way);
        left[1] |= zigzag(way - on / 2);
        left[2] |= zigzag(way - on);
    }
    tuning.compare(left, plan.len as u32);
}

/// Does the same as [`compare`] for a position with a velocity: by the mean, or by the changed one.
#[inline(never)]
fn compare_velocity<const N: usize>(
    plan: &GroupPlan,
    velocity: &Velocity,
    tuning: &mut GroupTuning,
    motion: &Motion<'_>,
    cells: &[u32],
) {
    let left = [Mode::Damped, Mode::Linear].map(|mode| {
        let mut predicted: [_; N] =
            core::array::from_fn(|i| i64::from(motion.newest[plan.first + i]));
        integrate(&mut predicted, velocity, mode, motion, cells);
        (0..N).fold(0, |left, i| {
            let predicted = into_range(predicted[i], plan.max[i], plan.wraps);
            let cell = i64::from(cells[plan.first + i]);
            left | zigzag(difference(cell, predicted, plan.max[i], plan.wraps))
        })
    });
    // `Stay` is never chosen for a position with a velocity.
    tuning.compare([NEVER, left[0], left[1]], N as u32);
}

/// Wider than every residual.
const NEVER: u64 = (1 << 40) - 1;
