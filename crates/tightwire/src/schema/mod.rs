//! The schema: the wire form of a type as data.

use crate::stream::{Shape, Wire};

/// The wire form of a packet as data: every field with its operation.
///
/// ```
/// use tightwire::{Shape, schema};
///
/// let schema = schema::<Option<u8>>();
/// assert!(matches!(schema.root(), Shape::Option(_)));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Schema {
    root: Shape,
}

/// The schema of `T`.
///
/// ```
/// assert_eq!(tightwire::schema::<[u8; 3]>(), tightwire::schema::<[u8; 3]>());
/// ```
#[must_use]
pub fn schema<T: Wire>() -> Schema {
    Schema { root: T::describe() }
}

impl Schema {
    /// The form of the whole packet.
    #[must_use]
    pub fn root(&self) -> &Shape {
        &self.root
    }
}
