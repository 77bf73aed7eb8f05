//! Arguments of operations: places to write from or to read into, with their names.

use super::{Access, Shared, Target};

/// A field of a value, with its name in traces and errors: the result of [`at!`](crate::at).
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

    /// Names a local variable, for [`at!`](crate::at).
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn of_local(name: &'static str, value: &'a mut T) -> Self {
        Self { target: value.into(), name }
    }

    /// Names a part of an enum, for [`at!`](crate::at).
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn of_part(name: &'static str, target: Target<'a, A, T>) -> Self {
        Self { target, name }
    }

    /// Like [`Target::put`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn put(mut self, value: T)
    where
        T: Sized,
    {
        self.target.put(value);
    }

    /// Returns the field without its name.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn target(self) -> Target<'a, A, T> {
        self.target
    }
}

/// An argument of an operation: `at!(value.field)`, a [`Target`], a `&mut` to a local variable, or
/// `&` for a stream that writes.
#[diagnostic::on_unimplemented(
    message = "a stream that may read cannot read into `{Self}`",
    label = "not a place that can be read into",
    note = "write `at!(value.field)` for a field of the value that is serialized, and `&mut local` for \
            a variable; pass a `Target` as it is; streams that only write take `&value` too"
)]
pub trait IntoTarget<'a, A: Access, T: ?Sized + 'a> {
    /// Name of the operation in traces and errors; `None` if the argument has no name.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn name(&self) -> Option<&'static str> {
        None
    }

    /// Converts the argument into the value to write or to read into.
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

/// Refers to a part of the serialized value, as an argument of an operation: writing takes the
/// value from it, reading assigns to it, and its name appears in traces and errors.
///
/// `at!(value.field)` is a field, `at!(value.place[3].field)` the end of such a path, `at!(count)`
/// a local variable. `at!(value, Pattern { a, b } => (a, b))` is for enums: the bindings of a
/// pattern, each with its name, or `None` if the pattern does not match. A
/// [`Target`](crate::stream::Target), such as an element of a list, is passed directly;
/// [`NamedTarget::target`](crate::stream::NamedTarget::target) is one, for a function of your own.
///
/// The macro borrows the value: copy a width or a maximum from another field into a variable first.
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
///
/// let refused = tightwire::encode_explained(&Order::Walk { x: 3, y: 400 }, &mut buffer).unwrap_err();
/// assert_eq!(refused.to_string(), "Order.y at bit 9: 400 is not in -100..=100");
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
        .map(|($($part,)+)| ($($crate::stream::NamedTarget::of_part(::core::stringify!($part), $part),)+))
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
        .map(|$part| $crate::stream::NamedTarget::of_part(::core::stringify!($part), $part))
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
