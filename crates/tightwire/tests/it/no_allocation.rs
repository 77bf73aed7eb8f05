//! Memory: none is allocated in the steady state, and a reader allocates no more than the packet's
//! size justifies.

use allocation_counter::AllocationInfo;
use tightwire::stream::{ErrorKind, ReadError, ReadStream, Selection, SubsetCoding, WriteStream};
use tightwire::{Stream, Wire};

use crate::common::everything::Everything;
use crate::common::field::Field;

/// Returns the allocations of `run` on this thread, and its result.
fn allocations<T>(run: impl FnOnce() -> T) -> (T, AllocationInfo) {
    let mut result = None;
    let info = allocation_counter::measure(|| result = Some(run()));
    (result.unwrap(), info)
}

#[test]
fn the_counter_counts() {
    let (memory, info) = allocations(|| std::hint::black_box(vec![0u8; 1000]));
    assert_eq!((info.count_total, info.bytes_total), (1, memory.len() as u64));
}

#[test]
fn writing_and_measuring_take_no_memory() {
    let value = Everything::sample();
    let mut buffer = [0; 4096];
    let (written, info) = allocations(|| tightwire::encode(&value, &mut buffer).map(<[u8]>::len));
    assert!(written.is_ok());
    assert_eq!(info.count_total, 0);

    let (measured, info) = allocations(|| tightwire::measure(&value));
    assert!(measured > 1000);
    assert_eq!(info.count_total, 0);

    // A refused write does not allocate either.
    let (written, info) = allocations(|| tightwire::encode(&value, &mut [0; 10]).is_err());
    assert!(written);
    assert_eq!(info.count_total, 0);
}

#[test]
fn reading_into_a_value_that_was_read_before_takes_no_memory() {
    let mut buffer = [0; 4096];
    let packet = tightwire::encode(&Everything::sample(), &mut buffer).unwrap();
    let mut value = Everything::default();
    let (first, info) = allocations(|| tightwire::decode_into(packet, &mut value));
    assert_eq!(first, Ok(()));
    assert_ne!(info.count_total, 0, "the first read makes room");

    for length in (0..=packet.len()).rev() {
        let (read, info) = allocations(|| tightwire::decode_into(&packet[..length], &mut value));
        assert_eq!(read.is_ok(), length == packet.len());
        assert_eq!(info.count_total, 0, "{length} bytes");
        // A refusal may leave an option or an array emptier than it was.
        tightwire::decode_into(packet, &mut value).unwrap();
    }
}

#[test]
fn values_that_get_shorter_keep_their_memory() {
    let mut buffers = [[0; 4096]; 2];
    let [long, short] = &mut buffers;
    let mut value = Everything::sample();
    let long = tightwire::encode(&value, long).unwrap();
    for field in &mut value.fields {
        match field {
            Field::Blob { value, .. } => value.truncate(1),
            Field::Text { value, .. } | Field::WideText { value, .. } => value.truncate(1),
            Field::Array { value, .. } => value.truncate(1),
            Field::Selection { value, .. } => value.clear(),
            _ => {}
        }
    }
    let short = tightwire::encode(&value, short).unwrap();
    let mut value = Everything::default();
    tightwire::decode_into(long, &mut value).unwrap();
    let (_, info) = allocations(|| {
        for packet in [short, long, short, long] {
            tightwire::decode_into(packet, &mut value).unwrap();
        }
    });
    assert_eq!(info.count_total, 0);
}

/// A derived type with everything that allocates, also behind conditions and in variants.
#[derive(Wire, Default, Clone)]
struct Derived {
    is_named: bool,
    #[wire(when = self.is_named, max_len = 40)]
    name: String,
    #[wire(when = self.is_named, max_len = 40)]
    #[allow(clippy::box_collection, reason = "what an absent field keeps")]
    boxed: Box<String>,
    #[wire(when = self.is_named, max_len = 40, range = 0..=999)]
    items: Vec<u16>,
    #[wire(max_len = 8)]
    blob: Vec<u8>,
    #[wire(max_len = 4, pod)]
    plain: Vec<[u32; 2]>,
    #[wire(max_len = 3)]
    actions: Vec<Action>,
}

#[derive(Wire, Default, Clone)]
enum Action {
    #[default]
    Wait,
    Say(#[wire(max_len = 20)] String, bool),
}

fn derived(is_named: bool) -> Derived {
    let say = Action::Say("something".into(), true);
    Derived {
        is_named,
        name: "a name".into(),
        boxed: Box::new("another".into()),
        items: vec![1, 2, 3],
        blob: vec![4, 5],
        plain: vec![[6, 7]],
        actions: vec![Action::Wait, say.clone(), say],
    }
}

#[test]
fn derived_types_take_no_memory_in_the_steady_state() {
    let mut buffers = [[0; Derived::MAX_BYTES]; 2];
    let [with_name, without] = &mut buffers;
    let (named, unnamed) = (derived(true), derived(false));
    let ((with_name, without), info) = allocations(|| {
        let with_name = tightwire::encode(&named, with_name).unwrap();
        (with_name, tightwire::encode(&unnamed, without).unwrap())
    });
    assert_eq!(info.count_total, 0, "writing");
    let mut value = Derived::default();
    tightwire::decode_into(with_name, &mut value).unwrap();
    let (_, info) = allocations(|| {
        for packet in [with_name, without, with_name, without, with_name] {
            tightwire::decode_into(packet, &mut value).unwrap();
        }
    });
    assert_eq!(info.count_total, 0, "reading");
    for length in 0..with_name.len() {
        let (read, info) = allocations(|| tightwire::decode_into(&with_name[..length], &mut value));
        assert!(read.is_err());
        assert_eq!(info.count_total, 0, "{length} bytes");
        tightwire::decode_into(with_name, &mut value).unwrap();
    }
}

/// Largest claimed length: a gigabyte and more.
const HUGE: usize = 1 << 30;

/// Returns a packet of `size` bytes whose first 31 bits claim `claimed` elements, followed by as
/// many as there is room for, each `unit` in `width` bits.
fn claiming(claimed: u64, size: usize, (unit, width): (u64, u32)) -> Vec<u8> {
    let mut packet = vec![0; size];
    let mut stream = WriteStream::new(&mut packet);
    let Ok(()) = stream.bits(&mut { claimed }, 31);
    if width == 8 {
        let Ok(()) = stream.align();
    }
    while stream.position() + u64::from(width) <= size as u64 * 8 {
        let Ok(()) = stream.bits(&mut { unit }, width);
    }
    stream.finish().unwrap();
    packet
}

/// Reads packets that claim more than they have, and returns the largest number of bytes that were
/// allocated for each byte of the packet.
fn bytes_taken_per_byte(
    element: (u64, u32),
    read: impl Fn(&mut ReadStream<'_>) -> Result<(), ReadError>,
) -> u64 {
    let mut worst = 0;
    for size in [4, 5, 8, 100, 1200, 60_000] {
        for claimed in [size as u64 * 8, 1 << 20, HUGE as u64 - 1, HUGE as u64] {
            let packet = claiming(claimed, size, element);
            let (refused, info) = allocations(|| read(&mut ReadStream::new(&packet)));
            let kind = refused.map_err(|refused| refused.kind);
            assert_eq!(kind, Err(ErrorKind::UnexpectedEnd), "{claimed} claimed by {size} bytes");
            worst = worst.max(info.bytes_max.div_ceil(size as u64));
        }
    }
    worst
}

#[test]
fn a_claimed_length_takes_no_more_memory_than_the_packet_pays_for() {
    // The bytes are checked before memory is reserved: none if they are missing.
    let letter = (u64::from(b'a'), 8);
    assert_eq!(bytes_taken_per_byte(letter, |s| s.string(&mut String::new(), HUGE)), 0);
    assert_eq!(bytes_taken_per_byte(letter, |s| s.blob(&mut Vec::new(), HUGE)), 0);
    // While a collection grows, it has its old memory and twice as much: three times its contents,
    // and a little to start with. Here three bytes of text for each four of the packet.
    let wide = bytes_taken_per_byte((0x4e2d, 32), |s| s.wide_string(&mut String::new(), HUGE));
    assert!((1..=4).contains(&wide), "{wide} bytes for each of the packet");
    // A byte for a byte.
    let array = |s: &mut ReadStream<'_>| s.array(&mut Vec::<u8>::new(), HUGE, |v, s| s.object(v));
    let bytes = bytes_taken_per_byte(letter, array);
    assert!((1..=4).contains(&bytes), "{bytes} bytes for each of the packet");
    // Sixteen bytes for a bit, because of the application's type.
    let array =
        |s: &mut ReadStream<'_>| s.array(&mut Vec::<u128>::new(), HUGE, |v, s| s.int(v, 0..=1));
    let bits = bytes_taken_per_byte((1, 1), array);
    assert!((128..=4 * 128).contains(&bits), "{bits} bytes for each of the packet");
}

#[test]
fn elements_without_bits_take_no_more_memory_than_a_thousand() {
    // Four bytes that claim a million elements of a range of one value, which take no bits each.
    let packet = claiming(1 << 20, 4, (0, 1));
    let mut elements = Vec::new();
    let (read, info) = allocations(|| {
        let mut stream = ReadStream::new(&packet);
        stream.array(&mut elements, HUGE, |element, stream| stream.int(element, 5..=5))
    });
    assert_eq!(read, Err(ReadError { kind: ErrorKind::UnexpectedEnd, bit: 31 }));
    assert!(info.bytes_max <= 3 * 8 * 1024, "took {} bytes", info.bytes_max);
}

#[test]
fn a_thousand_elements_without_bits_are_fine_and_more_are_not_written() {
    for (length, fits) in [(1024, true), (1025, false)] {
        let mut buffer = [0; 8];
        let mut stream = WriteStream::new(&mut buffer);
        let Ok(()) = stream.array(&mut vec![(); length], 5000, |element, s| s.object(element));
        assert_eq!(stream.finish().is_ok(), fits, "{length}");
    }
}

#[test]
fn a_selection_takes_no_memory_whatever_the_packet_says() {
    let mut selection = Selection::new(1 << 20);
    for coding in [
        SubsetCoding::BitPerObject,
        SubsetCoding::CountAndIndex,
        SubsetCoding::SentinelIndex,
        SubsetCoding::RelativeIndex,
        SubsetCoding::Best,
    ] {
        for fill in [0, 0x55, 0xff] {
            let packet = [fill; 100];
            let (_, info) =
                allocations(|| ReadStream::new(&packet).selection(&mut selection, coding));
            assert_eq!(info.count_total, 0, "{coding:?}");
        }
    }
}
