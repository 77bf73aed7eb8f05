//! Selections of elements of an array: four codings, and the cheapest of three.
//!
//! A subset is the selection, then its elements: the selection is complete and checked before the
//! first element is changed, and a bitmask is coded a word at a time.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::collection::one_of;
use super::index::{ObjectIndexCost, object_index};
use super::{ErrorKind, Stream, Target, misuse, still_good};

/// A set of indices into an array: the elements that are sent.
///
/// Memory is allocated once, in [`new`](Self::new); reading into a selection allocates none.
///
/// ```
/// use tightwire::stream::Selection;
///
/// let mut dirty = Selection::new(4096);
/// assert!(dirty.insert(7));
/// assert!(dirty.insert(300));
/// assert!(!dirty.insert(4096), "beyond the array");
/// assert_eq!(dirty.iter().collect::<Vec<_>>(), [7, 300]);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Selection {
    /// Bit `i % 64` of word `i / 64` is set if the selection contains `i`; bits from `len` on are
    /// zero.
    words: Vec<u64>,
    len: usize,
    count: usize,
}

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

impl Selection {
    /// Creates an empty selection of an array of `len` elements.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], len, count: 0 }
    }

    /// Length of the array.
    #[must_use]
    pub fn array_len(&self) -> usize {
        self.len
    }

    /// Number of indices in the selection.
    #[must_use]
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the selection contains `index`.
    #[must_use]
    #[inline]
    pub fn contains(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 != 0)
    }

    /// Adds `index`; returns `false` if the array has no such element.
    #[inline]
    pub fn insert(&mut self, index: usize) -> bool {
        let exists = index < self.len;
        if exists {
            let word = &mut self.words[index / 64];
            self.count += (!*word >> (index % 64) & 1) as usize;
            *word |= 1 << (index % 64);
        }
        exists
    }

    /// Removes `index`; returns `false` if the selection did not contain it.
    #[inline]
    pub fn remove(&mut self, index: usize) -> bool {
        let was_in = self.contains(index);
        if was_in {
            self.words[index / 64] &= !(1 << (index % 64));
            self.count -= 1;
        }
        was_in
    }

    /// Removes every index.
    pub fn clear(&mut self) {
        self.words.fill(0);
        self.count = 0;
    }

    /// Iterates over the indices in ascending order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        Indices { words: &self.words, word: 0, next_word: 0 }
    }
}

/// Iterator over the set bits.
struct Indices<'a> {
    words: &'a [u64],
    /// Bits left of the word before `next_word`.
    word: u64,
    next_word: usize,
}

impl Iterator for Indices<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.word = *self.words.get(self.next_word)?;
            self.next_word += 1;
        }
        let index = self.next_word * 64 - 64 + self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(index)
    }
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
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
    still_good(stream)?;
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
    for index in 0..selection.words.len() {
        let width = bits_left.min(64);
        let mut word = selection.words[index];
        stream.raw_bits(&mut word, width as u32)?;
        bits_left -= width;
        if let Some(selection) = selection.when_reading() {
            selection.words[index] = word;
            // Counted word by word, so that the count is right even if the packet ends here.
            selection.count += word.count_ones() as usize;
        }
    }
    Ok(())
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
    let mut previous = None;
    for index in selection.iter().map(|index| index as u32) {
        one(stream, previous, &mut { index })?;
        previous = Some(index);
    }
    Ok(previous)
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
    let mut previous = None;
    // `count` is at most the length of the array, which bounds the work.
    for _ in 0..count {
        let mut index = 0;
        one(stream, previous, &mut index)?;
        selection.insert(index as usize);
        previous = Some(index);
    }
    Ok(())
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
    indices(stream, selection, count, |stream, previous, index| {
        let start = stream.position();
        let first = previous.map_or(0, |previous| previous + 1);
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
    })
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
    let bitmask = u64::from(len);
    let count = selection.count() as u64;
    let is_few = count >> few_width(len) == 0;
    let remainder_bits = rice_bits(count, len);
    let mut rice = u64::from(if is_few { few_width(len) } else { many_width(len) })
        + count * u64::from(remainder_bits);
    let relative_cost = ObjectIndexCost::new(len);
    let mut relative = 0;
    let mut first = 0;
    for index in selection.iter().map(|index| index as u64) {
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
    } else if is_few {
        RICE_FEW
    } else {
        RICE_MANY
    }
}
