//! Tests of a game: a server and clients in one process, on a virtual clock, over a bad link.
//!
//! `cargo run -p bevy_tightwire --example test_of_a_game --features test`. In a game of your own, `game` is the
//! function that its `main` calls too, and each function that `main` calls here is a `#[test]`. A run
//! is a function of its seed: a test that failed fails again.

use std::time::Duration;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;

#[derive(Component, Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Position(#[wire(spatial, min = -100.0, max = 100.0, resolution = 0.01)] [f32; 2]);

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Score(u16);

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Coin;

#[derive(Message, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Taken;

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Move(#[wire(range = -1..=1)] i8);

impl Input for Move {}

/// The whole game, but for windows and keys.
fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("coins", "1.0"))
        .add_input::<Move>()
        .add_server_message::<Taken>(Delivery::ReliableOrdered)
        .add_observer(add_player)
        .add_systems(FixedUpdate, (walk, take.run_if(has_authority)).chain())
        .add_systems(Update, listen);
    app.replicate::<Position>().predict().interpolate();
    app.replicate::<Score>();
    app.replicate::<Coin>();
}

fn add_player(joined: On<Add, ConnectedClient>, mut commands: Commands) {
    let player = (Position::default(), Score(0), Controls::<Move>::default());
    commands.spawn((Replicated, OwnedBy(joined.entity), player));
}

fn walk(mut players: Query<(&mut Position, &Controls<Move>)>) {
    for (mut position, input) in &mut players {
        position.0[0] = (position.0[0] + 0.1 * f32::from(input.0.0)).clamp(-100.0, 100.0);
    }
}

fn take(
    coins: Query<(Entity, &Position), With<Coin>>,
    mut players: Query<(&Position, &mut Score)>,
    mut taken: MessageWriter<ToClients<Taken>>,
    mut commands: Commands,
) {
    for (coin, Position(at)) in &coins {
        let is_near = |player: &Position| (player.0[0] - at[0]).abs() < 1.0;
        if let Some((_, mut score)) = players.iter_mut().find(|(player, _)| is_near(player)) {
            score.0 += 1;
            taken.write(ToClients::all(Taken));
            commands.entity(coin).despawn();
        }
    }
}

/// Number of coins whose sound was played.
#[derive(Resource, Default)]
struct Sounds(u32);

fn listen(mut taken: MessageReader<Taken>, mut commands: Commands, sounds: Option<Res<Sounds>>) {
    let count = sounds.map_or(0, |sounds| sounds.0) + taken.read().count() as u32;
    commands.insert_resource(Sounds(count));
}

/// A server and two players who have joined.
fn start(seed: u64) -> TestNet {
    let mut net = TestNet::new(TestNet::bad_link(), seed, 2, game);
    net.run(Duration::from_secs(3));
    net
}

/// Presses the keys of a player: the test writes the input that a game reads from them.
fn press(app: &mut App, direction: i8) {
    app.insert_resource(LocalInput(Move(direction)));
}

/// The place of the player that an app owns; `None` if there is none.
fn own(app: &mut App) -> Option<f32> {
    let world = app.world_mut();
    let mut own = world.query_filtered::<&Position, With<Owned>>();
    own.iter(world).next().map(|position| position.0[0])
}

fn scores(app: &mut App) -> Vec<u16> {
    let world = app.world_mut();
    let mut scores: Vec<_> = world.query::<&Score>().iter(world).map(|score| score.0).collect();
    scores.sort_unstable();
    scores
}

fn a_player_walks_before_the_server_knows() {
    let mut net = start(1);
    press(&mut net.clients[0], 1);
    net.run(Duration::from_millis(40));
    assert!(own(&mut net.clients[0]) > Some(0.0), "predicted");
    let server = net.server.world_mut();
    assert!(server.query::<&Position>().iter(server).all(|position| position.0[0] == 0.0));
    net.run(Duration::from_secs(1));
    press(&mut net.clients[0], 0);
    net.run(Duration::from_secs(1));
    assert!(own(&mut net.clients[0]) > Some(5.0));
    // All have come to rest: a client shows the past.
    net.assert_equal_worlds();
}

fn a_coin_is_taken_once_and_everybody_hears_it() {
    let mut net = start(2);
    net.server.world_mut().spawn((Replicated, Coin, Position([4.0, 0.0])));
    // Both run for it.
    net.clients.iter_mut().for_each(|client| press(client, 1));
    net.run(Duration::from_secs(2));
    for app in [&mut net.server].into_iter().chain(&mut net.clients) {
        assert_eq!(scores(app), [0, 1]);
        let world = app.world_mut();
        assert_eq!(world.query::<&Coin>().iter(world).count(), 0);
    }
    for client in &net.clients {
        assert_eq!(client.world().resource::<Sounds>().0, 1);
    }
}

fn a_player_who_leaves_takes_the_body_along() {
    let mut net = start(3);
    net.clients[1].world_mut().commands().disconnect();
    net.run(Duration::from_secs(1));
    assert_eq!((scores(&mut net.server), scores(&mut net.clients[0])), (vec![0], vec![0]));
}

fn main() {
    a_player_walks_before_the_server_knows();
    a_coin_is_taken_once_and_everybody_hears_it();
    a_player_who_leaves_takes_the_body_along();
    println!("3 tests of a game passed");
}
