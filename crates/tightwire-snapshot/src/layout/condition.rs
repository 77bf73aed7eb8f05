//! Conditions, compiled to tests of cells.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use super::build::Place;
use super::quantity::{Quantity, cell};
use super::scale::least;
use tightwire_core::schema::{has_value, is_so};
use tightwire_core::stream::{Binary, Condition, Field, Name, Number, Op, Shape, Variant};

/// Presence of a part of a value: the test and all outer guards hold.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Guard {
    pub(super) test: Test,
    pub(super) outer: Option<usize>,
}

/// A predicate over cells. It has a result for any cells.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Test {
    Always(bool),
    /// The cell equals this number.
    Is {
        column: usize,
        value: u32,
    },
    /// The cell is above this number.
    Above {
        column: usize,
        value: u32,
    },
    /// The cell has one of the bits of this mask.
    Bits {
        column: usize,
        mask: u32,
    },
    /// The cells from these two columns on are equal.
    Same {
        columns: [usize; 2],
        count: usize,
    },
    Not(Box<Test>),
    /// All hold. Not nested, since a schema from outside can have thousands of them.
    And(Vec<Test>),
    Or(Box<[Test; 2]>),
    Equal(Box<[Test; 2]>),
    Compare(Binary, Box<[Quantity; 2]>),
}

impl Test {
    #[inline]
    pub(super) fn holds(&self, cells: &[u32]) -> bool {
        match self {
            Self::Is { column, value } => cell(cells, *column) == *value,
            Self::Above { column, value } => cell(cells, *column) > *value,
            Self::Bits { column, mask } => cell(cells, *column) & *mask != 0,
            Self::Not(test) => !test.holds(cells),
            other => other.holds_all(cells),
        }
    }

    fn holds_all(&self, cells: &[u32]) -> bool {
        match self {
            Self::Always(value) => *value,
            Self::Same { columns: [a, b], count } => {
                (0..*count).all(|place| cell(cells, a + place) == cell(cells, b + place))
            }
            Self::And(all) => all.iter().all(|test| test.holds(cells)),
            Self::Or(both) => both.iter().any(|test| test.holds(cells)),
            Self::Equal(both) => both[0].holds(cells) == both[1].holds(cells),
            Self::Compare(comparison, both) => {
                is_so(*comparison, both[0].number(cells), both[1].number(cells))
            }
            simple => simple.holds(cells),
        }
    }

    /// Creates the comparison of two numbers. That of bits with 0 or with themselves is a test of
    /// bits: a class with many optional parts has one for each, and all are asked for each update.
    fn comparison(operator: Binary, a: Quantity, b: Quantity) -> Self {
        let is_equality = match operator {
            Binary::Equal => true,
            Binary::NotEqual => false,
            _ => return Self::Compare(operator, Box::new([a, b])),
        };
        let masked = a.masked_column().zip(b.constant());
        match masked.or_else(|| b.masked_column().zip(a.constant())) {
            Some(((column, mask), value))
                if value == 0 || value == mask && mask.is_power_of_two() =>
            {
                let bits = Self::Bits { column, mask };
                if is_equality == (value == 0) { Self::Not(Box::new(bits)) } else { bits }
            }
            _ => Self::Compare(operator, Box::new([a, b])),
        }
    }

    /// Collects the columns that the test depends on.
    pub(super) fn columns(&self, found: &mut Vec<usize>) {
        match self {
            Self::Always(_) => {}
            Self::Is { column, .. } | Self::Above { column, .. } | Self::Bits { column, .. } => {
                found.push(*column);
            }
            Self::Same { columns, count } => {
                columns.iter().for_each(|column| found.extend(*column..column + count));
            }
            Self::Not(test) => test.columns(found),
            Self::And(all) => all.iter().for_each(|test| test.columns(found)),
            Self::Or(both) | Self::Equal(both) => {
                both.iter().for_each(|test| test.columns(found));
            }
            Self::Compare(_, both) => both.iter().for_each(|number| number.columns(found)),
        }
    }
}

/// Compiles the condition of a field over the fields `before` it.
pub(super) fn test<'s>(
    condition: &'s Condition,
    before: &[(&'s Field, Place<'s>)],
) -> Result<Test, String> {
    let parts = conjuncts(condition);
    let mut tests = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        tests.push(VisibleFields { before, assumed: &parts[..index] }.test(part)?);
    }
    Ok(match tests.pop() {
        Some(only) if tests.is_empty() => only,
        Some(last) => {
            tests.push(last);
            Test::And(tests)
        }
        None => Test::Always(true),
    })
}

/// Splits a condition at its `&&` operators.
fn conjuncts(condition: &Condition) -> Vec<&Condition> {
    match condition {
        Condition::Binary(Binary::And, both) => [conjuncts(&both[0]), conjuncts(&both[1])].concat(),
        other => [other].to_vec(),
    }
}

/// The fields and conditions that a part of a condition may refer to.
struct VisibleFields<'a, 's> {
    before: &'a [(&'s Field, Place<'s>)],
    /// Conditions that hold where the part is evaluated.
    assumed: &'a [&'s Condition],
}

/// A compiled part of a condition.
enum Part<'s> {
    Test(Test),
    Quantity(Quantity),
    Enum(Range<usize>, &'s [Variant]),
    Variant(&'s Name),
    Option(usize),
    /// A value with this many elements.
    Counted(Quantity),
}

impl<'s> VisibleFields<'_, 's> {
    fn test(&self, condition: &'s Condition) -> Result<Test, String> {
        match self.part(condition)? {
            Part::Test(test) => Ok(test),
            _ => Err(unclear(condition)),
        }
    }

    fn part(&self, condition: &'s Condition) -> Result<Part<'s>, String> {
        Ok(match condition {
            Condition::Field(path) => self.field(path)?,
            Condition::Bool(value) => Part::Test(Test::Always(*value)),
            Condition::Number(number) => Part::Quantity(Quantity::Constant(*number)),
            Condition::Variant(name) => Part::Variant(name),
            Condition::Len(of) => match self.part(of)? {
                Part::Counted(count) => Part::Quantity(count),
                _ => return Err(unclear(condition)),
            },
            Condition::IsSome(of) => match self.part(of)? {
                Part::Option(column) => Part::Test(Test::Is { column, value: 1 }),
                _ => return Err(unclear(condition)),
            },
            Condition::Not(of) => Part::Test(Test::Not(Box::new(self.test(of)?))),
            Condition::Binary(operator, both) => self.binary(condition, *operator, both)?,
            Condition::Source(_) => {
                return Err(format!(
                    "the condition `{condition}` is Rust code, not data: write it with comparisons \
                     of earlier fields"
                ));
            }
            _ => return Err(unclear(condition)),
        })
    }

    fn binary(
        &self,
        whole: &Condition,
        operator: Binary,
        both: &'s [Condition; 2],
    ) -> Result<Part<'s>, String> {
        let is_equality = matches!(operator, Binary::Equal | Binary::NotEqual);
        let test = match (self.part(&both[0])?, self.part(&both[1])?) {
            (Part::Test(a), Part::Test(b)) => match operator {
                Binary::And | Binary::BitAnd => Test::And(Vec::from([a, b])),
                Binary::Or => Test::Or(Box::new([a, b])),
                _ if is_equality => Test::Equal(Box::new([a, b])),
                _ => return Err(unclear(whole)),
            },
            (Part::Quantity(a), Part::Quantity(b)) => match operator {
                Binary::BitAnd if a.is_integer() && b.is_integer() => {
                    return Ok(Part::Quantity(Quantity::CommonBits(Box::new([a, b]))));
                }
                Binary::And | Binary::Or | Binary::BitAnd => return Err(unclear(whole)),
                _ => return Ok(Part::Test(Test::comparison(operator, a, b))),
            },
            (Part::Enum(columns, variants), Part::Variant(name))
            | (Part::Variant(name), Part::Enum(columns, variants))
                if is_equality =>
            {
                match variants.iter().position(|variant| variant.name == *name) {
                    Some(ordinal) => Test::Is { column: columns.start, value: ordinal as u32 },
                    None => return Err(unclear(whole)),
                }
            }
            (Part::Enum(a, variants), Part::Enum(b, others))
                if is_equality && variants == others =>
            {
                if !variants.iter().flat_map(|variant| &variant.fields).all(is_exact) {
                    return Err(format!(
                        "the condition `{whole}` compares enums with floats in them, and cells do not \
                         say when two floats are equal: compare the variants by `matches!`, or send \
                         the floats with `min`, `max` and `resolution`"
                    ));
                }
                Test::Same { columns: [a.start, b.start], count: a.len() }
            }
            _ => return Err(unclear(whole)),
        };
        Ok(Part::Test(match operator {
            Binary::NotEqual => Test::Not(Box::new(test)),
            _ => test,
        }))
    }

    fn field(&self, path: &'s [Name]) -> Result<Part<'s>, String> {
        let shown = || Condition::Field(path.to_vec()).to_string();
        let (mut fields, mut assumed) = (self.before, self.assumed);
        let mut found = None;
        for name in path {
            let is_meant =
                |(field, _): &&(&Field, Place<'_>)| field.name == *name && has_value(field);
            let Some((field, place)) = fields.iter().find(is_meant) else {
                return Err(format!(
                    "its condition looks at `{}`, which is no earlier field",
                    shown()
                ));
            };
            // Cells of an absent field are 0, but its value is the default of its type: a condition
            // must not depend on it.
            if let Some(when) = &field.when
                && !conjuncts(when).iter().all(|own| assumed.contains(own))
            {
                return Err(format!(
                    "its condition looks at `{}`, which is not always sent: begin with the condition \
                     of that field and `&&`",
                    shown()
                ));
            }
            // The conditions of a nested struct's fields use other names.
            (fields, assumed) = (&place.fields, &[]);
            found = Some(place);
        }
        found.and_then(value_of).ok_or_else(|| {
            format!(
                "its condition looks at `{}`, which is no bool, number, enum or length",
                shown()
            )
        })
    }
}

/// Whether values of a field are equal exactly if their cells are. Not so for floats, as 0 and -0,
/// and for directions, which have several codes for one value.
fn is_exact(field: &Field) -> bool {
    fn is_exact_shape(shape: &Shape) -> bool {
        match shape {
            Shape::Op(op) => !matches!(
                op,
                Op::Float
                    | Op::Double
                    | Op::Vector { .. }
                    | Op::Quaternion
                    | Op::SmallestThree { .. }
                    | Op::UnitVector { .. }
            ),
            Shape::Struct { fields, .. } => fields.iter().all(is_exact),
            Shape::Enum { variants, .. } => {
                variants.iter().flat_map(|variant| &variant.fields).all(is_exact)
            }
            Shape::Option(inner) => is_exact_shape(inner),
            Shape::Array { element, .. } | Shape::List { element, .. } => is_exact_shape(element),
            _ => false,
        }
    }
    is_exact_shape(&field.shape)
}

fn unclear(condition: &Condition) -> String {
    format!(
        "the condition `{condition}` cannot be evaluated: compare bools, numbers, enums and lengths \
         with their like"
    )
}

/// Returns the part of a condition that a field is; `None` if cells do not tell its value.
fn value_of<'s>(place: &Place<'s>) -> Option<Part<'s>> {
    let column = place.column;
    let length = || Quantity::Offset { column, parts: 1, least: Number::Unsigned(0) };
    let known = |length: u64| Part::Counted(Quantity::Constant(Number::Unsigned(length.into())));
    let op = match place.shape {
        Shape::Op(op) => op,
        Shape::Enum { variants, .. } => return Some(Part::Enum(place.columns.clone(), variants)),
        Shape::Option(_) => return Some(Part::Option(column)),
        Shape::List { .. } => return Some(Part::Counted(length())),
        Shape::Array { len, .. } => return Some(known(*len)),
        _ => return None,
    };
    Some(Part::Quantity(match *op {
        Op::Bool => return Some(Part::Test(Test::Is { column, value: 1 })),
        Op::Bits { .. } | Op::Int { .. } | Op::Fixed { .. } | Op::Enumerate { .. } => {
            let parts = columns_for(op.span()?);
            Quantity::Offset { column, parts, least: least(op)? }
        }
        Op::Varint { bits, signed } => {
            let parts = bits.div_ceil(32) as usize;
            match signed {
                true => Quantity::Zigzag { column, parts },
                false => Quantity::Offset { column, parts, least: Number::Unsigned(0) },
            }
        }
        Op::Float => Quantity::Float(column),
        Op::Double => Quantity::Double(column),
        Op::CompressedFloat(range) => Quantity::Compressed(column, range),
        Op::Blob { .. } | Op::String { .. } => return Some(Part::Counted(length())),
        Op::Bytes { len } | Op::Pod { size: len } => return Some(known(len as u64)),
        // The length of wide text is that of its UTF-8, which cells do not have.
        _ => return None,
    }))
}

/// Returns the number of columns for every number up to `span`.
pub(super) fn columns_for(span: u128) -> usize {
    ((u128::BITS - span.leading_zeros()).div_ceil(u32::BITS) as usize).max(1)
}
