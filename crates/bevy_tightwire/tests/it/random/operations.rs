//! The operations, and a record of them.

use std::collections::{HashMap, HashSet};

use bevy_ecs::prelude::*;
use bevy_tightwire::object_of;
use bevy_tightwire::prelude::*;
use bevy_tightwire::tightwire::ObjectId;

use super::{Ammunition, First, Follows, Piece, Point, Rank, Second, TEAM};
use crate::game::{Bullet, Heading, Health, Label, Position};

/// A generator of random numbers.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

/// Record of the operations.
#[derive(Default)]
pub(super) struct Past {
    /// All entities that an entity has followed.
    pub(super) followed: HashMap<Entity, HashSet<Entity>>,
    /// The entities of the messages that were written, and their objects when the messages were sent.
    pub(super) pointed: Vec<(Entity, Option<ObjectId>)>,
    /// Number of the messages that were sent.
    sent: usize,
}

impl Past {
    /// Writes a message with an entity to all clients.
    pub(super) fn point(&mut self, world: &mut World, entity: Entity) {
        let number = self.pointed.len() as u16;
        self.pointed.push((entity, None));
        world.write_message(ToClients::all(Point { number, entity }).now());
    }

    /// Notes the objects of the messages that were sent in this frame.
    pub(super) fn handle_sent(&mut self, world: &World) {
        for (entity, id) in &mut self.pointed[self.sent..] {
            *id = object_of(world, *entity);
        }
        self.sent = self.pointed.len();
    }
}

/// Inserts a component; returns whether that changed anything.
fn put<C: Component + PartialEq>(world: &mut World, entity: Entity, component: C) -> bool {
    let is_new = world.get::<C>(entity) != Some(&component);
    if is_new {
        world.entity_mut(entity).insert(component);
    }
    is_new
}

/// Removes components; returns whether the entity had one.
fn drop_all<C: Component, D: Component>(world: &mut World, entity: Entity) -> bool {
    let mut entity = world.entity_mut(entity);
    let had = entity.contains::<C>() || entity.contains::<D>();
    entity.remove::<(C, D)>();
    had
}

fn drop_one<C: Component>(world: &mut World, entity: Entity) -> bool {
    let had = world.get::<C>(entity).is_some();
    world.entity_mut(entity).remove::<C>();
    had
}

/// Does something at random; returns whether that changed anything.
pub(super) fn operate(
    world: &mut World,
    clients: &[Entity],
    random: &mut Random,
    past: &mut Past,
) -> bool {
    let pieces: Vec<_> = world.query_filtered::<Entity, With<Piece>>().iter(world).collect();
    let number = random.below(1000);
    let small = (number % 100) as u8;
    if pieces.len() < 5 || random.below(5) == 0 && pieces.len() < 80 {
        let mut entity = world.spawn((Replicated, Piece, First(small), Second(small)));
        if number.is_multiple_of(2) {
            entity.insert((Position([number as f32 / 10.0, 1.0]), Heading(number as f32 / 3.0)));
        }
        if number.is_multiple_of(3) {
            entity.insert(Health(small));
        }
        return true;
    }
    let (one, other) = (pieces[random.below(pieces.len())], pieces[random.below(pieces.len())]);
    let is_ancestor = |world: &World, mut of: Entity| {
        while of != one {
            let Some(parent) = world.get::<ChildOf>(of) else { return false };
            of = parent.parent();
        }
        true
    };
    match random.below(27) {
        0 => world.despawn(one),
        1 | 2 => put(world, one, Health(small)),
        3 => put(world, one, Label(format!("label {number}"))),
        4 | 5 => {
            past.followed.entry(one).or_default().insert(other);
            put(world, one, Follows(other))
        }
        6 => put(world, one, Bullet),
        7 => drop_one::<Health>(world, one),
        8 => drop_all::<Label, Follows>(world, one),
        9 => drop_all::<Position, Bullet>(world, one),
        10 => !is_ancestor(world, other) && put(world, one, ChildOf(other)),
        11 => drop_one::<ChildOf>(world, one),
        12 => put(world, one, NetScope(Scope::Team(TEAM))),
        13 => drop_one::<NetScope>(world, one),
        14 if number < 300 => drop_one::<Replicated>(world, one),
        14 => put(world, one, Replicated),
        15 | 16 => put(world, one, Rank(small)),
        17 => drop_one::<Rank>(world, one),
        18 if world.get::<NetScopeOf<Rank>>(one).is_none() => {
            world.entity_mut(one).insert(NetScopeOf::<Rank>::new(Scope::Always));
            true
        }
        19 => drop_one::<NetScopeOf<Rank>>(world, one),
        20 => put(world, one, OwnedBy(clients[number % clients.len()])),
        21 => drop_one::<OwnedBy>(world, one),
        22 => put(world, one, Ammunition(small)),
        23 => match (world.get::<First>(one).is_some(), number.is_multiple_of(3)) {
            (true, true) => drop_all::<First, Second>(world, one),
            _ => put(world, one, First(small)) | put(world, one, Second(small)),
        },
        24 => {
            past.point(world, one);
            true
        }
        _ => world.get_mut::<Position>(one).is_some_and(|mut position| {
            position.0[0] = number as f32 / 7.0;
            true
        }),
    }
}
