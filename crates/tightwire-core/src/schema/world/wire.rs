//! The schema of a world on the wire, sent once to a client when it connects.
//!
//! A world is a tree of a schema: a time, and a list of objects with an id and an enum of classes.
//! It therefore shares the reader, fingerprint, diff and traces of schemas. Each id is the
//! difference to the previous one, as an option of an enum of ranges that do not overlap: one bit
//! for the next id, and exactly one code for each id. The bytes of a world are the same walk on a
//! `ByteStream`.

use alloc::vec;
use alloc::vec::Vec;

use super::class::class_shape;
use super::{Class, WorldSchema};
use crate::at;
use crate::schema::Schema;
use crate::stream::{Field, Op, Shape, Stream, Target, Variant, Wire};

/// The largest number of objects, then the schema of one object with the time before it. A schema
/// that [`WorldSchema::new`] refuses is neither written nor read.
impl Wire for WorldSchema {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let mut max_objects = this.max_objects();
        let mut schema = if S::WRITING { sent(&this) } else { Schema::default() };
        stream.varint(at!(max_objects))?;
        stream.object(at!(schema))?;
        if !S::READING {
            return Ok(());
        }
        let received = parts(schema)
            .and_then(|(time, classes)| Self::from_parts(time, max_objects, classes).ok());
        match received {
            Some(schema) => {
                this.put(schema);
                Ok(())
            }
            None => stream.refuse(),
        }
    }
}

/// Returns the parts of the schema that do not follow from others.
fn sent(schema: &WorldSchema) -> Schema {
    let time = Field::new("time", Shape::Op(schema.time().clone()));
    let class = Field::new("class", class_shape(schema.classes()));
    Schema { root: Shape::Struct { name: "World".into(), fields: vec![time, class] } }
}

fn parts(Schema { root }: Schema) -> Option<(Op, Vec<Class>)> {
    let Shape::Struct { name, fields } = root else { return None };
    let [time, class] = <[Field; 2]>::try_from(fields).ok()?;
    // A schema that no writer produces is refused.
    let is_plain =
        [&time, &class].iter().all(|field| field.when.is_none() && field.hints.is_empty());
    if !is_plain || [&*name, &*time.name, &*class.name] != ["World", "time", "class"] {
        return None;
    }
    let (Shape::Op(time), Shape::Enum { name, variants }) = (time.shape, class.shape) else {
        return None;
    };
    let class = |Variant { name, fields }| Class { name, properties: fields };
    (&*name == "Class").then(|| (time, variants.into_iter().map(class).collect()))
}
