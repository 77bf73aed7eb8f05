//! Trees of values as JSON.

use alloc::format;
use alloc::string::String;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::dynamic::Dynamic;
use super::json_condition::Integer;
use crate::stream::{Name, Number, Value};

/// Plain JSON: structs are objects, a variant without fields is its name and a variant with fields
/// an object with its name as the key, an absent value is null, bytes are hexadecimal, and numbers
/// that are beyond 64 bits or not finite are strings.
///
/// ```
/// let tree = tightwire::schema::Schema::of::<[Option<i16>; 2]>().decode(&[0xfd, 0xff, 0])?;
/// assert_eq!(serde_json::to_string(&tree)?, "[-2,null]");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
impl Serialize for Dynamic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => leaf(value, serializer),
            Self::Struct { fields, .. } => FieldMap(fields).serialize(serializer),
            Self::Enum { variant, fields, .. } if fields.is_empty() => {
                serializer.serialize_str(variant)
            }
            Self::Enum { variant, fields, .. } => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(variant, &FieldMap(fields))?;
                map.end()
            }
            Self::Option(value) => value.serialize(serializer),
            Self::List(items) => items.serialize(serializer),
        }
    }
}

struct FieldMap<'a>(&'a [(Name, Dynamic)]);

impl Serialize for FieldMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

fn leaf<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Value::Unit => serializer.serialize_unit(),
        Value::Bool(value) => serializer.serialize_bool(*value),
        Value::Number(number) => Integer(*number).serialize(serializer),
        Value::Vector(components) => {
            serializer.collect_seq(components.iter().map(|float| Integer(Number::Float(*float))))
        }
        Value::Text(text) | Value::Name(text) => serializer.serialize_str(text),
        Value::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            serializer.serialize_str(&hex)
        }
        Value::Indices(indices) => indices.serialize(serializer),
    }
}
