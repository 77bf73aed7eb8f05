//! Random operations, replicated to eight clients whose worlds are equal in the end.

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;

use crate::game::{Bullet, Heading, Health, Label, Position, remote, seconds};

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug)]
struct Follows(#[entities] Entity);

impl Default for Follows {
    fn default() -> Self {
        Self(Entity::PLACEHOLDER)
    }
}

/// A component with a scope of its own.
#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Rank(u8);

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("random", "1.0"));
    app.replicate::<Health>();
    app.replicate::<Label>();
    app.replicate::<Position>().interpolate();
    app.replicate::<(Position, Heading)>();
    app.replicate::<(Health, Bullet)>();
    app.replicate::<Follows>().map_entities();
    app.replicate::<Rank>().scope(Scope::Team(TEAM));
    app.replicate_as::<ChildOf, _>(RelationCodec);
}

/// A generator of random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

const TEAM: TeamId = TeamId(1);

fn random_operation(world: &mut World, random: &mut Random) {
    let entities: Vec<_> = world.query_filtered::<Entity, With<Replicated>>().iter(world).collect();
    let number = random.below(1000);
    if entities.len() < 5 || random.below(5) == 0 && entities.len() < 80 {
        let mut entity = world.spawn(Replicated);
        if number.is_multiple_of(2) {
            entity.insert((Position([number as f32 / 10.0, 1.0]), Heading(number as f32 / 3.0)));
        }
        if number.is_multiple_of(3) {
            entity.insert(Health((number % 100) as u8));
        }
        return;
    }
    let (one, other) =
        (entities[random.below(entities.len())], entities[random.below(entities.len())]);
    let is_ancestor = |world: &World, mut of: Entity| {
        while let Some(parent) = world.get::<ChildOf>(of) {
            of = parent.parent();
            if of == one {
                return true;
            }
        }
        of == one
    };
    match random.below(20) {
        0 => assert!(world.despawn(one)),
        1 | 2 => drop(world.entity_mut(one).insert(Health((number % 100) as u8))),
        3 => drop(world.entity_mut(one).insert(Label(format!("label {number}")))),
        4 => drop(world.entity_mut(one).insert(Follows(other))),
        5 => drop(world.entity_mut(one).insert(Bullet)),
        6 => drop(world.entity_mut(one).remove::<Health>()),
        7 => drop(world.entity_mut(one).remove::<(Label, Follows)>()),
        8 => drop(world.entity_mut(one).remove::<(Position, Bullet)>()),
        9 if !is_ancestor(world, other) => drop(world.entity_mut(one).insert(ChildOf(other))),
        10 => drop(world.entity_mut(one).remove::<ChildOf>()),
        11 => drop(world.entity_mut(one).insert(NetScope(Scope::Team(TEAM)))),
        12 => drop(world.entity_mut(one).remove::<NetScope>()),
        13 => drop(world.entity_mut(one).remove::<Replicated>()),
        14 | 15 => drop(world.entity_mut(one).insert(Rank((number % 200) as u8))),
        16 => drop(world.entity_mut(one).remove::<Rank>()),
        17 => drop(world.entity_mut(one).insert(NetScopeOf::<Rank>::new(Scope::Always))),
        18 => drop(world.entity_mut(one).remove::<NetScopeOf<Rank>>()),
        _ => {
            if let Some(mut position) = world.get_mut::<Position>(one) {
                position.0[0] = number as f32 / 7.0;
            }
        }
    }
}

/// Whether an entity is for the team only: it has a scope, or one of its ancestors does.
fn is_hidden(world: &World, entity: Entity) -> bool {
    let parent = world.get::<ChildOf>(entity).map(ChildOf::parent);
    let parent = parent.filter(|parent| world.get::<Replicated>(*parent).is_some());
    world.get::<NetScope>(entity).is_some() || parent.is_some_and(|parent| is_hidden(world, parent))
}

/// Compares a client with the server, entity by entity. Returns the number of equal components.
fn compare(net: &TestNet, client: usize, entities: &[Entity], in_team: bool) -> usize {
    let (here, there) = (net.server.world(), net.clients[client].world());
    let is_relevant = |entity: Entity| in_team || !is_hidden(here, entity);
    let relevant: Vec<_> = entities.iter().copied().filter(|one| is_relevant(*one)).collect();
    let map = there.resource::<EntityMap>();
    assert_eq!(map.len(), relevant.len(), "client {client}");
    let mut equal = 0;
    for entity in relevant {
        let copy = remote(net, client, entity).unwrap();
        let place = format!("client {client}, entity {entity}");
        assert_eq!(here.get::<Health>(entity), there.get::<Health>(copy), "{place}");
        assert_eq!(here.get::<Label>(entity), there.get::<Label>(copy), "{place}");
        let positions = [here.get::<Position>(entity), there.get::<Position>(copy)]
            .map(|position| position.map(|position| position.rounded()));
        assert_eq!(positions[0].is_some(), positions[1].is_some(), "{place}");
        if let [Some(one), Some(other)] = positions {
            let is_near = |axis: usize| one[axis].abs_diff(other[axis]) <= 1;
            assert!(is_near(0) && is_near(1), "{place}: {one:?} {other:?}");
        }
        let is_group =
            here.get::<Heading>(entity).is_some() && here.get::<Position>(entity).is_some();
        assert_eq!(there.get::<Heading>(copy).is_some(), is_group, "{place}");
        let is_bullet =
            here.get::<Bullet>(entity).is_some() && here.get::<Health>(entity).is_some();
        assert_eq!(there.get::<Bullet>(copy).is_some(), is_bullet, "{place}");
        let for_all = here.get::<NetScopeOf<Rank>>(entity).is_some();
        let rank = here.get::<Rank>(entity).filter(|_| in_team || for_all);
        assert_eq!(rank, there.get::<Rank>(copy), "{place}");
        // An entity that is not relevant is waited for.
        let is_there = |target: Entity| is_relevant(target) && entities.contains(&target);
        if let Some(Follows(target)) = here.get::<Follows>(entity).filter(|of| is_there(of.0)) {
            let target = remote(net, client, *target);
            assert_eq!(there.get::<Follows>(copy).map(|follows| follows.0), target, "{place}");
            equal += 1;
        }
        match here.get::<ChildOf>(entity).map(ChildOf::parent) {
            Some(parent) if is_there(parent) => {
                let parent = remote(net, client, parent);
                assert_eq!(there.get::<ChildOf>(copy).map(ChildOf::parent), parent, "{place}");
                equal += 1;
            }
            _ => assert_eq!(there.get::<ChildOf>(copy), None, "{place}"),
        }
        equal += 1;
    }
    equal
}

fn replicates_random_operations(seed: u64) {
    println!("seed {seed}");
    let mut net = TestNet::new(TestNet::bad_link(), seed, 8, game);
    net.run(seconds(1.0));
    let clients = crate::visibility::clients(&mut net);
    assert_eq!(clients.len(), 8);
    net.frame = std::time::Duration::from_nanos(1_000_000_000 / 64);
    let mut random = Random(seed);
    // The first client is always of the team, the last one never.
    net.server.world_mut().entity_mut(clients[0]).insert(ClientTeam(TEAM));
    for _ in 0..250 {
        (0..4).for_each(|_| random_operation(net.server.world_mut(), &mut random));
        // Some of the clients see what is for the team.
        if random.below(20) == 0 {
            let world = net.server.world_mut();
            let mut client = world.entity_mut(clients[1 + random.below(clients.len() - 2)]);
            match client.contains::<ClientTeam>() {
                true => client.remove::<ClientTeam>(),
                false => client.insert(ClientTeam(TEAM)),
            };
        }
        net.run(seconds(1.0 / 64.0));
    }
    net.run(seconds(2.5));
    let world = net.server.world_mut();
    let entities: Vec<_> = world.query_filtered::<Entity, With<Replicated>>().iter(world).collect();
    let hidden = entities.iter().filter(|one| is_hidden(world, **one)).count();
    let (mut equal, mut team) = (0, 0);
    for (number, client) in clients.into_iter().enumerate() {
        let in_team = net.server.world().get::<ClientTeam>(client).is_some();
        team += u32::from(in_team);
        equal += compare(&net, number, &entities, in_team);
    }
    println!("{} entities, {hidden} hidden from {} of 8, {equal} equal", entities.len(), 8 - team);
    assert!(equal > 80 && hidden > 0 && (1..8).contains(&team), "{equal} {hidden} {team}");
}

#[test]
fn a_thousand_random_operations_reach_eight_clients() {
    let seed = std::env::var("TIGHTWIRE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(0);
    (seed..seed + 2).for_each(replicates_random_operations);
}
