//! The plugins, and the order of their systems.

use bevy_app::prelude::*;
use bevy_app::{PluginGroupBuilder, RunFixedMainLoopSystems};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::SystemSet;
use bevy_state::app::{AppExtStates, StatesPlugin};
use bevy_time::{Fixed, Time, TimePlugin};
use tightwire::play::{ClientConfig, ServerConfig};
use tightwire::snapshot;

use crate::classes::Replication;
use crate::client::{self, ClientReplica, EntityMap};
use crate::mode::{self, ClientState, Disconnected, Lingering, NetMode, ServerState};
use crate::owner;
use crate::registry::Registry;
use crate::server::{self, Collector};
use crate::step::{self, NetTick};
use crate::taken::Deferred;

/// Both plugins: the app can be single player, listen server, dedicated server or client. Add
/// `DefaultPlugins` or `MinimalPlugins` before: these plugins add those that they need and that the app
/// does not have yet.
///
/// ```
/// use bevy_app::App;
/// use bevy_tightwire::prelude::*;
///
/// let mut app = App::new();
/// app.add_plugins(TightwirePlugins::new("my game", "1.0"));
/// app.finish();
/// assert_eq!(*app.world().resource::<NetMode>(), NetMode::Offline);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct TightwirePlugins {
    game: String,
    version: String,
}

impl TightwirePlugins {
    /// Creates both plugins with their default configurations. Sides with another name or version
    /// of the game refuse each other.
    #[must_use]
    pub fn new(game: &str, version: &str) -> Self {
        Self { game: game.into(), version: version.into() }
    }
}

impl PluginGroup for TightwirePlugins {
    fn build(self) -> PluginGroupBuilder {
        PluginGroupBuilder::start::<Self>()
            .add(TightwireServerPlugin::new(&self.game, &self.version))
            .add(TightwireClientPlugin::new(&self.game, &self.version))
    }
}

/// The plugin of apps that can be a server. A dedicated server needs only this plugin; a listen server
/// needs both, since its host has a local player.
#[derive(Clone, PartialEq, Debug)]
pub struct TightwireServerPlugin {
    /// Name of the game.
    pub game: String,
    /// Version of the game.
    pub version: String,
    /// Configuration of the server. Default: [`ServerConfig::default`].
    pub config: ServerConfig,
}

impl TightwireServerPlugin {
    /// Creates the plugin with the default configuration.
    #[must_use]
    pub fn new(game: &str, version: &str) -> Self {
        Self { game: game.into(), version: version.into(), config: ServerConfig::default() }
    }
}

impl Plugin for TightwireServerPlugin {
    fn build(&self, app: &mut App) {
        build_shared(app, &self.game, &self.version);
        app.world_mut().resource_mut::<NetConfig>().server = self.config.clone();
        app.world_mut().resource_mut::<Roles>().has_server = true;
        server::build(app);
    }

    fn finish(&self, app: &mut App) {
        finish_shared(app);
    }
}

/// The plugin of apps with a local player: single player, host or client.
#[derive(Clone, PartialEq, Debug)]
pub struct TightwireClientPlugin {
    /// Name of the game.
    pub game: String,
    /// Version of the game.
    pub version: String,
    /// Configuration of the client. Default: [`ClientConfig::default`], with a tolerance of 2 codes
    /// for predictions, since components keep their full precision.
    pub config: ClientConfig,
}

impl TightwireClientPlugin {
    /// Creates the plugin with the default configuration.
    #[must_use]
    pub fn new(game: &str, version: &str) -> Self {
        let mut config = ClientConfig::default();
        config.predict.tolerance = 2;
        Self { game: game.into(), version: version.into(), config }
    }
}

impl Plugin for TightwireClientPlugin {
    fn build(&self, app: &mut App) {
        build_shared(app, &self.game, &self.version);
        app.world_mut().resource_mut::<NetConfig>().client = self.config.clone();
        app.world_mut().resource_mut::<Roles>().has_client = true;
        client::build(app);
    }

    fn finish(&self, app: &mut App) {
        finish_shared(app);
    }
}

/// The parts of a frame, for `before` and `after`.
#[derive(SystemSet, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NetworkSet {
    /// `PreUpdate`: packets are received, clients join and leave, messages are handed out.
    Receive,
    /// `PreUpdate`: a client despawns and spawns entities, and writes the shown states.
    Apply,
    /// `RunFixedMainLoop`: the game writes its [`LocalInput`](crate::LocalInput).
    WriteInput,
    /// `RunFixedMainLoop`: `FixedMain` runs for each tick that is due, replays included.
    Step,
    /// `FixedFirst`: the inputs of the tick are written into [`Controls`](crate::Controls).
    Input,
    /// `FixedLast`: the changes of the tick are collected.
    Collect,
    /// `PostUpdate`: messages and snapshots are sent.
    Send,
}

/// Name and version of the game.
#[derive(Resource, Clone, Debug)]
pub(crate) struct GameName {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// Configurations of both sides.
#[derive(Resource, Clone, Debug, Default)]
pub(crate) struct NetConfig {
    pub(crate) server: ServerConfig,
    pub(crate) client: ClientConfig,
}

/// The plugins that the app has.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub(crate) struct Roles {
    pub(crate) has_server: bool,
    pub(crate) has_client: bool,
}

/// The reason for which the app has no classes. Its mode stays offline.
#[derive(Resource, Clone, Debug)]
pub(crate) struct FinishError(pub(crate) String);

/// Adds the parts that both plugins need, if the other one has not added them yet.
fn build_shared(app: &mut App, game: &str, version: &str) {
    if app.world().contains_resource::<GameName>() {
        return;
    }
    if !app.is_plugin_added::<TimePlugin>() {
        app.add_plugins(TimePlugin);
    }
    if !app.is_plugin_added::<StatesPlugin>() {
        app.add_plugins(StatesPlugin);
    }
    app.insert_resource(GameName { name: game.into(), version: version.into() })
        .init_resource::<Registry>()
        .init_resource::<NetConfig>()
        .init_resource::<Roles>()
        .init_resource::<NetMode>()
        .init_resource::<NetTick>()
        .init_resource::<Lingering>()
        .init_resource::<Deferred>()
        .init_resource::<Collector>()
        .init_resource::<EntityMap>()
        .init_resource::<ClientReplica>()
        .init_state::<ClientState>()
        .init_state::<ServerState>()
        .add_message::<Disconnected>()
        .configure_sets(PreUpdate, (NetworkSet::Receive, NetworkSet::Apply).chain())
        .configure_sets(
            RunFixedMainLoop,
            (
                NetworkSet::WriteInput.in_set(RunFixedMainLoopSystems::BeforeFixedMainLoop),
                NetworkSet::Step
                    .after(RunFixedMainLoopSystems::BeforeFixedMainLoop)
                    .before(RunFixedMainLoopSystems::FixedMainLoop),
                // Online, the play layer decides which ticks are due.
                RunFixedMainLoopSystems::FixedMainLoop.run_if(step::is_driven_by_bevy),
            ),
        )
        .add_observer(owner::mark_owned)
        .add_observer(owner::unmark_owned)
        .add_systems(PostStartup, begin_offline)
        .add_systems(RunFixedMainLoop, step::step.in_set(NetworkSet::Step))
        .add_systems(FixedFirst, step::write_inputs.in_set(NetworkSet::Input))
        .add_systems(PostUpdate, (step::send, mode::linger).in_set(NetworkSet::Send));
}

/// Makes the classes of the app, once all plugins are added.
fn finish_shared(app: &mut App) {
    let world = app.world_mut();
    if world.contains_resource::<Replication>() || world.contains_resource::<FinishError>() {
        return;
    }
    let timestep = world.resource::<Time<Fixed>>().timestep();
    let hertz = 1.0 / timestep.as_secs_f64();
    if (hertz - hertz.round()).abs() > 1e-3 || hertz < 1.0 {
        log::error!("{hertz} ticks per second: `Time<Fixed>` needs a whole number of hertz");
    }
    let ticks_per_second = (hertz.round() as u32).max(1);
    let config = world.resource::<NetConfig>().server.snapshot;
    let config = snapshot::Config { ticks_per_second, ..config };
    let replication = world.resource_scope(|world, mut registry: Mut<'_, Registry>| {
        registry.channels.sort_by_key(|channel| channel.declaration().0);
        Replication::new(&mut registry, world, config)
    });
    match replication {
        Ok(replication) => {
            server::observe_moves(world, &replication);
            world.insert_resource(replication);
        }
        Err(error) => {
            log::error!("a component cannot be replicated: {error}");
            // The other plugin of the app finishes too, with what this one left.
            world.insert_resource(FinishError(error.to_string()));
        }
    }
}

/// Begins single player, if no other mode was chosen in `Startup`.
fn begin_offline(world: &mut World) {
    let mut clients = world.query::<&crate::LocalClient>();
    let has_player = clients.iter(world).next().is_some();
    if *world.resource::<NetMode>() == NetMode::Offline && !has_player {
        mode::begin(world, NetMode::Offline);
    }
}
