//! Values that a serialize function works on: shared for writing, unique for reading.
//!
//! The stream chooses the kind of reference: `RawStream::Access` is `Shared` for writers and
//! `Unique` for readers. `Target::parts` projects to fields by two closures of the same body, of
//! which the compiler keeps one. So the compiler guarantees that writing changes nothing, and one
//! function serves both directions without a copy.

use core::fmt;
use core::ops::Deref;

use super::{Elements, NamedTarget};

/// Kind of reference that a stream needs to a value: [`Shared`] to write it, [`Unique`] to read
/// into it. The trait is sealed.
pub trait Access: sealed::Sealed + Sized {
    /// Whether values are read into: `true` for [`Unique`].
    const READING: bool;

    /// The reference type.
    #[doc(hidden)]
    type Ref<'a, T: ?Sized + 'a>;

    #[doc(hidden)]
    fn get<'r, T: ?Sized>(reference: &'r Self::Ref<'_, T>) -> &'r T;

    #[doc(hidden)]
    fn get_mut<'r, T: ?Sized>(reference: &'r mut Self::Ref<'_, T>) -> Option<&'r mut T>;

    #[doc(hidden)]
    fn narrow<T: ?Sized>(reference: &mut T) -> Self::Ref<'_, T>;

    #[doc(hidden)]
    fn reborrow<'r, T: ?Sized>(reference: &'r mut Self::Ref<'_, T>) -> Self::Ref<'r, T>;

    #[doc(hidden)]
    fn parts<'a, T: ?Sized, P: Parts>(
        reference: Self::Ref<'a, T>,
        shared: impl FnOnce(&'a T) -> P::Shared,
        unique: impl FnOnce(&'a mut T) -> P,
    ) -> P::Targets<Self>;

    #[doc(hidden)]
    fn elements<'a, T: 'a>(
        reference: Self::Ref<'a, [T]>,
    ) -> impl Iterator<Item = Target<'a, Self, T>>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Shared {}
    impl Sealed for super::Unique {}
}

/// The [`Access`] of streams that write, measure or trace a write: `&T`.
#[derive(Debug)]
pub enum Shared {}

/// The [`Access`] of streams that read: `&mut T`.
#[derive(Debug)]
pub enum Unique {}

impl Access for Shared {
    const READING: bool = false;
    type Ref<'a, T: ?Sized + 'a> = &'a T;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn get<'r, T: ?Sized>(reference: &'r &T) -> &'r T {
        reference
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn get_mut<'r, T: ?Sized>(_: &'r mut &T) -> Option<&'r mut T> {
        None
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn narrow<T: ?Sized>(reference: &mut T) -> &T {
        reference
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn reborrow<'r, T: ?Sized>(reference: &'r mut &T) -> &'r T {
        reference
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn parts<'a, T: ?Sized, P: Parts>(
        reference: &'a T,
        shared: impl FnOnce(&'a T) -> P::Shared,
        _: impl FnOnce(&'a mut T) -> P,
    ) -> P::Targets<Self> {
        P::from_shared(shared(reference))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn elements<'a, T: 'a>(reference: &'a [T]) -> impl Iterator<Item = Target<'a, Self, T>> {
        reference.iter().map(|reference| Target { reference })
    }
}

impl Access for Unique {
    const READING: bool = true;
    type Ref<'a, T: ?Sized + 'a> = &'a mut T;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn get<'r, T: ?Sized>(reference: &'r &mut T) -> &'r T {
        reference
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn get_mut<'r, T: ?Sized>(reference: &'r mut &mut T) -> Option<&'r mut T> {
        Some(reference)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn narrow<T: ?Sized>(reference: &mut T) -> &mut T {
        reference
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn reborrow<'r, T: ?Sized>(reference: &'r mut &mut T) -> &'r mut T {
        reference
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn parts<'a, T: ?Sized, P: Parts>(
        reference: &'a mut T,
        _: impl FnOnce(&'a T) -> P::Shared,
        unique: impl FnOnce(&'a mut T) -> P,
    ) -> P::Targets<Self> {
        unique(reference).into_targets()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn elements<'a, T: 'a>(reference: &'a mut [T]) -> impl Iterator<Item = Target<'a, Self, T>> {
        reference.iter_mut().map(|reference| Target { reference })
    }
}

/// A value to write or to read into: `&T` for a stream that writes, `&mut T` for one that reads, so
/// that the compiler guarantees that writing changes nothing.
///
/// A target dereferences to its value. [`at!`](crate::at) projects to a field; [`put`](Self::put)
/// and [`when_reading`](Self::when_reading) change the value of a reader, and do nothing for a
/// writer.
pub struct Target<'a, A: Access, T: ?Sized + 'a> {
    reference: A::Ref<'a, T>,
}

impl<'a, A: Access, T: ?Sized> Target<'a, A, T> {
    /// Sets the value when reading; does nothing when writing.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn put(&mut self, value: T)
    where
        T: Sized,
    {
        if let Some(target) = A::get_mut(&mut self.reference) {
            *target = value;
        }
    }

    /// Returns the value to read into; `None` when writing.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn when_reading(&mut self) -> Option<&mut T> {
        A::get_mut(&mut self.reference)
    }

    /// Reborrows the target for a call, so that it can be used again after the call.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn reborrow(&mut self) -> Target<'_, A, T> {
        Target { reference: A::reborrow(&mut self.reference) }
    }

    /// Projects to parts of the value by two functions that return the same parts, of which one is
    /// used. [`at!`](crate::at) writes both.
    ///
    /// ```
    /// use tightwire::Target;
    /// use tightwire::stream::Shared;
    ///
    /// let pair = (1u8, true);
    /// let mut target = Target::<Shared, _>::from(&pair);
    /// let (number, flag) = target.parts(|pair| (&pair.0, &pair.1), |pair| (&mut pair.0, &mut pair.1));
    /// assert_eq!((*number, *flag), (1, true));
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn parts<'r, P: Parts>(
        &'r mut self,
        shared: impl FnOnce(&'r T) -> P::Shared,
        unique: impl FnOnce(&'r mut T) -> P,
    ) -> P::Targets<A>
    where
        'a: 'r,
    {
        A::parts(A::reborrow(&mut self.reference), shared, unique)
    }

    /// Like [`parts`](Self::parts), with the lifetime of this target.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn into_parts<P: Parts>(
        self,
        shared: impl FnOnce(&'a T) -> P::Shared,
        unique: impl FnOnce(&'a mut T) -> P,
    ) -> P::Targets<A> {
        A::parts(self.reference, shared, unique)
    }

    /// Projects to one part with its name, for [`at!`](crate::at).
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn field<'r, U: ?Sized>(
        &'r mut self,
        name: &'static str,
        shared: impl FnOnce(&'r T) -> &'r U,
        unique: impl FnOnce(&'r mut T) -> &'r mut U,
    ) -> NamedTarget<'r, A, U>
    where
        'a: 'r,
    {
        NamedTarget::new(self.parts(shared, unique), name)
    }
}

impl<A: Access, E: Elements + ?Sized> Target<'_, A, E> {
    /// Iterates over the elements.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn elements(&mut self) -> impl Iterator<Item = Target<'_, A, E::Item>> {
        A::elements(self.parts(E::as_slice, E::as_mut_slice).reference)
    }
}

impl<A: Access, T: ?Sized> Deref for Target<'_, A, T> {
    type Target = T;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn deref(&self) -> &T {
        A::get(&self.reference)
    }
}

impl<A: Access, T: ?Sized + fmt::Debug> fmt::Debug for Target<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<'a, A: Access, T: ?Sized> From<&'a mut T> for Target<'a, A, T> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from(value: &'a mut T) -> Self {
        Self { reference: A::narrow(value) }
    }
}

impl<'a, T: ?Sized> From<&'a T> for Target<'a, Shared, T> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from(value: &'a T) -> Self {
        Self { reference: value }
    }
}

/// Unique references to parts of a value: one reference, a tuple of them, or an option.
pub trait Parts {
    /// The same parts as shared references.
    type Shared;

    /// The same parts as targets.
    type Targets<A: Access>;

    #[doc(hidden)]
    fn from_shared(shared: Self::Shared) -> Self::Targets<Shared>;

    #[doc(hidden)]
    fn into_targets(self) -> Self::Targets<Unique>;
}

impl<'r, T: ?Sized> Parts for &'r mut T {
    type Shared = &'r T;
    type Targets<A: Access> = Target<'r, A, T>;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_shared(reference: &'r T) -> Target<'r, Shared, T> {
        Target { reference }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn into_targets(self) -> Target<'r, Unique, T> {
        Target { reference: self }
    }
}

impl<P: Parts> Parts for Option<P> {
    type Shared = Option<P::Shared>;
    type Targets<A: Access> = Option<P::Targets<A>>;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_shared(shared: Self::Shared) -> Self::Targets<Shared> {
        shared.map(P::from_shared)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn into_targets(self) -> Self::Targets<Unique> {
        self.map(P::into_targets)
    }
}

macro_rules! parts {
    ($($part:ident $index:tt),*) => {
        impl<$($part: Parts),*> Parts for ($($part,)*) {
            type Shared = ($($part::Shared,)*);
            type Targets<Kind: Access> = ($($part::Targets<Kind>,)*);

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn from_shared(shared: Self::Shared) -> Self::Targets<Shared> {
                ($($part::from_shared(shared.$index),)*)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn into_targets(self) -> Self::Targets<Unique> {
                ($(self.$index.into_targets(),)*)
            }
        }
    };
}

/// No parts: a variant without fields that are sent.
impl Parts for () {
    type Shared = ();
    type Targets<A: Access> = ();

    fn from_shared((): ()) {}

    fn into_targets(self) {}
}

parts!(A 0);
parts!(A 0, B 1);
parts!(A 0, B 1, C 2);
parts!(A 0, B 1, C 2, D 3);
parts!(A 0, B 1, C 2, D 3, E 4);
parts!(A 0, B 1, C 2, D 3, E 4, F 5);
parts!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
parts!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
