//! The schema of a world on the wire: a client gets it once, when it connects.
//!
//! A world is a tree of a schema: a time, and a list of objects that are an id and an enum of classes.
//! So it has the reader, fingerprint, diff and traces of schemas. Ids are steps from one to the next,
//! in an option of an enum of ranges that do not overlap: one bit for the next id, and one form for
//! each. The bytes of a world are the same walk on a `ByteStream`.

use alloc::vec;
use alloc::vec::Vec;

use super::class::class_shape;
use super::{Class, WorldSchema};
use crate::at;
use crate::schema::Schema;
use crate::stream::{Field, Op, Shape, Stream, Target, Variant, Wire};

/// The most objects, and the schema of one object with the time before it. What
/// [`WorldSchema::new`] refuses is neither written nor read.
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

/// What does not follow from the rest.
fn sent(schema: &WorldSchema) -> Schema {
    let time = Field::new("time", Shape::Op(schema.time().clone()));
    let class = Field::new("class", class_shape(schema.classes()));
    Schema { root: Shape::Struct { name: "World".into(), fields: vec![time, class] } }
}

fn parts(Schema { root }: Schema) -> Option<(Op, Vec<Class>)> {
    let Shape::Struct { name, fields } = root else { return None };
    let [time, class] = <[Field; 2]>::try_from(fields).ok()?;
    // Nothing that is not written is read.
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
