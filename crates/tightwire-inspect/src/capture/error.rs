//! Errors of reading a capture.

use core::fmt;
use std::io;

/// Error that ends the reading of a capture, with the file offset of the block that caused it.
///
/// All records before that block are valid.
///
/// ```
/// use tightwire::inspect::{Capture, CaptureError, CaptureWriter, Direction};
/// use tightwire::packet::Identity;
///
/// let mut recorder = CaptureWriter::new(Vec::new(), &Identity::default())?;
/// let (local, peer) = ("10.0.0.1:7777".parse()?, "10.0.0.2:4242".parse()?);
/// recorder.record(Default::default(), Direction::Sent, local, peer, b"one")?;
/// recorder.record(Default::default(), Direction::Sent, local, peer, b"two")?;
/// let file = recorder.finish()?;
///
/// // The recorder was stopped within the second record.
/// let mut capture = Capture::new(&file[..file.len() - 10])?;
/// assert_eq!(capture.next_record().unwrap()?.datagram, b"one");
/// let refused = capture.next_record().unwrap().unwrap_err();
/// assert!(matches!(refused, CaptureError::Truncated { at: 168 }));
/// assert_eq!(
///     refused.to_string(),
///     "the capture ends within the block at byte 168: the blocks before it are intact"
/// );
/// assert!(capture.next_record().is_none());
///
/// let refused = Capture::new(&b"GIF89a"[..]).unwrap_err();
/// assert!(matches!(refused, CaptureError::Malformed { at: 0, .. }));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file ends within a block: recording or copying stopped there.
    Truncated {
        /// File offset of the block's first byte.
        at: u64,
    },
    /// A block is invalid, or longer than the reader's limit.
    Malformed {
        /// File offset of the block's first byte.
        at: u64,
        /// Defect of the block, and advice.
        reason: &'static str,
    },
    /// The file could not be read.
    Io {
        /// File offset of the block that was being read.
        at: u64,
        /// Error of the underlying reader.
        error: io::Error,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { at } => write!(
                f,
                "the capture ends within the block at byte {at}: the blocks before it are intact"
            ),
            Self::Malformed { at, reason } => write!(f, "the block at byte {at}: {reason}"),
            Self::Io { at, error } => write!(f, "the block at byte {at} cannot be read: {error}"),
        }
    }
}

impl core::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            Self::Truncated { .. } | Self::Malformed { .. } => None,
        }
    }
}
