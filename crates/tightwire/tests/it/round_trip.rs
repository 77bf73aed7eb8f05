//! Every operation, at every bit of a word: values round-trip, a packet that is cut off is refused,
//! and a flipped bit gives a value in range or a refusal.

use proptest::collection::vec;
use proptest::prelude::*;
use tightwire::stream::{Selection, SubsetCoding, WriteStream};
use tightwire::{FloatRange, Stream, Target, Wire, at};

use crate::common::field::{Field, Integer, Name, Nested, Plain, WEAPONS};

const CODINGS: [SubsetCoding; 5] = [
    SubsetCoding::BitPerObject,
    SubsetCoding::CountAndIndex,
    SubsetCoding::SentinelIndex,
    SubsetCoding::RelativeIndex,
    SubsetCoding::Best,
];

/// A field that starts at some bit: the bits before are ones, so that a writer that lets its fields
/// overlap is found.
#[derive(Clone, PartialEq, Debug)]
struct At {
    bit: u32,
    before: u64,
    field: Field,
}

impl At {
    fn new(bit: u32, field: &Field) -> Self {
        Self { bit, before: !(u64::MAX << bit), field: field.clone() }
    }

    fn blank(&self) -> Self {
        Self { bit: self.bit, before: 0, field: self.field.blank() }
    }
}

impl Wire for At {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let bit = this.bit;
        stream.bits(at!(this.before), bit)?;
        stream.object(at!(this.field))
    }
}

/// Checks the whole contract of an operation.
fn check(field: &Field, bit_of_mutations: u32) {
    assert!(field.is_in_range() || is_lossy(field), "not a value to write: {field:?}");
    for bit in 0..64 {
        round_trip(&mut At::new(bit, field));
    }
    let mut at = At::new(bit_of_mutations, field);
    let packet = encoded(&mut at);
    for length in 0..packet.len() {
        let result = tightwire::decode_into(&packet[..length], &mut at.blank());
        assert!(result.is_err(), "{length} of {} bytes of {at:?}", packet.len());
    }
    let mut mutated = packet.clone();
    for flip in 0..packet.len() * 8 {
        mutated[flip / 8] ^= 1 << (flip % 8);
        let mut read = at.blank();
        if tightwire::decode_into(&mutated, &mut read).is_ok() {
            assert!(read.field.is_in_range(), "bit {flip} of {at:?} gives {:?}", read.field);
            // A relay can pass on a value that a reader accepted: a writer can write it. And there
            // is only one form, or a packet could be changed without its contents changing.
            round_trip(&mut read);
            if is_canonical(&read.field) {
                assert_eq!(encoded(&mut read), mutated, "bit {flip} of {at:?}");
            }
        }
        mutated[flip / 8] ^= 1 << (flip % 8);
    }
}

fn round_trip(at: &mut At) {
    let packet = encoded(at);
    let mut read = at.blank();
    assert_eq!(tightwire::decode_into(&packet, &mut read), Ok(()), "{at:?}");
    assert_eq!(read.before, at.before);
    assert!(is_near(&at.field, &read.field), "{at:?} was read as {:?}", read.field);
    if !is_lossy(&at.field) {
        assert_eq!(encoded(&mut read), packet);
    }
}

/// Writes into a buffer of exactly the measured size, so that measuring too little is found.
fn encoded(at: &mut At) -> Vec<u8> {
    let measured = tightwire::measure(at);
    let mut buffer = vec![0xaa; measured.div_ceil(8) as usize];
    let mut stream = WriteStream::new(&mut buffer);
    let Ok(()) = At::serialize(Target::from(&mut *at), &mut stream);
    assert!(stream.position() <= measured, "{measured} bits measured for {at:?}");
    stream.finish().unwrap_or_else(|refused| panic!("{at:?}: {refused}")).to_vec()
}

fn is_lossy(field: &Field) -> bool {
    matches!(
        field,
        Field::CompressedFloat { .. }
            | Field::CompressedVector { .. }
            | Field::SmallestThree { .. }
            | Field::UnitVector { .. }
    )
}

/// Whether a value has only one form. `int_relative` can write a small number the long way, `Best`
/// can choose badly, and quantised values are only near.
fn is_canonical(field: &Field) -> bool {
    let chooses = |coding: &SubsetCoding| *coding == SubsetCoding::Best;
    match field {
        Field::IntRelative { .. } => false,
        Field::Selection { coding, .. } | Field::Subset { coding, .. } => !chooses(coding),
        _ => !is_lossy(field),
    }
}

/// Whether values are equal, or within the steps of the quantisation.
fn is_near(written: &Field, read: &Field) -> bool {
    match (written, read) {
        (
            Field::CompressedFloat { value: written, range },
            Field::CompressedFloat { value: read, .. },
        ) => is_within_half_a_step(*written, *read, *range),
        (
            Field::CompressedVector { value: written, range },
            Field::CompressedVector { value: read, .. },
        ) => written.iter().zip(read).all(|(&w, &r)| is_within_half_a_step(w, r, *range)),
        (
            Field::SmallestThree { value: written, bits },
            Field::SmallestThree { value: read, .. },
        ) => {
            let step = 1.0 / (((1 << (bits - 1)) - 1) as f32 * 2f32.sqrt());
            // A rotation is the same as its negative.
            let negative = read.map(|component| -component);
            let distance = distance(written, read).min(distance(written, &negative));
            distance <= 2.0 * step + 1e-5 && crate::common::field::is_unit(read)
        }
        (Field::UnitVector { value: written, bits }, Field::UnitVector { value: read, .. }) => {
            let step = 1.0 / ((1 << (bits - 1)) - 1) as f32;
            distance(written, read) <= 2.2 * step + 1e-5 && crate::common::field::is_unit(read)
        }
        _ => written == read,
    }
}

fn is_within_half_a_step(written: f32, read: f32, range: FloatRange) -> bool {
    let step = (range.max() - range.min()) / range.max_code() as f32;
    let rounding = (range.min().abs() + range.max().abs()) * f32::EPSILON * 2.0;
    (written.clamp(range.min(), range.max()) - read).abs() <= step / 2.0 + rounding
}

/// Returns the distance of two directions, whatever their lengths.
fn distance<const N: usize>(a: &[f32; N], b: &[f32; N]) -> f32 {
    let length = |v: &[f32; N]| v.iter().map(|&x| x * x).sum::<f32>().sqrt();
    let (length_a, length_b) = (length(a), length(b));
    a.iter().zip(b).map(|(x, y)| (x / length_a - y / length_b).powi(2)).sum::<f32>().sqrt()
}

/// Three numbers of a type in order, shifted down so that ranges of every width occur.
macro_rules! integers {
    ($($name:ident $int:ty),*) => {
        prop_oneof![$(
            (any::<[$int; 3]>(), 0..<$int>::BITS).prop_map(|(numbers, shift)| {
                let mut numbers = numbers.map(|number| number >> shift);
                numbers.sort_unstable();
                Integer::$name(numbers)
            })
        ),*]
    };
}

macro_rules! fixed_points {
    ($($name:ident $int:ty),*) => {
        prop_oneof![$(
            (any::<[$int; 3]>(), 0..<$int>::BITS).prop_map(|([min, raw, max], fraction_bits)| {
                let (min, max) = (min.min(max) >> fraction_bits, min.max(max) >> fraction_bits);
                let raw = raw.clamp(min << fraction_bits, max << fraction_bits);
                Field::Fixed { integer: Integer::$name([min, raw, max]), fraction_bits }
            })
        ),*]
    };
}

fn any_integer() -> impl Strategy<Value = Integer> {
    integers!(
        U8 u8, U16 u16, U32 u32, U64 u64, U128 u128, Usize usize,
        I8 i8, I16 i16, I32 i32, I64 i64, I128 i128, Isize isize
    )
}

fn any_fixed() -> impl Strategy<Value = Field> {
    fixed_points!(U8 u8, U16 u16, U32 u32, U64 u64, U128 u128, I8 i8, I16 i16, I32 i32, I64 i64, I128 i128)
}

fn any_range() -> impl Strategy<Value = FloatRange> {
    (-1000f32..1000.0, 0.1f32..1000.0, 1e-5f32..1.0)
        .prop_map(|(min, delta, resolution)| FloatRange::new(min, min + delta, resolution))
}

fn any_direction<const N: usize>() -> impl Strategy<Value = [f32; N]> {
    any::<[i32; N]>()
        .prop_filter("without a direction", |numbers| numbers.iter().any(|&number| number != 0))
        .prop_map(|numbers| numbers.map(|number| number as f32 / 1e6))
}

fn any_text() -> impl Strategy<Value = String> {
    let character = any::<char>().prop_filter("a zero is refused", |&character| character != '\0');
    vec(character, 0..8).prop_map(|characters| characters.into_iter().collect())
}

fn any_selection(max_len: usize) -> impl Strategy<Value = Selection> {
    let density = prop::sample::select(vec![0, 5, 50, 100]);
    (0..max_len, density).prop_flat_map(|(len, density)| {
        vec(0..100, len).prop_map(move |numbers| {
            let mut selection = Selection::new(len);
            for (index, _) in numbers.iter().enumerate().filter(|&(_, &number)| number < density) {
                selection.insert(index);
            }
            selection
        })
    })
}

fn any_coding() -> impl Strategy<Value = SubsetCoding> {
    prop::sample::select(CODINGS.to_vec())
}

fn any_number_or_collection() -> impl Strategy<Value = Field> {
    prop_oneof![
        (any::<u64>(), 0..=64u32).prop_map(|(value, width)| {
            Field::Bits { value: value.checked_shr(64 - width).unwrap_or(0), width }
        }),
        any::<bool>().prop_map(Field::Bool),
        any::<u32>().prop_map(Field::Float),
        any::<u64>().prop_map(Field::Double),
        prop::sample::select(WEAPONS.to_vec()).prop_map(Field::Enumerate),
        prop::option::of(10..=1000u16).prop_map(Field::Option),
        vec(-5..=5i8, 0..9).prop_map(|value| Field::Array { value, max_len: 9 }),
        prop::array::uniform5(10..=1000u16).prop_map(Field::FixedArray),
        Just(Field::Check),
        (prop::option::of(any_text()), vec(any_text(), 0..=3)).prop_map(|(first, names)| {
            let name = |text: String| Name(text.chars().take(5).collect());
            Field::Object(Nested {
                name: first.map(name).map(Box::new),
                names: names.into_iter().map(name).collect(),
            })
        }),
    ]
}

fn any_bytes() -> impl Strategy<Value = Field> {
    prop_oneof![
        Just(Field::Align),
        vec(any::<u8>(), 0..20).prop_map(Field::Bytes),
        (vec(any::<u8>(), 0..20), 0..300usize).prop_map(|(value, spare)| {
            let max_len = value.len() + spare;
            Field::Blob { value, max_len }
        }),
        (any_text(), 0..300usize).prop_map(|(value, spare)| {
            let max_len = value.len() + spare;
            Field::Text { value, max_len }
        }),
        (any_text(), 0..300usize).prop_map(|(value, spare)| {
            let max_len = value.encode_utf16().count() + spare;
            Field::WideText { value, max_len }
        }),
        any::<(u32, [u16; 3], u16)>().prop_map(|(id, parts, flags)| Field::Pod(Plain {
            id,
            parts,
            flags
        })),
    ]
}

fn any_vector() -> impl Strategy<Value = Field> {
    prop_oneof![
        any::<[u32; 3]>().prop_map(Field::Vector),
        any::<[u32; 4]>().prop_map(Field::Quaternion),
        (-2000f32..2000.0, any_range())
            .prop_map(|(value, range)| Field::CompressedFloat { value, range }),
        (prop::array::uniform3(-2000f32..2000.0), any_range())
            .prop_map(|(value, range)| Field::CompressedVector { value, range }),
        (any_direction(), 3..=20u32).prop_map(|(value, bits)| Field::SmallestThree { value, bits }),
        (any_direction(), 2..=20u32).prop_map(|(value, bits)| Field::UnitVector { value, bits }),
    ]
}

fn any_index() -> impl Strategy<Value = Field> {
    prop_oneof![
        (any::<[u32; 3]>(), 0..32u32).prop_map(|(numbers, shift)| {
            let mut numbers = numbers.map(|number| (number >> shift).min(u32::MAX - 2));
            numbers.sort_unstable();
            let [previous, index, count] = numbers;
            Field::Index { previous: Some(previous), index: index + 1, count: count + 2 }
        }),
        (any::<[u32; 2]>(), 0..32u32).prop_map(|([a, b], shift)| {
            let (a, b) = (a >> shift, b >> shift);
            Field::Index { previous: None, index: a.min(b), count: a.max(b) }
        }),
        (any::<[u32; 2]>(), 1..31u32).prop_map(|([a, b], shift)| {
            let (a, b) = (a >> shift, b >> shift);
            Field::IntRelative { previous: a.min(b), current: (a.max(b) + 1).min(i32::MAX as u32) }
        }),
        (any_selection(150), any_coding())
            .prop_map(|(value, coding)| Field::Selection { value, coding }),
        (any_selection(150), any_coding()).prop_map(|(selection, coding)| {
            let element = |index| if selection.contains(index) { index as u8 % 100 } else { 0 };
            let objects = (0..selection.array_len()).map(element).collect();
            Field::Subset { objects, selection, coding }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn integers_of_every_type_in_any_range(integer in any_integer(), bit in 0..64u32) {
        check(&Field::Int(integer), bit);
    }

    #[test]
    fn varints_of_every_type(integer in any_integer(), bit in 0..64u32) {
        check(&Field::Varint(integer), bit);
    }

    #[test]
    fn fixed_points_of_every_type(field in any_fixed(), bit in 0..64u32) {
        check(&field, bit);
    }

    #[test]
    fn plain_numbers_and_collections(field in any_number_or_collection(), bit in 0..64u32) {
        check(&field, bit);
    }

    #[test]
    fn bytes_and_text(field in any_bytes(), bit in 0..64u32) {
        check(&field, bit);
    }

    #[test]
    fn vectors_whole_and_quantised(field in any_vector(), bit in 0..64u32) {
        check(&field, bit);
    }

    #[test]
    fn indices_and_selections(field in any_index(), bit in 0..64u32) {
        check(&field, bit);
    }
}

#[test]
fn the_ends_of_every_range() {
    let mut fields = vec![
        Field::Bits { value: u64::MAX, width: 64 },
        Field::Bits { value: 0, width: 0 },
        Field::Int(Integer::I8([7, 7, 7])),
        Field::Int(Integer::U128([u128::MAX - 4, u128::MAX, u128::MAX])),
        Field::Int(Integer::I128([i128::MAX - 4, i128::MAX, i128::MAX])),
        Field::Index { previous: None, index: 0, count: 0 },
        Field::Index { previous: None, index: u32::MAX, count: u32::MAX },
        Field::Index { previous: Some(u32::MAX - 1), index: u32::MAX, count: u32::MAX },
        Field::IntRelative { previous: 0, current: i32::MAX as u32 },
        Field::IntRelative { previous: i32::MAX as u32 - 1, current: i32::MAX as u32 },
        Field::Text { value: "x".repeat(40), max_len: 40 },
        Field::Blob { value: Vec::new(), max_len: 0 },
        Field::Array { value: Vec::new(), max_len: usize::MAX },
    ];
    macro_rules! ends {
        ($($name:ident $int:ty),*) => {$(
            for value in [<$int>::MIN, 0, 1, <$int>::MAX] {
                let whole = Integer::$name([<$int>::MIN, value, <$int>::MAX]);
                fields.extend([Field::Int(whole.clone()), Field::Varint(whole)]);
            }
        )*};
    }
    ends!(U8 u8, U16 u16, U32 u32, U64 u64, U128 u128, Usize usize);
    ends!(I8 i8, I16 i16, I32 i32, I64 i64, I128 i128, Isize isize);
    for field in &fields {
        check(field, 3);
    }
}

#[test]
fn a_slice_of_plain_structs_and_the_types_of_mint_are_as_arrays() {
    let mut buffer = [0; 64];
    let mut stream = WriteStream::new(&mut buffer);
    let Ok(()) = stream.bool(&mut true);
    let Ok(()) = stream.pod(&mut [0x0102u16, 0x0304][..]);
    let Ok(()) = stream.vector(&mut mint::Vector2 { x: 1.0, y: -2.0 });
    let Ok(()) = stream.quaternion(&mut mint::Quaternion::from([0.0, 0.6, 0.0, 0.8]));
    let packet = stream.finish().unwrap();
    assert_eq!(packet[..5], [1, 2, 1, 4, 3]);
    let floats = [1.0f32, -2.0, 0.0, 0.6, 0.0, 0.8].map(f32::to_le_bytes);
    assert_eq!(packet[5..], floats.concat());
}
