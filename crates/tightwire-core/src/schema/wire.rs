//! A schema on the wire, sent once to a client when it connects.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::Schema;
use super::validate::{MAX_CONDITION_DEPTH, MAX_DEPTH, MAX_NAME, MAX_NODES, MAX_SOURCE, validate};
use super::wire_op::{number, op};
use crate::stream::{
    Binary, Condition, Field, Hints, Name, Op, Shape, Stream, Target, TraceScope, Variant, Wire,
};

/// The wire form of docs/WIRE.md. A schema that [`Schema::new`] refuses is neither written nor
/// read.
///
/// ```
/// use tightwire::{decode, encode};
/// use tightwire::schema::Schema;
///
/// let mut sent = Schema::of::<[Option<u16>; 3]>();
/// let mut buffer = [0; 64];
/// let packet = encode(&sent, &mut buffer)?;
/// assert!(packet.len() < 8);
/// assert_eq!(decode::<Schema>(packet)?, sent);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
impl Wire for Schema {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        if S::WRITING && validate(&this.root).is_err() {
            return stream.refuse();
        }
        let room = Room { depth: MAX_DEPTH, nodes: &mut { MAX_NODES } };
        // A schema is sent once per connection: a copy is cheap, and lets one function on `&mut`
        // serve both directions without projecting to parts.
        let mut root = if S::WRITING { this.root.clone() } else { blank() };
        shape(&mut root, None, room, stream)?;
        if S::READING && validate(&root).is_err() {
            return stream.refuse();
        }
        this.put(Self { root });
        Ok(())
    }
}

/// Kinds of shapes. The last one precedes the shape of a field, and is not a shape itself.
const SHAPES: [&str; 8] = ["op", "struct", "enum", "option", "array", "list", "opaque", "hinted"];
const HINTED: usize = 7;

/// Limits that are left for the rest of a schema.
struct Room<'a> {
    /// Number of levels from here on.
    depth: usize,
    /// Number of parts in all.
    nodes: &'a mut usize,
}

impl Room<'_> {
    /// Takes one part.
    fn part(&mut self) -> Option<()> {
        *self.nodes = self.nodes.checked_sub(1)?;
        Some(())
    }

    /// Takes one part and one level, and returns the limits inside of it.
    fn inside(mut self) -> Option<Self> {
        self.depth = self.depth.checked_sub(1)?;
        self.part()?;
        Some(self)
    }

    /// Lends the limits to one of several parts.
    fn lend(&mut self) -> Room<'_> {
        Room { depth: self.depth, nodes: self.nodes }
    }
}

/// A shape; only the shape of a field can have hints.
fn shape<S: Stream>(
    shape: &mut Shape,
    hints: Option<&mut Hints>,
    room: Room<'_>,
    stream: &mut S,
) -> Result<(), S::Error> {
    // Checked before the next call, not after: a malicious packet aims at the stack and the memory.
    let Some(mut room) = room.inside() else { return stream.refuse() };
    let mut kind = match shape {
        Shape::Op(_) => 0,
        Shape::Struct { .. } => 1,
        Shape::Enum { .. } => 2,
        Shape::Option(_) => 3,
        Shape::Array { .. } => 4,
        Shape::List { .. } => 5,
        Shape::Opaque { .. } => 6,
    };
    let own_kind = kind;
    if hints.as_ref().is_some_and(|hints| !hints.is_empty()) {
        kind = HINTED;
    }
    choice(&mut kind, stream)?;
    if kind == HINTED {
        let Some(hints) = hints else { return stream.refuse() };
        self::hints(hints, stream)?;
        kind = own_kind;
        choice(&mut kind, stream)?;
        if kind == HINTED {
            return stream.refuse();
        }
    }
    if S::READING {
        let (name, element) = (Name::from(""), Box::new(blank()));
        *shape = match kind {
            0 => blank(),
            1 => Shape::Struct { name, fields: Vec::new() },
            2 => Shape::Enum { name, variants: Vec::new() },
            3 => Shape::Option(element),
            4 => Shape::Array { len: 0, element },
            5 => Shape::List { max_len: 0, element },
            _ => Shape::Opaque { name, max_bits: 0 },
        };
    }
    match shape {
        Shape::Op(operation) => op(operation, stream),
        Shape::Struct { name: of, fields: members } => {
            name(of, stream)?;
            fields(members, room, stream)
        }
        Shape::Enum { name: of, variants } => {
            name(of, stream)?;
            let empty = || Variant { name: Name::from(""), fields: Vec::new() };
            room.depth = room.depth.saturating_sub(1);
            list(variants, empty, stream, |variant, stream| {
                let Some(()) = room.part() else { return stream.refuse() };
                name(&mut variant.name, stream)?;
                fields(&mut variant.fields, room.lend(), stream)
            })
        }
        Shape::Option(inner) => self::shape(inner, None, room, stream),
        Shape::Array { len, element } | Shape::List { max_len: len, element } => {
            stream.named("len").varint(len)?;
            self::shape(element, None, room, stream)
        }
        Shape::Opaque { name: of, max_bits } => {
            name(of, stream)?;
            stream.named("max_bits").varint(max_bits)
        }
    }
}

fn choice<S: Stream>(kind: &mut usize, stream: &mut S) -> Result<(), S::Error> {
    stream.named("shape").variant(kind, SHAPES.len(), |kind| SHAPES[kind])
}

/// Hints that are not empty.
fn hints<S: Stream>(hints: &mut Hints, stream: &mut S) -> Result<(), S::Error> {
    let mut is_derivative = hints.derivative_of.is_some();
    stream.named("is_derivative").bool(&mut is_derivative)?;
    if S::READING {
        hints.derivative_of = is_derivative.then(|| Name::from(""));
    }
    if let Some(of) = &mut hints.derivative_of {
        name(of, stream)?;
    }
    stream.named("wraps").bool(&mut hints.wraps)?;
    stream.named("spatial").bool(&mut hints.spatial)?;
    stream.named("reference").bool(&mut hints.reference)?;
    stream.named("rotation").bool(&mut hints.rotation)?;
    stream.named("owner").bool(&mut hints.owner)?;
    stream.named("others").bool(&mut hints.others)?;
    // A field without hints has another wire form.
    if hints.is_empty() { stream.refuse() } else { Ok(()) }
}

/// The shape for a reader to read into.
fn blank() -> Shape {
    Shape::Op(Op::Bool)
}

fn fields<S: Stream>(
    fields: &mut Vec<Field>,
    mut room: Room<'_>,
    stream: &mut S,
) -> Result<(), S::Error> {
    list(
        fields,
        || Field::new("", blank()),
        stream,
        |field, stream| {
            let Some(()) = room.part() else { return stream.refuse() };
            name(&mut field.name, stream)?;
            let mut is_conditional = field.when.is_some();
            stream.named("is_conditional").bool(&mut is_conditional)?;
            if S::READING {
                field.when = is_conditional.then_some(Condition::Bool(false));
            }
            if let Some(when) = &mut field.when {
                let room = Room { depth: MAX_CONDITION_DEPTH, nodes: room.nodes };
                condition(when, room, stream)?;
            }
            shape(&mut field.shape, Some(&mut field.hints), room.lend(), stream)
        },
    )
}

const CONDITIONS: [&str; 9] =
    ["field", "bool", "number", "variant", "len", "is_some", "not", "binary", "source"];

fn condition<S: Stream>(
    condition: &mut Condition,
    room: Room<'_>,
    stream: &mut S,
) -> Result<(), S::Error> {
    let Some(mut room) = room.inside() else { return stream.refuse() };
    let mut kind = match condition {
        Condition::Field(_) => 0,
        Condition::Bool(_) => 1,
        Condition::Number(_) => 2,
        Condition::Variant(_) => 3,
        Condition::Len(_) => 4,
        Condition::IsSome(_) => 5,
        Condition::Not(_) => 6,
        Condition::Binary(..) => 7,
        Condition::Source(_) => 8,
    };
    stream.named("condition").variant(&mut kind, CONDITIONS.len(), |kind| CONDITIONS[kind])?;
    if S::READING {
        let blank = || Condition::Bool(false);
        *condition = match kind {
            0 => Condition::Field(Vec::new()),
            1 => blank(),
            2 => Condition::Number(super::wire_op::ZERO),
            3 => Condition::Variant(Name::from("")),
            4 => Condition::Len(Box::new(blank())),
            5 => Condition::IsSome(Box::new(blank())),
            6 => Condition::Not(Box::new(blank())),
            7 => Condition::Binary(Binary::And, Box::new([blank(), blank()])),
            _ => Condition::Source(Name::from("")),
        };
    }
    match condition {
        Condition::Field(path) => {
            // A path is no deeper than the nested structs that it goes through.
            room.depth = MAX_DEPTH;
            list(
                path,
                || Name::from(""),
                stream,
                |step, stream| {
                    let Some(depth) = room.depth.checked_sub(1) else { return stream.refuse() };
                    room.depth = depth;
                    name(step, stream)
                },
            )
        }
        Condition::Bool(value) => stream.named("value").bool(value),
        Condition::Number(constant) => number(constant, stream),
        Condition::Variant(variant) => name(variant, stream),
        Condition::Len(of) | Condition::IsSome(of) | Condition::Not(of) => {
            self::condition(of, room, stream)
        }
        Condition::Binary(operator, operands) => {
            stream.named("operator").enumerate(operator, &Binary::ALL)?;
            let mut operands = operands.iter_mut();
            operands.try_for_each(|operand| self::condition(operand, room.lend(), stream))
        }
        Condition::Source(source) => text(source, MAX_SOURCE, stream),
    }
}

fn name<S: Stream>(name: &mut Name, stream: &mut S) -> Result<(), S::Error> {
    text(name, MAX_NAME, stream)
}

fn text<S: Stream>(text: &mut Name, max_len: usize, stream: &mut S) -> Result<(), S::Error> {
    let mut string = String::from(&**text);
    stream.named("name").string(&mut string, max_len)?;
    if S::READING {
        *text = string.into();
    }
    Ok(())
}

/// The number of elements as a varint, then each element. Each element takes bits, so that memory
/// is in proportion to the packet.
fn list<S: Stream, T>(
    items: &mut Vec<T>,
    blank: impl Fn() -> T,
    stream: &mut S,
    mut element: impl FnMut(&mut T, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let mut count = items.len() as u64;
    stream.named("count").varint(&mut count)?;
    for index in 0..count {
        let index = index as usize;
        if S::READING {
            items.push(blank());
        }
        let Some(item) = items.get_mut(index) else { break };
        stream.enter(TraceScope::Index(index));
        let result = element(item, stream);
        stream.leave();
        result?;
    }
    Ok(())
}
