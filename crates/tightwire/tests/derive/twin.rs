//! A derived type beside the same type by hand: whatever a stream does with one, it does with the
//! other.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;

use tightwire::schema::{DynamicError, Schema};
use tightwire::stream::{
    ErrorKind, Node, RawStream, ReadError, ReadStream, TraceStream, WriteError, WriteStream,
};
use tightwire::{Stream, Target, Wire};

use super::one_by_one::OneByOne;
use crate::common::rng::Rng;
use crate::common::volume::volume;

/// A derived type that has its serialize function once more, field by field.
pub(crate) trait Twin: Wire + Default + Clone + PartialEq + Debug {
    /// Whether a value is read as it was written; quantised ones are not.
    const IS_EXACT: bool = true;

    /// Hand-written reference of the derived function.
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error>;

    /// Any value in its range.
    fn random(rng: &mut Rng) -> Self;

    /// Values that a writer refuses.
    fn refused() -> Vec<Self> {
        Vec::new()
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
struct ByHand<T>(T);

impl<T: Twin> Wire for ByHand<T> {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        // A copy, since patterns are plainer over a reference; the derived type has no such way
        // out.
        let mut copy = this.0.clone();
        let result = copy.by_hand(stream);
        this.put(Self(copy));
        result
    }
}

/// Everything, for values from a fixed seed.
pub(crate) fn check<T: Twin>() {
    let mut rng = Rng::new(size_of::<T>() as u64);
    let count = volume(400, 4000);
    let mut used = T::default();
    for round in 0..count {
        check_value(T::random(&mut rng), &mut used, (round % 65) as u32);
    }
    for _ in 0..8 {
        check_hostile(&mut T::random(&mut rng));
    }
    for _ in 0..count {
        let mut noise: Vec<u8> = (0..rng.below(48)).map(|_| rng.next() as u8).collect();
        if rng.below(2) == 0 {
            noise.fill(0);
        }
        compare_reads::<T>(&noise, 0);
    }
    for mut value in T::refused() {
        for start in 0..64 {
            check_refused(&mut value, start);
        }
    }
}

/// A value at any bit: the same bytes, the same size, and the same value again.
fn check_value<T: Twin>(mut value: T, used: &mut T, start: u32) {
    let mut twin = ByHand(value.clone());
    let measured = tightwire::measure(&value);
    assert_eq!(measured, tightwire::measure(&twin), "{value:?}");
    assert!(measured <= T::MAX_BITS, "{measured} bits of {}: {value:?}", T::MAX_BITS);
    let size = (measured + u64::from(start)).div_ceil(8) as usize + 1;
    let packet = write(&mut value, start, size).unwrap();
    assert_eq!(
        Ok(&packet),
        write_by_hand(&mut twin, start, size).as_ref(),
        "{value:?} at bit {start}"
    );
    if start == 0 {
        assert!(packet.len() as u64 <= T::MAX_BITS.div_ceil(8));
    }

    let read = compare_reads::<T>(&packet, start);
    assert!(read.is_some(), "what was written is read: {value:?}");
    let read = read.unwrap();
    assert!(!T::IS_EXACT || same(&read, &value), "{value:?} became {read:?}");
    let mut stream = after(&packet, start);
    assert_eq!(T::serialize(Target::from(&mut *used), &mut stream), Ok(()));
    assert!(same(used, &read), "what a value was before shows: {used:?}, {read:?}");
}

/// A packet that is cut or changed anywhere, and a buffer that is too small.
fn check_hostile<T: Twin>(value: &mut T) {
    let mut twin = ByHand(value.clone());
    let size = tightwire::measure(value).div_ceil(8) as usize;
    let packet = write(value, 0, size).unwrap();
    for length in 0..packet.len() {
        let cut = &packet[..length];
        assert!(compare_reads::<T>(cut, 0).is_none(), "read {length} bytes of {}", packet.len());
        assert_eq!(write(value, 0, length), write_by_hand(&mut twin, 0, length));
    }
    let mut changed = packet.clone();
    for bit in 0..packet.len() * 8 {
        changed[bit / 8] ^= 1 << (bit % 8);
        compare_reads::<T>(&changed, 0);
        changed[bit / 8] ^= 1 << (bit % 8);
    }

    let written = tightwire::stream::explain_write(value);
    assert_eq!((written.failure(), written.bytes()), (None, &packet[..]));
    assert_eq!(steps(&written), steps(&tightwire::stream::explain_write(&twin)));
    let read = tightwire::explain::<T>(&packet);
    assert_eq!(read.failure(), None);
    assert_eq!(steps(&read), steps(&tightwire::explain::<ByHand<T>>(&packet)));
    let paths = |trace: &tightwire::stream::Trace| -> Vec<String> {
        trace.spans().map(|span| span.path()).collect()
    };
    assert_eq!(paths(&read), paths(&written));
    let schema = tightwire::schema::Schema::of::<T>();
    assert_eq!(schema.max_bits(), T::MAX_BITS);
    if schema.decode(&packet).is_ok() {
        // The name in a schema has no parameters.
        let plain = |path: String| match (path.find('<'), path.rfind('>')) {
            (Some(first), Some(last)) => path[..first].to_string() + &path[last + 1..],
            _ => path,
        };
        let paths_of_type: Vec<_> = paths(&read).into_iter().map(plain).collect();
        assert_eq!(paths(&schema.explain(&packet)), paths_of_type);
        assert_eq!(steps(&schema.explain(&packet)), steps(&read));
    }
}

/// A value that is refused, at the same bit and for the same reason.
fn check_refused<T: Twin>(value: &mut T, start: u32) {
    let mut twin = ByHand(value.clone());
    let size = tightwire::measure(&twin) as usize / 8 + 16;
    let refused = write_by_hand(&mut twin, start, size);
    assert!(matches!(refused, Err(WriteError::Value { .. })), "{value:?} is written");
    assert_eq!(write(value, start, size), refused, "{value:?}");
    for smaller in 0..size {
        assert_eq!(
            write(value, start, smaller),
            write_by_hand(&mut twin, start, smaller),
            "{value:?}"
        );
    }
    if start == 0 {
        let trace = tightwire::stream::explain_write(value);
        assert_eq!(trace.failure(), tightwire::stream::explain_write(&twin).failure());
        assert!(trace.refused().is_some());
    }
}

fn write_by_hand<T: Twin>(
    twin: &mut ByHand<T>,
    start: u32,
    size: usize,
) -> Result<Vec<u8>, WriteError> {
    write_with(start, size, |stream| {
        let mut one_by_one = OneByOne(stream);
        let Ok(()) = ByHand::serialize(Target::from(&*twin), &mut one_by_one);
        one_by_one.0
    })
}

fn write<T: Wire>(value: &mut T, start: u32, size: usize) -> Result<Vec<u8>, WriteError> {
    write_with(start, size, |mut stream| {
        let Ok(()) = T::serialize(Target::from(&*value), &mut stream);
        stream
    })
}

/// Writes after this many bits, into a buffer of this size.
fn write_with(
    start: u32,
    size: usize,
    serialize: impl FnOnce(WriteStream<'_>) -> WriteStream<'_>,
) -> Result<Vec<u8>, WriteError> {
    let mut buffer = vec![0xa5; size];
    let mut stream = WriteStream::new(&mut buffer);
    for _ in 0..start {
        let Ok(()) = stream.bool(&mut true);
    }
    serialize(stream).finish().map(<[u8]>::to_vec)
}

/// A stream that has read this many bits.
fn after(packet: &[u8], bits: u32) -> ReadStream<'_> {
    let mut stream = ReadStream::new(packet);
    for _ in 0..bits {
        let _ = stream.bool(&mut false);
    }
    stream
}

/// Reads with both functions and with a trace, and returns what all agree on.
fn compare_reads<T: Twin>(packet: &[u8], start: u32) -> Option<T> {
    let (mut value, mut twin, mut traced) = (T::default(), T::default(), T::default());
    let mut stream = after(packet, start);
    let mut hand_stream = OneByOne(after(packet, start));
    let mut trace_stream = TraceStream::new(after(packet, start));
    let hand = twin.by_hand(&mut hand_stream);
    let derived = T::serialize(Target::from(&mut value), &mut stream);
    let trace = T::serialize(Target::from(&mut traced), &mut trace_stream);
    assert_eq!(trace, hand, "traced: {packet:02x?}");
    match (derived, hand) {
        // A run is asked for in words, whatever fields they hold: its end may come before another
        // field of it is refused, and be found at another bit.
        (Err(ReadError { kind: ErrorKind::UnexpectedEnd, bit }), Err(_)) => {
            assert!(bit <= packet.len() as u64 * 8, "{derived:?}: {packet:02x?}");
        }
        _ => assert_eq!(derived, hand, "{packet:02x?}"),
    }
    if hand.is_ok() {
        assert!(same(&value, &twin), "{value:?} by hand {twin:?}: {packet:02x?}");
        assert!(same(&traced, &twin), "{traced:?} by hand {twin:?}: {packet:02x?}");
        assert_eq!(stream.position(), hand_stream.position());
        assert_eq!(trace_stream.position(), hand_stream.position());
    } else {
        assert_eq!(stream.remaining(), 0);
        assert_eq!(
            T::serialize(Target::from(&mut value), &mut stream).err(),
            derived.err(),
            "a refusal is final"
        );
    }
    if start == 0 {
        compare_schema::<T>(packet, hand.and_then(|()| hand_stream.0.clone().finish()));
    }
    let ends = (stream.finish(), hand_stream.0.finish());
    if hand.is_ok() {
        assert_eq!(ends.0, ends.1);
    }
    ends.1.is_ok().then_some(value)
}

/// Compares the schema's reading of a packet, if the schema has the type.
fn compare_schema<T: Twin>(packet: &[u8], by_hand: Result<(), ReadError>) {
    thread_local!(static SCHEMAS: RefCell<HashMap<&'static str, Schema>> = RefCell::default());
    let read = SCHEMAS.with_borrow_mut(|schemas| {
        let make = || Schema::new(T::describe()).unwrap();
        schemas.entry(std::any::type_name::<T>()).or_insert_with(make).decode(packet)
    });
    match read {
        Err(DynamicError::Undescribed { .. }) => {}
        Err(DynamicError::Read(refused)) => assert_eq!(Err(refused), by_hand, "{packet:02x?}"),
        read => assert_eq!(read.is_ok(), by_hand.is_ok(), "{read:?}: {packet:02x?}"),
    }
}

/// Equal, also if both are not a number.
fn same<T: PartialEq + Debug>(one: &T, other: &T) -> bool {
    one == other || format!("{one:?}") == format!("{other:?}")
}

/// Every operation of a trace but for its name.
fn steps(trace: &tightwire::stream::Trace) -> Vec<String> {
    let step = |span: Node<'_>| format!("{:?} {:?} {:?}", span.bits(), span.op(), span.value());
    trace.spans().map(step).collect()
}

/// A value of a type that has no range.
pub(crate) trait Any {
    fn any(rng: &mut Rng) -> Self;
}

macro_rules! any_int {
    ($($int:ty),*) => {$(
        impl Any for $int {
            fn any(rng: &mut Rng) -> Self {
                let wide = u128::from(rng.next()) << 64 | u128::from(rng.next());
                // Often one of the ends, or near it.
                match rng.below(8) {
                    0 => <$int>::MIN,
                    1 => <$int>::MAX,
                    2 => 0,
                    3 => (wide % 100) as $int,
                    _ => wide as $int,
                }
            }
        }
    )*};
}

any_int!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);

impl Any for bool {
    fn any(rng: &mut Rng) -> Self {
        rng.below(2) == 1
    }
}

impl Any for f32 {
    fn any(rng: &mut Rng) -> Self {
        [0.0, -1.5, 3.25e7, 1e-40, f32::MAX, rng.next() as f32 / 1e12][rng.below(6)]
    }
}

impl Any for f64 {
    fn any(rng: &mut Rng) -> Self {
        [0.0, -1.5, 3.25e70, f64::MIN, rng.next() as f64 / 1e12][rng.below(5)]
    }
}

impl<T: Any, const N: usize> Any for [T; N] {
    fn any(rng: &mut Rng) -> Self {
        std::array::from_fn(|_| T::any(rng))
    }
}

impl<T: Any> Any for Option<T> {
    fn any(rng: &mut Rng) -> Self {
        (rng.below(3) > 0).then(|| T::any(rng))
    }
}

impl<T: Any> Any for Box<T> {
    fn any(rng: &mut Rng) -> Self {
        Box::new(T::any(rng))
    }
}

/// Any of a type's values.
pub(crate) fn any<T: Any>(rng: &mut Rng) -> T {
    T::any(rng)
}

/// A number of a range, often one of its ends.
pub(crate) fn within<T: TryFrom<i128>>(rng: &mut Rng, range: std::ops::RangeInclusive<i128>) -> T {
    let (low, high) = range.into_inner();
    let number = match rng.below(6) {
        0 => low,
        1 => high,
        _ => low + (u128::from(rng.next()) % (high - low + 1).unsigned_abs()) as i128,
    };
    T::try_from(number).ok().unwrap()
}

/// Up to `most` elements.
pub(crate) fn list<T>(rng: &mut Rng, most: usize, mut one: impl FnMut(&mut Rng) -> T) -> Vec<T> {
    let length = [0, most, rng.below(most + 1)][rng.below(3)];
    (0..length).map(|_| one(rng)).collect()
}

/// Text of up to `most` bytes.
pub(crate) fn text(rng: &mut Rng, most: usize) -> String {
    list(rng, most, |rng| char::from(b'a' + rng.below(26) as u8)).into_iter().collect()
}

/// A float of a range, or a little beside it.
pub(crate) fn float(rng: &mut Rng, min: f32, max: f32) -> f32 {
    let part = rng.below(1025) as f32 / 1024.0;
    min + (max - min) * (part * 1.25 - 0.125)
}

/// A direction or a rotation.
pub(crate) fn unit<const N: usize>(rng: &mut Rng) -> [f32; N] {
    let parts: [f32; N] = std::array::from_fn(|_| rng.below(201) as f32 - 100.0);
    let length = parts.iter().map(|part| part * part).sum::<f32>().sqrt();
    if length == 0.0 {
        std::array::from_fn(|i| f32::from(i == 0))
    } else {
        parts.map(|p| p / length)
    }
}
