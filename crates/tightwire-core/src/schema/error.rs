//! Why a schema or a tree of values is refused.

use alloc::string::String;
use core::fmt;

use crate::stream::{ReadError, WriteError};

/// Why a description is no schema, and where in it.
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
    /// The names that lead to what is wrong, as in `Player.inventory[].count`.
    pub path: String,
    /// What is wrong.
    pub reason: String,
}

/// Why a packet was not read into a tree of values, or a tree not written.
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
    /// The packet was not written.
    Write(WriteError),
    /// The tree does not have the form of the schema.
    Mismatch {
        /// The names that lead to the value.
        path: String,
        /// What the schema says, and what is there.
        reason: String,
    },
    /// The schema does not say how to go on.
    Undescribed {
        /// The names that lead to the value.
        path: String,
        /// What it does not say.
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
