//! The objects of a world.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::WorldError;
use crate::schema::{Dynamic, Schema};
use crate::stream::{Name, Op, Shape, Stream, Target, Wire, decode, encode_explained, measure};

/// Id of an object, and a property that refers to another object.
///
/// On the wire a reference is a varint: one byte for ids below 128. A reference is not checked: the
/// other side may have the object from an earlier world.
///
/// ```
/// use tightwire::{ObjectId, Wire};
///
/// #[derive(Wire)]
/// struct Player {
///     weapon: ObjectId,
/// }
/// assert_eq!(tightwire::measure(&Player { weapon: 110.into() }), 8);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ObjectId(pub u32);

impl From<u32> for ObjectId {
    fn from(id: u32) -> Self {
        Self(id)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Wire for ObjectId {
    const MAX_BITS: u64 = 40;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.varint(this.into_parts(|id| &id.0, |id| &mut id.0))
    }

    fn describe() -> Shape {
        Shape::Op(Op::varint::<u32>())
    }
}

/// An object of a world: its id, its class and its properties.
///
/// ```
/// use tightwire::schema::{Dynamic, Object};
///
/// let grunt = Object::new(100, "grunt").with("health", 10u64);
/// assert_eq!(grunt.get("health"), Some(&Dynamic::from(10u64)));
/// assert_eq!(grunt.to_string(), "grunt 100 { health: 10 }");
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Object {
    id: ObjectId,
    /// Name of the class.
    pub class: Name,
    /// Properties of the object, in the order of the schema once the world is
    /// [quantised](super::World::quantised).
    pub properties: Vec<(Name, Dynamic)>,
}

impl Object {
    /// Creates an object without properties.
    #[must_use]
    pub fn new(id: impl Into<ObjectId>, class: &str) -> Self {
        Self { id: id.into(), class: class.into(), properties: Vec::new() }
    }

    pub(super) fn from_parts(id: u32, class: Name, properties: Vec<(Name, Dynamic)>) -> Self {
        Self { id: ObjectId(id), class, properties }
    }

    /// Creates an object from a struct that derives [`Wire`]: its fields are the properties, and
    /// the name of its type is the class.
    ///
    /// ```
    /// use tightwire::Wire;
    /// use tightwire::schema::Object;
    ///
    /// #[derive(Wire)]
    /// struct Weapon {
    ///     #[wire(range = 0..=9)]
    ///     ammo: u8,
    /// }
    /// assert_eq!(Object::of(110, &Weapon { ammo: 8 })?.to_string(), "Weapon 110 { ammo: 8 }");
    /// # Ok::<(), tightwire::schema::WorldError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`WorldError`] with the path and the value if one is out of its range, or if `T` is not a
    /// struct that derives [`Wire`].
    pub fn of<T: Wire>(id: impl Into<ObjectId>, value: &T) -> Result<Self, WorldError> {
        let mut buffer = vec![0; measure(value).div_ceil(8) as usize];
        let packet = encode_explained(value, &mut buffer)?;
        match Schema::of::<T>().decode(packet)? {
            Dynamic::Struct { name: class, fields: properties } => {
                Ok(Self { id: id.into(), class, properties })
            }
            other => {
                let reason = format!("an object is made of a struct, not {}", other.kind());
                Err(WorldError::refused("World", reason))
            }
        }
    }

    /// Returns the properties as a struct that derives [`Wire`]: the reverse of [`of`](Self::of).
    ///
    /// ```
    /// use tightwire::Wire;
    /// use tightwire::schema::Object;
    ///
    /// #[derive(Wire, Default)]
    /// struct Lamp {
    ///     lit: bool,
    /// }
    /// let lamp = Object::new(7, "lamp").with("lit", true);
    /// assert!(lamp.value::<Lamp>()?.lit);
    /// # Ok::<(), tightwire::schema::WorldError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`WorldError`] if the properties are not the fields of the struct.
    pub fn value<T: Wire + Default>(&self) -> Result<T, WorldError> {
        let schema = Schema::of::<T>();
        let fields = self.properties.clone();
        let tree = Dynamic::Struct { name: self.class.clone(), fields };
        let packet = schema.encode_to_vec(&tree)?;
        Ok(decode(&packet)?)
    }

    /// Adds a property.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Dynamic>) -> Self {
        self.properties.push((name.into(), value.into()));
        self
    }

    /// Id of the object. It cannot change, because a world is sorted by it.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Returns the property with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Dynamic> {
        self.properties.iter().find(|(property, _)| **property == *name).map(|(_, value)| value)
    }

    /// Like [`get`](Self::get), with a mutable reference.
    #[must_use]
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Dynamic> {
        self.properties.iter_mut().find(|(property, _)| **property == *name).map(|(_, value)| value)
    }
}

/// The object on one line: class, id, properties.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.class, self.id)?;
        for (index, (name, value)) in self.properties.iter().enumerate() {
            write!(f, "{} {name}: {value}", if index == 0 { " {" } else { "," })?;
        }
        f.write_str(if self.properties.is_empty() { "" } else { " }" })
    }
}
