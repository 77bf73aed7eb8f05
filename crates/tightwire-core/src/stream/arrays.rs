//! The strings and vectors of fixed capacity of `arrayvec`.

use alloc::boxed::Box;

use arrayvec::{ArrayString, ArrayVec};

use super::collection::List;
use super::text::TextBuffer;
use super::{Op, Shape, Stream, Target, Wire, derived};

impl<T: Default, const N: usize> List for ArrayVec<T, N> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn push_default(&mut self) -> bool {
        self.try_push(T::default()).is_ok()
    }
}

impl<const N: usize> TextBuffer for ArrayString<N> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn as_str(&self) -> &str {
        self
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn replace(&mut self, text: &str) -> bool {
        self.clear();
        self.try_push_str(text).is_ok()
    }
}

/// Up to `N` elements.
impl<T: Wire + Default, const N: usize> Wire for ArrayVec<T, N> {
    const MAX_BITS: u64 = derived::list_bits(N, T::MAX_BITS);
    const DEPTH: u32 = 1 + T::DEPTH;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.array(this, N, T::serialize)
    }

    fn describe() -> Shape {
        Shape::List { max_len: N as u64, element: Box::new(T::describe()) }
    }
}

/// Text of up to `N` bytes.
impl<const N: usize> Wire for ArrayString<N> {
    const MAX_BITS: u64 = derived::text_bits(N);

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        derived::text(stream, this, N)
    }

    fn describe() -> Shape {
        Shape::Op(Op::String { max_len: N })
    }
}
