//! Entities of Bevy as ids of objects.

use bevy_ecs_019::entity::{Entity, EntityGeneration, EntityIndex};

use super::ObjectId;
use crate::stream::{Int as _, Number, Op, Shape, Stream, Target, Wire};

/// The code of no entity; those below are ids.
const NONE: u32 = 0xf_ffff;

/// Code of an entity that is not mapped: no id and not [`NONE`].
const NOT_MAPPED: u32 = u32::MAX;

/// The generation of entities on the wire, which no world reaches.
const WIRE: EntityGeneration = EntityGeneration::from_bits(u32::MAX);

impl ObjectId {
    /// The entity that stands for this object on the wire: it is of no world, and all that can be done
    /// with it is to send it, or to map it back. None above 1,048,574, the largest id that an entity
    /// is sent as.
    ///
    /// ```
    /// use tightwire::ObjectId;
    ///
    /// let entity = ObjectId(7).to_wire_entity().unwrap();
    /// assert_eq!(ObjectId::of_wire_entity(entity), Some(ObjectId(7)));
    /// assert_eq!(ObjectId(1 << 20).to_wire_entity(), None);
    /// ```
    #[must_use]
    pub const fn to_wire_entity(self) -> Option<Entity> {
        if self.0 >= NONE {
            return None;
        }
        match EntityIndex::from_raw_u32(self.0) {
            Some(index) => Some(Entity::from_index_and_generation(index, WIRE)),
            None => None,
        }
    }

    /// The object that an entity from the wire stands for; none of
    /// [`Entity::PLACEHOLDER`](Entity::PLACEHOLDER), and of entities of a world.
    ///
    /// ```
    /// use bevy_ecs_019::entity::Entity;
    /// use tightwire::ObjectId;
    ///
    /// assert_eq!(ObjectId::of_wire_entity(Entity::PLACEHOLDER), None);
    /// assert_eq!(ObjectId::of_wire_entity(Entity::from_raw_u32(7).unwrap()), None);
    /// ```
    #[must_use]
    pub fn of_wire_entity(entity: Entity) -> Option<Self> {
        let is_wire = entity.generation() == WIRE && entity.index_u32() < NONE;
        is_wire.then(|| Self(entity.index_u32()))
    }
}

/// The id of an object in 20 bits, or that there is none, as
/// [`Entity::PLACEHOLDER`](Entity::PLACEHOLDER).
///
/// An entity of a world means nothing to another: before it is written it has to be mapped to that
/// [of its object](ObjectId::to_wire_entity), as by `MapEntities`, and mapped back after it was read. One
/// that was forgotten is refused, with the name of its field, and no wrong entity at the other side.
///
/// ```
/// use bevy_ecs_019::entity::Entity;
/// use tightwire::{ObjectId, Wire, decode, encode, encode_explained};
///
/// #[derive(Wire)]
/// struct Missile {
///     target: Entity,
/// }
/// assert_eq!(Missile::MAX_BITS, 20);
///
/// let mut buffer = [0; 8];
/// let missile = Missile { target: ObjectId(7).to_wire_entity().unwrap() };
/// let packet = encode(&missile, &mut buffer)?;
/// let mut read = Missile { target: Entity::PLACEHOLDER };
/// tightwire::decode_into(packet, &mut read)?;
/// assert_eq!(ObjectId::of_wire_entity(read.target), Some(ObjectId(7)));
///
/// let of_a_world = Missile { target: Entity::from_raw_u32(7).unwrap() };
/// let refused = encode_explained(&of_a_world, &mut buffer).unwrap_err();
/// assert!(refused.to_string().starts_with("Missile.target"));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
impl Wire for Entity {
    const MAX_BITS: u64 = 20;
    const FIXED_BITS: Option<u32> = Some(20);

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let mut code = match ObjectId::of_wire_entity(*this) {
            Some(id) => id.0,
            None if *this == Self::PLACEHOLDER => NONE,
            None => NOT_MAPPED,
        };
        stream.int(&mut code, 0..=NONE)?;
        this.put(ObjectId(code).to_wire_entity().unwrap_or(Self::PLACEHOLDER));
        Ok(())
    }

    fn describe() -> Shape {
        Shape::Op(Op::Int { min: Number::Unsigned(0), max: NONE.number() })
    }
}
