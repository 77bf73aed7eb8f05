//! The declaration of the game: the objects of its world, the players' input, and its messages.

use std::time::Duration;

use tightwire::play::{self, ClientConfig, Game, ObjectConfig, Scene, ServerConfig};
use tightwire::quic::QuicConfig;
use tightwire::snapshot::{Level, Scope};
use tightwire::{Message, SessionConfig, Wire, snapshot};

use super::pace::TICKS_PER_SECOND;
use super::steering;

/// The cube of a player; the positions of other cubes are predicted from it.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) struct Player {
    #[wire(spatial, reference, min = -31.9, max = 31.9, resolution = 0.002)]
    pub(super) position: [f32; 3],
    #[wire(derivative_of = position, min = -10.0, max = 10.0, resolution = 0.01)]
    pub(super) velocity: [f32; 3],
}

/// A small cube that players push around.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(super) struct Cube {
    #[wire(spatial, min = -31.9, max = 31.9, resolution = 0.002)]
    pub(super) position: [f32; 3],
    #[wire(smallest_three = 9)]
    pub(super) rotation: [f32; 4],
    pub(super) awake: bool,
}

/// Maximum absolute value of a coordinate.
pub(super) const MAX_COORDINATE: f32 = 31.9;

/// Maximum absolute value of a player's velocity along an axis.
pub(super) const MAX_VELOCITY: f32 = 10.0;

/// Input of a player in a tick.
#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Steer {
    /// Wanted velocity along x and y, in percent of the maximum speed.
    #[wire(range = -100..=100)]
    pub(super) stick: [i8; 2],
    pub(super) action: Action,
}

impl play::Input for Steer {
    /// A blow between two ticks is not lost.
    fn merge(&mut self, newer: &Self) {
        let action = if newer.action == Action::Nothing { self.action } else { newer.action };
        *self = Self { action, ..*newer };
    }

    /// A missing input steers on, and does not blow again.
    fn repeated(&self, _missing: u32) -> Self {
        Self { action: Action::Nothing, ..*self }
    }
}

/// Action of a player besides moving.
#[derive(Wire, Default, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    #[default]
    Nothing,
    /// Attracts the cubes nearby.
    Gather,
    /// Throws the cubes nearby away.
    Blow,
}

/// A line of chat.
#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(super) struct Chat {
    /// Author of the line; the server overwrites the number that a client sends.
    #[wire(range = 0..=63)]
    pub(super) client: u8,
    #[wire(max_len = 240)]
    pub(super) text: String,
}

/// Returns the declaration of the game, which server and clients share.
pub(super) fn game() -> Game<Steer> {
    // The world is small: everybody sees all of it.
    let seen = ObjectConfig { scope: Some(Scope::Always), ..ObjectConfig::default() };
    Game::new("cubes", env!("CARGO_PKG_VERSION"))
        .tick_rate(TICKS_PER_SECOND)
        .object_with::<Player>(seen)
        .object_with::<Cube>(seen)
        .input::<Steer>()
        .message::<Chat>()
}

/// Steps the predicted world of a client: its own cube, as the server moves it without contact.
pub(super) fn predict(scene: &mut Scene<'_, Steer>) {
    scene.for_each::<Player>(|scene, id, player| {
        if let Some(steer) = scene.input(id) {
            steering::step(player, steer);
        }
    });
}

/// Returns the server's configuration.
pub(super) fn server_config(level: Level, clients: u32) -> ServerConfig {
    ServerConfig {
        session: SessionConfig {
            max_clients: clients as usize,
            hello_timeout: CONNECT_TIMEOUT,
            ..SessionConfig::default()
        },
        snapshot: snapshots(level),
        ..ServerConfig::default()
    }
}

/// Returns the clients' configuration.
pub(super) fn client_config(level: Level) -> ClientConfig {
    ClientConfig {
        session: SessionConfig { hello_timeout: CONNECT_TIMEOUT, ..SessionConfig::default() },
        snapshot: snapshots(level),
        ..ClientConfig::default()
    }
}

fn snapshots(level: Level) -> snapshot::Config {
    snapshot::Config {
        level,
        ticks_per_second: TICKS_PER_SECOND,
        max_objects: 1024,
        // Enough for a round-trip time of two seconds, the most that the page offers.
        history: 192,
        ..snapshot::Config::default()
    }
}

/// Returns the snapshot protocol of the game, whose classes are in the order of their names, to read
/// the packets themselves.
pub(super) fn protocol(level: Level) -> Result<snapshot::Protocol, snapshot::ProtocolError> {
    snapshot::Protocol::builder(snapshots(level)).class::<Cube>().class::<Player>().build()
}

/// Returns the transport's configuration, with timeouts for networks too bad to play on.
pub(super) fn quic() -> QuicConfig {
    QuicConfig {
        idle_timeout: CONNECT_TIMEOUT,
        handshake_timeout: CONNECT_TIMEOUT,
        ..QuicConfig::default()
    }
}

/// Handshake and idle timeout: with a round-trip time of two seconds and a third of the packets
/// lost, connecting takes a while.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the name of a client.
pub(super) fn name(client: u32) -> String {
    let name = NAMES[client as usize % NAMES.len()];
    match client as usize / NAMES.len() {
        0 => name.into(),
        more => format!("{name}{}", more + 1),
    }
}

const NAMES: [&str; 8] = ["ada", "bo", "cleo", "dov", "eli", "fay", "gus", "hana"];

/// Cuts a text to the maximum length of a [`Chat`].
pub(super) fn shortened(text: &str) -> String {
    let mut end = text.len().min(240);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].into()
}
