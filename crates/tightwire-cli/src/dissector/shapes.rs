//! The schema as Lua tables.
//!
//! Each shape is a statement of its own and refers to others by index: nested tables would need
//! more registers than Lua has.

use std::fmt::Write as _;

use tightwire::packet::Identity;
use tightwire::stream::{Field, Number, Op, Shape};

use super::condition;
use super::filter::{ENUM, Filters, root_step, step};
use super::literal::text;
use super::operation::{dimensions, field_type, parameters};
use super::{root_name, shown};

/// The shapes of a schema as Lua statements.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    /// Lua statements so far.
    pub(super) lua: String,
    /// Index of the packet's shape.
    pub(super) root: usize,
    /// Index of the check at the end of a packet; `None` for a protocol without checks.
    pub(super) end_check: Option<usize>,
    /// Fields that the dissector cannot read, with the reasons.
    pub(super) undescribed: Vec<String>,
    count: usize,
    filters: Filters,
    /// Names that lead to the current shape.
    path: Vec<String>,
}

impl Shapes {
    pub(super) fn of(identity: &Identity) -> Self {
        let mut shapes = Self { lua: String::from("local shapes = {}\n"), ..Self::default() };
        let name = root_name(identity.schema());
        shapes.path.push(shown(name));
        let filter = root_step(name);
        shapes.root = shapes.shape(identity.schema().root(), &filter);
        if identity.has_checks() {
            let check = Op::Check { name: "end".into() };
            shapes.end_check = Some(shapes.operation(&check, &format!("{filter}.end")));
        }
        shapes
    }

    /// Writes a shape after the shapes that it refers to, and returns its index.
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

    /// Writes the fields of a struct or a variant, and returns their list.
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
