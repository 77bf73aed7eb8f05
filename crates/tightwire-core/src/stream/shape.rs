//! The wire form of a type as data: the parts of a schema.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Number, Op};

/// Name of a type, a field or a variant.
pub type Name = Arc<str>;

/// The wire form of a type, as [`Wire::describe`](crate::stream::Wire::describe) returns it.
///
/// A shape is a tree without references, so that it is finite, whatever its origin.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Shape {
    /// One operation of the stream.
    Op(Op),
    /// Fields, one after the other.
    Struct {
        /// Name of the type.
        name: Name,
        /// Fields in the order of their bits.
        fields: Vec<Field>,
    },
    /// The ordinal of a variant in the fewest bits, then its fields.
    Enum {
        /// Name of the type.
        name: Name,
        /// Variants in the order of their ordinals.
        variants: Vec<Variant>,
    },
    /// A bit, then the value if the bit is set.
    Option(Box<Shape>),
    /// A number of elements that both sides know.
    Array {
        /// Number of elements.
        len: u64,
        /// Shape of an element.
        element: Box<Shape>,
    },
    /// The number of elements, then each element.
    List {
        /// Largest number of elements.
        max_len: u64,
        /// Shape of an element.
        element: Box<Shape>,
    },
    /// A serialize function written by hand, which is not described.
    Opaque {
        /// Name of the type.
        name: Name,
        /// [`MAX_BITS`](crate::stream::Wire::MAX_BITS) of the type.
        max_bits: u64,
    },
}

/// A field of a struct or of an enum's variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// Name of the field, or its position if it has none.
    pub name: Name,
    /// Condition under which the field is sent; `None` if it is always sent.
    pub when: Option<Condition>,
    /// Hints for snapshots; ordinary packets do not depend on them.
    pub hints: Hints,
    /// Shape of the field's value.
    pub shape: Shape,
}

/// Hints on how the values of a field change over time, which make snapshots smaller, and on who
/// gets them. They change no bit of a packet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hints {
    /// Name of the field whose rate of change per second this field is, in the same struct or
    /// variant; `None` if it is no derivative.
    pub derivative_of: Option<Name>,
    /// Whether the end of the range is next to its start, as for an angle.
    pub wraps: bool,
    /// Whether the field is a position whose neighbours tend to move alike.
    pub spatial: bool,
    /// Whether other objects move along with objects at this position.
    pub reference: bool,
    /// Whether the field is a rotation: the index of the largest component, then the codes of the
    /// other three, from -1/sqrt(2) to 1/sqrt(2).
    pub rotation: bool,
    /// Whether only the owner of an object gets the field; others read a neutral value.
    pub owner: bool,
    /// Whether everybody but the owner of an object gets the field; the owner reads a neutral value.
    pub others: bool,
}

/// One variant of an enum.
#[derive(Clone, PartialEq, Debug)]
pub struct Variant {
    /// Name of the variant.
    pub name: Name,
    /// Fields in the order of their bits.
    pub fields: Vec<Field>,
}

/// An expression over earlier fields that decides whether a field is sent.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Condition {
    /// The value of an earlier field of the same struct or variant, or of a field inside it.
    Field(Vec<Name>),
    /// A `bool` constant.
    Bool(bool),
    /// A number constant.
    Number(Number),
    /// A variant of an enum, by its name.
    Variant(Name),
    /// The number of elements or bytes of a value.
    Len(Box<Condition>),
    /// Whether an option has a value.
    IsSome(Box<Condition>),
    /// Negation.
    Not(Box<Condition>),
    /// An operator with two operands.
    Binary(Binary, Box<[Condition; 2]>),
    /// Rust source that cannot be described as data: a schema that contains it can be shown and
    /// compared, but cannot read packets.
    Source(Name),
}

/// An operator of a [`Condition`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the variants are named after their operators")]
pub enum Binary {
    And,
    Or,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Bits set in both operands, to test a flag.
    BitAnd,
}

impl Binary {
    /// Operators in the order of their numbers on the wire.
    #[doc(hidden)]
    pub const ALL: [Self; 9] = [
        Self::And,
        Self::Or,
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::LessOrEqual,
        Self::Greater,
        Self::GreaterOrEqual,
        Self::BitAnd,
    ];
}

impl Field {
    /// Creates a field that is always sent.
    #[must_use]
    pub fn new(name: &str, shape: Shape) -> Self {
        Self { name: name.into(), when: None, hints: Hints::default(), shape }
    }
}
