//! Recordings: everything that a session saw, in a file, and its replay.

mod error;
mod record;
mod recorder;
mod replay;

pub use error::RecordingError;
pub use recorder::Recorder;
pub use replay::{Replay, Step};
