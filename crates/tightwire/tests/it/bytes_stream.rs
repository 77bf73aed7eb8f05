//! The streams in whole bytes: every operation, with the same values and refusals as in bits.

use tightwire::bytes::Packing;
use tightwire::stream::{
    ByteStream, ErrorKind, Number, Op, ReadError, ReadStream, Selection, SubsetCoding, TraceStream,
    Value, WriteError, WriteStream,
};
use tightwire::{FloatRange, Stream, Wire};

use crate::common::everything::Everything;
use crate::common::field::{Field, Integer};

fn encoded<T: Wire>(value: &mut T) -> Vec<u8> {
    let mut buffer = vec![0xff; Packing::Bytes.measure(value)];
    Packing::Bytes.encode(value, &mut buffer).unwrap().to_vec()
}

/// Returns the bytes of one operation.
fn bytes_of(
    write: impl FnOnce(&mut ByteStream<WriteStream<'_>>) -> Result<(), std::convert::Infallible>,
) -> Vec<u8> {
    let mut buffer = [0xff; 64];
    let mut stream = ByteStream::new(WriteStream::new(&mut buffer));
    let Ok(()) = write(&mut stream);
    stream.into_inner().finish().unwrap().to_vec()
}

fn read(
    data: &[u8],
    read: impl FnOnce(&mut ByteStream<ReadStream<'_>>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut stream = ByteStream::new(ReadStream::new(data));
    read(&mut stream)?;
    stream.into_inner().finish()
}

#[test]
fn every_operation_comes_out_as_it_does_in_bits_and_every_prefix_is_refused() {
    let mut value = Everything::sample();
    let mut buffer = [0; 4096];
    let bits = tightwire::encode(&value, &mut buffer).unwrap();
    let packed: Everything = tightwire::decode(bits).unwrap();

    let packet = encoded(&mut value);
    assert!(packet.len() > bits.len());
    // Quantised values too, to the last bit.
    assert_eq!(Packing::Bytes.decode::<Everything>(&packet).unwrap(), packed);
    assert_eq!(Packing::Bits.decode::<Everything>(bits).unwrap(), packed);
    for length in 0..packet.len() {
        let kind = Packing::Bytes.decode::<Everything>(&packet[..length]).unwrap_err().kind;
        assert_eq!(kind, ErrorKind::UnexpectedEnd, "{length} bytes");
    }
    let longer = [&packet[..], &[0]].concat();
    let end = packet.len() as u64 * 8;
    let trailing = ReadError { kind: ErrorKind::TrailingData, bit: end };
    assert_eq!(Packing::Bytes.decode::<Everything>(&longer), Err(trailing));
}

#[test]
fn every_operation_starts_and_ends_at_a_whole_byte() {
    let packet = encoded(&mut Everything::sample());
    let trace = Packing::Bytes.explain::<Everything>(&packet);
    assert_eq!(trace.failure(), None);
    let mut at = 0;
    for span in trace.spans() {
        assert_eq!((span.bits().start, span.bits().end % 8), (at, 0), "{}", span.path());
        at = span.bits().end;
    }
    assert_eq!(at, packet.len() as u64 * 8);
}

#[test]
fn a_flipped_bit_gives_a_value_in_range_or_a_refusal() {
    let mut packet = encoded(&mut Everything::sample());
    let mut accepted = 0;
    for flip in 0..packet.len() * 8 {
        packet[flip / 8] ^= 1 << (flip % 8);
        if let Ok(mut read) = Packing::Bytes.decode::<Everything>(&packet) {
            assert!(read.fields.iter().all(Field::is_in_range), "bit {flip}");
            let again: Everything = Packing::Bytes.decode(&encoded(&mut read)).unwrap();
            assert_eq!(again.fields.len(), read.fields.len());
            accepted += 1;
        }
        packet[flip / 8] ^= 1 << (flip % 8);
    }
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn an_integer_is_itself_in_the_smallest_type_that_has_its_range() {
    fn check<T: tightwire::stream::Int + std::fmt::Debug>(
        value: T,
        range: std::ops::RangeInclusive<T>,
        expected: &[u8],
    ) {
        let bytes = bytes_of(|stream| stream.int(&mut { value }, range.clone()));
        assert_eq!(bytes, expected, "{value:?} in {range:?}");
        let mut back = T::default();
        assert_eq!(read(&bytes, |stream| stream.int(&mut back, range)), Ok(()));
        assert!(back == value);
    }
    check(77u8, 0..=100, &[77]);
    check(77i32, -10..=90, &[77]);
    check(-10i32, -10..=90, &[0xf6]);
    check(200i32, 0..=255, &[200]);
    check(200i32, -1..=255, &[200, 0]);
    check(127i64, -128..=127, &[127]);
    check(-128i64, -128..=127, &[0x80]);
    check(-129i64, -129..=127, &[0x7f, 0xff]);
    check(-300i64, -300..=-200, &[0xd4, 0xfe]);
    check(1050u32, 1000..=1100, &[0x1a, 0x04]);
    check(70_000u64, 0..=70_000, &[0x70, 0x11, 1, 0]);
    check(1u64 << 32, 0..=1 << 32, &[0, 0, 0, 0, 1, 0, 0, 0]);
    check(u64::MAX, 0..=u64::MAX, &[0xff; 8]);
    check(i64::MIN, i64::MIN..=i64::MAX, &[0, 0, 0, 0, 0, 0, 0, 0x80]);
    check(1u128 << 64, 0..=1 << 64, &[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    check(i128::MIN, i128::MIN..=i128::MAX, &[&[0; 15][..], &[0x80]].concat());
    check(-2i128, -3..=3, &[0xfe]);
    check(5u8, 5..=5, &[]);
    check(-5i8, -5..=-5, &[]);
    check(1usize, 0..=70_000, &[1, 0, 0, 0]);
}

#[test]
fn values_out_of_range_are_neither_read_nor_written() {
    let out_of_range = Err(ReadError { kind: ErrorKind::OutOfRange, bit: 0 });
    let int = |data: &[u8]| read(data, |stream| stream.int(&mut 0i32, -10..=90));
    for byte in 0..=u8::MAX {
        let expected = if (-10..=90).contains(&byte.cast_signed()) { Ok(()) } else { out_of_range };
        assert_eq!(int(&[byte]), expected, "{byte}");
    }
    for byte in 0..=u8::MAX {
        let expected = if byte < 2 { Ok(()) } else { out_of_range };
        assert_eq!(read(&[byte], |stream| stream.bool(&mut true)), expected, "{byte}");
        let expected = if byte < 8 { Ok(()) } else { out_of_range };
        assert_eq!(read(&[byte], |stream| stream.bits(&mut 0, 3)), expected, "{byte}");
        let expected = if byte <= 100 { Ok(()) } else { out_of_range };
        let range = FloatRange::new(0.0, 10.0, 0.1);
        assert_eq!(read(&[byte], |s| s.compressed_float(&mut 0.0, range)), expected, "{byte}");
    }
    let refused = |write: fn(&mut ByteStream<WriteStream<'_>>)| {
        let mut buffer = [0; 64];
        let mut stream = ByteStream::new(WriteStream::new(&mut buffer));
        write(&mut stream);
        stream.into_inner().finish().map(<[u8]>::len)
    };
    let value = Err(WriteError::Value { kind: ErrorKind::OutOfRange, bit: 0 });
    assert_eq!(refused(|s| s.int(&mut 91, -10..=90).unwrap()), value);
    assert_eq!(refused(|s| s.int(&mut -11i128, -10..=90).unwrap()), value);
    assert_eq!(refused(|s| s.bits(&mut 8, 3).unwrap()), value);
    assert_eq!(refused(|s| s.int(&mut 6, 5..=5).unwrap()), value);
}

#[test]
fn packed_types_are_plain_in_whole_bytes() {
    assert_eq!(bytes_of(|s| s.varint(&mut 300u32)), [0x2c, 1, 0, 0]);
    assert_eq!(bytes_of(|s| s.varint(&mut -2i16)), [0xfe, 0xff]);
    assert_eq!(bytes_of(|s| s.varint(&mut 1usize)), [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes_of(|s| s.fixed(&mut -384, 8, -100..=100)), [0x80, 0xfe]);
    let range = FloatRange::new(0.0, 10.0, 0.01);
    let vector = bytes_of(|s| s.compressed_vector(&mut [7.5, 0.0, 10.0], range));
    assert_eq!(vector, [0xee, 2, 0, 0, 0xe8, 3]);
    let rotation = bytes_of(|s| s.smallest_three(&mut [0.0, 0.0, 0.0, 1.0], 10));
    assert_eq!(rotation, [3, 0xff, 1, 0xff, 1, 0xff, 1]);
    assert_eq!(bytes_of(|s| s.unit_vector(&mut [0.0, 0.0, 1.0], 7)), [63, 63]);
    assert_eq!(bytes_of(|s| s.index(Some(40), &mut 300, 4096)), [0x2c, 1]);
    assert_eq!(bytes_of(|s| s.int_relative(1000, &mut 1001)), [0xe9, 3, 0, 0]);
    assert_eq!(bytes_of(|s| s.string(&mut "Ada".into(), 31)), *b"\x03Ada");
    assert!(bytes_of(|s| s.align()).is_empty());
    let mut chosen = Selection::new(12);
    assert!([1, 2, 9].map(|index| chosen.insert(index)) == [true; 3]);
    let mut selection = |coding| bytes_of(|s| s.selection(&mut chosen, coding));
    assert_eq!(selection(SubsetCoding::BitPerObject), [6, 2]);
    assert_eq!(selection(SubsetCoding::CountAndIndex), [3, 1, 2, 9]);
    assert_eq!(selection(SubsetCoding::SentinelIndex), [1, 2, 9, 12]);
    assert_eq!(selection(SubsetCoding::RelativeIndex), [1, 2, 9, 12]);
    assert_eq!(selection(SubsetCoding::Best), [3, 1, 2, 9]);
}

#[test]
fn plain_indices_are_checked_as_relative_ones_are() {
    let index = |data: &[u8]| read(data, |s| s.index(Some(40), &mut 0, 100));
    assert_eq!(index(&[41]), Ok(()));
    assert_eq!(index(&[100]), Ok(()), "there are no more");
    assert_eq!(index(&[101]), Err(ReadError { kind: ErrorKind::OutOfRange, bit: 0 }));
    assert_eq!(index(&[40]), Err(ReadError { kind: ErrorKind::NotIncreasing, bit: 0 }));
    let relative = |data: &[u8]| read(data, |s| s.int_relative(1000, &mut 0));
    assert_eq!(relative(&[0xe9, 3, 0, 0]), Ok(()));
    let not_increasing = Err(ReadError { kind: ErrorKind::NotIncreasing, bit: 0 });
    assert_eq!(relative(&[0xe8, 3, 0, 0]), not_increasing);
    let out_of_range = Err(ReadError { kind: ErrorKind::OutOfRange, bit: 0 });
    assert_eq!(relative(&[0xff, 0xff, 0xff, 0xff]), out_of_range);
}

/// A derived type, so that in bits its fields are merged to words.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Player {
    #[wire(range = -100..=100)]
    health: i8,
    alive: bool,
    #[wire(bits = 12)]
    buttons: u16,
    #[wire(when = self.alive, range = 1..=1000)]
    score: u32,
    kind: Kind,
    pair: (u8, [bool; 2]),
    #[wire(varint)]
    gold: i64,
    #[wire(max_len = 31)]
    name: String,
    #[wire(max_len = 5, pod)]
    plain: Vec<[u16; 2]>,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
enum Kind {
    #[default]
    Human,
    Bot {
        #[wire(range = 0..=9)]
        level: u8,
    },
}

fn player() -> Player {
    Player {
        health: -3,
        alive: true,
        buttons: 0x123,
        score: 258,
        kind: Kind::Bot { level: 7 },
        pair: (9, [true, false]),
        gold: -2,
        name: "Ada".into(),
        plain: vec![[1, 2]],
    }
}

#[test]
fn a_derived_type_is_not_merged_and_reads_as_a_dump() {
    let packet = encoded(&mut player());
    let expected = [
        &[0xfd][..],                                       // health: -3
        &[0x01],                                           // alive
        &[0x23, 0x01],                                     // buttons: 0x123
        &[0x02, 0x01],                                     // score: 258
        &[0x01, 0x07],                                     // kind: Bot, level 7
        &[0x09, 0x01, 0x00],                               // pair
        &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], // gold: -2
        &[0x03, b'A', b'd', b'a'],                         // name
        &[0x01, 0x01, 0x00, 0x02, 0x00],                   // plain: one
    ]
    .concat();
    assert_eq!(packet, expected);
    assert_eq!(Packing::Bytes.decode::<Player>(&packet), Ok(player()));
    let mut read = Player { name: "a longer name".into(), ..Player::default() };
    assert_eq!(Packing::Bytes.decode_into(&packet, &mut read), Ok(()));
    assert_eq!(read, player());
}

#[test]
fn a_refusal_is_explained_with_the_value_that_was_sent() {
    let sentence = |packet: &[u8]| {
        let trace = Packing::Bytes.explain::<Player>(packet);
        trace.to_string().lines().last().unwrap().to_owned()
    };
    assert_eq!(sentence(&[0x9b]), "Player.health at bit 0: -101 is not in -100..=100");
    let packet = [0xfd, 1, 0x23, 0x01, 0xe9, 0x03];
    assert_eq!(sentence(&packet), "Player.score at bit 32: 1001 is not in 1..=1000");

    let mut stream = TraceStream::new(ByteStream::new(ReadStream::new(&[0, 0x80])));
    let refused = stream.int(&mut 0i16, -1000..=1000);
    assert_eq!(refused, Err(ReadError { kind: ErrorKind::OutOfRange, bit: 0 }));
    let (_, trace) = stream.into_parts();
    let value = trace.refused().unwrap().value().cloned();
    assert_eq!(value, Some(Value::Number(Number::Signed(-32768))));
}

#[test]
fn a_written_trace_has_the_operations_of_the_read_one() {
    let mut buffer = [0; 256];
    let mut stream = TraceStream::new(ByteStream::new(WriteStream::new(&mut buffer)));
    let Ok(()) = stream.object(&mut player());
    let (stream, written) = stream.into_parts();
    let packet = stream.into_inner().finish().unwrap();
    let mut stream = TraceStream::new(ByteStream::new(ReadStream::new(packet)));
    stream.object(&mut Player::default()).unwrap();
    let (_, read) = stream.into_parts();
    let spans = |trace: &tightwire::stream::Trace| -> Vec<(Option<Op>, _, Option<Value>)> {
        trace.spans().map(|s| (s.op().cloned(), s.bits(), s.value().cloned())).collect()
    };
    assert_eq!(spans(&read), spans(&written));
}

#[test]
fn a_schema_reads_whole_bytes_as_the_type_does() {
    #[derive(Wire, Default, Clone, PartialEq, Debug)]
    struct Described {
        #[wire(range = -300..=100)]
        temperature: i64,
        #[wire(varint)]
        gold: u32,
        huge: u128,
        #[wire(min = -1.0, max = 1.0, resolution = 0.01)]
        lean: [f32; 3],
        #[wire(max_len = 9)]
        scores: Vec<Option<i8>>,
    }
    let mut value = Described {
        temperature: -273,
        gold: 70_000,
        huge: 1 << 100,
        lean: [0.5, -0.5, 1.0],
        scores: vec![None, Some(-1)],
    };
    let packet = encoded(&mut value);
    let schema = tightwire::schema::Schema::of::<Described>();
    let mut tree = tightwire::schema::Dynamic::default();
    let mut stream = ByteStream::new(ReadStream::new(&packet));
    schema.serialize(&mut tree, &mut stream).unwrap();
    stream.into_inner().finish().unwrap();
    let mut buffer = [0; 256];
    let mut stream = ByteStream::new(WriteStream::new(&mut buffer));
    schema.serialize(&mut tree, &mut stream).unwrap();
    assert_eq!(stream.into_inner().finish(), Ok(&packet[..]));
}

#[test]
fn a_failed_stream_refuses_values_of_no_bytes_too() {
    let mut stream = ByteStream::new(ReadStream::new(&[2]));
    let refused = Err(ReadError { kind: ErrorKind::OutOfRange, bit: 0 });
    assert_eq!(stream.bool(&mut true), refused);
    assert_eq!(stream.int(&mut 5u8, 5..=5), refused);
    assert_eq!(stream.bits(&mut 0, 0), refused);
    assert_eq!(stream.object(&mut ()), refused);
    assert_eq!(stream.align(), refused);
    assert_eq!(stream.bytes(&mut []), refused);
}

/// Tests each type of integer, since the widest and the narrowest have code paths of their own.
#[test]
fn integers_of_every_type_come_back() {
    let mut fields = vec![
        Field::Int(Integer::Usize([3, 70, 100])),
        Field::Int(Integer::Isize([-3, -2, 100])),
        Field::Int(Integer::I128([-5, 1 << 100, 1 << 100])),
        Field::Varint(Integer::Usize([0, usize::MAX, 0])),
        Field::Varint(Integer::Isize([0, isize::MIN, 0])),
        Field::Varint(Integer::U128([0, u128::MAX, 0])),
        Field::Varint(Integer::I8([0, -128, 0])),
    ];
    for field in &mut fields {
        let packet = encoded(field);
        let mut read = field.blank();
        assert_eq!(Packing::Bytes.decode_into(&packet, &mut read), Ok(()));
        assert_eq!(read, *field);
    }
}
