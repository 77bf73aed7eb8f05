//! Room that is needed for a moment, so that a world can be looked at through `&self`.

use alloc::vec;

/// Calls `with_room` with so many numbers: on the stack, or on the heap for classes of which one object
/// has more than [`MOST`].
pub(super) fn with_room<T: Copy + Default, R>(
    length: usize,
    with_room: impl FnOnce(&mut [T]) -> R,
) -> R {
    match length <= MOST {
        true => with_room(&mut [T::default(); MOST][..length]),
        false => with_room(&mut vec![T::default(); length]),
    }
}

/// The numbers or bytes of one object that are kept on the stack.
const MOST: usize = 256;
