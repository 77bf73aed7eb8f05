//! Rotations: four components again, turned on, and back to the smallest three.
//!
//! Turning on by the angle of the last turn is `2 cos(a) q0 - q1` for unit quaternions: exact for a
//! steady rotation, and no more than a product, where differences of the codes would break at every
//! change of the largest component.

use super::motion::Motion;
use super::plan::GroupPlan;
use super::residual::{residual, unzigzag, width_of, zigzag};
use super::root::root;
use super::tuning::{GroupTuning, Mode};
use crate::stream::{ErrorKind, Stream};

/// Components in steps of half a code, `2 * code - max`: zero is `max / 2`, a code or between two.
type Turn = [i64; 4];

#[inline(always)]
pub(super) fn rotation<S: Stream>(
    stream: &mut S,
    plan: &GroupPlan,
    tuning: &mut GroupTuning,
    motion: &Motion<'_>,
    sparse: bool,
    cells: &mut [u32],
) -> Result<(), S::Error> {
    let start = stream.position();
    let max = i64::from(plan.max[1]);
    let Some(now) = cells_of(motion.now, plan) else { return misuse(stream) };
    let now = unpack(now, max);
    let (mut predicted, mut size) = (now, 0);
    if let Some(before) = motion.before
        && !sparse
    {
        let Some(before) = cells_of(before, plan) else { return misuse(stream) };
        (predicted, size) = turn_on(now, unpack(before, max), plan, motion, tuning.mode);
    }
    let guess = largest(&predicted);
    let mut index = guess;
    if S::WRITING {
        index = cells[plan.first] & 3;
    }
    let mut other = u64::from(index != guess);
    stream.raw_bits(&mut other, 1)?;
    if other != 0 {
        let mut value = u64::from(index);
        stream.raw_bits(&mut value, 2)?;
        if S::READING && value == u64::from(guess) {
            return stream.refuse_at(ErrorKind::OutOfRange, start);
        }
        index = value as u32;
    }
    let codes = pack(&predicted, index, max);
    let mut values = [0; 3];
    if S::WRITING {
        for i in 0..3 {
            values[i] = zigzag(i64::from(cells[plan.first + 1 + i]) - codes[i]);
        }
        if !sparse && tuning.is_due() {
            compare(plan, tuning, motion, now, cells);
        }
    }
    let expected = tuning.expect(size, sparse);
    if S::WRITING {
        tuning.note(width_of(&values), size, sparse);
    }
    residual(stream, &mut values, expected, plan.top)?;
    if S::READING {
        cells[plan.first] = index;
        for i in 0..3 {
            let code = codes[i] + unzigzag(values[i]);
            if code < 0 || code > max {
                return stream.refuse_at(ErrorKind::OutOfRange, start);
            }
            cells[plan.first + 1 + i] = code as u32;
        }
    }
    Ok(())
}

/// All four components; the largest is what is missing to the length of a unit, `max * sqrt(2)`.
///
/// Which one that is differs from object to object, so it is selected, not indexed or branched on.
#[inline(always)]
fn unpack(cells: &[u32; 4], max: i64) -> Turn {
    let [index, a, b, c] = *cells;
    let [a, b, c] = [a, b, c].map(|code| 2 * i64::from(code) - max);
    let rest = 2 * max * max - (a * a + b * b + c * c);
    let l = root(rest.max(0).cast_unsigned()).cast_signed();
    let select = core::hint::select_unpredictable::<i64>;
    [
        select(index == 0, l, a),
        select(index == 0, a, select(index == 1, l, b)),
        select(index <= 1, b, select(index == 2, l, c)),
        select(index <= 2, c, l),
    ]
}

/// The codes of the three components beside `index`, which becomes positive.
#[inline(always)]
fn pack(turn: &Turn, index: u32, max: i64) -> [i64; 3] {
    let [x, y, z, w] = *turn;
    let select = core::hint::select_unpredictable::<i64>;
    let largest = select(index <= 1, select(index == 0, x, y), select(index == 2, z, w));
    let sign = largest >> 63;
    [select(index == 0, y, x), select(index <= 1, z, y), select(index <= 2, w, z)]
        .map(|value| (((value ^ sign) - sign + max + 1) >> 1).clamp(0, max))
}

#[inline(always)]
fn largest(turn: &Turn) -> u32 {
    let [x, y, z, w] = turn.map(i64::abs);
    let (low, low_index) = core::hint::select_unpredictable(y > x, (y, 1), (x, 0));
    let (high, high_index) = core::hint::select_unpredictable(w > z, (w, 3), (z, 2));
    core::hint::select_unpredictable(high > low, high_index, low_index)
}

/// The rotation that `before` to `now` goes on to, and how far it moves, in codes.
#[inline(always)]
fn turn_on(
    now: Turn,
    before: Turn,
    plan: &GroupPlan,
    motion: &Motion<'_>,
    mode: Mode,
) -> (Turn, u64) {
    let dot: i64 = (0..4).map(|i| now[i] * before[i]).sum();
    // Both signs are the same rotation: the nearer one is meant.
    let sign = if dot < 0 { -1 } else { 1 };
    let before = before.map(|value| value * sign);
    let mut size = 0;
    for i in 0..4 {
        size |= (now[i] - before[i]).unsigned_abs();
    }
    let size = motion.extend((size / 2).cast_signed()).unsigned_abs();
    if mode == Mode::Stay {
        return (now, size);
    }
    // Twice the cosine, 16.16; the squared length of a unit is `2 * max * max`.
    let cosine = ((dot * sign) * plan.inverse) >> plan.inverse_shift;
    let max = i64::from(plan.max[1]);
    let steps = ((motion.ratio + (1 << 15)) >> 16).max(1);
    let (mut last, mut next) = (before, now);
    for _ in 0..steps {
        for i in 0..4 {
            // The length stays about the same, and the clamp makes it certain.
            let value = ((cosine * next[i] + (1 << 15)) >> 16) - last[i];
            last[i] = next[i];
            next[i] = value.clamp(-2 * max, 2 * max);
        }
    }
    if steps << 16 != motion.ratio {
        for i in 0..4 {
            next[i] =
                now[i] + (next[i] - now[i]) * i64::from(motion.ratio) / (i64::from(steps) << 16);
        }
    }
    if mode == Mode::Damped {
        for i in 0..4 {
            next[i] = now[i] + (next[i] - now[i]) / 2;
        }
    }
    (next, size)
}

#[inline(always)]
fn cells_of<'a>(cells: &'a [u32], plan: &GroupPlan) -> Option<&'a [u32; 4]> {
    cells.get(plan.first..)?.first_chunk()
}

#[cold]
fn misuse<S: Stream>(stream: &mut S) -> Result<(), S::Error> {
    stream.refuse_at(ErrorKind::Misuse, stream.position())
}

/// Tells the writer's statistics what each way to predict would have left.
#[inline(never)]
fn compare(
    plan: &GroupPlan,
    tuning: &mut GroupTuning,
    motion: &Motion<'_>,
    now: Turn,
    cells: &[u32],
) {
    let Some(before) = motion.before.and_then(|cells| cells_of(cells, plan)) else { return };
    let before = unpack(before, i64::from(plan.max[1]));
    let left = [Mode::Stay, Mode::Damped, Mode::Linear].map(|mode| {
        let (predicted, _) = turn_on(now, before, plan, motion, mode);
        let codes = pack(&predicted, cells[plan.first] & 3, i64::from(plan.max[1]));
        let values = [0, 1, 2].map(|i| zigzag(i64::from(cells[plan.first + 1 + i]) - codes[i]));
        values[0] | values[1] | values[2]
    });
    tuning.compare(left, 3);
}
