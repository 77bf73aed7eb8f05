//! The libraries that are compared, each as a server app and client apps in one process.
//!
//! A message takes [`DELAY`] frames in each direction, and none is lost.

mod lightyear;
mod replicon;
mod tightwire;

use std::collections::VecDeque;
use std::sync::Arc;

use bevy_app::App;

use crate::scene::{Player, Scene, add_scene};

/// Frames that a message takes: 50 ms.
pub const DELAY: usize = 3;

/// Bytes that netcode adds to a packet: a prefix, a sequence number of two bytes, and the tag that
/// authenticates it.
pub const NETCODE: u64 = 1 + 2 + 16;

/// A library with a server and clients.
pub trait Stack {
    /// The server, whose updates are timed.
    fn server(&mut self) -> &mut App;

    /// The clients.
    fn clients(&mut self) -> &mut [App];

    /// Carries messages between server and clients, at the end of a frame.
    fn exchange(&mut self);

    /// Bytes of replication that the server has sent to all clients.
    fn payload(&mut self) -> u64;

    /// Bytes of all UDP datagrams that the server has sent, without headers of UDP and IP; `None`
    /// if the stack has no datagrams.
    fn datagrams(&mut self) -> Option<u64>;
}

/// A line of the table.
pub struct Entry {
    pub name: &'static str,
    /// Starts the server, with the scene, and clients.
    pub start: fn(Player, usize) -> Box<dyn Stack>,
}

/// All lines.
pub const ENTRIES: [Entry; 10] = [
    Entry { name: "no network", start: |player, _| Box::new(Alone::new(player)) },
    Entry {
        name: "replicon, f32",
        start: |player, clients| replicon::start(player, clients, replicon::as_floats),
    },
    Entry {
        name: "replicon, by hand",
        start: |player, clients| replicon::start(player, clients, replicon::by_hand),
    },
    Entry { name: "replicon over renet", start: replicon::over_renet },
    Entry { name: "lightyear, by hand", start: lightyear::start },
    Entry {
        name: "tightwire",
        start: |player, clients| tightwire::in_process(player, clients, tightwire::grouped),
    },
    Entry {
        name: "tightwire, ungrouped",
        start: |player, clients| tightwire::in_process(player, clients, tightwire::ungrouped),
    },
    Entry {
        name: "tightwire, Packed",
        start: |player, clients| tightwire::in_process(player, clients, tightwire::packed),
    },
    Entry {
        name: "tightwire, Modeled",
        start: |player, clients| tightwire::in_process(player, clients, tightwire::modeled),
    },
    Entry { name: "tightwire over QUIC", start: tightwire::over_quic },
];

/// The scene in an app without a network: the part of a server's time that is the game's.
struct Alone {
    app: App,
}

impl Alone {
    fn new(player: Player) -> Self {
        let mut app = App::new();
        app.add_plugins(bevy_time::TimePlugin);
        add_scene(&mut app);
        app.world_mut().spawn_batch(player.bodies());
        app.insert_resource(player);
        Self { app }
    }
}

impl Stack for Alone {
    fn server(&mut self) -> &mut App {
        &mut self.app
    }

    fn clients(&mut self) -> &mut [App] {
        &mut []
    }

    fn exchange(&mut self) {}

    fn payload(&mut self) -> u64 {
        0
    }

    fn datagrams(&mut self) -> Option<u64> {
        None
    }
}

/// Messages that take [`DELAY`] frames.
struct Delayed<M> {
    waiting: VecDeque<(usize, M)>,
}

impl<M> Delayed<M> {
    fn new() -> Self {
        Self { waiting: VecDeque::new() }
    }

    fn push(&mut self, frame: usize, message: M) {
        self.waiting.push_back((frame + DELAY, message));
    }

    fn pop(&mut self, frame: usize) -> Option<M> {
        self.waiting.pop_front_if(|(due, _)| *due <= frame).map(|(_, message)| message)
    }
}

/// Returns the scene of a stack.
pub fn player(scene: &Arc<Scene>, end: usize) -> Player {
    Player::new(scene, end)
}
