//! The fingerprint: a hash over the bytes that a schema's packets can have.

use alloc::vec::Vec;

use super::Schema;
use super::flat::{Block, Names};
use crate::stream::{Binary, Condition, FloatRange, Hints, Number, Op, Shape, SubsetCoding};
use xxhash_rust::xxh3::Xxh3;

impl Schema {
    /// Returns the fingerprint: 64 bits that change if and only if the bytes of a packet or a
    /// snapshot could change. Both sides compare it as the protocol id.
    ///
    /// The fingerprint does not cover names of types, fields and variants, the grouping of fields
    /// into structs, or the type of an integer, which its range makes redundant. docs/WIRE.md
    /// specifies the bytes that are hashed.
    ///
    /// ```
    /// use tightwire::schema::Schema;
    /// use tightwire::stream::{Field, Op, Shape};
    ///
    /// let schema = |name: &str, op| {
    ///     let fields = vec![Field::new(name, Shape::Op(op))];
    ///     Schema::new(Shape::Struct { name: "Player".into(), fields }).unwrap()
    /// };
    /// let health = schema("health", Op::Bits { width: 8 });
    /// assert_eq!(health.fingerprint(), schema("hp", Op::Bits { width: 8 }).fingerprint());
    /// assert_eq!(health.fingerprint(), tightwire::schema::Schema::of::<u8>().fingerprint());
    /// assert_ne!(health.fingerprint(), schema("health", Op::Bits { width: 9 }).fingerprint());
    /// ```
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        hash(self.root())
    }
}

/// Fingerprint of a part of a schema.
pub(super) fn hash(shape: &Shape) -> u64 {
    hash_block(&Block::of(shape))
}

/// Fingerprint of the fields of a variant.
pub(super) fn hash_block(block: &Block<'_>) -> u64 {
    let mut canonical = Canonical(Xxh3::new());
    canonical.byte(VERSION);
    canonical.block(block);
    canonical.0.digest()
}

/// Version of the hashed bytes, increased with each change.
const VERSION: u8 = 1;

/// Writes the canonical bytes of docs/WIRE.md.
struct Canonical<H>(H);

/// Destination of the bytes: the hash, or memory for conditions.
trait Sink {
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Xxh3 {
    fn put(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl<H: Sink> Canonical<H> {
    fn byte(&mut self, byte: u8) {
        self.0.put(&[byte]);
    }

    fn word(&mut self, word: u64) {
        self.0.put(&word.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        self.0.put(text.as_bytes());
    }

    fn number(&mut self, number: Number) {
        let (kind, magnitude) = match number {
            Number::Unsigned(number) => (0, number),
            Number::Signed(number) => (u8::from(number < 0), number.unsigned_abs()),
            Number::Float(number) => {
                self.byte(2);
                return self.0.put(&number.to_le_bytes());
            }
            Number::Double(number) => {
                self.byte(3);
                return self.0.put(&number.to_le_bytes());
            }
        };
        self.byte(kind);
        self.0.put(&magnitude.to_le_bytes());
    }

    fn range(&mut self, range: FloatRange) {
        // Zero of either sign is the same bound.
        for bound in [range.min(), range.max()] {
            self.0.put(&(bound + 0.0).to_le_bytes());
        }
        self.0.put(&range.max_code().to_le_bytes());
    }

    fn op(&mut self, op: &Op) {
        let up_to = |max: u128| [Number::Unsigned(0), Number::Unsigned(max)];
        let bounds = match *op {
            Op::Bits { width } => Some(up_to((1u128 << width.min(64)) - 1)),
            Op::Bool => Some(up_to(1)),
            Op::Enumerate { count } => Some(up_to(count.saturating_sub(1) as u128)),
            Op::Int { min, max } => Some([min, max]),
            _ => None,
        };
        if let Some([min, max]) = bounds {
            self.byte(0x10);
            self.number(min);
            return self.number(max);
        }
        let mut tagged = |tag, word: usize| {
            self.byte(tag);
            self.word(word as u64);
        };
        match op {
            Op::Fixed { fraction_bits, min, max } => {
                tagged(0x11, *fraction_bits as usize);
                self.number(*min);
                self.number(*max);
            }
            Op::Varint { bits, signed } => {
                tagged(0x12, *bits as usize);
                self.byte((*signed).into());
            }
            Op::Float => self.byte(0x13),
            Op::Double => self.byte(0x14),
            Op::CompressedFloat(range) => {
                self.byte(0x15);
                self.range(*range);
            }
            Op::Vector { dimensions } => tagged(0x16, *dimensions),
            Op::Quaternion => tagged(0x16, 4),
            Op::CompressedVector { dimensions, range } => {
                tagged(0x17, *dimensions);
                self.range(*range);
            }
            Op::SmallestThree { bits } => tagged(0x18, *bits as usize),
            Op::UnitVector { bits } => tagged(0x19, *bits as usize),
            Op::Align => self.byte(0x1a),
            Op::Bytes { len } | Op::Pod { size: len } => tagged(0x1b, *len),
            Op::Blob { max_len } => tagged(0x1c, *max_len),
            Op::String { max_len } => tagged(0x1d, *max_len),
            Op::WideString { max_len } => tagged(0x1e, *max_len),
            Op::Index { count } => tagged(0x1f, *count as usize),
            Op::IntRelative => self.byte(0x20),
            Op::Selection { len, coding } => {
                tagged(0x21, *len);
                self.byte(match coding {
                    SubsetCoding::BitPerObject => 0,
                    SubsetCoding::CountAndIndex => 1,
                    SubsetCoding::SentinelIndex => 2,
                    SubsetCoding::RelativeIndex => 3,
                    SubsetCoding::Best => 4,
                });
            }
            Op::Check { name } => {
                self.byte(0x22);
                self.text(name);
            }
            // Integers are handled above.
            Op::Bits { .. } | Op::Bool | Op::Enumerate { .. } | Op::Int { .. } => {}
        }
    }

    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Op(op) => self.op(op),
            // A block has already flattened structs.
            Shape::Struct { .. } => self.block(&Block::of(shape)),
            Shape::Enum { variants, .. } => {
                let blocks: Vec<_> =
                    variants.iter().map(|variant| Block::of_fields(&variant.fields)).collect();
                if blocks.iter().all(|block| block.items.is_empty()) {
                    return self.op(&Op::Enumerate { count: blocks.len() });
                }
                self.byte(0x23);
                self.word(blocks.len() as u64);
                blocks.iter().for_each(|block| self.block(block));
            }
            Shape::Option(inner) => {
                self.byte(0x24);
                self.block(&Block::of(inner));
            }
            Shape::Array { len, element } => {
                self.byte(0x25);
                self.word(*len);
                self.block(&Block::of(element));
            }
            Shape::List { max_len, element } => {
                self.byte(0x26);
                self.word(*max_len);
                self.block(&Block::of(element));
            }
            Shape::Opaque { name, max_bits } => {
                self.byte(0x27);
                self.text(name);
                self.word(*max_bits);
            }
        }
    }

    fn block(&mut self, block: &Block<'_>) {
        let mut guard = Vec::new();
        let mut before = None;
        for item in &block.items {
            if before.is_none_or(|before| !Block::same_guard(before, item)) {
                let own = guard_bytes(block, item, &Some);
                // Written once for all consecutive values with the same conditions.
                if own != guard {
                    self.byte(0x01);
                    self.word(own.len() as u64);
                    self.0.put(&own);
                    guard = own;
                }
            }
            before = Some(item);
            self.0.put(&hint_bytes(block, item, &Some));
            self.shape(item.shape);
        }
        self.byte(0x00);
    }

    /// Writes a condition; `place` translates the index of a value, for comparison with another
    /// schema.
    fn condition(
        &mut self,
        condition: &Condition,
        names: Names<'_>,
        block: &Block<'_>,
        place: &dyn Fn(usize) -> Option<usize>,
    ) {
        match condition {
            Condition::Field(path) => match block.place(names, path).and_then(place) {
                Some(place) => {
                    self.byte(0x01);
                    self.word(place as u64);
                }
                None => {
                    self.byte(0x02);
                    self.word(path.len() as u64);
                    path.iter().for_each(|name| self.text(name));
                }
            },
            Condition::Bool(value) => {
                self.byte(0x03);
                self.byte((*value).into());
            }
            Condition::Number(number) => {
                self.byte(0x04);
                self.number(*number);
            }
            Condition::Variant(name) => {
                self.byte(0x05);
                self.text(name);
            }
            Condition::Len(of) => {
                self.byte(0x06);
                self.condition(of, names, block, place);
            }
            Condition::IsSome(of) => {
                self.byte(0x07);
                self.condition(of, names, block, place);
            }
            Condition::Not(of) => {
                self.byte(0x08);
                self.condition(of, names, block, place);
            }
            Condition::Binary(operator, operands) => {
                self.byte(0x09);
                self.byte(operator_code(*operator));
                let [a, b] = &**operands;
                for (operand, other) in [(a, b), (b, a)] {
                    let ordinal = match operand {
                        Condition::Variant(name) => names.ordinal(other, name),
                        _ => None,
                    };
                    match ordinal {
                        Some(ordinal) => {
                            let number = Number::Unsigned(ordinal as u128);
                            self.condition(&Condition::Number(number), names, block, place);
                        }
                        None => self.condition(operand, names, block, place),
                    }
                }
            }
            Condition::Source(text) => {
                self.byte(0x0a);
                self.text(text);
            }
        }
    }
}

/// Canonical bytes of the conditions under which a value is sent.
pub(super) fn guard_bytes(
    block: &Block<'_>,
    item: &super::flat::FlatValue<'_>,
    place: &dyn Fn(usize) -> Option<usize>,
) -> Vec<u8> {
    let mut canonical = Canonical(Vec::new());
    for (condition, names) in block.conditions(item) {
        canonical.condition(condition, names, block, place);
    }
    canonical.0
}

/// Canonical bytes of a value's hints; empty without hints.
pub(super) fn hint_bytes(
    block: &Block<'_>,
    item: &super::flat::FlatValue<'_>,
    place: &dyn Fn(usize) -> Option<usize>,
) -> Vec<u8> {
    let mut canonical = Canonical(Vec::new());
    if let Some((hints, names)) = item.hints {
        let of = hints.derivative_of.as_ref();
        let Hints { wraps, spatial, reference, rotation, owner, others, .. } = *hints;
        let flags = [wraps, spatial, reference, of.is_some(), rotation, owner, others];
        canonical.byte(0x02);
        canonical.byte(flags.iter().rev().fold(0, |byte, &flag| byte << 1 | u8::from(flag)));
        if let Some(of) = of {
            let of = Condition::Field(Vec::from([of.clone()]));
            canonical.condition(&of, names, block, place);
        }
    }
    canonical.0
}

fn operator_code(operator: Binary) -> u8 {
    match operator {
        Binary::And => 0,
        Binary::Or => 1,
        Binary::Equal => 2,
        Binary::NotEqual => 3,
        Binary::Less => 4,
        Binary::LessOrEqual => 5,
        Binary::Greater => 6,
        Binary::GreaterOrEqual => 7,
        Binary::BitAnd => 8,
    }
}
