//! Arguments of operations: places that are written from or read into, with their names.

use super::{Access, Shared, Target};

/// A field of a value, and the name that it has in traces and errors: what [`at!`](crate::at) gives.
#[derive(Debug)]
pub struct NamedTarget<'a, A: Access, T: ?Sized + 'a> {
    target: Target<'a, A, T>,
    name: &'static str,
}

impl<'a, A: Access, T: ?Sized> NamedTarget<'a, A, T> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(target: Target<'a, A, T>, name: &'static str) -> Self {
        Self { target, name }
    }

    /// A local variable and its name, for [`at!`](crate::at).
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn of_local(name: &'static str, value: &'a mut T) -> Self {
        Self { target: value.into(), name }
    }

    /// As [`Target::put`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn put(mut self, value: T)
    where
        T: Sized,
    {
        self.target.put(value);
    }

    /// The field without its name.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn target(self) -> Target<'a, A, T> {
        self.target
    }
}

/// An argument of an operation: `at!(value.field)`, a [`Target`], a `&mut` to a local variable, or to a
/// stream that writes also `&`.
#[diagnostic::on_unimplemented(
    message = "a stream that may read cannot read into `{Self}`",
    label = "not a place that can be read into",
    note = "write `at!(value.field)` for a field of the value that is serialized, and `&mut local` for \
            a variable; pass a `Target` as it is; streams that only write take `&value` too"
)]
pub trait IntoTarget<'a, A: Access, T: ?Sized + 'a> {
    /// The name that the operation has in traces and errors.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn name(&self) -> Option<&'static str> {
        None
    }

    /// The value that is written or read.
    fn into_target(self) -> Target<'a, A, T>;
}

impl<'a, A: Access, T: ?Sized> IntoTarget<'a, A, T> for Target<'a, A, T> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn into_target(self) -> Self {
        self
    }
}

impl<'a, A: Access, T: ?Sized> IntoTarget<'a, A, T> for NamedTarget<'a, A, T> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn name(&self) -> Option<&'static str> {
        Some(self.name)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn into_target(self) -> Target<'a, A, T> {
        self.target
    }
}

impl<'a, A: Access, T: ?Sized> IntoTarget<'a, A, T> for &'a mut T {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn into_target(self) -> Target<'a, A, T> {
        self.into()
    }
}

impl<'a, T: ?Sized> IntoTarget<'a, Shared, T> for &'a T {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn into_target(self) -> Target<'a, Shared, T> {
        self.into()
    }
}

/// A part of the value that is serialized, as an argument of an operation: it is written from or read
/// into, and its name stands in traces and errors.
///
/// `at!(value.field)` is a field, `at!(value.place[3].field)` what any such path leads to, `at!(count)` a
/// local variable. `at!(value, Pattern { a, b } => (a, b))` is what a pattern binds, if it matches, as
/// targets without names: for enums. What is a [`Target`](crate::stream::Target) already, as an element of a list,
/// is passed as it is.
///
/// The value is borrowed meanwhile: a width or a maximum that stands in another field of it goes into a
/// variable before.
///
/// ```
/// use tightwire::{Stream, Target, Wire, at};
///
/// #[derive(Clone, PartialEq, Debug)]
/// enum Order {
///     Wait,
///     Walk { x: i16, y: i16 },
/// }
///
/// impl Wire for Order {
///     fn serialize<S: Stream>(
///         mut order: Target<'_, S::Access, Self>,
///         stream: &mut S,
///     ) -> Result<(), S::Error> {
///         let mut walks = matches!(*order, Order::Walk { .. });
///         stream.bool(at!(walks))?;
///         order.put(if walks { Order::Walk { x: 0, y: 0 } } else { Order::Wait });
///         if let Some((x, y)) = at!(order, Order::Walk { x, y } => (x, y)) {
///             stream.int(x, -100..=100)?;
///             stream.int(y, -100..=100)?;
///         }
///         Ok(())
///     }
/// }
///
/// let order = Order::Walk { x: 3, y: -4 };
/// let mut buffer = [0; 8];
/// let packet = tightwire::encode(&order, &mut buffer)?;
/// let mut read = Order::Wait;
/// tightwire::decode_into(packet, &mut read)?;
/// assert_eq!(read, order);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[macro_export]
macro_rules! at {
    ($value:ident, $pattern:pat => ($($part:ident),+ $(,)?)) => {
        $value.parts(
            |value| match value {
                $pattern => ::core::option::Option::Some(($($part,)+)),
                #[allow(unreachable_patterns)]
                _ => ::core::option::Option::None,
            },
            |value| match value {
                $pattern => ::core::option::Option::Some(($($part,)+)),
                #[allow(unreachable_patterns)]
                _ => ::core::option::Option::None,
            },
        )
    };
    ($value:ident, $pattern:pat => $part:ident) => {
        $value.parts(
            |value| match value {
                $pattern => ::core::option::Option::Some($part),
                #[allow(unreachable_patterns)]
                _ => ::core::option::Option::None,
            },
            |value| match value {
                $pattern => ::core::option::Option::Some($part),
                #[allow(unreachable_patterns)]
                _ => ::core::option::Option::None,
            },
        )
    };
    ($local:ident) => {
        $crate::stream::NamedTarget::of_local(::core::stringify!($local), &mut $local)
    };
    ($value:ident.$field:ident) => {
        $value.field(::core::stringify!($field), |value| &value.$field, |value| &mut value.$field)
    };
    ($value:ident.$($path:tt)+) => {
        $value.field(
            ::core::stringify!($($path)+),
            |value| &value.$($path)+,
            |value| &mut value.$($path)+,
        )
    };
    ($value:ident$($path:tt)+) => {
        $value.field(
            ::core::stringify!($($path)+),
            |value| &value$($path)+,
            |value| &mut value$($path)+,
        )
    };
}
