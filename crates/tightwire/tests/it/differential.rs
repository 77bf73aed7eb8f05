//! The crate `serialize-official` as an oracle: for every operation that both have, the same bytes
//! from both writers, the same values from both readers, and the same refusals of any other bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use serialize::Stream as _;
use tightwire::stream::{ErrorKind, MeasureStream, RawStream, ReadStream, WriteStream};
use tightwire::{FloatRange, Stream};

/// One operation with its parameters and its value; floats as their bits, so that NaN compares.
#[derive(Clone, PartialEq, Debug)]
enum Op {
    Bits { value: u64, width: u32 },
    Int { value: i32, min: i32, max: i32 },
    Int64 { value: i64, min: i64, max: i64 },
    Int128 { value: i128, min: i128, max: i128 },
    Bool(bool),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    U128(u128),
    F32(u32),
    F64(u64),
    Compressed { bits: u32, min: f32, max: f32, resolution: f32 },
    Fixed { raw: u128, storage: Storage, fraction_bits: u32, min: i64, max: i64 },
    Align,
    Bytes(Vec<u8>),
    Text { value: String, max_len: usize },
    WideText { value: String, max_len: usize },
    IntRelative { previous: u32, current: u32 },
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Storage {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    I128,
    U128,
}

/// Runs `$body` with `$int` as the type that `$storage` names.
macro_rules! with_storage {
    ($storage:expr, $int:ident => $body:expr) => {
        with_storage!($storage, $int => $body;
            I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, I128 i128, U128 u128)
    };
    ($storage:expr, $int:ident => $body:expr; $($name:ident $kind:ty),*) => {
        match $storage {$(
            Storage::$name => {
                type $int = $kind;
                $body
            }
        )*}
    };
}

impl Op {
    /// Returns the operation as a reader has it before it reads.
    fn blank(&self) -> Self {
        let mut blank = self.clone();
        match &mut blank {
            Self::Bits { value, .. } => *value = 0,
            Self::Int { value, .. } => *value = 0,
            Self::Int64 { value, .. } => *value = 0,
            Self::Int128 { value, .. } => *value = 0,
            Self::Bool(value) => *value = false,
            Self::U8(value) => *value = 0,
            Self::U16(value) => *value = 0,
            Self::U32(value) | Self::F32(value) => *value = 0,
            Self::U64(value) | Self::F64(value) => *value = 0,
            Self::U128(value) => *value = 0,
            Self::Compressed { bits, .. } => *bits = 0,
            Self::Fixed { raw, .. } => *raw = 0,
            Self::Align => {}
            Self::Bytes(value) => value.fill(0),
            Self::Text { value, .. } | Self::WideText { value, .. } => value.clear(),
            Self::IntRelative { current, .. } => *current = 0,
        }
        blank
    }

    fn ours<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        match self {
            Self::Bits { value, width } => stream.bits(value, *width),
            Self::Int { value, min, max } => stream.int(value, *min..=*max),
            Self::Int64 { value, min, max } => stream.int(value, *min..=*max),
            Self::Int128 { value, min, max } => stream.int(value, *min..=*max),
            Self::Bool(value) => stream.bool(value),
            Self::U8(value) => stream.object(value),
            Self::U16(value) => stream.object(value),
            Self::U32(value) => stream.object(value),
            Self::U64(value) => stream.object(value),
            Self::U128(value) => stream.object(value),
            Self::F32(bits) => single(bits, |value| stream.float(value)),
            Self::F64(bits) => {
                let mut value = f64::from_bits(*bits);
                stream.double(&mut value)?;
                *bits = value.to_bits();
                Ok(())
            }
            Self::Compressed { bits, min, max, resolution } => {
                let range = FloatRange::new(*min, *max, *resolution);
                single(bits, |value| stream.compressed_float(value, range))
            }
            Self::Fixed { raw, storage, fraction_bits, min, max } => {
                with_storage!(*storage, Int => {
                    let mut value = *raw as Int;
                    stream.fixed(&mut value, *fraction_bits, *min as Int..=*max as Int)?;
                    *raw = value as u128;
                    Ok(())
                })
            }
            Self::Align => stream.align(),
            Self::Bytes(value) => stream.bytes(value),
            Self::Text { value, max_len } => stream.string(value, *max_len),
            Self::WideText { value, max_len } => stream.wide_string(value, *max_len),
            Self::IntRelative { previous, current } => stream.int_relative(*previous, current),
        }
    }

    fn theirs<S: serialize::Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        match self {
            Self::Bits { value, width } => stream.serialize_bits64(value, *width),
            Self::Int { value, min, max } => stream.serialize_int(value, *min, *max),
            Self::Int64 { value, min, max } => stream.serialize_int64(value, *min, *max),
            Self::Int128 { value, min, max } => stream.serialize_int128(value, *min, *max),
            Self::Bool(value) => stream.serialize_bool(value),
            Self::U8(value) => stream.serialize_u8(value),
            Self::U16(value) => stream.serialize_u16(value),
            Self::U32(value) => stream.serialize_u32(value),
            Self::U64(value) => stream.serialize_u64(value),
            Self::U128(value) => stream.serialize_u128(value),
            Self::F32(bits) => single(bits, |value| stream.serialize_f32(value)),
            Self::F64(bits) => {
                let mut value = f64::from_bits(*bits);
                stream.serialize_f64(&mut value)?;
                *bits = value.to_bits();
                Ok(())
            }
            Self::Compressed { bits, min, max, resolution } => single(bits, |value| {
                stream.serialize_compressed_float(value, *min, *max, *resolution)
            }),
            Self::Fixed { raw, storage, fraction_bits, min, max } => {
                with_storage!(*storage, Int => {
                    let mut value = *raw as Int;
                    let integer_bits = Int::BITS - *fraction_bits;
                    stream.serialize_fixed(&mut value, integer_bits, *fraction_bits, *min, *max)?;
                    *raw = value as u128;
                    Ok(())
                })
            }
            Self::Align => stream.serialize_align(),
            Self::Bytes(value) => stream.serialize_bytes(value),
            Self::Text { value, max_len } => stream.serialize_string(value, *max_len + 1),
            Self::WideText { value, max_len } => stream.serialize_wide_string(value, *max_len + 1),
            Self::IntRelative { previous, current } => {
                let mut value = *current as i32;
                stream.serialize_int_relative(*previous as i32, &mut value)?;
                *current = value as u32;
                Ok(())
            }
        }
    }
}

fn single<E>(bits: &mut u32, run: impl FnOnce(&mut f32) -> Result<(), E>) -> Result<(), E> {
    let mut value = f32::from_bits(*bits);
    run(&mut value)?;
    *bits = value.to_bits();
    Ok(())
}

/// Writes the operations with both writers, compares the bytes, and returns them.
fn written_by_both(ops: &[Op]) -> Vec<u8> {
    let bits =
        MeasureStream::bits_of(|stream| ops.iter().try_for_each(|op| op.clone().ours(stream)));
    let mut buffer = vec![0xaa; bits.div_ceil(8) as usize];
    let mut stream = WriteStream::new(&mut buffer);
    for op in ops {
        let Ok(()) = op.clone().ours(&mut stream);
    }
    let position = stream.position();
    let ours = stream.finish().unwrap().to_vec();

    let mut buffer = vec![0; (bits.div_ceil(64) as usize + 2) * 8];
    let mut stream = serialize::WriteStream::new(&mut buffer);
    for op in ops {
        let Ok(()) = op.clone().theirs(&mut stream);
    }
    stream.flush();
    assert_eq!(stream.bits_processed(), position, "{ops:?}");
    assert_eq!(stream.data()[..ours.len()], ours, "{ops:?}");
    ours
}

/// Reads with both, to the end of the operations also after a refusal, and compares everything.
/// Returns the number of operations that were read.
fn read_by_both(ops: &[Op], packet: &[u8]) -> usize {
    // The oracle needs slack; a reader that used it would be found.
    let padded = [packet, &[0xff; 16]].concat();
    let mut oracle = serialize::ReadStream::new(&padded, packet.len());
    let mut stream = ReadStream::new(packet);
    let mut read = 0;
    for op in ops {
        let (mut ours, mut theirs) = (op.blank(), op.blank());
        let (our_result, their_result) = (ours.ours(&mut stream), theirs.theirs(&mut oracle));
        assert_eq!(
            our_result.map_err(|refused| meaning(refused.kind)),
            their_result,
            "{op:?} at {} of {ops:?}",
            RawStream::position(&stream),
        );
        if their_result.is_ok() {
            assert_eq!(ours, theirs);
            assert_eq!(stream.position(), oracle.bits_processed());
            read += 1;
        }
    }
    read
}

/// Converts our kind of refusal to the oracle's.
fn meaning(kind: ErrorKind) -> serialize::Error {
    match kind {
        ErrorKind::UnexpectedEnd => serialize::Error::Overflow,
        ErrorKind::Padding => serialize::Error::Align,
        ErrorKind::MalformedText | ErrorKind::InteriorNul => serialize::Error::InvalidString,
        ErrorKind::OutOfRange | ErrorKind::NotIncreasing => serialize::Error::ValueOutOfRange,
        other => panic!("{other:?} is not of the public format"),
    }
}

fn any_ops() -> impl Strategy<Value = Vec<Op>> {
    vec(any_op(), 0..24)
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (any::<u64>(), 1..=64u32)
            .prop_map(|(value, width)| Op::Bits { value: value >> (64 - width), width }),
        // Shifted down by a random amount, so that ranges of every width occur.
        (any::<[i32; 3]>(), 0..32u32).prop_map(|(numbers, shift)| {
            let [min, value, max] = sorted(numbers.map(|number| number >> shift));
            Op::Int { value, min, max }
        }),
        (any::<[i64; 3]>(), 0..64u32).prop_map(|(numbers, shift)| {
            let [min, value, max] = sorted(numbers.map(|number| number >> shift));
            Op::Int64 { value, min, max }
        }),
        (any::<[i128; 3]>(), 0..128u32).prop_map(|(numbers, shift)| {
            let [min, value, max] = sorted(numbers.map(|number| number >> shift));
            Op::Int128 { value, min, max }
        }),
        any::<bool>().prop_map(Op::Bool),
        any::<u8>().prop_map(Op::U8),
        any::<u16>().prop_map(Op::U16),
        any::<u32>().prop_map(Op::U32),
        any::<u64>().prop_map(Op::U64),
        any::<u128>().prop_map(Op::U128),
        any::<u32>().prop_map(Op::F32),
        any::<u64>().prop_map(Op::F64),
        compressed(),
        fixed(),
        Just(Op::Align),
        vec(any::<u8>(), 0..20).prop_map(Op::Bytes),
        text().prop_flat_map(|value| {
            (Just(value.clone()), value.len()..value.len() + 300)
                .prop_map(|(value, max_len)| Op::Text { value, max_len })
        }),
        text().prop_flat_map(|value| {
            let units = value.encode_utf16().count();
            (Just(value), units..units + 300)
                .prop_map(|(value, max_len)| Op::WideText { value, max_len })
        }),
        (0..=i32::MAX as u32, 0..32u32).prop_flat_map(|(number, shift)| {
            let previous = (number >> shift).min(i32::MAX as u32 - 1);
            (1..=i32::MAX as u32 - previous, 0..32u32).prop_map(move |(difference, shift)| {
                Op::IntRelative { previous, current: previous + (difference >> shift).max(1) }
            })
        }),
    ]
}

/// Short text with characters of every UTF-8 and UTF-16 length, without zeros.
fn text() -> impl Strategy<Value = String> {
    let character = any::<char>().prop_filter("a zero ends the text of others", |&c| c != '\0');
    vec(prop_oneof![prop::char::range('a', 'z'), character], 0..12)
        .prop_map(|characters| characters.into_iter().collect())
}

fn compressed() -> impl Strategy<Value = Op> {
    let numbers = (-1e6f32..1e6, 1e-3f32..1e6, 1e-4f32..10.0, -0.2f32..1.2);
    numbers.prop_map(|(min, delta, resolution, position)| {
        let max = min + delta.max(min.abs() * f32::EPSILON * 2.0);
        let bits = (min + delta * position).to_bits();
        Op::Compressed { bits, min, max, resolution }
    })
}

#[allow(
    clippy::unnecessary_cast,
    clippy::unnecessary_fallible_conversions,
    clippy::useless_conversion,
    reason = "written once for ten types, and needed for some"
)]
fn fixed() -> impl Strategy<Value = Op> {
    use Storage::{I8, I16, I32, I64, I128, U8, U16, U32, U64, U128};
    let storage = prop::sample::select(vec![I8, U8, I16, U16, I32, U32, I64, U64, I128, U128]);
    (storage, any::<u32>(), any::<[i64; 2]>(), any::<u128>()).prop_map(|parameters| {
        let (storage, fraction, units, raw) = parameters;
        with_storage!(storage, Int => {
            let fraction_bits = fraction % Int::BITS;
            // Units that the storage holds: those that survive being shifted up and down.
            let in_storage = |unit: i64| ((unit as Int) << fraction_bits) >> fraction_bits;
            let [min, max] = sorted(units.map(|unit| {
                i64::try_from(in_storage(unit)).unwrap_or(i64::MAX)
            }));
            let span = ((max as i128 - min as i128) as u128) << fraction_bits;
            let raw = (raw % span.saturating_add(1)).wrapping_add((min as u128) << fraction_bits);
            Op::Fixed { raw: raw as Int as u128, storage, fraction_bits, min, max }
        })
    })
}

fn sorted<T: Ord, const N: usize>(mut numbers: [T; N]) -> [T; N] {
    numbers.sort_unstable();
    numbers
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..Default::default() })]

    #[test]
    fn both_write_the_same_bytes_and_read_each_other(ops in any_ops()) {
        let packet = written_by_both(&ops);
        prop_assert_eq!(read_by_both(&ops, &packet), ops.len());
        let mut stream = ReadStream::new(&packet);
        for op in &ops {
            let mut read = op.blank();
            prop_assert_eq!(read.ours(&mut stream), Ok(()));
            if !matches!(op, Op::Compressed { .. }) {
                prop_assert_eq!(&read, op);
            }
        }
        prop_assert_eq!(stream.finish(), Ok(()));
    }

    #[test]
    fn both_refuse_a_truncated_packet_at_the_same_operation(ops in any_ops()) {
        let packet = written_by_both(&ops);
        for length in 0..packet.len() {
            let read = read_by_both(&ops, &packet[..length]);
            prop_assert!(read < ops.len(), "{} of {} bytes", length, packet.len());
        }
    }

    #[test]
    fn both_make_the_same_of_flipped_bits(
        ops in any_ops(),
        flips in vec(any::<prop::sample::Index>(), 1..40),
    ) {
        let packet = written_by_both(&ops);
        prop_assume!(!packet.is_empty());
        for flip in flips {
            let bit = flip.index(packet.len() * 8);
            let mut mutated = packet.clone();
            mutated[bit / 8] ^= 1 << (bit % 8);
            read_by_both(&ops, &mutated);
        }
    }

    #[test]
    fn both_make_the_same_of_any_bytes(ops in any_ops(), packet in vec(any::<u8>(), 0..200)) {
        read_by_both(&ops, &packet);
    }

    #[test]
    fn both_make_the_same_of_another_packet(ops in any_ops(), others in any_ops()) {
        read_by_both(&ops, &written_by_both(&others));
    }
}
