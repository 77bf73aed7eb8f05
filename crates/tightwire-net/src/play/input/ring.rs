//! The server's ring of a peer's inputs.

use std::fmt;
use std::mem;
use std::sync::Arc;

use tightwire_core::Wire;
use tightwire_core::stream::{ReadError, ReadStream, Stream, Target};

use super::frame::{FrameHeader, InputSpan, serialize_row};
use super::limit::{FrameLimit, FrameVerdict};
use super::{InputKind, InputLayout, InputStats, MAX_INPUTS, PLACES, ViewDelay, place};

/// Inputs of a peer around the server's next tick: baselines of the 32 ticks before, and inputs of
/// up to 32 ticks from the next one on.
///
/// [`receive`](Self::receive) reads a frame from the peer, and [`take`](Self::take) gives the input
/// of the next tick: exactly one per tick, whatever arrives. Nothing is allocated after construction.
#[derive(Clone, Debug)]
pub(crate) struct InputRing {
    layout: Arc<InputLayout>,
    rows: Vec<u32>,
    /// A bit per place.
    filled: u64,
    next: u32,
    newest: Option<u32>,
    /// Input that was taken last.
    last: Vec<u32>,
    /// Ticks since that input; `None` if there was none, or it was repeated often enough.
    repeats: Option<u32>,
    /// Two rows for decoding.
    scratch: [Vec<u32>; 2],
    limit: FrameLimit,
    max_ahead: i32,
    max_repeat: u32,
    stats: InputStats,
}

/// Limits of a peer's inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InputConfig {
    /// Ticks that an input may be ahead of the server's next one, at most 31, which is the default.
    pub(crate) max_ahead: u32,
    /// Ticks for which the last input is repeated while none arrives. Default: 12.
    pub(crate) max_repeat: u32,
    /// Ticks per second. Default: 60.
    pub(crate) tick_rate: u32,
}

/// Contents of an input frame that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReceivedFrame<A> {
    /// Snapshot ack and the delay of the moment that the client shows; `None` before its first
    /// snapshot.
    pub(crate) view: Option<(A, ViewDelay)>,
    /// Tick of the newest input of the frame; `None` if it has no inputs.
    pub(crate) newest: Option<u32>,
    /// Ticks of the inputs that no frame had before.
    pub(crate) arrivals: Arrivals,
}

/// Iterator over the ticks of inputs that arrived for the first time, in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Arrivals {
    /// An input that is newer than all before, and older than the ring reaches back.
    ancient: Option<u32>,
    first: u32,
    /// A bit per tick, of which the lowest is `first`.
    bits: u64,
}

/// Reason to close the connection of a peer for an input frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub(crate) enum FrameError {
    /// The frame is malformed, which no honest peer sends.
    Malformed(ReadError),
    /// The peer sent too many frames for too long.
    Flood,
}

impl InputRing {
    /// Creates the ring of a peer whose first input is for the tick `next`.
    pub(crate) fn new(layout: Arc<InputLayout>, config: InputConfig, next: u32) -> Self {
        let row = vec![0; layout.columns()];
        Self {
            rows: vec![0; PLACES * layout.columns()],
            layout,
            filled: 0,
            next,
            newest: None,
            last: row.clone(),
            repeats: None,
            scratch: [row.clone(), row],
            limit: FrameLimit::new(config.tick_rate),
            max_ahead: config.max_ahead.min(MAX_INPUTS - 1) as i32,
            max_repeat: config.max_repeat,
            stats: InputStats::default(),
        }
    }

    /// Tick whose input [`take`](Self::take) gives next.
    #[cfg(test)]
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Newest tick whose input arrived, for the ack in the header of snapshots; `None` before the
    /// first input.
    #[cfg(test)]
    pub(crate) fn newest(&self) -> Option<u32> {
        self.newest
    }

    /// Counts of the peer's inputs and frames.
    pub(crate) fn stats(&self) -> InputStats {
        self.stats
    }

    /// Reads a frame; `None` if it was dropped unread, above the rate limit. `accepts` says whether
    /// the input type has a value with these cells, none of which is above its maximum.
    ///
    /// An input stays as it arrived first. Inputs that are too far ahead, or older than the ring
    /// reaches back, are dropped; those of ticks that are over serve as baselines only.
    ///
    /// # Errors
    ///
    /// [`FrameError`] if the connection has to be closed. Nothing of a malformed frame is kept.
    pub(crate) fn receive<A: Wire + Default>(
        &mut self,
        frame: &[u8],
        accepts: impl Fn(&[u32]) -> bool,
    ) -> Result<Option<ReceivedFrame<A>>, FrameError> {
        match self.limit.admit() {
            FrameVerdict::Read => self.stats.frames += 1,
            FrameVerdict::Drop => {
                self.stats.dropped_flood += 1;
                return Ok(None);
            }
            FrameVerdict::Close => {
                self.stats.dropped_flood += 1;
                return Err(FrameError::Flood);
            }
        }
        let (filled, newest, stats) = (self.filled, self.newest, self.stats);
        self.read(frame, accepts).map(Some).map_err(|error| {
            // Rows that were stored before the error are in slots that count as empty again.
            (self.filled, self.newest, self.stats) = (filled, newest, stats);
            self.stats.refused += 1;
            FrameError::Malformed(error)
        })
    }

    /// Takes the input of the next tick, and advances by one tick. The row is that of the tick, or
    /// a repetition of the last fresh one; `None` if the input is neutral.
    pub(crate) fn take(&mut self) -> (InputKind, Option<&[u32]>) {
        let kind = if self.contains(self.next) {
            let start = place(self.next) * self.layout.columns();
            self.last.copy_from_slice(&self.rows[start..start + self.layout.columns()]);
            self.repeats = Some(0);
            self.stats.fresh += 1;
            InputKind::Fresh
        } else {
            self.repeats =
                self.repeats.filter(|&repeats| repeats < self.max_repeat).map(|last| last + 1);
            match self.repeats {
                Some(repeats) => {
                    self.stats.repeated += 1;
                    InputKind::Repeated(repeats)
                }
                None => {
                    self.stats.neutral += 1;
                    InputKind::Neutral
                }
            }
        };
        self.next = self.next.wrapping_add(1);
        // The place of the oldest baseline becomes that of the tick that is now furthest ahead.
        self.filled &= !(1 << place(self.next.wrapping_add(MAX_INPUTS - 1)));
        self.limit.advance();
        (kind, self.repeats.map(|_| &self.last[..]))
    }

    fn read<A: Wire + Default>(
        &mut self,
        frame: &[u8],
        accepts: impl Fn(&[u32]) -> bool,
    ) -> Result<ReceivedFrame<A>, ReadError> {
        let mut stream = ReadStream::new(frame);
        let mut header = FrameHeader::<A>::default();
        FrameHeader::serialize(Target::from(&mut header), &mut stream)?;
        let (filled, before) = (self.filled, self.newest);
        let newest = header.inputs.map(|span| span.newest_near(self.next));
        let is_read = match header.inputs {
            Some(span) => self.read_inputs(span, &mut stream, accepts)?,
            None => true,
        };
        if is_read {
            stream.finish()?;
        }
        let ancient = self
            .newest
            .filter(|&newest| self.newest != before && self.ahead(newest) < -(MAX_INPUTS as i32));
        let first = self.next.wrapping_sub(MAX_INPUTS);
        let bits = (self.filled & !filled).rotate_right(place(first) as u32);
        Ok(ReceivedFrame {
            view: header.view.map(|view| (view.ack, view.delay)),
            newest,
            arrivals: Arrivals { ancient, first, bits },
        })
    }

    /// Reads the inputs of a frame; `false` if that needs a baseline that the ring does not have.
    fn read_inputs(
        &mut self,
        span: InputSpan,
        stream: &mut ReadStream<'_>,
        accepts: impl Fn(&[u32]) -> bool,
    ) -> Result<bool, ReadError> {
        let mut tick = span.newest_near(self.next).wrapping_sub(span.count.into());
        let [mut before, mut row] = mem::take(&mut self.scratch);
        let mut is_whole = span.is_whole;
        let has_baseline = is_whole || self.contains(tick);
        let mut result = Ok(has_baseline);
        if !is_whole && has_baseline {
            before.copy_from_slice(self.row(tick));
        }
        for _ in 0..if has_baseline { span.count } else { 0 } {
            tick = tick.wrapping_add(1);
            let base = (!is_whole).then_some(&before[..]);
            is_whole = false;
            let read = serialize_row(stream, &self.layout, base, Target::from(&mut row[..]))
                .and_then(|is_new| match is_new && !accepts(&row) {
                    true => stream.refuse(),
                    false => Ok(()),
                });
            if let Err(error) = read {
                result = Err(error);
                break;
            }
            self.store(tick, &row);
            mem::swap(&mut before, &mut row);
        }
        self.scratch = [before, row];
        self.stats.dropped_baseline += u64::from(!has_baseline);
        result
    }

    fn store(&mut self, tick: u32, row: &[u32]) {
        let ahead = self.ahead(tick);
        if ahead > self.max_ahead {
            self.stats.dropped_future += 1;
            return;
        }
        let newest = self.newest.filter(|&newest| tick.wrapping_sub(newest) as i32 <= 0);
        // The newest input counts even if it is dropped, so that a client that is far behind learns
        // how far.
        self.newest = newest.or(Some(tick));
        if ahead < -(MAX_INPUTS as i32) {
            self.stats.dropped_ancient += 1;
        } else if self.contains(tick) {
            self.stats.duplicates += 1;
            self.stats.revised += u64::from(self.row(tick) != row);
        } else {
            let columns = self.layout.columns();
            self.rows[place(tick) * columns..][..columns].copy_from_slice(row);
            self.filled |= 1 << place(tick);
            self.stats.late += u64::from(ahead < 0);
        }
    }

    /// Ticks from the next one to `tick`.
    fn ahead(&self, tick: u32) -> i32 {
        tick.wrapping_sub(self.next) as i32
    }

    fn contains(&self, tick: u32) -> bool {
        let reach = -(MAX_INPUTS as i32)..MAX_INPUTS as i32;
        reach.contains(&self.ahead(tick)) && self.filled >> place(tick) & 1 == 1
    }

    fn row(&self, tick: u32) -> &[u32] {
        let columns = self.layout.columns();
        &self.rows[place(tick) * columns..][..columns]
    }
}

#[cfg(test)]
impl InputRing {
    pub(super) fn rows(&self) -> &[u32] {
        &self.rows
    }

    pub(super) fn filled(&self) -> u64 {
        self.filled
    }
}

impl Default for InputConfig {
    fn default() -> Self {
        Self { max_ahead: MAX_INPUTS - 1, max_repeat: 12, tick_rate: 60 }
    }
}

impl Iterator for Arrivals {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if let Some(tick) = self.ancient.take() {
            return Some(tick);
        }
        let index = self.bits.trailing_zeros();
        self.bits &= self.bits.wrapping_sub(1);
        (index < u64::BITS).then(|| self.first.wrapping_add(index))
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "malformed input frame, {error}"),
            Self::Flood => f.write_str("too many input frames: send at most one per tick"),
        }
    }
}

impl std::error::Error for FrameError {}
