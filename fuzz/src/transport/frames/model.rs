//! The frames of a packet and the limits of a connection, a second time: from the tables of RFC
//! 9000.

use std::collections::{BTreeMap, BTreeSet};

use super::payloads::stream_id;

/// Numbers of frames in a packet, as the limits count them.
#[derive(Default)]
pub(super) struct Counts {
    /// All of them, where padding without another frame between is one.
    pub(super) frames: u32,
    pub(super) ranges: u32,
    pub(super) datagrams: u32,
    pub(super) crypto: u32,
    pub(super) ids: u32,
    control: u32,
    pub(super) answer: Option<[u8; 8]>,
    pub(super) parts: Vec<Part>,
}

/// A STREAM frame with data, or that ends its stream.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) id: u64,
    pub(super) offset: u64,
    pub(super) end: u64,
}

/// The fields of a frame: `n` is a number, `d` data after its length, `r` data up to the end, `i` a
/// connection id after its length and a token, `8` eight bytes, `a` the ranges of an ack.
fn form_of(kind: u64) -> Option<&'static str> {
    Some(match kind {
        0x00 | 0x01 | 0x1e | 0x1f => "",
        0x02 => "nna",
        0x03 => "nnannn",
        0x04 => "nnn",
        0x06 | 0x1d => "nd",
        0x07 | 0x31 => "d",
        0x08 | 0x09 => "nr",
        0x0a | 0x0b => "nd",
        0x0c | 0x0d => "nnr",
        0x0e | 0x0f | 0x1c => "nnd",
        0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => "n",
        0x05 | 0x11 | 0x15 => "nn",
        0x18 => "nni",
        0x1a | 0x1b => "8",
        0x30 => "r",
        0xaf => "nnnn",
        _ => return None,
    })
}

fn take<'a>(rest: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    let (taken, others) = rest.split_at_checked(usize::try_from(count).ok()?)?;
    *rest = others;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let length = 1u64 << (rest.first()? >> 6);
    let mut bytes = [0; 8];
    let taken = take(rest, length)?;
    bytes[8 - taken.len()..].copy_from_slice(taken);
    bytes[8 - taken.len()] &= 0x3f;
    Some(u64::from_be_bytes(bytes))
}

impl Counts {
    /// Counts the frames of a packet up to the first that is refused, and says why it is.
    pub(super) fn of(mut rest: &[u8]) -> (Self, Option<&'static str>) {
        let mut counts = Self::default();
        let mut was_padding = false;
        while !rest.is_empty() {
            let Some(is_padding) = counts.take(&mut rest, was_padding) else {
                return (counts, Some("unknown frame type"));
            };
            was_padding = is_padding;
            let refused = if counts.control + counts.crypto > 32 {
                "too many control frames in a packet"
            } else if counts.parts.len() as u32 + counts.datagrams > 300 {
                "too many frames in a packet"
            } else if counts.ranges > 128 {
                "too many ranges acknowledged in a packet"
            } else {
                continue;
            };
            return (counts, Some(refused));
        }
        (counts, None)
    }

    /// Takes a frame; returns whether it is padding, which goes on with the zeros that follow.
    fn take(&mut self, rest: &mut &[u8], was_padding: bool) -> Option<bool> {
        let is_padding = rest[0] == 0;
        let kind = number(rest)?;
        let (mut numbers, mut count, mut data) = ([0; 4], 0, &[][..]);
        for field in form_of(kind)?.bytes() {
            match field {
                b'n' => {
                    numbers[count.min(3)] = number(rest)?;
                    count += 1;
                }
                b'a' => {
                    let ranges = number(rest)?;
                    number(rest)?;
                    for _ in 0..ranges {
                        number(rest)?;
                        number(rest)?;
                    }
                    self.ranges = self.ranges.saturating_add(ranges as u32);
                }
                b'd' => {
                    let length = number(rest)?;
                    data = take(rest, length)?;
                }
                b'i' => {
                    let length = take(rest, 1)?[0];
                    take(rest, u64::from(length) + 16)?;
                }
                b'8' => data = take(rest, 8)?,
                _ => data = core::mem::take(rest),
            }
        }
        self.frames += u32::from(!(is_padding && was_padding));
        match kind {
            0x00 => {}
            0x06 => self.crypto += 1,
            0x08..=0x0f if !data.is_empty() || kind & 1 == 1 => {
                let offset = if kind & 4 == 0 { 0 } else { numbers[1] };
                self.parts.push(Part { id: numbers[0], offset, end: offset + data.len() as u64 });
            }
            0x30 | 0x31 if !data.is_empty() => self.datagrams += 1,
            _ => self.control += 1,
        }
        match kind {
            0x18 | 0x19 => self.ids += 1,
            0x1b => self.answer = data.first_chunk().copied(),
            _ => {}
        }
        Some(kind == 0)
    }
}

/// The streams of a connection, as QUIC has them.
#[derive(Default)]
pub(super) struct Streams {
    open: BTreeMap<u64, Stream>,
    over: BTreeSet<u64>,
}

#[derive(Default)]
struct Stream {
    /// Parts that were not read, and whether each arrived after a gap.
    parts: Vec<(Part, bool)>,
    read: u64,
    /// Offset up to which all data has arrived.
    in_order: u64,
}

impl Streams {
    /// Whether QUIC goes on after a part: it ends a connection for a stream that cannot be.
    pub(super) fn admits(&self, part: Part, is_server: bool, most: u32) -> bool {
        part.id & 3 == stream_id(is_server, 0)
            && part.id >> 2 < u64::from(most) + self.over.len() as u64
    }

    /// Whether an honest peer may send this: the next of a stream of which nothing waits.
    pub(super) fn is_honest(&self, part: Part) -> bool {
        match self.open.get(&part.id) {
            Some(stream) => stream.parts.is_empty() && part.offset <= stream.in_order,
            None => part.offset == 0,
        }
    }

    pub(super) fn add(&mut self, part: Part) {
        if self.over.contains(&part.id) {
            return;
        }
        let stream = self.open.entry(part.id).or_default();
        let is_behind_gap = part.offset > stream.in_order;
        if !is_behind_gap {
            stream.in_order = stream.in_order.max(part.end);
        }
        stream.parts.push((part, is_behind_gap));
    }

    /// Reads the contiguous data of a stream: the number of parts and the offset up to which they
    /// go.
    pub(super) fn read(&mut self, which: usize) -> Option<(u64, u32, u64)> {
        let which = which % self.open.len().max(1);
        let (&id, stream) = self.open.iter_mut().nth(which)?;
        stream.parts.sort_by_key(|(part, _)| part.offset);
        let mut count = 0;
        for (part, _) in &stream.parts {
            if part.offset <= stream.read && part.end > stream.read {
                stream.read = part.end;
                count += 1;
            }
        }
        let read = stream.read;
        stream.parts.retain(|(part, _)| part.offset > read);
        stream.in_order = stream.in_order.max(read);
        (count > 0).then_some((id, count, read))
    }

    /// Ends a stream.
    pub(super) fn end(&mut self, which: usize) -> Option<u64> {
        let which = which % self.open.len().max(1);
        let id = *self.open.keys().nth(which)?;
        self.open.remove(&id);
        self.over.insert(id);
        Some(id)
    }

    /// The first streams that never were.
    pub(super) fn fresh(&self, is_server: bool) -> impl Iterator<Item = u64> {
        (0..).map(move |index| stream_id(is_server, index)).filter(|id| !self.over.contains(id))
    }

    /// Parts behind gaps: of the two streams that have the most, of the next one, and of all but
    /// two.
    pub(super) fn behind_gaps(&self) -> [usize; 4] {
        let count =
            |stream: &Stream| stream.parts.iter().filter(|(_, is_behind)| *is_behind).count();
        let mut counts: Vec<_> = self.open.values().map(count).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let at = |place: usize| counts.get(place).copied().unwrap_or(0);
        [at(0), at(1), at(2), counts.iter().skip(2).sum()]
    }
}
