//! Enums by ordinal, options and arrays.
//!
//! Closures take the value first and the stream second, so that `Wire::serialize` can be passed as one.

use alloc::vec::Vec;

use super::derived::set_some;
use super::raw::group;
use super::{ErrorKind, Pod, Stream, Target, TraceScope, Wire, check_not_failed, misuse};

/// A sequence of elements: an array, a slice, a `Vec`, or behind its feature an `ArrayVec`.
pub trait Elements {
    /// The type of an element.
    type Item;

    /// The elements as a slice.
    fn as_slice(&self) -> &[Self::Item];

    /// The elements as a mutable slice, for reading into.
    fn as_mut_slice(&mut self) -> &mut [Self::Item];
}

/// A sequence whose length can change: a `Vec`, or behind its feature an `ArrayVec`.
pub trait List: Elements {
    /// Drops the elements beyond the first `len`.
    fn truncate(&mut self, len: usize);

    /// Appends a default element; returns `false` if there is no room.
    fn push_default(&mut self) -> bool;
}

macro_rules! elements {
    ($($(#[$feature:meta])? ($($parameters:tt)*) $list:ty),*) => {$(
        $(#[$feature])?
        impl<$($parameters)*> Elements for $list {
            type Item = T;

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn as_slice(&self) -> &[T] {
                self
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn as_mut_slice(&mut self) -> &mut [T] {
                self
            }
        }
    )*};
}

elements!((T) [T], (T, const N: usize) [T; N], (T) Vec<T>);
elements!(#[cfg(feature = "arrayvec")] (T, const N: usize) arrayvec::ArrayVec<T, N>);

impl<T: Default> List for Vec<T> {
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

/// The index of `value` in `variants`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn enumerate<S: Stream, E: Copy + PartialEq>(
    stream: &mut S,
    mut value: Target<'_, S::Access, E>,
    variants: &[E],
) -> Result<(), S::Error> {
    let Some(last) = variants.len().checked_sub(1) else {
        return misuse(stream, "enumerate: the list of variants is empty");
    };
    let mut ordinal = 0;
    if S::WRITING {
        match variants.iter().position(|variant| *variant == *value) {
            Some(position) => ordinal = position as u64,
            None => {
                let start = stream.position();
                stream.refuse_at(ErrorKind::OutOfRange, start)?;
            }
        }
    }
    stream.raw_offset(&mut ordinal, last as u64)?;
    if S::READING {
        value.put(variants[ordinal as usize]);
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
    stream.raw_ordinal(&mut offset, last as u64)?;
    *ordinal = offset as usize;
    Ok(())
}

/// A bit, and the value if the bit is set. Reading into a value that is already there keeps its
/// memory.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn option<S: Stream, T: Default>(
    stream: &mut S,
    mut value: Target<'_, S::Access, Option<T>>,
    inner: impl FnOnce(Target<'_, S::Access, T>, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let mut is_some = value.is_some();
    stream.named("is_some").bool(&mut is_some)?;
    set_some(&mut value, is_some);
    match value.parts(Option::as_ref, Option::as_mut) {
        Some(value) => inner(value, stream),
        None => Ok(()),
    }
}

/// The length, then the elements. Reading into elements that are already there keeps their memory.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn array<S: Stream, L: List>(
    stream: &mut S,
    mut items: Target<'_, S::Access, L>,
    max_len: usize,
    mut element: impl FnMut(Target<'_, S::Access, L::Item>, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let mut length = items.as_slice().len();
    let start = begin_list(stream, &mut length, max_len)?;
    let Some(items) = items.when_reading() else {
        fixed_array(stream, items.parts(L::as_slice, L::as_mut_slice), element)?;
        return end_list(stream, length, start);
    };
    grown_array(stream, items, length, &mut element)
}

/// Like [`array`], for elements that declare their wire form: two are written as one word where it has room
/// for both.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn list<S: Stream, L: List<Item: Wire>>(
    stream: &mut S,
    mut items: Target<'_, S::Access, L>,
    max_len: usize,
) -> Result<(), S::Error> {
    let is_paired = const { matches!(L::Item::FIXED_BITS, Some(bits) if 2 * bits <= u64::BITS) };
    if S::READING || !S::MERGES || !is_paired {
        return stream.array(items, max_len, Wire::serialize);
    }
    let mut length = items.as_slice().len();
    let start = begin_list(stream, &mut length, max_len)?;
    let (mut pairs, mut rest) = items.parts(
        |items| items.as_slice().as_chunks::<2>(),
        |items| items.as_mut_slice().as_chunks_mut::<2>(),
    );
    for pair in pairs.elements() {
        Wire::serialize(pair, stream)?;
    }
    for last in rest.elements() {
        Wire::serialize(last, stream)?;
    }
    end_list(stream, length, start)
}

/// Serializes the length of a list, and returns the position behind it. A length too large for the
/// bits left is refused: elements that take no bits would let a few bytes ask for all of memory.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn begin_list<S: Stream>(
    stream: &mut S,
    length: &mut usize,
    max_len: usize,
) -> Result<u64, S::Error> {
    stream.named("len").int(&mut *length, 0..=max_len)?;
    let start = stream.position();
    if S::READING && *length as u64 > stream.remaining().saturating_add(FREE_ELEMENTS) {
        stream.refuse_at(ErrorKind::UnexpectedEnd, start)?;
    }
    Ok(start)
}

/// Refuses to write a list that [`begin_list`] would refuse to read.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn end_list<S: Stream>(
    stream: &mut S,
    length: usize,
    start: u64,
) -> Result<(), S::Error> {
    let free = (length as u64).saturating_sub(stream.position() - start);
    match S::READING || free <= FREE_ELEMENTS {
        true => Ok(()),
        false => stream.refuse_at(ErrorKind::OutOfRange, start),
    }
}

/// Reads elements into a list that grows element by element.
#[cfg_attr(not(debug_assertions), inline(always))]
fn grown_array<S: Stream, L: List>(
    stream: &mut S,
    items: &mut L,
    length: usize,
    element: &mut impl FnMut(Target<'_, S::Access, L::Item>, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let start = stream.position();
    items.truncate(length);
    for index in 0..length {
        if index == items.as_mut_slice().len() && !items.push_default() {
            return stream.refuse_at(ErrorKind::OutOfRange, start);
        }
        // Grown one by one: memory for an element is only taken after the packet held those before.
        one_of(stream, index, Target::from(&mut items.as_mut_slice()[index]), element)?;
    }
    Ok(())
}

/// The same bytes as an array of `pod`, in one copy.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn pods<S: Stream, T: Pod>(
    stream: &mut S,
    mut items: Target<'_, S::Access, Vec<T>>,
    max_len: usize,
) -> Result<(), S::Error> {
    let mut length = items.len();
    stream.named("len").int(&mut length, 0..=max_len)?;
    let start = stream.position();
    if size_of::<T>() == 0 && length as u64 > FREE_ELEMENTS {
        return stream.refuse_at(ErrorKind::OutOfRange, start);
    }
    if let Some(items) = items.when_reading() {
        // Lengths beyond the end of the packet are refused before memory is allocated.
        let bits = (length as u64).saturating_mul(size_of::<T>() as u64 * 8);
        if bits > stream.remaining() {
            return stream.refuse_at(ErrorKind::UnexpectedEnd, start);
        }
        items.resize_with(length, T::new_zeroed);
    }
    if length == 0 {
        return check_not_failed(stream);
    }
    stream.named("items").pod(items.parts(Vec::as_slice, Vec::as_mut_slice))
}

/// Number of elements that an array may have beyond its bits.
const FREE_ELEMENTS: u64 = 1024;

/// The elements alone, since both sides know their number.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn fixed_array<S: Stream, T>(
    stream: &mut S,
    mut items: Target<'_, S::Access, [T]>,
    mut element: impl FnMut(Target<'_, S::Access, T>, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    for (index, item) in items.elements().enumerate() {
        one_of(stream, index, item, &mut element)?;
    }
    if items.is_empty() { check_not_failed(stream) } else { Ok(()) }
}

/// One element, with its index in the path of traces.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn one_of<S: Stream, T>(
    stream: &mut S,
    index: usize,
    item: Target<'_, S::Access, T>,
    element: &mut impl FnMut(Target<'_, S::Access, T>, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    group!(S, stream, TraceScope::Index(index), element(item, stream))
}
