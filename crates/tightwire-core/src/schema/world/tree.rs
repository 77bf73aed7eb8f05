//! A world as a tree of its schema, and its conversion to bits and bytes and back.
//!
//! A text is read into a tree, with the position of each mistake. The tree is then written as bits
//! and read back until it does not change. This one place decides which worlds are valid, so that
//! all representations agree, also on quantised values. XML is read by `roxmltree` (no unsafe code,
//! no document types, a position for every element), JSON by `serde_json`, guided by the schema, so
//! that no value is built that the schema does not have.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::class::{STEP, STEPS};
use super::{Object, World, WorldError, WorldSchema};
use crate::schema::Dynamic;
use crate::schema::run::Walk;
use crate::stream::{ByteStream, MeasureStream, Name, Number, Op, ReadStream, Value, WriteStream};

/// A world that writing and reading does not change, and its bits.
pub(super) struct StableWorld {
    pub(super) world: World,
    pub(super) bits: Vec<u8>,
}

/// Largest number of rounds. Some rotations and directions have two codes, and the one that is
/// written is read as a slightly different value; after a few rounds all of them are stable.
const MAX_ROUNDS: usize = 8;

/// Writes and reads the world until it does not change.
pub(super) fn settle(world: &World, schema: &WorldSchema) -> Result<StableWorld, WorldError> {
    let mut tree = to_tree(world, schema, relative_id)?;
    for _ in 0..MAX_ROUNDS {
        if let Some(path) = nan_in(&tree) {
            let reason = "NaN is not allowed in a world: it is not equal to itself";
            return Err(WorldError::refused(format!("World{path}"), reason));
        }
        let bits = schema.schema().encode_to_vec(&tree)?;
        let read = schema.schema().decode(&bits)?;
        if read == tree {
            return Ok(StableWorld { world: from_tree(read, absolute_id)?, bits });
        }
        tree = read;
    }
    Err(WorldError::refused("World", "the world changes each time it is written and read"))
}

pub(super) fn read_bits(packet: &[u8], schema: &WorldSchema) -> Result<World, WorldError> {
    from_tree(schema.schema().decode(packet)?, absolute_id)
}

pub(super) fn write_bytes(world: &World, schema: &WorldSchema) -> Result<Vec<u8>, WorldError> {
    let mut tree = to_tree(world, schema, |id, _| u64::from(id).into())?;
    let shape = schema.plain();
    let mut measured = ByteStream::new(MeasureStream::new());
    let (Ok(()), _) = Walk::root(shape, &mut tree, &mut measured);
    let mut buffer = vec![0; measured.into_inner().bytes()];
    let mut stream = ByteStream::new(WriteStream::new(&mut buffer));
    let (Ok(()), error) = Walk::root(shape, &mut tree, &mut stream);
    if let Some(error) = error {
        return Err(error.into());
    }
    let length = stream.into_inner().finish()?.len();
    buffer.truncate(length);
    Ok(buffer)
}

pub(super) fn read_bytes(packet: &[u8], schema: &WorldSchema) -> Result<World, WorldError> {
    let mut tree = Dynamic::default();
    let mut stream = ByteStream::new(ReadStream::new(packet));
    let (result, error) = Walk::root(schema.plain(), &mut tree, &mut stream);
    if let Some(error) = error {
        return Err(error.into());
    }
    result?;
    stream.into_inner().finish()?;
    from_tree(tree, |id, previous| {
        let read = integer(id).and_then(|id| u32::try_from(id).ok());
        read.filter(|&id| i64::from(id) > previous)
    })
}

/// Returns an id relative to the previous one.
fn relative_id(id: u32, previous: i64) -> Dynamic {
    let step = i128::from(i64::from(id) - previous).unsigned_abs();
    let range = STEPS.iter().find(|(_, min, max)| (*min..=*max).contains(&step));
    Dynamic::Option(range.map(|(name, ..)| {
        let fields = vec![(STEP.into(), Dynamic::Value(Value::Number(Number::Unsigned(step))))];
        Box::new(Dynamic::Enum { name: "Step".into(), variant: (*name).into(), fields })
    }))
}

fn absolute_id(id: &Dynamic, previous: i64) -> Option<u32> {
    let step = match id {
        Dynamic::Option(None) => 1,
        some => integer(some.get(STEP)?)?,
    };
    u32::try_from(i128::from(previous) + i128::try_from(step).ok()?).ok()
}

fn integer(tree: &Dynamic) -> Option<u128> {
    match tree.value()? {
        Value::Number(Number::Unsigned(number)) => Some(*number),
        _ => None,
    }
}

fn to_tree(
    world: &World,
    schema: &WorldSchema,
    id: impl Fn(u32, i64) -> Dynamic,
) -> Result<Dynamic, WorldError> {
    let mut previous = -1;
    let objects = world.objects.iter().map(|object| {
        let step = id(object.id().0, previous);
        previous = object.id().0.into();
        let fields = vec![("id".into(), step), ("class".into(), class_tree(object))];
        Dynamic::Struct { name: "Object".into(), fields }
    });
    let objects = Dynamic::List(objects.collect());
    let time = Dynamic::Value(time_value(world.time, schema.time())?);
    let fields = vec![("time".into(), time), ("objects".into(), objects)];
    Ok(Dynamic::Struct { name: "World".into(), fields })
}

/// Returns an object without its id: a variant of the enum of classes.
pub(super) fn class_tree(object: &Object) -> Dynamic {
    let (variant, fields) = (object.class.clone(), object.properties.clone());
    Dynamic::Enum { name: "Class".into(), variant, fields }
}

/// Converts the time into the value of its operation.
pub(super) fn time_value(time: f64, op: &Op) -> Result<Value, WorldError> {
    if matches!(op, Op::Double) {
        return Ok(Value::Number(Number::Double(time)));
    }
    let single = time as f32;
    if single.is_infinite() && time.is_finite() {
        let reason = format!("{time} is too large for `{op}`");
        return Err(WorldError::refused("World.time", reason));
    }
    Ok(Value::Number(Number::Float(single)))
}

/// Returns the time that an operation carried.
pub(super) fn time_of(value: &Value) -> Option<f64> {
    match value {
        Value::Number(Number::Float(time)) => Some((*time).into()),
        Value::Number(Number::Double(time)) => Some(*time),
        _ => None,
    }
}

fn from_tree(
    tree: Dynamic,
    id: impl Fn(&Dynamic, i64) -> Option<u32>,
) -> Result<World, WorldError> {
    let wrong = || WorldError::refused("World", "the tree is no world");
    let time = tree.get("time").and_then(Dynamic::value).and_then(time_of).ok_or_else(wrong)?;
    let mut world = World::new(time);
    let Dynamic::Struct { mut fields, .. } = tree else { return Err(wrong()) };
    let Some((_, Dynamic::List(objects))) = fields.pop() else { return Err(wrong()) };
    let mut previous = -1;
    for (index, object) in objects.into_iter().enumerate() {
        let Some(id) = object.get("id").and_then(|tree| id(tree, previous)) else {
            let reason = "the id is not above the one before, or above 4294967295";
            return Err(WorldError::refused(format!("World.objects[{index}].id"), reason));
        };
        previous = id.into();
        let Dynamic::Struct { mut fields, .. } = object else { return Err(wrong()) };
        let Some((_, class)) = fields.pop() else { return Err(wrong()) };
        world.objects.push(to_object(id, class).ok_or_else(wrong)?);
    }
    Ok(world)
}

/// Reverses [`class_tree`].
pub(super) fn to_object(id: u32, tree: Dynamic) -> Option<Object> {
    match tree {
        Dynamic::Enum { variant, fields, .. } => Some(Object::from_parts(id, variant, fields)),
        _ => None,
    }
}

/// Returns the path of the first NaN.
fn nan_in(tree: &Dynamic) -> Option<String> {
    let in_fields = |fields: &[(Name, Dynamic)]| {
        fields.iter().find_map(|(name, value)| Some(format!(".{name}{}", nan_in(value)?)))
    };
    match tree {
        Dynamic::Value(value) => {
            let is_nan = match value {
                Value::Number(Number::Float(number)) => number.is_nan(),
                Value::Number(Number::Double(number)) => number.is_nan(),
                Value::Vector(components) => components.iter().any(|number| number.is_nan()),
                _ => false,
            };
            is_nan.then(String::new)
        }
        Dynamic::Struct { fields, .. } => in_fields(fields),
        Dynamic::Enum { variant, fields, .. } => {
            in_fields(fields).map(|path| format!(".{variant}{path}"))
        }
        Dynamic::Option(inner) => inner.as_ref().and_then(|inner| nan_in(inner)),
        Dynamic::List(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| Some(format!("[{index}]{}", nan_in(item)?))),
    }
}
