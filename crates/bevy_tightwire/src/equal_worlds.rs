//! Comparison of the worlds of a server and its clients, for tests of games.

use bevy_app::App;
use bevy_ecs::change_detection::Mut;
use bevy_ecs::entity::Entity;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::hierarchy::ChildOf;
use bevy_ecs::prelude::{Allow, With, World};
use tightwire::snapshot::Scope;

use crate::classes::Replication;
use crate::client::{EntityMap, Predicted, Remote};
use crate::codec::WireEntities;
use crate::owner::OwnedBy;
use crate::plugin::NetConfig;
use crate::registry::Audience;
use crate::server::{Collector, NetScope, NetSlot, Replicated, object_of};
use crate::test_net::TestNet;

impl TestNet {
    /// Compares every client with the server: its entities, and their replicated components at the
    /// resolution of the wire form. Predicted components may differ by their tolerance.
    ///
    /// For worlds that are at rest: a client shows the past. An entity with a [`NetScope`] other than
    /// [`Scope::Always`], or with such a parent, may be missing on clients that do not own it, and so
    /// may a component with a scope of its own. A component is not compared if it was replicated
    /// once, or if it contains an entity that the client does not have.
    ///
    /// # Panics
    ///
    /// If a client is not connected or its world differs. The text says which client, which entity,
    /// and which component.
    #[track_caller]
    #[expect(clippy::panic, reason = "a helper of tests")]
    pub fn assert_equal_worlds(&mut self) {
        for number in 0..self.clients.len() {
            let compared = match self.client_entity(number) {
                Some(client) => compare(&mut self.server, &mut self.clients[number], client),
                None => Err("it is not connected".into()),
            };
            if let Err(difference) = compared {
                panic!("client {number}: {difference}");
            }
        }
    }
}

/// Compares the world of a client, which is the entity `client` of the server.
fn compare(server: &mut App, app: &mut App, client: Entity) -> Result<(), String> {
    let world = server.world_mut();
    let mut replicated = world.query_filtered::<Entity, (With<Replicated>, Allow<Disabled>)>();
    let entities: Vec<_> = replicated.iter(world).collect();
    let mut known = 0;
    for entity in entities {
        let id = object_of(world, entity).ok_or_else(|| {
            format!("entity {entity} of the server has no object yet: run the network for a tick")
        })?;
        match app.world().resource::<EntityMap>().entity(id) {
            Some(copy) => {
                compare_entity(world, app.world_mut(), client, [entity, copy])?;
                known += 1;
            }
            None if is_for_certain(world, client, entity) => {
                return Err(format!("entity {entity} of the server is missing"));
            }
            None => {}
        }
    }
    let world = app.world_mut();
    let mut remote = world.query_filtered::<(), (With<Remote>, Allow<Disabled>)>();
    let remote = remote.iter(world).count();
    let mapped = world.resource::<EntityMap>().len();
    if (remote, mapped) == (known, known) {
        return Ok(());
    }
    Err(format!(
        "it has {remote} remote entities for {mapped} objects, of which the server has {known}"
    ))
}

/// Whether a client has an entity whatever its rooms, team and viewers are.
fn is_for_certain(world: &World, client: Entity, entity: Entity) -> bool {
    let is_always = world.get::<NetScope>(entity).is_none_or(|scope| scope.0 == Scope::Always);
    let parent = world.get::<ChildOf>(entity).map(ChildOf::parent);
    let parent = parent.filter(|parent| world.get::<Replicated>(*parent).is_some());
    is_own(world, client, entity)
        || is_always && parent.is_none_or(|parent| is_for_certain(world, client, parent))
}

fn is_own(world: &World, client: Entity, entity: Entity) -> bool {
    world.get::<OwnedBy>(entity) == Some(&OwnedBy(client))
}

/// Compares an entity of the server with its copy on a client.
fn compare_entity(
    server: &mut World,
    there: &mut World,
    client: Entity,
    [entity, copy]: [Entity; 2],
) -> Result<(), String> {
    let is_own = is_own(server, client, entity);
    let tolerance = there.resource::<NetConfig>().client.predict.tolerance;
    let is_predicted = there.get::<Predicted>(copy).is_some();
    let shown = values(there, copy, &mut |world, entity| world.resource::<EntityMap>().map(entity));
    let map = there.resource::<EntityMap>();
    let sent = values(server, entity, &mut |world, entity| {
        let id = world.resource::<Collector>().id_of(*world.get::<NetSlot>(entity)?)?;
        map.entity(id).and(id.to_wire_entity())
    });
    server.resource_scope(|world, mut replication: Mut<'_, Replication>| {
        let claim = replication.claim(world.entity(entity).archetype()).clone();
        for (place, entry) in replication.columns.iter().enumerate() {
            let settings = entry.settings;
            let is_sent = claim.columns.contains(&place) || claim.parts.contains(&place);
            let is_for_client = match settings.audience {
                Audience::All => true,
                Audience::Owner => is_own,
                Audience::Others => !is_own,
            };
            let value = sent.get(place).filter(|_| is_sent && is_for_client);
            let value = value.map_or(&Value::Absent, |value| value);
            let tolerance = match is_predicted && settings.is_predicted {
                true => settings.tolerance().unwrap_or(tolerance),
                false => 0,
            };
            let is_equal = match (value, shown.get(place).unwrap_or(&Value::Absent)) {
                (Value::Unknown, _) | (_, Value::Unknown) => true,
                (Value::Absent, Value::Absent) => true,
                (Value::Cells(_), Value::Absent) => entry.part.is_some(),
                (Value::Absent, Value::Cells(_)) => false,
                (Value::Cells(one), Value::Cells(other)) => {
                    settings.is_once || !entry.column.differs(one, other, tolerance)
                }
            };
            if !is_equal {
                let (name, shown) = (entry.name, shown.get(place).unwrap_or(&Value::Absent));
                return Err(format!(
                    "`{name}` of entity {entity}: the server has {value}, the client's {copy} {shown}"
                ));
            }
        }
        Ok(())
    })
}

/// The wire form of a component.
#[derive(Debug)]
enum Value {
    Absent,
    Cells(Vec<u32>),
    /// The component cannot be sent, or contains an entity that the other side does not have.
    Unknown,
}

impl core::fmt::Display for Value {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Absent => f.write_str("none"),
            Self::Cells(cells) => write!(f, "the cells {cells:?}"),
            Self::Unknown => f.write_str("a value that is not compared"),
        }
    }
}

/// Returns the wire forms of all replicated components of an entity.
fn values(
    world: &mut World,
    entity: Entity,
    map: &mut dyn FnMut(&World, Entity) -> Option<Entity>,
) -> Vec<Value> {
    world.resource_scope(|world, mut replication: Mut<'_, Replication>| {
        let Ok(entity) = world.get_entity(entity) else { return Vec::new() };
        let value = |entry: &mut crate::registry::ColumnEntry| {
            let mut map = |entity| map(world, entity);
            let mut entities = WireEntities::new(&mut map);
            let cells = match entry.column.quantise(entity, &mut entities) {
                Ok(Some(cells)) => cells.to_vec(),
                Ok(None) => return Value::Absent,
                Err(_) => return Value::Unknown,
            };
            if entities.missing().is_some() { Value::Unknown } else { Value::Cells(cells) }
        };
        replication.columns.iter_mut().map(value).collect()
    })
}
