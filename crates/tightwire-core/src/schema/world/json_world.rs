//! Reads worlds from the JSON that [`super::json`] writes.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use super::json::JsonStyle;
use super::json_read::Seed;
use super::leaf::shown;
use super::text::read_id;
use super::text_rules::Budget;
use super::tree::{time_of, to_object};
use super::{World, WorldError, WorldSchema};
use crate::stream::Shape;

pub(super) fn read(
    bytes: &[u8],
    schema: &WorldSchema,
    style: JsonStyle,
) -> Result<World, WorldError> {
    let mut budget = Budget::of(bytes);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let seed = WorldSeed { schema, style, budget: &mut budget };
    let read = seed.deserialize(&mut deserializer);
    read.and_then(|world| deserializer.end().map(|()| world)).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let sentence = error.to_string();
        // The sentence ends with the position, which the error has in fields of its own.
        let place = format!(" at line {line} column {column}");
        let reason = sentence.strip_suffix(&place).unwrap_or(&sentence).to_string();
        WorldError::Text { line, column, reason }
    })
}

struct WorldSeed<'a> {
    schema: &'a WorldSchema,
    style: JsonStyle,
    budget: &'a mut Budget,
}

impl<'de> DeserializeSeed<'de> for WorldSeed<'_> {
    type Value = World;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<World, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for WorldSeed<'_> {
    type Value = World;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a world: an object with `time` and `objects`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<World, A::Error> {
        let Self { schema, style, budget } = self;
        let (mut time, mut objects) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match &*key {
                "time" if time.is_none() => {
                    let target = &Shape::Op(schema.time().clone());
                    let value = map.next_value_seed(Seed { target, style, budget })?;
                    time = value.value().and_then(time_of);
                }
                "objects" if objects.is_none() => {
                    let target = Objects { class: &schema.object() };
                    objects = Some(map.next_value_seed(Seed { target, style, budget })?);
                }
                _ => return Err(A::Error::custom(format!("{} is not expected", shown(&key)))),
            }
        }
        let time = time.ok_or_else(|| A::Error::missing_field("time"))?;
        let mut world: World = objects.ok_or_else(|| A::Error::missing_field("objects"))?;
        world.time = time;
        Ok(world)
    }
}

/// The objects of a world by their ids.
struct Objects<'a> {
    class: &'a Shape,
}

impl<'de> DeserializeSeed<'de> for Seed<'_, Objects<'_>> {
    type Value = World;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<World, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, Objects<'_>> {
    type Value = World;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("objects by their ids")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<World, A::Error> {
        let mut world = World::default();
        let mut previous = None;
        while let Some(key) = map.next_key::<String>()? {
            let id = read_id(&key, previous).map_err(A::Error::custom)?;
            previous = Some(id);
            let class = self.target.class;
            let value = map.next_value_seed(self.with(class))?;
            let object = to_object(id, value);
            world.insert(object.ok_or_else(|| A::Error::custom("an object is needed"))?);
        }
        Ok(world)
    }
}
