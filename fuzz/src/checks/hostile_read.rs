//! Reads of any bytes: accepted or refused, without side effects.

use std::fmt::Debug;

use tightwire::stream::{ErrorKind, Number, Op, RawStream, ReadError, ReadStream, Trace, Value};
use tightwire::{Stream, Target, Wire, decode, decode_into, encode, explain, measure};

use super::types::{Blobs, Choices, Everything, Integers, Motion, Sets, Text, Varints, World};

/// Checks two packets of one type. The first byte chooses the type, so that a refusal of one type
/// hides nothing of the others. The next two are the length of the first packet; the second packet
/// is read into the value that the first left behind, complete or partly read.
pub(crate) fn hostile_read(data: &[u8]) {
    let &[choice, low, high, ref packets @ ..] = data else { return };
    let length = u16::from_le_bytes([low, high]);
    let (first, second) = packets.split_at(packets.len().min(length.into()));
    match choice % 9 {
        0 => check_both::<Integers>(first, second),
        1 => check_both::<Varints>(first, second),
        2 => check_both::<Motion>(first, second),
        3 => check_both::<Text>(first, second),
        4 => check_both::<Blobs>(first, second),
        5 => check_both::<Sets>(first, second),
        6 => check_both::<Choices>(first, second),
        7 => check_both::<World>(first, second),
        _ => check_both::<Everything>(first, second),
    }
}

/// Properties of a type besides its wire form.
pub(super) trait Hostile: Wire + Default + PartialEq + Debug {
    /// Whether every value has only one encoding.
    const IS_CANONICAL: bool;

    /// Whether a value that was read stays the same when written and read again. Rotations do not:
    /// where two components are nearly the largest, rounding may exchange them.
    const IS_EXACT: bool = true;

    /// Returns the heap memory of the value, in bytes.
    fn heap(&self) -> usize {
        0
    }

    /// Returns whether `other` is this value written and read again.
    fn agrees(&self, other: &Self) -> bool {
        self == other
    }
}

/// Maximum memory per byte of a packet, in bytes. The elements of the arrays here take at most 24
/// bytes for each byte on the wire, and a growing `Vec` doubles.
const HEAP_PER_BYTE: usize = 64;

/// Maximum length of the one array whose elements take no bits.
pub(super) const FREE_ELEMENTS: usize = 1000;

/// Maximum memory for free elements, and for the first elements of each other array, in bytes.
const HEAP_FOR_FREE: usize = 2 * FREE_ELEMENTS + 1024;

/// Maximum number of operations for free elements, constants and empty sets.
const OPERATIONS_FOR_FREE: usize = FREE_ELEMENTS + 64;

fn check_both<T: Hostile>(first: &[u8], second: &[u8]) {
    let mut value = check::<T>(first);
    for packet in [first, second] {
        let in_place = decode_into(packet, &mut value);
        match decode::<T>(packet) {
            Ok(fresh) => {
                assert_eq!(in_place, Ok(()));
                assert_eq!(value, fresh, "what the value was before shows");
            }
            Err(refused) => assert_eq!(in_place, Err(refused)),
        }
    }
}

/// Reads one packet; the value is partly read if the packet was refused.
fn check<T: Hostile>(packet: &[u8]) -> T {
    let mut value = T::default();
    let mut stream = ReadStream::new(packet);
    let read = Wire::serialize(Target::from(&mut value), &mut stream);
    assert!(value.heap() <= HEAP_FOR_FREE + HEAP_PER_BYTE * packet.len(), "{} bytes", value.heap());
    if let Err(refused) = read {
        check_stays_failed(stream.clone(), refused);
    }
    let end = stream.position();
    let outcome = stream.finish();

    let trace = explain::<T>(packet);
    match outcome {
        // Tuples and short arrays are checked in words, whatever fields these hold.
        Err(ReadError { kind: ErrorKind::UnexpectedEnd, .. }) => {
            assert!(trace.failure().is_some());
            check_trace(&trace, trace.spans().last().map_or(0, |span| span.bits().end));
        }
        _ => {
            assert_eq!(trace.failure(), outcome.err().map(|refused| (refused.kind, refused.bit)));
            check_trace(&trace, end);
        }
    }
    match outcome {
        Ok(()) => check_accepted(&mut value, packet, end),
        Err(refused) => assert!(refused.bit <= packet.len() as u64 * 8, "{refused:?}"),
    }
    value
}

fn check_stays_failed(mut stream: ReadStream<'_>, refused: ReadError) {
    assert_eq!(stream.failure(), Some((refused.kind, refused.bit)));
    assert_eq!(stream.remaining(), 0);
    assert_eq!(stream.bits(&mut 0, 0), Err(refused));
    assert_eq!(stream.int(&mut 0u64, 0..=u64::MAX), Err(refused));
    assert_eq!(stream.align(), Err(refused));
    assert_eq!(stream.bytes(&mut []), Err(refused));
    assert_eq!(stream.finish(), Err(refused));
}

/// Checks that the operations are adjacent, up to the reader's position.
fn check_trace(trace: &Trace, end: u64) {
    assert!(trace.spans().count() as u64 <= end + OPERATIONS_FOR_FREE as u64);
    let mut at = 0;
    for span in trace.spans() {
        assert_eq!(span.bits().start, at, "{}", span.path());
        at = span.bits().end;
    }
    assert_eq!(at, end);
    if let Some(refused) = trace.refused()
        && let (Some(Op::Int { min, max }), Some(Value::Number(value))) =
            (refused.op(), refused.value())
        && trace.failure().is_some_and(|(kind, _)| kind == ErrorKind::OutOfRange)
    {
        assert!(!is_within(*value, *min, *max), "{value} is in {min}..={max}");
    }
    // Drawing is slow, and a long trace is drawn as a short one is.
    if trace.bytes().len() <= 16 {
        assert!(format!("{trace:#}").lines().count() >= trace.spans().count());
    }
}

/// Returns whether a number is in a range. A number beyond the widest types is shown as their
/// maximum, which proves nothing.
fn is_within(value: Number, min: Number, max: Number) -> bool {
    match (value, min, max) {
        (Number::Unsigned(value), Number::Unsigned(min), Number::Unsigned(max)) => {
            (min..=max).contains(&value) && value != u128::MAX
        }
        (Number::Signed(value), Number::Signed(min), Number::Signed(max)) => {
            (min..=max).contains(&value) && value != i128::MAX
        }
        _ => false,
    }
}

fn check_accepted<T: Hostile>(value: &mut T, packet: &[u8], end: u64) {
    let measured = measure(value);
    assert!(measured >= end || !T::IS_CANONICAL, "{measured} bits measured, {end} read");
    let mut buffer = vec![0xff; measured.div_ceil(8) as usize];
    let again = encode(value, &mut buffer);
    let Ok(again) = again else { panic!("{again:?}: what was read is not written: {value:?}") };
    if T::IS_CANONICAL {
        assert_eq!(again, packet);
    }
    let second = match decode::<T>(again) {
        Ok(second) => second,
        Err(refused) => panic!("{refused:?}: what was written is not read: {value:?}"),
    };
    assert!(value.agrees(&second), "{value:?} became {second:?}");
    if T::IS_EXACT {
        let mut buffer = vec![0; again.len()];
        assert_eq!(encode(&second, &mut buffer), Ok(again), "each writing changes the packet");
    }

    if let Some((_, cut)) = packet.split_last() {
        let kind = decode::<T>(cut).err().map(|refused| refused.kind);
        assert_eq!(kind, Some(ErrorKind::UnexpectedEnd));
    }
    let longer = [packet, &[0]].concat();
    let refused = ReadError { kind: ErrorKind::TrailingData, bit: end };
    assert_eq!(decode::<T>(&longer).err(), Some(refused));
}
