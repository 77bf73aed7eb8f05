//! Codings of a selection: four, and the cheapest of three.
//!
//! A subset is the selection, then its elements: the selection is complete and checked before the
//! first element is changed, and a bitmask is coded a word at a time.

use super::collection::one_of;
use super::index::{ObjectIndexCost, object_index};
use super::{ErrorKind, Selection, Stream, Target, check_not_failed, misuse};

/// Coding of a [`Selection`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SubsetCoding {
    /// One bit for each element of the array: best when about half are sent.
    BitPerObject,
    /// The number of indices, then each index in full.
    CountAndIndex,
    /// Each index in full, then the length of the array as an end marker.
    SentinelIndex,
    /// Each index relative to the previous one, as [`Stream::index`] writes it, then the length of
    /// the array as an end marker: best for neighbours.
    RelativeIndex,
    /// Two bits, then the cheapest of one bit per object, relative indices and Rice-coded gaps.
    Best,
}

/// The selection, then its elements.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn subset<S: Stream, T>(
    stream: &mut S,
    mut objects: Target<'_, S::Access, [T]>,
    mut selection: Target<'_, S::Access, Selection>,
    coding: SubsetCoding,
    mut element: impl FnMut(Target<'_, S::Access, T>, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    if selection.len != objects.len() {
        return misuse(stream, "subset: make the selection with the length of the array");
    }
    stream.named("selection").selection(selection.reborrow(), coding)?;
    for index in selection.iter() {
        let object = objects.parts(|objects| &objects[index], |objects| &mut objects[index]);
        one_of(stream, index, object, &mut element)?;
    }
    Ok(())
}

/// The indices alone.
pub(super) fn selection<S: Stream>(
    stream: &mut S,
    mut selection: Target<'_, S::Access, Selection>,
    coding: SubsetCoding,
) -> Result<(), S::Error> {
    let Some(len) = u32::try_from(selection.len).ok().filter(|&len| len < u32::MAX) else {
        return misuse(stream, "selection: an array has at most 2^32 - 2 elements");
    };
    check_not_failed(stream)?;
    if let Some(selection) = selection.when_reading() {
        selection.clear();
    }
    match coding {
        SubsetCoding::BitPerObject => bit_per_object(stream, selection),
        SubsetCoding::SentinelIndex => {
            until_sentinel(stream, selection, len, |stream, _, index| {
                let mut whole = u64::from(*index);
                stream.raw_offset(&mut whole, len.into())?;
                *index = whole as u32;
                Ok(())
            })
        }
        SubsetCoding::RelativeIndex => relative_index(stream, selection, len),
        SubsetCoding::Best if S::PACKS => best(stream, selection, len),
        SubsetCoding::CountAndIndex | SubsetCoding::Best => count_and_index(stream, selection, len),
    }
}

fn bit_per_object<S: Stream>(
    stream: &mut S,
    mut selection: Target<'_, S::Access, Selection>,
) -> Result<(), S::Error> {
    let mut bits_left = selection.len as u64;
    stream.raw_locally(|stream| {
        for index in 0..selection.words.len() {
            let width = bits_left.min(64);
            let mut word = selection.words[index];
            stream.raw_bits(&mut word, width as u32)?;
            bits_left -= width;
            if let Some(selection) = selection.when_reading() {
                // Counted word by word, so that the count is right even if the packet ends here.
                selection.add_word(index, word);
            }
        }
        Ok(())
    })
}

fn count_and_index<S: Stream>(
    stream: &mut S,
    selection: Target<'_, S::Access, Selection>,
    len: u32,
) -> Result<(), S::Error> {
    let mut count = selection.count() as u64;
    stream.raw_offset(&mut count, len.into())?;
    indices(stream, selection, count, |stream, previous, index| {
        let start = stream.position();
        let mut whole = u64::from(*index);
        stream.raw_offset(&mut whole, u64::from(len) - 1)?;
        *index = whole as u32;
        increasing(stream, previous, *index, start)
    })
}

fn relative_index<S: Stream>(
    stream: &mut S,
    selection: Target<'_, S::Access, Selection>,
    len: u32,
) -> Result<(), S::Error> {
    until_sentinel(stream, selection, len, |stream, previous, index| {
        object_index(stream, previous, Target::from(index), len)
    })
}

/// Writes the indices in ascending order, and returns the last.
#[cfg_attr(not(debug_assertions), inline(always))]
fn write_each<S: Stream>(
    stream: &mut S,
    selection: &Selection,
    one: &mut impl FnMut(&mut S, Option<u32>, &mut u32) -> Result<(), S::Error>,
) -> Result<Option<u32>, S::Error> {
    stream.raw_locally(|stream| {
        let mut previous = None;
        for index in selection.iter().map(|index| index as u32) {
            one(stream, previous, &mut { index })?;
            previous = Some(index);
        }
        Ok(previous)
    })
}

/// `count` indices in ascending order, each serialized by `one` with the previous index.
#[cfg_attr(not(debug_assertions), inline(always))]
fn indices<S: Stream>(
    stream: &mut S,
    mut selection: Target<'_, S::Access, Selection>,
    count: u64,
    mut one: impl FnMut(&mut S, Option<u32>, &mut u32) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let Some(selection) = selection.when_reading() else {
        return write_each(stream, &selection, &mut one).map(drop);
    };
    let is_listed = selection.begin_list(count);
    stream.raw_locally(|stream| {
        let mut previous = None;
        // `count` is at most the length of the array, which bounds the work.
        for _ in 0..count {
            let mut index = 0;
            one(stream, previous, &mut index)?;
            selection.append(index, is_listed);
            previous = Some(index);
        }
        Ok(())
    })
}

/// Indices in ascending order, then the length of the array as an end marker.
#[cfg_attr(not(debug_assertions), inline(always))]
fn until_sentinel<S: Stream>(
    stream: &mut S,
    mut selection: Target<'_, S::Access, Selection>,
    len: u32,
    mut one: impl FnMut(&mut S, Option<u32>, &mut u32) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let Some(selection) = selection.when_reading() else {
        let last = write_each(stream, &selection, &mut one)?;
        return one(stream, last, &mut { len });
    };
    stream.raw_locally(|stream| {
        let mut previous = None;
        loop {
            let start = stream.position();
            let mut index = 0;
            one(stream, previous, &mut index)?;
            increasing(stream, previous, index, start)?;
            if !selection.insert(index as usize) {
                return Ok(());
            }
            previous = Some(index);
        }
    })
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn increasing<S: Stream>(
    stream: &mut S,
    previous: Option<u32>,
    index: u32,
    start: u64,
) -> Result<(), S::Error> {
    if previous.is_some_and(|previous| index <= previous) {
        return stream.refuse_at(ErrorKind::NotIncreasing, start);
    }
    Ok(())
}

/// The codings that `Best` chooses from, by their two bits.
const BITMASK: u64 = 0;
const RELATIVE: u64 = 1;
const RICE_FEW: u64 = 2;
const RICE_MANY: u64 = 3;

fn best<S: Stream>(
    stream: &mut S,
    selection: Target<'_, S::Access, Selection>,
    len: u32,
) -> Result<(), S::Error> {
    let mut choice = if S::WRITING { cheapest(&selection, len) } else { BITMASK };
    stream.raw_bits(&mut choice, 2)?;
    match choice {
        BITMASK => bit_per_object(stream, selection),
        RELATIVE => relative_index(stream, selection, len),
        _ => rice(stream, selection, len, choice == RICE_FEW),
    }
}

/// The count, then each gap as a Rice code: the quotient in unary, then the remainder. The divisor
/// is a power of two that follows from the count.
fn rice<S: Stream>(
    stream: &mut S,
    selection: Target<'_, S::Access, Selection>,
    len: u32,
    is_few: bool,
) -> Result<(), S::Error> {
    let start = stream.position();
    let mut count = selection.count() as u64;
    stream.raw_bits(&mut count, if is_few { few_width(len) } else { many_width(len) })?;
    if count > u64::from(len) {
        return stream.refuse_at(ErrorKind::OutOfRange, start);
    }
    let remainder_bits = rice_bits(count, len);
    if S::READING {
        return read_gaps(stream, selection, count, len, remainder_bits);
    }
    match selection.listed() {
        Some(list) => write_gaps(stream, list.iter().copied(), len, remainder_bits),
        None => {
            let indices = selection.iter().map(|index| index as u32);
            write_gaps(stream, indices, len, remainder_bits)
        }
    }
}

/// Writes the gaps before indices in ascending order.
#[cfg_attr(not(debug_assertions), inline(always))]
fn write_gaps<S: Stream>(
    stream: &mut S,
    indices: impl Iterator<Item = u32>,
    len: u32,
    remainder_bits: u32,
) -> Result<(), S::Error> {
    stream.raw_locally(|stream| {
        let mut first = 0;
        for mut index in indices {
            let gap = index.wrapping_sub(first);
            let quotient = gap >> remainder_bits;
            if S::MERGES && quotient < SHORT_QUOTIENT {
                // The quotient, its one bit and the remainder as one field.
                let limit = (len - 1).wrapping_sub(first) >> remainder_bits;
                let one = u32::from(quotient < limit);
                let remainder = u64::from(gap & ((1 << remainder_bits) - 1));
                let mut code = (u64::from(one) | remainder << one) << quotient;
                stream.raw_fitting(&mut code, quotient + one + remainder_bits)?;
            } else {
                gap_by_parts(stream, first, &mut index, len, remainder_bits)?;
            }
            first = index + 1;
        }
        Ok(())
    })
}

/// Reads `count` gaps, which is at most the length of the array and bounds the work.
fn read_gaps<S: Stream>(
    stream: &mut S,
    mut selection: Target<'_, S::Access, Selection>,
    count: u64,
    len: u32,
    remainder_bits: u32,
) -> Result<(), S::Error> {
    let Some(selection) = selection.when_reading() else { return Ok(()) };
    let is_listed = selection.begin_list(count);
    let (mut first, mut left) = (0, count);
    loop {
        stream.raw_locally(|stream| {
            while left > 0
                && let Some(room) = (len - 1).checked_sub(first)
                && let Some(word) = stream.raw_ahead()
                && let Some((gap, width)) = gap_ahead(word, room >> remainder_bits, remainder_bits)
                && gap <= room
            {
                stream.raw_skip(width);
                selection.append(first + gap, is_listed);
                first += gap + 1;
                left -= 1;
            }
        });
        if left == 0 {
            return Ok(());
        }
        // Near the end of the packet, a long quotient, or one to be refused.
        let mut index = 0;
        gap_by_parts(stream, first, &mut index, len, remainder_bits)?;
        selection.append(index, is_listed);
        first = index + 1;
        left -= 1;
    }
}

/// The gap between `first` and the index, part by part.
fn gap_by_parts<S: Stream>(
    stream: &mut S,
    first: u32,
    index: &mut u32,
    len: u32,
    remainder_bits: u32,
) -> Result<(), S::Error> {
    let start = stream.position();
    // Checked before the subtraction: no element follows the last one.
    let Some(room) = (len - 1).checked_sub(first) else {
        return stream.refuse_at(ErrorKind::OutOfRange, start);
    };
    let gap = index.wrapping_sub(first);
    let mut quotient = gap >> remainder_bits;
    let mut remainder = u64::from(gap - (quotient << remainder_bits));
    stream.raw_unary(&mut quotient, room >> remainder_bits)?;
    stream.raw_bits(&mut remainder, remainder_bits)?;
    let read = u64::from(quotient) << remainder_bits | remainder;
    if read > room.into() {
        return stream.refuse_at(ErrorKind::OutOfRange, start);
    }
    *index = first + read as u32;
    Ok(())
}

/// Quotients below this fit into one word together with a one bit and any remainder.
const SHORT_QUOTIENT: u32 = 24;

/// Takes a gap and its width from the next bits; `None` if its quotient is long.
#[cfg_attr(not(debug_assertions), inline(always))]
fn gap_ahead(word: u64, limit: u32, remainder_bits: u32) -> Option<(u32, u32)> {
    let zeros = word.trailing_zeros();
    let quotient = zeros.min(limit);
    if quotient >= SHORT_QUOTIENT {
        return None;
    }
    let unary = quotient + u32::from(zeros < limit);
    let remainder = (word >> unary) as u32 & ((1 << remainder_bits) - 1);
    Some((quotient << remainder_bits | remainder, unary + remainder_bits))
}

/// Width of a Rice remainder: that of the mean gap, which both sides know from the count.
fn rice_bits(count: u64, len: u32) -> u32 {
    u64::from(len).checked_div(count).map_or(0, u64::ilog2)
}

/// Width of any count.
fn many_width(len: u32) -> u32 {
    u32::BITS - len.leading_zeros()
}

/// Width of a small count: half of [`many_width`].
fn few_width(len: u32) -> u32 {
    many_width(len).div_ceil(2)
}

/// Returns the choice of the cheapest of the three codings.
fn cheapest(selection: &Selection, len: u32) -> u64 {
    let count = selection.count() as u64;
    let is_few = count >> few_width(len) == 0;
    let remainder_bits = rice_bits(count, len);
    let rice = u64::from(if is_few { few_width(len) } else { many_width(len) })
        + count * u64::from(remainder_bits);
    if remainder_bits <= 1 && is_surely_bitmask(selection, rice, remainder_bits) {
        return BITMASK;
    }
    match cheapest_by_index(selection, len, rice, remainder_bits) {
        RICE_MANY if is_few => RICE_FEW,
        choice => choice,
    }
}

/// [`cheapest`] by the costs of all indices; Rice codes are always those for many. `rice` is their
/// cost without quotients.
fn cheapest_by_index(selection: &Selection, len: u32, rice: u64, remainder_bits: u32) -> u64 {
    match selection.listed() {
        Some(list) => {
            cheapest_of(list.iter().map(|&index| index.into()), len, rice, remainder_bits)
        }
        None => {
            let indices = selection.iter().map(|index| index as u64);
            cheapest_of(indices, len, rice, remainder_bits)
        }
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn cheapest_of(
    indices: impl Iterator<Item = u64>,
    len: u32,
    mut rice: u64,
    remainder_bits: u32,
) -> u64 {
    let bitmask = u64::from(len);
    let relative_cost = ObjectIndexCost::new(len);
    let mut relative = 0;
    let mut first = 0;
    for index in indices {
        relative += relative_cost.of(index - first + 1);
        let quotient = (index - first) >> remainder_bits;
        let limit = (bitmask - 1 - first) >> remainder_bits;
        rice += quotient + u64::from(quotient < limit);
        first = index + 1;
        if relative > bitmask && rice > bitmask {
            return BITMASK;
        }
    }
    relative += relative_cost.of(bitmask - first + 1);
    if bitmask <= relative && bitmask <= rice {
        BITMASK
    } else if relative <= rice {
        RELATIVE
    } else {
        RICE_MANY
    }
}

/// Whether lower bounds show that one bit per object is the cheapest coding, for a selection of more
/// than a quarter of the elements. `rice` is the cost without quotients.
///
/// Found by words instead of indices: half of a large array is selected, and every gap is as random
/// as the data.
fn is_surely_bitmask(selection: &Selection, rice: u64, remainder_bits: u32) -> bool {
    let count = selection.count() as u64;
    // Elements that follow a selected one, and those that follow two that are not; the element before
    // the first counts as selected.
    let (mut neighbours, mut apart, mut before) = (0, 0, u64::MAX);
    for &word in &selection.words {
        let after_one = word << 1 | before >> 63;
        let after_two = word << 2 | before >> 62;
        neighbours += u64::from((word & after_one).count_ones());
        apart += u64::from((word & !after_one & !after_two).count_ones());
        before = word;
    }
    let relative = neighbours + 4 * (count - neighbours);
    let rice = match remainder_bits {
        // Each element before the last index is a one bit or a zero bit.
        0 => rice + selection.last().unwrap_or_default() as u64,
        // A one bit for each, except for the last two, and a zero bit at least for those apart.
        _ => rice + count.saturating_sub(2) + apart,
    };
    let bitmask = selection.len as u64;
    bitmask <= relative && bitmask <= rice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortcut_to_a_bitmask_never_takes_a_dearer_coding() {
        let mut state = 1u64;
        let mut shortcuts = 0;
        for round in 0..4000usize {
            let len = [1, 2, 7, 64, 65, 130, 1000, 4096][round % 8];
            let mut selection = Selection::new(len);
            // From a quarter to all, at random or in blocks.
            let (density, block) = (64 + round as u64 % 193, 1 + round / 193 % 5);
            let mut is_in = false;
            for index in 0..len {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if index % block == 0 {
                    is_in = (state >> 33) % 256 < density;
                }
                if is_in {
                    selection.insert(index);
                }
            }
            let len = len as u32;
            let count = selection.count() as u64;
            let remainder_bits = rice_bits(count, len);
            let width = if count >> few_width(len) == 0 { few_width(len) } else { many_width(len) };
            let rice = u64::from(width) + count * u64::from(remainder_bits);
            if remainder_bits <= 1 && is_surely_bitmask(&selection, rice, remainder_bits) {
                shortcuts += 1;
                let exact = cheapest_by_index(&selection, len, rice, remainder_bits);
                assert_eq!(exact, BITMASK, "{selection:?} of {len}");
            }
        }
        assert!(shortcuts > 100, "{shortcuts}");
    }
}
