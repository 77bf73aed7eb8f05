//! Indices relative to the previous one: two ladders of ever wider steps.

use core::hint::cold_path;

use super::{ErrorKind, Stream, Target, misuse};

/// One step of a ladder: differences `min..=max`, after one zero bit for each step before it.
struct Step {
    min: u64,
    max: u64,
}

/// Number of steps of both ladders, before the one for every larger difference.
const STEPS: u32 = 6;

const OBJECT_INDEX: [Step; STEPS as usize] = [
    Step { min: 1, max: 1 },
    Step { min: 2, max: 5 },
    Step { min: 6, max: 13 },
    Step { min: 14, max: 29 },
    Step { min: 30, max: 61 },
    Step { min: 62, max: 125 },
];

const INT_RELATIVE: [Step; STEPS as usize] = [
    Step { min: 1, max: 1 },
    Step { min: 2, max: 6 },
    Step { min: 7, max: 23 },
    Step { min: 24, max: 280 },
    Step { min: 281, max: 4377 },
    Step { min: 4378, max: 69914 },
];

/// Position of a difference on a ladder.
enum Rung {
    Difference(u64),
    /// Above every step; each ladder codes the rest in its own way.
    Beyond,
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
    match rung(stream, difference, &OBJECT_INDEX)? {
        Rung::Difference(read) => difference = read,
        Rung::Beyond => {
            let min = BEYOND as u64;
            if end < min {
                // An array this small has no such differences: only a malicious packet gets here.
                return stream.refuse_at(ErrorKind::OutOfRange, start);
            }
            let mut offset = difference.wrapping_sub(min);
            stream.raw_offset(&mut offset, end - min)?;
            difference = offset + min;
        }
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
    let rung = match S::PACKS {
        true => rung(stream, value.wrapping_sub(before), &INT_RELATIVE)?,
        // The number itself, as above every step of the ladder.
        false => Rung::Beyond,
    };
    match rung {
        Rung::Difference(difference) => value = before + difference,
        Rung::Beyond => stream.raw_bits(&mut value, 32)?,
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

#[cfg_attr(not(debug_assertions), inline(always))]
fn rung<S: Stream>(
    stream: &mut S,
    difference: u64,
    ladder: &[Step; STEPS as usize],
) -> Result<Rung, S::Error> {
    let mut zeros = ladder.iter().map(|step| u32::from(difference > step.max)).sum();
    stream.raw_unary(&mut zeros, STEPS)?;
    match ladder.get(zeros as usize) {
        Some(step) => {
            let mut offset = difference.wrapping_sub(step.min);
            stream.raw_offset(&mut offset, step.max - step.min)?;
            Ok(Rung::Difference(offset + step.min))
        }
        None => Ok(Rung::Beyond),
    }
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
        COSTS.get(difference as usize).map_or(self.beyond, |&cost| cost.into())
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
