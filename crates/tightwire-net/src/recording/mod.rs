//! Everything that a session saw, in a file, and the same session again.

mod error;
mod record;
mod recorder;
mod replay;

pub use error::RecordingError;
pub use recorder::Recorder;
pub use replay::{Replay, Step};
