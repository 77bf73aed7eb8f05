//! Round trips of any values, from any bit, with any space in the buffer.

use arbitrary::{Result, Unstructured};
use tightwire::stream::{RawStream, ReadStream, TraceStream, WriteError, WriteStream};
use tightwire::{Stream, Target, Wire, at, decode_into, measure};

use super::item::Items;

/// Checks a message: the first byte is the number of bytes that choose the operations; the rest are
/// their values.
pub(crate) fn round_trip(data: &[u8]) {
    let Some((&length, rest)) = data.split_first() else { return };
    let (shape, values) = rest.split_at(rest.len().min(length.into()));
    // An input that ends early makes no message.
    if let (Ok(mut message), Ok(mut blank)) = (generate(shape, values), generate(shape, &[])) {
        check(&mut message, &mut blank);
    }
}

/// Operations, and the bits before them, which make them start at any bit.
struct Message {
    start: u32,
    items: Items,
    /// Number of operations before the checkpoint, and before the rollback to it.
    detour: (usize, usize),
}

const MOST_ITEMS: usize = 24;

fn generate(shape: &[u8], values: &[u8]) -> Result<Message> {
    let (mut shape, mut values) = (Unstructured::new(shape), Unstructured::new(values));
    let start = shape.int_in_range(0..=63)?;
    let detour = (shape.int_in_range(0..=MOST_ITEMS)?, shape.int_in_range(0..=MOST_ITEMS)?);
    Ok(Message { start, items: Items::generate(&mut shape, &mut values, MOST_ITEMS, 2)?, detour })
}

impl Message {
    fn serialize_start<S: Stream>(&self, stream: &mut S) -> std::result::Result<(), S::Error> {
        stream.bits(&mut ((1 << self.start) - 1), self.start)
    }
}

impl Wire for Message {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> std::result::Result<(), S::Error> {
        this.serialize_start(stream)?;
        stream.object(at!(this.items))
    }
}

fn check(message: &mut Message, blank: &mut Message) {
    let measured = measure(message);
    let mut buffer = vec![0xff; measured.div_ceil(8) as usize];
    let (needed_bits, packet) = write(message, &mut buffer);
    assert!(needed_bits <= measured, "{needed_bits} bits, {measured} measured");
    let Ok(packet) = packet else { panic!("{packet:?}: not written: {:?}", message.items) };
    assert_eq!(packet.len() as u64, needed_bits.div_ceil(8));

    assert_eq!(decode_into(packet, blank), Ok(()), "{:?}", message.items);
    assert!(message.items.agrees(&blank.items), "{:?}\n{:?}", message.items, blank.items);

    check_smaller_buffers(message, packet.len(), needed_bits);
    check_detour(message, packet);
    check_traces(message, packet, needed_bits);
}

/// Returns the number of written bits, and the result.
fn write<'a>(
    message: &mut Message,
    buffer: &'a mut [u8],
) -> (u64, std::result::Result<&'a [u8], WriteError>) {
    let mut stream = WriteStream::new(buffer);
    let Ok(()) = Message::serialize(Target::from(&mut *message), &mut stream);
    (stream.position(), stream.finish())
}

/// Bytes around the stream's buffer, which reveal a write outside of it.
const GUARD: u8 = 0xa5;

fn check_smaller_buffers(message: &mut Message, length: usize, needed_bits: u64) {
    let mut memory = vec![GUARD; length + 16];
    // Every length below 64 bytes; for a longer message only some, or a run would take too long.
    for smaller in (0..length).rev().step_by(1 + length / 64) {
        memory.fill(GUARD);
        let refused = WriteError::Full { needed_bits, capacity_bits: smaller as u64 * 8 };
        let buffer = &mut memory[8..8 + smaller];
        assert_eq!(write(message, buffer), (needed_bits, Err(refused)));
        let (before, after) = (&memory[..8], &memory[8 + smaller..]);
        assert!(before.iter().chain(after).all(|&byte| byte == GUARD));
    }
}

/// Writes some operations twice and rolls them back once, without a spare byte.
fn check_detour(message: &mut Message, packet: &[u8]) {
    let mut buffer = vec![0xff; packet.len()];
    let mut stream = WriteStream::new(&mut buffer);
    let Ok(()) = message.serialize_start(&mut stream);
    let (place, end) = message.detour;
    let items = &mut message.items.0;
    let place = place.min(items.len());
    let end = end.clamp(place, items.len());
    let Ok(()) = items[..place]
        .iter_mut()
        .try_for_each(|item| Wire::serialize(Target::from(item), &mut stream));
    let checkpoint = stream.checkpoint();
    let position = stream.position();
    // From the start: often more than there is room for.
    let Ok(()) = items[..end]
        .iter_mut()
        .try_for_each(|item| Wire::serialize(Target::from(item), &mut stream));
    let Ok(()) = stream.refuse();
    stream.rollback(checkpoint);
    assert_eq!(stream.position(), position);
    assert!(!stream.has_overflowed());
    let Ok(()) = items[place..]
        .iter_mut()
        .try_for_each(|item| Wire::serialize(Target::from(item), &mut stream));
    assert_eq!(stream.finish(), Ok(packet), "the detour from {place} to {end} shows");
}

/// Checks that reading and writing trace the same operations at the same bits.
fn check_traces(message: &mut Message, packet: &[u8], needed_bits: u64) {
    let mut buffer = vec![0xff; packet.len()];
    let mut stream = TraceStream::new(WriteStream::new(&mut buffer));
    let Ok(()) = Message::serialize(Target::from(&mut *message), &mut stream);
    assert_eq!(stream.failure(), None);
    let (stream, written) = stream.into_parts();
    assert_eq!(stream.finish(), Ok(packet));

    let mut stream = TraceStream::new(ReadStream::new(packet));
    assert_eq!(Message::serialize(Target::from(&mut *message), &mut stream), Ok(()));
    let (stream, read) = stream.into_parts();
    assert_eq!(stream.finish(), Ok(()));
    assert_eq!(written.spans().count(), read.spans().count());
    let mut at = 0;
    for (written, read) in written.spans().zip(read.spans()) {
        assert_eq!((written.bits(), written.op()), (read.bits(), read.op()));
        assert_eq!(written.path(), read.path());
        assert_eq!(written.bits().start, at, "{}", written.path());
        at = written.bits().end;
    }
    assert_eq!(at, needed_bits);
}
