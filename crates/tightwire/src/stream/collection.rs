//! Enums by ordinal, options and arrays.

use alloc::vec::Vec;

use super::raw::group;
use super::{ErrorKind, Pod, Scope, Stream, misuse, still_good};

/// What an array is read into: a `Vec`, or behind its feature an `ArrayVec`.
pub trait List {
    /// What it holds.
    type Item;

    /// The elements that are there.
    fn as_mut_slice(&mut self) -> &mut [Self::Item];

    /// Drops what is beyond `len` elements.
    fn truncate(&mut self, len: usize);

    /// Adds an element; `false` if there is no room.
    fn push_default(&mut self) -> bool;
}

impl<T: Default> List for Vec<T> {
    type Item = T;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn push_default(&mut self) -> bool {
        self.push(T::default());
        true
    }
}

/// The place of `value` in `variants`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn enumerate<S: Stream, E: Copy + PartialEq>(
    stream: &mut S,
    value: &mut E,
    variants: &[E],
) -> Result<(), S::Error> {
    let Some(last) = variants.len().checked_sub(1) else {
        return misuse(stream, "enumerate: the list of variants is empty");
    };
    let mut ordinal = 0;
    if S::WRITING {
        match variants.iter().position(|variant| variant == value) {
            Some(position) => ordinal = position as u64,
            None => {
                let start = stream.position();
                stream.refuse_at(ErrorKind::OutOfRange, start)?;
            }
        }
    }
    stream.raw_offset(&mut ordinal, last as u64)?;
    if S::READING {
        *value = variants[ordinal as usize];
    }
    Ok(())
}

/// The ordinal of one of `count` variants.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn variant<S: Stream>(
    stream: &mut S,
    ordinal: &mut usize,
    count: usize,
) -> Result<(), S::Error> {
    let Some(last) = count.checked_sub(1) else {
        return misuse(stream, "variant: an enum without variants has no values");
    };
    let mut offset = *ordinal as u64;
    stream.raw_offset(&mut offset, last as u64)?;
    *ordinal = offset as usize;
    Ok(())
}

/// A bit, and the value if it is set. A value that is there already is read into.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn option<S: Stream, T: Default>(
    stream: &mut S,
    value: &mut Option<T>,
    inner: impl FnOnce(&mut T, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let mut is_some = value.is_some();
    stream.named("is_some").bool(&mut is_some)?;
    if is_some {
        inner(value.get_or_insert_default(), stream)
    } else {
        *value = None;
        Ok(())
    }
}

/// The length, then the elements. Those that are there already are read into.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn array<S: Stream, L: List>(
    stream: &mut S,
    items: &mut L,
    max_len: usize,
    mut element: impl FnMut(&mut L::Item, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let mut length = items.as_mut_slice().len();
    stream.named("len").int(&mut length, 0..=max_len)?;
    let start = stream.position();
    if !S::READING {
        fixed_array(stream, items.as_mut_slice(), element)?;
        let free = (length as u64).saturating_sub(stream.position() - start);
        return match free {
            0..=FREE_ELEMENTS => Ok(()),
            _ => stream.refuse_at(ErrorKind::OutOfRange, start),
        };
    }
    // Elements that take no bits are paid by nothing: a few bytes could ask for all of memory.
    if length as u64 > stream.remaining().saturating_add(FREE_ELEMENTS) {
        return stream.refuse_at(ErrorKind::UnexpectedEnd, start);
    }
    grown_array(stream, items, length, &mut element)
}

/// Elements that are read into memory that grows to what is there.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn grown_array<S: Stream, L: List>(
    stream: &mut S,
    items: &mut L,
    length: usize,
    element: &mut impl FnMut(&mut L::Item, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let start = stream.position();
    items.truncate(length);
    for index in 0..length {
        if index == items.as_mut_slice().len() && !items.push_default() {
            return stream.refuse_at(ErrorKind::OutOfRange, start);
        }
        // One by one: the packet pays for an element before memory for many is taken.
        one_of(stream, index, &mut items.as_mut_slice()[index], element)?;
    }
    Ok(())
}

/// As an array of `pod`, in one copy.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn pods<S: Stream, T: Pod>(
    stream: &mut S,
    items: &mut Vec<T>,
    max_len: usize,
) -> Result<(), S::Error> {
    let mut length = items.len();
    stream.named("len").int(&mut length, 0..=max_len)?;
    let start = stream.position();
    if size_of::<T>() == 0 && length as u64 > FREE_ELEMENTS {
        return stream.refuse_at(ErrorKind::OutOfRange, start);
    }
    if S::READING {
        // What the packet does not hold is refused before room for it is made.
        let bits = (length as u64).saturating_mul(size_of::<T>() as u64 * 8);
        if bits > stream.remaining() {
            return stream.refuse_at(ErrorKind::UnexpectedEnd, start);
        }
        items.resize_with(length, T::new_zeroed);
    }
    if length == 0 { still_good(stream) } else { stream.named("items").pod(&mut items[..]) }
}

/// How many more elements than bits an array may have.
const FREE_ELEMENTS: u64 = 1024;

/// The elements alone, since both sides know how many there are.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn fixed_array<S: Stream, T>(
    stream: &mut S,
    items: &mut [T],
    mut element: impl FnMut(&mut T, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    for (index, item) in items.iter_mut().enumerate() {
        one_of(stream, index, item, &mut element)?;
    }
    if items.is_empty() { still_good(stream) } else { Ok(()) }
}

/// An element with its place in the path.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn one_of<S: Stream, T>(
    stream: &mut S,
    index: usize,
    item: &mut T,
    element: &mut impl FnMut(&mut T, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    group!(S, stream, Scope::Index(index), element(item, stream))
}
