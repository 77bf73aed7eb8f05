//! The schema as a table of Lua.
//!
//! Each shape is a statement of its own and names others by their place: a table within tables would
//! need more registers than Lua has.

use std::fmt::Write as _;

use tightwire::{Field, FloatRange, Number, Op, Shape};

use super::condition;
use super::filter::{ENUM, Filters, step};
use super::literal::{is_double, number, text};
use super::{check_value, shown};

/// The shapes of a schema, written down.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    /// The statements.
    pub(super) lua: String,
    /// The place of the whole packet.
    pub(super) root: usize,
    /// What cannot be read, and why.
    pub(super) undescribed: Vec<String>,
    count: usize,
    filters: Filters,
    /// The names that lead to what is written.
    path: Vec<String>,
}

impl Shapes {
    pub(super) fn of(root: &Shape) -> Self {
        let mut shapes = Self { lua: String::from("local shapes = {}\n"), ..Self::default() };
        let name = match root {
            Shape::Struct { name, .. } | Shape::Enum { name, .. } => name,
            _ => "packet",
        };
        shapes.path.push(shown(name));
        shapes.root = shapes.shape(root, &step(name));
        shapes
    }

    /// Writes a shape whose fields have this filter, after all that it names.
    fn shape(&mut self, shape: &Shape, filter: &str) -> usize {
        match shape {
            Shape::Op(op) => self.operation(op, filter),
            Shape::Struct { name, fields } => {
                let own = self.filters.take(filter, "none");
                let fields = self.fields(fields, filter);
                self.push(&format!(
                    "kind = \"struct\", name = {}, type = \"none\", filter = {}, fields = {fields}",
                    text(&shown(name)),
                    text(&own),
                ))
            }
            Shape::Enum { variants, .. } => {
                let own = self.filters.take(filter, ENUM);
                let mut list = String::from("{ ");
                for variant in variants {
                    self.path.push(shown(&variant.name));
                    let inside = format!("{filter}.{}", step(&variant.name));
                    let fields = self.fields(&variant.fields, &inside);
                    self.path.pop();
                    let (name, shown) = (text(&variant.name), text(&shown(&variant.name)));
                    let _ =
                        write!(list, "{{ name = {name}, shown = {shown}, fields = {fields} }}, ");
                }
                let ordinal = Op::Enumerate { count: variants.len() };
                let parameters = parameters(&ordinal);
                self.push(&format!(
                    "kind = \"enum\", text = {}, type = \"uint32\", filter = {}, {parameters}, \
                     variants = {list}}}",
                    text(&ordinal.to_string()),
                    text(&own),
                ))
            }
            Shape::Option(inner) => {
                let is_some = self.operation(&Op::Bool, &format!("{filter}.is_some"));
                let element = self.shape(inner, filter);
                self.push(&format!("kind = \"option\", is_some = {is_some}, element = {element}"))
            }
            Shape::List { max_len, element } => {
                let (min, max) = (Number::Unsigned(0), Number::Unsigned((*max_len).into()));
                let length = self.operation(&Op::Int { min, max }, &format!("{filter}.len"));
                let element = self.element(element, filter);
                self.push(&format!("kind = \"list\", length = {length}, element = {element}"))
            }
            Shape::Array { len, element } => {
                let element = self.element(element, filter);
                self.push(&format!("kind = \"array\", length = {len}, element = {element}"))
            }
            Shape::Opaque { name, .. } => {
                self.cannot_read(&format!("`{name}` is serialized by hand"));
                self.push("kind = \"opaque\", undescribed = true")
            }
            _ => self.push("kind = \"opaque\", undescribed = true"),
        }
    }

    fn element(&mut self, element: &Shape, filter: &str) -> usize {
        self.path.push(String::from("[]"));
        let element = self.shape(element, filter);
        self.path.pop();
        element
    }

    /// The fields of a struct or of a variant.
    fn fields(&mut self, fields: &[Field], filter: &str) -> String {
        let mut list = String::from("{ ");
        for field in fields {
            let name = shown(&field.name);
            self.path.push(name.clone());
            let shape = self.shape(&field.shape, &format!("{filter}.{}", step(&field.name)));
            let _ = write!(list, "{{ name = {}, shape = {shape}", text(&field.name));
            if name != *field.name {
                let _ = write!(list, ", shown = {}", text(&name));
            }
            if let Some(when) = &field.when {
                if !condition::is_described(when) {
                    self.cannot_read(&format!("its condition `{when}` is not data"));
                }
                let _ = write!(list, ", when = {}", condition::table(when));
            }
            self.path.pop();
            list += " }, ";
        }
        list + "}"
    }

    fn operation(&mut self, op: &Op, filter: &str) -> usize {
        if matches!(op, Op::Index { .. } | Op::IntRelative | Op::Selection { .. }) {
            self.cannot_read(&format!("`{op}` depends on what only the program knows"));
            let description = text(&op.to_string());
            return self.push(&format!(
                "kind = \"{}\", text = {description}, undescribed = true",
                op.name()
            ));
        }
        let field_type = field_type(op);
        let own = self.filters.take(filter, field_type);
        let kind = if matches!(op, Op::Pod { .. }) { "bytes" } else { op.name() };
        let description = text(&op.to_string());
        let mut entry = format!(
            "kind = \"{kind}\", text = {description}, type = \"{field_type}\", filter = {}",
            text(&own),
        );
        let parameters = parameters(op);
        if !parameters.is_empty() {
            entry = format!("{entry}, {parameters}");
        }
        if let Some(dimensions) = dimensions(op) {
            let parts = (0..dimensions).map(|place| {
                let name = match (dimensions, place) {
                    (..=4, 0..4) => ["x", "y", "z", "w"][place],
                    _ => "component",
                };
                text(&self.filters.take(&format!("{own}.{name}"), "float"))
            });
            entry += &format!(", parts = {{ {} }}", parts.collect::<Vec<_>>().join(", "));
        }
        self.push(&entry)
    }

    fn push(&mut self, entry: &str) -> usize {
        self.count += 1;
        let _ = writeln!(self.lua, "shapes[{}] = {{ {entry} }}", self.count);
        self.count
    }

    fn cannot_read(&mut self, reason: &str) {
        let path = self.path.join(".").replace(".[", "[");
        self.undescribed.push(format!(
            "{path}: {reason}: a packet that has it is shown as bytes from there on"
        ));
    }
}

/// The type of Wireshark's field.
fn field_type(op: &Op) -> &'static str {
    match *op {
        Op::Bool => "bool",
        Op::Bits { width: 0..=32 } | Op::Enumerate { .. } => "uint32",
        Op::Bits { .. } => "uint64",
        Op::Int { .. } | Op::Fixed { .. } => {
            let (min, max) = bounds(op);
            match (min, max) {
                (Number::Signed(min), Number::Signed(max)) if min < 0 => {
                    match (i32::try_from(min), i32::try_from(max)) {
                        (Ok(_), Ok(_)) => "int32",
                        _ if i64::try_from(min).is_ok() && i64::try_from(max).is_ok() => "int64",
                        _ => "string",
                    }
                }
                (_, max) => match magnitude(max) {
                    0..=0xffff_ffff => "uint32",
                    max if u64::try_from(max).is_ok() => "uint64",
                    _ => "string",
                },
            }
        }
        Op::Varint { bits: ..=32, signed } => {
            if signed {
                "int32"
            } else {
                "uint32"
            }
        }
        Op::Varint { bits: 64, signed } => {
            if signed {
                "int64"
            } else {
                "uint64"
            }
        }
        Op::Varint { .. } | Op::String { .. } | Op::WideString { .. } => "string",
        Op::Float | Op::CompressedFloat(_) => "float",
        Op::Double => "double",
        Op::Bytes { .. } | Op::Pod { .. } | Op::Blob { .. } => "bytes",
        _ => "none",
    }
}

/// How many components a vector has.
fn dimensions(op: &Op) -> Option<usize> {
    match *op {
        Op::Vector { dimensions } | Op::CompressedVector { dimensions, .. } => Some(dimensions),
        Op::Quaternion | Op::SmallestThree { .. } => Some(4),
        Op::UnitVector { .. } => Some(3),
        _ => None,
    }
}

/// What the runtime needs to know to read the operation.
fn parameters(op: &Op) -> String {
    match op {
        Op::Bits { width } => format!("width = {width}"),
        Op::Int { min, max } => {
            format!("{}, range = \"{min}..={max}\"", integer(*min, *max))
        }
        Op::Fixed { fraction_bits, .. } => {
            let (min, max) = bounds(op);
            format!("{}, fraction_bits = {fraction_bits}", integer(min, max))
        }
        Op::Varint { bits, signed } => format!("bits = {bits}, signed = {signed}"),
        Op::CompressedFloat(range) => quantised(*range),
        Op::CompressedVector { dimensions, range } => {
            format!("dimensions = {dimensions}, {}", quantised(*range))
        }
        Op::Enumerate { count } => {
            format!("width = {}, count = {count}", width((*count).saturating_sub(1) as u128))
        }
        Op::Vector { dimensions } => format!("dimensions = {dimensions}"),
        Op::Quaternion => String::from("dimensions = 4"),
        Op::SmallestThree { bits } | Op::UnitVector { bits } => format!("bits = {bits}"),
        Op::Bytes { len } | Op::Pod { size: len } => format!("length = {len}"),
        Op::Blob { max_len } | Op::String { max_len } | Op::WideString { max_len } => {
            format!("width = {}, max_len = {max_len}", width(*max_len as u128))
        }
        // A name that no check can have is none that a valid schema has.
        Op::Check { name } => format!("value = {}", check_value(name).unwrap_or_default()),
        _ => String::new(),
    }
}

/// An integer: its bounds, its bits when it is packed, and those in whole bytes.
fn integer(min: Number, max: Number) -> String {
    let (signed, span) = match (min, max) {
        (Number::Signed(min), Number::Signed(max)) => (true, max.abs_diff(min)),
        (min, max) => (false, magnitude(max).saturating_sub(magnitude(min))),
    };
    // Bits of limbs are not added up: 48 are two limbs.
    let is_wide = width(span) > 48 || !is_double(magnitude(min)) || !is_double(magnitude(max));
    format!(
        "min = {}, max = {}, span = {}, width = {}, plain = {}, signed = {signed}, wide = {is_wide}",
        number(min),
        number(max),
        number(Number::Unsigned(span)),
        width(span),
        plain_width(min, max),
    )
}

/// The bits of the smallest integer type that has the whole range; none for a range of one value.
fn plain_width(min: Number, max: Number) -> u32 {
    let bits = match (min, max) {
        (min, max) if min == max => return 0,
        (Number::Signed(min), Number::Signed(max)) if min < 0 => {
            1 + width((!min | if max < 0 { !max } else { max }).cast_unsigned())
        }
        (_, max) => width(magnitude(max)),
    };
    bits.next_power_of_two().max(8)
}

fn quantised(range: FloatRange) -> String {
    format!(
        "min = {}, max = {}, width = {}, max_code = {}",
        number(Number::Float(range.min())),
        number(Number::Float(range.max())),
        range.width(),
        range.max_code(),
    )
}

/// The bounds as they are on the wire: of a fixed-point number, in its smallest steps.
fn bounds(op: &Op) -> (Number, Number) {
    match *op {
        Op::Int { min, max } => (min, max),
        Op::Fixed { fraction_bits, min, max } => {
            let scaled = |bound| match bound {
                Number::Unsigned(bound) => Number::Unsigned(bound << fraction_bits),
                Number::Signed(bound) => Number::Signed(bound << fraction_bits),
                other => other,
            };
            (scaled(min), scaled(max))
        }
        _ => (Number::Unsigned(0), Number::Unsigned(0)),
    }
}

fn magnitude(number: Number) -> u128 {
    match number {
        Number::Unsigned(number) => number,
        Number::Signed(number) => number.unsigned_abs(),
        _ => 0,
    }
}

fn width(span: u128) -> u32 {
    u128::BITS - span.leading_zeros()
}
