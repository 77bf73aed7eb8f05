//! Codecs: the wire forms of components.

use core::marker::PhantomData;

use bevy_ecs::component::Component;
use bevy_ecs::entity::{Entity, EntityMapper};
use bevy_ecs::relationship::Relationship;
use tightwire::Wire;
use tightwire::stream::{ReadError, ReadStream, Shape, Stream, WriteStream};

use crate::component::NetComponent;

/// The wire form of a component: derived by [`Wire`], or written by hand for components of other
/// crates.
///
/// The ranges of a codec can be known at run time only, for example the size of a level. They are
/// part of the protocol id: two sides with different ranges refuse each other.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::{Codec, WireEntities};
/// use bevy_tightwire::tightwire::stream::{
///     Number, Op, ReadError, ReadStream, Shape, Stream, WriteStream,
/// };
///
/// /// A component of another crate.
/// #[derive(Component)]
/// struct Fuel(u32);
///
/// struct FuelCodec {
///     most: u32,
/// }
///
/// impl Codec<Fuel> for FuelCodec {
///     fn shape(&self) -> Shape {
///         let (min, max) = (Number::Unsigned(0), Number::Unsigned(self.most.into()));
///         Shape::Op(Op::Int { min, max })
///     }
///
///     fn write(&self, fuel: &Fuel, stream: &mut WriteStream<'_>, _: &mut WireEntities<'_>) {
///         let Ok(()) = stream.int(&fuel.0.min(self.most), 0..=self.most);
///     }
///
///     fn read(&self, stream: &mut ReadStream<'_>, _: &mut WireEntities<'_>) -> Result<Fuel, ReadError> {
///         let mut fuel = 0;
///         stream.int(&mut fuel, 0..=self.most)?;
///         Ok(Fuel(fuel))
///     }
/// }
/// # use bevy_app::App;
/// # use bevy_tightwire::prelude::*;
/// let mut app = App::new();
/// app.replicate_as::<Fuel, _>(FuelCodec { most: 500 });
/// ```
pub trait Codec<C>: Send + Sync + 'static {
    /// Returns the wire form as data. [`write`](Self::write) must write this shape.
    fn shape(&self) -> Shape;

    /// Writes a component. Maps the entities in it by `entities` before they are written.
    fn write(&self, value: &C, stream: &mut WriteStream<'_>, entities: &mut WireEntities<'_>);

    /// Reads a component. Maps the entities in it by `entities` after they are read.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the bytes are not a valid component.
    fn read(
        &self,
        stream: &mut ReadStream<'_>,
        entities: &mut WireEntities<'_>,
    ) -> Result<C, ReadError>;

    /// Explains why a value cannot be written into `room` bytes, by the name of its field; `None` if
    /// the codec cannot tell.
    #[doc(hidden)]
    fn refusal(&self, value: &C, room: usize) -> Option<String> {
        let _ = (value, room);
        None
    }

    /// Whether an entity gets this component. A relation without a target, for example, is left
    /// out. Default: `true`.
    fn is_present(&self, value: &C) -> bool {
        let _ = value;
        true
    }
}

/// Maps entities of a world to those on the wire, or back. An entity that the other side does not
/// have becomes [`Entity::PLACEHOLDER`].
pub struct WireEntities<'m> {
    map: &'m mut dyn FnMut(Entity) -> Option<Entity>,
    /// The first entity that could not be mapped.
    missing: Option<Entity>,
}

impl<'m> WireEntities<'m> {
    pub(crate) fn new(map: &'m mut dyn FnMut(Entity) -> Option<Entity>) -> Self {
        Self { map, missing: None }
    }

    /// Returns the entity of the other side that stands for the same object.
    pub fn get(&mut self, entity: Entity) -> Entity {
        if entity == Entity::PLACEHOLDER {
            return entity;
        }
        (self.map)(entity).unwrap_or_else(|| {
            self.missing.get_or_insert(entity);
            Entity::PLACEHOLDER
        })
    }

    /// The first entity that could not be mapped; `None` if all were.
    pub(crate) fn missing(&self) -> Option<Entity> {
        self.missing
    }
}

impl EntityMapper for WireEntities<'_> {
    fn get_mapped(&mut self, source: Entity) -> Entity {
        self.get(source)
    }

    fn set_mapped(&mut self, _: Entity, _: Entity) {}
}

impl core::fmt::Debug for WireEntities<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WireEntities").field("missing", &self.missing).finish_non_exhaustive()
    }
}

/// The codec of a [`NetComponent`]: its own serialize function.
pub(crate) struct Derived;

impl<C: NetComponent> Codec<C> for Derived {
    fn shape(&self) -> Shape {
        C::describe()
    }

    fn write(&self, value: &C, stream: &mut WriteStream<'_>, _: &mut WireEntities<'_>) {
        let Ok(()) = stream.object(value);
    }

    fn read(&self, stream: &mut ReadStream<'_>, _: &mut WireEntities<'_>) -> Result<C, ReadError> {
        let mut value = C::default();
        stream.object(&mut value)?;
        Ok(value)
    }

    fn refusal(&self, value: &C, room: usize) -> Option<String> {
        refusal(value, room)
    }
}

fn refusal<W: Wire>(value: &W, room: usize) -> Option<String> {
    tightwire::encode_explained(value, &mut vec![0; room]).err().map(|error| error.to_string())
}

/// The codec of a [`NetComponent`] with entities: a clone of it is mapped before it is written.
pub(crate) struct Mapped;

impl<C: NetComponent + Clone> Codec<C> for Mapped {
    fn shape(&self) -> Shape {
        C::describe()
    }

    fn write(&self, value: &C, stream: &mut WriteStream<'_>, entities: &mut WireEntities<'_>) {
        let mut value = value.clone();
        <C as Component>::map_entities(&mut value, entities);
        let Ok(()) = stream.object(&value);
    }

    fn read(
        &self,
        stream: &mut ReadStream<'_>,
        entities: &mut WireEntities<'_>,
    ) -> Result<C, ReadError> {
        let mut value = C::default();
        stream.object(&mut value)?;
        <C as Component>::map_entities(&mut value, entities);
        Ok(value)
    }
}

/// The codec of a component without data, whose presence is its only information.
pub(crate) struct Marker<C>(pub(crate) PhantomData<fn() -> C>);

impl<C: Default + Send + Sync + 'static> Codec<C> for Marker<C> {
    fn shape(&self) -> Shape {
        Shape::Struct { name: "Marker".into(), fields: Vec::new() }
    }

    fn write(&self, _: &C, _: &mut WriteStream<'_>, _: &mut WireEntities<'_>) {}

    fn read(&self, _: &mut ReadStream<'_>, _: &mut WireEntities<'_>) -> Result<C, ReadError> {
        Ok(C::default())
    }
}

/// The codec of relations between entities, as [`ChildOf`](bevy_ecs::hierarchy::ChildOf).
///
/// A client inserts a relation once it has the target entity.
///
/// ```
/// use bevy_app::App;
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
///
/// let mut app = App::new();
/// app.replicate_as::<ChildOf, _>(RelationCodec);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct RelationCodec;

impl<R: Relationship> Codec<R> for RelationCodec {
    fn shape(&self) -> Shape {
        Entity::describe()
    }

    fn write(&self, value: &R, stream: &mut WriteStream<'_>, entities: &mut WireEntities<'_>) {
        let Ok(()) = stream.object(&entities.get(value.get()));
    }

    fn read(
        &self,
        stream: &mut ReadStream<'_>,
        entities: &mut WireEntities<'_>,
    ) -> Result<R, ReadError> {
        let mut target = Entity::PLACEHOLDER;
        stream.object(&mut target)?;
        Ok(R::from(entities.get(target)))
    }

    fn is_present(&self, value: &R) -> bool {
        value.get() != Entity::PLACEHOLDER
    }
}
