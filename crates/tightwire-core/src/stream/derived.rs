//! Functions that derived code evaluates at compile time, and the few operations that only derived
//! code needs.
//!
//! Derived code is small before it is optimised: `if const` and associated constants remove
//! everything that a type or a stream does not use (names, whole-byte packing, a second copy for
//! short buffers) before code is generated. Errors are propagated by `if let` instead of `?`, and
//! inlining is forced only in builds without debug assertions. `./ci.sh compile-time` measures the
//! effect.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::hint::black_box;

use super::raw::{group, operation};
use super::{
    Access, Condition, ErrorKind, FloatRange, Hints, Int, List, MAX_DIMENSIONS, Name, Number, Op,
    Pod, Run, Shape, Stream, Target, Value, Vector, Wire, collection, explain_write, int, text,
};

/// Widths of the fields of a type: one list for a struct, one for each variant of an enum. `None`
/// stands for a field of variable width, and separates fields that are not sent together.
pub trait Slots {
    /// Widths in bits, by variant and field.
    const SLOTS: &'static [&'static [Option<u32>]];
}

/// Bits from `field` to the end of its run.
pub const fn rest_of_run(slots: &[Option<u32>], mut field: usize) -> u32 {
    let mut bits = 0;
    while field < slots.len() {
        let Some(width) = slots[field] else { break };
        bits += width;
        field += 1;
    }
    bits
}

/// Whether a value has a fixed size, and room in a word beside a bit that says whether it follows.
pub const fn fits_word(bits: Option<u32>) -> bool {
    matches!(bits, Some(bits) if bits < u64::BITS)
}

/// Bits of a value that [`fits_word`].
pub const fn word_bits(bits: Option<u32>) -> u32 {
    match bits {
        Some(bits) => bits,
        None => 0,
    }
}

/// Bits of a type, if the number is always the same.
pub const fn fixed_bits(slots: &[Option<u32>]) -> Option<u32> {
    let mut field = 0;
    while field < slots.len() {
        if slots[field].is_none() {
            return None;
        }
        field += 1;
    }
    Some(rest_of_run(slots, 0))
}

/// Bits of an enum's fields, if the number is the same in every variant.
pub const fn fixed_enum_bits(variants: &[&[Option<u32>]]) -> Option<u32> {
    let first = fixed_bits(variants[0]);
    let mut variant = 1;
    while variant < variants.len() {
        match (first, fixed_bits(variants[variant])) {
            (Some(bits), Some(same)) if bits == same => variant += 1,
            _ => return None,
        }
    }
    first
}

/// Bits of an array, if they are few and the number is always the same. A longer array becomes a
/// loop, in which no position is known at compile time.
pub const fn array_bits(element: Option<u32>, len: usize) -> Option<u32> {
    match element {
        Some(bits) if len <= 8 && bits * len as u32 <= 128 => Some(bits * len as u32),
        _ => None,
    }
}

/// Like [`array_bits`], for elements that join: an array that fits one word has a fixed size.
pub const fn joined_bits(element: Option<u32>, len: usize, joins: bool) -> Option<u32> {
    match element {
        Some(bits) if joins && bits as usize * len <= 64 => Some(bits * len as u32),
        _ => array_bits(element, len),
    }
}

/// Width of a range, with bounds given in two's complement.
pub const fn int_bits(is_ordered: bool, min: u128, max: u128) -> u32 {
    assert!(is_ordered, "range: the first bound is above the second, swap them");
    u128::BITS - max.wrapping_sub(min).leading_zeros()
}

/// Checks the `bits` of an attribute and returns them.
pub const fn low_bits_width(bits: u32, type_bits: u32) -> u32 {
    assert!(bits <= 64, "bits: a field has at most 64");
    assert!(bits <= type_bits, "bits: more than the field's type has");
    bits
}

/// Largest size in bits of a variable-length integer.
pub const fn varint_bits(type_bits: u32) -> u64 {
    type_bits.div_ceil(7) as u64 * 8
}

/// Checks the range of an attribute and returns it.
pub const fn float_range(min: f32, max: f32, resolution: f32) -> FloatRange {
    assert!(min.is_finite() && max.is_finite(), "min, max: both must be finite");
    assert!(min < max, "min, max: min must be below max");
    assert!(resolution.is_finite(), "resolution: it must be finite");
    assert!(resolution > 0.0, "resolution: it must be above zero");
    // With more steps, the arithmetic of an `f32` is coarser than one step, and the resolution does
    // not hold.
    assert!(
        (max - min) / resolution <= (1 << 23) as f32,
        "resolution: an `f32` is not that exact over this range: write a coarser one, or send it whole"
    );
    FloatRange::new(min, max, resolution)
}

/// Width of a rotation.
pub const fn smallest_three_bits(bits: u32) -> u32 {
    assert!(3 <= bits && bits <= 20, "smallest_three: 3 to 20 bits per component are possible");
    2 + 3 * bits
}

/// Width of a direction.
pub const fn unit_bits(bits: u32) -> u32 {
    assert!(2 <= bits && bits <= 20, "unit: 2 to 20 bits per coordinate are possible");
    2 * bits
}

/// Largest size in bits of text or bytes of up to `max_len`.
pub const fn text_bits(max_len: usize) -> u64 {
    list_bits(max_len, 8).saturating_add(7)
}

/// Largest size in bits of a list of up to `max_len` elements.
pub const fn list_bits(max_len: usize, element: u64) -> u64 {
    assert!(
        max_len as u64 <= MAX_LEN,
        "max_len: a list, text or bytes have at most 4294967295 elements: write a smaller bound"
    );
    element.saturating_mul(max_len as u64).saturating_add(length_bits(max_len))
}

/// Checks and returns the length of an array.
pub const fn array_len(len: usize) -> u64 {
    assert!(len as u64 <= MAX_LEN, "an array has at most 4294967295 elements: make it shorter");
    len as u64
}

/// The largest length of a schema.
pub(crate) const MAX_LEN: u64 = u32::MAX as u64;

/// The bytes of a schema's names.
pub(crate) const MAX_NAME: usize = 255;

/// Levels of a schema.
pub(crate) const MAX_DEPTH: u32 = 32;

/// The levels of a type's shape: the most of those that are known and those of its parts.
pub const fn depth(known: u32, parts: &[u32]) -> u32 {
    let mut most = known;
    let mut part = 0;
    while part < parts.len() {
        if parts[part] > most {
            most = parts[part];
        }
        part += 1;
    }
    assert!(
        most <= MAX_DEPTH,
        "types are nested more than 32 levels deep, arrays, options and lists counting as one: \
         reduce the nesting"
    );
    most
}

/// Checks that a message leaves two levels for the session's schema.
pub const fn message_depth(depth: u32) {
    assert!(
        depth + 2 <= MAX_DEPTH,
        "a message nests types at most 30 levels deep, arrays, options and lists counting as one: \
         reduce the nesting"
    );
}

/// The bits of a length.
pub const fn length_bits(max_len: usize) -> u64 {
    (u64::BITS - (max_len as u64).leading_zeros()) as u64
}

/// Width of an enum's ordinal.
pub const fn ordinal_bits(variants: usize) -> u32 {
    length_bits(variants - 1) as u32
}

/// The larger of two numbers, as a `const fn`.
pub const fn max(a: u64, b: u64) -> u64 {
    if a > b { a } else { b }
}

/// The components of an array of floats.
pub const fn dimensions<V: Vector<N>, const N: usize>() -> usize {
    N
}

/// Checks and returns the components of a vector.
pub const fn checked_dimensions<V: Vector<N>, const N: usize>() -> usize {
    assert!(N <= MAX_DIMENSIONS, "a vector has at most 64 components: send an array of floats");
    N
}

/// Checks that a hinted number has at most 32 bits; returns 0.
pub const fn hinted_bits(bits: u64) -> u64 {
    assert!(
        bits <= 32,
        "hints for snapshots are for numbers of up to 32 bits: give it a smaller range"
    );
    0
}

/// The components of a newtype of numbers.
pub const fn newtype_components<T: Wire>() -> usize {
    numbers::<T>().0
}

/// The bits of a component of a newtype of numbers.
pub const fn newtype_bits<T: Wire>() -> u64 {
    numbers::<T>().1
}

const fn numbers<T: Wire>() -> (usize, u64) {
    assert!(
        T::NUMBERS.is_some(),
        "hints for snapshots are for integers with a range, floats and vectors with `min`, `max` and \
         `resolution`, and newtypes of these that derive `Wire`"
    );
    match T::NUMBERS {
        Some(numbers) => numbers,
        None => (0, 0),
    }
}

/// Checks that a wrapping field has one component; returns 0.
pub const fn wraps_components(components: usize) -> u64 {
    assert!(components == 1, "wraps: only a single number can wrap");
    0
}

/// Checks that a position has 2 or 3 components; returns 0.
pub const fn spatial_components(components: usize) -> u64 {
    assert!(components == 2 || components == 3, "spatial: a position has 2 or 3 components");
    0
}

/// Checks that a rotation is four numbers of a width that can hold the largest component's index;
/// returns 0.
pub const fn rotation_components(components: usize, bits: u64) -> u64 {
    assert!(components == 4, "rotation: the place of the largest component, and three codes");
    assert!(2 <= bits && bits <= 20, "rotation: codes of 2 to 20 bits are possible");
    0
}

/// Checks that a derivative has as many components as the field it belongs to; returns 0.
pub const fn derivative_components(own: usize, others: usize) -> u64 {
    assert!(own == others, "derivative_of: both must have the same number of components");
    0
}

/// Hints for snapshots.
pub fn hints(derivative_of: Option<&str>, flags: [bool; 6]) -> Hints {
    let [wraps, spatial, reference, rotation, owner, others] = flags;
    let derivative_of = derivative_of.map(Name::from);
    Hints { derivative_of, wraps, spatial, reference, rotation, owner, others }
}

/// The operation of a ranged integer.
pub fn int_shape<T: Int>(min: T, max: T) -> Shape {
    Shape::Op(Op::int(&(min..=max)))
}

/// The ordinal of an enum. No caller is tracked, since a trace shows the ordinal as the enum
/// itself.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn ordinal<S: Stream>(
    stream: &mut S,
    ordinal: &mut usize,
    names: &[&'static str],
) -> Result<(), S::Error> {
    stream.variant(ordinal, names.len(), |ordinal| names[ordinal])
}

/// Returns whether the variant at `index` of `count` is that of a reader's `ordinal`, or of a writer's value.
/// It is called for one variant after the other, so that the last one is the only one left.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn is_variant<S: Stream>(ordinal: usize, index: usize, count: usize, is_value: bool) -> bool {
    if S::MERGES && count <= MAX_COMPARED {
        // No jump table: variants are mostly not predictable, and the target of a mispredicted jump is known
        // later than the result of a comparison. 1000 mixed messages take 0.82 of the time to write, and 0.90
        // to read.
        black_box(());
    }
    index + 1 == count || if S::READING { ordinal == index } else { is_value }
}

/// The most variants that are compared one by one.
const MAX_COMPARED: usize = 8;

/// A ranged integer, with two bounds instead of a range, which would be built and taken apart for
/// each field.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn int<S: Stream, T: Int>(
    stream: &mut S,
    mut value: Target<'_, S::Access, T>,
    min: T,
    max: T,
) -> Result<(), S::Error> {
    operation!(
        S,
        stream,
        Op::int(&(min..=max)),
        int::ranged(stream, value.reborrow(), min, max),
        Value::Number(value.number())
    )
}

/// An element of an array, or the value of an option.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn object<S: Stream, T: Wire>(
    value: Target<'_, S::Access, T>,
    stream: &mut S,
) -> Result<(), S::Error> {
    stream.object(value)
}

/// Makes an option that is read into one with a value or without; a value that is already there keeps its
/// memory.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn set_some<A: Access, T: Default>(
    option: &mut Target<'_, A, Option<T>>,
    is_some: bool,
) {
    if let Some(option) = option.when_reading() {
        match is_some {
            true => _ = option.get_or_insert_default(),
            false => *option = None,
        }
    }
}

/// Reads the bit of an option, and makes the option one with a value or without. The value's `bits` are in
/// the run then.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn read_option<S: Stream, T: Default>(
    run: &mut Run<'_, S>,
    option: &mut Target<'_, S::Access, Option<T>>,
    bits: u32,
) -> Result<(), S::Error> {
    let is_some = run.read_option(bits)?;
    set_some(option, is_some);
    Ok(())
}

/// Borrows the value inside a box.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn unboxed<A: Access, T: ?Sized>(value: Target<'_, A, Box<T>>) -> Target<'_, A, T> {
    value.into_parts(|value| &**value, |value| &mut **value)
}

/// The lowest `width` bits of an integer of any type.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn low_bits<S: Stream, T: Int>(
    stream: &mut S,
    mut value: Target<'_, S::Access, T>,
    width: u32,
) -> Result<(), S::Error> {
    operation!(
        S,
        stream,
        Op::Bits { width },
        narrow(stream, value.reborrow(), width),
        Value::Number(value.number())
    )
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn narrow<S: Stream, T: Int>(
    stream: &mut S,
    mut value: Target<'_, S::Access, T>,
    width: u32,
) -> Result<(), S::Error> {
    let number = value.offset_from(T::default());
    let mut wide = number as u64;
    if S::WRITING && u128::from(wide) != number {
        stream.refuse_next(ErrorKind::OutOfRange)?;
    }
    int::bits(stream, Target::from(&mut wide), width)?;
    value.put(T::at_offset(T::default(), wide.into()));
    Ok(())
}

/// Text of any type that implements `TextBuffer`.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn text<S: Stream, T: text::TextBuffer>(
    stream: &mut S,
    mut value: Target<'_, S::Access, T>,
    max_len: usize,
) -> Result<(), S::Error> {
    operation!(
        S,
        stream,
        Op::String { max_len },
        text::string(stream, value.reborrow(), max_len),
        Value::Text(value.as_str().into())
    )
}

/// A list of values that declare their wire form.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn list<S: Stream, L: List<Item: Wire>>(
    stream: &mut S,
    items: Target<'_, S::Access, L>,
    max_len: usize,
) -> Result<(), S::Error> {
    collection::list(stream, items, max_len)
}

/// A list of plain structs as their memory images: the same bytes as an array of `pod`, in one
/// copy.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn pods<S: Stream, T: Pod>(
    stream: &mut S,
    items: Target<'_, S::Access, Vec<T>>,
    max_len: usize,
) -> Result<(), S::Error> {
    group!(S, stream, super::TraceScope::Group("array"), collection::pods(stream, items, max_len))
}

/// A constant of a condition. A constant whose type is not `Wire` cannot be described as data: see
/// [`NoConstant`].
#[expect(missing_debug_implementations, reason = "lives for one expression of derived code")]
pub struct Constant<T>(Cell<Option<T>>);

impl<T> Constant<T> {
    /// Wraps a constant of any type.
    pub fn new(value: T) -> Self {
        Self(Cell::new(Some(value)))
    }
}

/// Method that a call on `&Constant<T>` resolves to first, if `T` is `Wire`.
pub trait WireConstant {
    /// Returns the constant as data, if it is a single number, `bool` or variant.
    fn condition(&self) -> Option<Condition>;
}

impl<T: Wire> WireConstant for Constant<T> {
    fn condition(&self) -> Option<Condition> {
        let trace = explain_write(&self.0.take()?);
        let mut spans = trace.spans();
        match (spans.next()?.value()?, spans.next()) {
            (Value::Bool(value), None) => Some(Condition::Bool(*value)),
            (Value::Number(number), None) => Some(Condition::Number(*number)),
            (Value::Name(name), None) => Some(Condition::Variant(name.as_str().into())),
            _ => None,
        }
    }
}

/// Method that a call on `&Constant<T>` resolves to second, for every other type.
pub trait NoConstant {
    /// Returns `None`.
    fn condition(&self) -> Option<Condition>;
}

impl<T> NoConstant for &Constant<T> {
    fn condition(&self) -> Option<Condition> {
        None
    }
}

/// Converts a string into a [`Name`].
pub fn name(name: &str) -> Name {
    name.into()
}

/// The operation of a check.
pub fn check_shape(name: &'static str) -> Shape {
    Shape::Op(Op::Check { name: Cow::Borrowed(name) })
}

/// Describes an integer literal of a condition.
pub fn whole(number: i128) -> Condition {
    Condition::Number(Number::Signed(number))
}
