//! Types with a wire form, and the functions that most programs need.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::any::type_name;
use core::hint::cold_path;

use super::bools::bools;
use super::derived::{MAX_NAME, array_len, depth, fixed_bits, joined_bits};
use super::trace::short_type_name;
use super::{
    ErrorKind, Field, MeasureStream, Op, RawStream as _, ReadError, ReadStream, Run, Shape, Stream,
    Target, WriteError, WriteStream, check_not_failed,
};
/// Declares the wire form of a struct or an enum: the serialize function, the worst case
/// ([`MAX_BITS`](crate::stream::Wire::MAX_BITS)), and the description for a
/// [`Schema`](crate::schema::Schema).
///
/// Fields are sent in the order of the declaration. An enum is sent as the ordinal of its variant
/// in the fewest bits (an explicit discriminant does not matter), then the variant's fields. Types
/// nest freely, also in and around serialize functions written by hand. The bytes are the same as
/// from calling the [`Stream`](crate::stream::Stream)'s operations one after the other; runs of
/// fixed-width fields are coded as whole words, which makes derived code the fastest.
///
/// The guide [`describe_your_packets`](https://docs.rs/tightwire/latest/tightwire/guide/describe_your_packets) builds a packet step by step.
///
/// # Attributes
///
/// `#[wire(…)]` on a field. Numbers can be any constant expression. On an `Option`, a `Box`, an
/// array or a list, an attribute applies to the elements, except `max_len`.
///
/// | attribute | for | meaning |
/// |---|---|---|
/// | none | any [`Wire`](trait@Wire) type | its own wire form: integers, floats and `bool` in full |
/// | `range = 0..=100` | integers | [`int`](crate::stream::Stream::int) |
/// | `bits = 12` | unsigned integers | [`bits`](crate::stream::Stream::bits) |
/// | `varint` | integers | [`varint`](crate::stream::Stream::varint) |
/// | `min = -1.0, max = 1.0, resolution = 0.01` | `f32`, vectors | [`compressed_float`](crate::stream::Stream::compressed_float), [`compressed_vector`](crate::stream::Stream::compressed_vector) |
/// | `smallest_three = 10` | [`Quaternion`](crate::stream::Quaternion)s | [`smallest_three`](crate::stream::Stream::smallest_three) |
/// | `unit = 12` | [`Vector<3>`](crate::stream::Vector) | [`unit_vector`](crate::stream::Stream::unit_vector) |
/// | `max_len = 31` | `String`, `Vec`, `ArrayString`, `ArrayVec` | the maximum length; optional for types of fixed capacity; `Vec<u8>` is a [`blob`](crate::stream::Stream::blob) |
/// | `pod` | plain structs, lists of them | [`pod`](crate::stream::Stream::pod) |
/// | `when = self.alive && self.ammo > 0` | any | sent only if the condition holds; see below |
/// | `default = 7` | fields with `when` or `skip`, fields of variants | the value of a field that is not sent, instead of `Default` |
/// | `check = "inventory"` | any | a [`check`](crate::stream::Stream::check) of this name after the field |
/// | `skip` | any | not sent; reading leaves the field unchanged, unless it has a `default` |
/// | `derivative_of = position` | numbers and vectors with a range | a hint: the rate of change of that field per second |
/// | `wraps` | numbers with a range | a hint: the end of the range is next to its start, as for an angle |
/// | `spatial` | vectors with a range | a hint: objects near this position move alike |
/// | `owner`, `others` | any field | a hint: in snapshots, only the owner of the object gets the field (`owner`), or everybody but the owner (`others`) |
/// | `reference` | `spatial` vectors | a hint: other objects move along with objects of this type |
/// | `rotation` | arrays of four ranged integers | a hint: the array is a rotation, as the index of its largest component and the codes of the other three |
///
/// Hints apply to the field itself, which has up to 32 bits in each component: integers with
/// `range`, `bits` or of a small type, arrays of them, and floats and vectors with `min`, `max` and
/// `resolution`. They become [`Hints`](crate::stream::Hints) of the schema, for snapshots. Hints
/// change no bit of a packet, but two sides with different hints have different
/// [fingerprints](crate::schema::Schema::fingerprint).
///
/// `when` takes any boolean expression over earlier fields, written as `self.field`, also in a
/// variant. Literals, constants, newtypes of them as `Id(4)`, `!`, `&&`, `||`, comparisons, `&`,
/// `matches!`, `len()`, `is_empty()`, `is_some()` and `is_none()` become part of the schema;
/// anything else works, such as `self.order == Order::Move(3)`, but packets with it cannot be read
/// by a schema alone, nor can objects with it be replicated. The condition is evaluated on values
/// from the packet, so it must not panic for any value. In a schema, `==` of structs, enums or
/// lists compares all values in them, as a derived `PartialEq` does.
///
/// Writer and reader must evaluate a condition alike. A field that has a `when` itself can
/// therefore only be used behind its own condition and `&&`. Of a quantised field, only `len()`,
/// `is_empty()`, `is_some()` and `is_none()` can be used. The macro does not see the fields of a
/// field's type: a condition over `self.motion.speed` is only correct if `speed` is always sent
/// and not quantised.
///
/// ```
/// use tightwire::{Wire, decode, encode};
///
/// #[derive(Wire, Default, Clone, PartialEq, Debug)]
/// struct Body {
///     #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
///     position: [f32; 3],
///     #[wire(smallest_three = 10)]
///     orientation: [f32; 4],
///     at_rest: bool,
///     #[wire(when = !self.at_rest, min = -32.0, max = 32.0, resolution = 0.01)]
///     velocity: [f32; 3],
/// }
///
/// let mut body = Body { orientation: [0.0, 0.0, 0.0, 1.0], at_rest: true, ..Body::default() };
/// let mut buffer = [0; Body::MAX_BYTES];
/// let packet = encode(&body, &mut buffer)?;
/// assert_eq!(packet.len(), 12);
/// assert_eq!(decode::<Body>(packet)?.orientation, body.orientation);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Compile errors
///
/// The error points at the mistake and says what to write instead: for a range that is reversed or
/// outside the type, a missing bound, a resolution of zero, a `when` over a later field, or an
/// unknown attribute. Also refused are a type that contains itself, since a packet could nest it
/// until the stack overflows; types nested more than 32 levels deep; a `max_len` of 2^32; and a
/// name of which nothing can be seen, that has more than 255 bytes or contains a control character.
///
/// The macro sees names, not types: it takes `Vec`, `Option`, `Box` and `String` for those of the
/// standard library, unless the path says otherwise, as in `geometry::Vec<f32>`. A type of your own
/// that is called `String` and implements `Wire` works without a path too.
pub use tightwire_derive::Wire;

/// A type that declares its wire form once, in one function.
///
/// ```
/// use tightwire::{FloatRange, Stream, Target, Wire, at};
///
/// #[derive(Default)]
/// struct Body {
///     position: [f32; 3],
///     at_rest: bool,
///     velocity: [f32; 3],
/// }
///
/// const POSITION: FloatRange = FloatRange::new(-256.0, 256.0, 0.001);
/// const VELOCITY: FloatRange = FloatRange::new(-32.0, 32.0, 0.01);
///
/// impl Wire for Body {
///     fn serialize<S: Stream>(
///         mut body: Target<'_, S::Access, Self>,
///         stream: &mut S,
///     ) -> Result<(), S::Error> {
///         stream.compressed_vector(at!(body.position), POSITION)?;
///         stream.bool(at!(body.at_rest))?;
///         if body.at_rest {
///             at!(body.velocity).put([0.0; 3]); // when reading; a writer changes nothing
///             return Ok(());
///         }
///         stream.compressed_vector(at!(body.velocity), VELOCITY)
///     }
/// }
///
/// let resting = Body { at_rest: true, ..Body::default() };
/// assert_eq!(tightwire::measure(&resting), 58);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how it is serialized",
    note = "implement `Wire`, or call the operation that fits: `array` or `string` with a maximum, \
            `int` with a range, `vector` or `compressed_vector` for math types"
)]
pub trait Wire {
    /// Largest size of a value in bits, at any position in a packet; `u64::MAX` if it is not
    /// declared. The derive computes it.
    ///
    /// ```
    /// use tightwire::Wire;
    ///
    /// assert_eq!(<[Option<u16>; 3]>::MAX_BITS, 3 * 17);
    /// ```
    const MAX_BITS: u64 = u64::MAX;

    /// Largest size of a value in bytes, for the length of a buffer on the stack, or for an
    /// assertion at compile time that a value fits one packet. It does not compile for a type
    /// without a worst case.
    ///
    /// ```
    /// use tightwire::Wire;
    ///
    /// const { assert!(<[Option<u16>; 3]>::MAX_BYTES <= 1200) };
    /// let mut buffer = [0; <[Option<u16>; 3]>::MAX_BYTES];
    /// assert_eq!(tightwire::encode(&[Some(1u16), None, None], &mut buffer)?.len(), 3);
    /// # Ok::<(), tightwire::stream::WriteError>(())
    /// ```
    const MAX_BYTES: usize = max_bytes(Self::MAX_BITS);

    /// Size of every value in bits, if it is always the same and contains no alignment; `None`
    /// otherwise. Fields of fixed size are merged into words.
    #[doc(hidden)]
    const FIXED_BITS: Option<u32> = None;

    /// Nesting depth of the shape that [`describe`](Self::describe) returns. A lower bound for
    /// hand-written impls, which keep the default of 1.
    #[doc(hidden)]
    const DEPTH: u32 = 1;

    /// Number of components and bits per component, for a newtype of a number or vector with a
    /// range; `None` for other types. The derive checks the hints of fields of such a newtype by
    /// these numbers.
    #[doc(hidden)]
    const NUMBERS: Option<(usize, u64)> = None;

    /// Whether the type is a derived enum, whose variant decides the length of a packet.
    #[doc(hidden)]
    const IS_ENUM: bool = false;

    /// Whether an array of such values goes into words as a whole: see
    /// [`serialize_elements`](Self::serialize_elements).
    #[doc(hidden)]
    const JOINS: bool = false;

    /// Writes, reads, measures or traces the value, depending on the stream. Writing cannot change it:
    /// see [`Target`].
    ///
    /// # Errors
    ///
    /// Errors of the stream's operations, passed on with `?`.
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error>;

    /// Serializes the elements of an array one after the other; `bool`s are packed.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_elements<S: Stream>(
        elements: Target<'_, S::Access, [Self]>,
        stream: &mut S,
    ) -> Result<(), S::Error>
    where
        Self: Sized,
    {
        stream.fixed_array(elements, Self::serialize)
    }

    /// Describes the wire form as data, for [`schema`](crate::schema::Schema::of). The derive
    /// writes this function; without it, a type is [`Shape::Opaque`]: packets that contain it can
    /// be sent, but a schema cannot read them.
    #[must_use]
    fn describe() -> Shape
    where
        Self: Sized,
    {
        let mut name = short_type_name(type_name::<Self>());
        // Type parameters can make a name longer than a schema allows.
        name.truncate(name.floor_char_boundary(MAX_NAME));
        Shape::Opaque { name: name.into(), max_bits: Self::MAX_BITS }
    }
}

const fn max_bytes(max_bits: u64) -> usize {
    assert!(
        max_bits != u64::MAX,
        "MAX_BYTES: this type has no worst case: derive `Wire`, or give its `MAX_BITS`"
    );
    max_bits.div_ceil(8) as usize
}

/// Writes `value` into `buffer` and returns the packet.
///
/// ```
/// let mut buffer = [0; 16];
/// assert_eq!(tightwire::encode(&[1u16, 2], &mut buffer), Ok(&[1, 0, 2, 0][..]));
/// ```
///
/// # Errors
///
/// [`WriteError`] if the buffer is too small or a value is out of its range.
#[inline]
pub fn encode<'a, T: Wire>(value: &T, buffer: &'a mut [u8]) -> Result<&'a [u8], WriteError> {
    if const { T::FIXED_BITS.is_none() } {
        let (position, refused) = write_varying(value, buffer);
        return WriteStream::packet(buffer, position, refused);
    }
    // Rounded up to whole words, since the writer stores only those.
    let length = const { fixed_bytes::<T>() }.next_multiple_of(8);
    match buffer.len() < length {
        true => write_to_short(value, buffer),
        // With a constant length, the compiler knows every offset, and that everything fits.
        false => write(value, &mut buffer[..length]),
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn write<'a, T: Wire>(value: &T, buffer: &'a mut [u8]) -> Result<&'a [u8], WriteError> {
    let mut stream = WriteStream::new(buffer);
    let Ok(()) = T::serialize(value.into(), &mut stream);
    stream.finish()
}

/// [`write`] as far as it is a call; returns the numbers of [`WriteStream::finish_parts`], since a result
/// would be returned in memory.
#[inline]
fn write_varying<T: Wire>(value: &T, buffer: &mut [u8]) -> (u64, u64) {
    let mut stream = WriteStream::new(buffer);
    let Ok(()) = T::serialize(value.into(), &mut stream);
    stream.finish_parts()
}

#[cold]
fn write_to_short<'a, T: Wire>(value: &T, buffer: &'a mut [u8]) -> Result<&'a [u8], WriteError> {
    write(value, buffer)
}

/// Length in bytes of a packet that is one `T` of fixed size; 0 if the size is not fixed.
const fn fixed_bytes<T: Wire>() -> usize {
    match T::FIXED_BITS {
        Some(bits) => bits.div_ceil(8) as usize,
        None => 0,
    }
}

/// Reads a value from the bytes of exactly one packet.
///
/// ```
/// assert_eq!(tightwire::decode::<[u16; 2]>(&[1, 0, 2, 0]), Ok([1, 2]));
/// ```
///
/// # Errors
///
/// [`ReadError`] for anything but a complete valid packet.
#[inline]
pub fn decode<T: Wire + Default>(packet: &[u8]) -> Result<T, ReadError> {
    if const { T::FIXED_BITS.is_none() } {
        let mut value = T::default();
        if let Err(refused) = decode_into(packet, &mut value) {
            cold_path();
            return Err(refused);
        }
        return Ok(value);
    }
    let length = const { fixed_bytes::<T>() };
    if packet.len() != length {
        return Err(wrong_length::<T>(packet));
    }
    // The address of the value does not escape, so that its fields stay in registers until they are
    // stored in the caller's place. A copy right after the fields were stored one by one would
    // stall on the stores.
    let mut value = T::default();
    read(&packet[..length], &mut value)?;
    Ok(value)
}

/// Reads a packet of the wrong length, only to return the error.
#[cold]
fn wrong_length<T: Wire + Default>(packet: &[u8]) -> ReadError {
    let end = ReadError { kind: ErrorKind::UnexpectedEnd, bit: 0 };
    read(packet, &mut T::default()).err().unwrap_or(end)
}

/// Like [`decode`], but reads into an existing value, whose strings and arrays keep their memory.
/// After an error, the value may be partly overwritten.
///
/// ```
/// let mut pair = [0u16; 2];
/// tightwire::decode_into(&[1, 0, 2, 0], &mut pair)?;
/// assert_eq!(pair, [1, 2]);
/// # Ok::<(), tightwire::stream::ReadError>(())
/// ```
///
/// # Errors
///
/// [`ReadError`] for anything but a complete valid packet.
#[inline]
pub fn decode_into<T: Wire>(packet: &[u8], value: &mut T) -> Result<(), ReadError> {
    if const { T::FIXED_BITS.is_none() } {
        return read(packet, value);
    }
    let length = const { fixed_bytes::<T>() };
    match packet.len() == length {
        // With a constant length, the compiler knows every offset, and that no read is out of
        // bounds.
        true => read(&packet[..length], value),
        false => read_wrong_length(packet, value),
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn read<T: Wire>(packet: &[u8], value: &mut T) -> Result<(), ReadError> {
    let mut stream = match const { T::IS_ENUM } {
        true => ReadStream::of_enum(packet),
        false => ReadStream::new(packet),
    };
    if let Err(refused) = T::serialize(value.into(), &mut stream) {
        cold_path();
        return Err(refused);
    }
    stream.finish()
}

/// Reads a packet of the wrong length, only to return the error: it is too short or too long, or a
/// value is refused before that.
#[cold]
fn read_wrong_length<T: Wire>(packet: &[u8], value: &mut T) -> Result<(), ReadError> {
    read(packet, value)
}

/// Returns the most bits that `value` takes, at any position in a packet.
///
/// ```
/// assert_eq!(tightwire::measure(&[1u16, 2]), 32);
/// ```
#[must_use]
#[inline]
pub fn measure<T: Wire>(value: &T) -> u64 {
    MeasureStream::bits_of(|stream| T::serialize(value.into(), stream))
}

/// Checks that `value` can be written, without writing it. The bit offset in an error counts from
/// the start of the value, and each alignment counts as seven bits.
pub fn check<T: Wire>(value: &T) -> Result<(), WriteError> {
    let mut stream = MeasureStream::new();
    let Ok(()) = T::serialize(value.into(), &mut stream);
    stream.failure().map_or(Ok(()), |(kind, bit)| Err(WriteError::Value { kind, bit }))
}

macro_rules! whole_int {
    ($($int:ty),*) => {$(
        /// The whole range of the type.
        impl Wire for $int {
            const MAX_BITS: u64 = <$int>::BITS as u64;
            const FIXED_BITS: Option<u32> = Some(<$int>::BITS);

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn serialize<S: Stream>(
                this: Target<'_, S::Access, Self>,
                stream: &mut S,
            ) -> Result<(), S::Error> {
                stream.int(this, <$int>::MIN..=<$int>::MAX)
            }

            fn describe() -> Shape {
                Shape::Op(Op::int(&(<$int>::MIN..=<$int>::MAX)))
            }
        }
    )*};
}

whole_int!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128);

macro_rules! by_operation {
    ($($kind:ty: $operation:ident $bits:literal $op:ident),*) => {$(
        impl Wire for $kind {
            const MAX_BITS: u64 = $bits;
            const FIXED_BITS: Option<u32> = Some($bits);

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn serialize<S: Stream>(
                this: Target<'_, S::Access, Self>,
                stream: &mut S,
            ) -> Result<(), S::Error> {
                stream.$operation(this)
            }

            fn describe() -> Shape {
                Shape::Op(Op::$op)
            }
        }
    )*};
}

by_operation!(f32: float 32 Float, f64: double 64 Double);

impl Wire for bool {
    const MAX_BITS: u64 = 1;
    const FIXED_BITS: Option<u32> = Some(1);
    const JOINS: bool = true;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.bool(this)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize_elements<S: Stream>(
        elements: Target<'_, S::Access, [Self]>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        if S::JOINS {
            return bools(stream, elements);
        }
        stream.fixed_array(elements, Self::serialize)
    }

    fn describe() -> Shape {
        Shape::Op(Op::Bool)
    }
}

impl<T: Wire, const N: usize> Wire for [T; N] {
    const MAX_BITS: u64 = T::MAX_BITS.saturating_mul(array_len(N));
    const FIXED_BITS: Option<u32> = joined_bits(T::FIXED_BITS, N, T::JOINS);
    const DEPTH: u32 = 1 + T::DEPTH;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let elements = this.parts(<[T; N]>::as_slice, <[T; N]>::as_mut_slice);
        let Some(bits) = Self::FIXED_BITS else { return T::serialize_elements(elements, stream) };
        let mut run = Run::new(stream);
        run.begin_run(bits);
        T::serialize_elements(elements, &mut run)?;
        run.end_run()?;
        if bits == 0 { run.zero_bits() } else { Ok(()) }
    }

    fn describe() -> Shape {
        Shape::Array { len: N as u64, element: Box::new(T::describe()) }
    }
}

impl<T: Wire + Default> Wire for Option<T> {
    const MAX_BITS: u64 = T::MAX_BITS.saturating_add(1);
    const DEPTH: u32 = 1 + T::DEPTH;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.option(this, T::serialize)
    }

    fn describe() -> Shape {
        Shape::Option(Box::new(T::describe()))
    }
}

impl<T: Wire> Wire for Box<T> {
    const MAX_BITS: u64 = T::MAX_BITS;
    const FIXED_BITS: Option<u32> = T::FIXED_BITS;
    const DEPTH: u32 = T::DEPTH;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        T::serialize(this.parts(|value| &**value, |value| &mut **value), stream)
    }

    fn describe() -> Shape {
        T::describe()
    }
}

macro_rules! tuples {
    ($($part:ident $index:tt),+) => {
        /// The parts one after the other.
        impl<$($part: Wire),+> Wire for ($($part,)+) {
            const MAX_BITS: u64 = 0u64$(.saturating_add($part::MAX_BITS))+;
            const FIXED_BITS: Option<u32> = fixed_bits(&[$($part::FIXED_BITS),+]);
            const DEPTH: u32 = depth(1, &[$(1 + $part::DEPTH),+]);

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn serialize<S: Stream>(
                mut this: Target<'_, S::Access, Self>,
                stream: &mut S,
            ) -> Result<(), S::Error> {
                let Some(bits) = Self::FIXED_BITS else {
                    $(stream.named(stringify!($index)).object(this.parts(|value| &value.$index, |value| &mut value.$index))?;)+
                    return Ok(());
                };
                let mut run = Run::new(stream);
                run.begin_run(bits);
                $(run.named(stringify!($index)).object(this.parts(|value| &value.$index, |value| &mut value.$index))?;)+
                run.end_run()?;
                if bits == 0 { run.zero_bits() } else { Ok(()) }
            }

            fn describe() -> Shape {
                let fields = vec![$(Field::new(stringify!($index), $part::describe())),+];
                Shape::Struct { name: "()".into(), fields }
            }
        }
    };
}

tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);

impl Wire for () {
    const MAX_BITS: u64 = 0;
    const FIXED_BITS: Option<u32> = Some(0);

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize<S: Stream>(
        _: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        check_not_failed(stream)
    }

    fn describe() -> Shape {
        Shape::Struct { name: "()".into(), fields: Vec::new() }
    }
}
