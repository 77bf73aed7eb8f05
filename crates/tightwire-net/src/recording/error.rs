//! Errors of recordings.

use core::fmt;
use std::io;

/// Error that ends the writing or the replay of a recording.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be written or read.
    Io(io::Error),
    /// The file is not a recording.
    NotARecording,
    /// The recording has another version of the format.
    Version(u8),
    /// A record is damaged.
    Corrupt {
        /// Number of the record, counted from the header.
        record: u64,
    },
    /// The replayed session did something else than the recorded one.
    Diverged {
        /// Number of the last record before the difference.
        record: u64,
        /// Action of the replayed session.
        action: &'static str,
    },
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the recording cannot be read or written: {error}"),
            Self::NotARecording => f.write_str("not a recording of a session"),
            Self::Version(version) => {
                write!(
                    f,
                    "the recording has version {version}, but this program reads version {VERSION}"
                )
            }
            Self::Corrupt { record } => write!(f, "record {record} of the recording is corrupt"),
            Self::Diverged { record, action } => write!(
                f,
                "after record {record}, the session {action}, unlike the recorded one: the program \
                 must be the same, and depend only on the session's messages, time and seed"
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

/// Version of the format, increased with each change.
pub(super) const VERSION: u8 = 2;
