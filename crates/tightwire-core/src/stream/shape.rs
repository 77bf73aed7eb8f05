//! The wire form of a type as data: what a schema is made of.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Number, Op};

/// A name of a type, a field or a variant.
pub type Name = Arc<str>;

/// The wire form of a type, as [`Wire::describe`](crate::stream::Wire::describe) gives it.
///
/// A tree without references: it ends, whatever its origin.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Shape {
    /// One operation of the stream.
    Op(Op),
    /// Fields, one after the other.
    Struct {
        /// The name of the type.
        name: Name,
        /// In the order of their bits.
        fields: Vec<Field>,
    },
    /// The place of a variant in the list, in the fewest bits, then its fields.
    Enum {
        /// The name of the type.
        name: Name,
        /// In the order of their ordinals.
        variants: Vec<Variant>,
    },
    /// A bit, and the value if it is set.
    Option(Box<Shape>),
    /// As many elements as both sides know.
    Array {
        /// How many.
        len: u64,
        /// Each of them.
        element: Box<Shape>,
    },
    /// The number of elements, then each.
    List {
        /// The most there can be.
        max_len: u64,
        /// Each of them.
        element: Box<Shape>,
    },
    /// A serialize function written by hand, of which nothing more is known.
    Opaque {
        /// The name of the type.
        name: Name,
        /// Its [`MAX_BITS`](crate::stream::Wire::MAX_BITS).
        max_bits: u64,
    },
}

/// A field of a struct or of an enum's variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// The name; the position for a field without one.
    pub name: Name,
    /// The field is only sent when this holds.
    pub when: Option<Condition>,
    /// What snapshots may know of it; ordinary packets do not depend on it.
    pub hints: Hints,
    /// The form of its value.
    pub shape: Shape,
}

/// What a field's values are like from one moment to the next: it makes snapshots smaller, and
/// changes no bit of a packet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hints {
    /// The field is the rate of change per second of this field of the same struct or variant.
    pub derivative_of: Option<Name>,
    /// The end of the range is next to its beginning, as of an angle.
    pub wraps: bool,
    /// What is near by this field, a position, tends to move alike.
    pub spatial: bool,
    /// Others move with the objects that have this position.
    pub reference: bool,
    /// The field is a rotation: the place of its largest component, then the codes of the others, from
    /// -1/sqrt(2) to 1/sqrt(2).
    pub rotation: bool,
}

/// One variant of an enum.
#[derive(Clone, PartialEq, Debug)]
pub struct Variant {
    /// The name.
    pub name: Name,
    /// Its fields, in the order of their bits.
    pub fields: Vec<Field>,
}

/// An expression over the fields that stand before: when a field is sent.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Condition {
    /// The value of an earlier field of the same struct or variant, or of a field within it.
    Field(Vec<Name>),
    /// A constant.
    Bool(bool),
    /// A constant.
    Number(Number),
    /// A variant of an enum, by its name.
    Variant(Name),
    /// How many elements or bytes a value has.
    Len(Box<Condition>),
    /// Whether an option has a value.
    IsSome(Box<Condition>),
    /// Not.
    Not(Box<Condition>),
    /// Two operands.
    Binary(Binary, Box<[Condition; 2]>),
    /// Rust that has no form as data: a schema with it can be shown and compared, but packets
    /// cannot be read with it.
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
    /// The bits that both have: tests a flag.
    BitAnd,
}

impl Binary {
    /// In the order of their numbers on the wire.
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
    /// A field that is always sent.
    #[must_use]
    pub fn new(name: &str, shape: Shape) -> Self {
        Self { name: name.into(), when: None, hints: Hints::default(), shape }
    }
}
