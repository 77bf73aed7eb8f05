//! Invalid descriptions: a debug build panics with advice, a release build refuses the field.
//! Buffers that are too small are no misuse: the error has the size that is needed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tightwire::stream::{
    ErrorKind, RawStream, ReadError, ReadStream, Selection, SubsetCoding, WriteError, WriteStream,
};
use tightwire::{FloatRange, Stream, Target, Wire, at};

use crate::common::everything::Everything;

/// A field with an invalid description, which runs on any stream.
#[derive(Clone, Copy, Debug)]
enum Nonsense {
    ReversedRange,
    ReversedWideRange,
    WidthOf65,
    RotationOf2Bits,
    RotationOf21Bits,
    DirectionOf1Bit,
    DirectionOf21Bits,
    FixedBeyondItsType,
    FixedShiftedOutOfItsType,
    ReversedFixed,
    ReversedFloatRange,
    EmptyFloatRange,
    FloatRangeWithoutEnd,
    FloatRangeOfNan,
    FloatRangeWithoutResolution,
    FloatRangeOfNegativeResolution,
    FloatRangeTooFine,
    VectorOfReversedFloatRange,
    NoVariants,
    SelectionOfAnotherLength,
    RelativeToWhatIsTooLarge,
}

impl Nonsense {
    const ALL: [Self; 21] = [
        Self::ReversedRange,
        Self::ReversedWideRange,
        Self::WidthOf65,
        Self::RotationOf2Bits,
        Self::RotationOf21Bits,
        Self::DirectionOf1Bit,
        Self::DirectionOf21Bits,
        Self::FixedBeyondItsType,
        Self::FixedShiftedOutOfItsType,
        Self::ReversedFixed,
        Self::ReversedFloatRange,
        Self::EmptyFloatRange,
        Self::FloatRangeWithoutEnd,
        Self::FloatRangeOfNan,
        Self::FloatRangeWithoutResolution,
        Self::FloatRangeOfNegativeResolution,
        Self::FloatRangeTooFine,
        Self::VectorOfReversedFloatRange,
        Self::NoVariants,
        Self::SelectionOfAnotherLength,
        Self::RelativeToWhatIsTooLarge,
    ];

    /// Returns the required parts of the debug build's message: the operation, and the advice.
    fn advice(self) -> [&'static str; 2] {
        match self {
            Self::ReversedRange | Self::ReversedWideRange => ["int", "swap its bounds"],
            Self::WidthOf65 => ["bits", "at most 64"],
            Self::RotationOf2Bits | Self::RotationOf21Bits => ["smallest_three", "3 to 20 bits"],
            Self::DirectionOf1Bit | Self::DirectionOf21Bits => ["unit_vector", "2 to 20 bits"],
            Self::FixedBeyondItsType | Self::FixedShiftedOutOfItsType => ["fixed", "do not fit"],
            Self::ReversedFixed => ["range is reversed", "swap its bounds"],
            Self::NoVariants => ["enumerate", "variants is empty"],
            Self::SelectionOfAnotherLength => ["subset", "with the length of the array"],
            Self::RelativeToWhatIsTooLarge => ["int_relative", "at most i32::MAX"],
            _ => ["FloatRange", "finite min < max, and a positive resolution"],
        }
    }
}

impl Wire for Nonsense {
    // The lint that finds reversed ranges is the first to see the mistake.
    #[allow(clippy::reversed_empty_ranges)]
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.bits(&mut 5, 3)?;
        let mut compressed = |min, max, resolution| {
            stream.compressed_float(&mut 0.0, FloatRange::new(min, max, resolution))
        };
        match *this {
            Self::ReversedFloatRange => compressed(1.0, -1.0, 0.1),
            Self::EmptyFloatRange => compressed(1.0, 1.0, 0.1),
            Self::FloatRangeWithoutEnd => compressed(0.0, f32::INFINITY, 0.1),
            Self::FloatRangeOfNan => compressed(f32::NAN, 1.0, 0.1),
            Self::FloatRangeWithoutResolution => compressed(0.0, 1.0, 0.0),
            Self::FloatRangeOfNegativeResolution => compressed(0.0, 1.0, -0.1),
            Self::FloatRangeTooFine => compressed(0.0, f32::MAX, f32::MIN_POSITIVE),
            Self::VectorOfReversedFloatRange => {
                stream.compressed_vector(&mut [0.0; 3], FloatRange::new(1.0, -1.0, 0.1))
            }
            Self::ReversedRange => stream.int(&mut 5u8, 10..=0),
            Self::ReversedWideRange => stream.int(&mut 5i128, 10..=0),
            Self::WidthOf65 => stream.bits(&mut 5, 65),
            Self::RotationOf2Bits => stream.smallest_three(&mut [0.0, 0.0, 0.0, 1.0], 2),
            Self::RotationOf21Bits => stream.smallest_three(&mut [0.0, 0.0, 0.0, 1.0], 21),
            Self::DirectionOf1Bit => stream.unit_vector(&mut [0.0, 0.0, 1.0], 1),
            Self::DirectionOf21Bits => stream.unit_vector(&mut [0.0, 0.0, 1.0], 21),
            Self::FixedBeyondItsType => stream.fixed(&mut 5i16, 8, -128..=128),
            Self::FixedShiftedOutOfItsType => stream.fixed(&mut 0u8, 8, 0..=1),
            Self::ReversedFixed => stream.fixed(&mut 5i16, 2, 10..=0),
            Self::NoVariants => stream.enumerate(&mut 'a', &[]),
            Self::SelectionOfAnotherLength => {
                let (mut objects, mut selection) = ([0u8; 10], Selection::new(9));
                let coding = SubsetCoding::BitPerObject;
                stream.subset(&mut objects, &mut selection, coding, |object, s| s.object(object))
            }
            Self::RelativeToWhatIsTooLarge => stream.int_relative(1 << 31, &mut ((1 << 31) + 1)),
        }
    }
}

/// Returns the message of a panic that must happen.
#[cfg(debug_assertions)]
fn panic_of<T>(run: impl FnOnce() -> T) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(run)) else { panic!("nothing was said") };
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => panic.downcast::<&str>().expect("a message").to_string(),
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_debug_build_says_what_to_change() {
    for nonsense in Nonsense::ALL {
        let mut buffer = [0; 64];
        let messages = [
            panic_of(|| tightwire::encode(&{ nonsense }, &mut buffer).map(<[u8]>::len)),
            panic_of(|| tightwire::measure(&{ nonsense })),
        ];
        for message in messages {
            for part in nonsense.advice() {
                assert!(message.contains(part), "{nonsense:?} is explained as {message:?}");
            }
        }
    }
}

/// The description of a field may depend on the packet, so a reader must not panic.
#[test]
fn a_reader_refuses_the_field_in_every_build() {
    for nonsense in Nonsense::ALL {
        if cfg!(debug_assertions) && nonsense.advice()[0] == "FloatRange" {
            continue; // The constructor refuses it before anything is read.
        }
        let kind = match nonsense {
            Nonsense::RelativeToWhatIsTooLarge => ErrorKind::OutOfRange,
            _ => ErrorKind::Misuse,
        };
        let read = tightwire::decode_into(&[5; 64], &mut { nonsense });
        assert_eq!(read, Err(ReadError { kind, bit: 3 }), "{nonsense:?}");
    }
}

#[cfg(not(debug_assertions))]
#[test]
fn a_release_build_refuses_to_write_the_field() {
    for nonsense in Nonsense::ALL {
        let run = AssertUnwindSafe(|| {
            let mut buffer = [0; 64];
            let written = tightwire::encode(&mut { nonsense }, &mut buffer);
            let refused = WriteError::Value { kind: ErrorKind::Misuse, bit: 3 };
            assert_eq!(written, Err(refused), "{nonsense:?}");
            let _ = tightwire::measure(&mut { nonsense });
        });
        catch_unwind(run).unwrap_or_else(|_| panic!("{nonsense:?} must not panic"));
    }
}

#[test]
fn a_range_of_one_value_and_the_widest_of_everything_are_no_misuse() {
    let mut buffer = [0; 128];
    let mut stream = WriteStream::new(&mut buffer);
    let Ok(()) = stream.int(&mut 7u8, 7..=7);
    let Ok(()) = stream.bits(&mut 0, 0);
    let Ok(()) = stream.bits(&mut { u64::MAX }, 64);
    let Ok(()) = stream.smallest_three(&mut [0.0, 0.0, 0.0, 1.0], 3);
    let Ok(()) = stream.smallest_three(&mut [0.0, 0.0, 0.0, 1.0], 20);
    let Ok(()) = stream.unit_vector(&mut [0.0, 0.0, 1.0], 2);
    let Ok(()) = stream.unit_vector(&mut [0.0, 0.0, 1.0], 20);
    let Ok(()) = stream.fixed(&mut { i16::MIN }, 8, -128..=127);
    let Ok(()) = stream.enumerate(&mut 'a', &['a']);
    let Ok(()) = stream.compressed_float(&mut 0.5, FloatRange::new(0.0, 1.0, 1e-30));
    let Ok(()) = stream.compressed_float(&mut 0.5, FloatRange::new(0.0, 1.0, 100.0));
    let Ok(()) = stream.int_relative(i32::MAX as u32 - 1, &mut { i32::MAX as u32 });
    let Ok(()) = stream.string(&mut String::new(), 0);
    assert!(stream.finish().is_ok());
}

/// One operation of a writer.
type Write = fn(&mut WriteStream<'_>);

/// Values out of range are no misuse either: a writer refuses them in every build, at the bit where
/// they would have been.
#[test]
fn a_value_out_of_its_range_is_refused_in_every_build() {
    fn refused(write: impl FnOnce(&mut WriteStream<'_>)) -> WriteError {
        let mut buffer = [0; 256];
        let mut stream = WriteStream::new(&mut buffer);
        let Ok(()) = stream.bool(&mut true);
        write(&mut stream);
        stream.finish().expect_err("a value that is not allowed")
    }
    let at_bit_1 = |kind| WriteError::Value { kind, bit: 1 };
    let cases: [(ErrorKind, Write); 14] = [
        (ErrorKind::OutOfRange, |s| s.int(&mut 11u8, 0..=10).unwrap()),
        (ErrorKind::OutOfRange, |s| s.int(&mut -1i128, 0..=10).unwrap()),
        (ErrorKind::OutOfRange, |s| s.fixed(&mut 257u16, 8, 0..=1).unwrap()),
        (ErrorKind::OutOfRange, |s| s.bits(&mut 8, 3).unwrap()),
        (ErrorKind::OutOfRange, |s| s.enumerate(&mut 'z', &['a', 'b']).unwrap()),
        (ErrorKind::OutOfRange, |s| s.string(&mut "hello".into(), 4).unwrap()),
        (ErrorKind::OutOfRange, |s| s.wide_string(&mut "hello".into(), 4).unwrap()),
        (ErrorKind::OutOfRange, |s| s.blob(&mut vec![0; 5], 4).unwrap()),
        (ErrorKind::OutOfRange, |s| s.array(&mut vec![0u8; 5], 4, |v, s| s.object(v)).unwrap()),
        (ErrorKind::OutOfRange, |s| s.index(None, &mut 11, 10).unwrap()),
        (ErrorKind::OutOfRange, |s| s.int_relative(0, &mut { 1 << 31 }).unwrap()),
        (ErrorKind::NotIncreasing, |s| s.index(Some(5), &mut 5, 10).unwrap()),
        (ErrorKind::NotIncreasing, |s| s.int_relative(5, &mut 5).unwrap()),
        (ErrorKind::InteriorNul, |s| s.string(&mut "a\0b".into(), 10).unwrap()),
    ];
    for (number, (kind, write)) in cases.into_iter().enumerate() {
        assert_eq!(refused(write), at_bit_1(kind), "case {number}");
    }
    assert_eq!(refused(|s| s.refuse().unwrap()), at_bit_1(ErrorKind::Custom));
}

#[test]
fn of_several_values_the_first_is_named() {
    let wide: Write = |s| s.bits(&mut 8, 3).unwrap();
    let out_of_range: Write = |s| s.int(&mut 9, 0..=7).unwrap();
    for (first, second) in [(wide, out_of_range), (out_of_range, wide)] {
        let mut buffer = [0; 8];
        let mut stream = WriteStream::new(&mut buffer);
        let Ok(()) = stream.bool(&mut true);
        first(&mut stream);
        second(&mut stream);
        let refused = WriteError::Value { kind: ErrorKind::OutOfRange, bit: 1 };
        assert_eq!(stream.finish(), Err(refused));
    }
}

#[test]
fn a_refusal_behind_the_packet_is_no_lack_of_room() {
    for bit in [9999, u64::MAX] {
        let mut buffer = [0; 64];
        let mut stream = WriteStream::new(&mut buffer);
        let Ok(()) = stream.bool(&mut true);
        let Ok(()) = stream.refuse_at(ErrorKind::Custom, bit);
        let refused = stream.finish();
        assert!(
            matches!(refused, Err(WriteError::Value { kind: ErrorKind::Custom, bit }) if bit >= 9999),
            "{refused:?}",
        );
    }
}

#[test]
fn a_refused_write_is_explained_whatever_refused_it() {
    struct TooWide;
    impl Wire for TooWide {
        fn serialize<S: Stream>(
            _: Target<'_, S::Access, Self>,
            stream: &mut S,
        ) -> Result<(), S::Error> {
            stream.named("flag").bool(&mut true)?;
            stream.named("flags").bits(&mut 8, 3)
        }
    }
    let refused = WriteError::Value { kind: ErrorKind::OutOfRange, bit: 1 };
    assert_eq!(tightwire::encode(&TooWide, &mut [0; 8]), Err(refused));
    let trace = tightwire::stream::explain_write(&TooWide);
    assert_eq!(trace.failure(), Some((ErrorKind::OutOfRange, 1)));
    assert_eq!(trace.refused().unwrap().path(), "TooWide.flags");
}

/// A packet that ends within a byte, so that a mix-up of bits and bytes is found.
struct Ragged(Everything);

impl Wire for Ragged {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.object(at!(this.0))?;
        stream.bits(&mut 5, 3)
    }
}

#[test]
fn a_buffer_too_small_says_exactly_how_many_bits_are_needed() {
    let mut value = Ragged(Everything::sample());
    let mut buffer = [0; 4096];
    let mut stream = WriteStream::new(&mut buffer);
    let Ok(()) = Wire::serialize(Target::from(&mut value), &mut stream);
    let needed_bits = stream.position();
    assert_eq!(needed_bits % 8, 3);
    let packet = stream.finish().unwrap().to_vec();
    for length in 0..packet.len() {
        let mut memory = vec![0xaa; length + 16];
        let written = tightwire::encode(&value, &mut memory[..length]);
        let capacity_bits = length as u64 * 8;
        assert_eq!(written, Err(WriteError::Full { needed_bits, capacity_bits }));
        assert_eq!(memory[length..], [0xaa; 16], "written behind a buffer of {length} bytes");
    }
    let mut exact = vec![0xaa; packet.len()];
    assert_eq!(tightwire::encode(&value, &mut exact), Ok(&packet[..]));
}

#[test]
fn a_packet_is_refused_by_its_reader_with_the_kind_that_its_writer_gives() {
    let mut stream = ReadStream::new(&[0b1_1011]);
    let mut value = 3u8;
    assert_eq!(stream.bool(&mut false), Ok(()));
    let refused = Err(ReadError { kind: ErrorKind::OutOfRange, bit: 1 });
    assert_eq!(stream.int(&mut value, 0..=10), refused);
    assert_eq!(value, 3);
}
