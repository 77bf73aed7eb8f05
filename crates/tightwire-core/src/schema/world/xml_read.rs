//! Reads worlds from the XML that [`super::xml`] writes.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use roxmltree::{Document, Node, ParsingOptions};

use super::leaf::{Kind, checked, parse_float, shown, unescape};
use super::text::{read_id, utf8};
use super::text_rules::Budget;
use super::tree::{time_of, to_object};
use super::xml::SPECIAL;
use super::{World, WorldError, WorldSchema};
use crate::schema::Dynamic;
use crate::stream::{Field, Name, Op, Shape, Value};

pub(super) fn read(bytes: &[u8], schema: &WorldSchema) -> Result<World, WorldError> {
    let text = utf8(bytes)?;
    // A document type is refused: its entities are a known attack.
    let options = ParsingOptions { allow_dtd: false, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let (place, sentence) = (error.pos(), error.to_string());
        WorldError::Text { line: place.row as usize, column: place.col as usize, reason: sentence }
    })?;
    let mut reader = XmlReader { document: &document, budget: Budget::of(bytes) };
    reader.world(document.root_element(), schema)
}

struct XmlReader<'d> {
    document: &'d Document<'d>,
    budget: Budget,
}

type Element<'d> = Node<'d, 'd>;

impl<'d> XmlReader<'d> {
    fn refuse(&self, element: Element<'d>, reason: impl Into<String>) -> WorldError {
        let place = self.document.text_pos_at(element.range().start);
        let (line, column) = (place.row as usize, place.col as usize);
        WorldError::Text { line, column, reason: reason.into() }
    }

    /// Checks the name of an element, and returns these attributes; others are refused.
    fn attributes<const N: usize>(
        &mut self,
        element: Element<'d>,
        tag: &str,
        names: [&str; N],
    ) -> Result<[&'d str; N], WorldError> {
        self.budget.spend(1 + N).map_err(|reason| self.refuse(element, reason))?;
        if !element.has_tag_name(tag) {
            let reason = format!("<{tag}> is needed, not <{}>", element.tag_name().name());
            return Err(self.refuse(element, reason));
        }
        if let Some(other) = element
            .attributes()
            .find(|attribute| attribute.namespace().is_some() || !names.contains(&attribute.name()))
        {
            let reason = format!("<{tag}> has no attribute {}", shown(other.name()));
            return Err(self.refuse(element, reason));
        }
        let mut values = [""; N];
        for (value, name) in values.iter_mut().zip(names) {
            *value = element.attribute(name).ok_or_else(|| {
                self.refuse(element, format!("<{tag}> needs the attribute `{name}`"))
            })?;
        }
        Ok(values)
    }

    /// Returns the child elements, with nothing but space and comments between them.
    fn children(&self, element: Element<'d>) -> Result<Vec<Element<'d>>, WorldError> {
        let mut children = Vec::new();
        for child in element.children() {
            match child.text() {
                _ if child.is_element() => children.push(child),
                Some(text) if child.is_text() && !text.trim_ascii().is_empty() => {
                    let reason = format!("an element is needed, not the text {}", shown(text));
                    return Err(self.refuse(child, reason));
                }
                _ => {}
            }
        }
        Ok(children)
    }

    fn world(&mut self, root: Element<'d>, schema: &WorldSchema) -> Result<World, WorldError> {
        let [time] = self.attributes(root, "world", ["time"])?;
        let Value::Number(time) = self.leaf(root, schema.time(), time)? else {
            return Err(self.refuse(root, "a time is needed"));
        };
        let mut world = World::new(time_of(&Value::Number(time)).unwrap_or_default());
        let mut previous = None;
        for element in self.children(root)? {
            let [id, class] = self.attributes(element, "object", ["id", "class"])?;
            let id = read_id(id, previous).map_err(|reason| self.refuse(element, reason))?;
            previous = Some(id);
            let name = self.unescape(element, class)?;
            self.budget.spend(schema.classes().len()).map_err(|r| self.refuse(element, r))?;
            let Some(class) = schema.classes().iter().find(|class| *class.name == *name) else {
                return Err(self.refuse(element, format!("no class is called {}", shown(&name))));
            };
            let fields = self.fields(element, &class.properties)?;
            let (name, variant) = (Name::from("Class"), class.name.clone());
            let object = to_object(id, Dynamic::Enum { name, variant, fields });
            world.insert(object.ok_or_else(|| self.refuse(element, "an object is needed"))?);
        }
        Ok(world)
    }

    fn unescape(&self, element: Element<'d>, text: &str) -> Result<String, WorldError> {
        unescape(text, SPECIAL).map_err(|reason| self.refuse(element, reason))
    }

    fn fields(
        &mut self,
        element: Element<'d>,
        fields: &[Field],
    ) -> Result<Vec<(Name, Dynamic)>, WorldError> {
        let (mut came, mut before) = (BTreeMap::new(), None);
        for child in self.children(element)? {
            let name = child.attribute("name").unwrap_or_default();
            let name = self.unescape(child, name)?;
            let place = self.budget.find(fields, &name, before);
            let place = place.map_err(|reason| self.refuse(child, reason))?;
            before = Some(place);
            let Some(field) = fields.get(place) else { continue };
            let value = self.value(child, "property", &field.shape)?;
            if came.insert(place, value).is_some() {
                return Err(self.refuse(child, format!("`{name}` is there twice")));
            }
        }
        self.budget.assemble(fields, came).map_err(|reason| self.refuse(element, reason))
    }

    fn value(
        &mut self,
        element: Element<'d>,
        tag: &str,
        shape: &Shape,
    ) -> Result<Dynamic, WorldError> {
        self.budget.value().map_err(|reason| self.refuse(element, reason))?;
        // A property has the attribute `name` beside those of its value.
        let name = (tag == "property").then_some("name");
        let plain = |reader: &mut Self| match name {
            Some(name) => reader.attributes(element, tag, [name]).map(drop),
            None => reader.attributes(element, tag, []).map(drop),
        };
        let with = |reader: &mut Self, attribute| match name {
            Some(name) => reader.attributes(element, tag, [attribute, name]).map(|[of, _]| of),
            None => reader.attributes(element, tag, [attribute]).map(|[of]| of),
        };
        Ok(match shape {
            Shape::Op(op) if Kind::of(op) == Kind::Nothing => {
                plain(self)?;
                self.childless(element)?;
                Dynamic::default()
            }
            Shape::Op(op) => {
                let text = with(self, "value")?;
                self.childless(element)?;
                Dynamic::Value(self.leaf(element, op, text)?)
            }
            Shape::Struct { name, fields } => {
                plain(self)?;
                Dynamic::Struct { name: name.clone(), fields: self.fields(element, fields)? }
            }
            Shape::Enum { name, variants } => {
                let text = with(self, "variant")?;
                let text = self.unescape(element, text)?;
                self.budget.spend(variants.len()).map_err(|r| self.refuse(element, r))?;
                let Some(variant) = variants.iter().find(|variant| *variant.name == *text) else {
                    let reason = format!("no variant is called {}", shown(&text));
                    return Err(self.refuse(element, reason));
                };
                let fields = self.fields(element, &variant.fields)?;
                Dynamic::Enum { name: name.clone(), variant: variant.name.clone(), fields }
            }
            Shape::Option(inner) => {
                plain(self)?;
                match self.children(element)?[..] {
                    [] => Dynamic::Option(None),
                    [some] => Dynamic::Option(Some(Box::new(self.value(some, "some", inner)?))),
                    [_, more, ..] => return Err(self.refuse(more, "an option has one value")),
                }
            }
            Shape::List { element: of, .. } | Shape::Array { element: of, .. } => {
                plain(self)?;
                let mut items = Vec::new();
                for child in self.children(element)? {
                    items.push(self.value(child, "item", of)?);
                }
                let length = items.len() as u64;
                match *shape {
                    Shape::List { max_len, .. } if length > max_len => {
                        let reason = format!("{length} are more than the {max_len} of the list");
                        return Err(self.refuse(element, reason));
                    }
                    Shape::Array { len, .. } if length != len => {
                        let reason = format!("{len} elements are needed, not {length}");
                        return Err(self.refuse(element, reason));
                    }
                    _ => Dynamic::List(items),
                }
            }
            Shape::Opaque { name, .. } => {
                return Err(self.refuse(element, format!("`{name}` is serialized by hand")));
            }
        })
    }

    fn childless(&self, element: Element<'d>) -> Result<(), WorldError> {
        match self.children(element)?.first() {
            Some(child) => Err(self.refuse(*child, "nothing is expected inside this element")),
            None => Ok(()),
        }
    }

    fn leaf(&self, element: Element<'d>, op: &Op, text: &str) -> Result<Value, WorldError> {
        let kind = Kind::of(op);
        let parsed = match kind {
            Kind::Text => unescape(text, SPECIAL).map(Value::Text),
            Kind::Floats(0) if text.is_empty() => Ok(Value::Vector(Vec::new())),
            // Components beyond the expected number are not parsed.
            Kind::Floats(count) => {
                let components: Option<Vec<_>> =
                    text.split(',').take(count + 1).map(parse_float).collect();
                components
                    .filter(|components| components.len() == count)
                    .map(Value::Vector)
                    .ok_or_else(|| format!("{} are needed, not {}", kind.expected(), shown(text)))
            }
            kind => kind.parse(text),
        };
        parsed.and_then(|value| checked(op, value)).map_err(|reason| self.refuse(element, reason))
    }
}
