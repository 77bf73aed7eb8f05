//! Diagnostics of the connection.

use bevy_app::{App, FixedUpdate};
use bevy_diagnostic::{DiagnosticPath, DiagnosticsPlugin, DiagnosticsStore};
use bevy_ecs::prelude::*;
use bevy_tightwire::prelude::*;
use bevy_tightwire::{NetDiagnosticsPlugin, client_stats};

use crate::game::{Position, net, seconds};
use crate::visibility::clients;

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct NoKeys;

impl Input for NoKeys {}

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("diagnostics", "1.0"))
        .add_plugins((DiagnosticsPlugin, NetDiagnosticsPlugin))
        .add_input::<NoKeys>()
        .add_observer(|joined: On<Add, ConnectedClient>, mut commands: Commands| {
            let player = (Position([0.0, 0.0]), Controls::<NoKeys>::default());
            commands.spawn((Replicated, OwnedBy(joined.entity), player));
        })
        .add_systems(FixedUpdate, |mut players: Query<&mut Position, With<Simulated>>| {
            players.iter_mut().for_each(|mut position| position.0[0] += 0.05);
        });
    app.replicate::<Position>().predict();
}

/// The newest measurement; `None` if there was none.
fn value(app: &App, path: &DiagnosticPath) -> Option<f64> {
    app.world().resource::<DiagnosticsStore>().get(path)?.value()
}

#[test]
fn a_client_measures_its_link_its_bytes_and_its_corrections() {
    let mut net = net(1, game);
    net.run(seconds(10.0));
    let of = |net: &bevy_tightwire::TestNet, path| value(&net.clients[0], &path).unwrap();
    let round_trip = of(&net, NetDiagnosticsPlugin::ROUND_TRIP);
    assert!((100.0..160.0).contains(&round_trip), "{round_trip} ms");
    let loss = of(&net, NetDiagnosticsPlugin::LOSS);
    assert!((0.5..8.0).contains(&loss), "{loss}% of 3%");
    let bytes = of(&net, NetDiagnosticsPlugin::BYTES_IN);
    let stats = client_stats(net.clients[0].world()).unwrap();
    assert!(bytes > 1000.0 && bytes == stats.snapshot_bytes as f64, "{bytes}");
    assert_eq!(of(&net, NetDiagnosticsPlugin::CORRECTIONS), 0.0);
    // Those with which a prediction begins.
    let first = of(&net, NetDiagnosticsPlugin::REPLAYED_TICKS);
    assert!(first < 30.0, "{first}");
    assert_eq!(value(&net.server, &NetDiagnosticsPlugin::ROUND_TRIP), None, "of clients only");
    // The server moves the player, which the client cannot know.
    let world = net.server.world_mut();
    world.query::<&mut Position>().single_mut(world).unwrap().0[1] = 9.0;
    net.run(seconds(1.0));
    let corrections = of(&net, NetDiagnosticsPlugin::CORRECTIONS);
    assert!((1.0..20.0).contains(&corrections), "{corrections}");
    // The ticks of a round trip and of the server's margin.
    let replayed = of(&net, NetDiagnosticsPlugin::REPLAYED_TICKS) - first;
    assert!(replayed >= 6.0 * corrections && replayed <= 30.0 * corrections, "{replayed}");
}

#[test]
fn a_server_counts_the_bytes_to_all_clients_also_to_those_that_left() {
    let mut net = net(2, game);
    let mut before = 0.0;
    let mut sent = |net: &mut bevy_tightwire::TestNet, time| {
        let start = before;
        net.run_with(seconds(time), |net| {
            let bytes = value(&net.server, &NetDiagnosticsPlugin::BYTES_OUT).unwrap_or(0.0);
            assert!(bytes >= before, "{bytes} after {before}");
            before = bytes;
        });
        before - start
    };
    sent(&mut net, 4.0);
    assert_eq!(clients(&mut net).len(), 2);
    let of_two = sent(&mut net, 2.0);
    let received = |app: &App| client_stats(app.world()).unwrap().snapshot_bytes as f64;
    let received: f64 = net.clients.iter().map(received).sum();
    net.clients[1].world_mut().commands().disconnect();
    sent(&mut net, 1.0);
    let of_one = sent(&mut net, 2.0);
    assert!(of_one > 0.0 && of_one < 0.75 * of_two, "{of_one} {of_two}");
    net.clients[0].world_mut().commands().disconnect();
    sent(&mut net, 1.0);
    assert_eq!(sent(&mut net, 1.0), 0.0);
    assert!(before > received, "3% are lost: {before} {received}");
}
