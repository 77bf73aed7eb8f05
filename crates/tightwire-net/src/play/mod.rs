//! The play layer: replication, inputs, prediction and playback of a game, over a session.
//!
//! A game declares its classes of objects, its input and its messages as a [`Game`], which serves
//! or joins. It steps its world in one function, over a [`Scene`], on both sides.
//!
//! * **Replication.** A player that joins gets the objects that are relevant to it, with its own
//!   first: [`World::set_owner`], [`World::set_scope`]. The budget of each snapshot follows the
//!   connection, and so does the level of compression.
//! * **Time.** A client's clock runs ahead of the server just enough that its inputs arrive in time,
//!   and is corrected by a few percent of speed: [`Client::time`].
//! * **Inputs.** Each packet has all inputs that the server does not have yet. The server uses exactly
//!   one input per player and tick: [`Server::inputs`].
//! * **Prediction.** A client steps its own objects without waiting. The state of each tick is
//!   compared with the server's, and replayed from there if it differs; the visible error fades.
//! * **Lag compensation.** [`Server::as_seen_by`] reads the world as a player saw it.
//! * **Events in step.** A message can be bound to a tick or an object, and is handed out when that
//!   is shown: [`Route::at_tick`](crate::message::Route::at_tick).
//! * **Sessions that last.** A player that lost its connection resumes with its objects. Large
//!   [`Asset`]s come in the background.
//!
//! ```
//! use std::time::Duration;
//! use tightwire::play::{ClientConfig, Game, Input, Scene, ServerConfig, ServerEvent};
//! use tightwire::session::OpenToAnyone;
//! use tightwire::transport::InProcess;
//! use tightwire::Wire;
//!
//! #[derive(Wire, Default)]
//! struct Tank {
//!     #[wire(spatial, min = -200.0, max = 200.0, resolution = 0.002)]
//!     position: [f32; 2],
//! }
//!
//! #[derive(Wire, Default, Clone)]
//! struct Drive {
//!     #[wire(range = -1..=1)]
//!     x: i8,
//! }
//! impl Input for Drive {}
//!
//! fn game() -> Game<Drive> {
//!     Game::new("arena", "1.0").object::<Tank>().input::<Drive>()
//! }
//!
//! /// One tick, on the server and, in advance, on the client.
//! fn step(scene: &mut Scene<'_, Drive>) {
//!     let dt = scene.dt();
//!     scene.for_each::<Tank>(|scene, id, tank| {
//!         let x = scene.input(id).map_or(0, |drive| drive.x);
//!         tank.position[0] += 10.0 * f32::from(x) * dt;
//!     });
//! }
//!
//! let (here, there) = InProcess::pair();
//! let mut server = game().serve(ServerConfig::default(), OpenToAnyone::default(), there)?;
//! let mut client = game().connect(ClientConfig::default(), &[], here)?;
//! for frame in 0..300 {
//!     let now = Duration::from_millis(8) * frame;
//!     server.receive(now);
//!     while let Some(event) = server.poll_event() {
//!         if let ServerEvent::Joined { peer, .. } = event {
//!             let mut world = server.world();
//!             let tank = world.spawn(&Tank::default())?;
//!             world.set_owner(tank, Some(peer));
//!         }
//!     }
//!     while server.begin_tick(now).is_some() {
//!         step(&mut server.scene());
//!     }
//!     server.send(now);
//!
//!     client.receive(now);
//!     client.input(&Drive { x: 1 });
//!     while let Some(mut scene) = client.next_step() {
//!         step(&mut scene);
//!     }
//!     client.send(now);
//! }
//! let (_, tank) = client.world().iter::<Tank>().next().ok_or("no tank")?;
//! assert!(tank.position[0] > 15.0, "{:?}", tank.position);
//! assert_eq!(client.stats().prediction.mispredicted, 0);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

pub(crate) mod asset;
mod budget;
mod capture;
mod client;
mod control;
mod error;
mod frame;
mod game;
mod header;
mod input;
mod player_input;
mod predict;
pub(crate) mod resume;
mod rewind;
mod scene;
mod server;
mod time;

pub use asset::{Asset, AssetError, AssetProgress};
pub use capture::{GameDescription, write_frame_record};
pub use client::{Client, ClientConfig, ClientEvent, ClientStats, View};
pub use error::{PlayError, SceneError};
pub use game::{Class, Game, ObjectConfig};
pub use input::{InputKind, InputLayoutError, InputStats};
pub use player_input::{Input, PlayerInput};
pub use predict::{Misprediction, PredictConfig, PredictionStats, Touch};
pub use resume::DuplicateLogin;
pub use rewind::RewindStats;
pub use scene::Scene;
pub use server::{Past, PeerPlayStats, Server, ServerConfig, ServerEvent, To, World};
pub use time::{Tick, TimeConfig, TimeJump, TimeJumpCause, TimeReport};

/// Bytes before the snapshot in its frame: those of the session, and the play header.
const PREFIX: usize = crate::message::FRAME_PREFIX + header::PlayHeader::BYTES;
