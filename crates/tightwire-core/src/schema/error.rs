//! Errors of schemas and of trees of values.

use alloc::string::String;
use core::fmt;

use crate::stream::{ExplainedError, ReadError, WriteError};

/// Reason why a description is not a valid schema, and where in the description.
///
/// ```
/// use tightwire::schema::Schema;
/// use tightwire::stream::{Field, Number, Op, Shape};
///
/// let range = Op::Int { min: Number::Unsigned(100), max: Number::Unsigned(0) };
/// let fields = vec![Field::new("health", Shape::Op(range))];
/// let refused = Schema::new(Shape::Struct { name: "Player".into(), fields }).unwrap_err();
/// assert_eq!(refused.to_string(), "Player.health: the range 100..=0 is reversed");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SchemaError {
    /// Path of the invalid part, such as `Player.inventory[].count`.
    pub path: String,
    /// Description of the mistake.
    pub reason: String,
}

/// Reason why a packet was not read into a tree of values, or a tree was not written.
///
/// ```
/// use tightwire::schema::{Dynamic, DynamicError, Schema};
///
/// let schema = Schema::of::<[bool; 2]>();
/// assert!(matches!(schema.decode(&[4]), Err(DynamicError::Read(_))));
/// let mut pair = Dynamic::List(vec![true.into(), 7u64.into()]);
/// let refused = schema.encode(&pair, &mut [0; 1]).unwrap_err();
/// assert!(matches!(refused, DynamicError::Mismatch { .. }));
/// assert_eq!(refused.to_string(), "packet[1]: a bool is needed for `bool`, not an integer");
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum DynamicError {
    /// The packet was refused: [`Schema::explain`](crate::schema::Schema::explain) names the field.
    Read(ReadError),
    /// The tree was not written: the buffer was too small.
    Write(WriteError),
    /// The tree was not written: a value is not allowed. The error has the path of the value, the
    /// value, and its range.
    Value(ExplainedError),
    /// The tree does not match the schema.
    Mismatch {
        /// Path of the value.
        path: String,
        /// The kind of value that the schema needs, and the one in the tree.
        reason: String,
    },
    /// The schema does not describe how to continue.
    Undescribed {
        /// Path of the value.
        path: String,
        /// Description of the missing part.
        reason: String,
    },
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl fmt::Display for DynamicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
            Self::Value(error) => error.fmt(f),
            Self::Mismatch { path, reason } | Self::Undescribed { path, reason } => {
                write!(f, "{path}: {reason}")
            }
        }
    }
}

impl core::error::Error for SchemaError {}

impl core::error::Error for DynamicError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Write(error) => Some(error),
            Self::Value(error) => Some(error),
            Self::Mismatch { .. } | Self::Undescribed { .. } => None,
        }
    }
}

impl From<ReadError> for DynamicError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<WriteError> for DynamicError {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}
