//! JSON: with names, or relative to the schema.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use super::leaf::{hex, number};
use super::text_rules::text_fields;
use super::tree::{class_tree, time_value};
use super::{World, WorldError, WorldSchema};
use crate::schema::Dynamic;
use crate::stream::{Field, Name, Number, Op, Shape, Value};

/// Notation of classes, fields and variants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JsonStyle {
    /// A struct is an object; a variant is its name, or an object with its name as the key of its
    /// fields.
    Named,
    /// A struct is a list; a variant is its ordinal, or a list of its ordinal and its fields.
    Relative,
}

/// Writes `time`, and `objects` by their ids, each as a variant of its class.
pub(super) fn write(
    world: &World,
    schema: &WorldSchema,
    style: JsonStyle,
) -> Result<Vec<u8>, WorldError> {
    let mut writer = JsonWriter { out: String::new(), style };
    writer.out.push_str("{\"time\":");
    writer.leaf(&time_value(world.time, schema.time())?);
    writer.out.push_str(",\"objects\":{");
    let class = schema.object();
    for (index, object) in world.objects().iter().enumerate() {
        let _ = write!(writer.out, "{}\"{}\":", comma(index), object.id());
        writer.value(&class, &class_tree(object));
    }
    writer.out.push_str("}}");
    Ok(writer.out.into_bytes())
}

/// Whether the value may be `null`: an option of it then needs a notation of its own.
pub(super) fn is_nullable(shape: &Shape) -> bool {
    matches!(shape, Shape::Option(_) | Shape::Op(Op::Align | Op::Check { .. }))
}

struct JsonWriter {
    out: String,
    style: JsonStyle,
}

fn comma(index: usize) -> &'static str {
    if index == 0 { "" } else { "," }
}

impl JsonWriter {
    fn string(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            match character {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                _ if u32::from(character) < 0x20 => {
                    let _ = write!(self.out, "\\u{:04x}", u32::from(character));
                }
                _ => self.out.push(character),
            }
        }
        self.out.push('"');
    }

    fn list<T>(&mut self, items: impl Iterator<Item = T>, mut item: impl FnMut(&mut Self, T)) {
        self.out.push('[');
        for (index, value) in items.enumerate() {
            self.out.push_str(comma(index));
            item(self, value);
        }
        self.out.push(']');
    }

    fn object(&mut self, fields: &[Field], values: &[(Name, Dynamic)]) {
        self.out.push('{');
        for (index, (field, value)) in text_fields(fields, values).enumerate() {
            self.out.push_str(comma(index));
            self.string(&field.name);
            self.out.push(':');
            self.value(&field.shape, value);
        }
        self.out.push('}');
    }

    fn value(&mut self, shape: &Shape, value: &Dynamic) {
        match (shape, value) {
            (Shape::Struct { fields, .. }, Dynamic::Struct { fields: values, .. }) => {
                match self.style {
                    JsonStyle::Named => self.object(fields, values),
                    JsonStyle::Relative => {
                        self.list(text_fields(fields, values), |writer, (field, value)| {
                            writer.value(&field.shape, value);
                        });
                    }
                }
            }
            (Shape::Enum { variants, .. }, Dynamic::Enum { variant, fields: values, .. }) => {
                let ordinal = variants.iter().position(|known| known.name == *variant);
                let Some(ordinal) = ordinal else { return };
                let fields = &variants[ordinal].fields;
                match (self.style, fields.is_empty()) {
                    (JsonStyle::Named, true) => self.string(variant),
                    (JsonStyle::Named, false) => {
                        self.out.push('{');
                        self.string(variant);
                        self.out.push(':');
                        self.object(fields, values);
                        self.out.push('}');
                    }
                    (JsonStyle::Relative, true) => self.out.push_str(&ordinal.to_string()),
                    (JsonStyle::Relative, false) => {
                        self.out.push_str(&format!("[{ordinal}"));
                        for (field, value) in text_fields(fields, values) {
                            self.out.push(',');
                            self.value(&field.shape, value);
                        }
                        self.out.push(']');
                    }
                }
            }
            (Shape::Option(_), Dynamic::Option(None)) => self.out.push_str("null"),
            (Shape::Option(inner), Dynamic::Option(Some(value))) => match is_nullable(inner) {
                true => self.list([value].into_iter(), |writer, value| writer.value(inner, value)),
                false => self.value(inner, value),
            },
            (Shape::List { element, .. } | Shape::Array { element, .. }, Dynamic::List(items)) => {
                self.list(items.iter(), |writer, item| writer.value(element, item));
            }
            (_, Dynamic::Value(value)) => self.leaf(value),
            // The world is quantised, so that no other combination exists.
            _ => {}
        }
    }

    fn leaf(&mut self, value: &Value) {
        match value {
            Value::Bool(value) => match self.style {
                JsonStyle::Named => self.out.push_str(&value.to_string()),
                JsonStyle::Relative => self.out.push(if *value { '1' } else { '0' }),
            },
            Value::Number(value) => self.number(*value),
            Value::Vector(components) => self.list(components.iter(), |writer, float| {
                writer.number(Number::Float(*float));
            }),
            Value::Text(text) => self.string(text),
            Value::Bytes(bytes) => self.string(&hex(bytes)),
            _ => self.out.push_str("null"),
        }
    }

    /// Writes a number, as a string where other readers would change the number.
    fn number(&mut self, value: Number) {
        let fits = match value {
            Number::Unsigned(number) => u64::try_from(number).is_ok(),
            Number::Signed(number) => i64::try_from(number).is_ok(),
            Number::Float(number) => number.is_finite(),
            Number::Double(number) => number.is_finite(),
        };
        let text = number(value);
        match fits {
            true => self.out.push_str(&text),
            false => self.string(&text),
        }
    }
}
