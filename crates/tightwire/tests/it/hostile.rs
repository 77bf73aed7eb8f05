//! A million hostile packets: none panics, none leaves a value out of its range, and a refusal is
//! final.

use std::collections::{BTreeSet, HashSet};

use tightwire::stream::{
    ErrorKind, Node, Op, RawStream, ReadError, ReadStream, Selection, SubsetCoding, TraceStream,
};
use tightwire::{Stream, Target, Wire};

use crate::common::everything::Everything;
use crate::common::field::{Field, Nested};
use crate::common::rng::Rng;

/// Makes nearly valid packets: valid ones, mutated.
struct Mutator {
    rng: Rng,
    valid: Vec<Vec<u8>>,
}

impl Mutator {
    fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), valid: vec![encoded(&mut Everything::sample())] }
    }

    /// Keeps a mutated packet for further mutations, so that the values of the sample are left
    /// behind.
    fn keep(&mut self, packet: &[u8]) {
        if self.valid.len() < 64 {
            self.valid.push(packet.to_vec());
        } else {
            let place = 1 + self.rng.below(63);
            self.valid[place] = packet.to_vec();
        }
    }

    fn mutate(&mut self, packet: &mut Vec<u8>) {
        let rng = &mut self.rng;
        packet.clear();
        packet.extend_from_slice(&self.valid[rng.below(self.valid.len())]);
        match rng.below(16) {
            0 => packet.iter_mut().for_each(|byte| *byte = rng.next() as u8),
            1 => packet.truncate(rng.below(packet.len())),
            2 => {
                let other = &self.valid[rng.below(self.valid.len())];
                let cut = rng.below(packet.len());
                packet.truncate(cut);
                // Mostly at the same byte, where the fields are likely to match.
                let from =
                    if rng.below(4) == 0 { rng.below(other.len()) } else { cut.min(other.len()) };
                packet.extend_from_slice(&other[from..]);
            }
            3 => packet.insert(rng.below(packet.len()), rng.next() as u8),
            4 => drop(packet.remove(rng.below(packet.len()))),
            5 => packet.extend((0..=rng.below(4)).map(|_| rng.next() as u8)),
            6 => {
                let (from, fill) = (rng.below(packet.len()), [0, 0xff][rng.below(2)]);
                packet[from..].iter_mut().take(6).for_each(|byte| *byte = fill);
            }
            flips => {
                for _ in 0..flips.saturating_sub(11).max(1) {
                    let bit = rng.below(packet.len() * 8);
                    packet[bit / 8] ^= 1 << (bit % 8);
                }
            }
        }
    }
}

fn encoded(value: &mut Everything) -> Vec<u8> {
    let mut buffer = vec![0; tightwire::measure(value).div_ceil(8) as usize];
    tightwire::encode(value, &mut buffer).unwrap().to_vec()
}

#[test]
fn the_sample_uses_every_operation() {
    let trace = tightwire::stream::explain_write(&Everything::sample());
    let used: BTreeSet<&str> = trace.spans().filter_map(Node::op).map(Op::name).collect();
    let all = "align bits blob bool bytes check compressed_float compressed_vector double enumerate \
               fixed float index int int_relative pod quaternion selection smallest_three string \
               unit_vector varint vector wide_string";
    assert_eq!(used, all.split(' ').collect());
    let packet = encoded(&mut Everything::sample());
    let read = tightwire::decode::<Everything>(&packet).unwrap();
    assert!(read.fields.iter().all(Field::is_in_range));
}

/// Decodes mutated packets. Called by two tests, so that two threads share the million.
fn decode_mutated_packets(seed: u64, count: usize) {
    let mut mutator = Mutator::new(seed);
    let mut value = Everything::default();
    let mut packet = Vec::new();
    let (mut accepted, mut kinds, mut places) = (0, HashSet::new(), HashSet::new());
    for _ in 0..count {
        mutator.mutate(&mut packet);
        match tightwire::decode_into(&packet, &mut value) {
            Ok(()) => {
                accepted += 1;
                for field in &value.fields {
                    assert!(field.is_in_range(), "{field:?} of {packet:02x?}");
                }
                mutator.keep(&packet);
            }
            Err(refused) => {
                kinds.insert(refused.kind);
                places.insert(refused.bit);
            }
        }
    }
    // Mutations that are all refused at once, or all accepted, would test little.
    assert!(accepted > count / 10 && accepted < count * 9 / 10, "{accepted} of {count} accepted");
    assert!(places.len() > 500, "refused at only {} bits", places.len());
    for kind in [
        ErrorKind::UnexpectedEnd,
        ErrorKind::OutOfRange,
        ErrorKind::Padding,
        ErrorKind::MalformedText,
        ErrorKind::InteriorNul,
        ErrorKind::NotIncreasing,
        ErrorKind::Overlong,
        ErrorKind::NotUnit,
        ErrorKind::CheckFailed,
        ErrorKind::TrailingData,
    ] {
        assert!(kinds.contains(&kind), "never refused as {kind:?}");
    }
}

#[test]
fn half_a_million_mutated_packets_do_no_harm() {
    decode_mutated_packets(1, 500_000);
}

#[test]
fn another_half_million_mutated_packets_do_no_harm() {
    decode_mutated_packets(2, 500_000);
}

#[test]
fn a_trace_refuses_what_the_reader_refuses_at_the_same_bit() {
    let mut mutator = Mutator::new(3);
    let mut packet = Vec::new();
    for _ in 0..20_000 {
        mutator.mutate(&mut packet);
        let read = tightwire::decode::<Everything>(&packet);
        let trace = tightwire::explain::<Everything>(&packet);
        let refused = read.as_ref().err().map(|refused| (refused.kind, refused.bit));
        assert_eq!(trace.failure(), refused, "{packet:02x?}");
        if matches!(refused, Some((kind, _)) if kind != ErrorKind::TrailingData) {
            let span = trace.refused().expect("the operation that was refused");
            assert_eq!(Some(span), trace.spans().next_back(), "nothing runs after a refusal");
        }
        if read.is_ok() {
            mutator.keep(&packet);
        }
    }
}

#[test]
fn decoding_does_not_depend_on_the_previous_value() {
    let mut mutator = Mutator::new(6);
    let mut packet = Vec::new();
    let mut used = Everything::sample();
    for _ in 0..5_000 {
        mutator.mutate(&mut packet);
        let result = tightwire::decode_into(&packet, &mut used);
        match tightwire::decode::<Everything>(&packet) {
            Ok(fresh) => {
                assert_eq!(result, Ok(()));
                for (used, fresh) in used.fields.iter().zip(&fresh.fields) {
                    // The elements that are not selected are not read.
                    let selected = |field: &Field| match field {
                        Field::Subset { objects, selection, .. } => {
                            Some(selection.iter().map(|i| (i, objects[i])).collect::<Vec<_>>())
                        }
                        _ => None,
                    };
                    match selected(used) {
                        None => assert_eq!(used, fresh),
                        objects => assert_eq!(objects, selected(fresh)),
                    }
                }
                mutator.keep(&packet);
            }
            Err(refused) => assert_eq!(result, Err(refused)),
        }
    }
}

#[test]
fn a_packet_without_contents_empties_what_was_full() {
    let mut empty = Everything::sample();
    for field in &mut empty.fields {
        match field {
            Field::Option(value) => *value = None,
            Field::Blob { value, .. } => value.clear(),
            Field::Text { value, .. } | Field::WideText { value, .. } => value.clear(),
            Field::Array { value, .. } => value.clear(),
            Field::Selection { value, .. } => value.clear(),
            Field::Object(nested) => *nested = Nested::default(),
            _ => {}
        }
    }
    let packet = encoded(&mut empty);
    let mut used = Everything::sample();
    assert_eq!(tightwire::decode_into(&packet, &mut used), Ok(()));
    assert_eq!(encoded(&mut used), packet);
}

#[test]
fn a_trace_of_any_packet_can_be_drawn() {
    let mut mutator = Mutator::new(4);
    let mut packet = Vec::new();
    for _ in 0..500 {
        mutator.mutate(&mut packet);
        let trace = tightwire::explain::<Everything>(&packet);
        let picture = trace.to_string();
        assert_eq!(picture.contains("refused"), trace.refused().is_some());
    }
}

#[test]
fn a_refusal_is_final_and_leaves_scalars_alone() {
    let mut mutator = Mutator::new(5);
    let mut packet = Vec::new();
    let mut refusals = 0;
    let mut value = Everything::sample();
    let sample = value.clone();
    for _ in 0..30_000 {
        mutator.mutate(&mut packet);
        let mut stream = ReadStream::new(&packet);
        let mut refused = None;
        for field in &mut value.fields {
            let before = field.clone();
            let result = Wire::serialize(Target::from(&mut *field), &mut stream);
            let was_refused = refused.is_some();
            match (refused, result) {
                (None, Ok(())) => continue,
                (None, Err(first)) => refused = Some(first),
                (Some(first), later) => assert_eq!(later, Err(first), "{before:?}"),
            }
            if is_scalar(field) || was_refused && !matches!(field, Field::Selection { .. }) {
                assert!(is_same(field, &before), "{before:?} became {field:?}");
            }
        }
        if let Some(refused) = refused {
            refusals += 1;
            assert_eq!(stream.failure(), Some((refused.kind, refused.bit)));
            assert_eq!(stream.remaining(), 0);
            assert_eq!(stream.refuse(), Err(refused));
            assert_eq!(stream.finish(), Err(refused));
            value.clone_from(&sample);
        }
    }
    assert!(refusals > 10_000, "only {refusals} refusals");
}

/// Whether a refused read must leave the value unchanged; collections may be partly read.
fn is_scalar(field: &Field) -> bool {
    !matches!(
        field,
        Field::Option(_)
            | Field::Blob { .. }
            | Field::Text { .. }
            | Field::WideText { .. }
            | Field::Array { .. }
            | Field::FixedArray(_)
            | Field::Selection { .. }
            | Field::Subset { .. }
            | Field::Object(_)
    )
}

/// Compares two fields, except for a selection, which is cleared before its first bit is read.
fn is_same(field: &Field, before: &Field) -> bool {
    match (field, before) {
        (Field::Subset { objects, .. }, Field::Subset { objects: before, .. }) => objects == before,
        _ => field == before,
    }
}

#[test]
fn trailing_data_is_refused() {
    for length in 0..20usize {
        for read in 0..=length * 8 {
            let finish = |packet: &[u8]| {
                let mut stream = ReadStream::new(packet);
                for _ in 0..read {
                    stream.bool(&mut false)?;
                }
                stream.finish()
            };
            let refused = Err(ReadError { kind: ErrorKind::TrailingData, bit: read as u64 });
            // Ones that were read are no trailing data, nor are zeros that fill the last byte.
            let mut packet = vec![0; length];
            (0..read).for_each(|bit| packet[bit / 8] |= 1 << (bit % 8));
            let fills_a_byte = length * 8 - read < 8;
            assert_eq!(finish(&packet), if fills_a_byte { Ok(()) } else { refused });
            for bit in read..length * 8 {
                packet[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(finish(&packet), refused, "bit {bit} of {length} bytes");
                packet[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}

/// Runs an operation on a reader that has already failed.
fn after_a_failure(run: impl FnOnce(&mut ReadStream<'_>) -> Result<(), ReadError>) -> bool {
    let mut stream = ReadStream::new(&[0xff; 16]);
    let first = stream.int(&mut 0, 0..=5).unwrap_err();
    run(&mut stream) == Err(first)
}

#[test]
fn operations_that_take_no_bits_are_refused_by_a_failed_reader() {
    assert!(after_a_failure(|stream| stream.int(&mut 5u8, 5..=5)));
    assert!(after_a_failure(|stream| stream.int(&mut 5u128, 5..=5)));
    assert!(after_a_failure(|stream| stream.fixed(&mut 5u8, 0, 5..=5)));
    assert!(after_a_failure(|stream| stream.bits(&mut 0, 0)));
    assert!(after_a_failure(|stream| stream.align()));
    assert!(after_a_failure(|stream| stream.bytes(&mut [])));
    assert!(after_a_failure(|stream| stream.pod(&mut [0u32; 0])));
    assert!(after_a_failure(|stream| stream.blob(&mut vec![], 0)));
    assert!(after_a_failure(|stream| stream.string(&mut String::new(), 0)));
    assert!(after_a_failure(|stream| stream.wide_string(&mut String::new(), 0)));
    assert!(after_a_failure(|stream| stream.enumerate(&mut 'a', &['a'])));
    assert!(after_a_failure(|stream| stream.array(&mut vec![0u8; 0], 0, |v, s| s.object(v))));
    assert!(after_a_failure(|stream| stream.object(&mut ())));
    for coding in
        [SubsetCoding::CountAndIndex, SubsetCoding::SentinelIndex, SubsetCoding::RelativeIndex]
    {
        assert!(after_a_failure(|stream| stream.selection(&mut Selection::new(0), coding)));
    }
    assert!(after_a_failure(|stream| stream.selection(&mut Selection::new(0), SubsetCoding::Best)));
}

#[test]
fn operations_on_nothing_at_all_are_refused_by_a_failed_reader() {
    let mut accepted = Vec::new();
    let mut check = |name, is_refused: bool| {
        if !is_refused {
            accepted.push(name);
        }
    };
    let element = |value: Target<'_, tightwire::stream::Unique, u8>,
                   stream: &mut ReadStream<'_>| { stream.object(value) };
    let coding = SubsetCoding::BitPerObject;
    check("fixed_array", after_a_failure(|stream| stream.fixed_array(&mut [], element)));
    check("selection", after_a_failure(|stream| stream.selection(&mut Selection::new(0), coding)));
    check(
        "subset",
        after_a_failure(|stream| stream.subset(&mut [], &mut Selection::new(0), coding, element)),
    );
    check("vector", after_a_failure(|stream| stream.vector(&mut [0f32; 0])));
    check("object", after_a_failure(|stream| stream.object(&mut [0u8; 0])));
    assert_eq!(accepted, Vec::<&str>::new(), "accepted after a failure");
}

/// A refused integer is shown as the number that it would have been.
#[test]
fn a_trace_shows_the_refused_number_of_every_type() {
    fn shown<T: tightwire::stream::Int>(packet: &[u8], min: T, max: T) -> String {
        let mut stream = TraceStream::new(ReadStream::new(packet));
        let refused = stream.named("field").int(&mut T::default(), min..=max);
        assert!(refused.is_err());
        let (_, trace) = stream.into_parts();
        trace.refused().and_then(Node::value).unwrap().to_string()
    }
    assert_eq!(shown(&[0xff], -5i8, 0), "2");
    assert_eq!(shown(&[0xff], 0u8, 100), "127");
    assert_eq!(shown(&[0xff; 8], 0u64, u64::MAX - 1), u64::MAX.to_string());
    assert_eq!(shown(&[0xff], 0u128, 5), "7");
    assert_eq!(shown(&[0xff], -5i128, 0), "2");
    let mut wide = [0; 16];
    wide[15] = 0x80;
    wide[0] = 7;
    assert_eq!(shown(&wide, 0u128, 1 << 127), ((1u128 << 127) + 7).to_string());
}

/// The number may not exist in the type, or in any type: that must not overflow.
#[test]
fn a_trace_of_a_range_at_the_top_of_a_type_does_not_panic() {
    fn explained<T: tightwire::stream::Int>(min: T, max: T) -> ErrorKind {
        let mut stream = TraceStream::new(ReadStream::new(&[0xff]));
        let refused = stream.int(&mut T::default(), min..=max).unwrap_err();
        assert!(!stream.into_parts().1.to_string().is_empty());
        refused.kind
    }
    assert_eq!(explained(u8::MAX - 4, u8::MAX), ErrorKind::OutOfRange);
    assert_eq!(explained(i64::MAX - 4, i64::MAX), ErrorKind::OutOfRange);
    assert_eq!(explained(i128::MAX - 4, i128::MAX), ErrorKind::OutOfRange);
    assert_eq!(explained(u128::MAX - 4, u128::MAX), ErrorKind::OutOfRange);
}
