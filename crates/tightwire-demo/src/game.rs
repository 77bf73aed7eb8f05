//! What the game says: its messages, and the objects of its world.

use std::time::Duration;

use tightwire::SessionConfig;
use tightwire::message::MessengerBuilder;
use tightwire::quic::QuicConfig;
use tightwire::snapshot::Level;
use tightwire::{Context, Message, PeerId, Wire, snapshot};

use super::pace::TICKS_PER_SECOND;

/// A cube that a player rolls: others move with it.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(super) struct Player {
    #[wire(spatial, reference, min = -31.9, max = 31.9, resolution = 0.002)]
    pub(super) position: [f32; 3],
    #[wire(smallest_three = 9)]
    pub(super) rotation: [f32; 4],
    pub(super) awake: bool,
}

/// One of the many that are pushed around.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(super) struct Cube {
    #[wire(spatial, min = -31.9, max = 31.9, resolution = 0.002)]
    pub(super) position: [f32; 3],
    #[wire(smallest_three = 9)]
    pub(super) rotation: [f32; 4],
    pub(super) awake: bool,
}

/// What a position can be.
pub(super) const MOST: f32 = 31.9;

/// What a client wants, and which snapshots it has: 60 times a second.
#[derive(Wire, Message, Default, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Input {
    #[wire(range = -100..=100)]
    pub(super) stick: [i8; 2],
    pub(super) action: Action,
    pub(super) ack: Option<snapshot::Ack>,
}

/// What a player does besides rolling.
#[derive(Wire, Default, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    #[default]
    Nothing,
    /// Draws cubes near by.
    Gather,
    /// Throws them away.
    Blow,
}

/// A line of somebody.
#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(super) struct Chat {
    /// Whose it is; the server does not believe what a client says here.
    #[wire(range = 0..=63)]
    pub(super) client: u8,
    #[wire(max_len = 240)]
    pub(super) text: String,
}

/// A part of the world, as much of it as fits into a datagram.
#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(super) struct Snapshot {
    pub(super) packet: snapshot::SnapshotPacket,
}

/// What is before the bytes of a blob, at most.
pub(super) const BLOB_LENGTH: usize = 3;

/// What came, until somebody looks.
#[derive(Default, Debug)]
pub(super) struct Inbox {
    pub(super) inputs: Vec<(PeerId, Input)>,
    pub(super) chats: Vec<(PeerId, Chat)>,
    pub(super) snapshots: Vec<Vec<u8>>,
}

/// The messages that both sides know.
pub(super) fn messages(builder: MessengerBuilder<Inbox>) -> MessengerBuilder<Inbox> {
    builder
        .handle(|input: &Input, context: &mut Context<'_, Inbox>| {
            context.state.inputs.push((context.sender(), *input));
        })
        .handle(|chat: &Chat, context: &mut Context<'_, Inbox>| {
            context.state.chats.push((context.sender(), chat.clone()));
        })
        .handle(|snapshot: &Snapshot, context: &mut Context<'_, Inbox>| {
            context.state.snapshots.push(snapshot.packet.bytes.clone());
        })
}

/// How the world travels.
pub(super) fn protocol(level: Level) -> Result<snapshot::Protocol, snapshot::ProtocolError> {
    let config = snapshot::Config {
        level,
        ticks_per_second: TICKS_PER_SECOND,
        max_objects: 1024,
        // Two seconds of round trip can be asked for.
        history: 192,
    };
    snapshot::Protocol::builder(config).class::<Player>().class::<Cube>().build()
}

/// Builds that would not understand each other's snapshots refuse each other.
pub(super) fn session(protocol: &snapshot::Protocol, clients: u32) -> SessionConfig {
    SessionConfig {
        max_clients: clients as usize,
        hello_timeout: PATIENCE,
        ..SessionConfig::new("cubes", env!("CARGO_PKG_VERSION")).with_snapshots(protocol)
    }
}

/// As others, but for networks that are worse than anybody would play on.
pub(super) fn quic() -> QuicConfig {
    QuicConfig { idle_timeout: PATIENCE, handshake_timeout: PATIENCE, ..QuicConfig::default() }
}

/// With two seconds of round trip, and every third packet lost, connecting takes a while.
const PATIENCE: Duration = Duration::from_secs(30);

/// The name of a client.
pub(super) fn name(client: u32) -> String {
    let name = NAMES[client as usize % NAMES.len()];
    match client as usize / NAMES.len() {
        0 => name.into(),
        more => format!("{name}{}", more + 1),
    }
}

const NAMES: [&str; 8] = ["ada", "bo", "cleo", "dov", "eli", "fay", "gus", "hana"];

/// As much of a text as a [`Chat`] can have.
pub(super) fn shortened(text: &str) -> String {
    let mut end = text.len().min(240);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].into()
}
