//! Byte writers and readers, and the streams in whole bytes.

use std::fmt::Debug;

use arbitrary::{Result, Unstructured};
use tightwire::bytes::{ByteError, ByteReader, Packing};
use tightwire::stream::ErrorKind;
use tightwire::{Stream, Wire, decode, encode, measure};

use super::bytes_model::{self, Step};
use super::hostile_read::Hostile;
use super::types::{Blobs, Choices, Everything, Integers, Motion, Sets, Text, Varints, World};

/// Checks a writer, a reader, or a packet in whole bytes of one of several types: the first byte
/// decides which, and the rest is operations or data.
pub(crate) fn bytes(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    let mut input = Unstructured::new(rest);
    match choice % 11 {
        // An input that ends early is no failure: everything before its end was checked.
        0 => _ = check_writer(&mut input),
        1 => _ = check_reader(&mut input),
        2 => check_packet::<Integers>(rest),
        3 => check_packet::<Varints>(rest),
        4 => check_packet::<Motion>(rest),
        5 => check_packet::<Text>(rest),
        6 => check_packet::<Blobs>(rest),
        7 => check_packet::<Sets>(rest),
        8 => check_packet::<Choices>(rest),
        9 => check_packet::<World>(rest),
        _ => check_packet::<Everything>(rest),
    }
}

fn check_writer(input: &mut Unstructured<'_>) -> Result<()> {
    let capacity = input.int_in_range(0..=120)?;
    let first_capacity = input.int_in_range(0..=capacity + 2)?;
    let mut steps = Vec::new();
    while !input.is_empty() && steps.len() < 64 {
        steps.push(step(input)?);
    }
    bytes_model::check(&steps, capacity, first_capacity);
    Ok(())
}

fn step(input: &mut Unstructured<'_>) -> Result<Step> {
    Ok(match input.int_in_range(0..=15)? {
        0 => Step::Byte(input.arbitrary()?),
        1 => Step::Word(input.arbitrary()?),
        2 => Step::Wide(input.arbitrary()?),
        3 => Step::Bytes(short(input)?),
        4 => Step::Varint(input.arbitrary::<i64>()? >> input.int_in_range(0..=63)?),
        5 => Step::Text(String::from_utf8_lossy(&short(input)?).into_owned()),
        6 => Step::Slice(short(input)?.into_iter().map(u16::from).collect()),
        7 => Step::Block {
            reserved: input.int_in_range(0..=24)?,
            bytes: short(input)?,
            number: input.arbitrary()?,
        },
        8 => Step::Bits(input.arbitrary()?),
        9 => Step::Wire {
            value: input.arbitrary()?,
            packing: if input.arbitrary()? { Packing::Bits } else { Packing::Bytes },
        },
        10 | 11 => Step::SetAside(input.int_in_range(0..=6)?),
        12 => Step::Fill {
            space: input.arbitrary::<u8>()?.into(),
            value: input.arbitrary()?,
            is_wrong_length: input.ratio(1, 16)?,
        },
        13 => Step::Seek(input.arbitrary::<u8>()?.into()),
        14 => Step::Truncate(input.arbitrary::<u8>()?.into()),
        _ if input.ratio(1, 8)? => Step::Clear,
        _ => Step::Seek(input.arbitrary::<u8>()?.into()),
    })
}

fn short(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let length = input.int_in_range(0..=20)?;
    let mut bytes = vec![0; length];
    input.fill_buffer(&mut bytes)?;
    Ok(bytes)
}

/// Checks that a reader stays within any data, and consumes nothing that it refuses.
fn check_reader(input: &mut Unstructured<'_>) -> Result<()> {
    let length = input.int_in_range(0..=64)?.min(input.len());
    let data = input.bytes(length)?;
    let mut reader = ByteReader::new(data);
    while !input.is_empty() {
        let start = reader.position();
        let rest = &data[start..];
        let taken = match input.int_in_range(0..=9)? {
            0 => reader.read::<u64>().map(|read| {
                assert_eq!(Some(&read.to_le_bytes()), rest.first_chunk());
                8
            }),
            1 => reader.read::<bool>().map(|read| {
                assert_eq!(rest[0], u8::from(read));
                1
            }),
            2 => {
                let length = input.int_in_range(0..=20)?;
                reader.read_bytes(length).map(|read| {
                    assert_eq!(read, &rest[..length]);
                    length
                })
            }
            3 => reader
                .read_varint::<u32>()
                .map(|_| rest.iter().take_while(|&&group| group > 0x7f).count() + 1),
            4 => reader.read_str(9).map(|read| {
                assert!(read.len() <= 9 && !read.contains('\0'));
                read.len() + 1
            }),
            5 => {
                let mut items = vec![1u16; 3];
                reader.read_slice(&mut items, 9).map(|()| {
                    assert!(items.len() <= 9);
                    items.len() * 2 + 1
                })
            }
            6 => {
                let required = input.int_in_range(0..=12)?;
                let read =
                    reader.require(required, |block| (block.read::<u32>(), block.read_bytes(2)));
                read.map(|(number, bytes)| {
                    assert!(required >= 6);
                    assert_eq!(number.to_le_bytes(), rest[..4]);
                    assert_eq!(bytes, &rest[4..6]);
                    6
                })
            }
            7 => {
                let width = input.int_in_range(0..=64)?;
                reader.read_bits(|stream| stream.bits(&mut 0, width)).map(|()| {
                    assert!(width % 8 == 0 || rest[width as usize / 8] >> (width % 8) == 0);
                    width.div_ceil(8) as usize
                })
            }
            8 => {
                let mut value = (false, None::<u16>);
                reader
                    .read_wire(&mut value, Packing::Bytes)
                    .map(|()| if value.1.is_some() { 4 } else { 2 })
            }
            _ => {
                let place = input.int_in_range(0..=data.len() + 2)?;
                assert_eq!(reader.seek(place).is_ok(), place <= data.len());
                Ok(reader.position().wrapping_sub(start))
            }
        };
        assert_eq!(reader.position(), start.wrapping_add(taken.unwrap_or(0)));
        assert_eq!(reader.remaining(), data.len() - reader.position());
        assert_eq!(reader.finish().is_ok(), reader.remaining() == 0);
    }
    Ok(())
}

/// Maximum memory per byte of a packet, in bytes, while collections grow.
const HEAP_PER_BYTE: u64 = 128;

/// Maximum memory for the first elements of each collection, and for elements without bytes, in
/// bytes.
const HEAP_FOR_FREE: u64 = 8192;

/// Checks that a type in whole bytes accepts and refuses as it does in bits, with the same value.
fn check_packet<T: Hostile + Debug>(packet: &[u8]) {
    let mut outcome = Ok(T::default());
    let memory =
        allocation_counter::measure(|| outcome = Packing::Bytes.decode::<T>(packet)).bytes_max;
    let most = HEAP_FOR_FREE + HEAP_PER_BYTE * packet.len() as u64;
    assert!(memory <= most, "{memory} bytes for {}", packet.len());
    let trace = Packing::Bytes.explain::<T>(packet);
    let refused = outcome.as_ref().err().map(|refused| (refused.kind, refused.bit));
    assert_eq!(trace.failure(), refused);
    let Ok(mut value) = outcome else { return };
    let mut at = 0;
    for span in trace.spans() {
        assert_eq!((span.bits().start, span.bits().end % 8), (at, 0), "{}", span.path());
        at = span.bits().end;
    }

    let mut buffer = vec![0xff; Packing::Bytes.measure(&value)];
    let again = match Packing::Bytes.encode(&value, &mut buffer) {
        Ok(again) => again,
        Err(refused) => panic!("{refused:?}: what was read is not written: {value:?}"),
    };
    if T::IS_CANONICAL {
        assert_eq!(again, packet);
    }
    let Ok(second) = Packing::Bytes.decode::<T>(again) else { panic!("not read: {value:?}") };
    assert!(value.agrees(&second), "{value:?} became {second:?}");

    let mut buffer = vec![0; measure(&value).div_ceil(8) as usize];
    let Ok(bits) = encode(&value, &mut buffer) else { panic!("not in bits: {value:?}") };
    let Ok(packed) = decode::<T>(bits) else { panic!("not in bits: {value:?}") };
    assert_eq!(packed, second, "bits and bytes give different values");

    check_in_buffer(&mut value, packet);
    if let Some((_, cut)) = packet.split_last() {
        let kind = Packing::Bytes.decode::<T>(cut).err().map(|refused| refused.kind);
        assert_eq!(kind, Some(ErrorKind::UnexpectedEnd));
    }
}

/// Checks the value in a byte buffer, between two other bytes.
fn check_in_buffer<T: Wire>(value: &mut T, packet: &[u8]) {
    let data = [&[7], packet, &[9]].concat();
    let mut reader = ByteReader::new(&data);
    assert_eq!(reader.read::<u8>(), Ok(7));
    assert_eq!(reader.read_wire(value, Packing::Bytes), Ok(()));
    assert_eq!(reader.finish(), Err(ByteError::TrailingData { byte: data.len() - 1 }));
}
