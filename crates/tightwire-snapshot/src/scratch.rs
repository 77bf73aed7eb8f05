//! Scratch buffers on the stack, so that worlds can be read through `&self`.

use alloc::vec;

/// Passes a zeroed scratch buffer of `length` elements to `with_room`: on the stack up to [`MOST`], else
/// on the heap.
pub(super) fn with_room<T: Copy + Default, R>(
    length: usize,
    with_room: impl FnOnce(&mut [T]) -> R,
) -> R {
    match length <= MOST {
        true => with_room(&mut [T::default(); MOST][..length]),
        false => with_room(&mut vec![T::default(); length]),
    }
}

/// The largest buffer on the stack, in elements.
const MOST: usize = 256;
