//! Classes of the objects in a world.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use crate::schema::{Schema, SchemaError};
use crate::stream::{Condition, Field, Name, Number, Op, Shape, Variant, Wire};

/// A class of objects: a name, and the properties of each object.
///
/// ```
/// use tightwire::Wire;
/// use tightwire::schema::Class;
/// use tightwire::stream::{Field, Op, Shape};
///
/// #[derive(Wire)]
/// struct Lamp {
///     lit: bool,
/// }
/// let by_hand = Class::new("Lamp", vec![Field::new("lit", Shape::Op(Op::Bool))]);
/// assert_eq!(Class::of::<Lamp>()?, by_hand);
/// # Ok::<(), tightwire::schema::SchemaError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Class {
    /// Name of the class.
    pub name: Name,
    /// Properties in the order in which they are sent.
    pub properties: Vec<Field>,
}

impl Class {
    /// Creates a class with these properties.
    #[must_use]
    pub fn new(name: &str, properties: Vec<Field>) -> Self {
        Self { name: name.into(), properties }
    }

    /// Returns the class of a struct that derives [`Wire`], with its fields as properties.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if `T` is not a struct that derives [`Wire`].
    pub fn of<T: Wire>() -> Result<Self, SchemaError> {
        match T::describe() {
            Shape::Struct { name, fields } => Ok(Self { name, properties: fields }),
            other => {
                let path = crate::schema::run::root_name(&other).to_string();
                Err(SchemaError { path, reason: "a class is made of a struct".to_string() })
            }
        }
    }
}

/// Schema of a game's worlds: the classes of their objects. It is sent once, before the worlds.
///
/// [`schema`](Self::schema) returns it as a [`Schema`], which has a fingerprint and a diff and can
/// explain packets.
///
/// ```
/// use tightwire::{decode, encode};
/// use tightwire::schema::{Class, WorldSchema};
/// use tightwire::stream::{Field, Op, Shape};
///
/// let lamp = Class::new("lamp", vec![Field::new("lit", Shape::Op(Op::Bool))]);
/// let mut schema = WorldSchema::new(vec![lamp])?;
/// let mut buffer = [0; 64];
/// let sent = encode(&schema, &mut buffer)?;
/// let received: WorldSchema = decode(sent)?;
/// assert_eq!(received, schema);
/// assert_eq!(received.schema().fingerprint(), schema.schema().fingerprint());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct WorldSchema {
    time: Op,
    max_objects: u32,
    classes: Vec<Class>,
    /// Schema of a world in bits.
    schema: Schema,
    /// Shape of a world in bytes.
    plain: Shape,
}

/// A schema with one class, `object`, that has no properties: a value to decode into.
impl Default for WorldSchema {
    fn default() -> Self {
        let classes = vec![Class::new("object", Vec::new())];
        let schema = Schema { root: root(&Op::Double, MAX_OBJECTS, &classes, WorldCoding::Bits) };
        let plain = root(&Op::Double, MAX_OBJECTS, &classes, WorldCoding::Bytes);
        Self { time: Op::Double, max_objects: MAX_OBJECTS, classes, schema, plain }
    }
}

/// Default for the largest number of objects of a world.
pub(super) const MAX_OBJECTS: u32 = 65535;

impl WorldSchema {
    /// Creates a schema of worlds with these classes, up to 65535 objects, and the time as a
    /// double.
    ///
    /// ```
    /// use tightwire::schema::{Class, WorldSchema};
    ///
    /// let twice = vec![Class::new("lamp", vec![]), Class::new("lamp", vec![])];
    /// let refused = WorldSchema::new(twice).unwrap_err();
    /// assert_eq!(refused.reason, "two variants are called `lamp`");
    /// ```
    ///
    /// # Errors
    ///
    /// [`SchemaError`] as in [`Schema::new`], and for properties that no schema can read: types
    /// serialized by hand, and conditions of which only the source text is known.
    pub fn new(classes: Vec<Class>) -> Result<Self, SchemaError> {
        Self::from_parts(Op::Double, MAX_OBJECTS, classes)
    }

    pub(super) fn from_parts(
        time: Op,
        max_objects: u32,
        classes: Vec<Class>,
    ) -> Result<Self, SchemaError> {
        let schema = Schema::new(root(&time, max_objects, &classes, WorldCoding::Bits))?;
        if !matches!(time, Op::Float | Op::Double | Op::CompressedFloat(_)) {
            let reason = format!("the time is a float, not `{time}`");
            return Err(SchemaError { path: "World.time".to_string(), reason });
        }
        for class in &classes {
            runs_in_fields(&class.properties)
                .map_err(|reason| SchemaError { path: class.name.to_string(), reason })?;
        }
        let plain = root(&time, max_objects, &classes, WorldCoding::Bytes);
        Ok(Self { time, max_objects, classes, schema, plain })
    }

    /// Changes the operation of the time: a float, a double, or a compressed float.
    ///
    /// ```
    /// use tightwire::FloatRange;
    /// use tightwire::schema::WorldSchema;
    /// use tightwire::stream::Op;
    ///
    /// let match_time = FloatRange::new(0.0, 3600.0, 0.01);
    /// let schema = WorldSchema::default().with_time(Op::CompressedFloat(match_time))?;
    /// assert!(schema.with_time(Op::Bool).is_err());
    /// # Ok::<(), tightwire::schema::SchemaError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SchemaError`] for any other operation.
    pub fn with_time(self, time: Op) -> Result<Self, SchemaError> {
        Self::from_parts(time, self.max_objects, self.classes)
    }

    /// Changes the largest number of objects, which decides how many bits the object count takes.
    ///
    /// ```
    /// use tightwire::schema::WorldSchema;
    ///
    /// let schema = WorldSchema::default().with_max_objects(1023)?;
    /// assert_eq!(schema.max_objects(), 1023);
    /// # Ok::<(), tightwire::schema::SchemaError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// None in this version. A later one may return a [`SchemaError`] as [`WorldSchema::new`] does.
    pub fn with_max_objects(self, max_objects: u32) -> Result<Self, SchemaError> {
        Self::from_parts(self.time, max_objects, self.classes)
    }

    /// Classes in the order of their ordinals.
    #[must_use]
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Operation of the time.
    #[must_use]
    pub fn time(&self) -> &Op {
        &self.time
    }

    /// Largest number of objects of a world.
    #[must_use]
    pub fn max_objects(&self) -> u32 {
        self.max_objects
    }

    /// Schema of a world in bits: its fingerprint is a protocol id, its diff compares two schemas,
    /// and it explains a packet bit by bit.
    ///
    /// ```
    /// use tightwire::schema::{Representation, World, WorldSchema};
    ///
    /// let schema = WorldSchema::default();
    /// let packet = World::new(0.5).write(Representation::Bits, &schema)?;
    /// let trace = schema.schema().explain(&packet);
    /// assert_eq!(trace.spans().next().unwrap().path(), "World.time");
    /// # Ok::<(), tightwire::schema::WorldError>(())
    /// ```
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Shape of a world in bytes.
    pub(super) fn plain(&self) -> &Shape {
        &self.plain
    }

    /// Shape of an object without its id: an enum of the classes.
    #[cfg(feature = "formats")]
    pub(super) fn object(&self) -> Shape {
        class_shape(&self.classes)
    }
}

/// Form of a world that a shape describes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WorldCoding {
    Bits,
    Bytes,
}

fn root(time: &Op, max_objects: u32, classes: &[Class], form: WorldCoding) -> Shape {
    let mut class = class_shape(classes);
    if form == WorldCoding::Bytes {
        without_varints(&mut class);
    }
    let id = match form {
        WorldCoding::Bits => id_step(),
        WorldCoding::Bytes => Shape::Op(int(0, u32::MAX.into())),
    };
    let object = vec![Field::new("id", id), Field::new("class", class)];
    let element = Box::new(Shape::Struct { name: "Object".into(), fields: object });
    let fields = vec![
        Field::new("time", Shape::Op(time.clone())),
        Field::new("objects", Shape::List { max_len: max_objects.into(), element }),
    ];
    Shape::Struct { name: "World".into(), fields }
}

/// Returns an enum whose variants are the classes.
pub(super) fn class_shape(classes: &[Class]) -> Shape {
    let variants = classes
        .iter()
        .map(|class| Variant { name: class.name.clone(), fields: class.properties.clone() });
    Shape::Enum { name: "Class".into(), variants: variants.collect() }
}

/// Ranges of the difference between an id and the previous one. A difference of 1, the most common,
/// takes one bit and has no range. The ranges do not overlap, so that each id has exactly one code.
pub(super) const STEPS: [(&str, u128, u128); 4] = [
    ("near", 2, 9),
    ("mid", 10, 73),
    ("far", 74, 1097),
    // The first id is relative to -1.
    ("any", 1098, 1 << 32),
];

/// Name of the only field of a range.
pub(super) const STEP: &str = "step";

fn id_step() -> Shape {
    let variants = STEPS.map(|(name, min, max)| Variant {
        name: name.into(),
        fields: vec![Field::new(STEP, Shape::Op(int(min, max)))],
    });
    Shape::Option(Box::new(Shape::Enum { name: "Step".into(), variants: variants.into() }))
}

fn int(min: u128, max: u128) -> Op {
    Op::Int { min: Number::Unsigned(min), max: Number::Unsigned(max) }
}

/// Replaces variable-length integers by the full width of their type.
fn without_varints(shape: &mut Shape) {
    let of_fields = |fields: &mut Vec<Field>| {
        fields.iter_mut().for_each(|field| without_varints(&mut field.shape));
    };
    match shape {
        Shape::Op(op) => {
            if let Op::Varint { bits, signed } = *op {
                let max = u128::MAX >> (128 - bits.clamp(1, 128));
                *op = match signed {
                    false => int(0, max),
                    true => {
                        let max = (max >> 1).cast_signed();
                        Op::Int { min: Number::Signed(!max), max: Number::Signed(max) }
                    }
                };
            }
        }
        Shape::Struct { fields, .. } => of_fields(fields),
        Shape::Enum { variants, .. } => {
            variants.iter_mut().for_each(|variant| of_fields(&mut variant.fields));
        }
        Shape::Option(inner) => without_varints(inner),
        Shape::Array { element, .. } | Shape::List { element, .. } => without_varints(element),
        Shape::Opaque { .. } => {}
    }
}

/// Checks that a schema can read the fields, or returns the reason why not.
fn runs_in_fields(fields: &[Field]) -> Result<(), String> {
    for field in fields {
        if let Some(condition) = &field.when
            && has_source(condition)
        {
            return Err(format!("`{}`: the condition `{condition}` is no data", field.name));
        }
        runs(&field.shape).map_err(|reason| format!("`{}`: {reason}", field.name))?;
    }
    Ok(())
}

fn runs(shape: &Shape) -> Result<(), String> {
    match shape {
        Shape::Op(op @ (Op::Index { .. } | Op::IntRelative | Op::Selection { .. })) => {
            Err(format!("`{op}` depends on what only the program knows"))
        }
        Shape::Op(_) => Ok(()),
        Shape::Struct { fields, .. } => runs_in_fields(fields),
        Shape::Enum { variants, .. } => {
            variants.iter().try_for_each(|variant| runs_in_fields(&variant.fields))
        }
        Shape::Option(inner) => runs(inner),
        Shape::Array { element, .. } | Shape::List { element, .. } => runs(element),
        Shape::Opaque { name, .. } => {
            Err(format!("`{name}` is serialized by hand, which no schema describes"))
        }
    }
}

fn has_source(condition: &Condition) -> bool {
    match condition {
        Condition::Source(_) => true,
        Condition::Len(of) | Condition::IsSome(of) | Condition::Not(of) => has_source(of),
        Condition::Binary(_, operands) => operands.iter().any(has_source),
        Condition::Field(_) | Condition::Bool(_) | Condition::Number(_) | Condition::Variant(_) => {
            false
        }
    }
}
