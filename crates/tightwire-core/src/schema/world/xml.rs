//! XML with the names of classes and properties.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::leaf::{escape, hex, number};
use super::text_rules::text_fields;
use super::tree::time_value;
use super::{World, WorldError, WorldSchema};
use crate::schema::Dynamic;
use crate::stream::{Field, Name, Number, Shape, Value};

/// Writes `world` with the attribute `time`, which contains an `object` with `id` and `class` for
/// each object, which contains a `property` with `name` for each property. A plain value is the
/// attribute `value`; an enum has `variant`; the fields of a struct or a variant are a `property`
/// each, the elements of a list an `item` each, and the value of an option is a `some`.
pub(super) fn write(world: &World, schema: &WorldSchema) -> Result<Vec<u8>, WorldError> {
    let time = leaf_text(&time_value(world.time, schema.time())?);
    let mut writer = XmlWriter { out: String::new() };
    writer.out.push_str("<world");
    writer.attribute("time", &time);
    writer.out.push('>');
    for object in world.objects() {
        writer.out.push_str("<object");
        writer.attribute("id", &object.id().to_string());
        let class = schema.classes().iter().find(|class| class.name == object.class);
        let properties = class.map_or(&[][..], |class| &class.properties);
        writer.attribute("class", &escaped(&object.class));
        writer.fields("object", properties, &object.properties);
    }
    writer.out.push_str("</world>");
    Ok(writer.out.into_bytes())
}

struct XmlWriter {
    out: String,
}

impl XmlWriter {
    fn attribute(&mut self, name: &str, value: &str) {
        self.out.push_str(&format!(" {name}=\""));
        for character in value.chars() {
            match character {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                _ => self.out.push(character),
            }
        }
        self.out.push('"');
    }

    /// Writes the contents of an element, from behind its attributes to its end.
    fn inside<T>(
        &mut self,
        tag: &str,
        children: impl Iterator<Item = T>,
        mut child: impl FnMut(&mut Self, T),
    ) {
        let mut is_empty = true;
        for value in children {
            if is_empty {
                self.out.push('>');
            }
            is_empty = false;
            child(self, value);
        }
        match is_empty {
            true => self.out.push_str("/>"),
            false => self.out.push_str(&format!("</{tag}>")),
        }
    }

    fn fields(&mut self, tag: &str, fields: &[Field], values: &[(Name, Dynamic)]) {
        self.inside(tag, text_fields(fields, values), |writer, (field, value)| {
            writer.out.push_str("<property");
            writer.attribute("name", &escaped(&field.name));
            writer.value("property", &field.shape, value);
        });
    }

    fn list<'a>(
        &mut self,
        (tag, child): (&str, &str),
        element: &Shape,
        items: impl Iterator<Item = &'a Dynamic>,
    ) {
        self.inside(tag, items, |writer, item| {
            writer.out.push('<');
            writer.out.push_str(child);
            writer.value(child, element, item);
        });
    }

    /// Writes the rest of an element that holds a value.
    fn value(&mut self, tag: &str, shape: &Shape, value: &Dynamic) {
        match (shape, value) {
            (Shape::Struct { fields, .. }, Dynamic::Struct { fields: values, .. }) => {
                self.fields(tag, fields, values);
            }
            (Shape::Enum { variants, .. }, Dynamic::Enum { variant, fields: values, .. }) => {
                let known = variants.iter().find(|known| known.name == *variant);
                self.attribute("variant", &escaped(variant));
                self.fields(tag, known.map_or(&[][..], |known| &known.fields), values);
            }
            (Shape::Option(inner), Dynamic::Option(value)) => {
                self.list((tag, "some"), inner, value.as_deref().into_iter());
            }
            (Shape::List { element, .. } | Shape::Array { element, .. }, Dynamic::List(items)) => {
                self.list((tag, "item"), element, items.iter());
            }
            (_, Dynamic::Value(Value::Unit)) => self.out.push_str("/>"),
            (_, Dynamic::Value(value)) => {
                self.attribute("value", &leaf_text(value));
                self.out.push_str("/>");
            }
            // The world is quantised, so that no other combination exists.
            _ => self.out.push_str("/>"),
        }
    }
}

/// Character to escape: only the backslash.
pub(super) const SPECIAL: char = '\\';

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    escape(text, SPECIAL, &mut escaped);
    escaped
}

fn leaf_text(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => number(*value),
        Value::Vector(components) => {
            let texts: Vec<_> =
                components.iter().map(|float| number(Number::Float(*float))).collect();
            texts.join(",")
        }
        Value::Text(text) => escaped(text),
        Value::Bytes(bytes) => hex(bytes),
        _ => String::new(),
    }
}
