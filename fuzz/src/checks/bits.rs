//! `BitWriter` and `BitReader`, compared with a list of bits.

use arbitrary::{Result, Unstructured};
use tightwire::bits::{BitReadError, BitReader, BitWriteError, BitWriter};

/// Checks the writer or the reader: the first bit of the input decides whether the rest is
/// operations to write, or a packet to read.
pub(crate) fn bits(data: &[u8]) {
    let mut input = Unstructured::new(data);
    // An input that ends early is no failure: everything before its end was checked.
    let _ = match input.arbitrary() {
        Ok(true) => check_reader(&mut input),
        _ => check_writer(&mut input),
    };
}

/// A field that is written, and must be read back.
#[derive(Debug)]
enum Field {
    Bits { value: u64, width: u32 },
    Unary { zeros: u32, limit: u32 },
    Align,
    Bytes(Vec<u8>),
}

/// Expected state of the writer.
#[derive(Default)]
struct Model {
    bits: Vec<bool>,
    fields: Vec<Field>,
    /// Position of the first value that does not fit its width, in bits; `None` if there is none.
    oversized_at: Option<u64>,
}

/// Bytes around the writer's slice, which reveal a write outside of it.
const GUARD: [u8; 8] = [0xa5; 8];

fn check_writer(input: &mut Unstructured<'_>) -> Result<()> {
    // The slice starts at any alignment, and its length need not be a multiple of a word.
    let start = input.int_in_range(0..=7)?;
    let end = start + input.int_in_range(0..=200)?;
    let mut memory = [&GUARD[..], &vec![input.arbitrary()?; end], &GUARD].concat();
    let (before, rest) = memory.split_at_mut(GUARD.len() + start);
    let (slice, after) = rest.split_at_mut(end - start);
    let around = (before.to_vec(), after.to_vec());
    let capacity_bits = slice.len() as u64 * 8;

    let mut model = Model::default();
    let mut writer = BitWriter::new(slice);
    let mut checkpoints = Vec::new();
    while !input.is_empty() {
        match input.int_in_range(0..=5)? {
            4 => checkpoints.push((writer.checkpoint(), model.mark())),
            5 => {
                if let Some((checkpoint, mark)) = checkpoints.pop() {
                    writer.rollback(checkpoint);
                    model.rollback(mark);
                }
            }
            kind => model.write(&mut writer, field(kind, input)?, input.ratio(1, 64)?),
        }
        assert_eq!(writer.position(), model.bits.len() as u64);
        assert_eq!(writer.has_overflowed(), writer.position() > capacity_bits);
    }

    let needed_bits = model.bits.len() as u64;
    let packet = packed(&model.bits);
    let expected = match model.oversized_at {
        _ if needed_bits > capacity_bits => Err(BitWriteError::Full { needed_bits, capacity_bits }),
        Some(bit) => Err(BitWriteError::Value { bit }),
        None => Ok(&*packet),
    };
    let written = writer.finish();
    assert_eq!(written, expected);
    if written.is_ok() {
        read_back(&packet, &model.fields);
    }
    assert_eq!((&*before, &*after), (&*around.0, &*around.1), "outside of the slice");
    Ok(())
}

/// Generates a field of one of the first four kinds.
fn field(kind: u32, input: &mut Unstructured<'_>) -> Result<Field> {
    Ok(match kind {
        0 => {
            let width = input.int_in_range(0..=64)?;
            let value = input.arbitrary::<u64>()?.checked_shr(64 - width).unwrap_or(0);
            Field::Bits { value, width }
        }
        1 => {
            let limit = input.int_in_range(0..=300)?;
            Field::Unary { zeros: input.int_in_range(0..=limit)?, limit }
        }
        2 => Field::Align,
        _ => {
            let length = input.int_in_range(0..=40)?;
            let mut bytes = vec![0; length];
            input.fill_buffer(&mut bytes)?;
            Field::Bytes(bytes)
        }
    })
}

impl Model {
    /// Writes the field to both. With `is_mistake`, the value has one bit too many for its width.
    fn write(&mut self, writer: &mut BitWriter<'_>, field: Field, is_mistake: bool) {
        match &field {
            &Field::Bits { width, .. } if is_mistake && width < 64 => {
                self.oversized_at.get_or_insert(self.bits.len() as u64);
                // Zeros replace the value, so that later fields stay at their positions.
                self.bits.extend((0..width).map(|_| false));
                return writer.write_bits(1 << width, width);
            }
            &Field::Bits { value, width } => {
                self.bits.extend((0..width).map(|i| value >> i & 1 != 0));
                writer.write_bits(value, width);
            }
            &Field::Unary { zeros, limit } => {
                self.bits.extend((0..zeros).map(|_| false));
                self.bits.extend((zeros < limit).then_some(true));
                writer.write_unary(zeros, limit);
            }
            Field::Align => {
                self.align();
                writer.align();
            }
            Field::Bytes(bytes) => {
                self.align();
                self.bits.extend(bytes.iter().flat_map(|&byte| bits_of(byte)));
                writer.write_bytes(bytes);
            }
        }
        self.fields.push(field);
    }

    fn align(&mut self) {
        self.bits.resize(self.bits.len().next_multiple_of(8), false);
    }

    fn mark(&self) -> (usize, usize, Option<u64>) {
        (self.bits.len(), self.fields.len(), self.oversized_at)
    }

    fn rollback(&mut self, (bits, fields, oversized_at): (usize, usize, Option<u64>)) {
        self.bits.truncate(bits);
        self.fields.truncate(fields);
        self.oversized_at = oversized_at;
    }
}

fn read_back(packet: &[u8], fields: &[Field]) {
    let mut reader = BitReader::new(packet);
    for field in fields {
        match field {
            &Field::Bits { value, width } => assert_eq!(reader.read_bits(width), Ok(value)),
            &Field::Unary { zeros, limit } => assert_eq!(reader.read_unary(limit), Ok(zeros)),
            Field::Align => assert_eq!(reader.align(), Ok(true)),
            Field::Bytes(bytes) => {
                assert_eq!(reader.align(), Ok(true));
                assert_eq!(reader.read_bytes(bytes.len()), Ok(&**bytes));
            }
        }
    }
    assert!(reader.is_at_end());
}

fn check_reader(input: &mut Unstructured<'_>) -> Result<()> {
    let length = input.int_in_range(0..=64)?.min(input.len());
    let packet = input.bytes(length)?;
    let bits: Vec<bool> = packet.iter().flat_map(|&byte| bits_of(byte)).collect();
    let mut reader = BitReader::new(packet);
    let mut at = 0;
    while !input.is_empty() && !reader.has_failed() {
        let ahead = &bits[at..];
        let taken = match input.int_in_range(0..=3)? {
            0 => {
                // Widths of 65 and more are refused.
                let width = input.int_in_range(0..=70)?;
                let field = ahead.get(..width).filter(|_| width <= 64);
                let value =
                    field.map(|bits| bits.iter().rev().fold(0, |v, &b| v << 1 | u64::from(b)));
                assert_eq!(reader.read_bits(width as u32), value.ok_or(BitReadError));
                value.map(|_| width)
            }
            1 => {
                let limit = input.int_in_range(0..=200)?;
                let zeros = ahead.iter().take(limit).take_while(|&&bit| !bit).count();
                let is_whole = zeros == limit || zeros < ahead.len();
                let expected = is_whole.then_some(zeros as u32).ok_or(BitReadError);
                assert_eq!(reader.read_unary(limit as u32), expected);
                is_whole.then_some(zeros + usize::from(zeros < limit))
            }
            2 => {
                let padding = at.next_multiple_of(8) - at;
                let is_zero = !ahead[..padding].contains(&true);
                assert_eq!(reader.align(), Ok(is_zero));
                is_zero.then_some(padding)
            }
            _ => {
                let length = input.int_in_range(0..=20)?;
                let is_there = at % 8 == 0 && length * 8 <= ahead.len();
                let bytes = is_there.then(|| &packet[at / 8..at / 8 + length]);
                assert_eq!(reader.read_bytes(length), bytes.ok_or(BitReadError));
                is_there.then_some(length * 8)
            }
        };
        let Some(taken) = taken else {
            return stays_failed(&mut reader, input);
        };
        at += taken;
        assert_eq!(reader.position(), at as u64);
        assert_eq!(reader.remaining(), (bits.len() - at) as u64);
        assert_eq!(reader.is_at_end(), bits.len() - at < 8 && !bits[at..].contains(&true));
    }
    Ok(())
}

/// Checks that every read after a refusal fails, even one of no bits.
fn stays_failed(reader: &mut BitReader<'_>, input: &mut Unstructured<'_>) -> Result<()> {
    let position = reader.position();
    assert_eq!(reader.read_bits(input.int_in_range(0..=64)?), Err(BitReadError));
    assert_eq!(reader.read_unary(input.int_in_range(0..=200)?), Err(BitReadError));
    assert_eq!(reader.align(), Err(BitReadError));
    assert_eq!(reader.read_bytes(input.int_in_range(0..=20)?), Err(BitReadError));
    assert_eq!((reader.position(), reader.remaining()), (position, 0));
    assert!(reader.has_failed() && !reader.is_at_end());
    Ok(())
}

/// Returns the bits of a byte from the lowest up, as in a packet.
fn bits_of(byte: u8) -> impl Iterator<Item = bool> {
    (0..8).map(move |i| byte >> i & 1 != 0)
}

fn packed(bits: &[bool]) -> Vec<u8> {
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    bits.chunks(8).map(byte).collect()
}
