//! Byte writers and readers: values round-trip, a value that does not fit or is missing is refused,
//! and a refusal changes nothing.

use std::fmt::Debug;

use tightwire::Stream;
use tightwire::bytes::{ByteError, ByteReader, ByteWriter, Packing, Primitive};
use tightwire::stream::{ErrorKind, Int};
use zerocopy::{FromBytes, Immutable, IntoBytes};

#[derive(FromBytes, IntoBytes, Immutable, Clone, Copy, PartialEq, Debug)]
#[repr(C)]
struct Header {
    kind: u8,
    stage: u8,
    size: [u8; 2],
    channel: u8,
}

const HEADER: Header = Header { kind: 1, stage: 2, size: [3, 4], channel: 5 };

/// Writes with every kind of operation, one after the other.
fn write_everything(writer: &mut ByteWriter<&mut [u8]>) -> Result<(), ByteError> {
    writer.write(0x12u8)?;
    let header = writer.set_aside(5)?;
    writer.write(-2i16)?;
    writer.write(0x0102_0304_0506_0708u64)?;
    writer.write(1.5f32)?;
    writer.write(true)?;
    writer.write_pod(&[HEADER; 2])?;
    writer.write_varint(300u32)?;
    writer.write_varint(-100i64)?;
    writer.write_str("größe", 31)?;
    writer.write_slice(&[1u32, 2, 3], 10)?;
    writer.write_bits(|stream| stream.int(&mut 77u8, 0..=100))?;
    writer.write_wire(&(true, Some(9u16)), Packing::Bytes)?;
    writer.write_wire(&(true, Some(9u16)), Packing::Bits)?;
    writer.reserve(20, |block| {
        block.write(u128::MAX);
        block.write_bytes(&[7; 3]);
    })?;
    writer.fill(header, &HEADER)
}

fn read_everything(data: &[u8]) -> Result<(), ByteError> {
    let mut reader = ByteReader::new(data);
    assert_eq!(reader.read::<u8>()?, 0x12);
    assert_eq!(reader.read_pod::<Header>()?, HEADER);
    assert_eq!(reader.read::<i16>()?, -2);
    assert_eq!(reader.read::<u64>()?, 0x0102_0304_0506_0708);
    assert_eq!(reader.read::<f32>()?, 1.5);
    assert!(reader.read::<bool>()?);
    let mut headers = [HEADER; 2];
    headers.as_mut_bytes().fill(0);
    reader.read_pod_into(&mut headers[..])?;
    assert_eq!(headers, [HEADER; 2]);
    assert_eq!(reader.read_varint::<u32>()?, 300);
    assert_eq!(reader.read_varint::<i64>()?, -100);
    assert_eq!(reader.read_str(31)?, "größe");
    let mut items = vec![9u32; 5];
    reader.read_slice(&mut items, 10)?;
    assert_eq!(items, [1, 2, 3]);
    let mut health = 0u8;
    reader.read_bits(|stream| stream.int(&mut health, 0..=100))?;
    assert_eq!(health, 77);
    for packing in [Packing::Bytes, Packing::Bits] {
        let mut value = (false, None);
        reader.read_wire(&mut value, packing)?;
        assert_eq!(value, (true, Some(9u16)));
    }
    let block = reader.require(19, |block| (block.read::<u128>(), block.read_bytes(3)))?;
    assert_eq!(block, (u128::MAX, &[7; 3][..]));
    reader.finish()
}

fn everything() -> Vec<u8> {
    let mut buffer = [0xff; 256];
    let mut writer = ByteWriter::new(&mut buffer[..]);
    write_everything(&mut writer).unwrap();
    writer.finish().unwrap().to_vec()
}

#[test]
fn bytes_round_trip_and_every_prefix_is_refused() {
    let packet = everything();
    assert_eq!(read_everything(&packet), Ok(()));
    for length in 0..packet.len() {
        let refused = read_everything(&packet[..length]).unwrap_err();
        let is_end = matches!(
            refused,
            ByteError::UnexpectedEnd { .. }
                | ByteError::Refused { kind: ErrorKind::UnexpectedEnd, .. }
        );
        assert!(is_end, "{length}: {refused}");
    }
    let longer = [&packet[..], &[0]].concat();
    assert_eq!(read_everything(&longer), Err(ByteError::TrailingData { byte: packet.len() }));
}

#[test]
fn a_buffer_that_is_too_small_is_filled_to_the_last_operation_that_fits() {
    let packet = everything();
    for length in 0..packet.len() {
        let mut memory = vec![0xa5; length + 32];
        let mut writer = ByteWriter::new(&mut memory[16..16 + length]);
        let refused = write_everything(&mut writer).unwrap_err();
        let end = writer.len();
        let ByteError::Full { byte, needed } = refused else { panic!("{length}: {refused}") };
        assert_eq!(byte, end);
        assert!(byte + needed > length);
        // The header was not filled.
        let is_set_aside = |byte: usize| (1..6).contains(&byte);
        for (byte, (written, expected)) in writer.written().iter().zip(&packet).enumerate() {
            assert_eq!(*written, if is_set_aside(byte) { 0 } else { *expected }, "{byte}");
        }
        let (before, after) = (&memory[..16], &memory[16 + length..]);
        assert!(before.iter().chain(after).all(|&byte| byte == 0xa5), "outside of the slice");
    }
}

#[test]
fn primitives_of_every_type_are_little_endian_and_come_back() {
    fn check<P: Primitive + PartialEq + Debug>(value: P, bytes: &[u8]) {
        let mut writer = ByteWriter::new([0xff; 16]);
        writer.write(value).unwrap();
        assert_eq!(writer.finish(), Ok(bytes));
        assert_eq!(ByteReader::new(bytes).read::<P>(), Ok(value));
        let end = ByteError::UnexpectedEnd { byte: 0, needed: bytes.len() };
        assert_eq!(ByteReader::new(&bytes[1..]).read::<P>(), Err(end));
    }
    check(0x12u8, &[0x12]);
    check(-2i8, &[0xfe]);
    check(0x1234u16, &[0x34, 0x12]);
    check(-2i16, &[0xfe, 0xff]);
    check(0x1234_5678u32, &[0x78, 0x56, 0x34, 0x12]);
    check(i32::MIN, &[0, 0, 0, 0x80]);
    check(1u64 << 56, &[0, 0, 0, 0, 0, 0, 0, 1]);
    check(-1i64, &[0xff; 8]);
    check(u128::MAX, &[0xff; 16]);
    check(i128::MAX, &[[0xff; 15].as_slice(), &[0x7f]].concat());
    check(1.5f32, &[0, 0, 0xc0, 0x3f]);
    check(1.5f64, &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f]);
    check(true, &[1]);
    check(false, &[0]);
}

#[test]
fn a_bool_that_is_none_is_refused_by_itself_and_in_a_block() {
    let refused = ByteError::Refused { kind: ErrorKind::OutOfRange, bit: 8 };
    for byte in 2..=u8::MAX {
        let data = [0, byte, 1];
        let mut reader = ByteReader::new(&data);
        reader.seek(1).unwrap();
        assert_eq!(reader.read::<bool>(), Err(refused));
        let block = reader.require(2, |block| (block.read::<bool>(), block.read::<bool>()));
        assert_eq!(block, Err(refused));
        assert_eq!(reader.position(), 1);
    }
}

/// Returns the size of a packed integer by the table of the documentation.
fn documented_size(code: u128) -> usize {
    (1..19).find(|&bytes| code < 1 << (7 * bytes)).unwrap_or(19)
}

fn check_varint<T: Int + Debug>(value: T, code: u128) {
    let mut writer = ByteWriter::new([0xff; 19]);
    writer.write_varint(value).unwrap();
    let packed = writer.finish().unwrap();
    assert_eq!(packed.len(), documented_size(code), "{value:?}");
    // The same format as the stream's.
    let bits = tightwire::stream::MeasureStream::bits_of(|stream| stream.varint(&mut { value }));
    assert_eq!(bits, packed.len() as u64 * 8);
    let mut buffer = [0; 24];
    let mut stream = tightwire::stream::WriteStream::new(&mut buffer);
    let Ok(()) = stream.varint(&mut { value });
    assert_eq!(stream.finish(), Ok(packed));

    let mut reader = ByteReader::new(packed);
    assert!(reader.read_varint::<T>() == Ok(value), "{value:?}");
    assert_eq!(reader.finish(), Ok(()));
    for length in 0..packed.len() {
        let mut reader = ByteReader::new(&packed[..length]);
        let refused = reader.read_varint::<T>();
        assert!(matches!(refused, Err(ByteError::Refused { kind: ErrorKind::UnexpectedEnd, .. })));
        assert_eq!(reader.position(), 0);
    }
}

#[test]
fn a_packed_integer_has_its_documented_size_at_each_power_of_two() {
    macro_rules! check_all {
        ($($unsigned:ty, $signed:ty);*) => {$(
            for power in 0..<$unsigned>::BITS {
                let power: $unsigned = 1 << power;
                for value in [power - 1, power, power.wrapping_add(1), <$unsigned>::MAX - power] {
                    check_varint(value, value as u128);
                    // 0, -1, 1, -2, 2 have the codes 0, 1, 2, 3, 4.
                    let signed = value as $signed;
                    let distance = if signed < 0 { !signed } else { signed } as u128;
                    check_varint(signed, distance * 2 + u128::from(signed < 0));
                }
            }
            check_varint(<$unsigned>::MAX, <$unsigned>::MAX as u128);
            check_varint(<$signed>::MIN, <$unsigned>::MAX as u128);
            check_varint(<$signed>::MAX, <$unsigned>::MAX as u128 - 1);
        )*};
    }
    check_all!(u8, i8; u16, i16; u32, i32; u64, i64; u128, i128; usize, isize);
}

#[test]
fn a_packed_integer_that_is_too_long_or_too_large_is_refused() {
    let kind = |data: &[u8]| match ByteReader::new(data).read_varint::<u16>() {
        Err(ByteError::Refused { kind, bit: 0 }) => Some(kind),
        _ => None,
    };
    assert_eq!(kind(&[0x80, 0x00]), Some(ErrorKind::Overlong));
    assert_eq!(kind(&[0xff, 0xff, 0x04]), Some(ErrorKind::OutOfRange));
    assert_eq!(kind(&[0xff, 0xff, 0x83, 0x01]), Some(ErrorKind::OutOfRange));
    assert_eq!(ByteReader::new(&[0xff, 0xff, 0x03]).read_varint(), Ok(u16::MAX));
}

#[test]
fn text_and_slices_are_bounded_by_their_maximum_and_by_the_data() {
    let mut writer = ByteWriter::new([0; 64]);
    let out_of_range = ByteError::Refused { kind: ErrorKind::OutOfRange, bit: 0 };
    assert_eq!(writer.write_str("12345", 4), Err(out_of_range));
    assert_eq!(writer.write_slice(&[1u16; 5], 4), Err(out_of_range));
    let nul = ByteError::Refused { kind: ErrorKind::InteriorNul, bit: 0 };
    assert_eq!(writer.write_str("a\0b", 31), Err(nul));
    assert!(writer.is_empty());

    let text = |data, max_len| ByteReader::new(data).read_str(max_len);
    assert_eq!(text(b"\x0512345", 5), Ok("12345"));
    assert_eq!(text(b"\x0512345", 4), Err(out_of_range));
    assert_eq!(text(b"\x051234", 5), Err(ByteError::UnexpectedEnd { byte: 1, needed: 5 }));
    assert_eq!(text(b"\x03a\0b", 5), Err(nul));
    let malformed = ByteError::Refused { kind: ErrorKind::MalformedText, bit: 0 };
    assert_eq!(text(b"\x02\xc3\x28", 5), Err(malformed));

    // A length whose product with the size of an element overflows.
    let data = [[0xff; 9].as_slice(), &[0x01, 0, 0]].concat();
    let mut items = vec![1u64];
    let mut reader = ByteReader::new(&data);
    let refused = reader.read_slice(&mut items, usize::MAX);
    assert_eq!(refused, Err(ByteError::UnexpectedEnd { byte: 10, needed: usize::MAX }));
    assert_eq!((reader.position(), items), (0, vec![1]));
}

#[test]
fn a_block_counts_as_a_whole_or_not_at_all() {
    let mut writer = ByteWriter::new([0xff; 8]);
    // The unused rest of a block is not written.
    let rest = writer.reserve(6, |block| {
        block.write(1u32);
        block.remaining()
    });
    assert_eq!((rest, writer.len()), (Ok(2), 4));
    let overrun = ByteError::Overrun { byte: 4, reserved: 3 };
    let refused = writer.reserve(3, |block| {
        block.write(2u16);
        block.write(3u16);
        // There would be room for this one.
        block.write(4u8);
    });
    assert_eq!((refused, writer.len(), writer.position()), (Err(overrun), 4, 4));
    let refused = writer.reserve(5, |_| panic!("there is no room for it"));
    assert_eq!(refused, Err(ByteError::Full { byte: 4, needed: 5 }));
    let refused = writer.reserve(usize::MAX, |_| ());
    assert_eq!(refused, Err(ByteError::Full { byte: 4, needed: usize::MAX }));
    assert_eq!(writer.finish().unwrap(), [1, 0, 0, 0]);

    let mut reader = ByteReader::new(&[1, 2, 3, 4]);
    assert_eq!(reader.require(3, |block| block.read::<u16>()), Ok(0x0201));
    assert_eq!(reader.position(), 2);
    let refused = reader.require(1, |block| (block.read::<u16>(), block.read::<u8>()));
    assert_eq!(refused, Err(ByteError::Overrun { byte: 2, reserved: 1 }));
    let refused = reader.require(1, |block| block.read_bytes(usize::MAX));
    assert_eq!(refused, Err(ByteError::Overrun { byte: 2, reserved: 1 }));
    let refused = reader.require(3, |_| panic!("they are not there"));
    assert_eq!(refused, Err(ByteError::UnexpectedEnd { byte: 2, needed: 3 }));
    assert_eq!(reader.position(), 2);
}

#[test]
fn blocks_that_are_exchanged_do_not_go_beyond_the_data() {
    let (mut long, mut short) = (ByteReader::new(&[1; 9]), ByteReader::new(&[2; 2]));
    let refused = short.require(2, |inner| {
        long.require(9, |outer| std::mem::swap(inner, outer)).unwrap();
    });
    assert_eq!(refused, Err(ByteError::Overrun { byte: 0, reserved: 2 }));
    assert!(long.position() <= 9 && short.position() <= 2);
}

#[test]
fn seeking_and_truncating_stay_within_what_is_written() {
    let mut writer = ByteWriter::new([0xff; 8]);
    writer.write(0x0403_0201u32).unwrap();
    assert_eq!(writer.seek(5), Err(ByteError::Outside { byte: 5, len: 4 }));
    assert_eq!(writer.truncate(5), Err(ByteError::Outside { byte: 5, len: 4 }));
    writer.seek(3).unwrap();
    // Over the last byte and beyond.
    writer.write(0xbbaau16).unwrap();
    assert_eq!(writer.written(), [1, 2, 3, 0xaa, 0xbb]);
    writer.seek(1).unwrap();
    let not_at_end = ByteError::NotAtEnd { byte: 1, len: 5 };
    assert_eq!(writer.write_bits(|stream| stream.bool(&mut true)), Err(not_at_end));
    assert_eq!(writer.write_wire(&7u8, Packing::Bytes), Err(not_at_end));
    assert_eq!(writer.set_aside(1), Err(not_at_end));
    assert_eq!(writer.written(), [1, 2, 3, 0xaa, 0xbb]);
    writer.truncate(2).unwrap();
    assert_eq!((writer.position(), writer.finish()), (2, Ok(&[1, 2][..])));
    writer.clear();
    assert_eq!((writer.position(), writer.finish()), (0, Ok(&[][..])));

    let mut reader = ByteReader::new(&[1, 2, 3]);
    reader.seek(2).unwrap();
    assert_eq!(reader.truncate(1), Err(ByteError::Outside { byte: 1, len: 3 }), "it is read");
    assert_eq!(reader.truncate(4), Err(ByteError::Outside { byte: 4, len: 3 }));
    reader.truncate(2).unwrap();
    assert_eq!(reader.finish(), Ok(()));
    assert_eq!(reader.seek(3), Err(ByteError::Outside { byte: 3, len: 2 }));
}
