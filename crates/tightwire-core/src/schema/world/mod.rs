//! Worlds of objects relative to a schema, and several representations of the same world.

mod class;
#[cfg(feature = "bevy_ecs-019")]
mod entity;
mod error;
#[cfg(feature = "formats")]
mod json;
#[cfg(feature = "formats")]
mod json_read;
#[cfg(feature = "serde")]
mod json_schema;
#[cfg(feature = "formats")]
mod json_world;
#[cfg(feature = "formats")]
mod leaf;
mod object;
#[cfg(feature = "formats")]
mod text;
#[cfg(feature = "formats")]
mod text_rules;
mod tree;
mod wire;
#[cfg(feature = "formats")]
mod xml;
#[cfg(feature = "formats")]
mod xml_read;

use alloc::vec::Vec;
use core::fmt;

pub use class::{Class, WorldSchema};
pub use error::WorldError;
pub use object::{Object, ObjectId};

/// The objects of a game at one time.
///
/// The [`WorldSchema`] describes the objects, and the other side gets it once; then worlds are
/// written and read relative to it.
///
/// ```
/// use tightwire::Wire;
/// use tightwire::schema::{Class, Object, Representation, World, WorldSchema};
///
/// #[derive(Wire, Default, PartialEq, Debug)]
/// struct Grunt {
///     #[wire(range = 0..=100)]
///     health: u8,
/// }
///
/// let schema = WorldSchema::new(vec![Class::of::<Grunt>()?])?;
/// let mut world = World::new(0.5);
/// world.insert(Object::of(100, &Grunt { health: 10 })?);
/// let packet = world.write(Representation::Bits, &schema)?;
/// let read = World::read(Representation::Bits, &packet, &schema)?;
/// assert_eq!(read, world);
/// assert_eq!(read.get(100).unwrap().value::<Grunt>()?, Grunt { health: 10 });
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct World {
    /// Time of the world, in seconds or any unit of the game.
    pub time: f64,
    /// Objects, sorted by id without duplicates.
    objects: Vec<Object>,
}

/// Representation of a world: from readable text to the bits of the network.
///
/// ```
/// use tightwire::schema::Representation;
///
/// assert_eq!(Representation::Bits.name(), "bits");
/// assert_eq!(Representation::ALL.last(), Some(&Representation::Bits));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Representation {
    /// XML with the names of classes and properties.
    #[cfg(feature = "formats")]
    Xml,
    /// JSON with the names of classes and properties.
    #[cfg(feature = "formats")]
    Json,
    /// JSON relative to the schema: ordinals of classes, lists of values.
    #[cfg(feature = "formats")]
    RelativeJson,
    /// Text relative to the schema: a line for each object, with only its values.
    #[cfg(feature = "formats")]
    Text,
    /// Every value in a fixed number of whole bytes.
    Bytes,
    /// Every value in the bits that its range needs.
    Bits,
}

impl Representation {
    /// All representations of this build's features, the largest first.
    pub const ALL: &'static [Self] = &[
        #[cfg(feature = "formats")]
        Self::Xml,
        #[cfg(feature = "formats")]
        Self::Json,
        #[cfg(feature = "formats")]
        Self::RelativeJson,
        #[cfg(feature = "formats")]
        Self::Text,
        Self::Bytes,
        Self::Bits,
    ];

    /// Name of the representation.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "formats")]
            Self::Xml => "XML",
            #[cfg(feature = "formats")]
            Self::Json => "JSON",
            #[cfg(feature = "formats")]
            Self::RelativeJson => "relative JSON",
            #[cfg(feature = "formats")]
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Bits => "bits",
        }
    }
}

impl fmt::Display for Representation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl World {
    /// Creates a world without objects.
    #[must_use]
    pub fn new(time: f64) -> Self {
        Self { time, objects: Vec::new() }
    }

    /// The objects, sorted by id.
    #[must_use]
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Inserts an object, and returns the previous object with its id.
    ///
    /// ```
    /// use tightwire::schema::{Object, World};
    ///
    /// let mut world = World::new(0.0);
    /// assert_eq!(world.insert(Object::new(7, "grunt")), None);
    /// assert_eq!(world.insert(Object::new(7, "weapon")), Some(Object::new(7, "grunt")));
    /// assert_eq!(world.objects().len(), 1);
    /// ```
    pub fn insert(&mut self, object: Object) -> Option<Object> {
        match self.place(object.id()) {
            Ok(place) => self.objects.get_mut(place).map(|old| core::mem::replace(old, object)),
            Err(place) => {
                self.objects.insert(place, object);
                None
            }
        }
    }

    /// Removes an object and returns it.
    ///
    /// ```
    /// use tightwire::schema::{Object, World};
    ///
    /// let mut world = World::new(0.0);
    /// world.insert(Object::new(7, "grunt"));
    /// assert_eq!(world.remove(7), Some(Object::new(7, "grunt")));
    /// assert_eq!(world.remove(7), None);
    /// ```
    pub fn remove(&mut self, id: impl Into<ObjectId>) -> Option<Object> {
        self.place(id.into()).ok().map(|place| self.objects.remove(place))
    }

    /// Returns the object with this id.
    #[must_use]
    pub fn get(&self, id: impl Into<ObjectId>) -> Option<&Object> {
        self.place(id.into()).ok().and_then(|place| self.objects.get(place))
    }

    /// Like [`get`](Self::get), with a mutable reference.
    ///
    /// ```
    /// use tightwire::schema::{Object, World};
    ///
    /// let mut world = World::new(0.0);
    /// world.insert(Object::new(7, "grunt").with("health", 10u64));
    /// *world.get_mut(7).unwrap().get_mut("health").unwrap() = 9u64.into();
    /// assert_eq!(world.get(7).unwrap().to_string(), "grunt 7 { health: 9 }");
    /// ```
    #[must_use]
    pub fn get_mut(&mut self, id: impl Into<ObjectId>) -> Option<&mut Object> {
        self.place(id.into()).ok().and_then(|place| self.objects.get_mut(place))
    }

    fn place(&self, id: ObjectId) -> Result<usize, usize> {
        match self.objects.last() {
            // Most worlds are filled in ascending order.
            Some(last) if last.id() < id => Err(self.objects.len()),
            _ => self.objects.binary_search_by_key(&id, Object::id),
        }
    }

    /// Returns the world as it arrives over the network: properties in the order of the schema,
    /// without those whose condition does not hold, and floats at their resolution. It is the same
    /// in all representations.
    ///
    /// ```
    /// use tightwire::FloatRange;
    /// use tightwire::schema::{Class, Object, World, WorldSchema};
    /// use tightwire::stream::{Field, Op, Shape};
    ///
    /// let tenths = Shape::Op(Op::CompressedFloat(FloatRange::new(0.0, 10.0, 0.5)));
    /// let schema = WorldSchema::new(vec![Class::new("lamp", vec![Field::new("light", tenths)])])?;
    /// let mut world = World::new(0.0);
    /// world.insert(Object::new(1, "lamp").with("light", 7.3f32));
    /// assert_eq!(world.quantised(&schema)?.get(1).unwrap().to_string(), "lamp 1 { light: 7.5 }");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`WorldError::Refused`] names the value that does not match the schema.
    pub fn quantised(&self, schema: &WorldSchema) -> Result<Self, WorldError> {
        Ok(tree::settle(self, schema)?.world)
    }

    /// Writes the [quantised](Self::quantised) world.
    ///
    /// ```
    /// use tightwire::schema::{Object, Representation, World, WorldSchema};
    ///
    /// let mut world = World::new(0.0);
    /// world.insert(Object::new(7, "object"));
    /// let bytes = world.write(Representation::Bytes, &WorldSchema::default())?;
    /// assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 7, 0, 0, 0]);
    /// # Ok::<(), tightwire::schema::WorldError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`WorldError::Refused`] names the value that does not match the schema.
    pub fn write(
        &self,
        representation: Representation,
        schema: &WorldSchema,
    ) -> Result<Vec<u8>, WorldError> {
        let quantised = tree::settle(self, schema)?;
        match representation {
            #[cfg(feature = "formats")]
            Representation::Xml => xml::write(&quantised.world, schema),
            #[cfg(feature = "formats")]
            Representation::Json => json::write(&quantised.world, schema, json::JsonStyle::Named),
            #[cfg(feature = "formats")]
            Representation::RelativeJson => {
                json::write(&quantised.world, schema, json::JsonStyle::Relative)
            }
            #[cfg(feature = "formats")]
            Representation::Text => text::write(&quantised.world, schema),
            Representation::Bytes => tree::write_bytes(&quantised.world, schema),
            Representation::Bits => Ok(quantised.bits),
        }
    }

    /// Reads a world, and [settles](Self::quantised) it. For any input, the memory is in proportion
    /// to the bytes.
    ///
    /// ```
    /// use tightwire::schema::{Object, Representation, World, WorldSchema};
    ///
    /// let bytes = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 7, 0, 0, 0];
    /// let world = World::read(Representation::Bytes, &bytes, &WorldSchema::default())?;
    /// assert_eq!(world.objects(), [Object::new(7, "object")]);
    /// # Ok::<(), tightwire::schema::WorldError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`WorldError`] for anything but a complete valid world, with the position and the expected
    /// value.
    pub fn read(
        representation: Representation,
        bytes: &[u8],
        schema: &WorldSchema,
    ) -> Result<Self, WorldError> {
        let world = match representation {
            #[cfg(feature = "formats")]
            Representation::Xml => xml_read::read(bytes, schema)?,
            #[cfg(feature = "formats")]
            Representation::Json => json_world::read(bytes, schema, json::JsonStyle::Named)?,
            #[cfg(feature = "formats")]
            Representation::RelativeJson => {
                json_world::read(bytes, schema, json::JsonStyle::Relative)?
            }
            #[cfg(feature = "formats")]
            Representation::Text => text::read(bytes, schema)?,
            Representation::Bytes => tree::read_bytes(bytes, schema)?,
            Representation::Bits => tree::read_bits(bytes, schema)?,
        };
        world.quantised(schema)
    }
}
