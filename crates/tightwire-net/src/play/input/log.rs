//! The client's log of its inputs.

use std::sync::Arc;

use tightwire_core::Wire;
use tightwire_core::stream::{WriteError, WriteStream};

use super::frame::{ClientView, FrameHeader, InputSpan, serialize_row};
use super::{InputLayout, MAX_INPUTS, PLACES, ViewDelay, place};

/// Inputs of the last 64 ticks of a client, and the newest of them that the server has.
///
/// [`push`](Self::push) adds the input of a tick, [`handle_ack`](Self::handle_ack) takes the server's
/// ack, and [`write`](Self::write) makes a frame. Nothing is allocated after construction.
#[derive(Clone, Debug)]
pub(crate) struct InputLog {
    layout: Arc<InputLayout>,
    rows: Vec<u32>,
    /// A bit per place.
    filled: u64,
    newest: Option<u32>,
    acked: Option<u32>,
    max_inputs: u32,
}

impl InputLog {
    /// Creates an empty log. A frame has at most `max_inputs` inputs, which is clamped to 1..=32.
    pub(crate) fn new(layout: Arc<InputLayout>, max_inputs: u32) -> Self {
        let rows = vec![0; PLACES * layout.columns()];
        let max_inputs = max_inputs.clamp(1, MAX_INPUTS);
        Self { layout, rows, filled: 0, newest: None, acked: None, max_inputs }
    }

    /// Adds the input of a tick; the ticks that were skipped have none. Returns `false` and changes
    /// nothing if the tick is not after the newest one, or the row has other columns.
    pub(crate) fn push(&mut self, tick: u32, row: &[u32]) -> bool {
        if row.len() != self.layout.columns() {
            return false;
        }
        match self.newest.map(|newest| tick.wrapping_sub(newest) as i32) {
            Some(..=0) => return false,
            Some(ticks) if ticks < PLACES as i32 => {
                (1..ticks).for_each(|back| self.clear(tick.wrapping_sub(back as u32)));
            }
            _ => self.filled = 0,
        }
        self.rows_mut(tick).copy_from_slice(row);
        self.filled |= 1 << place(tick);
        self.newest = Some(tick);
        true
    }

    /// Returns the input of a tick; `None` if the tick was skipped or is not among the last 64.
    pub(crate) fn row(&self, tick: u32) -> Option<&[u32]> {
        let start = place(tick) * self.layout.columns();
        self.contains(tick).then(|| &self.rows[start..start + self.layout.columns()])
    }

    /// Newest tick with an input; `None` if the log is empty.
    pub(crate) fn newest(&self) -> Option<u32> {
        self.newest
    }

    /// Newest tick whose input the server has; `None` before the first ack.
    #[cfg(test)]
    pub(crate) fn acked(&self) -> Option<u32> {
        self.acked
    }

    /// Whether an input is logged that the server has not acked.
    pub(crate) fn has_unacked(&self) -> bool {
        self.newest != self.acked
    }

    /// Takes the tick of the newest input that the server has. It also acks the inputs before, since
    /// every frame reaches back to the last ack. Ticks without a logged input are ignored, and those
    /// that are not after the last ack: snapshots come late, or from a server that lies.
    pub(crate) fn handle_ack(&mut self, tick: u32) {
        let is_newer = self.acked.is_none_or(|acked| tick.wrapping_sub(acked) as i32 > 0);
        if is_newer && self.contains(tick) {
            self.acked = Some(tick);
        }
    }

    /// Forgets all inputs, for a new connection.
    pub(crate) fn clear_all(&mut self) {
        (self.filled, self.newest, self.acked) = (0, None, None);
    }

    /// Writes a frame: the snapshot ack with the view delay, and every input since the last acked
    /// one. If they do not fit the buffer or are too many, the oldest ones are given up.
    ///
    /// # Errors
    ///
    /// [`WriteError`] if a cell is above its maximum, or a single input does not fit the buffer.
    pub(crate) fn write<'b, A: Wire + Default>(
        &self,
        view: Option<(A, ViewDelay)>,
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], WriteError> {
        let view = view.map(|(ack, delay)| ClientView { ack, delay });
        let mut header = FrameHeader { view, inputs: None };
        let (mut count, mut is_whole) = self.unacked();
        loop {
            let span = |newest| InputSpan::new(newest, count, is_whole);
            header.inputs = self.newest.filter(|_| count > 0).map(span);
            match self.write_frame(&header, &mut *buffer) {
                Ok(length) => return Ok(&buffer[..length]),
                Err(WriteError::Full { .. }) if count > 1 => {
                    (count, is_whole) = (count / 2, true);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn write_frame<A: Wire + Default>(
        &self,
        header: &FrameHeader<A>,
        buffer: &mut [u8],
    ) -> Result<usize, WriteError> {
        let mut stream = WriteStream::new(buffer);
        let Ok(()) = FrameHeader::serialize(header.into(), &mut stream);
        if let (Some(span), Some(newest)) = (header.inputs, self.newest) {
            let oldest = newest.wrapping_sub(u32::from(span.count) - 1);
            let mut before = if span.is_whole { None } else { self.row(oldest.wrapping_sub(1)) };
            for index in 0..u32::from(span.count) {
                let Some(row) = self.row(oldest.wrapping_add(index)) else { break };
                let Ok(_) = serialize_row(&mut stream, &self.layout, before, row.into());
                before = Some(row);
            }
        }
        stream.finish().map(<[u8]>::len)
    }

    /// Number of inputs for the next frame, and whether the oldest of them has to be whole: only an
    /// acked input is known to be a baseline that the server has.
    fn unacked(&self) -> (u32, bool) {
        let Some(newest) = self.newest.filter(|_| self.has_unacked()) else { return (0, false) };
        let mut count = 1;
        while count < self.max_inputs {
            let before = newest.wrapping_sub(count);
            if self.acked == Some(before) || !self.contains(before) {
                break;
            }
            count += 1;
        }
        let before = newest.wrapping_sub(count);
        (count, self.acked != Some(before) || !self.contains(before))
    }

    fn contains(&self, tick: u32) -> bool {
        let age = self.newest.map(|newest| newest.wrapping_sub(tick));
        age.is_some_and(|age| age < PLACES as u32) && self.filled >> place(tick) & 1 == 1
    }

    fn clear(&mut self, tick: u32) {
        self.filled &= !(1 << place(tick));
    }

    fn rows_mut(&mut self, tick: u32) -> &mut [u32] {
        let columns = self.layout.columns();
        &mut self.rows[place(tick) * columns..][..columns]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn log() -> InputLog {
        let layout = InputLayout::new(vec![255], std::iter::once(0..1).collect()).unwrap();
        InputLog::new(Arc::new(layout), 32)
    }

    #[test]
    fn inputs_since_the_last_ack_are_sent() {
        let mut log = log();
        assert_eq!(log.unacked(), (0, false));
        (100..110).for_each(|tick| assert!(log.push(tick, &[tick])));
        assert_eq!(log.unacked(), (10, true));
        log.handle_ack(104);
        assert_eq!(log.unacked(), (5, false));
        log.handle_ack(103);
        assert_eq!(log.acked(), Some(104));
        log.handle_ack(109);
        assert_eq!(log.unacked(), (0, false));
        assert!(!log.has_unacked());
    }

    #[test]
    fn more_than_32_unacked_inputs_start_whole() {
        let mut log = log();
        (0..=32).for_each(|tick| assert!(log.push(tick, &[tick])));
        log.handle_ack(0);
        assert_eq!(log.unacked(), (32, false));
        assert!(log.push(33, &[33]));
        assert_eq!(log.unacked(), (32, true));
        // An ack that the log no longer reaches is no baseline.
        (34..200).for_each(|tick| assert!(log.push(tick, &[tick])));
        assert_eq!(log.unacked(), (32, true));
        assert_eq!(log.row(136), Some(&[136][..]));
        assert_eq!(log.row(135), None);
    }

    #[test]
    fn skipped_ticks_have_no_input() {
        for skipped in [1, 30, 63, 64, 5000] {
            let mut log = log();
            (0..10).for_each(|tick| assert!(log.push(tick, &[tick])));
            log.handle_ack(5);
            let tick = 10 + skipped;
            assert!(log.push(tick, &[1]));
            assert_eq!(log.row(tick - 1), None);
            assert_eq!(log.unacked(), (1, true), "{skipped}");
        }
    }

    #[test]
    fn acks_of_ticks_without_an_input_are_ignored() {
        let mut log = log();
        log.handle_ack(7);
        (100..110).for_each(|tick| assert!(log.push(tick, &[tick])));
        for tick in [99, 110, 164, 0, u32::MAX] {
            log.handle_ack(tick);
        }
        assert_eq!(log.acked(), None);
        assert!(!log.push(109, &[0]) && !log.push(50, &[0]) && !log.push(120, &[]));
    }

    #[test]
    fn inputs_that_do_not_fit_the_buffer_are_given_up() {
        let mut log = log();
        (0..32).for_each(|tick| assert!(log.push(tick, &[tick * 8])));
        let mut buffer = [0; 64];
        assert_eq!(log.write::<()>(None, &mut buffer).unwrap().len(), 43);
        assert_eq!(log.write::<()>(None, &mut buffer[..42]).unwrap().len(), 23);
        assert_eq!(log.write::<()>(None, &mut buffer[..4]).unwrap().len(), 4);
        assert!(log.write::<()>(None, &mut buffer[..3]).is_err());
        assert!(log.push(32, &[256]));
        assert!(matches!(log.write::<()>(None, &mut buffer), Err(WriteError::Value { .. })));
    }
}
