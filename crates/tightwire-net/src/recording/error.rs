//! Why a recording cannot be played.

use core::fmt;
use std::io;

/// Why a recording cannot be written, or played any further.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be written or read.
    Io(io::Error),
    /// It is no recording.
    NotARecording,
    /// It is of another version of the format.
    Version(u8),
    /// A record was changed.
    Corrupt {
        /// Which, counted from the header.
        record: u64,
    },
    /// The session did something else than when it was recorded.
    Diverged {
        /// After which record.
        record: u64,
        /// What it did.
        did: &'static str,
    },
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotARecording => f.write_str("not a recording of a session"),
            Self::Version(version) => {
                write!(f, "a recording of version {version}, where this reads {VERSION}")
            }
            Self::Corrupt { record } => write!(f, "record {record} of the recording was changed"),
            Self::Diverged { record, did } => write!(
                f,
                "after record {record}, the session {did}, which it did not when it was recorded: the \
                 program must be the same, and use nothing but the session's messages, time and seed"
            ),
        }
    }
}

impl core::error::Error for RecordingError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for RecordingError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Another number for each change of the format.
pub(super) const VERSION: u8 = 1;
