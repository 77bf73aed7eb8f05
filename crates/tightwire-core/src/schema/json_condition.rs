//! Integers and conditions as JSON.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeSeq, Serializer};

use super::validate::MAX_CONDITION_DEPTH;
use crate::stream::{Binary, Condition, Name, Number};

/// An integer, as a string where a JSON number may not hold it. Whether it came from a signed type
/// is lost: an integer that is not negative is read as unsigned.
#[derive(Clone, Copy)]
pub(super) struct Integer(pub(super) Number);

impl Serialize for Integer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Number::Unsigned(number) => match u64::try_from(number) {
                Ok(number) => serializer.serialize_u64(number),
                Err(_) => serializer.collect_str(&number),
            },
            Number::Signed(number) => match i64::try_from(number) {
                Ok(number) => serializer.serialize_i64(number),
                Err(_) => serializer.collect_str(&number),
            },
            Number::Float(number) if number.is_finite() => serializer.serialize_f32(number),
            Number::Double(number) if number.is_finite() => serializer.serialize_f64(number),
            number => serializer.collect_str(&number),
        }
    }
}

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IntegerVisitor;
        impl Visitor<'_> for IntegerVisitor {
            type Value = Integer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer, or one in a string")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Integer, E> {
                Ok(Integer(Number::Unsigned(number.into())))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Integer, E> {
                Ok(Integer(match u64::try_from(number) {
                    Ok(number) => Number::Unsigned(number.into()),
                    Err(_) => Number::Signed(number.into()),
                }))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Integer, E> {
                let unsigned = text.parse().map(Number::Unsigned);
                let number = unsigned.or_else(|_| text.parse().map(Number::Signed));
                number.map(Integer).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(IntegerVisitor)
    }
}

/// A condition: a field is its name, in Rust's notation; a number or a `bool` is itself; everything
/// else is a list of an operator and its operands, such as
/// `["&&", ["!", "at_rest"], ["<", "hp", 9]]`.
pub(super) struct ConditionForm(pub(super) Condition);

impl Serialize for ConditionForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Part(&self.0).serialize(serializer)
    }
}

/// A part of a condition to write.
struct Part<'a>(&'a Condition);

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Condition::Field(path) if is_plain(path) => {
                serializer.serialize_str(&self.0.to_string())
            }
            Condition::Field(path) => {
                let mut list = serializer.serialize_seq(Some(1 + path.len()))?;
                list.serialize_element("field")?;
                path.iter().try_for_each(|name| list.serialize_element(name))?;
                list.end()
            }
            Condition::Bool(value) => serializer.serialize_bool(*value),
            Condition::Number(Number::Signed(number)) if i64::try_from(*number).is_ok() => {
                Integer(Number::Signed(*number)).serialize(serializer)
            }
            // As text, which any parser of floats reads exactly.
            Condition::Number(number @ (Number::Float(_) | Number::Double(_))) => {
                let kind = if matches!(number, Number::Float(_)) { "float" } else { "double" };
                (kind, format!("{number}")).serialize(serializer)
            }
            Condition::Number(number @ Number::Signed(_)) => {
                ("signed", Integer(*number)).serialize(serializer)
            }
            Condition::Number(number) => ("unsigned", Integer(*number)).serialize(serializer),
            Condition::Variant(name) => ("variant", name).serialize(serializer),
            Condition::Len(of) => ("len", Part(of)).serialize(serializer),
            Condition::IsSome(of) => ("is_some", Part(of)).serialize(serializer),
            Condition::Not(of) => ("!", Part(of)).serialize(serializer),
            Condition::Binary(operator, operands) => {
                let [a, b] = &**operands;
                (operator.symbol(), Part(a), Part(b)).serialize(serializer)
            }
            Condition::Source(text) => ("source", text).serialize(serializer),
        }
    }
}

/// Whether names joined with dots can be split again.
fn is_plain(path: &[Name]) -> bool {
    !path.is_empty() && path.iter().all(|name| !name.is_empty() && !name.contains('.'))
}

impl<'de> Deserialize<'de> for ConditionForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Depth(MAX_CONDITION_DEPTH).deserialize(deserializer).map(Self)
    }
}

/// Number of levels that a condition may still have: not every format limits them.
#[derive(Clone, Copy)]
struct Depth(usize);

impl<'de> DeserializeSeed<'de> for Depth {
    type Value = Condition;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Condition, D::Error> {
        match self.0 {
            0 => Err(D::Error::custom("a condition is too deep")),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Depth {
    type Value = Condition;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a condition: a field's name, a number, a bool or a list with an operator")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Condition, E> {
        Ok(Condition::Bool(value))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Condition, E> {
        Ok(Condition::Number(Number::Signed(number.into())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Condition, E> {
        Ok(Condition::Number(Number::Signed(number.into())))
    }

    fn visit_str<E: Error>(self, path: &str) -> Result<Condition, E> {
        Ok(Condition::Field(path.split('.').map(Name::from).collect()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Condition, A::Error> {
        let inner = Self(self.0 - 1);
        let missing = || A::Error::custom("a condition lacks an operand");
        let operator: String = list.next_element()?.ok_or_else(missing)?;
        if let Some(binary) = Binary::ALL.into_iter().find(|binary| binary.symbol() == operator) {
            let a = list.next_element_seed(inner)?.ok_or_else(missing)?;
            let b = list.next_element_seed(inner)?.ok_or_else(missing)?;
            return Ok(Condition::Binary(binary, Box::new([a, b])));
        }
        Ok(match operator.as_str() {
            "field" => {
                let mut path = Vec::new();
                while let Some(name) = list.next_element()? {
                    path.push(name);
                }
                Condition::Field(path)
            }
            "len" | "is_some" | "!" => {
                let of = Box::new(list.next_element_seed(inner)?.ok_or_else(missing)?);
                match operator.as_str() {
                    "len" => Condition::Len(of),
                    "is_some" => Condition::IsSome(of),
                    _ => Condition::Not(of),
                }
            }
            "variant" => Condition::Variant(list.next_element()?.ok_or_else(missing)?),
            "source" => Condition::Source(list.next_element()?.ok_or_else(missing)?),
            "float" | "double" => {
                let text: String = list.next_element()?.ok_or_else(missing)?;
                let number = match operator.as_str() {
                    "float" => text.parse().map(Number::Float),
                    _ => text.parse().map(Number::Double),
                };
                Condition::Number(number.map_err(A::Error::custom)?)
            }
            "signed" | "unsigned" => {
                let Integer(number) = list.next_element()?.ok_or_else(missing)?;
                Condition::Number(match (operator.as_str(), number) {
                    ("signed", Number::Unsigned(number)) => {
                        let signed = i128::try_from(number).map_err(A::Error::custom)?;
                        Number::Signed(signed)
                    }
                    (_, number) => number,
                })
            }
            _ => return Err(A::Error::custom(format!("no condition is called `{operator}`"))),
        })
    }
}
