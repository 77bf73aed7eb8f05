//! Parts of streams that wait in QUIC because they cannot be read yet.

use std::collections::{BTreeSet, HashMap};

use super::frames::Part;

/// Numbers of parts of streams that QUIC keeps. Each part holds the memory of its packet, and an
/// entry in a list, however few bytes it has: parts behind gaps, or that are not read at the
/// moment, are bounded by this and not by flow control, which counts bytes.
///
/// The two streams of ordered deliveries can have many parts; QUIC itself merges them from 2048 on.
/// Their first byte identifies them, but may come after many others. All other streams are one batch
/// each, which an honest peer sends in one part or two, and retransmits many times where much is lost
/// or reordered.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    streams: HashMap<u64, StreamParts>,
    /// Stream number above those of all received parts, and the streams below it that have not been
    /// opened. Other streams that are not in the map have ended.
    next: u64,
    unopened: BTreeSet<u64>,
    large: Vec<LargeStream>,
    /// Number of waiting parts of the streams that are not large.
    unread: u32,
}

#[derive(Debug, Default)]
struct StreamParts {
    unread: u32,
    /// Offset up to which all data has arrived, as far as is known.
    next: u64,
    end: u64,
}

/// A stream that may have many parts.
#[derive(Clone, Copy, Debug)]
struct LargeStream {
    id: u64,
    /// Whether the first byte is that of an ordered delivery. Until it arrives, the stream may be a batch
    /// that a bad network retransmits again and again.
    is_ordered: bool,
}

/// Limits of waiting parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Limit of a large stream.
    pub(super) large: u32,
    /// Limit of all other streams together.
    pub(super) small: u32,
    /// Largest number of open streams, as in QUIC's limit.
    pub(super) streams: u32,
    /// Whether data without a gap before it is read soon.
    pub(super) is_read: bool,
}

impl Pieces {
    /// Whether there is room for a part.
    pub(super) fn admits(&mut self, part: Part, limits: Limits) -> bool {
        let (unread, is_next) = match self.streams.get(&part.stream) {
            Some(stream) => (stream.unread, part.offset <= stream.next),
            None => (0, part.offset == 0),
        };
        // A part that closes the first gap is always taken, or the stream would never be read.
        let fills = is_next && limits.is_read;
        if unread >= MAX_PARTS_OF_BATCH && self.make_large(part.stream, false) {
            return unread < limits.large || fills;
        }
        let most = if fills { MAX_PARTS_OF_BATCH * 4 } else { MAX_PARTS_OF_BATCH };
        unread < most && (self.unread < limits.small || fills)
    }

    /// Records a received part. QUIC drops the parts of streams that have ended, and ends a
    /// connection that opens more streams than its limit.
    pub(super) fn add(&mut self, part: Part, limits: Limits) {
        if !self.is_open(part.stream, limits) {
            return;
        }
        // An ordered delivery.
        if matches!(part.first, Some(3 | 4)) {
            self.make_large(part.stream, true);
        }
        let is_large = self.is_large(part.stream);
        let stream = self.streams.entry(part.stream).or_default();
        stream.unread += 1;
        self.unread += u32::from(!is_large);
        let end = part.offset.saturating_add(part.length);
        stream.end = stream.end.max(end);
        if part.offset <= stream.next {
            stream.next = stream.next.max(end);
        }
    }

    /// Records that `count` parts of a stream were read, up to this offset.
    pub(super) fn handle_read(&mut self, id: u64, count: u32, offset: u64) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let read = if offset >= stream.end { stream.unread } else { count.min(stream.unread) };
        stream.unread -= read;
        stream.next = stream.next.max(offset);
        if !self.is_large(id) {
            self.unread -= read;
        }
    }

    /// Removes a stream that was read to its end.
    pub(super) fn remove(&mut self, id: u64) {
        let Some(stream) = self.streams.remove(&id) else { return };
        match self.large.iter().position(|large| large.id == id) {
            Some(place) => _ = self.large.swap_remove(place),
            None => self.unread -= stream.unread,
        }
    }

    /// Whether a stream is not over, and there can be such a stream.
    fn is_open(&mut self, id: u64, limits: Limits) -> bool {
        if self.streams.contains_key(&id) {
            return true;
        }
        // The two lowest bits are the kind of a stream, and there is one kind.
        let index = id >> 2;
        if index < self.next {
            return self.unopened.remove(&index);
        }
        // A frame opens all streams before its own: without a limit of all of them together, each
        // frame of a packet could open as many again.
        let open = (self.streams.len() + self.unopened.len()) as u64;
        if index - self.next >= u64::from(limits.streams).saturating_sub(open) {
            return false;
        }
        self.unopened.extend(self.next..index);
        self.next = index + 1;
        true
    }

    fn is_large(&self, id: u64) -> bool {
        self.large.iter().any(|large| large.id == id)
    }

    /// Lets a stream have many parts; returns `false` if two others have them. An ordered stream takes the place
    /// of one that seems to be a batch.
    fn make_large(&mut self, id: u64, is_ordered: bool) -> bool {
        if let Some(large) = self.large.iter_mut().find(|large| large.id == id) {
            large.is_ordered |= is_ordered;
            return true;
        }
        if self.large.len() == LARGE {
            let unread = |id: u64| self.streams.get(&id).map_or(0, |stream| stream.unread);
            let is_batch = |large: &LargeStream| {
                is_ordered && !large.is_ordered && unread(large.id) < MAX_PARTS_DISPLACED
            };
            let Some(place) = self.large.iter().position(is_batch) else { return false };
            self.unread += unread(self.large[place].id);
            self.large.swap_remove(place);
        }
        // They are not counted among the others from now on.
        self.unread -= self.streams.get(&id).map_or(0, |stream| stream.unread);
        self.large.push(LargeStream { id, is_ordered });
        true
    }
}

/// Limit of parts of a stream that is one batch: a packet or two, fragmented and sent again a few
/// times.
const MAX_PARTS_OF_BATCH: u32 = 16;
/// Number of large streams: those of the ordered deliveries.
const LARGE: usize = 2;
/// Number of parts from which on a large stream is no batch, and keeps its place.
const MAX_PARTS_DISPLACED: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { large: 256, small: 100, streams: 1000, is_read: true };

    fn part(stream: u64, offset: u64) -> Part {
        Part { stream: stream << 2, offset, length: 1, first: None }
    }

    fn take(pieces: &mut Pieces, part: Part, limits: Limits) -> bool {
        let admits = pieces.admits(part, limits);
        if admits {
            pieces.add(part, limits);
        }
        admits
    }

    #[test]
    fn only_ordered_streams_may_have_many_parts() {
        let mut pieces = Pieces::default();
        let mut taken = [0; 4];
        for offset in 1..1000 {
            for stream in 0..4 {
                let is_taken = take(&mut pieces, part(stream, 2 * offset), LIMITS);
                taken[stream as usize] += u32::from(is_taken);
            }
        }
        assert_eq!(taken, [256, 256, MAX_PARTS_OF_BATCH, MAX_PARTS_OF_BATCH]);
        assert_eq!(pieces.unread, 2 * MAX_PARTS_OF_BATCH);
        // A gap is closed in any case; all of it is read, and there is room again.
        assert!(take(&mut pieces, part(0, 0), LIMITS) && take(&mut pieces, part(2, 0), LIMITS));
        pieces.handle_read(0 << 2, 1, 100_000);
        assert!(take(&mut pieces, part(0, 100_002), LIMITS));
        pieces.remove(2 << 2);
        pieces.remove(3 << 2);
        assert_eq!(pieces.unread, 0);
    }

    #[test]
    fn all_streams_share_a_limit() {
        let mut pieces = Pieces::default();
        let taken = (0..1000).filter(|id| take(&mut pieces, part(*id, 2), LIMITS)).count();
        assert_eq!(taken, 100);
        assert!(take(&mut pieces, part(7, 0), LIMITS));
        assert!(!take(&mut pieces, part(7, 0), Limits { is_read: false, ..LIMITS }));
        (0..100).for_each(|id| pieces.handle_read(id << 2, 1, 3));
        assert_eq!(pieces.unread, 0);
    }

    #[test]
    fn late_frames_of_finished_streams_do_not_count() {
        let mut pieces = Pieces::default();
        for round in 0..1000 {
            // The second of three streams comes last, and then all of them again.
            for stream in [0, 2, 1].map(|at| 3 * round + at) {
                assert!(take(&mut pieces, part(stream, 0), LIMITS));
                pieces.remove(stream << 2);
            }
            for stream in [0, 1, 2].map(|at| 3 * round + at) {
                assert!(take(&mut pieces, part(stream, 0), LIMITS));
            }
        }
        assert_eq!((pieces.unread, pieces.streams.len(), pieces.unopened.len()), (0, 0, 0));
        pieces.add(part(1 << 60, 0), LIMITS);
        assert_eq!(pieces.unopened.len(), 0, "QUIC ends a connection with such a stream");
    }

    #[test]
    fn streams_far_ahead_take_no_memory() {
        let mut pieces = Pieces::default();
        for stream in (1..200).map(|at| at * 900) {
            assert!(take(&mut pieces, part(stream, 0), LIMITS));
        }
        assert_eq!((pieces.streams.len(), pieces.unopened.len()), (1, 900));
        // Each stream that has ended allows one more stream number.
        for stream in 0..=900 {
            take(&mut pieces, part(stream, 0), LIMITS);
            pieces.remove(stream << 2);
        }
        assert_eq!((pieces.streams.len(), pieces.unopened.len()), (0, 0));
        take(&mut pieces, part(901 + 1000, 0), LIMITS);
        assert_eq!((pieces.streams.len(), pieces.unopened.len()), (0, 0));
        take(&mut pieces, part(901 + 999, 0), LIMITS);
        assert_eq!((pieces.streams.len(), pieces.unopened.len()), (1, 999));
    }

    #[test]
    fn ordered_streams_have_fixed_ids() {
        let mut pieces = Pieces::default();
        pieces.add(Part { first: Some(3), ..part(0, 0) }, LIMITS);
        pieces.add(Part { first: Some(4), ..part(1, 0) }, LIMITS);
        let taken = (1..100).filter(|at| take(&mut pieces, part(9, 2 * at), LIMITS)).count();
        assert_eq!(taken, MAX_PARTS_OF_BATCH as usize);
        let taken = (1..100).filter(|at| take(&mut pieces, part(1, 2 * at), LIMITS)).count();
        assert_eq!(taken, 99);
    }

    #[test]
    fn ordered_streams_take_the_places_of_batches_that_are_retransmitted() {
        let mut pieces = Pieces::default();
        let again = |pieces: &mut Pieces, stream| {
            (0..20).filter(|_| take(pieces, part(stream, 2), LIMITS)).count()
        };
        assert_eq!([7, 8, 9].map(|stream| again(&mut pieces, stream)), [20, 20, 16]);
        // A batch that was read gives its place back, and one that was not has to.
        pieces.remove(7 << 2);
        assert_eq!(again(&mut pieces, 9), 20);
        let ordered = |stream, delivery| Part { first: Some(delivery), ..part(stream, 0) };
        for stream in [0, 1] {
            assert!(take(&mut pieces, ordered(stream, 3 + stream as u8), LIMITS));
            let taken = (1..100).filter(|at| take(&mut pieces, part(stream, 2 * at), LIMITS));
            assert_eq!(taken.count(), 99);
        }
        assert_eq!(again(&mut pieces, 9), 0, "it is one of many again");
        assert!(take(&mut pieces, part(9, 0), LIMITS), "but for its gap");
        [8, 9].into_iter().for_each(|stream| pieces.remove(stream << 2));
        assert_eq!(pieces.unread, 0);
    }

    #[test]
    fn a_stream_that_is_no_batch_keeps_its_place() {
        let limits = Limits { large: 1000, ..LIMITS };
        let mut pieces = Pieces::default();
        for stream in [7, 8] {
            assert!((1..=256).all(|at| take(&mut pieces, part(stream, 2 * at), limits)));
        }
        assert!(take(&mut pieces, Part { first: Some(3), ..part(0, 0) }, limits));
        let taken = (1..100).filter(|at| take(&mut pieces, part(0, 2 * at), limits)).count();
        assert_eq!(taken, MAX_PARTS_OF_BATCH as usize - 1);
    }

    #[test]
    fn in_order_parts_are_limited_while_paused() {
        let limits = Limits { is_read: false, small: 1000, ..LIMITS };
        let mut pieces = Pieces::default();
        (0..2).for_each(|id| (0..20).for_each(|at| _ = take(&mut pieces, part(id, at), limits)));
        let taken = (0..100).filter(|at| take(&mut pieces, part(2, *at), limits)).count();
        assert_eq!(taken, MAX_PARTS_OF_BATCH as usize);
        let limits = Limits { is_read: true, ..limits };
        let taken = (0..100).filter(|at| take(&mut pieces, part(3, *at), limits)).count();
        assert_eq!(taken, 4 * MAX_PARTS_OF_BATCH as usize, "they are read in this frame");
    }
}
