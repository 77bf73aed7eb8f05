//! One replicated component: the typed code behind an untyped interface.

use bevy_ecs::change_detection::{DetectChanges, Ref, Tick};
use bevy_ecs::component::{Component, ComponentMutability};
use bevy_ecs::entity::Entity;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::query::{Has, QueryState, With};
use bevy_ecs::world::{EntityRef, EntityWorldMut, World};
use tightwire::ObjectId;
use tightwire::schema::Schema;
use tightwire::snapshot::{Config, LayoutError, Protocol, ProtocolError, Row, RowBuffer};
use tightwire::stream::{ReadStream, Shape, WriteStream};

use crate::client::EntityMap;
use crate::codec::{Codec, WireEntities};
use crate::component::WriteMode;
use crate::history::History;
use crate::server::{Collector, NetSlot, Replicated};

/// A replicated component. Erasure is per component and not per value: everything that knows the
/// type is behind these functions, and nothing casts a pointer.
pub(crate) trait Column: Send + Sync {
    fn shape(&self) -> Shape;

    /// Builds the layout, and returns its number of columns.
    fn prepare(&mut self, world: &mut World, config: Config) -> Result<usize, ProtocolError>;

    /// Number of components of the position in the component; 0 if it has none.
    fn position_axes(&self) -> usize;

    /// Appends the slots of replicated entities whose component changed, or with `is_once` was
    /// added, since a change tick.
    fn scan(&mut self, world: &World, since: Since, is_once: bool, changed: &mut Vec<u32>);

    /// Quantises the component of an entity; `None` if it has none.
    fn quantise(
        &mut self,
        entity: EntityRef<'_>,
        entities: &mut WireEntities<'_>,
    ) -> Result<Option<&[u32]>, String>;

    /// Writes the component of an entity of a client from its cells.
    fn write(&mut self, world: &mut World, entity: Entity, cells: &[u32]) -> Written;

    /// Whether cells of two components differ, numbers by more than a tolerance in codes.
    #[cfg(feature = "test")]
    fn differs(&self, one: &[u32], other: &[u32], tolerance: u32) -> bool;

    /// Decodes cells to a component, as a value of its type.
    fn decode_any(
        &self,
        cells: &[u32],
        entities: &mut WireEntities<'_>,
    ) -> Option<Box<dyn core::any::Any>>;

    fn remove(&self, entity: &mut EntityWorldMut<'_>);

    /// Keeps the value after a tick, if the component is predicted.
    fn record(&mut self, entity: EntityRef<'_>, tick: u32);

    /// Sets the component back to the state after a tick: the value that was kept, if its cells are
    /// these ones, or else that of the cells. `None` if the entity did not have it.
    fn restore(&mut self, world: &mut World, entity: Entity, tick: u32, cells: Option<&[u32]>);

    /// Sets the component back to the kept value after a tick, if there is one.
    fn put_back(&mut self, entity: &mut EntityWorldMut<'_>, tick: u32);

    fn forget(&mut self, entity: Entity);

    fn forget_all(&mut self);

    /// Rounds the component of an entity to the resolution of the wire form.
    fn round(&mut self, entity: &mut EntityWorldMut<'_>);

    /// Writes the component of an entity of a client between two states, by the function of the
    /// game.
    fn write_between(&mut self, world: &mut World, entity: Entity, between: Between<'_>)
    -> Written;

    /// Writes the component between its kept values after a tick and after the one before it, by
    /// the function of the game; returns whether there are such values.
    fn show_kept(&self, entity: &mut EntityWorldMut<'_>, tick: u32, fraction: f32) -> bool;

    /// Writes past cells of entities on a server, where they differ from the present. Returns the
    /// way back.
    fn rewind(&mut self, world: &mut World, past: &[(Entity, &[u32])]) -> Undo;

    /// Gives access to the [`TypedSettings`].
    fn as_any(&mut self) -> &mut dyn core::any::Any;
}

/// A function that puts the present back into the world.
pub(crate) type Undo = Box<dyn FnOnce(&mut World)>;

/// The cells between which a component is interpolated, and the fraction of the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between<'c> {
    pub(crate) before: &'c [u32],
    pub(crate) after: &'c [u32],
    pub(crate) fraction: f32,
}

/// Settings of a component that depend on its type.
pub(crate) struct TypedSettings<C> {
    /// Values after the last ticks; `None` if the component is not predicted.
    pub(crate) history: Option<History<C>>,
    /// The game's function that interpolates; `None` if the layout does.
    pub(crate) between: Option<fn(&C, &C, f32) -> C>,
}

impl<C> Default for TypedSettings<C> {
    fn default() -> Self {
        Self { history: None, between: None }
    }
}

/// The outcome of writing a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    Done,
    /// The component names an entity that does not exist here yet.
    Waits,
    /// The cells are of no valid value.
    Refused,
}

/// The change ticks between which a scan finds changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since {
    pub(crate) last: Tick,
    pub(crate) now: Tick,
}

pub(crate) struct ColumnOf<C: Component, K> {
    codec: K,
    protocol: Option<Protocol>,
    query: Option<SlotQuery<C>>,
    pub(crate) typed: TypedSettings<C>,
    packet: Vec<u8>,
    row: RowBuffer,
}

/// `Has<Disabled>` lets disabled entities in: `Allow<Disabled>` is no filter of archetypes.
type SlotQuery<C> =
    QueryState<(&'static NetSlot, Ref<'static, C>, Has<Disabled>), With<Replicated>>;

impl<C: Component, K: Codec<C>> ColumnOf<C, K> {
    pub(crate) fn new(codec: K) -> Self {
        Self {
            codec,
            protocol: None,
            query: None,
            typed: TypedSettings::default(),
            packet: Vec::new(),
            row: RowBuffer::default(),
        }
    }

    /// Quantises a value into `self.row`.
    fn quantise_value(
        codec: &K,
        protocol: Option<&Protocol>,
        value: &C,
        entities: &mut WireEntities<'_>,
        packet: &mut [u8],
        row: &mut RowBuffer,
    ) -> Result<(), String> {
        let Some(protocol) = protocol else { return Err("it is not prepared".into()) };
        let room = packet.len();
        let mut stream = WriteStream::new(packet);
        codec.write(value, &mut stream, entities);
        let written = stream
            .finish()
            .map_err(|error| codec.refusal(value, room).unwrap_or_else(|| error.to_string()))?;
        protocol.quantise_packet(0, written, row).map_err(|error| error.to_string())
    }

    fn decode(&self, cells: &[u32], entities: &mut WireEntities<'_>) -> Option<C> {
        Self::decode_value(&self.codec, self.protocol.as_ref(), cells, entities)
    }

    fn decode_value(
        codec: &K,
        protocol: Option<&Protocol>,
        cells: &[u32],
        entities: &mut WireEntities<'_>,
    ) -> Option<C> {
        let row = Row { class: 0, cells };
        protocol?.packet_of(row, |packet| {
            let mut stream = ReadStream::new(packet);
            codec.read(&mut stream, entities).ok()
        })?
    }
}

impl<C, K> Column for ColumnOf<C, K>
where
    C: Component<Mutability: WriteMode<C>>,
    K: Codec<C>,
{
    fn shape(&self) -> Shape {
        self.codec.shape()
    }

    fn prepare(&mut self, world: &mut World, config: Config) -> Result<usize, ProtocolError> {
        let name = core::any::type_name::<C>();
        let schema = Schema::new(self.shape());
        let schema = schema.map_err(|error| ProtocolError::Layout {
            class: name.into(),
            error: LayoutError { path: error.path, reason: error.reason },
        })?;
        let bytes = schema.max_bits().div_ceil(8) as usize;
        let protocol = Protocol::builder(config).class_of(name, schema).build()?;
        let columns = protocol.columns(0);
        self.packet = vec![0; bytes.next_multiple_of(8)];
        self.protocol = Some(protocol);
        self.query = Some(QueryState::new(world));
        Ok(columns)
    }

    fn position_axes(&self) -> usize {
        let groups = self.protocol.iter().flat_map(|protocol| protocol.groups(0));
        groups.filter(|group| group.is_spatial).map(|group| group.columns.len()).max().unwrap_or(0)
    }

    fn scan(&mut self, world: &World, since: Since, is_once: bool, changed: &mut Vec<u32>) {
        let Some(query) = &mut self.query else { return };
        if let Ok(tables) = query.contiguous_iter(world) {
            for (slots, components, _) in tables {
                let ticks = match is_once {
                    true => components.added_ticks_slice(),
                    false => components.changed_ticks_slice(),
                };
                collect_newer(slots, ticks, since, changed);
            }
            return;
        }
        // Sparse sets are not contiguous.
        for (slot, component, _) in query.iter(world) {
            let tick = if is_once { component.added() } else { component.last_changed() };
            if tick.is_newer_than(since.last, since.now) {
                changed.push(slot.0);
            }
        }
    }

    fn quantise(
        &mut self,
        entity: EntityRef<'_>,
        entities: &mut WireEntities<'_>,
    ) -> Result<Option<&[u32]>, String> {
        let Some(value) = entity.get::<C>() else { return Ok(None) };
        let Self { codec, protocol, packet, row, .. } = self;
        Self::quantise_value(codec, protocol.as_ref(), value, entities, packet, row)?;
        Ok(Some(self.row.row().cells))
    }

    fn write(&mut self, world: &mut World, entity: Entity, cells: &[u32]) -> Written {
        // The map is in the world while components are inserted: observers may read it.
        let map = world.resource::<EntityMap>();
        let mut map = |entity| map.map(entity);
        let mut entities = WireEntities::new(&mut map);
        let Some(value) = self.decode(cells, &mut entities) else { return Written::Refused };
        if entities.missing().is_some() {
            return Written::Waits;
        }
        // An entity that the game has despawned is not spawned again.
        let is_present = self.codec.is_present(&value);
        match world.get_entity_mut(entity) {
            Ok(mut entity) if is_present => C::Mutability::write(&mut entity, value),
            Ok(mut entity) => drop(entity.remove::<C>()),
            Err(_) => {}
        }
        Written::Done
    }

    #[cfg(feature = "test")]
    fn differs(&self, one: &[u32], other: &[u32], tolerance: u32) -> bool {
        let [one, other] = [one, other].map(|cells| Row { class: 0, cells });
        let difference =
            |protocol: &Protocol| protocol.first_difference_among(one, other, |_| Some(tolerance));
        self.protocol.as_ref().and_then(difference).is_some()
    }

    fn decode_any(
        &self,
        cells: &[u32],
        entities: &mut WireEntities<'_>,
    ) -> Option<Box<dyn core::any::Any>> {
        Some(Box::new(self.decode(cells, entities)?))
    }

    fn remove(&self, entity: &mut EntityWorldMut<'_>) {
        entity.remove::<C>();
    }

    fn record(&mut self, entity: EntityRef<'_>, tick: u32) {
        if let Some(history) = &mut self.typed.history {
            history.record(entity, tick);
        }
    }

    fn restore(&mut self, world: &mut World, entity: Entity, tick: u32, cells: Option<&[u32]>) {
        let Some(cells) = cells else {
            if let Ok(mut entity) = world.get_entity_mut(entity) {
                entity.remove::<C>();
            }
            return;
        };
        let map = world.resource::<EntityMap>();
        let mut map = |entity| map.map(entity);
        let mut entities = WireEntities::new(&mut map);
        let Self { codec, protocol, packet, row, typed, .. } = self;
        let kept = typed.history.as_ref().and_then(|history| history.get(entity, tick)?);
        let is_exact = kept.is_some_and(|value| {
            let protocol = protocol.as_ref();
            Self::quantise_value(codec, protocol, value, &mut entities, packet, row).is_ok()
                && row.row().cells == cells
        });
        // If the predicted value equals the server's at the resolution of the wire form, the
        // prediction is kept in full precision.
        let value = if is_exact { None } else { self.decode(cells, &mut entities) };
        let Ok(mut entity) = world.get_entity_mut(entity) else { return };
        match (value, &self.typed.history) {
            (Some(value), _) if self.codec.is_present(&value) => {
                C::Mutability::write_silently(&mut entity, value);
            }
            (None, Some(history)) if is_exact => drop(history.restore(&mut entity, tick)),
            _ => {}
        }
    }

    fn put_back(&mut self, entity: &mut EntityWorldMut<'_>, tick: u32) {
        if let Some(history) = &self.typed.history {
            history.restore(entity, tick);
        }
    }

    fn forget_all(&mut self) {
        if let Some(history) = &mut self.typed.history {
            history.forget_all();
        }
    }

    fn forget(&mut self, entity: Entity) {
        if let Some(history) = &mut self.typed.history {
            history.forget(entity);
        }
    }

    fn round(&mut self, entity: &mut EntityWorldMut<'_>) {
        let Some(value) = entity.get::<C>().filter(|_| C::Mutability::MUTABLE) else { return };
        let mut map = |_| None;
        let mut entities = WireEntities::new(&mut map);
        let Self { codec, protocol, packet, row, .. } = self;
        let protocol = protocol.as_ref();
        let quantised =
            Self::quantise_value(codec, protocol, value, &mut entities, packet, row).is_ok();
        let rounded = Self::decode_value(codec, protocol, row.row().cells, &mut entities)
            .filter(|_| quantised);
        // References to entities are not numbers.
        if let Some(rounded) = rounded.filter(|_| entities.missing().is_none()) {
            C::Mutability::write_silently(entity, rounded);
        }
    }

    fn write_between(
        &mut self,
        world: &mut World,
        entity: Entity,
        between: Between<'_>,
    ) -> Written {
        let Some(interpolate) = self.typed.between else {
            return self.write(world, entity, between.before);
        };
        let map = world.resource::<EntityMap>();
        let mut map = |entity| map.map(entity);
        let mut entities = WireEntities::new(&mut map);
        let before = self.decode(between.before, &mut entities);
        let after = self.decode(between.after, &mut entities);
        let (Some(before), Some(after)) = (before, after) else { return Written::Refused };
        if entities.missing().is_some() {
            return Written::Waits;
        }
        if let Ok(mut entity) = world.get_entity_mut(entity) {
            let value = interpolate(&before, &after, between.fraction);
            C::Mutability::write(&mut entity, value);
        }
        Written::Done
    }

    fn show_kept(&self, entity: &mut EntityWorldMut<'_>, tick: u32, fraction: f32) -> bool {
        let TypedSettings { history: Some(history), between: Some(between) } = &self.typed else {
            return false;
        };
        let kept = |tick| history.get(entity.id(), tick).flatten();
        let Some(after) = kept(tick) else { return false };
        let before = tick.checked_sub(1).and_then(kept).unwrap_or(after);
        let value = between(before, after, fraction);
        C::Mutability::write(entity, value);
        true
    }

    fn rewind(&mut self, world: &mut World, past: &[(Entity, &[u32])]) -> Undo {
        let collector = world.resource::<Collector>();
        let Self { codec, protocol, packet, row, .. } = self;
        let protocol = protocol.as_ref();
        let mut values: Vec<(Entity, C)> = Vec::new();
        for &(entity, cells) in past {
            let Some(present) = world.get::<C>(entity) else { continue };
            let mut map = |entity| collector.wire_entity(world, entity);
            let mut entities = WireEntities::new(&mut map);
            let quantised =
                Self::quantise_value(codec, protocol, present, &mut entities, packet, row);
            if quantised.is_ok() && row.row().cells == cells {
                continue;
            }
            let mut map = |wire| collector.entity_of(ObjectId::of_wire_entity(wire)?);
            let mut entities = WireEntities::new(&mut map);
            let value = Self::decode_value(codec, protocol, cells, &mut entities);
            values.extend(value.map(|value| (entity, value)));
        }
        swap_all(world, &mut values);
        Box::new(move |world| swap_all(world, &mut values))
    }

    fn as_any(&mut self) -> &mut dyn core::any::Any {
        &mut self.typed
    }
}

/// Swaps a component of entities with other values.
fn swap_all<C>(world: &mut World, values: &mut [(Entity, C)])
where
    C: Component<Mutability: WriteMode<C>>,
{
    for (entity, value) in values {
        if let Ok(mut entity) = world.get_entity_mut(*entity) {
            C::Mutability::swap(&mut entity, value);
        }
    }
}

/// Appends the slots whose change tick is newer. Not generic, so that it is compiled once.
fn collect_newer(slots: &[NetSlot], ticks: &[Tick], since: Since, changed: &mut Vec<u32>) {
    const BLOCK: usize = 64;
    for (slots, ticks) in slots.chunks(BLOCK).zip(ticks.chunks(BLOCK)) {
        // One decision for a block: most blocks have no change.
        let age = since.now.get().wrapping_sub(since.last.get());
        let is_newer = |tick: &Tick| since.now.get().wrapping_sub(tick.get()) < age;
        if ticks.iter().fold(false, |any, tick| any | is_newer(tick)) {
            let newer = slots.iter().zip(ticks).filter(|(_, tick)| is_newer(tick));
            changed.extend(newer.map(|(slot, _)| slot.0));
        }
    }
}
