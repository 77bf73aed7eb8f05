//! Conditions: displayed, resolved in a schema, evaluated on a tree.

use core::cmp::Ordering;
use core::fmt;
use core::mem::discriminant;

use super::dynamic::Dynamic;
use super::equality::Equality;
use crate::stream::{Binary, Condition, Field, Name, Number, Op, Shape, Value};

/// The condition as Rust source, without `self`.
///
/// ```
/// use tightwire::stream::{Binary, Condition, Number};
///
/// let field = |name: &str| Condition::Field(vec![name.into()]);
/// let armed = Condition::Binary(
///     Binary::Greater,
///     Box::new([field("ammunition"), Condition::Number(Number::Unsigned(0))]),
/// );
/// let resting = Condition::Not(Box::new(field("at_rest")));
/// let both = Condition::Binary(Binary::And, Box::new([resting, armed]));
/// assert_eq!(both.to_string(), "!at_rest && ammunition > 0");
/// ```
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(path) => {
                for (index, name) in path.iter().enumerate() {
                    write!(f, "{}{name}", if index == 0 { "" } else { "." })?;
                }
                Ok(())
            }
            Self::Bool(value) => value.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Variant(name) => name.fmt(f),
            Self::Len(of) => write!(f, "{}.len()", Grouped(of, MAX_PRECEDENCE)),
            Self::IsSome(of) => write!(f, "{}.is_some()", Grouped(of, MAX_PRECEDENCE)),
            Self::Not(of) => write!(f, "!{}", Grouped(of, MAX_PRECEDENCE)),
            Self::Binary(operator, operands) => {
                // Comparisons do not chain: both operands need parentheses.
                let own = precedence(*operator);
                let left = if own == COMPARISON { own + 1 } else { own };
                let [a, b] = &**operands;
                write!(f, "{} {} {}", Grouped(a, left), operator.symbol(), Grouped(b, own + 1))
            }
            Self::Source(text) => {
                // The compiler breaks long expressions into lines.
                for (index, word) in text.split_whitespace().enumerate() {
                    write!(f, "{}{word}", if index == 0 { "" } else { " " })?;
                }
                Ok(())
            }
        }
    }
}

/// A condition in parentheses, if it binds less tightly than the expression around it.
struct Grouped<'a>(&'a Condition, u8);

const COMPARISON: u8 = 2;
const MAX_PRECEDENCE: u8 = 4;

fn precedence(operator: Binary) -> u8 {
    match operator {
        Binary::Or => 0,
        Binary::And => 1,
        Binary::BitAnd => 3,
        _ => COMPARISON,
    }
}

impl fmt::Display for Grouped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Condition::Binary(operator, _) if precedence(*operator) < self.1 => {
                write!(f, "({})", self.0)
            }
            Condition::Source(_) => write!(f, "({})", self.0),
            other => other.fmt(f),
        }
    }
}

impl Binary {
    /// Returns the operator as Rust writes it.
    ///
    /// ```
    /// assert_eq!(tightwire::stream::Binary::NotEqual.symbol(), "!=");
    /// ```
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::And => "&&",
            Self::Or => "||",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::BitAnd => "&",
        }
    }
}

/// Returns the shape of the value at `path`, starting from `fields` and going through structs.
pub(super) fn resolve<'a>(fields: &'a [Field], path: &[Name]) -> Option<&'a Shape> {
    let (first, rest) = path.split_first()?;
    let shape = &fields.iter().find(|field| field.name == *first && has_value(field))?.shape;
    match (rest, shape) {
        ([], shape) => Some(shape),
        (rest, Shape::Struct { fields, .. }) => resolve(fields, rest),
        _ => None,
    }
}

/// Whether the field has a value that a condition can name. A check has only a name, which another
/// check or field may have too.
pub fn has_value(field: &Field) -> bool {
    !matches!(field.shape, Shape::Op(Op::Check { .. }))
}

/// The values that a condition is evaluated on: the earlier fields of a struct, as far as they are
/// in the tree.
pub(super) struct Evaluation<'a> {
    pub(super) fields: &'a [Field],
    pub(super) values: &'a [(Name, Dynamic)],
    /// Number of steps taken so far.
    pub(super) steps: u64,
    /// The most work. A condition that takes more cannot be evaluated.
    pub(super) limit: u64,
}

/// Result of a part of a condition.
enum Operand<'a> {
    Bool(bool),
    Number(Number),
    Variant(&'a str),
    Tree(&'a Dynamic),
    /// A field that was not sent, and therefore has the default of its type.
    Absent(&'a Shape),
}

impl<'a> Evaluation<'a> {
    /// Whether the condition holds; `None` if it cannot be evaluated.
    pub(super) fn holds(&mut self, condition: &'a Condition) -> Option<bool> {
        match self.operand(condition)? {
            Operand::Bool(value) => Some(value),
            _ => None,
        }
    }

    fn operand(&mut self, condition: &'a Condition) -> Option<Operand<'a>> {
        self.steps += 1;
        if self.steps > self.limit {
            return None;
        }
        Some(match condition {
            Condition::Field(path) => self.lookup(path)?.plain(),
            Condition::Bool(value) => Operand::Bool(*value),
            Condition::Number(number) => Operand::Number(*number),
            Condition::Variant(name) => Operand::Variant(name),
            Condition::Len(of) => {
                Operand::Number(Number::Unsigned(self.operand(of)?.len()? as u128))
            }
            Condition::IsSome(of) => Operand::Bool(match self.operand(of)? {
                Operand::Tree(Dynamic::Option(value)) => value.is_some(),
                Operand::Absent(Shape::Option(_)) => false,
                _ => return None,
            }),
            Condition::Not(of) => Operand::Bool(!self.holds(of)?),
            Condition::Binary(operator, operands) => self.binary(*operator, operands)?,
            Condition::Source(_) => return None,
        })
    }

    fn binary(&mut self, operator: Binary, operands: &'a [Condition; 2]) -> Option<Operand<'a>> {
        let [a, b] = operands;
        let value = match operator {
            Binary::And => self.holds(a)? && self.holds(b)?,
            Binary::Or => self.holds(a)? || self.holds(b)?,
            Binary::BitAnd => return bit_and(self.operand(a)?, self.operand(b)?),
            Binary::Equal | Binary::NotEqual => {
                let (a, b) = (self.operand(a)?, self.operand(b)?);
                self.equal(&a, &b)? == (operator == Binary::Equal)
            }
            _ => {
                let (Operand::Number(a), Operand::Number(b)) = (self.operand(a)?, self.operand(b)?)
                else {
                    return None;
                };
                is_so(operator, a, b)
            }
        };
        Some(Operand::Bool(value))
    }

    fn equal(&mut self, a: &Operand<'_>, b: &Operand<'_>) -> Option<bool> {
        match (a, b) {
            (Operand::Bool(a), Operand::Bool(b)) => Some(a == b),
            (Operand::Number(a), Operand::Number(b)) => Some(is_so(Binary::Equal, *a, *b)),
            (Operand::Variant(a), Operand::Variant(b)) => Some(a == b),
            // Whatever values the variant has: of a constant with values, there is no condition.
            (Operand::Tree(Dynamic::Enum { variant, .. }), Operand::Variant(name))
            | (Operand::Variant(name), Operand::Tree(Dynamic::Enum { variant, .. })) => {
                Some(**variant == **name)
            }
            (Operand::Tree(a), Operand::Tree(b)) => {
                Equality { steps: &mut self.steps, limit: self.limit }.of(a, b)
            }
            (Operand::Tree(Dynamic::Option(value)), Operand::Absent(Shape::Option(_)))
            | (Operand::Absent(Shape::Option(_)), Operand::Tree(Dynamic::Option(value))) => {
                Some(value.is_none())
            }
            // Both have the default of their type.
            (Operand::Absent(a), Operand::Absent(b)) if is_same_kind(a, b) => Some(true),
            // One of them is empty.
            (Operand::Absent(_), _) | (_, Operand::Absent(_)) => Some(a.len()? == b.len()?),
            _ => None,
        }
    }

    fn lookup(&mut self, path: &[Name]) -> Option<Operand<'a>> {
        let (mut fields, mut values) = (self.fields, self.values);
        for (index, name) in path.iter().enumerate() {
            self.steps += fields.len() as u64;
            let is_value = |value: &Dynamic| !matches!(value, Dynamic::Value(Value::Unit));
            let mut found = values.iter().filter(|(field, value)| field == name && is_value(value));
            let Some((_, value)) = found.next() else {
                return resolve(fields, &path[index..]).map(Operand::Absent);
            };
            if index + 1 == path.len() {
                return Some(Operand::Tree(value));
            }
            let shape = resolve(fields, core::slice::from_ref(name))?;
            match (value, shape) {
                (
                    Dynamic::Struct { fields: inside, .. },
                    Shape::Struct { fields: described, .. },
                ) => {
                    (fields, values) = (described, inside);
                }
                _ => return None,
            }
        }
        None
    }
}

impl<'a> Operand<'a> {
    /// Converts a leaf to the value that it carries.
    fn plain(self) -> Self {
        match self {
            Self::Tree(Dynamic::Value(Value::Bool(value))) => Self::Bool(*value),
            Self::Tree(Dynamic::Value(Value::Number(number))) => Self::Number(*number),
            Self::Tree(Dynamic::Value(Value::Name(name))) => Self::Variant(name),
            Self::Absent(Shape::Op(op)) => match op {
                Op::Bool => Self::Bool(false),
                Op::Float | Op::CompressedFloat(_) => Self::Number(Number::Float(0.0)),
                Op::Double => Self::Number(Number::Double(0.0)),
                Op::Bits { .. }
                | Op::Int { .. }
                | Op::Fixed { .. }
                | Op::Varint { .. }
                | Op::Enumerate { .. } => Self::Number(Number::Unsigned(0)),
                _ => self,
            },
            other => other,
        }
    }

    fn len(&self) -> Option<usize> {
        match self {
            Self::Tree(Dynamic::Value(Value::Text(text))) => Some(text.len()),
            Self::Tree(Dynamic::Value(Value::Bytes(bytes))) => Some(bytes.len()),
            Self::Tree(Dynamic::List(items)) => Some(items.len()),
            Self::Absent(Shape::List { .. })
            | Self::Absent(Shape::Op(
                Op::String { .. } | Op::WideString { .. } | Op::Blob { .. },
            )) => Some(0),
            _ => None,
        }
    }
}

fn is_same_kind(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Op(a), Shape::Op(b)) => discriminant(a) == discriminant(b),
        (a, b) => discriminant(a) == discriminant(b),
    }
}

fn bit_and<'a>(a: Operand<'a>, b: Operand<'a>) -> Option<Operand<'a>> {
    match (a, b) {
        (Operand::Bool(a), Operand::Bool(b)) => Some(Operand::Bool(a && b)),
        (Operand::Number(a), Operand::Number(b)) => Some(Operand::Number(common_bits(a, b)?)),
        _ => None,
    }
}

/// Returns the bits that are set in both integers; `None` for floats.
pub fn common_bits(a: Number, b: Number) -> Option<Number> {
    // Negative numbers have infinitely many ones to the left: 128 bits hold all bits that another
    // integer can share.
    let bits = |number| match number {
        Number::Unsigned(number) => Some(number),
        Number::Signed(number) => Some(number.cast_unsigned()),
        Number::Float(_) | Number::Double(_) => None,
    };
    match (a, b) {
        (Number::Signed(a), Number::Signed(b)) => Some(Number::Signed(a & b)),
        _ => Some(Number::Unsigned(bits(a)? & bits(b)?)),
    }
}

/// Whether a comparison holds.
pub fn is_so(comparison: Binary, a: Number, b: Number) -> bool {
    // NaN is neither less nor greater than any number.
    let order = compare(a, b);
    match comparison {
        Binary::NotEqual => order != Some(Ordering::Equal),
        Binary::Less => order.is_some_and(Ordering::is_lt),
        Binary::LessOrEqual => order.is_some_and(Ordering::is_le),
        Binary::Greater => order.is_some_and(Ordering::is_gt),
        Binary::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        _ => order == Some(Ordering::Equal),
    }
}

/// Compares two numbers: exactly for integers of either sign, in floating point if one is a float.
fn compare(a: Number, b: Number) -> Option<Ordering> {
    let single = |number| match number {
        Number::Unsigned(number) => number as f32,
        Number::Signed(number) => number as f32,
        Number::Float(number) => number,
        Number::Double(number) => number as f32,
    };
    let double = |number| match number {
        Number::Unsigned(number) => number as f64,
        Number::Signed(number) => number as f64,
        Number::Float(number) => number.into(),
        Number::Double(number) => number,
    };
    match (a, b) {
        (Number::Float(_), _) | (_, Number::Float(_)) => single(a).partial_cmp(&single(b)),
        (Number::Double(_), _) | (_, Number::Double(_)) => double(a).partial_cmp(&double(b)),
        (Number::Unsigned(a), Number::Unsigned(b)) => Some(a.cmp(&b)),
        (Number::Signed(a), Number::Signed(b)) => Some(a.cmp(&b)),
        (Number::Unsigned(a), Number::Signed(b)) => {
            Some(u128::try_from(b).map_or(Ordering::Greater, |b| a.cmp(&b)))
        }
        (Number::Signed(a), Number::Unsigned(b)) => {
            Some(u128::try_from(a).map_or(Ordering::Less, |a| a.cmp(&b)))
        }
    }
}
