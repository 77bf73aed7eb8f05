//! Indices relative to the previous one: two ladders of ever wider steps.

use core::hint::{cold_path, select_unpredictable};

use super::{ErrorKind, Stream, Target, misuse};

/// One step of a ladder: differences `min..=max`, after one zero bit for each step before it and a one bit.
#[derive(Clone, Copy)]
struct LadderStep {
    min: u64,
    max: u64,
    /// Bits of the step with those in front of it. A table, since the next read waits for this number.
    bits: u32,
}

type Ladder = [LadderStep; STEPS as usize];

/// Creates the ladder whose first step is the difference 1, and each other one ends at its `max`.
const fn ladder(max: [u64; STEPS as usize]) -> Ladder {
    let mut steps = [LadderStep { min: 1, max: 1, bits: 1 }; STEPS as usize];
    let mut place = 1;
    while place < max.len() {
        let (min, max) = (max[place - 1] + 1, max[place]);
        let bits = place as u32 + 1 + u64::BITS - (max - min).leading_zeros();
        steps[place] = LadderStep { min, max, bits };
        place += 1;
    }
    steps
}

/// Number of steps of both ladders, before the one for every larger difference.
const STEPS: u32 = 6;

const OBJECT_INDEX: Ladder = ladder([1, 5, 13, 29, 61, 125]);

const INT_RELATIVE: Ladder = ladder([1, 6, 23, 280, 4377, 69914]);

/// Position of a difference on a ladder.
enum Rung {
    Difference(u64),
    /// Above every step: the number that each ladder codes then.
    Beyond(u64),
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
    let min = BEYOND as u64;
    // An array this small has no differences beyond the ladder: only a malicious packet gets there.
    let beyond = end.checked_sub(min).map(|span| (difference.wrapping_sub(min), span));
    match rung(stream, difference, &OBJECT_INDEX, beyond, start)? {
        Rung::Difference(read) => difference = read,
        Rung::Beyond(offset) => difference = offset + min,
    }
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
    let beyond = (value, u32::MAX.into());
    let rung = match S::PACKS {
        true => rung(stream, value.wrapping_sub(before), &INT_RELATIVE, Some(beyond), start)?,
        // The number itself, as above every step of the ladder.
        false => {
            stream.raw_bits(&mut value, 32)?;
            Rung::Beyond(value)
        }
    };
    match rung {
        Rung::Difference(difference) => value = before + difference,
        Rung::Beyond(whole) => value = whole,
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

/// Codes a difference by the steps of `ladder`. A larger difference is sent as the number in
/// `beyond`, which also has its largest value; `None` if there are no larger differences. The value
/// begins at the bit `start`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn rung<S: Stream>(
    stream: &mut S,
    difference: u64,
    ladder: &Ladder,
    beyond: Option<(u64, u64)>,
    start: u64,
) -> Result<Rung, S::Error> {
    let zeros = ladder.iter().map(|step| u32::from(difference > step.max)).sum();
    if S::MERGES && S::WRITING {
        let (mut code, width) = match (ladder.get(zeros as usize), beyond) {
            (Some(step), _) => {
                let offset = difference - step.min;
                ((1u64 << zeros) | offset << (zeros + 1), step.bits)
            }
            (None, Some((number, span))) if number <= span => {
                (number << STEPS, STEPS + u64::BITS - span.leading_zeros())
            }
            (None, _) => return slow_rung(stream, difference, zeros, ladder, beyond, start),
        };
        stream.raw_fitting(&mut code, width)?;
        return Ok(Rung::Difference(difference));
    }
    if S::READING
        && let Some(word) = stream.raw_ahead()
        && let Some((rung, width)) = rung_ahead(word, ladder, beyond)
    {
        stream.raw_skip(width);
        return Ok(rung);
    }
    slow_rung(stream, difference, zeros, ladder, beyond, start)
}

/// Takes a rung and its width from the next bits; `None` if it is to be refused.
#[cfg_attr(not(debug_assertions), inline(always))]
fn rung_ahead(word: u64, ladder: &Ladder, beyond: Option<(u64, u64)>) -> Option<(Rung, u32)> {
    let zeros = (word | 1 << STEPS).trailing_zeros();
    if let Some(step) = ladder.get(zeros as usize) {
        let offset = (word & ((1 << step.bits) - 1)) >> (zeros + 1);
        let is_in_range = offset <= step.max - step.min;
        return is_in_range.then_some((Rung::Difference(step.min + offset), step.bits));
    }
    let span = beyond?.1;
    let width = u64::BITS - span.leading_zeros();
    let number = word >> STEPS & ((1 << width) - 1);
    (number <= span).then_some((Rung::Beyond(number), STEPS + width))
}

/// [`rung`] part by part.
#[cfg_attr(not(debug_assertions), inline)]
fn slow_rung<S: Stream>(
    stream: &mut S,
    difference: u64,
    mut zeros: u32,
    ladder: &Ladder,
    beyond: Option<(u64, u64)>,
    start: u64,
) -> Result<Rung, S::Error> {
    stream.raw_unary(&mut zeros, STEPS)?;
    if let Some(step) = ladder.get(zeros as usize) {
        let mut offset = difference.wrapping_sub(step.min);
        stream.raw_offset(&mut offset, step.max - step.min)?;
        return Ok(Rung::Difference(offset + step.min));
    }
    let Some((mut number, span)) = beyond else {
        stream.refuse_at(ErrorKind::OutOfRange, start)?;
        return Ok(Rung::Difference(difference));
    };
    stream.raw_offset(&mut number, span)?;
    Ok(Rung::Beyond(number))
}

/// Sizes in bits of differences as [`object_index`] writes them, for an array of some length.
pub(super) struct ObjectIndexCost {
    beyond: u64,
}

impl ObjectIndexCost {
    /// Computes the sizes for an array of `count` objects.
    pub(super) fn new(count: u32) -> Self {
        let offsets = (u64::from(count) + 1).saturating_sub(BEYOND as u64);
        Self { beyond: u64::from(STEPS + u64::BITS - offsets.leading_zeros()) }
    }

    /// Size in bits of one difference.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of(&self, difference: u64) -> u64 {
        /// Step `n` starts at `2^(n + 1) - 2`, and has as many unary bits as offset bits; the first
        /// step has no offset bits.
        const COSTS: [u8; BEYOND] = {
            let mut costs = [1; BEYOND];
            let mut difference = 2;
            while difference < BEYOND {
                costs[difference] = 2 * (difference + 2).ilog2() as u8;
                difference += 1;
            }
            costs
        };
        // The differences of few indices are as often on the ladder as beyond it.
        let near = COSTS[(difference as usize).min(BEYOND - 1)];
        select_unpredictable(difference < BEYOND as u64, near.into(), self.beyond)
    }
}

/// First difference above every step of the object-index ladder.
const BEYOND: usize = OBJECT_INDEX[STEPS as usize - 1].max as usize + 1;

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
