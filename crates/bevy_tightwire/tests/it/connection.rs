//! A server that cannot be reached, and systems that run while a client is connected.

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;
use bevy_state::state::State;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;
use tightwire::link::LinkConfig;

use crate::game::{Health, count, net, seconds};

/// Number of frames in which the client was connected, and the reasons for which it no longer was.
#[derive(Resource, Default)]
struct Log {
    connected: u32,
    reasons: Vec<String>,
}

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("connection", "1.0"))
        .init_resource::<Log>()
        .add_systems(Update, (|mut log: ResMut<Log>| log.connected += 1).run_if(is_connected))
        .add_systems(Update, |mut ends: MessageReader<Disconnected>, mut log: ResMut<Log>| {
            log.reasons.extend(ends.read().map(|end| end.reason.clone()));
        });
    app.replicate::<Health>();
}

fn log(app: &App) -> &Log {
    app.world().resource()
}

fn state(app: &App) -> ClientState {
    *app.world().resource::<State<ClientState>>().get()
}

#[test]
fn a_server_that_does_not_answer_is_given_up_with_the_reason() {
    let silent = LinkConfig { loss: 1.0, ..TestNet::bad_link() };
    let mut net = TestNet::new(silent, 1, 1, game);
    net.run(seconds(1.0));
    let client = &net.clients[0];
    assert_eq!((state(client), log(client).reasons.len()), (ClientState::Connecting, 0));
    assert_eq!(*client.world().resource::<NetMode>(), NetMode::Client);
    net.run(seconds(30.0));
    let client = &net.clients[0];
    let Log { connected, reasons } = log(client);
    assert!(reasons.len() == 1 && reasons[0].contains("timed out"), "{reasons:?}");
    assert_eq!((*connected, state(client)), (0, ClientState::Disconnected));
    assert_eq!(*client.world().resource::<NetMode>(), NetMode::Offline);
    // It plays alone from then on, as an app that was never online.
    assert_eq!(count::<LocalClient>(&mut net.clients[0]), 1);
    assert_eq!(count::<ConnectedClient>(&mut net.server), 0);
}

#[test]
fn systems_of_a_connected_client_rest_while_the_connection_is_lost() {
    let mut net = net(1, game);
    let connected = |net: &mut TestNet, time| {
        let before = log(&net.clients[0]).connected;
        net.run(seconds(time));
        log(&net.clients[0]).connected - before
    };
    net.run(seconds(1.0));
    let frames = connected(&mut net, 1.0);
    assert!((119..=121).contains(&frames), "each frame: {frames}");
    assert_eq!(log(&net.server).connected, 0, "a server is no client");
    net.network.set_config(LinkConfig { loss: 1.0, ..TestNet::bad_link() });
    net.run(seconds(12.0));
    assert_eq!((connected(&mut net, 1.0), state(&net.clients[0])), (0, ClientState::Connecting));
    net.network.set_config(TestNet::bad_link());
    net.run(seconds(10.0));
    assert!(connected(&mut net, 1.0) > 100);
    net.clients[0].world_mut().commands().disconnect();
    net.run(seconds(0.1));
    assert_eq!(connected(&mut net, 1.0), 0);
    assert!(log(&net.clients[0]).reasons.is_empty(), "it was this client's own wish");
}

#[test]
fn a_client_whose_entity_the_game_despawned_may_lose_its_connection() {
    let mut net = net(1, game);
    net.run(seconds(1.0));
    let client = crate::visibility::clients(&mut net)[0];
    let owned = net.server.world_mut().spawn((Replicated, OwnedBy(client), Health(1))).id();
    net.server.world_mut().despawn(client);
    assert!(net.server.world().get_entity(owned).is_err());
    net.network.set_config(LinkConfig { loss: 1.0, ..TestNet::bad_link() });
    net.run(seconds(12.0));
    net.network.set_config(TestNet::bad_link());
    net.run(seconds(8.0));
    net.server.world_mut().spawn((Replicated, Health(2)));
    net.run(seconds(1.0));
    assert_eq!(
        (state(&net.clients[0]), count::<Health>(&mut net.clients[0])),
        (ClientState::Connected, 1)
    );
    net.clients[0].world_mut().commands().disconnect();
    net.run(seconds(1.0));
}
