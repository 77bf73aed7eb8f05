//! The space of a byte writer: space that is filled later, buffers that grow, sections of bits and
//! their padding; only a growing buffer allocates.

use tightwire::bytes::{ByteError, ByteReader, ByteWriter, GrowingBuffer, Packing};
use tightwire::stream::ErrorKind;
use tightwire::{Stream, Wire};

#[test]
fn space_is_filled_once_by_its_writer_as_long_as_it_is_there() {
    let mut writer = ByteWriter::new([0xff; 32]);
    let mut other = ByteWriter::new([0xff; 32]);
    let first = writer.set_aside(2).unwrap();
    let same_place = other.set_aside(2).unwrap();
    assert_eq!(writer.written(), [0, 0], "nothing stale shows");
    assert_eq!(other.fill(first, &[1u8, 2]), Err(ByteError::Stale));
    assert_eq!(writer.finish(), Err(ByteError::Unfilled { byte: 0 }));
    // The reserved space is invalid now: its bytes were taken back.
    writer.clear();
    let length = ByteError::WrongLength { reserved: 2, given: 3 };
    assert_eq!(other.fill(same_place, &[1u8, 2, 3]), Err(length));
    assert_eq!(other.written(), [0, 0]);

    let outer = writer.set_aside(2).unwrap();
    writer.write(7u8).unwrap();
    let inner = writer.set_aside(1).unwrap();
    let cut_off = writer.set_aside(4).unwrap();
    writer.truncate(6).unwrap();
    writer.write(0x0908u16).unwrap();
    assert_eq!(writer.fill(cut_off, &[0u8; 4]), Err(ByteError::Stale), "half of it is gone");
    writer.fill(inner, &3u8).unwrap();
    assert_eq!(writer.finish(), Err(ByteError::Unfilled { byte: 0 }));
    writer.fill(outer, &[1u8, 2]).unwrap();
    assert_eq!((writer.len(), writer.position()), (8, 8));
    assert_eq!(writer.finish(), Ok(&[1, 2, 7, 3, 0, 0, 8, 9][..]));
}

#[test]
fn as_many_spaces_can_be_reserved_as_documented() {
    let mut writer = ByteWriter::new([0xff; 32]);
    let mut spaces: Vec<_> = (0..4).map(|_| writer.set_aside(1).unwrap()).collect();
    assert_eq!(writer.set_aside(1), Err(ByteError::TooManyReserved { byte: 4 }));
    assert_eq!(writer.len(), 4);
    writer.fill(spaces.remove(2), &9u8).unwrap();
    spaces.push(writer.set_aside(0).unwrap());
    assert_eq!(writer.fill(spaces.pop().unwrap(), &[0u8; 0]), Ok(()));
    for (value, space) in spaces.into_iter().enumerate() {
        writer.fill(space, &(value as u8)).unwrap();
    }
    assert_eq!(writer.finish(), Ok(&[0, 1, 9, 2][..]));
    assert_eq!(writer.set_aside(100), Err(ByteError::Full { byte: 4, needed: 100 }));
    assert_eq!(writer.finish().map(<[u8]>::len), Ok(4));
}

#[test]
fn a_growing_buffer_doubles_up_to_its_maximum_and_then_refuses_and_keeps_its_data() {
    let mut buffer = GrowingBuffer::new(4, 100);
    let mut writer = ByteWriter::new(&mut buffer);
    let mut capacities = vec![writer.capacity()];
    for byte in 0..100u8 {
        writer.write(byte).unwrap();
        if writer.capacity() != capacities[capacities.len() - 1] {
            capacities.push(writer.capacity());
        }
    }
    assert_eq!(capacities, [4, 8, 16, 32, 64, 100]);
    let full = |needed| Err(ByteError::Full { byte: 100, needed });
    assert_eq!(writer.write(0u8), full(1));
    assert_eq!(writer.write_bytes(&[0; 1000]), full(1000));
    assert_eq!(writer.write_bits(|stream| stream.bool(&mut true)), full(1));
    assert_eq!(writer.write_wire(&[1u64; 4], Packing::Bits), full(32));
    assert_eq!(writer.set_aside(1), Err(ByteError::Full { byte: 100, needed: 1 }));
    assert!(writer.finish().unwrap().iter().copied().eq(0..100));
    assert_eq!((buffer.capacity(), buffer.max()), (100, 100));

    // More than double at once; an initial size of 0; an initial size above the maximum.
    let mut writer = ByteWriter::new(GrowingBuffer::new(4, 1000));
    writer.write_bytes(&[1; 33]).unwrap();
    assert_eq!(writer.capacity(), 64);
    let mut writer = ByteWriter::new(GrowingBuffer::new(0, 1000));
    assert_eq!(writer.write(7u32), Ok(()));
    assert_eq!((writer.capacity(), writer.finish()), (4, Ok(&[7, 0, 0, 0][..])));
    assert_eq!(GrowingBuffer::new(50, 10).capacity(), 10);
    let mut nothing = ByteWriter::new(GrowingBuffer::new(0, 0));
    assert_eq!(nothing.write(7u8), Err(ByteError::Full { byte: 0, needed: 1 }));
}

#[test]
fn sections_make_a_buffer_grow_by_what_they_need() {
    let mut writer = ByteWriter::new(GrowingBuffer::new(1, 1000));
    writer.write(0xabu8).unwrap();
    let space = writer.set_aside(2).unwrap();
    writer
        .write_bits(|stream| stream.fixed_array(&mut [3u8; 20], |v, s| s.int(v, 0..=15)))
        .unwrap();
    writer.write_wire(&[0x1234u16; 20], Packing::Bytes).unwrap();
    writer.fill(space, &[1u8, 2]).unwrap();
    let expected = [&[0xab, 1, 2][..], &[0x33; 10], &[0x34, 0x12].repeat(20)].concat();
    assert_eq!(writer.finish(), Ok(&expected[..]));
}

#[test]
fn padding_is_zero_in_a_buffer_that_was_used() {
    for width in 1..=64 {
        let mut writer = ByteWriter::new([0xff; 24]);
        writer.write_bits(|stream| stream.bits(&mut 0, width)).unwrap();
        let space = writer.set_aside(3).unwrap();
        writer.write_wire(&(false, 0u8), Packing::Bits).unwrap();
        assert!(writer.written().iter().all(|&byte| byte == 0), "{width} bits");
        writer.fill(space, &[0u8; 3]).unwrap();
        let mut data = writer.finish().unwrap().to_vec();
        let read = |data: &[u8]| ByteReader::new(data).read_bits(|s| s.bits(&mut 1, width));
        assert_eq!(read(&data), Ok(()));
        if width % 8 != 0 {
            data[width as usize / 8] = 0x80;
            let padding = ByteError::Refused { kind: ErrorKind::Padding, bit: width.into() };
            assert_eq!(read(&data), Err(padding));
        }
    }
}

#[test]
fn a_section_says_where_in_the_buffer_it_was_refused() {
    let mut writer = ByteWriter::new([0; 8]);
    writer.write(0u16).unwrap();
    let section = |stream: &mut tightwire::stream::WriteStream<'_>| {
        stream.bool(&mut true)?;
        stream.int(&mut 101u8, 0..=100)
    };
    let refused = ByteError::Refused { kind: ErrorKind::OutOfRange, bit: 17 };
    assert_eq!(writer.write_bits(section), Err(refused));
    assert_eq!(writer.len(), 2);
    let mut reader = ByteReader::new(&[0, 0, 0xff]);
    reader.seek(2).unwrap();
    let read = reader.read_bits(|stream| {
        stream.bool(&mut true)?;
        stream.int(&mut 0u8, 0..=100)
    });
    assert_eq!((read, reader.position()), (Err(refused), 2));
}

#[derive(Wire, Default)]
struct Small {
    is_open: bool,
    #[wire(range = 0..=200)]
    count: u8,
}

#[test]
fn a_refused_value_says_how_to_find_the_field() {
    let bad = Small { is_open: true, count: 250 };
    let explained = tightwire::encode_explained(&bad, &mut [0; 8]).unwrap_err().to_string();
    assert_eq!(explained, "Small.count at bit 1: 250 is not in 0..=200");
    let refused = tightwire::encode(&bad, &mut [0; 8]).unwrap_err().to_string();
    assert!(refused.ends_with(
        "at bit 1: the value is not in its declared range (`encode_explained` names the field)"
    ));
    for (packing, bit) in [(Packing::Bits, 17), (Packing::Bytes, 24)] {
        let mut writer = ByteWriter::new([0; 16]);
        writer.write(0u16).unwrap();
        let refused = writer.write_wire(&bad, packing).unwrap_err();
        assert_eq!(refused, ByteError::Value { kind: ErrorKind::OutOfRange, bit });
        assert!(refused.to_string().ends_with("(`explain_write` names the field)"), "{refused}");
        assert_eq!(writer.len(), 2, "nothing of it is written");
    }
}

#[test]
fn a_stream_of_another_buffer_does_not_pass_for_a_section() {
    let mut writer = ByteWriter::new([0xff; 8]);
    let elsewhere = Box::leak(Box::new([0; 8]));
    let mut elsewhere = Some(elsewhere);
    let refused = writer.write_bits(|stream| {
        if let Some(elsewhere) = elsewhere.take() {
            *stream = tightwire::stream::WriteStream::new(elsewhere);
        }
        stream.bits(&mut 7, 24)
    });
    assert_eq!(refused, Err(ByteError::Refused { kind: ErrorKind::Misuse, bit: 0 }));
    assert!(writer.is_empty());
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Player {
    #[wire(range = 0..=100)]
    health: u8,
    alive: bool,
    #[wire(max_len = 31)]
    name: String,
    target: Option<u64>,
}

#[test]
fn nothing_is_allocated_but_by_a_buffer_that_grows() {
    let value = Player { health: 77, alive: true, name: "Ada".into(), target: Some(9) };
    let mut read = value.clone();
    let mut buffer = [0xff; 256];
    let info = allocation_counter::measure(|| {
        let mut writer = ByteWriter::new(&mut buffer);
        let space = writer.set_aside(2).unwrap();
        for packing in [Packing::Bytes, Packing::Bits] {
            writer.write_wire(&value, packing).unwrap();
        }
        writer.write_slice(&[1u16, 2, 3], 10).unwrap();
        writer.write_str("a text", 31).unwrap();
        writer.write_varint(u64::MAX).unwrap();
        writer.fill(space, &[1u8, 2]).unwrap();
        let mut reader = ByteReader::new(writer.finish().unwrap());
        reader.read::<u16>().unwrap();
        for packing in [Packing::Bytes, Packing::Bits] {
            reader.read_wire(&mut read, packing).unwrap();
        }
        reader.read_bytes(7).unwrap();
        assert_eq!(reader.read_str(31), Ok("a text"));
        assert_eq!(reader.read_varint(), Ok(u64::MAX));
        assert_eq!(reader.finish(), Ok(()));
    });
    assert_eq!(info.count_total, 0);
    assert_eq!(read, value);

    // Each doubling allocates once; a buffer that has grown does not.
    let mut buffer = GrowingBuffer::new(16, 1024);
    let mut packets = |count| {
        let info = allocation_counter::measure(|| {
            let mut writer = ByteWriter::new(&mut buffer);
            for _ in 0..count {
                writer.write_wire(&value, Packing::Bytes).unwrap();
            }
        });
        info.count_total
    };
    // 15 bytes each: the first fits, then 120 need 32, 64 and 128.
    assert_eq!([packets(1), packets(8), packets(8)], [0, 3, 0]);
}
