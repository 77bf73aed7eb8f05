//! The game's messages, and the objects of its world.

use std::time::Duration;

use tightwire::SessionConfig;
use tightwire::message::MessengerBuilder;
use tightwire::quic::QuicConfig;
use tightwire::snapshot::Level;
use tightwire::{Context, Message, PeerId, Wire, snapshot};

use super::pace::TICKS_PER_SECOND;

/// A cube that a player rolls; the positions of other cubes are predicted from it.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(super) struct Player {
    #[wire(spatial, reference, min = -31.9, max = 31.9, resolution = 0.002)]
    pub(super) position: [f32; 3],
    #[wire(smallest_three = 9)]
    pub(super) rotation: [f32; 4],
    pub(super) awake: bool,
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
pub(super) const MOST: f32 = 31.9;

/// Input of a player, with the acks of snapshots: 60 times a second.
#[derive(Wire, Message, Default, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Input {
    #[wire(range = -100..=100)]
    pub(super) stick: [i8; 2],
    pub(super) action: Action,
    pub(super) ack: Option<snapshot::Ack>,
}

/// Action of a player besides rolling.
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

/// A snapshot of the world, no larger than a datagram allows.
#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(super) struct Snapshot {
    pub(super) packet: snapshot::SnapshotPacket,
}

/// Maximum length of a blob's length prefix, in bytes.
pub(super) const BLOB_LENGTH: usize = 3;

/// Received messages, until the next tick or frame handles them.
#[derive(Default, Debug)]
pub(super) struct Inbox {
    pub(super) inputs: Vec<(PeerId, Input)>,
    pub(super) chats: Vec<(PeerId, Chat)>,
    pub(super) snapshots: Vec<Vec<u8>>,
}

/// Registers the messages of both sides.
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

/// Returns the snapshot protocol of the world.
pub(super) fn protocol(level: Level) -> Result<snapshot::Protocol, snapshot::ProtocolError> {
    let config = snapshot::Config {
        level,
        ticks_per_second: TICKS_PER_SECOND,
        max_objects: 1024,
        // Enough for a round-trip time of two seconds, the most that the page offers.
        history: 192,
    };
    snapshot::Protocol::builder(config).class::<Player>().class::<Cube>().build()
}

/// Returns the session's configuration. Its protocol id covers the snapshot protocol, so that
/// builds with different snapshots refuse each other.
pub(super) fn session(protocol: &snapshot::Protocol, clients: u32) -> SessionConfig {
    SessionConfig {
        max_clients: clients as usize,
        hello_timeout: PATIENCE,
        ..SessionConfig::new("cubes", env!("CARGO_PKG_VERSION")).with_snapshots(protocol)
    }
}

/// Returns the transport's configuration, with timeouts for networks too bad to play on.
pub(super) fn quic() -> QuicConfig {
    QuicConfig { idle_timeout: PATIENCE, handshake_timeout: PATIENCE, ..QuicConfig::default() }
}

/// Handshake and idle timeout: with a round-trip time of two seconds and a third of the packets
/// lost, connecting takes a while.
const PATIENCE: Duration = Duration::from_secs(30);

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
