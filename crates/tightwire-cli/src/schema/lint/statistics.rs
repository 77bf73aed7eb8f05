//! Values of the fields in a capture's packets.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use tightwire::inspect::Capture;
use tightwire::packet::Identity;
use tightwire::schema::Dynamic;
use tightwire::stream::{Field, Number, Shape, Value};

use super::flags::{SOME, runs};
use crate::terminal::{cut, safe};

/// Number of values from which conclusions are drawn.
pub(super) const ENOUGH: u64 = 8;

/// Statistics of every field in a capture, by path: one entry for each field of the schema, however
/// long the capture is.
#[derive(Default)]
pub(crate) struct FieldStatistics {
    values: BTreeMap<String, ValueStatistics>,
    flags: BTreeMap<String, Flags>,
    pub(super) packets: u64,
    /// Number of packets that do not match the schema.
    pub(super) refused: u64,
}

/// Statistics of one field's values.
pub(super) struct ValueStatistics {
    pub(super) count: u64,
    /// First value, as text.
    pub(super) first: String,
    first_hash: u64,
    pub(super) varies: bool,
    /// Length of the first value in bytes, if it is text or bytes.
    pub(super) length: u64,
    /// Smallest and largest value; `None` unless all values are numbers.
    pub(super) range: Option<(f64, f64)>,
}

/// Statistics of adjacent bools.
#[derive(Default)]
pub(super) struct Flags {
    pub(super) count: u64,
    pub(super) all_false: u64,
}

impl FieldStatistics {
    /// Reads a whole capture by its own schema.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let refused = |reason: String| format!("{}: {reason}", path.display());
        let file = File::open(path).map_err(|error| refused(error.to_string()))?;
        let mut capture = Capture::new(file).map_err(|error| refused(error.to_string()))?;
        let Some(identity) = capture.identity().cloned() else {
            let reason = "this capture has no schema in it by which its packets could be read";
            return Err(refused(reason.to_owned()));
        };
        let mut seen = Self::default();
        while let Some(record) = capture.next_record() {
            let record = record.map_err(|error| refused(error.to_string()))?;
            seen.add(&identity, record.datagram);
        }
        Ok(seen)
    }

    fn add(&mut self, identity: &Identity, datagram: &[u8]) {
        let packet = identity.packet_in(datagram).ok();
        let Some(value) = packet.and_then(|packet| identity.decode(packet).ok()) else {
            self.refused += 1;
            return;
        };
        self.packets += 1;
        let root = identity.schema().root();
        self.walk(&mut super::root_name(root), root, &value);
    }

    pub(super) fn values(&self, path: &str) -> Option<&ValueStatistics> {
        self.values.get(path)
    }

    pub(super) fn flags(&self, path: &str) -> Option<&Flags> {
        self.flags.get(path)
    }

    fn walk(&mut self, path: &mut String, shape: &Shape, value: &Dynamic) {
        match (shape, value) {
            (Shape::Op(_), Dynamic::Value(value)) => self.value(path, value),
            (Shape::Struct { fields, .. }, Dynamic::Struct { fields: values, .. }) => {
                self.fields(path, fields, values);
            }
            (Shape::Enum { variants, .. }, Dynamic::Enum { variant, fields, .. }) => {
                self.value(path, &Value::Name(variant.to_string()));
                let found = variants.iter().find(|described| described.name == *variant);
                if let Some(described) = found {
                    step(path, &format!(".{}", safe(variant)), |path| {
                        self.fields(path, &described.fields, fields);
                    });
                }
            }
            (Shape::Option(inner), Dynamic::Option(Some(value))) => self.walk(path, inner, value),
            (Shape::Array { element, .. } | Shape::List { element, .. }, Dynamic::List(values)) => {
                step(path, "[]", |path| {
                    values.iter().for_each(|value| self.walk(path, element, value));
                });
            }
            _ => {}
        }
    }

    fn fields(
        &mut self,
        path: &mut String,
        fields: &[Field],
        values: &[(tightwire::stream::Name, Dynamic)],
    ) {
        let is_true = |field: &Field| {
            let value = values.iter().find(|(name, _)| *name == field.name);
            matches!(value, Some((_, Dynamic::Value(Value::Bool(true)))))
        };
        for run in runs(fields).filter(|run| run.len() >= SOME) {
            let Some(first) = run.first() else { continue };
            step(path, &format!(".{}", safe(&first.name)), |path| {
                let flags = entry(&mut self.flags, path);
                flags.count += 1;
                flags.all_false += u64::from(!run.iter().any(is_true));
            });
        }
        // Values are in the order of the schema, with some fields absent.
        let mut values = values.iter().peekable();
        for field in fields {
            if let Some((_, value)) = values.next_if(|(name, _)| *name == field.name) {
                let name = format!(".{}", safe(&field.name));
                step(path, &name, |path| self.walk(path, &field.shape, value));
            }
        }
    }

    fn value(&mut self, path: &str, value: &Value) {
        let mut hasher = DefaultHasher::new();
        // The debug text also hashes values that are not equal to themselves, as NaN.
        format!("{value:?}").hash(&mut hasher);
        let hash = hasher.finish();
        let range = range_of(value);
        match self.values.get_mut(path) {
            Some(values) => {
                values.count += 1;
                values.varies |= values.first_hash != hash;
                values.range = values
                    .range
                    .zip(range)
                    .map(|((min, max), (low, high))| (min.min(low), max.max(high)));
            }
            None => {
                let first = cut(&safe(&value.to_string()), 40);
                let length = match value {
                    Value::Text(text) => text.len() as u64,
                    Value::Bytes(bytes) => bytes.len() as u64,
                    _ => 0,
                };
                let values = ValueStatistics {
                    count: 1,
                    first,
                    first_hash: hash,
                    varies: false,
                    length,
                    range,
                };
                self.values.insert(path.to_owned(), values);
            }
        }
    }
}

/// Returns the smallest and the largest number in a value; `None` if it has none.
fn range_of(value: &Value) -> Option<(f64, f64)> {
    let number = |number: f64| number.is_finite().then_some((number, number));
    match value {
        Value::Number(Number::Unsigned(unsigned)) => number(*unsigned as f64),
        Value::Number(Number::Signed(signed)) => number(*signed as f64),
        Value::Number(Number::Float(float)) => number((*float).into()),
        Value::Number(Number::Double(double)) => number(*double),
        Value::Vector(components) => {
            let ranges = components.iter().map(|&component| number(component.into()));
            ranges.reduce(|a, b| a.zip(b).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)))).flatten()
        }
        _ => None,
    }
}

fn entry<'m>(flags: &'m mut BTreeMap<String, Flags>, path: &str) -> &'m mut Flags {
    flags.entry(path.to_owned()).or_default()
}

fn step(path: &mut String, step: &str, inside: impl FnOnce(&mut String)) {
    let outside = path.len();
    path.push_str(step);
    inside(path);
    path.truncate(outside);
}
