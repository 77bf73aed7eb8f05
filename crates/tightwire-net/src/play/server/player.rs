//! A peer of a server, from its first connection until it has left for good.

use std::sync::Arc;

use tightwire_snapshot::{Level, ReceiverId, RoomId, Row, TeamId};

use super::ServerConfig;
use super::assets::PlayerAssets;
use crate::message::PeerId;
use crate::play::PlayerInput;
use crate::play::budget::Budget;
use crate::play::input::{InputConfig, InputKind, InputLayout, InputRing};
use crate::play::player_input::InputClass;
use crate::play::rewind::Rewind;
use crate::play::time::MarginMeter;

/// A player, whose connection may be lost and resumed.
pub(super) struct Player<I> {
    /// The peer of the session; `None` while the connection is lost.
    pub(super) connection: Option<PeerId>,
    pub(super) receiver: Option<ReceiverId>,
    pub(super) ring: InputRing,
    pub(super) margin: MarginMeter,
    pub(super) budget: Budget,
    pub(super) rewind: Rewind,
    /// The input of the current tick, and its origin.
    pub(super) input: I,
    pub(super) kind: InputKind,
    /// The last input that arrived in time, of which missing ones are made.
    last: I,
    pub(super) level: Level,
    /// Tick of the last spawn by a step function, and the number of spawns in it.
    pub(super) spawned: (u32, u16),
    /// Relevancy that the game has set, for the next connection.
    pub(super) rooms: Vec<RoomId>,
    pub(super) team: Option<TeamId>,
    pub(super) viewers: Vec<[f32; 3]>,
    /// Tick of the last snapshot of this connection; `None` before the first.
    pub(super) snapshot_tick: Option<u32>,
    pub(super) snapshots: SnapshotCounts,
    pub(super) assets: PlayerAssets,
}

/// Counts of the snapshots to a player.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SnapshotCounts {
    pub(super) sent: u64,
    pub(super) bytes: u64,
    pub(super) incomplete: u64,
}

impl<I: PlayerInput> Player<I> {
    pub(super) fn new(
        config: &ServerConfig,
        input: &InputClass<I>,
        tick_rate: u32,
        next: u32,
    ) -> Self {
        Self {
            connection: None,
            receiver: None,
            ring: new_ring(config, &input.layout, tick_rate, next),
            margin: MarginMeter::default(),
            budget: Budget::new(config.max_rate, tick_rate),
            rewind: Rewind::new(config.rewind_ticks(tick_rate)),
            input: input.neutral.clone(),
            kind: InputKind::Neutral,
            last: input.neutral.clone(),
            level: config.snapshot.level,
            spawned: (0, 0),
            rooms: Vec::new(),
            team: None,
            viewers: Vec::new(),
            snapshot_tick: None,
            snapshots: SnapshotCounts::default(),
            assets: PlayerAssets::default(),
        }
    }

    /// Begins a connection: without inputs, and with the usual delay of the connection before.
    pub(super) fn connect(&mut self, connection: PeerId, receiver: ReceiverId, ring: InputRing) {
        (self.connection, self.receiver) = (Some(connection), Some(receiver));
        self.ring = ring;
        self.snapshot_tick = None;
        self.margin = MarginMeter::default();
        self.rewind.reset_connection();
        self.assets.start_over();
    }

    /// Settles the input of a tick.
    pub(super) fn take_input(&mut self, tick: u32, input: &InputClass<I>, acked: Option<u32>) {
        let (kind, cells) = self.ring.take();
        self.kind = kind;
        match (kind, cells) {
            (InputKind::Fresh, Some(cells)) => {
                // The cells were accepted when they arrived.
                self.last.read(&input.protocol, Row { class: 0, cells });
                self.input.clone_from(&self.last);
            }
            (InputKind::Repeated(missing), _) => self.input.repeat(&self.last, missing),
            _ => self.input.clone_from(&input.neutral),
        }
        self.rewind.advance(tick, acked);
    }
}

/// Returns the ring of a new connection, whose first input is for the tick `next`.
pub(super) fn new_ring(
    config: &ServerConfig,
    layout: &Arc<InputLayout>,
    tick_rate: u32,
    next: u32,
) -> InputRing {
    let limits = InputConfig { max_repeat: config.max_repeat, tick_rate, ..InputConfig::default() };
    InputRing::new(layout.clone(), limits, next)
}
