//! Subsets of an array: the cost of each coding, round trips, and no packet selects an element that
//! does not exist.

use tightwire::Stream;
use tightwire::stream::{
    ErrorKind, MeasureStream, RawStream, ReadError, ReadStream, Selection, SubsetCoding,
    WriteStream,
};

use crate::common::rng::Rng;

const CODINGS: [SubsetCoding; 5] = [
    SubsetCoding::BitPerObject,
    SubsetCoding::CountAndIndex,
    SubsetCoding::SentinelIndex,
    SubsetCoding::RelativeIndex,
    SubsetCoding::Best,
];

const LENGTHS: [usize; 8] = [0, 1, 2, 63, 64, 65, 127, 4096];

fn selected(len: usize, indices: impl IntoIterator<Item = usize>) -> Selection {
    let mut selection = Selection::new(len);
    for index in indices {
        assert!(selection.insert(index), "{index} of {len}");
    }
    selection
}

fn random(len: usize, count: usize, rng: &mut Rng) -> Selection {
    let mut selection = Selection::new(len);
    while selection.count() < count {
        selection.insert(rng.below(len));
    }
    selection
}

fn cost(selection: &Selection, coding: SubsetCoding) -> u64 {
    MeasureStream::bits_of(|stream| stream.selection(&mut selection.clone(), coding))
}

fn written(selection: &Selection, coding: SubsetCoding) -> Vec<u8> {
    let mut buffer = vec![0; cost(selection, coding).div_ceil(8) as usize];
    let mut stream = WriteStream::new(&mut buffer);
    let Ok(()) = stream.selection(&mut selection.clone(), coding);
    stream.finish().unwrap().to_vec()
}

/// Reads into a selection that is not empty, which reading has to clear.
fn read(packet: &[u8], len: usize, coding: SubsetCoding) -> Result<Selection, ReadError> {
    let mut selection = selected(len, 0..len);
    let mut stream = ReadStream::new(packet);
    stream.selection(&mut selection, coding)?;
    stream.finish().map(|()| selection)
}

/// Checks that `Best` takes at most two bits more than any other coding: those of its choice.
fn check_cost(selection: &Selection) {
    let best = cost(selection, SubsetCoding::Best);
    for other in [SubsetCoding::BitPerObject, SubsetCoding::RelativeIndex] {
        let other_cost = cost(selection, other);
        assert!(best <= other_cost + 2, "{best} bits, {other_cost} as {other:?}: {selection:?}");
    }
    assert_eq!(best.div_ceil(8), written(selection, SubsetCoding::Best).len() as u64);
}

#[test]
fn two_thousand_of_4096_cost_at_most_514_bytes() {
    for seed in 0..300 {
        let selection = random(4096, 2000, &mut Rng::new(seed));
        assert!(written(&selection, SubsetCoding::Best).len() <= 514, "seed {seed}");
        check_cost(&selection);
    }
}

#[test]
fn thirty_two_of_4096_cost_at_most_37_bytes_wherever_they_are() {
    for seed in 0..3000 {
        let mut rng = Rng::new(seed);
        let selection = random(4096, 32, &mut rng);
        assert!(written(&selection, SubsetCoding::Best).len() <= 37, "seed {seed}");
        check_cost(&selection);
    }
    let mut adversarial = vec![
        selected(4096, 0..32),
        selected(4096, 4096 - 32..4096),
        selected(4096, 2000..2032),
        selected(4096, (0..16).chain(4096 - 16..4096)),
        selected(4096, (0..31).chain([4095])),
        selected(4096, [0].into_iter().chain(4096 - 31..4096)),
    ];
    for step in [2, 6, 14, 62, 63, 64, 125, 126, 127, 128, 129, 130, 131, 132] {
        for start in [0, 1, (4095 - 31 * step) / 2, 4095 - 31 * step] {
            adversarial.push(selected(4096, (0..32).map(|index| start + index * step)));
        }
    }
    // Clusters: every gap is either one or as wide as possible.
    for size in [1, 2, 4, 8, 16usize] {
        let clusters = 32 / size;
        let place = |index: usize| index / size * (4096 / clusters) + index % size;
        adversarial.push(selected(4096, (0..32).map(place)));
    }
    for selection in &adversarial {
        assert_eq!(selection.count(), 32);
        let bytes = written(selection, SubsetCoding::Best).len();
        assert!(bytes <= 37, "{bytes} bytes for {selection:?}");
        check_cost(selection);
    }
}

#[test]
fn the_best_coding_is_never_two_bits_worse_than_another() {
    let mut rng = Rng::new(1);
    for len in LENGTHS {
        for _ in 0..200 {
            let count = rng.below(len + 1);
            check_cost(&random(len, count, &mut rng));
        }
    }
}

#[test]
fn every_coding_brings_back_every_selection() {
    let mut rng = Rng::new(2);
    for len in LENGTHS {
        let mut selections = vec![Selection::new(len), selected(len, 0..len)];
        for _ in 0..if len > 1000 { 10 } else { 50 } {
            let count = rng.below(len + 1);
            selections.push(random(len, count, &mut rng));
            selections.push(random(len, count.min(3), &mut rng));
        }
        for selection in &selections {
            for coding in CODINGS {
                let packet = written(selection, coding);
                assert_eq!(
                    read(&packet, len, coding).as_ref(),
                    Ok(selection),
                    "{len} as {coding:?}"
                );
            }
        }
    }
}

#[test]
fn a_subset_carries_the_selected_elements_and_leaves_the_others_alone() {
    let mut rng = Rng::new(3);
    for coding in CODINGS {
        let mut sent: Vec<u32> = (0..300).collect();
        let mut selection = random(300, 40, &mut rng);
        let mut buffer = [0; 1024];
        let mut stream = WriteStream::new(&mut buffer);
        let Ok(()) = stream.subset(&mut sent, &mut selection, coding, |v, s| s.int(v, 0..=999));
        let packet = stream.finish().unwrap();

        let (mut objects, mut read) = ([777; 300], selected(300, 0..300));
        let mut stream = ReadStream::new(packet);
        let result = stream.subset(&mut objects, &mut read, coding, |v, s| s.int(v, 0..=999));
        assert_eq!((result, stream.finish()), (Ok(()), Ok(())));
        assert_eq!(read, selection);
        for (index, &object) in objects.iter().enumerate() {
            let expected = if selection.contains(index) { index as u32 } else { 777 };
            assert_eq!(object, expected, "{coding:?}");
        }
    }
}

/// A selection keeps its indices as bits, and also as a list while they are few and inserted in
/// order. Its contents must not depend on the order of insertion.
#[test]
fn a_selection_is_the_same_set_however_it_was_made() {
    let mut rng = Rng::new(9);
    for round in 0..400 {
        let len = LENGTHS[round % LENGTHS.len()];
        let mut selection = Selection::new(len);
        let mut model = std::collections::BTreeSet::new();
        for _ in 0..rng.below(40) {
            let index = rng.below(len + 2);
            match rng.below(6) {
                0 => assert_eq!(selection.remove(index), model.remove(&index)),
                1 => {
                    let last = model.last().map_or(0, |last| last + 1);
                    let most = rng.below(300);
                    let more: Vec<usize> =
                        (last..len + 1).filter(|_| rng.below(3) > 0).take(most).collect();
                    selection.extend(more.iter().copied());
                    model.extend(more.into_iter().filter(|&index| index < len));
                }
                2 => {
                    selection.extend([index, 3, index]);
                    model.extend([index, 3].into_iter().filter(|&index| index < len));
                }
                3 if rng.below(8) == 0 => {
                    selection.clear();
                    model.clear();
                }
                _ => {
                    let index = model.last().map_or(index, |last| last + 1 + index % 7);
                    assert_eq!(selection.insert(index), index < len);
                    model.extend((index < len).then_some(index));
                }
            }
            let expected: Vec<usize> = model.iter().copied().collect();
            assert_eq!(selection.count(), expected.len());
            assert_eq!(selection.iter().collect::<Vec<_>>(), expected);
            let mut rest = selection.iter();
            let first = rest.next();
            let mut folded: Vec<usize> = first.into_iter().collect();
            rest.for_each(|index| folded.push(index));
            assert_eq!(folded, expected);
            assert_eq!(selection, selected(len, expected.iter().rev().copied()));
            assert!((0..len).all(|index| selection.contains(index) == model.contains(&index)));
        }
    }
}

/// Returns a packet of fields, each a value and its width.
fn packet(fields: &[(u64, u32)]) -> Vec<u8> {
    let mut buffer = [0; 64];
    let mut stream = WriteStream::new(&mut buffer);
    for &(mut value, width) in fields {
        let Ok(()) = stream.bits(&mut value, width);
    }
    stream.finish().unwrap().to_vec()
}

fn refusal(fields: &[(u64, u32)], len: usize, coding: SubsetCoding) -> ErrorKind {
    read(&packet(fields), len, coding).expect_err("a hostile packet").kind
}

#[test]
fn an_index_beyond_the_array_is_refused() {
    let out_of_range = ErrorKind::OutOfRange;
    let (count, sentinel) = (SubsetCoding::CountAndIndex, SubsetCoding::SentinelIndex);
    let (relative, best) = (SubsetCoding::RelativeIndex, SubsetCoding::Best);
    for beyond in 100..128 {
        assert_eq!(refusal(&[(1, 7), (beyond, 7)], 100, count), out_of_range);
    }
    for beyond in 101..128 {
        assert_eq!(refusal(&[(beyond, 7), (100, 7)], 100, sentinel), out_of_range);
    }
    // 0 0 0 0 0 1 and six bits: 62 + 63 above -1. Then the next one, and the end.
    assert_eq!(refusal(&[(0b10_0000, 6), (63, 6), (1, 1)], 100, relative), out_of_range);
    // Six zeros mean "further than 125", which no array of 100 has.
    assert_eq!(refusal(&[(0, 6), (0, 58)], 100, relative), out_of_range);
    // Two steps on from the last element but one: beyond even the end.
    let steps = [(0b10_0000, 6), (100 - 62, 6), (0b10, 2), (0, 2), (0, 8)];
    assert_eq!(refusal(&steps, 100, relative), out_of_range);
    // The choice of Rice codes for few, a count of three, and a gap of 3 * 32 + 31: three zeros,
    // the most that fit 100 elements, have no one behind them.
    assert_eq!(refusal(&[(2, 2), (3, 4), (0, 3), (31, 5)], 100, best), out_of_range);
    // The same with a count of one, where no later index can show that the first was beyond.
    assert_eq!(refusal(&[(2, 2), (1, 4), (0, 1), (63, 6)], 100, best), out_of_range);
    assert_eq!(refusal(&[(2, 2), (1, 4), (0, 1), (36, 6)], 100, best), out_of_range);
    let last = read(&packet(&[(2, 2), (1, 4), (0, 1), (35, 6)]), 100, best);
    assert_eq!(last, Ok(selected(100, [99])));
    for count in 101..128 {
        assert_eq!(refusal(&[(3, 2), (count, 7), (u64::MAX, 64)], 100, best), out_of_range);
    }
}

#[test]
fn indices_that_do_not_increase_are_refused() {
    let (count, sentinel) = (SubsetCoding::CountAndIndex, SubsetCoding::SentinelIndex);
    for (first, second) in [(5, 5), (5, 4), (99, 0), (0, 0), (99, 99)] {
        let fields = [(2, 7), (first, 7), (second, 7)];
        assert_eq!(refusal(&fields, 100, count), ErrorKind::NotIncreasing);
        let fields = [(first, 7), (second, 7), (100, 7)];
        assert_eq!(refusal(&fields, 100, sentinel), ErrorKind::NotIncreasing);
    }
    // The gaps of the Rice codes cannot go backwards, but two indices of which the first is the
    // last element claim one that does not exist.
    let after_the_last = [(3, 2), (2, 7), (0, 3), (3, 5), (0, 40)];
    assert_eq!(refusal(&after_the_last, 100, SubsetCoding::Best), ErrorKind::OutOfRange);
}

/// A stream that counts the calls that reach the packet: the work that a packet can cause.
struct Counting<'a> {
    inner: ReadStream<'a>,
    calls: usize,
}

impl RawStream for Counting<'_> {
    type Error = ReadError;
    type Access = tightwire::stream::Unique;

    fn position(&self) -> u64 {
        self.inner.position()
    }
    fn failure(&self) -> Option<(ErrorKind, u64)> {
        self.inner.failure()
    }
    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), ReadError> {
        self.calls += 1;
        self.inner.raw_bits(value, width)
    }
    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), ReadError> {
        self.calls += 1;
        self.inner.raw_unary(zeros, limit)
    }
    fn raw_align(&mut self) -> Result<(), ReadError> {
        self.inner.raw_align()
    }
    fn raw_bytes<'s>(&'s mut self, source: &'s [u8], length: usize) -> Result<&'s [u8], ReadError> {
        self.inner.raw_bytes(source, length)
    }
    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), ReadError> {
        self.inner.refuse_at(kind, bit)
    }
}

#[test]
fn the_work_follows_the_packet_and_not_the_array() {
    let mut rng = Rng::new(5);
    let mut selection = Selection::new(1 << 24);
    for coding in CODINGS {
        for size in 0..24 {
            let mut packet: Vec<u8> = (0..size).map(|_| rng.next() as u8).collect();
            // Random bytes; then all zeros and all ones, the longest runs of either.
            for fill in [None, Some(0), Some(0xff)] {
                if let Some(byte) = fill {
                    packet.fill(byte);
                }
                let mut stream = Counting { inner: ReadStream::new(&packet), calls: 0 };
                let result = stream.selection(&mut selection, coding);
                assert!(result.is_err() || selection.count() <= packet.len() * 8, "{coding:?}");
                // An index takes at least a bit, and is read in at most three steps.
                let most = packet.len() * 8 * 3 + 4;
                assert!(stream.calls <= most, "{} calls for {size} bytes", stream.calls);
            }
        }
    }
}

#[test]
fn a_selection_keeps_only_indices_of_its_array() {
    for len in LENGTHS {
        let mut selection = selected(len, 0..len);
        assert!(!selection.insert(len) && !selection.insert(usize::MAX));
        assert!(!selection.contains(len) && !selection.contains(usize::MAX));
        assert!(!selection.remove(len) && !selection.remove(usize::MAX));
        assert_eq!((selection.array_len(), selection.count()), (len, len));
        assert!(selection.iter().eq(0..len));
        assert_eq!(selection.remove(len / 2), len > 0);
        assert!(!selection.contains(len / 2));
        selection.clear();
        assert_eq!(selection, Selection::new(len));
    }
}

#[test]
fn a_refused_selection_still_counts_what_it_holds() {
    for coding in CODINGS {
        for length in 0..40 {
            let packet = vec![0xff; length];
            let mut selection = Selection::new(1000);
            let _ = ReadStream::new(&packet).selection(&mut selection, coding);
            assert_eq!(selection.count(), selection.iter().count(), "{coding:?}, {length} bytes");
        }
    }
}
