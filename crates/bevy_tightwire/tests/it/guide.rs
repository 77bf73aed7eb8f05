//! The lines of docs/BEVY.md, so that each of them compiles.

#![allow(dead_code, unused_variables, clippy::too_many_arguments)]

use std::error::Error;

use bevy_app::prelude::*;
use bevy_ecs::entity::MapEntities;
use bevy_ecs::prelude::*;
use bevy_state::condition::in_state;
use bevy_tightwire::prelude::*;
use bevy_tightwire::{NetInspectPlugin, TestNet};
use bevy_time::{Time, Virtual};
use bevy_transform::components::Transform;
use tightwire::transport::InProcess;

#[derive(Wire, Default)]
struct Plain {
    #[wire(range = 0..=100)]
    percent: u8,
    #[wire(spatial, min = -500.0, max = 500.0, resolution = 0.01)]
    position: [f32; 3],
}

#[derive(Component, Wire, Default, Clone)]
struct C(u8);

#[derive(Component, Wire, Default, Clone)]
struct A(u8);

#[derive(Component, Wire, Default, Clone)]
struct B(u8);

#[derive(Component)]
struct D;

#[derive(Component, Wire, Default, Clone)]
struct Height(f32);

#[derive(Component, Wire, Default, Clone)]
struct Position([f32; 2]);

#[derive(Component, Wire, Default, Clone)]
struct Velocity([f32; 2]);

#[derive(Component, Wire, Clone)]
struct Follows(#[entities] Entity);

impl Default for Follows {
    fn default() -> Self {
        Self(Entity::PLACEHOLDER)
    }
}

#[derive(Resource, Wire, Default, Clone)]
struct R(u8);

#[derive(Wire, Default, Clone)]
struct I(u8);

impl Input for I {}

#[derive(Message, Wire, Default)]
struct M(u8);

#[derive(Event, Wire, Default)]
struct E(u8);

fn components(app: &mut App) {
    let codec = TransformCodec::default();
    let lerp = |a: &Height, b: &Height, part: f32| Height(a.0 + part * (b.0 - a.0));
    let codes = 4;
    let n = 4;
    app.replicate::<C>();
    app.replicate::<(A, B)>();
    app.replicate_as::<Transform, _>(codec).interpolate();
    app.replicate::<C>().only_if::<With<D>>();
    app.replicate_once::<C>();
    app.replicate_resource::<R>();
    app.replicate::<Follows>().map_entities();
    app.replicate_as::<ChildOf, _>(RelationCodec);
    app.replicate::<A>().predict().interpolate();
    app.replicate::<B>().predict().tolerance(codes);
    app.replicate::<B>().predict().tolerance(n).rounded();
    app.replicate::<Height>().interpolate_with(lerp);
    app.replicate::<C>().owner_only();
    app.replicate::<C>().scope(Scope::Team(TeamId(1)));
    app.replicate::<(Position, Velocity)>().derivative::<Velocity, Position>();
    app.rollback::<A>();
}

fn inputs_and_messages(app: &mut App) {
    app.add_input::<I>()
        .add_client_message::<M>(Delivery::ReliableOrdered)
        .add_server_message::<M>(Delivery::ReliableOrdered)
        .add_client_event::<E>(Delivery::Reliable)
        .add_server_event::<E>(Delivery::Reliable)
        .add_observer(|event: On<FromClient<E>>| println!("{}", event.message.0))
        .add_observer(|joined: On<Add, ConnectedClient>| println!("{}", joined.entity))
        .add_systems(Update, receive.run_if(has_authority))
        .add_systems(Update, talk.run_if(in_state(ServerState::Running)))
        .add_systems(Update, (|| ()).run_if(is_replaying));
}

fn receive(mut messages: MessageReader<FromClient<M>>) {
    for FromClient { client, message } in messages.read() {
        println!("{client}: {}", message.0);
    }
}

fn talk(
    mut messages: MessageWriter<ToClients<M>>,
    clients: Query<Entity, With<ConnectedClient>>,
    mut commands: Commands,
) {
    for client in &clients {
        let message = M(1);
        messages.write(ToClients::one(client, message));
    }
    let message = M(2);
    messages.write(ToClients::all(message));
    messages.write(ToClients::all(M(3)).now());
    let event = E(4);
    commands.client_trigger(event);
    let event = E(5);
    commands.server_trigger(ToClients::all(event));
}

fn entities(
    mut commands: Commands,
    clients: Query<Entity, With<ConnectedClient>>,
    own: Query<(&A, &Controls<I>), With<Owned>>,
    predicted: Query<&A, (With<Predicted>, With<Simulated>)>,
    time: Res<Time<Virtual>>,
    mut input: ResMut<LocalInput<I>>,
    tick: Res<NetTick>,
    lag: LagCompensation,
) {
    let n = 0;
    for client in &clients {
        let entity = commands.spawn((Replicated, OwnedBy(client), PreSpawned(n))).id();
        commands.entity(entity).insert(NetScope(Scope::Near)).net_despawn();
        commands.entity(entity).insert(NetScopeOf::<C>::new(Scope::Owner));
        let rooms = ClientRooms(vec![RoomId(1)]);
        commands.entity(client).insert((rooms, ClientTeam(TeamId(1)), Viewer(Vec::new())));
        let seen = lag.as_seen_by(client, |past| past.get::<A>(entity));
        commands.kick(client, "no reason");
    }
    input.0 = I(1);
    println!("{}", **tick);
}

fn past(world: &mut World, client: Entity) {
    let past = world.rewound(client, |world| world.get::<A>(client).cloned());
}

fn start(mut commands: Commands, address: std::net::SocketAddr) -> Result<(), Box<dyn Error>> {
    let gate = OpenToAnyone::default();
    commands.serve(Quic::listen_self_signed(address)?, gate);
    let gate = OpenToAnyone::default();
    let (transport, other) = InProcess::pair();
    commands.host(transport, gate);
    commands.connect(other, &[]);
    commands.disconnect();
    Ok(())
}

fn inspect(app: &mut App) {
    app.add_plugins(NetInspectPlugin { page: Some(7780), capture: Some("game.pcapng".into()) });
}

fn test(game: fn(&mut App)) -> TestNet {
    let mut net = TestNet::hosted(TestNet::bad_link(), 1, 1, game);
    net.assert_equal_worlds();
    net
}

/// An `EntityEvent`, observed at its entity.
#[derive(EntityEvent, MapEntities, Wire, Clone)]
struct Hit(#[entities] Entity);

impl Default for Hit {
    fn default() -> Self {
        Self(Entity::PLACEHOLDER)
    }
}

fn entity_events_and_replays(app: &mut App) {
    app.add_mapped_server_event::<Hit>(Delivery::Reliable)
        .add_observer(|new: On<Add, Remote>| println!("{}", new.entity))
        // A part of `FixedMain`.
        .add_systems(FixedPostUpdate, (|| ()).run_if(not(is_replaying)));
}

/// Returns the code between backticks, without what is left out in it.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).flat_map(|code| code.split('…'))
}

#[test]
fn every_line_of_the_guide_is_compiled() {
    let guide = include_str!("../../../../docs/BEVY.md");
    let (table, rest) = guide.split_once("## Differences").unwrap();
    let rows: Vec<_> = table.lines().filter(|line| line.starts_with('|')).skip(2).collect();
    let ours = rows.iter().map(|row| row.split('|').nth(3).unwrap());
    let compact = |text: &str| text.replace(char::is_whitespace, "");
    let source = compact(include_str!("guide.rs").split("fn code").next().unwrap());
    let differences = rest.split("## The same scene").next().unwrap();
    let inspect = rest.split("## What is in the packets").nth(1).unwrap();
    let inspect = inspect.split("## The order").next().unwrap();
    // A feature, names of tools and diagnostics, and names of other crates.
    let others = ["test", "inspect", "tightwire inspect", "Confirmed", "tightwire/bytes/Position"];
    let missing: Vec<_> = ours
        .chain([differences, inspect])
        .flat_map(code)
        .filter(|code| !others.contains(code) && !code.starts_with("http"))
        .filter(|code| !source.contains(&compact(code)))
        .collect();
    assert_eq!(missing, [""; 0], "the guide has these, and this file does not");
    assert!(rows.len() > 25, "{}", rows.len());
}
