//! Scratch buffers on the stack, so that worlds can be read through `&self`.

use alloc::vec;

/// Passes a zeroed scratch buffer of `length` elements to `with_scratch`: on the stack up to
/// [`MAX_STACK`], else on the heap.
pub(super) fn with_scratch<T: Copy + Default, R>(
    length: usize,
    with_scratch: impl FnOnce(&mut [T]) -> R,
) -> R {
    match length <= MAX_STACK {
        true => with_scratch(&mut [T::default(); MAX_STACK][..length]),
        false => with_scratch(&mut vec![T::default(); length]),
    }
}

/// The largest buffer on the stack, in elements.
const MAX_STACK: usize = 256;
