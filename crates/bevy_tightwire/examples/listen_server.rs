//! A listen server: the host plays in the server's own world, and a friend joins.
//!
//! `cargo run -p bevy_tightwire --example listen_server --features test`. The host's app and the
//! friend's are the same; a command decides which one it is.

use std::time::Duration;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;

#[derive(Component, Wire, Clone, Copy, PartialEq, Default, Debug)]
struct Score(u16);

#[derive(Message, Wire, Default)]
struct Cheer;

#[derive(Message, Wire, Default)]
struct Applause {
    total: u16,
}

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("listen_server", "1.0"))
        .add_client_message::<Cheer>(Delivery::Reliable)
        .add_server_message::<Applause>(Delivery::ReliableOrdered)
        .add_observer(|joined: On<Add, ConnectedClient>, mut commands: Commands| {
            commands.spawn((Replicated, OwnedBy(joined.entity), Score(0)));
        })
        .add_systems(Update, (count.run_if(has_authority), hear.run_if(has_local_player)));
    app.replicate::<Score>();
}

/// Runs where the authority is: the cheers of the host and of the friend look alike.
fn count(
    mut cheers: MessageReader<FromClient<Cheer>>,
    mut scores: Query<(&OwnedBy, &mut Score)>,
    mut applause: MessageWriter<ToClients<Applause>>,
) {
    for cheer in cheers.read() {
        for (owner, mut score) in &mut scores {
            if owner.0 == cheer.client {
                score.0 += 1;
            }
        }
        let total = scores.iter().map(|(_, score)| score.0).sum();
        applause.write(ToClients::all(Applause { total }));
    }
}

#[derive(Resource, Default)]
struct Loudest(u16);

fn hear(mut applause: MessageReader<Applause>, mut commands: Commands) {
    for applause in applause.read() {
        commands.insert_resource(Loudest(applause.total));
    }
}

fn main() {
    let mut net = TestNet::hosted(TestNet::bad_link(), 1, 1, game);
    net.run(Duration::from_secs(1));
    for round in 0..5 {
        net.server.world_mut().write_message(Cheer);
        if round < 2 {
            net.clients[0].world_mut().write_message(Cheer);
        }
        net.run(Duration::from_millis(500));
    }
    net.run(Duration::from_secs(1));
    for app in [&mut net.server, &mut net.clients[0]] {
        let world = app.world_mut();
        let mut scores: Vec<_> = world.query::<&Score>().iter(world).map(|score| score.0).collect();
        scores.sort_unstable();
        println!("{:?}: {scores:?}", world.resource::<NetMode>());
        assert_eq!(scores, [2, 5]);
        assert_eq!(world.resource::<Loudest>().0, 7);
    }
}
