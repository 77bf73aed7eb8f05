//! The compact text: the time on the first line, then a line for each object.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::leaf::{Kind, checked, escape, hex, number, parse_float, shown, unescape};
use super::text_rules::{Budget, text_fields};
use super::tree::{class_tree, time_of, time_value, to_object};
use super::{World, WorldError, WorldSchema};
use crate::schema::Dynamic;
use crate::stream::{Name, Number, Op, Shape, Value};

const SEPARATOR: char = ',';

/// Writes `id:class,value,value…` for each object, with the class by its ordinal. Values are
/// flattened: a vector to its components, a struct to its fields, an enum to its ordinal and its
/// fields, an option to 0 or 1 and the value, a list to its length and its elements.
pub(super) fn write(world: &World, schema: &WorldSchema) -> Result<Vec<u8>, WorldError> {
    let mut writer = TextWriter { out: String::new(), needs_separator: false };
    writer.leaf(&time_value(world.time, schema.time())?);
    let class = schema.object();
    for object in world.objects() {
        writer.out.push_str(&format!("\n{}:", object.id()));
        writer.needs_separator = false;
        writer.value(&class, &class_tree(object));
    }
    Ok(writer.out.into_bytes())
}

struct TextWriter {
    out: String,
    needs_separator: bool,
}

impl TextWriter {
    fn token(&mut self, token: &str) {
        if self.needs_separator {
            self.out.push(SEPARATOR);
        }
        self.needs_separator = true;
        self.out.push_str(token);
    }

    fn value(&mut self, shape: &Shape, value: &Dynamic) {
        match (shape, value) {
            (Shape::Struct { fields, .. }, Dynamic::Struct { fields: values, .. }) => {
                text_fields(fields, values)
                    .for_each(|(field, value)| self.value(&field.shape, value));
            }
            (Shape::Enum { variants, .. }, Dynamic::Enum { variant, fields: values, .. }) => {
                let ordinal = variants.iter().position(|known| known.name == *variant);
                let Some(ordinal) = ordinal else { return };
                self.token(&ordinal.to_string());
                let fields = &variants[ordinal].fields;
                text_fields(fields, values)
                    .for_each(|(field, value)| self.value(&field.shape, value));
            }
            (Shape::Option(_), Dynamic::Option(None)) => self.token("0"),
            (Shape::Option(inner), Dynamic::Option(Some(value))) => {
                self.token("1");
                self.value(inner, value);
            }
            (Shape::List { element, .. }, Dynamic::List(items)) => {
                self.token(&items.len().to_string());
                items.iter().for_each(|item| self.value(element, item));
            }
            (Shape::Array { element, .. }, Dynamic::List(items)) => {
                items.iter().for_each(|item| self.value(element, item));
            }
            (_, Dynamic::Value(value)) => self.leaf(value),
            // The world is quantised, so that no other combination exists.
            _ => {}
        }
    }

    fn leaf(&mut self, value: &Value) {
        match value {
            Value::Bool(value) => self.token(if *value { "1" } else { "0" }),
            Value::Number(value) => self.token(&number(*value)),
            Value::Vector(components) => {
                components.iter().for_each(|float| self.token(&number(Number::Float(*float))));
            }
            Value::Text(text) => {
                let mut escaped = String::new();
                escape(text, SEPARATOR, &mut escaped);
                self.token(&escaped);
            }
            Value::Bytes(bytes) => self.token(&hex(bytes)),
            _ => {}
        }
    }
}

pub(super) fn read(bytes: &[u8], schema: &WorldSchema) -> Result<World, WorldError> {
    let text = utf8(bytes)?;
    let mut budget = Budget::of(bytes);
    let class = schema.object();
    let mut offset = 0;
    let mut lines = text.split('\n').map(|line| {
        let start = offset;
        offset += line.len() + 1;
        (start, line)
    });
    let (start, line) = lines.next().unwrap_or_default();
    let mut tokens = Tokens { text, line: Some(line), start, token: start };
    let Dynamic::Value(time) = tokens.leaf(schema.time())? else {
        return Err(tokens.refuse("a time is needed"));
    };
    tokens.end()?;
    let mut world = World::new(time_of(&time).unwrap_or_default());
    let mut previous = None;
    for (start, line) in lines {
        let refuse = |reason: &str| WorldError::at(text, start, reason);
        let Some((id, values)) = line.split_once(':') else {
            return Err(refuse("an object is needed: its id, a colon, its class and its values"));
        };
        let id = read_id(id, previous).map_err(|reason| refuse(&reason))?;
        previous = Some(id);
        let start = start + line.len() - values.len();
        let mut tokens = Tokens { text, line: Some(values), start, token: start };
        let value = tokens.value(&class, &mut budget)?;
        tokens.end()?;
        let object = to_object(id, value).ok_or_else(|| refuse("an object is needed"))?;
        world.insert(object);
    }
    Ok(world)
}

pub(super) fn utf8(bytes: &[u8]) -> Result<&str, WorldError> {
    core::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let before = core::str::from_utf8(valid).unwrap_or_default();
        WorldError::at(before, before.len(), "the text is no UTF-8")
    })
}

/// Reads an id, which must be above the previous one.
pub(super) fn read_id(text: &str, previous: Option<u32>) -> Result<u32, String> {
    let id = match Kind::Unsigned.parse(text)? {
        Value::Number(Number::Unsigned(id)) => u32::try_from(id).ok(),
        _ => None,
    };
    match id {
        None => Err(format!("an id is at most {}, not {}", u32::MAX, shown(text))),
        Some(id) if previous.is_some_and(|previous| previous >= id) => {
            Err(format!("the id {id} is not above the one before"))
        }
        Some(id) => Ok(id),
    }
}

/// Tokens of a line, between separators.
struct Tokens<'t> {
    text: &'t str,
    /// Rest of the line; `None` after the last token.
    line: Option<&'t str>,
    start: usize,
    /// Offset of the last token that was read.
    token: usize,
}

impl<'t> Tokens<'t> {
    fn refuse(&self, reason: impl Into<String>) -> WorldError {
        WorldError::at(self.text, self.token, reason)
    }

    fn next(&mut self) -> Result<&'t str, WorldError> {
        self.token = self.start;
        let Some(line) = self.line else {
            return Err(self.refuse("the line ends, but the object has more values"));
        };
        let mut is_escaped = false;
        let end = line.find(|character| {
            let is_end = character == SEPARATOR && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            is_end
        });
        let (token, rest) = match end {
            Some(end) => (&line[..end], line.get(end + SEPARATOR.len_utf8()..)),
            None => (line, None),
        };
        self.start += token.len() + usize::from(rest.is_some());
        self.line = rest;
        Ok(token)
    }

    fn end(&mut self) -> Result<(), WorldError> {
        self.token = self.start;
        match self.line {
            Some(rest) => Err(self.refuse(format!("no more values are expected: {}", shown(rest)))),
            None => Ok(()),
        }
    }

    /// Reads a number below `end`.
    fn count(&mut self, end: u64) -> Result<u64, WorldError> {
        let token = self.next()?;
        let value = Kind::Unsigned.parse(token).map_err(|reason| self.refuse(reason))?;
        match value {
            Value::Number(Number::Unsigned(count)) if count < end.into() => Ok(count as u64),
            _ => Err(self.refuse(format!("{token} is not in 0..{end}"))),
        }
    }

    fn value(&mut self, shape: &Shape, budget: &mut Budget) -> Result<Dynamic, WorldError> {
        budget.value().map_err(|reason| self.refuse(reason))?;
        Ok(match shape {
            Shape::Op(op) => self.leaf(op)?,
            Shape::Struct { name, fields } => {
                Dynamic::Struct { name: name.clone(), fields: self.fields(fields, budget)? }
            }
            Shape::Enum { name, variants } => {
                let ordinal = self.count(variants.len() as u64)?;
                let Some(variant) = variants.get(ordinal as usize) else {
                    return Err(self.refuse("there is no such variant"));
                };
                let fields = self.fields(&variant.fields, budget)?;
                Dynamic::Enum { name: name.clone(), variant: variant.name.clone(), fields }
            }
            Shape::Option(inner) => match self.count(2)? {
                0 => Dynamic::Option(None),
                _ => Dynamic::Option(Some(Box::new(self.value(inner, budget)?))),
            },
            Shape::List { max_len, element } => {
                let length = self.count(max_len + 1)?;
                self.elements(length, element, budget)?
            }
            Shape::Array { len, element } => self.elements(*len, element, budget)?,
            Shape::Opaque { name, .. } => {
                return Err(self.refuse(format!("`{name}` is serialized by hand")));
            }
        })
    }

    fn elements(
        &mut self,
        length: u64,
        element: &Shape,
        budget: &mut Budget,
    ) -> Result<Dynamic, WorldError> {
        let mut items = Vec::new();
        for _ in 0..length {
            // Checked one by one: elements without tokens stop at the limit of the budget.
            items.push(self.value(element, budget)?);
        }
        Ok(Dynamic::List(items))
    }

    fn fields(
        &mut self,
        fields: &[crate::stream::Field],
        budget: &mut Budget,
    ) -> Result<Vec<(Name, Dynamic)>, WorldError> {
        let (text, start) = (self.text, self.start);
        let refuse = |reason| WorldError::at(text, start, reason);
        budget.in_order(fields, refuse, |budget, field| self.value(&field.shape, budget))
    }

    fn leaf(&mut self, op: &Op) -> Result<Dynamic, WorldError> {
        let value = match Kind::of(op) {
            Kind::Nothing => return Ok(Dynamic::default()),
            Kind::Floats(count) => {
                let mut components = Vec::new();
                for _ in 0..count {
                    let token = self.next()?;
                    let Some(component) = parse_float(token) else {
                        let reason = format!("a number is needed, not {}", shown(token));
                        return Err(self.refuse(reason));
                    };
                    components.push(component);
                }
                Value::Vector(components)
            }
            Kind::Text => {
                let token = self.next()?;
                Value::Text(unescape(token, SEPARATOR).map_err(|reason| self.refuse(reason))?)
            }
            kind => {
                let token = self.next()?;
                kind.parse(token).map_err(|reason| self.refuse(reason))?
            }
        };
        checked(op, value).map(Dynamic::Value).map_err(|reason| self.refuse(reason))
    }
}
