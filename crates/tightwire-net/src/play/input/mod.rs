//! Inputs of clients: frames of delta-coded rows, the client's log and the server's ring.
//!
//! An input is a row of cells, quantised as the type of the inputs declares. The client keeps its
//! last rows in an [`InputLog`], and every frame has all of them that the server has not acked. The
//! server keeps those that arrived in an [`InputRing`], which gives exactly one input for each tick.
//! The form of a frame is one function in [`frame`] for both directions.

mod frame;
mod layout;
mod limit;
mod log;
mod ring;
#[cfg(test)]
mod tests;

pub(crate) use frame::{FrameHeader, ViewDelay};
pub(crate) use layout::InputLayout;
pub use layout::InputLayoutError;
pub(crate) use log::InputLog;
pub(crate) use ring::{InputConfig, InputRing};

/// Origin of the input that the server uses for a peer at a tick.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum InputKind {
    /// The peer's input of this tick.
    Fresh,
    /// The input of this tick is missing: the last one is used again, for the stated number of ticks
    /// in a row, which counts from 1.
    Repeated(u32),
    /// No input arrived for too long, or ever: the default of the input type.
    Neutral,
}

/// Counts of the inputs and input frames of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct InputStats {
    /// Frames that were read.
    pub frames: u64,
    /// Ticks with an input that arrived in time.
    pub fresh: u64,
    /// Ticks without an input, for which the last one was repeated.
    pub repeated: u64,
    /// Ticks without an input, for which the neutral one was used.
    pub neutral: u64,
    /// Inputs that first arrived after their tick, and serve as baselines only.
    pub late: u64,
    /// Inputs that had arrived before. Most inputs are duplicates, since frames repeat unacked
    /// inputs.
    pub duplicates: u64,
    /// Duplicates that differ from the first one, which stays in force. An honest client has none.
    pub revised: u64,
    /// Inputs that were dropped for being too far ahead of the server's tick.
    pub dropped_future: u64,
    /// Inputs that were dropped for being older than the ring reaches back.
    pub dropped_ancient: u64,
    /// Frames whose inputs were dropped since the server does not have their baseline.
    pub dropped_baseline: u64,
    /// Frames that were dropped unread, above the rate limit.
    pub dropped_flood: u64,
    /// Frames that were malformed. The connection is closed after the first one.
    pub refused: u64,
}

/// Number of rows of a log and of a ring, and of bits in their masks of filled places.
const PLACES: usize = 64;

/// Largest number of inputs in a frame, and of ticks that a ring reaches back.
const MAX_INPUTS: u32 = 32;

/// Place of a tick in a log or ring. Ticks may wrap around: 2^32 is a multiple of the places.
const fn place(tick: u32) -> usize {
    tick as usize % PLACES
}
