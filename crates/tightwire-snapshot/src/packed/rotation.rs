//! Rotations: the smallest three, extrapolated in the frame of the largest.
//!
//! While the largest component stays the same one, the other three move like a vector, on a sphere:
//! the last motion once more, and towards the centre by the curvature over that distance. Where the
//! largest changes, the state in the other frame is unpacked to four components, and packed again.

use super::motion::Motion;
use super::plan::GroupPlan;
use super::residual::{components, rank, unzigzag, width_at, width_of, write, zigzag};
use super::root::root;
use super::tuning::GroupTuning;
use tightwire_core::stream::{ErrorKind, Stream};

/// The rank of widths that says that another component is the largest.
const OTHER: u32 = 3;

#[cfg_attr(not(debug_assertions), inline(always))]
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
    let (Some(now), Some(before)) = (plan.row(motion.newest), plan.row(motion.before)) else {
        return misuse(stream);
    };
    let Some(cells) = plan.row_mut::<4>(cells) else { return misuse(stream) };
    let before = if sparse { now } else { before };
    let (mut predicted, size) = turn_on(now, before, plan, motion);
    let (expected, usual) = tuning.expect(size, sparse, plan.top);
    let (mut index, mut place, mut width, mut values) = (now[0], 0, 0, [0; 3]);
    if S::WRITING {
        index = cells[0];
        if index != now[0] {
            predicted = in_frame(now[0], predicted, index, max);
        }
        for i in 0..3 {
            values[i] = zigzag(i64::from(cells[1 + i]) - predicted[i]);
        }
        width = width_of(&values).min(plan.top);
        tuning.note(width, usual, sparse);
        place = rank(width, expected, plan.top);
        if index == now[0] {
            place += u32::from(place >= OTHER);
            return write(stream, place, plan.top + 1, &mut values, width);
        }
    }
    let mut coded = OTHER;
    stream.raw_unary(&mut coded, plan.top + 1)?;
    if coded == OTHER {
        let mut other = u64::from(index);
        stream.raw_bits(&mut other, 2)?;
        if S::WRITING {
            return write(stream, place, plan.top, &mut values, width);
        }
        if other == u64::from(now[0]) {
            return stream.refuse_at(ErrorKind::OutOfRange, start);
        }
        index = other as u32;
        predicted = in_frame(now[0], predicted, index, max);
        stream.raw_unary(&mut coded, plan.top)?;
    } else {
        coded -= u32::from(coded > OTHER);
    }
    if S::READING {
        width = width_at(coded, expected, plan.top);
    }
    components(stream, &mut values, width)?;
    if S::READING {
        cells[0] = index;
        for i in 0..3 {
            let code = predicted[i] + unzigzag(values[i]);
            if code < 0 || code > max {
                return stream.refuse_at(ErrorKind::OutOfRange, start);
            }
            cells[1 + i] = code as u32;
        }
    }
    Ok(())
}

/// Extrapolates the motion from `before` to `now` in the frame of `now`; returns the codes, and the
/// length of the motion.
#[cfg_attr(not(debug_assertions), inline(always))]
fn turn_on(
    now: &[u32; 4],
    before: &[u32; 4],
    plan: &GroupPlan,
    motion: &Motion<'_>,
) -> ([i64; 3], u64) {
    let max = i64::from(plan.max[1]);
    let codes = codes_of(now);
    let mut last = codes_of(before);
    if before[0] != now[0] {
        last = in_frame(before[0], last, now[0], max);
    }
    let (mut ways, mut size, mut square) = ([0; 3], 0, 0);
    for i in 0..3 {
        let way = motion.extend(codes[i] - last[i]).clamp(-max, max);
        size |= way.unsigned_abs();
        square += way * way;
        ways[i] = way;
    }
    // A unit is `max / sqrt(2)` codes, and a step of length d bends by d * d of the radius.
    let bend = (square * plan.inverse) >> plan.inverse_shift;
    let mut predicted = [0; 3];
    for i in 0..3 {
        let inwards = ((2 * codes[i] - max) * bend + (1 << 15)) >> 16;
        predicted[i] = (codes[i] + ways[i] - inwards).clamp(0, max);
    }
    (predicted, size)
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn codes_of(cells: &[u32; 4]) -> [i64; 3] {
    let [_, a, b, c] = *cells;
    // Not mapped, which is a call.
    [i64::from(a), i64::from(b), i64::from(c)]
}

/// Converts the codes of a rotation whose largest component is at `from` to the frame of `to`.
#[cold]
#[inline(never)]
fn in_frame(from: u32, codes: [i64; 3], to: u32, max: i64) -> [i64; 3] {
    // All four components, `2 * code - max`; the largest follows from the length of a unit, which
    // is
    // `max * sqrt(2)`.
    let mut four = [0; 4];
    let mut rest = 2 * max * max;
    let others = |index: u32| (0..4).filter(move |&place| place != index as usize);
    for (place, code) in others(from).zip(codes) {
        four[place] = 2 * code - max;
        rest -= four[place] * four[place];
    }
    four[from as usize & 3] = root(rest.max(0).cast_unsigned()).cast_signed();
    // Both signs are the same rotation, and the largest component is positive.
    let sign = if four[to as usize & 3] < 0 { -1 } else { 1 };
    let mut codes = [0; 3];
    for (code, place) in codes.iter_mut().zip(others(to)) {
        *code = ((four[place] * sign + max + 1) >> 1).clamp(0, max);
    }
    codes
}

#[cold]
fn misuse<S: Stream>(stream: &mut S) -> Result<(), S::Error> {
    stream.refuse_at(ErrorKind::Misuse, stream.position())
}
