//! Types of which a macro sees only the name: a `String` can be the standard library's, or a type of
//! the user's that happens to be called so.

use core::marker::PhantomData;

use super::{Shape, Stream, Target, Wire};

/// A type that may be [`Wire`]. Its own constants and functions are found first, and only if it
/// is; those of [`NotWire`] otherwise.
#[derive(Debug)]
pub struct MaybeWire<T>(PhantomData<T>);

#[expect(missing_docs, reason = "as those of the type")]
impl<T: Wire> MaybeWire<T> {
    pub const IS_WIRE: bool = true;
    pub const MAX_BITS: u64 = T::MAX_BITS;

    #[expect(clippy::missing_errors_doc, reason = "as that of the type")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn serialize<S: Stream>(
        value: Target<'_, S::Access, T>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.object(value)
    }

    #[must_use]
    pub fn describe() -> Shape {
        T::describe()
    }
}

/// Stand-in for a type that is not [`Wire`], which compiles so that [`own_bits`] is the only error.
#[expect(missing_docs, reason = "as those of a type that is")]
#[expect(clippy::missing_errors_doc, reason = "does not compile to anything that runs")]
pub trait NotWire {
    type Value;
    const IS_WIRE: bool = false;
    const MAX_BITS: u64 = 0;

    fn serialize<S: Stream>(
        _: Target<'_, S::Access, Self::Value>,
        _: &mut S,
    ) -> Result<(), S::Error> {
        Ok(())
    }

    #[must_use]
    fn describe() -> Shape {
        <() as Wire>::describe()
    }
}

impl<T> NotWire for MaybeWire<T> {
    type Value = T;
}

/// The most bits of a type that is called `String` and has no bound, if that is no mistake.
pub const fn own_bits(is_wire: bool, max_bits: u64) -> u64 {
    assert!(
        is_wire,
        "a `String` needs a bound: write `#[wire(max_len = 31)]` with the most bytes it can have"
    );
    max_bits
}
