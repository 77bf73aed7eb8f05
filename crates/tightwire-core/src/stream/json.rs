//! Traces as JSON, for tools.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::ser::{Serialize, SerializeSeq, Serializer};

use super::tree::printable;
use super::{Node, Number, Trace, TraceScope, Value};

/// Levels of the tree that are written. Readers may be recursive: serde_json stops at 128 levels,
/// and a node and its list of children are two.
const MAX_DEPTH: usize = 48;

/// The tree as nodes with a `path`, the half-open range `bits` and `children`; an operation also
/// has its `op`, its `raw` bits as a binary number and its `value`. The refused node has `refused`,
/// and `failure` gives the reason.
///
/// In text, characters that a terminal could take for a command are escaped as in Rust, and so are
/// backslashes. Bytes are hexadecimal; numbers beyond 64 bits and floats that are not finite are
/// strings. Nodes nested deeper than 48 levels are counted in `deeper`.
///
/// ```
/// let json = serde_json::to_value(tightwire::explain::<bool>(&[1]))?;
/// assert_eq!(json["root"]["bits"], serde_json::json!([0, 1]));
/// assert_eq!(json["root"]["children"][0]["value"], true);
/// assert!(json["failure"].is_null());
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct TraceForm<'a> {
            bytes: String,
            failure: Option<Failure>,
            root: Branch<'a>,
        }
        #[derive(serde::Serialize)]
        struct Failure {
            kind: String,
            bit: u64,
            path: Option<String>,
            message: String,
        }
        let failure = self.failure().map(|(kind, bit)| Failure {
            kind: format!("{kind:?}"),
            bit,
            path: self.refused().map(Node::path),
            message: self.refusal().map_or(String::new(), |refusal| refusal.to_string()),
        });
        let root = Branch { node: self.root(), depth: 0 };
        TraceForm { bytes: hex(self.bytes()), failure, root }.serialize(serializer)
    }
}

#[derive(Clone, Copy)]
struct Branch<'a> {
    node: Node<'a>,
    depth: usize,
}

impl Serialize for Branch<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Fields<'a> {
            name: &'a str,
            path: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            group: Option<&'a str>,
            #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
            type_name: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            op: Option<String>,
            bits: [u64; 2],
            #[serde(skip_serializing_if = "Option::is_none")]
            raw: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            value: Option<ValueForm<'a>>,
            #[serde(skip_serializing_if = "is_false")]
            refused: bool,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            children: Vec<Branch<'a>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            deeper: Option<usize>,
        }
        let Self { node, depth } = *self;
        let (group, type_name) = match node.scope() {
            Some(TraceScope::Object { type_name }) => (Some("object"), Some(type_name)),
            Some(TraceScope::Group(name)) => (Some(name), None),
            Some(TraceScope::Index(_)) => (Some("element"), None),
            None => (None, None),
        };
        let width = node.bit_count() as usize;
        let raw = node.op().and(node.raw()).filter(|_| width > 0);
        let depth = depth + 1;
        let is_deep = depth == MAX_DEPTH && node.children().next().is_some();
        Fields {
            name: node.name(),
            path: node.path(),
            group,
            type_name,
            op: node.op().map(ToString::to_string),
            bits: [node.bits().start, node.bits().end],
            raw: raw.map(|bits| format!("{bits:0width$b}")),
            value: node.value().map(ValueForm),
            refused: node.is_refused(),
            children: match is_deep {
                true => Vec::new(),
                false => node.children().map(|node| Branch { node, depth }).collect(),
            },
            deeper: is_deep.then(|| node.descendants().count()),
        }
        .serialize(serializer)
    }
}

struct ValueForm<'a>(&'a Value);

impl Serialize for ValueForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Unit => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(number) => Exact(*number).serialize(serializer),
            Value::Vector(components) => {
                let mut list = serializer.serialize_seq(Some(components.len()))?;
                for component in components {
                    list.serialize_element(&Exact(Number::Float(*component)))?;
                }
                list.end()
            }
            Value::Text(text) | Value::Name(text) => serializer.serialize_str(&printable(text)),
            Value::Bytes(bytes) => serializer.serialize_str(&hex(bytes)),
            Value::Indices(indices) => indices.serialize(serializer),
        }
    }
}

/// A number, as a string where a JSON number may not hold it.
struct Exact(Number);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Number::Unsigned(number) if u64::try_from(number).is_ok() => {
                serializer.serialize_u64(number as u64)
            }
            Number::Signed(number) if i64::try_from(number).is_ok() => {
                serializer.serialize_i64(number as i64)
            }
            Number::Float(number) if number.is_finite() => serializer.serialize_f32(number),
            Number::Double(number) if number.is_finite() => serializer.serialize_f64(number),
            number => serializer.serialize_str(&number.to_string()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
