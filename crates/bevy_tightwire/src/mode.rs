//! Modes: single player, listen server, dedicated server and client, chosen at run time.

use core::time::Duration;

use bevy_ecs::entity::Entity;
use bevy_ecs::message::Message;
use bevy_ecs::query::With;
use bevy_ecs::resource::Resource;
use bevy_ecs::system::{Commands, Res, ResMut};
use bevy_ecs::world::World;
use bevy_state::state::{NextState, State, States};
use bevy_time::{Real, Time};
use tightwire::play::{Game, ObjectConfig};
use tightwire::session::Admit;
use tightwire::snapshot::Scope;
use tightwire::transport::Transport;

use crate::classes::Replication;
use crate::client::{ClientReplica, NetClient};
use crate::face::{AnyGate, AnyTransport, ClientFace, ServerFace};
use crate::message;
use crate::owner::{ConnectedClient, LocalClient};
use crate::plugin::{FinishError, GameName, NetConfig, Roles};
use crate::registry::Registry;
use crate::server::{Collector, NetServer, set_simulated};
use crate::taken::run_or_defer;

/// The mode of an app, which commands change: see [`NetCommandsExt`].
///
/// | mode | by | authority | local player |
/// |---|---|---|---|
/// | `Offline` | nothing, or [`disconnect`](NetCommandsExt::disconnect) | yes | yes |
/// | `Host` | [`host`](NetCommandsExt::host) | yes | yes |
/// | `Dedicated` | [`serve`](NetCommandsExt::serve) | yes | no |
/// | `Client` | [`connect`](NetCommandsExt::connect) | no | yes |
#[derive(Resource, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NetMode {
    /// Single player.
    #[default]
    Offline,
    /// A listen server: others connect, and the host plays in the server's own world.
    Host,
    /// A dedicated server, without a player of its own.
    Dedicated,
    /// A client of a server.
    Client,
}

impl NetMode {
    /// Whether this side has authority over all objects.
    #[must_use]
    pub fn has_authority(self) -> bool {
        self != Self::Client
    }

    /// Whether this app has a local player.
    #[must_use]
    pub fn has_local_player(self) -> bool {
        self != Self::Dedicated
    }

    /// Whether clients can connect.
    #[must_use]
    pub fn is_serving(self) -> bool {
        matches!(self, Self::Host | Self::Dedicated)
    }
}

/// The state of a client's connection.
#[derive(States, Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ClientState {
    /// This app is no client.
    #[default]
    Disconnected,
    /// The connection is being established, for the first time or again after a loss.
    Connecting,
    /// The server has accepted this client.
    Connected,
}

/// The state of a server.
#[derive(States, Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ServerState {
    /// This app is no server.
    #[default]
    Stopped,
    /// Clients can connect.
    Running,
}

/// Bevy message that a client's app gets when its connection has ended for good, or could not be
/// established. The app is offline again.
#[derive(Message, Clone, PartialEq, Eq, Debug)]
pub struct Disconnected {
    /// The reason, for people.
    pub reason: String,
}

/// A run condition: this side has authority over all objects.
#[must_use]
pub fn has_authority(mode: Res<'_, NetMode>) -> bool {
    mode.has_authority()
}

/// A run condition: this app has a local player.
#[must_use]
pub fn has_local_player(mode: Res<'_, NetMode>) -> bool {
    mode.has_local_player()
}

/// A run condition: this app is a client that the server has accepted.
#[must_use]
pub fn is_connected(state: Res<'_, State<ClientState>>) -> bool {
    *state.get() == ClientState::Connected
}

/// A run condition: the running tick was stepped before, and is replayed after a correction.
/// Systems that play sounds or effects need `run_if(not(is_replaying))`, or they would repeat them.
#[must_use]
pub fn is_replaying(tick: Res<'_, crate::NetTick>) -> bool {
    tick.is_replay
}

/// Commands that change the mode of an app.
///
/// ```
/// use bevy_app::prelude::*;
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
/// use bevy_tightwire::tightwire::transport::InProcess;
///
/// fn start(mut commands: Commands) {
///     let (_, end) = InProcess::pair();
///     commands.host(end, OpenToAnyone::default());
/// }
///
/// let mut app = App::new();
/// app.add_plugins(TightwirePlugins::new("game", "1.0")).add_systems(Startup, start);
/// app.finish();
/// app.update();
/// assert_eq!(*app.world().resource::<NetMode>(), NetMode::Host);
/// ```
pub trait NetCommandsExt {
    /// Becomes a dedicated server.
    fn serve(
        &mut self,
        transport: impl Transport + Send + Sync + 'static,
        gate: impl Admit + 'static,
    );

    /// Becomes a listen server, whose host plays too.
    fn host(
        &mut self,
        transport: impl Transport + Send + Sync + 'static,
        gate: impl Admit + 'static,
    );

    /// Becomes a client, which connects with a token.
    ///
    /// A change of mode despawns the entities that clients own, and the remote entities of a client. All
    /// others stay: a game that has a level in single player despawns it `OnEnter` of
    /// [`ClientState::Connecting`], before that of the server arrives.
    fn connect(&mut self, transport: impl Transport + Send + Sync + 'static, token: &[u8]);

    /// Stops the server or disconnects the client; the app is offline afterwards, with a new local
    /// player.
    fn disconnect(&mut self);

    /// Disconnects a client at once, and sends it the reason.
    fn kick(&mut self, client: Entity, reason: &str);
}

impl NetCommandsExt for Commands<'_, '_> {
    fn serve(
        &mut self,
        transport: impl Transport + Send + Sync + 'static,
        gate: impl Admit + 'static,
    ) {
        let (transport, gate) = (Box::new(transport), AnyGate(Box::new(gate)));
        self.queue(move |world: &mut World| {
            run_or_defer(world, |world| {
                start_server(world, NetMode::Dedicated, transport, gate);
            });
        });
    }

    fn host(
        &mut self,
        transport: impl Transport + Send + Sync + 'static,
        gate: impl Admit + 'static,
    ) {
        let (transport, gate) = (Box::new(transport), AnyGate(Box::new(gate)));
        self.queue(move |world: &mut World| {
            run_or_defer(world, |world| start_server(world, NetMode::Host, transport, gate));
        });
    }

    fn connect(&mut self, transport: impl Transport + Send + Sync + 'static, token: &[u8]) {
        let (transport, token) = (Box::new(transport), token.to_vec());
        self.queue(move |world: &mut World| {
            run_or_defer(world, move |world| start_client(world, transport, &token));
        });
    }

    fn disconnect(&mut self) {
        self.queue(|world: &mut World| {
            run_or_defer(world, |world| {
                stop(world);
                begin(world, NetMode::Offline);
            });
        });
    }

    fn kick(&mut self, client: Entity, reason: &str) {
        let reason = reason.to_string();
        self.queue(move |world: &mut World| {
            let peer = world.get::<ConnectedClient>(client).and_then(|client| client.peer);
            run_or_defer(world, move |world| {
                let server = world.get_resource_mut::<NetServer>();
                if let (Some(peer), Some(mut server)) = (peer, server) {
                    server.0.kick(peer, &reason);
                }
            });
        });
    }
}

fn start_server(world: &mut World, mode: NetMode, transport: AnyTransport, gate: AnyGate) {
    if !has_plugins(world, mode) {
        return;
    }
    stop(world);
    let Some(game) = declare(world) else {
        return begin(world, NetMode::Offline);
    };
    let config = world.resource::<NetConfig>().server.clone();
    #[cfg(feature = "inspect")]
    let transport = crate::inspect::wrap(world, transport, &config.snapshot, &config.session);
    let registry = world.resource::<Registry>();
    match registry.input.serve(game, config, gate, transport) {
        Ok(server) => {
            world.insert_resource(NetServer(server));
            world.resource_mut::<Collector>().start_over();
            world.resource_mut::<NextState<ServerState>>().set(ServerState::Running);
            begin(world, mode);
        }
        Err(error) => {
            log::error!("the server cannot start: {error}");
            begin(world, NetMode::Offline);
        }
    }
}

/// Returns whether the app has the plugins of a mode, and logs the one that is missing.
fn has_plugins(world: &World, mode: NetMode) -> bool {
    let Roles { has_server, has_client } = world.get_resource().copied().unwrap_or_default();
    let missing = match mode {
        _ if !has_server && !has_client => "TightwirePlugins",
        _ if mode.is_serving() && !has_server => "TightwireServerPlugin",
        _ if mode.has_local_player() && !has_client => "TightwireClientPlugin",
        _ => return true,
    };
    log::error!("the app cannot change its mode to {mode:?}: add `{missing}`");
    false
}

fn start_client(world: &mut World, transport: AnyTransport, token: &[u8]) {
    if !has_plugins(world, NetMode::Client) {
        return;
    }
    stop(world);
    let Some(game) = declare(world) else {
        return begin(world, NetMode::Offline);
    };
    let config = world.resource::<NetConfig>().client.clone();
    #[cfg(feature = "inspect")]
    let transport = crate::inspect::wrap(world, transport, &config.snapshot, &config.session);
    let registry = world.resource::<Registry>();
    match registry.input.connect(game, config, token, transport) {
        Ok(client) => {
            world.insert_resource(NetClient(client));
            world.resource_mut::<NextState<ClientState>>().set(ClientState::Connecting);
            begin(world, NetMode::Client);
        }
        Err(error) => {
            log::error!("the client cannot start: {error}");
            begin(world, NetMode::Offline);
        }
    }
}

/// Declares the game, for the play layer, from the classes and messages of the app.
pub(crate) fn declare(world: &World) -> Option<Game> {
    let (Some(replication), Some(GameName { name, version })) =
        (world.get_resource::<Replication>(), world.get_resource::<GameName>())
    else {
        match world.get_resource::<FinishError>() {
            Some(FinishError(error)) => {
                log::error!(
                    "the app cannot change its mode: a component cannot be replicated: {error}"
                );
            }
            None => log::error!("the app is not complete: `App::finish` was not called"),
        }
        return None;
    };
    let mut game =
        Game::new(name, version).tick_rate(replication.protocol.config().ticks_per_second);
    for class in &replication.classes {
        let config = ObjectConfig {
            scope: Some(Scope::Always),
            predict: !class.predicted.is_empty(),
            ..ObjectConfig::default()
        };
        game = game.object_of(&class.name, class.schema.clone(), config);
        let predicted: Vec<_> =
            class.predicted.iter().map(|(field, codes)| (field.as_str(), *codes)).collect();
        game = game.predict_fields(&class.name, &predicted);
    }
    for channel in &world.resource::<Registry>().channels {
        let (name, schema) = channel.declaration();
        game = game.message_of(name, schema);
    }
    Some(game)
}

/// Begins a mode, with its local player.
pub(crate) fn begin(world: &mut World, mode: NetMode) {
    world.insert_resource(mode);
    set_simulated(world, mode.has_authority());
    if !world.resource::<Roles>().has_client || !mode.has_local_player() {
        return;
    }
    match mode.has_authority() {
        true => world.spawn((LocalClient, ConnectedClient::default())),
        false => world.spawn(LocalClient),
    };
}

/// Ends the running mode: closes its connections, and despawns its clients with the entities that
/// they own.
pub(crate) fn stop(world: &mut World) {
    let now = world.resource::<Time<Real>>().elapsed();
    if let Some(mut client) = world.remove_resource::<NetClient>() {
        client.0.disconnect(now);
        client.0.send(now);
        world.resource_mut::<Lingering>().clients.push((now.saturating_add(LINGER), client.0));
        ClientReplica::despawn_all(world);
        world.resource_mut::<NextState<ClientState>>().set(ClientState::Disconnected);
    }
    if let Some(mut server) = world.remove_resource::<NetServer>() {
        server.0.stop(now);
        world.resource_mut::<Lingering>().servers.push((now.saturating_add(LINGER), server.0));
        Collector::forget_all(world);
        world.resource_mut::<NextState<ServerState>>().set(ServerState::Stopped);
    }
    message::forget_waiting(world);
    let mut clients = world.query_filtered::<Entity, With<ConnectedClient>>();
    let mut local = world.query_filtered::<Entity, With<LocalClient>>();
    let clients: Vec<_> = clients.iter(world).chain(local.iter(world)).collect();
    for client in clients {
        let _ = world.try_despawn(client);
    }
}

/// Connections that have ended, each with the time until which its last packets are retransmitted.
#[derive(Resource, Default)]
pub(crate) struct Lingering {
    clients: Vec<(Duration, Box<dyn ClientFace>)>,
    servers: Vec<(Duration, Box<dyn ServerFace>)>,
}

/// Time for which the last packets of an ended connection are retransmitted. A peer that gets none
/// of them notices the end by its own timeout.
const LINGER: Duration = Duration::from_secs(2);

/// Retransmits the last packets of connections that have ended.
pub(crate) fn linger(time: Res<'_, Time<Real>>, mut lingering: ResMut<'_, Lingering>) {
    let now = time.elapsed();
    lingering.clients.retain_mut(|(until, client)| {
        client.receive(now);
        client.send(now);
        now < *until
    });
    lingering.servers.retain_mut(|(until, server)| {
        server.receive(now);
        server.send(now);
        now < *until
    });
}
