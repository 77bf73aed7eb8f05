//! A server and clients in one process, for tests of games.

use core::time::Duration;
use std::net::SocketAddr;

use bevy_app::App;
use bevy_ecs::entity::Entity;
use bevy_ecs::system::Commands;
use bevy_time::{Real, Time, TimeUpdateStrategy};
use tightwire::link::LinkConfig;
use tightwire::quic::{Certificate, Network, Quic, QuicConfig, Trust};
use tightwire::session::{Admit, Admitted};
use tightwire::token::TokenError;

use crate::client::EntityMap;
use crate::mode::{NetCommandsExt, NetMode};
use crate::owner::ConnectedClient;
use crate::plugin::FinishError;
use crate::server::object_of;

/// A server app and client apps over a simulated network, on a virtual clock: a run is a function of
/// its seed.
///
/// [`print_warnings`](Self::print_warnings) prints what the apps log.
///
/// ```
/// use bevy_app::App;
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
/// use bevy_tightwire::TestNet;
/// use std::time::Duration;
///
/// #[derive(Component, Wire, Default, PartialEq, Debug)]
/// struct Health(#[wire(range = 0..=100)] u8);
///
/// fn game(app: &mut App) {
///     app.add_plugins(TightwirePlugins::new("game", "1.0"));
///     app.replicate::<Health>();
/// }
///
/// TestNet::print_warnings();
/// let mut net = TestNet::new(TestNet::bad_link(), 1, 2, game);
/// net.server.world_mut().spawn((Replicated, Health(80)));
/// net.run(Duration::from_secs(2));
/// net.assert_equal_worlds();
/// for client in &mut net.clients {
///     let world = client.world_mut();
///     assert_eq!(world.query::<&Health>().single(world).ok(), Some(&Health(80)));
/// }
/// ```
#[derive(Debug)]
pub struct TestNet {
    /// The server.
    pub server: App,
    /// The clients.
    pub clients: Vec<App>,
    /// The network between them, whose links can be changed.
    pub network: Network,
    /// Duration of a frame, by which the clock of each app advances. Default: 1/120 s.
    pub frame: Duration,
    certificate: Certificate,
    /// Number of connections so far, each from an address of its own.
    connections: u16,
    game: fn(&mut App),
    seed: u64,
    now: Duration,
}

impl TestNet {
    /// Starts a dedicated server and clients of a game. `game` adds the plugins, the registrations
    /// and the systems of the game to each app.
    ///
    /// # Panics
    ///
    /// If `game` adds no plugin of this crate, or registers a component that cannot be replicated. If the
    /// simulated network refuses its own certificate, which would be a bug of this crate.
    #[must_use]
    pub fn new(link: LinkConfig, seed: u64, clients: usize, game: fn(&mut App)) -> Self {
        Self::with_server(link, seed, clients, game, NetMode::Dedicated)
    }

    /// Starts a listen server, whose host plays too, and clients of a game.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new).
    #[must_use]
    pub fn hosted(link: LinkConfig, seed: u64, clients: usize, game: fn(&mut App)) -> Self {
        Self::with_server(link, seed, clients, game, NetMode::Host)
    }

    #[expect(clippy::expect_used, reason = "a helper of tests")]
    fn with_server(
        link: LinkConfig,
        seed: u64,
        clients: usize,
        game: fn(&mut App),
        mode: NetMode,
    ) -> Self {
        let mut net = Self::without_server(link, seed, game);
        let socket = net.network.socket(SERVER.into());
        let transport =
            Quic::listen(socket, &net.certificate, net.quic()).expect("a simulated server");
        run_commands(&mut net.server, |commands| match mode {
            NetMode::Host => commands.host(transport, Numbers),
            _ => commands.serve(transport, Numbers),
        });
        (0..clients).for_each(|_| net.join());
        net
    }

    #[expect(clippy::expect_used, reason = "a helper of tests")]
    fn without_server(link: LinkConfig, seed: u64, game: fn(&mut App)) -> Self {
        let frame = Duration::from_nanos(1_000_000_000 / 120);
        Self {
            server: complete(game, frame),
            clients: Vec::new(),
            network: Network::new(link, seed),
            frame,
            certificate: Certificate::self_signed([NAME]).expect("a certificate"),
            connections: 0,
            game,
            seed,
            now: Duration::ZERO,
        }
    }

    /// Prints warnings and errors of this process, of which the most common ones are values that cannot
    /// be replicated. Does nothing if the program has a logger already.
    ///
    /// A program has one logger: a test that sets its own does not call this.
    pub fn print_warnings() {
        if log::set_logger(&Warnings).is_ok() {
            log::set_max_level(log::LevelFilter::Warn);
        }
    }

    fn quic(&self) -> QuicConfig {
        QuicConfig { seed: Some(self.seed), ..QuicConfig::default() }
    }

    /// A link with 100 ms round trip, 15 ms jitter and 3% loss.
    #[must_use]
    pub fn bad_link() -> LinkConfig {
        LinkConfig {
            latency: Duration::from_millis(50),
            jitter: Duration::from_millis(15),
            loss: 0.03,
            ..LinkConfig::default()
        }
    }

    /// A link without latency and loss.
    #[must_use]
    pub fn perfect_link() -> LinkConfig {
        LinkConfig::default()
    }

    /// Starts one more client.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new).
    pub fn join(&mut self) {
        let mut app = complete(self.game, self.frame);
        app.world_mut().resource_mut::<Time<Real>>().advance_by(self.now);
        self.clients.push(app);
        self.connect(self.clients.len() - 1);
    }

    /// Connects `clients[client]` to the server: again, if it has disconnected or was kicked, or from
    /// another mode.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    pub fn connect(&mut self, client: usize) {
        self.connections += 1;
        let [upper, lower] = self.connections.to_be_bytes();
        let address = SocketAddr::from(([10, 0, upper + 1, lower], 1000));
        let trust = Trust::Pinned(vec![self.certificate.fingerprint()]);
        let socket = self.network.socket(address);
        let transport = Quic::connect(socket, SERVER.into(), NAME, &trust, self.quic(), self.now)
            .expect("a simulated client");
        run_commands(&mut self.clients[client], |commands| {
            commands.connect(transport, &(client as u64 + 1).to_le_bytes());
        });
    }

    /// Returns the entity of a client on the server: that of `clients[client]`, which has
    /// [`ConnectedClient`]. `None` before the server has accepted the client.
    pub fn client_entity(&mut self, client: usize) -> Option<Entity> {
        let world = self.server.world_mut();
        let mut clients = world.query::<(Entity, &ConnectedClient)>();
        let number = client as u64 + 1;
        clients.iter(world).find(|(_, client)| client.number == number).map(|(entity, _)| entity)
    }

    /// Returns the entity of `clients[client]` that stands for an entity of the server; `None` if
    /// the client has none.
    #[must_use]
    pub fn entity_on_client(&self, client: usize, entity: Entity) -> Option<Entity> {
        let id = object_of(self.server.world(), entity)?;
        self.clients[client].world().resource::<EntityMap>().entity(id)
    }

    /// Runs all apps for a time, frame by frame.
    pub fn run(&mut self, time: Duration) {
        self.run_with(time, |_| {});
    }

    /// Runs all apps for a time; `each` sees them after each frame.
    pub fn run_with(&mut self, time: Duration, mut each: impl FnMut(&mut Self)) {
        let end = self.now + time;
        while self.now < end {
            self.now += self.frame;
            for app in core::iter::once(&mut self.server).chain(&mut self.clients) {
                // The frame may have changed, also by `each`.
                app.insert_resource(TimeUpdateStrategy::ManualDuration(self.frame));
                app.update();
            }
            each(self);
        }
    }
}

/// A gate that admits every client with the number that is its token.
struct Numbers;

impl Admit for Numbers {
    fn check(&mut self, token: &[u8], _: Duration) -> Result<Admitted, TokenError> {
        let number = token.try_into().map_err(|_| TokenError::Missing)?;
        Ok(Admitted { client: u64::from_le_bytes(number), user_data: Vec::new() })
    }

    fn redeem(&mut self, _: &[u8], _: Duration) -> Result<(), TokenError> {
        Ok(())
    }
}

/// Prints warnings and errors.
struct Warnings;

impl log::Log for Warnings {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            eprintln!("{} in {}: {}", record.level(), record.target(), record.args());
        }
    }

    fn flush(&self) {}
}

/// Makes an app complete: with its plugins, and a clock that goes on by one frame per update.
fn complete(game: fn(&mut App), frame: Duration) -> App {
    let mut app = App::new();
    game(&mut app);
    let has_plugin = app.world().contains_resource::<NetMode>();
    assert!(has_plugin, "the app has no plugin of bevy_tightwire: add `TightwirePlugins`");
    app.insert_resource(TimeUpdateStrategy::ManualDuration(frame));
    app.finish();
    app.cleanup();
    let error = app.world().get_resource::<FinishError>().map(|error| &error.0);
    assert!(
        error.is_none(),
        "a component cannot be replicated: {}",
        error.map_or("", String::as_str)
    );
    app
}

fn run_commands(app: &mut App, run: impl FnOnce(&mut Commands<'_, '_>)) {
    let world = app.world_mut();
    run(&mut world.commands());
    world.flush();
}

/// Address and name of the server.
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 7777);
const NAME: &str = "game.example";
