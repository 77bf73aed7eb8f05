//! The streams: one serialize function that writes, reads, measures and traces.
//!
//! [`Stream`] lists every operation; each family of operations is implemented in its own file. A
//! type of stream implements only the few functions of [`RawStream`].

#[cfg(feature = "arrayvec")]
mod arrays;
mod bools;
mod byte_stream;
mod collection;
#[doc(hidden)]
pub mod derived;
mod described;
mod error;
mod explain;
mod float;
pub(crate) mod float_fields;
mod index;
mod int;
#[cfg(feature = "serde")]
mod json;
pub(crate) mod long_floats;
#[cfg(any(
    feature = "mint",
    feature = "glam-030",
    feature = "glam-032",
    feature = "glam-033",
    feature = "glam-034"
))]
mod math;
mod max_bits;
pub(crate) mod maybe_wire;
mod measure;
mod op;
mod picture;
mod place;
mod raw;
mod read;
#[cfg(doctest)]
mod refused;
mod ruler;
mod run;
mod selection;
mod shape;
mod subset;
mod target;
mod text;
mod trace;
mod tree;
mod vector;
mod wire;
pub(crate) mod word;
mod write;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::type_name;
use core::fmt::Debug;
use core::ops::RangeInclusive;

pub use byte_stream::ByteStream;
pub use collection::{Elements, List};
pub(crate) use described::{
    MAX_DIMENSIONS, RunError, run_op, run_ordinal, runtime_array, tree_list, tree_option,
};
pub use error::{ErrorKind, ReadError, WriteError};
pub use explain::{ExplainedError, decode_explained, encode_explained, explain, explain_write};
pub(crate) use explain::{explain_bytes, explain_with, explain_write_with, trace_write};
pub use float::FloatRange;
pub use int::Int;
#[doc(hidden)]
pub use int::check_value;
pub use measure::MeasureStream;
pub use op::{Number, Op, TraceScope, Value};
pub use place::{IntoTarget, NamedTarget};
pub use raw::RawStream;
use raw::{group, operation};
pub use read::ReadStream;
pub(crate) use read::Reading;
pub use run::Run;
pub use selection::Selection;
pub use shape::{Binary, Condition, Field, Hints, Name, Shape, Variant};
pub use subset::SubsetCoding;
pub use target::{Access, Parts, Shared, Target, Unique};
pub use text::Pod;
pub use trace::TraceStream;
#[doc(hidden)]
pub use tree::printable;
pub use tree::{Node, Trace};
#[doc(hidden)]
pub use vector::is_rotation;
pub use vector::{Quaternion, Vector};
#[doc(hidden)]
pub use wire::check;
pub use wire::{Wire, decode, decode_into, encode, measure};
pub use write::WriteStream;

/// Operations that a serialize function calls: the same call writes a value, reads it, measures its
/// bits or traces it, depending on the stream.
///
/// Every operation takes a place: [`at!`](crate::at) of a field, or `&mut` of a local variable.
/// Reading assigns to the place and writing does not, so a stream that writes also accepts `&`.
/// Reading refuses values out of range, and leaves the place of a refused scalar unchanged.
///
/// Operations are named after the value that they carry. The functions of [`RawStream`] below them
/// are for implementing a stream or an operation of your own.
///
/// ```
/// use tightwire::{Stream, Target, Wire, at};
///
/// #[derive(Default, PartialEq, Debug)]
/// struct Player {
///     health: u8,
///     name: String,
/// }
///
/// impl Wire for Player {
///     fn serialize<S: Stream>(
///         mut player: Target<'_, S::Access, Self>,
///         stream: &mut S,
///     ) -> Result<(), S::Error> {
///         stream.int(at!(player.health), 0..=100)?;
///         stream.string(at!(player.name), 31)
///     }
/// }
///
/// let player = Player { health: 77, name: "Ada".into() };
/// let mut buffer = [0; 64];
/// let packet = tightwire::encode(&player, &mut buffer)?;
/// assert_eq!(packet.len(), 5);
/// assert_eq!(tightwire::decode::<Player>(packet)?, player);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub trait Stream: RawStream {
    /// Names the next operation in traces and errors, where [`at!`](crate::at) does not. Without a
    /// name, an operation that is alone in its option or element has the path of that option or
    /// element, and any other operation shows its source line.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// # struct Player { health: u8 }
    /// # impl Wire for Player {
    /// # fn serialize<S: Stream>(this: Target<'_, S::Access, Self>, stream: &mut S) -> Result<(), S::Error> {
    /// stream.named("half").int(&mut (this.health / 2), 0..=50)
    /// # }
    /// # }
    /// # let trace = explain_write(&Player { health: 102 });
    /// assert!(trace.to_string().contains("Player.half at bit 0: 51 is not in 0..=50"));
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn named(&mut self, name: &str) -> &mut Self {
        if Self::TRACES {
            self.name_next(name);
        }
        self
    }

    /// An integer of a range, in the bits that the range needs; a range of one value takes no bits.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.int(&77u8, 0..=100)), 7);
    /// assert_eq!(MeasureStream::bits_of(|s| s.int(&-3i64, -4..=3)), 3);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn int<'a, T: Int + 'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, T>,
        range: RangeInclusive<T>,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::int(&range),
            int::ranged(self, value.reborrow(), *range.start(), *range.end()),
            Value::Number(value.number())
        )
    }

    /// The lowest `width` bits of an unsigned number, `width` being `0..=64`.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.bits(&0b1011, 12)), 12);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn bits<'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, u64>,
        width: u32,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::Bits { width },
            int::bits(self, value.reborrow(), width),
            Value::Number(value.number())
        )
    }

    /// One bit.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.bool(&true)), 1);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn bool<'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, bool>,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(Self, self, Op::Bool, int::bool(self, value.reborrow()), Value::Bool(*value))
    }

    /// A fixed-point number with `fraction_bits` behind the point, and its range in whole units. It
    /// is exact, unlike a compressed float.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// let metres = 1.5f32 as i32 * 256 + 128;
    /// assert_eq!(MeasureStream::bits_of(|s| s.fixed(&metres, 8, -100..=100)), 16);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn fixed<'a, T: Int + 'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, T>,
        fraction_bits: u32,
        units: RangeInclusive<T>,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        let (min, max) = (units.start().number(), units.end().number());
        operation!(
            Self,
            self,
            Op::Fixed { fraction_bits, min, max },
            int::fixed(self, value.reborrow(), fraction_bits, units),
            Value::Number(value.number())
        )
    }

    /// An integer of any size that is usually small: 8 bits on the wire for every 7 bits of the
    /// number. The size of a signed integer depends on its distance from zero.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.varint(&100u64)), 8);
    /// assert_eq!(MeasureStream::bits_of(|s| s.varint(&-100i32)), 16);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn varint<'a, T: Int + 'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, T>,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::varint::<T>(),
            int::varint(self, value.reborrow()),
            Value::Number(value.number())
        )
    }

    /// An unquantised `f32`; every bit pattern is preserved.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.float(&0.1)), 32);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn float<'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, f32>,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::Float,
            float::single(self, value.reborrow()),
            Value::Number(Number::Float(*value))
        )
    }

    /// An unquantised `f64`; every bit pattern is preserved.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.double(&0.1)), 64);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn double<'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, f64>,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::Double,
            float::double(self, value.reborrow()),
            Value::Number(Number::Double(*value))
        )
    }

    /// A float quantised to a range and a resolution. Values outside the range are clamped to its
    /// bounds; infinities and NaN are refused.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// const VOLUME: FloatRange = FloatRange::new(0.0, 10.0, 0.01);
    /// assert_eq!(MeasureStream::bits_of(|s| s.compressed_float(&7.5, VOLUME)), 10);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn compressed_float<'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, f32>,
        range: FloatRange,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::CompressedFloat(range),
            float::compressed(self, value.reborrow(), range),
            Value::Number(Number::Float(*value))
        )
    }

    /// An enum as its index in the list of its variants.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// #[derive(Clone, Copy, PartialEq, Debug)]
    /// enum Weapon { Fist, Bow, Staff }
    /// const WEAPONS: [Weapon; 3] = [Weapon::Fist, Weapon::Bow, Weapon::Staff];
    /// assert_eq!(MeasureStream::bits_of(|s| s.enumerate(&Weapon::Bow, &WEAPONS)), 2);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn enumerate<'a, E: Copy + PartialEq + Debug + 'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, E>,
        variants: &[E],
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::Enumerate { count: variants.len() },
            collection::enumerate(self, value.reborrow(), variants),
            Value::Name(alloc::format!("{value:?}"))
        )
    }

    /// The ordinal of an enum's variant, one of `count`, in the fewest bits. The caller serializes
    /// the fields of the variant after it; `name` is for traces.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// const NAMES: [&str; 3] = ["Fist", "Bow", "Staff"];
    /// assert_eq!(MeasureStream::bits_of(|s| s.variant(&mut 1, 3, |ordinal| NAMES[ordinal])), 2);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn variant<'n>(
        &mut self,
        ordinal: &mut usize,
        count: usize,
        name: impl FnOnce(usize) -> &'n str,
    ) -> Result<(), Self::Error> {
        operation!(
            Self,
            self,
            Op::Enumerate { count },
            collection::variant(self, ordinal, count),
            Value::Name(if *ordinal < count { name(*ordinal).into() } else { String::new() })
        )
    }

    /// A bit for whether there is a value, then the value.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// let target = Some(17u16);
    /// let bits = MeasureStream::bits_of(|s| s.option(&target, |id, s| s.int(id, 0..=1023)));
    /// assert_eq!(bits, 11);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn option<'a, T: Default + 'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, Option<T>>,
        inner: impl FnOnce(Target<'_, Self::Access, T>, &mut Self) -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error> {
        let value = place(self, value);
        group!(Self, self, TraceScope::Group("option"), collection::option(self, value, inner))
    }

    /// A vector of unquantised floats.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.vector(&[1.0, 2.0, 3.0])), 96);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn vector<'a, V: Vector<N> + 'a, const N: usize>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, V>,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::Vector { dimensions: N },
            vector::whole(self, value.reborrow()),
            Value::Vector(value.to_array().to_vec())
        )
    }

    /// A vector, each component quantised like a [`compressed_float`](Self::compressed_float).
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// const PLACE: FloatRange = FloatRange::new(-256.0, 256.0, 0.001);
    /// assert_eq!(MeasureStream::bits_of(|s| s.compressed_vector(&[1.0, 2.0, 3.0], PLACE)), 57);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn compressed_vector<'a, V: Vector<N> + 'a, const N: usize>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, V>,
        range: FloatRange,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::CompressedVector { dimensions: N, range },
            vector::compressed(self, value.reborrow(), range),
            Value::Vector(value.to_array().to_vec())
        )
    }

    /// Any quaternion, as four unquantised floats.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.quaternion(&[0.0, 0.0, 0.0, 1.0])), 128);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn quaternion<'a, Q: Quaternion + 'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, Q>,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::Quaternion,
            vector::quaternion(self, value.reborrow()),
            Value::Vector(value.to_xyzw().to_vec())
        )
    }

    /// A rotation: a unit quaternion as its three smallest components, each in `3..=20` bits. The
    /// identity is exact. A quaternion of another length is normalised; one whose squared length is
    /// not a normal float is refused, such as the four zeros of a derived `Default`.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.smallest_three(&[0.0, 0.6, 0.0, 0.8], 10)), 32);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn smallest_three<'a, Q: Quaternion + 'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, Q>,
        bits: u32,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::SmallestThree { bits },
            vector::smallest_three(self, value.reborrow(), bits),
            Value::Vector(value.to_xyzw().to_vec())
        )
    }

    /// A direction: a unit vector as two coordinates on the octahedron, each in `2..=20` bits. The
    /// axes are exact. A vector of another length is normalised; zero, infinities and NaN are
    /// refused.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.unit_vector(&[0.0, 0.6, 0.8], 12)), 24);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn unit_vector<'a, V: Vector<3> + 'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, V>,
        bits: u32,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::UnitVector { bits },
            vector::unit_vector(self, value.reborrow(), bits),
            Value::Vector(value.to_array().to_vec())
        )
    }

    /// Zero padding up to the next whole byte; a reader refuses padding bits that are set.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// let bits = MeasureStream::bits_of(|s| s.align());
    /// assert_eq!(bits, 7, "at most, since it depends on what stands before");
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn align(&mut self) -> Result<(), Self::Error> {
        operation!(Self, self, Op::Align, self.raw_align(), Value::Unit)
    }

    /// Bytes whose length both sides know, aligned and copied.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.bytes(&[1, 2, 3])), 7 + 24);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn bytes<'a, B: Elements<Item = u8> + ?Sized + 'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, B>,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        let mut value = value.parts(B::as_slice, B::as_mut_slice);
        operation!(
            Self,
            self,
            Op::Bytes { len: value.len() },
            text::bytes(self, value.reborrow()),
            Value::Bytes(value.to_vec())
        )
    }

    /// Up to `max_len` bytes: their length, then the contents like [`bytes`](Self::bytes).
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.blob(&vec![1, 2, 3], 100)), 7 + 7 + 24);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn blob<'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, Vec<u8>>,
        max_len: usize,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::Blob { max_len },
            text::blob(self, value.reborrow(), max_len),
            Value::Bytes(value.clone())
        )
    }

    /// Text of up to `max_len` bytes of UTF-8, without NUL characters.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.string(&"hello".into(), 31)), 5 + 7 + 40);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn string<'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, String>,
        max_len: usize,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::String { max_len },
            text::string(self, value.reborrow(), max_len),
            Value::Text(value.clone())
        )
    }

    /// Text as up to `max_len` UTF-16 code units of 32 bits each, not aligned: the wide strings of
    /// the public `serialize` format. Prefer [`string`](Self::string).
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.wide_string(&"hi".into(), 31)), 5 + 64);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn wide_string<'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, String>,
        max_len: usize,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::WideString { max_len },
            text::wide_string(self, value.reborrow(), max_len),
            Value::Text(value.clone())
        )
    }

    /// The memory image of a plain struct, or of a slice of plain structs, aligned and copied.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.pod(&[1u32, 2, 3])), 7 + 96);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn pod<'a, T: Pod + ?Sized + 'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, T>,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        let mut bytes = value.parts(T::as_bytes, T::as_mut_bytes);
        operation!(
            Self,
            self,
            Op::Pod { size: bytes.len() },
            text::bytes(self, bytes.reborrow()),
            Value::Bytes(bytes.to_vec())
        )
    }

    /// Up to `max_len` elements: their number, then each by `element`. A reader refuses more than
    /// 1024 elements beyond the number of bits left, so that a few bytes cannot make it allocate
    /// any amount of memory.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// let scores = vec![3u8, 1, 4];
    /// let bits = MeasureStream::bits_of(|s| s.array(&scores, 15, |score, s| s.int(score, 0..=9)));
    /// assert_eq!(bits, 4 + 3 * 4);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn array<'a, L: List + 'a>(
        &mut self,
        items: impl IntoTarget<'a, Self::Access, L>,
        max_len: usize,
        element: impl FnMut(Target<'_, Self::Access, L::Item>, &mut Self) -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error> {
        let items = place(self, items);
        group!(
            Self,
            self,
            TraceScope::Group("array"),
            collection::array(self, items, max_len, element)
        )
    }

    /// Elements whose number both sides know, each by `element`.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// let scores = [3u8, 1, 4];
    /// let bits = MeasureStream::bits_of(|s| s.fixed_array(&scores, |score, s| s.int(score, 0..=9)));
    /// assert_eq!(bits, 3 * 4);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn fixed_array<'a, E: Elements + ?Sized + 'a>(
        &mut self,
        items: impl IntoTarget<'a, Self::Access, E>,
        element: impl FnMut(Target<'_, Self::Access, E::Item>, &mut Self) -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error> {
        let mut items = place(self, items);
        let items = items.parts(E::as_slice, E::as_mut_slice);
        group!(
            Self,
            self,
            TraceScope::Group("fixed_array"),
            collection::fixed_array(self, items, element)
        )
    }

    /// The selected elements of an array whose length both sides know: their indices, then each
    /// element by `element`. Reading leaves the other elements unchanged. [`Target::parts`] borrows
    /// two fields of a struct at once.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// let objects = [0u8; 4096];
    /// let mut dirty = Selection::new(4096);
    /// dirty.insert(7);
    /// dirty.insert(8);
    /// let bits = MeasureStream::bits_of(|s| {
    ///     s.subset(&objects, &dirty, SubsetCoding::Best, |object, s| s.int(object, 0..=255))
    /// });
    /// assert_eq!(bits, 2 + 6 + 1 + 18 + 2 * 8, "choice, two indices, the end, two bytes");
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn subset<'a, 's, E: Elements + ?Sized + 'a>(
        &mut self,
        objects: impl IntoTarget<'a, Self::Access, E>,
        selection: impl IntoTarget<'s, Self::Access, Selection>,
        coding: SubsetCoding,
        element: impl FnMut(Target<'_, Self::Access, E::Item>, &mut Self) -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error> {
        let mut objects = place(self, objects);
        let objects = objects.parts(E::as_slice, E::as_mut_slice);
        let selection = selection.into_target();
        group!(
            Self,
            self,
            TraceScope::Group("subset"),
            subset::subset(self, objects, selection, coding, element)
        )
    }

    /// A set of indices, without the elements.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// let dirty = Selection::new(100);
    /// assert_eq!(MeasureStream::bits_of(|s| s.selection(&dirty, SubsetCoding::BitPerObject)), 100);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn selection<'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, Selection>,
        coding: SubsetCoding,
    ) -> Result<(), Self::Error> {
        let mut value = place(self, value);
        operation!(
            Self,
            self,
            Op::Selection { len: value.array_len(), coding },
            subset::selection(self, value.reborrow(), coding),
            Value::Indices(value.iter().collect())
        )
    }

    /// An index into an array of `count` elements, relative to the previous index: 1 bit for the
    /// next element, 4 bits for the four after it, and so on. The index `count` marks the end.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.index(Some(41), &42, 4096)), 1);
    /// assert_eq!(MeasureStream::bits_of(|s| s.index(None, &4, 4096)), 4);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn index<'a>(
        &mut self,
        previous: Option<u32>,
        index: impl IntoTarget<'a, Self::Access, u32>,
        count: u32,
    ) -> Result<(), Self::Error> {
        let mut index = place(self, index);
        operation!(
            Self,
            self,
            Op::Index { count },
            index::object_index(self, previous, index.reborrow(), count),
            Value::Number(index.number())
        )
    }

    /// A number above `previous`, both at most `i32::MAX`: the smaller the difference, the fewer
    /// bits. This is the ladder of the public `serialize` format, for sequence numbers without an
    /// upper bound.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.int_relative(1000, &1001)), 1);
    /// assert_eq!(MeasureStream::bits_of(|s| s.int_relative(1000, &9_000_000)), 38);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn int_relative<'a>(
        &mut self,
        previous: u32,
        current: impl IntoTarget<'a, Self::Access, u32>,
    ) -> Result<(), Self::Error> {
        let mut current = place(self, current);
        operation!(
            Self,
            self,
            Op::IntRelative,
            index::int_relative(self, previous, current.reborrow()),
            Value::Number(current.number())
        )
    }

    /// A check of 32 bits derived from `name`, refused if the bits read are different. Put checks
    /// between the sections of a packet to find the section that the two sides serialize
    /// differently.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.check("after the players")), 32);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn check(&mut self, name: &'static str) -> Result<(), Self::Error> {
        operation!(
            Self,
            self,
            Op::Check { name: Cow::Borrowed(name) },
            int::check(self, name),
            Value::Unit
        )
    }

    /// A value with a serialize function of its own.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// assert_eq!(MeasureStream::bits_of(|s| s.object(&[1u8, 2, 3])), 24);
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn object<'a, T: Wire + 'a>(
        &mut self,
        value: impl IntoTarget<'a, Self::Access, T>,
    ) -> Result<(), Self::Error> {
        let value = place(self, value);
        group!(
            Self,
            self,
            TraceScope::Object { type_name: type_name::<T>() },
            T::serialize(value, self)
        )
    }

    /// Refuses the value that was just read, or is about to be written, for a reason of the
    /// application: a reader fails, a writer does not finish. The error's bit is the current
    /// position, behind the value that was read; a trace reports the operation before it.
    ///
    /// ```
    /// # use tightwire::{stream::*, *};
    /// let mut stream = ReadStream::new(&[7]);
    /// let mut even = 0u8;
    /// stream.int(&mut even, 0..=255)?;
    /// if even % 2 == 1 {
    ///     assert_eq!(stream.refuse(), Err(ReadError { kind: ErrorKind::Custom, bit: 8 }));
    /// }
    /// # Ok::<(), ReadError>(())
    /// ```
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refuse(&mut self) -> Result<(), Self::Error> {
        let bit = self.position();
        self.refuse_at(ErrorKind::Custom, bit)
    }
}

impl<S: RawStream> Stream for S {}

/// Converts the argument of an operation into its target, and passes its name to a tracing stream.
#[cfg_attr(not(debug_assertions), inline(always))]
fn place<'a, S: RawStream, T: ?Sized>(
    stream: &mut S,
    value: impl IntoTarget<'a, S::Access, T>,
) -> Target<'a, S::Access, T> {
    if S::TRACES
        && let Some(name) = value.name()
    {
        stream.name_place(name);
    }
    value.into_target()
}

/// Refuses a field that the program described wrongly; when writing in a debug build, panics with
/// the message. A reader never panics, because the description may come from the packet.
#[cold]
fn misuse<S: Stream>(stream: &mut S, message: &'static str) -> Result<(), S::Error> {
    debug_assert!(S::READING, "{message}");
    let bit = stream.position();
    stream.refuse_at(ErrorKind::Misuse, bit)
}

/// Runs an operation that takes no bits: a stream that has failed refuses it too.
#[cfg_attr(not(debug_assertions), inline(always))]
fn check_not_failed<S: Stream>(stream: &mut S) -> Result<(), S::Error> {
    stream.raw_bits(&mut 0, 0)
}
