//! A byte writer, compared with a list of bytes. Shared by the fuzz target and the property test.

use tightwire::Stream;
use tightwire::bytes::{
    Buffer, ByteError, ByteReader, ByteWriter, GrowingBuffer, Packing, Reserved,
};

/// One operation. Positions are taken modulo the current length, and a little more.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Byte(u8),
    Word(u32),
    Wide(u128),
    Bytes(Vec<u8>),
    Varint(i64),
    Text(String),
    Slice(Vec<u16>),
    /// A block of `reserved` bytes, with these contents.
    Block {
        reserved: usize,
        bytes: Vec<u8>,
        number: u16,
    },
    /// This many one bits.
    Bits(u32),
    Wire {
        value: (bool, Option<u16>),
        packing: Packing,
    },
    SetAside(usize),
    /// Fills one of the reserved spaces, with as many bytes as it has or with another number.
    Fill {
        space: usize,
        value: u8,
        is_wrong_length: bool,
    },
    Seek(usize),
    Truncate(usize),
    Clear,
}

/// Expected state of the writer.
#[derive(Default)]
struct Model {
    bytes: Vec<u8>,
    position: usize,
    /// Start and length of the reserved spaces that are not filled.
    waiting: Vec<(usize, usize)>,
    max: usize,
}

/// A handle, and its place in the model; `None` if it was filled or cut off.
type Space = (Reserved, Option<(usize, usize)>);

const MAX_TEXT: usize = 12;

/// Runs the steps on a slice within a larger array, and on a buffer that grows to the same
/// capacity: all must behave as the model does.
pub(crate) fn check(steps: &[Step], capacity: usize, first_capacity: usize) {
    let mut memory = vec![0xa5; capacity + 16];
    memory[8..8 + capacity].fill(0xff);
    run(steps, ByteWriter::new(&mut memory[8..8 + capacity]), capacity);
    assert!(memory[..8].iter().chain(&memory[8 + capacity..]).all(|&byte| byte == 0xa5));
    let mut growing = GrowingBuffer::new(first_capacity, capacity);
    run(steps, ByteWriter::new(&mut growing), capacity);
    assert!(growing.capacity() <= capacity);
    // A reused buffer: its old contents must not show.
    run(steps, ByteWriter::new(growing), capacity);
}

fn run<B: Buffer>(steps: &[Step], mut writer: ByteWriter<B>, max: usize) {
    let mut model = Model { max, ..Model::default() };
    let mut spaces: Vec<Space> = Vec::new();
    for step in steps {
        apply(step, &mut writer, &mut model, &mut spaces);
        assert_eq!(writer.written(), model.bytes, "{step:?}");
        assert_eq!(writer.position(), model.position, "{step:?}");
        assert!(writer.capacity() <= max && writer.len() <= writer.capacity());
        let unfilled = model.waiting.iter().map(|&(start, _)| start).min();
        let expected = unfilled.map_or(Ok(()), |byte| Err(ByteError::Unfilled { byte }));
        assert_eq!(writer.finish().map(drop), expected);
    }
}

fn apply<B: Buffer>(
    step: &Step,
    writer: &mut ByteWriter<B>,
    model: &mut Model,
    spaces: &mut Vec<Space>,
) {
    let start = model.position;
    match step {
        Step::Byte(value) => assert_eq!(writer.write(*value), model.write(&[*value])),
        Step::Word(value) => assert_eq!(writer.write(*value), model.write(&value.to_le_bytes())),
        Step::Wide(value) => assert_eq!(writer.write(*value), model.write(&value.to_le_bytes())),
        Step::Bytes(bytes) => assert_eq!(writer.write_bytes(bytes), model.write(bytes)),
        Step::Varint(value) => {
            let code = (value << 1 ^ value >> 63).cast_unsigned();
            let written = writer.write_varint(*value);
            assert_eq!(written, model.write(&varint(code)));
            if written.is_ok() {
                assert_eq!(model.reader(start).read_varint(), Ok(*value));
            }
        }
        Step::Text(text) => {
            let written = writer.write_str(text, MAX_TEXT);
            if text.len() > MAX_TEXT || text.contains('\0') {
                return assert!(matches!(written, Err(ByteError::Refused { .. })));
            }
            let bytes = [&varint(text.len() as u64)[..], text.as_bytes()].concat();
            assert_eq!(written, model.write(&bytes));
            if written.is_ok() {
                assert_eq!(model.reader(start).read_str(MAX_TEXT), Ok(&**text));
            }
        }
        Step::Slice(items) => {
            let elements = items.iter().flat_map(|item| item.to_le_bytes());
            let bytes: Vec<u8> = varint(items.len() as u64).into_iter().chain(elements).collect();
            assert_eq!(writer.write_slice(items, 1000), model.write(&bytes));
        }
        Step::Block { reserved, bytes, number } => {
            let written = writer.reserve(*reserved, |block| {
                block.write_bytes(bytes);
                block.write(*number);
                block.remaining()
            });
            let length = bytes.len() + 2;
            if start + reserved > model.max {
                let full = ByteError::Full { byte: start, needed: *reserved };
                return assert_eq!(written, Err(full));
            }
            if length > *reserved {
                assert_eq!(written, Err(ByteError::Overrun { byte: start, reserved: *reserved }));
                // A refused block may leave any bytes over those that were there before.
                let end = model.bytes.len().min(start + reserved);
                model.bytes[start..end].copy_from_slice(&writer.written()[start..end]);
                return;
            }
            assert_eq!(written, Ok(reserved - length));
            let whole = [&bytes[..], &number.to_le_bytes()].concat();
            assert_eq!(model.write(&whole), Ok(()));
        }
        Step::Bits(width) => {
            let width = width % 65;
            let ones = u64::MAX.checked_shr(64 - width).unwrap_or(0);
            let written = writer.write_bits(|stream| stream.bits(&mut { ones }, width));
            let bytes = &ones.to_le_bytes()[..width.div_ceil(8) as usize];
            assert_eq!(written, model.append(bytes));
            if written.is_ok() {
                let mut read = 0;
                let mut reader = model.reader(start);
                assert_eq!(reader.read_bits(|stream| stream.bits(&mut read, width)), Ok(()));
                assert_eq!((read, reader.finish()), (ones, Ok(())));
            }
        }
        Step::Wire { value, packing } => {
            let mut buffer = [0; 8];
            let Ok(bytes) = packing.encode(&{ *value }, &mut buffer) else {
                panic!("{value:?} has four bytes at most");
            };
            let written = writer.write_wire(&{ *value }, *packing);
            assert_eq!(written, model.append(bytes));
            if written.is_ok() {
                let mut read = (false, None);
                let mut reader = model.reader(start);
                assert_eq!(reader.read_wire(&mut read, *packing), Ok(()));
                assert_eq!((read, reader.finish()), (*value, Ok(())));
            }
        }
        Step::SetAside(length) => {
            let set_aside = writer.set_aside(*length);
            let is_at_end = start == model.bytes.len();
            let expected = match model.waiting.len() {
                4 if is_at_end => Err(ByteError::TooManyReserved { byte: start }),
                _ => model.append(&vec![0; *length]),
            };
            assert_eq!(set_aside.as_ref().map(drop), expected.as_ref().map(drop));
            if let Ok(space) = set_aside {
                model.waiting.push((start, *length));
                spaces.push((space, Some((start, *length))));
            }
        }
        Step::Fill { space, value, is_wrong_length } => {
            if spaces.is_empty() {
                return;
            }
            let (space, place) = spaces.swap_remove(space % spaces.len());
            let Some((start, length)) = place else {
                return assert_eq!(writer.fill(space, &[0u8; 0]), Err(ByteError::Stale));
            };
            let bytes = vec![*value; length + usize::from(*is_wrong_length)];
            let filled = writer.fill(space, &bytes[..]);
            if *is_wrong_length {
                let wrong = ByteError::WrongLength { reserved: length, given: length + 1 };
                return assert_eq!(filled, Err(wrong));
            }
            assert_eq!(filled, Ok(()));
            model.bytes[start..start + length].fill(*value);
            let waiting = model.waiting.iter().position(|&waiting| waiting == (start, length));
            let Some(waiting) = waiting else { panic!("it was filled") };
            model.waiting.swap_remove(waiting);
        }
        Step::Seek(place) => {
            let byte = place % (model.bytes.len() + 3);
            assert_eq!(writer.seek(byte), model.seek(byte));
        }
        Step::Truncate(place) => {
            let len = place % (model.bytes.len() + 3);
            let truncated = model.seek(len);
            assert_eq!(writer.truncate(len), truncated);
            if truncated.is_ok() {
                model.truncate(len, spaces);
            }
        }
        Step::Clear => {
            writer.clear();
            model.position = 0;
            model.truncate(0, spaces);
            // Spaces without bytes, too.
            model.waiting.clear();
            spaces.iter_mut().for_each(|(_, place)| *place = None);
        }
    }
}

impl Model {
    fn write(&mut self, bytes: &[u8]) -> Result<(), ByteError> {
        let end = self.position + bytes.len();
        if end > self.max {
            return Err(ByteError::Full { byte: self.position, needed: bytes.len() });
        }
        self.bytes.resize(self.bytes.len().max(end), 0);
        self.bytes[self.position..end].copy_from_slice(bytes);
        self.position = end;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), ByteError> {
        if self.position != self.bytes.len() {
            return Err(ByteError::NotAtEnd { byte: self.position, len: self.bytes.len() });
        }
        self.write(bytes)
    }

    fn seek(&mut self, byte: usize) -> Result<(), ByteError> {
        if byte > self.bytes.len() {
            return Err(ByteError::Outside { byte, len: self.bytes.len() });
        }
        self.position = byte;
        Ok(())
    }

    /// Returns a reader at `start`, where the last written bytes begin.
    fn reader(&self, start: usize) -> ByteReader<'_> {
        ByteReader::new(&self.bytes[start..])
    }

    fn truncate(&mut self, len: usize, spaces: &mut [Space]) {
        self.bytes.truncate(len);
        self.waiting.retain(|(start, length)| start + length <= len);
        for (_, place) in spaces {
            *place = place.filter(|(start, length)| start + length <= len);
        }
    }
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut groups = Vec::new();
    while number > 0x7f {
        groups.push(number as u8 | 0x80);
        number >>= 7;
    }
    groups.push(number as u8);
    groups
}
