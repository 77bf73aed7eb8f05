//! Multiplayer for Bevy in one plugin: replication, prediction and interpolation of components over an
//! encrypted network, in few bytes.
//!
//! The network layer is [Tightwire](https://docs.rs/tightwire), which is here as the module
//! [`tightwire`]: a game needs no other dependency. The README lists the Bevy version that each
//! version of this crate supports.
//!
//! # A game
//!
//! A component derives [`Wire`](tightwire::Wire), which declares the range of each field. One line
//! registers it, and a marker replicates an entity. The same systems run in single player, on a
//! listen server, on a dedicated server and, as prediction, on clients.
//!
//! ```
//! # #[cfg(feature = "test")]
//! # {
//! use bevy_app::prelude::*;
//! use bevy_ecs::prelude::*;
//! use bevy_tightwire::TestNet;
//! use bevy_tightwire::prelude::*;
//! use std::time::Duration;
//!
//! #[derive(Component, Wire, Clone, Default)]
//! struct Position(#[wire(spatial, min = -500.0, max = 500.0, resolution = 0.01)] [f32; 2]);
//!
//! #[derive(Wire, Clone, Default)]
//! struct Move {
//!     #[wire(range = -1..=1)]
//!     x: i8,
//! }
//! impl Input for Move {}
//!
//! fn game(app: &mut App) {
//!     app.add_plugins(TightwirePlugins::new("game", "1.0"))
//!         .add_input::<Move>()
//!         .add_observer(add_player)
//!         .add_systems(RunFixedMainLoop, press.in_set(NetworkSet::WriteInput))
//!         .add_systems(FixedUpdate, movement);
//!     app.replicate::<Position>().predict().interpolate();
//! }
//!
//! fn add_player(joined: On<Add, ConnectedClient>, mut commands: Commands) {
//!     let owner = OwnedBy(joined.entity);
//!     commands.spawn((Replicated, owner, Position::default(), Controls::<Move>::default()));
//! }
//!
//! fn press(mut input: ResMut<LocalInput<Move>>) {
//!     **input = Move { x: 1 };
//! }
//!
//! fn movement(mut players: Query<(&mut Position, &Controls<Move>)>) {
//!     for (mut position, input) in &mut players {
//!         position.0[0] += 0.1 * f32::from(input.x);
//!     }
//! }
//!
//! // For tests of games: a server and two clients, with 100 ms round trip, jitter and loss.
//! let mut net = TestNet::new(TestNet::bad_link(), 1, 2, game);
//! net.run(Duration::from_secs(3));
//! for client in &mut net.clients {
//!     let world = client.world_mut();
//!     assert_eq!(world.query::<&Position>().iter(world).count(), 2);
//!     let mut own = world.query_filtered::<&Position, With<Predicted>>();
//!     assert!(own.single(world).is_ok_and(|position| position.0[0] > 5.0));
//! }
//! # }
//! ```
//!
//! # Modes
//!
//! [`NetCommandsExt`] has the commands `serve`, `host`, `connect` and `disconnect`; [`NetMode`] is
//! the current mode, and [`ClientState`] and [`ServerState`] are the states of its connection and
//! its server. Before the first command, and after `disconnect`, the app is single player. Add
//! `DefaultPlugins` or `MinimalPlugins` before the plugins of this crate, which add what is missing.
//!
//! ```no_run
//! use bevy_ecs::prelude::*;
//! use bevy_tightwire::prelude::*;
//! use std::time::Duration;
//!
//! fn serve(mut commands: Commands) -> Result {
//!     let quic = Quic::listen_self_signed("0.0.0.0:7777".parse()?)?;
//!     println!("its fingerprint is {:?}", quic.fingerprint());
//!     commands.serve(quic, OpenToAnyone::default());
//!     Ok(())
//! }
//!
//! fn join(address: &str, fingerprint: &str, commands: &mut Commands) -> Result {
//!     let quic = Quic::connect_pinned(address.parse()?, fingerprint.parse()?, Duration::ZERO)?;
//!     commands.connect(quic, &[]);
//!     Ok(())
//! }
//! ```
//!
//! On the side with authority, every client, including the local player, is an entity with
//! [`ConnectedClient`]. [`OwnedBy`] makes a client the owner of an entity. [`Simulated`] is on the
//! entities that this side steps, so that systems of predicted components need no run condition.
//!
//! # Replication
//!
//! [`NetAppExt`] registers components: [`replicate`](NetAppExt::replicate) for one, or for a tuple
//! of components that belong together, [`replicate_as`](NetAppExt::replicate_as) for components of
//! other crates, [`replicate_once`](NetAppExt::replicate_once) and
//! [`replicate_resource`](NetAppExt::replicate_resource). [`Replicated`] replicates an entity.
//! Changes are found by Bevy's change detection; a change below the resolution of the wire form
//! costs nothing. A value that the wire form does not have, as an integer beyond its range or a float
//! that is not a number, is not sent, and a warning says so: the previous one stays. A float beyond
//! its range is sent as the end of the range.
//!
//! An entity is one object of Tightwire's snapshots. Its class is that of the largest group of
//! which it has all components; its other components are optional parts of the class. A client
//! never sees half of an entity, and all changes of an entity in one tick arrive together.
//!
//! [`Remote`] marks the entities of a client that stand for those of the server. It is inserted after
//! their components, so an observer of `On<Add, Remote>` finds a whole entity. [`EntityMap`] maps
//! them to objects of the server.
//! [`map_entities`](Registration::map_entities) maps the entities in a component; a client writes
//! the component once it has them. [`NetScope`], [`ClientRooms`], [`ClientTeam`] and [`Viewer`]
//! decide which clients get an entity, and its children with it;
//! [`owner_only`](Registration::owner_only), [`except_owner`](Registration::except_owner), and
//! [`scope`](Registration::scope) with [`NetScopeOf`] which clients get a component.
//!
//! # Messages
//!
//! Messages and events are Bevy's: [`add_client_message`](NetAppExt::add_client_message) sends a
//! client's message `M` to the server, which reads [`FromClient<M>`](FromClient);
//! [`add_server_message`](NetAppExt::add_server_message) sends the server's
//! [`ToClients<M>`](ToClients) to clients, which read `M`. By default a client reads a message when
//! playback reaches the tick in which it was sent.
//!
//! # Prediction
//!
//! [`add_input`](NetAppExt::add_input) sets the input. The game writes [`LocalInput`], and reads
//! [`Controls`] of an entity. A client steps the entities that it owns with
//! [`predict`](Registration::predict)ed components in `FixedMain`, ahead of the server. If the
//! server's state of a tick differs, the client corrects its own, replays the ticks since then, and
//! lets the visible offset fade. Rules:
//!
//! 1. Predicted components change only in `FixedMain`, and other replicated components only on the side
//!    with authority: a client keeps its own change until the server changes the component.
//! 2. Systems that change them read only replicated components, those of
//!    [`rollback`](NetAppExt::rollback), [`Controls`], [`NetTick`] and `Time`.
//! 3. The order of these systems is fixed, for example by `chain`.
//! 4. Systems that play sounds or effects, or write messages, have `run_if(not(is_replaying))`.
//! 5. A predicted spawn has [`PreSpawned`]; a predicted despawn uses
//!    [`net_despawn`](NetEntityCommandsExt::net_despawn).
//!
//! [`LagCompensation`] reads the world as a client saw it, [`rewound`](NetWorldExt::rewound) puts that
//! past into the components.
//!
//! # Tools
//!
//! `NetDiagnosticsPlugin` records round trip, loss, bytes and corrections as diagnostics of Bevy.
//! With the feature `inspect`, `NetInspectPlugin` adds the bytes of each component, writes a
//! capture for `tightwire inspect` and Wireshark, and serves a page that shows the packets of the
//! running app bit by bit.
#![forbid(unsafe_code)]

mod app;
mod classes;
mod client;
mod codec;
mod column;
mod component;
#[cfg(feature = "diagnostics")]
mod diagnostics;
#[cfg(feature = "test")]
mod equal_worlds;
mod face;
mod history;
mod input;
#[cfg(feature = "inspect")]
mod inspect;
mod lag;
mod message;
mod mode;
mod owner;
mod part;
mod plugin;
mod registration;
mod registry;
mod resource;
mod server;
mod step;
mod taken;
#[cfg(feature = "test")]
mod test_net;
#[cfg(feature = "transform")]
mod transform;

pub use app::NetAppExt;
pub use client::{EntityMap, NetEntityCommandsExt, Predicted, Remote, client_stats};
pub use codec::{Codec, RelationCodec, WireEntities};
pub use component::{ComponentGroup, NetComponent, PredictGroup, WriteMode};
#[cfg(feature = "diagnostics")]
pub use diagnostics::NetDiagnosticsPlugin;
pub use input::{Controls, LocalInput};
#[cfg(feature = "inspect")]
pub use inspect::{ComponentBytes, NetInspectPlugin, NetInspection};
pub use lag::{LagCompensation, NetWorldExt, PastView};
pub use message::{FromClient, NetData, NetTriggerExt, Recipients, ToClients, When};
pub use mode::{
    ClientState, Disconnected, NetCommandsExt, NetMode, ServerState, has_authority,
    has_local_player, is_connected, is_replaying,
};
pub use owner::{ConnectedClient, ConnectionLost, LocalClient, Owned, OwnedBy, Owns, Simulated};
pub use part::NetScopeOf;
pub use plugin::{NetworkSet, TightwireClientPlugin, TightwirePlugins, TightwireServerPlugin};
pub use registration::Registration;
pub use server::{
    ClientRooms, ClientTeam, NetPriority, NetScope, PreSpawned, Replicated, Viewer, object_of,
};
pub use step::NetTick;
#[cfg(feature = "test")]
pub use test_net::TestNet;
pub use tightwire;
#[cfg(feature = "transform")]
pub use transform::TransformCodec;

/// The trait `Wire`, with a derive macro whose code needs no dependency on `tightwire` itself.
mod wire {
    pub use tightwire::__private::BevyWire as Wire;
    // Of the two macros of this name, the one above is taken.
    pub use tightwire::stream::*;
}

/// The names that most games use. None of them is in a prelude of Bevy.
pub mod prelude {
    #[cfg(feature = "transform")]
    pub use crate::TransformCodec;
    pub use crate::wire::Wire;
    pub use crate::{
        ClientRooms, ClientState, ClientTeam, ConnectedClient, ConnectionLost, Controls,
        Disconnected, EntityMap, FromClient, LagCompensation, LocalClient, LocalInput, NetAppExt,
        NetCommandsExt, NetComponent, NetEntityCommandsExt, NetMode, NetPriority, NetScope,
        NetScopeOf, NetTick, NetTriggerExt, NetWorldExt, NetworkSet, Owned, OwnedBy, Owns,
        PreSpawned, Predicted, Recipients, RelationCodec, Remote, Replicated, ServerState,
        Simulated, TightwireClientPlugin, TightwirePlugins, TightwireServerPlugin, ToClients,
        Viewer, When, has_authority, has_local_player, is_connected, is_replaying,
    };
    pub use tightwire::FloatRange;
    pub use tightwire::message::Delivery;
    pub use tightwire::play::Input;
    pub use tightwire::quic::Quic;
    pub use tightwire::session::OpenToAnyone;
    pub use tightwire::snapshot::{RoomId, Scope, TeamId};
}

/// Compiles and runs the README's example with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
