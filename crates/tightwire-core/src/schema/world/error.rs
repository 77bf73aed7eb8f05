//! Errors of worlds.

use alloc::string::{String, ToString};
use core::fmt;

use crate::schema::DynamicError;
use crate::stream::{ExplainedError, ReadError, WriteError};

/// Reason why a world was not written or not read.
///
/// ```
/// use tightwire::schema::{Object, Representation, World, WorldError, WorldSchema};
///
/// let schema = WorldSchema::default();
/// let mut world = World::new(0.0);
/// world.insert(Object::new(7, "dragon"));
/// let refused = world.write(Representation::Bits, &schema).unwrap_err();
/// assert_eq!(refused.to_string(), "World.objects[0].class: no variant is called `dragon`");
///
/// let refused = World::read(Representation::Bits, &[], &schema).unwrap_err();
/// assert!(matches!(refused, WorldError::Read(_)));
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum WorldError {
    /// A packet was refused. For a world in bits, [`Schema::explain`](crate::schema::Schema::explain) of the
    /// world's [`schema`](crate::schema::WorldSchema::schema) names the field.
    Read(ReadError),
    /// A text was refused.
    Text {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// Description of the mistake and of the expected text.
        reason: String,
    },
    /// The world does not match its schema.
    Refused {
        /// Path of the value.
        path: String,
        /// Description of the mistake and of the expected value.
        reason: String,
    },
}

impl WorldError {
    pub(super) fn refused(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refused { path: path.into(), reason: reason.into() }
    }

    /// Creates an error at a byte offset of a text.
    #[cfg(feature = "formats")]
    pub(super) fn at(text: &str, offset: usize, reason: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self::Text {
            line: 1 + before.matches('\n').count(),
            column: 1 + before.get(line_start..).map_or(0, |line| line.chars().count()),
            reason: reason.into(),
        }
    }
}

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Text { line, column, reason } => {
                write!(f, "line {line}, column {column}: {reason}")
            }
            Self::Refused { path, reason } => write!(f, "{path}: {reason}"),
        }
    }
}

impl core::error::Error for WorldError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Text { .. } | Self::Refused { .. } => None,
        }
    }
}

impl From<ReadError> for WorldError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<WriteError> for WorldError {
    fn from(error: WriteError) -> Self {
        Self::refused("World", alloc::format!("{error}"))
    }
}

impl From<ExplainedError> for WorldError {
    fn from(error: ExplainedError) -> Self {
        let path = error.path().unwrap_or_else(|| error.trace().root().path());
        let sentence = error.to_string();
        let reason = sentence.strip_prefix(&*path).unwrap_or(&sentence);
        // The bits of a world say nothing to who changed a property.
        Self::refused(path, reason.split_once(": ").map_or(reason, |(_, reason)| reason))
    }
}

impl From<DynamicError> for WorldError {
    fn from(error: DynamicError) -> Self {
        match error {
            DynamicError::Read(error) => Self::Read(error),
            DynamicError::Write(error) => error.into(),
            DynamicError::Value(error) => error.into(),
            DynamicError::Mismatch { path, reason }
            | DynamicError::Undescribed { path, reason } => Self::Refused { path, reason },
        }
    }
}
