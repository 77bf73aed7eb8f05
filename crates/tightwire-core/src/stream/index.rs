//! Indices relative to the previous one: two ladders of ever wider steps.

use core::hint::{cold_path, select_unpredictable};

use super::{ErrorKind, Stream, Target, misuse};

/// One step of a ladder: differences `min..=max`, after one zero bit for each step before it and a one bit.
#[derive(Clone, Copy)]
struct LadderStep {
    min: u64,
    max: u64,
}

struct Ladder {
    /// The steps, padded to a power of two, so that an index needs no check.
    steps: [LadderStep; 8],
    /// Bits of each step with those in front of it, a byte for each. The next read waits for this number, and a shift
    /// takes less time than a load.
    widths: u64,
}

impl Ladder {
    /// Creates the ladder whose first step is the difference 1, and each other one ends at its `max`.
    const fn new(max: [u64; STEPS as usize]) -> Self {
        let mut steps = [LadderStep { min: 1, max: 1 }; 8];
        let mut widths = 1;
        let mut place = 1;
        while place < max.len() {
            let (min, max) = (max[place - 1] + 1, max[place]);
            let width = place as u64 + 1 + (u64::BITS - (max - min).leading_zeros()) as u64;
            steps[place] = LadderStep { min, max };
            widths |= width << (8 * place);
            place += 1;
        }
        Self { steps, widths }
    }

    /// Returns the step with a number of leading zeros, and an unspecified one for differences beyond the ladder.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn step(&self, zeros: u32) -> LadderStep {
        self.steps[zeros as usize % self.steps.len()]
    }

    /// Returns the number of steps that end before a difference.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn zeros(&self, difference: u64) -> u32 {
        let steps = self.steps.iter().take(STEPS as usize);
        steps.map(|step| u32::from(difference > step.max)).sum()
    }

    /// Widths of all steps, and of the code behind them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn widths(&self, beyond: Option<Beyond>) -> u64 {
        let beyond = beyond.map_or(0, |beyond| STEPS + u64::BITS - beyond.span.leading_zeros());
        self.widths | u64::from(beyond) << (8 * STEPS)
    }
}

/// Number of steps of both ladders, before the one for every larger difference.
const STEPS: u32 = 6;

const OBJECT_INDEX: Ladder = Ladder::new([1, 5, 13, 29, 61, 125]);

const INT_RELATIVE: Ladder = Ladder::new([1, 6, 23, 280, 4377, 69914]);

/// Code of a difference above every step of a ladder: a number of up to `span`.
#[derive(Clone, Copy)]
struct Beyond {
    number: u64,
    span: u64,
    /// Difference that the number 0 means.
    base: u64,
}

/// The object-index ladder: the difference to the previous index; the first index is relative to
/// -1.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn object_index<S: Stream>(
    stream: &mut S,
    previous: Option<u32>,
    mut index: Target<'_, S::Access, u32>,
    count: u32,
) -> Result<(), S::Error> {
    let start = stream.position();
    // Indices are shifted by one, so that -1 becomes 0 and nothing is negative.
    let previous = previous.map_or(0, |previous| u64::from(previous) + 1);
    let end = u64::from(count) + 1;
    let mut difference = (u64::from(*index) + 1).wrapping_sub(previous);
    if S::WRITING {
        if u64::from(*index) < previous {
            cold_path();
            return stream.refuse_at(ErrorKind::NotIncreasing, start);
        }
        if *index > count {
            cold_path();
            return stream.refuse_at(ErrorKind::OutOfRange, start);
        }
    }
    if !S::PACKS {
        let mut whole = u64::from(*index);
        stream.raw_offset(&mut whole, count.into())?;
        if whole < previous {
            return stream.refuse_at(ErrorKind::NotIncreasing, start);
        }
        index.put(whole as u32);
        return Ok(());
    }
    let base = FIRST_BEYOND as u64;
    // An array this small has no differences beyond the ladder: only a malicious packet gets there.
    let beyond = end.checked_sub(base);
    let beyond = beyond.map(|span| Beyond { number: difference.wrapping_sub(base), span, base });
    difference = rung(stream, difference, &OBJECT_INDEX, beyond, start)?;
    if S::READING {
        let read = previous + difference;
        if read > end {
            return stream.refuse_at(ErrorKind::OutOfRange, start);
        }
        index.put((read - 1) as u32);
    }
    Ok(())
}

/// The ladder of the public `serialize` format: differences of up to 69914, else the number itself.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn int_relative<S: Stream>(
    stream: &mut S,
    previous: u32,
    mut current: Target<'_, S::Access, u32>,
) -> Result<(), S::Error> {
    const MAX: u64 = i32::MAX as u64;
    let start = stream.position();
    let before = u64::from(previous);
    if before > MAX {
        return match S::READING {
            // The previous number may have come from the packet.
            true => stream.refuse_at(ErrorKind::OutOfRange, start),
            false => misuse(stream, "int_relative: previous must be at most i32::MAX"),
        };
    }
    let mut value = u64::from(*current);
    if S::WRITING {
        if value <= before {
            cold_path();
            return stream.refuse_at(ErrorKind::NotIncreasing, start);
        }
        if value > MAX {
            cold_path();
            return stream.refuse_at(ErrorKind::OutOfRange, start);
        }
    }
    if S::PACKS {
        let base = before.wrapping_neg();
        let beyond = Beyond { number: value, span: u32::MAX.into(), base };
        let difference = value.wrapping_sub(before);
        let difference = rung(stream, difference, &INT_RELATIVE, Some(beyond), start)?;
        value = before.wrapping_add(difference);
    } else {
        // The number itself, as above every step of the ladder.
        stream.raw_bits(&mut value, 32)?;
    }
    if S::READING {
        if value <= before {
            return stream.refuse_at(ErrorKind::NotIncreasing, start);
        }
        if value > MAX {
            return stream.refuse_at(ErrorKind::OutOfRange, start);
        }
        current.put(value as u32);
    }
    Ok(())
}

/// Codes a difference by the steps of `ladder`, or as `beyond` says; `None` if there are no larger differences.
/// The value begins at the bit `start`.
///
/// Where differences are on the ladder as often as beyond it, a branch would be mispredicted.
#[cfg_attr(not(debug_assertions), inline(always))]
fn rung<S: Stream>(
    stream: &mut S,
    difference: u64,
    ladder: &Ladder,
    beyond: Option<Beyond>,
    start: u64,
) -> Result<u64, S::Error> {
    let zeros = ladder.zeros(difference);
    if S::MERGES && S::WRITING {
        let is_beyond = zeros == STEPS;
        let number = beyond.map_or(0, |beyond| beyond.number);
        // Callers have refused what is out of range.
        debug_assert!(!is_beyond || beyond.is_some_and(|beyond| number <= beyond.span));
        let step = ladder.step(zeros);
        let offset = difference.wrapping_sub(step.min);
        let offset = select_unpredictable(is_beyond, number, offset);
        let one = u32::from(!is_beyond);
        let mut code = u64::from(one) << zeros | offset << (zeros + one);
        let width = ladder.widths(beyond) >> (8 * zeros) & 0xff;
        stream.raw_fitting(&mut code, width as u32)?;
        return Ok(difference);
    }
    if S::READING
        && let Some(word) = stream.raw_ahead()
        && let Some((difference, width)) = rung_ahead(word, ladder, beyond)
    {
        stream.raw_skip(width);
        return Ok(difference);
    }
    slow_rung(stream, difference, zeros, ladder, beyond, start)
}

/// Takes a difference and its width from the next bits; `None` if it is to be refused.
#[cfg_attr(not(debug_assertions), inline(always))]
fn rung_ahead(word: u64, ladder: &Ladder, beyond: Option<Beyond>) -> Option<(u64, u32)> {
    let zeros = (word | 1 << STEPS).trailing_zeros();
    let width = ladder.widths(beyond) >> (8 * zeros) & 0xff;
    let is_beyond = zeros == STEPS;
    let step = ladder.step(zeros);
    let (base, span) = beyond.map_or((0, 0), |beyond| (beyond.base, beyond.span));
    let min = select_unpredictable(is_beyond, base, step.min);
    let most = select_unpredictable(is_beyond, span, step.max - step.min);
    let offset = (word & ((1 << width) - 1)) >> (zeros + u32::from(!is_beyond));
    // There is no width where nothing may be beyond the ladder.
    (offset <= most && width > 0).then_some((min.wrapping_add(offset), width as u32))
}

/// [`rung`] part by part.
#[cfg_attr(not(debug_assertions), inline)]
fn slow_rung<S: Stream>(
    stream: &mut S,
    difference: u64,
    mut zeros: u32,
    ladder: &Ladder,
    beyond: Option<Beyond>,
    start: u64,
) -> Result<u64, S::Error> {
    stream.raw_unary(&mut zeros, STEPS)?;
    if zeros < STEPS {
        let step = ladder.step(zeros);
        let mut offset = difference.wrapping_sub(step.min);
        stream.raw_offset(&mut offset, step.max - step.min)?;
        return Ok(offset.wrapping_add(step.min));
    }
    let Some(Beyond { mut number, span, base }) = beyond else {
        stream.refuse_at(ErrorKind::OutOfRange, start)?;
        return Ok(difference);
    };
    stream.raw_offset(&mut number, span)?;
    Ok(base.wrapping_add(number))
}

/// Sizes in bits of differences as [`object_index`] writes them, for an array of some length.
pub(super) struct ObjectIndexCost {
    beyond: u64,
}

impl ObjectIndexCost {
    /// Computes the sizes for an array of `count` objects.
    pub(super) fn new(count: u32) -> Self {
        let offsets = (u64::from(count) + 1).saturating_sub(FIRST_BEYOND as u64);
        Self { beyond: u64::from(STEPS + u64::BITS - offsets.leading_zeros()) }
    }

    /// Size in bits of one difference.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of(&self, difference: u64) -> u64 {
        /// Step `n` starts at `2^(n + 1) - 2`, and has as many unary bits as offset bits; the first
        /// step has no offset bits.
        const COSTS: [u8; FIRST_BEYOND] = {
            let mut costs = [1; FIRST_BEYOND];
            let mut difference = 2;
            while difference < FIRST_BEYOND {
                costs[difference] = 2 * (difference + 2).ilog2() as u8;
                difference += 1;
            }
            costs
        };
        // The differences of few indices are as often on the ladder as beyond it.
        let near = COSTS[(difference as usize).min(FIRST_BEYOND - 1)];
        select_unpredictable(difference < FIRST_BEYOND as u64, near.into(), self.beyond)
    }
}

/// First difference above every step of the object-index ladder.
const FIRST_BEYOND: usize = OBJECT_INDEX.steps[STEPS as usize - 1].max as usize + 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::MeasureStream;

    #[test]
    fn the_cost_of_an_index_is_what_it_measures() {
        for count in [125, 126, 1000, 4096] {
            for index in 0..=count {
                let bits = MeasureStream::bits_of(|stream| {
                    object_index(stream, None, Target::from(&index), count)
                });
                assert_eq!(ObjectIndexCost::new(count).of(u64::from(index) + 1), bits);
            }
        }
    }
}
