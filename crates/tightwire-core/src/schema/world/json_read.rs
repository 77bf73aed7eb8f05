//! Reads values from the JSON that [`super::json`] writes, without an intermediate tree.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::json::{JsonStyle, is_nullable};
use super::leaf::{Kind, checked, shown};
use super::text_rules::Budget;
use crate::schema::Dynamic;
use crate::stream::{Field, Name, Number, Op, Shape, Value};

/// State of each part of the reader, with the part to read in `target`.
pub(super) struct Seed<'a, T> {
    pub(super) target: T,
    pub(super) style: JsonStyle,
    pub(super) budget: &'a mut Budget,
}

impl<T> Seed<'_, T> {
    pub(super) fn with<U>(&mut self, target: U) -> Seed<'_, U> {
        Seed { target, style: self.style, budget: self.budget }
    }

    fn spend<E: Error>(&mut self, steps: usize) -> Result<(), E> {
        self.budget.spend(steps).map_err(E::custom)
    }
}

/// Reads any value of a shape.
impl<'de> DeserializeSeed<'de> for Seed<'_, &Shape> {
    type Value = Dynamic;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Dynamic, D::Error> {
        self.budget.value().map_err(D::Error::custom)?;
        match self.target {
            Shape::Option(_) => deserializer.deserialize_option(self),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl Seed<'_, &Shape> {
    fn leaf<E: Error>(
        &self,
        text: &str,
        value: impl FnOnce(Kind) -> Option<Value>,
    ) -> Result<Dynamic, E> {
        let Shape::Op(op) = self.target else {
            return Err(E::custom(format!("{} is needed, not {}", self.expected(), shown(text))));
        };
        let kind = Kind::of(op);
        let value = value(kind).ok_or_else(|| {
            E::custom(format!("{} is needed, not {}", kind.expected(), shown(text)))
        })?;
        checked(op, value).map(Dynamic::Value).map_err(E::custom)
    }

    fn expected(&self) -> String {
        match (self.target, self.style) {
            (Shape::Op(op), _) => Kind::of(op).expected(),
            (Shape::Struct { name, .. }, JsonStyle::Named) => format!("an object `{name}`"),
            (Shape::Struct { name, .. }, JsonStyle::Relative) => format!("the list of `{name}`"),
            (Shape::Enum { name, .. }, JsonStyle::Named) => format!("a variant of `{name}`"),
            (Shape::Enum { name, .. }, JsonStyle::Relative) => format!("an ordinal of `{name}`"),
            (Shape::Option(_), _) => "a value or null".to_string(),
            _ => "a list".to_string(),
        }
    }

    /// Reads a variant without fields, by its name or its ordinal.
    fn variant<E: Error>(
        &mut self,
        text: &str,
        is_it: impl Fn(usize, &str) -> bool,
    ) -> Result<Dynamic, E> {
        let Shape::Enum { name, variants } = self.target else { return self.leaf(text, |_| None) };
        self.spend(variants.len())?;
        let mut all = variants.iter().enumerate();
        match all.find(|(ordinal, variant)| is_it(*ordinal, &variant.name)) {
            Some((_, variant)) if variant.fields.is_empty() => Ok(Dynamic::Enum {
                name: name.clone(),
                variant: variant.name.clone(),
                fields: Vec::new(),
            }),
            Some(_) => Err(E::custom(format!("the fields of `{text}` are missing"))),
            None => Err(E::custom(format!("`{name}` has no variant {}", shown(text)))),
        }
    }

    fn is_variant(&self, style: JsonStyle) -> bool {
        self.style == style && matches!(self.target, Shape::Enum { .. })
    }
}

impl<'de> Visitor<'de> for Seed<'_, &Shape> {
    type Value = Dynamic;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expected())
    }

    fn visit_unit<E: Error>(self) -> Result<Dynamic, E> {
        match self.target {
            Shape::Option(_) => Ok(Dynamic::Option(None)),
            _ => self.leaf("null", |kind| (kind == Kind::Nothing).then_some(Value::Unit)),
        }
    }

    fn visit_none<E: Error>(self) -> Result<Dynamic, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<Dynamic, D::Error> {
        let Shape::Option(inner) = self.target else {
            return Err(D::Error::custom("no option is expected"));
        };
        let value = match is_nullable(inner) {
            true => deserializer.deserialize_seq(self.with(SingleElement(inner)))?,
            false => self.with(&**inner).deserialize(deserializer)?,
        };
        Ok(Dynamic::Option(Some(Box::new(value))))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Dynamic, E> {
        self.leaf(if value { "true" } else { "false" }, |kind| {
            (kind == Kind::Bool).then_some(Value::Bool(value))
        })
    }

    fn visit_u64<E: Error>(mut self, number: u64) -> Result<Dynamic, E> {
        let text = number.to_string();
        if self.is_variant(JsonStyle::Relative) {
            return self.variant(&text, |ordinal, _| ordinal as u64 == number);
        }
        self.leaf(&text, |kind| kind.parse(&text).ok())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Dynamic, E> {
        let text = number.to_string();
        self.leaf(&text, |kind| kind.parse(&text).ok())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Dynamic, E> {
        self.leaf(&number.to_string(), |kind| match kind {
            Kind::Float => Some(Value::Number(Number::Float(single(number)?))),
            Kind::Double => Some(Value::Number(Number::Double(number))),
            _ => None,
        })
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<Dynamic, E> {
        if self.is_variant(JsonStyle::Named) {
            return self.variant(text, |_, name| name == text);
        }
        self.leaf(text, |kind| match kind {
            Kind::Text => Some(Value::Text(text.to_string())),
            Kind::Bytes => kind.parse(text).ok(),
            // Only numbers that JSON cannot hold are strings.
            Kind::Float | Kind::Double if text.ends_with("inf") => kind.parse(text).ok(),
            Kind::Unsigned | Kind::Signed => kind.parse(text).ok(),
            _ => None,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Dynamic, A::Error> {
        match (self.target, self.style) {
            (Shape::Op(op), _) => {
                let Kind::Floats(count) = Kind::of(op) else {
                    return self.leaf("a list", |_| None);
                };
                let mut components = Vec::new();
                while let Some(number) = seq.next_element_seed(FloatSeed)? {
                    components.push(number);
                    if components.len() > count {
                        return self.leaf("more", |_| None);
                    }
                }
                let text = format!("{} numbers", components.len());
                self.leaf(&text, |_| {
                    (components.len() == count).then_some(Value::Vector(components))
                })
            }
            (Shape::List { element, .. } | Shape::Array { element, .. }, _) => {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element_seed(self.with(&**element))? {
                    items.push(item);
                }
                let length = items.len() as u64;
                match *self.target {
                    Shape::List { max_len, .. } if length > max_len => Err(A::Error::custom(
                        format!("{length} are more than the {max_len} of the list"),
                    )),
                    Shape::Array { len, .. } if length != len => {
                        Err(A::Error::custom(format!("{len} elements are needed, not {length}")))
                    }
                    _ => Ok(Dynamic::List(items)),
                }
            }
            (Shape::Struct { name, fields }, JsonStyle::Relative) => {
                let fields = values_in_order(&mut self.with(&fields[..]), &mut seq)?;
                Ok(Dynamic::Struct { name: name.clone(), fields })
            }
            (Shape::Enum { name, variants }, JsonStyle::Relative) => {
                let ordinal: usize = seq
                    .next_element()?
                    .ok_or_else(|| A::Error::custom(format!("an ordinal of `{name}` is needed")))?;
                match variants.get(ordinal) {
                    Some(variant) if !variant.fields.is_empty() => {
                        let mut seed = self.with(&variant.fields[..]);
                        let fields = values_in_order(&mut seed, &mut seq)?;
                        let variant = variant.name.clone();
                        Ok(Dynamic::Enum { name: name.clone(), variant, fields })
                    }
                    Some(_) => Err(A::Error::custom("a variant without fields is its ordinal")),
                    None => Err(A::Error::custom(format!("`{name}` has no variant {ordinal}"))),
                }
            }
            _ => self.leaf("a list", |_| None),
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Dynamic, A::Error> {
        match (self.target, self.style) {
            (Shape::Struct { name, fields }, JsonStyle::Named) => {
                let fields = self.with(&fields[..]).visit_map(map)?;
                Ok(Dynamic::Struct { name: name.clone(), fields })
            }
            (Shape::Enum { name, variants }, JsonStyle::Named) => {
                let key = map.next_key::<String>()?.unwrap_or_default();
                self.spend(variants.len())?;
                let Some(variant) = variants.iter().find(|variant| *variant.name == *key) else {
                    let reason = format!("`{name}` has no variant {}", shown(&key));
                    return Err(A::Error::custom(reason));
                };
                if variant.fields.is_empty() {
                    return Err(A::Error::custom("a variant without fields is its name"));
                }
                let fields = map.next_value_seed(self.with(&variant.fields[..]))?;
                if let Some(key) = map.next_key::<String>()? {
                    return Err(A::Error::custom(format!("{} is not expected", shown(&key))));
                }
                Ok(Dynamic::Enum { name: name.clone(), variant: variant.name.clone(), fields })
            }
            _ => self.leaf("an object", |_| None),
        }
    }
}

/// Reads the fields of a struct or a variant in order, and refuses further values.
fn values_in_order<'de, A: SeqAccess<'de>>(
    seed: &mut Seed<'_, &[Field]>,
    seq: &mut A,
) -> Result<Vec<(Name, Dynamic)>, A::Error> {
    let style = seed.style;
    let values = seed.budget.in_order(seed.target, A::Error::custom, |budget, field| {
        let value = seq.next_element_seed(Seed { target: &field.shape, style, budget })?;
        value.ok_or_else(|| A::Error::custom(format!("the field `{}` is missing", field.name)))
    })?;
    no_more(seq)?;
    Ok(values)
}

/// Reads the fields of a struct or a variant by their names.
impl<'de> DeserializeSeed<'de> for Seed<'_, &[Field]> {
    type Value = Vec<(Name, Dynamic)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, &[Field]> {
    type Value = Vec<(Name, Dynamic)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with fields")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let fields = self.target;
        let (mut came, mut before) = (BTreeMap::new(), None);
        while let Some(key) = map.next_key::<String>()? {
            let place = self.budget.find(fields, &key, before).map_err(A::Error::custom)?;
            before = Some(place);
            let Some(field) = fields.get(place) else { continue };
            let value = map.next_value_seed(self.with(&field.shape))?;
            if came.insert(place, value).is_some() {
                return Err(A::Error::custom(format!("`{key}` is there twice")));
            }
        }
        self.budget.assemble(fields, came).map_err(A::Error::custom)
    }
}

/// A list of one value: the notation for an option of a value that may itself be null.
struct SingleElement<'a>(&'a Shape);

impl<'de> Visitor<'de> for Seed<'_, SingleElement<'_>> {
    type Value = Dynamic;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, or a list of one value")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Dynamic, A::Error> {
        let inner = self.target.0;
        let value = seq.next_element_seed(self.with(inner))?;
        no_more(&mut seq)?;
        value.ok_or_else(|| A::Error::custom("a list of one value is needed"))
    }
}

fn no_more<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<(), A::Error> {
    match seq.next_element::<serde::de::IgnoredAny>()? {
        Some(_) => Err(A::Error::custom("no more values are expected")),
        None => Ok(()),
    }
}

/// A component of a vector.
struct FloatSeed;

impl<'de> DeserializeSeed<'de> for FloatSeed {
    type Value = f32;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<f32, D::Error> {
        let float = Shape::Op(Op::Float);
        let mut budget = Budget::of(&[]);
        let seed = Seed { target: &float, style: JsonStyle::Named, budget: &mut budget };
        match seed.deserialize(deserializer)? {
            Dynamic::Value(Value::Number(Number::Float(number))) => Ok(number),
            _ => Err(D::Error::custom("a number is needed")),
        }
    }
}

/// Rounds a number of the text to the `f32` that has it as its shortest form; `None` if it is too
/// large.
fn single(number: f64) -> Option<f32> {
    Some(number as f32).filter(|single| single.is_finite())
}
