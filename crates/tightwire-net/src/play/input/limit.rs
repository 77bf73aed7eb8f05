//! The limit on the rate of a peer's input frames.

/// Token bucket of frames, and the number of frames above it. Time is counted in ticks.
#[derive(Clone, Debug)]
pub(super) struct FrameLimit {
    tokens: u32,
    /// Frames that were dropped since the window began.
    dropped: u32,
    /// Ticks until the window ends.
    ticks_left: u32,
    window: u32,
}

/// Fate of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameVerdict {
    Read,
    Drop,
    /// The peer floods the server, and its connection is to be closed.
    Close,
}

impl FrameLimit {
    pub(super) fn new(tick_rate: u32) -> Self {
        let window = tick_rate.saturating_mul(WINDOW_SECONDS);
        Self { tokens: BURST, dropped: 0, ticks_left: 0, window }
    }

    /// Counts a frame.
    pub(super) fn admit(&mut self) -> FrameVerdict {
        if let Some(left) = self.tokens.checked_sub(1) {
            self.tokens = left;
            return FrameVerdict::Read;
        }
        if self.dropped == 0 {
            self.ticks_left = self.window;
        }
        self.dropped = self.dropped.saturating_add(1);
        if self.dropped < MAX_DROPPED { FrameVerdict::Drop } else { FrameVerdict::Close }
    }

    /// Counts a tick.
    pub(super) fn advance(&mut self) {
        self.tokens = (self.tokens + FRAMES_PER_TICK).min(BURST);
        self.ticks_left = self.ticks_left.saturating_sub(1);
        if self.ticks_left == 0 {
            self.dropped = 0;
        }
    }
}

/// An honest client sends one frame a tick, and some more while it catches up.
const FRAMES_PER_TICK: u32 = 2;

/// Frames that may arrive at once, after the network or the server stood still.
const BURST: u32 = 32;

/// Dropped frames within the window that close the connection.
const MAX_DROPPED: u32 = 600;

const WINDOW_SECONDS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a peer that sends `frames` in each tick, and returns the frames that were read and the
    /// tick in which it was closed.
    fn run(frames: u32, ticks: u32) -> (u32, Option<u32>) {
        let (mut limit, mut read) = (FrameLimit::new(60), 0);
        for tick in 0..ticks {
            for _ in 0..frames {
                match limit.admit() {
                    FrameVerdict::Read => read += 1,
                    FrameVerdict::Drop => {}
                    FrameVerdict::Close => return (read, Some(tick)),
                }
            }
            limit.advance();
        }
        (read, None)
    }

    #[test]
    fn two_frames_a_tick_are_read_for_ever() {
        assert_eq!(run(2, 6000), (12_000, None));
    }

    #[test]
    fn a_flood_is_dropped_and_then_closed() {
        // The burst and two a tick are read; the 600th of the others closes.
        assert_eq!(run(10, 6000), (32 + 2 * 78, Some(78)));
        assert_eq!(run(1000, 6000), (32, Some(0)));
        // One too many a tick is 600 in 10 s, once the burst is used up.
        assert_eq!(run(3, 6000).1, Some(30 + 599));
    }

    #[test]
    fn an_occasional_burst_is_forgiven() {
        let mut limit = FrameLimit::new(60);
        for _ in 0..20 {
            let read = (0..500).filter(|_| limit.admit() == FrameVerdict::Read).count();
            assert_eq!(read, 32);
            (0..600).for_each(|_| limit.advance());
        }
    }
}
