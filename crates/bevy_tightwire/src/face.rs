//! The play layer's server and client as trait objects: only `InputKit` knows the type of the
//! input.

use core::time::Duration;

use bevy_ecs::entity::Entity;
use bevy_ecs::query::QueryState;
use bevy_ecs::world::World;
use tightwire::message::{Route, SendError};
use tightwire::play::{
    Client, ClientEvent, ClientStats, Input, Scene, SceneError, Server, ServerEvent, View,
};
use tightwire::session::{Admit, Admitted};
use tightwire::snapshot::{ChangeKind, OffsetSize, RoomId, Row, RowEdit, Scope, SetError, TeamId};
use tightwire::token::TokenError;
use tightwire::transport::Transport;
use tightwire::{ObjectId, PeerId};

use crate::input::{Controls, LocalInput};
use crate::owner::{ConnectedClient, OwnedBy};

/// A transport of any kind.
pub(crate) type AnyTransport = Box<dyn Transport + Send + Sync>;

/// A gate of any kind.
pub(crate) struct AnyGate(pub(crate) Box<dyn Admit>);

impl Admit for AnyGate {
    fn check(&mut self, token: &[u8], unix_now: Duration) -> Result<Admitted, TokenError> {
        self.0.check(token, unix_now)
    }

    fn redeem(&mut self, token: &[u8], unix_now: Duration) -> Result<(), TokenError> {
        self.0.redeem(token, unix_now)
    }
}

/// A [`Server`] of any input.
pub(crate) trait ServerFace: Send + Sync {
    fn receive(&mut self, now: Duration);
    fn begin_tick(&mut self, now: Duration) -> Option<u32>;
    /// The part of the current tick that has passed.
    fn tick_fraction(&self, now: Duration) -> f32;
    fn send(&mut self, now: Duration);
    fn poll_event(&mut self) -> Option<ServerEvent>;
    fn has_players(&self) -> bool;
    fn kick(&mut self, peer: PeerId, text: &str);
    /// Tells all clients that the server has stopped.
    fn stop(&mut self, now: Duration);
    #[cfg(feature = "diagnostics")]
    fn stats(&self, peer: PeerId) -> Option<tightwire::play::PeerPlayStats>;
    /// Writes the inputs of the tick into the `Controls` of the players' entities.
    fn write_controls(&mut self, world: &mut World);

    fn spawn_row(&mut self, row: Row<'_>) -> Result<ObjectId, SetError>;
    fn set_row(&mut self, id: ObjectId, row: Row<'_>) -> Result<(), SetError>;
    fn edit(
        &mut self,
        id: ObjectId,
        edit: &mut dyn FnMut(&mut RowEdit<'_>),
    ) -> Result<(), SetError>;
    fn remove(&mut self, id: ObjectId);
    /// Sets the owner of an object. `ordinal` is the number of the owner's predicted spawn that the
    /// object confirms; `None` if the spawn was not predicted.
    fn set_owner(&mut self, id: ObjectId, owner: Option<PeerId>, ordinal: Option<u16>);
    fn set_scope(&mut self, id: ObjectId, scope: Scope);
    /// Makes an object relevant only where another one is.
    fn set_parent(&mut self, id: ObjectId, parent: Option<ObjectId>);
    fn set_weight(&mut self, id: ObjectId, weight: u8);
    fn set_rooms(&mut self, peer: PeerId, rooms: &[RoomId]);
    fn set_team(&mut self, peer: PeerId, team: Option<TeamId>);
    fn set_viewers(&mut self, peer: PeerId, viewers: &[[f32; 3]]);

    fn number_of(&self, name: &str) -> Option<u8>;
    fn send_raw(
        &mut self,
        to: PeerId,
        number: u8,
        body: &[u8],
        route: Route,
    ) -> Result<(), SendError>;
    fn poll_raw(&mut self, number: u8, read: &mut dyn FnMut(PeerId, &[u8])) -> bool;
    /// Calls `read` with the rows of objects as a peer saw them.
    fn as_seen_by(&self, peer: PeerId, read: &mut dyn FnMut(&dyn PastRows));
}

/// The rows of objects as a peer saw them.
pub(crate) trait PastRows {
    fn row(&self, id: ObjectId, read: &mut dyn FnMut(Row<'_>));
}

/// A [`Client`] of any input.
pub(crate) trait ClientFace: Send + Sync {
    fn receive(&mut self, now: Duration);
    fn send(&mut self, now: Duration);
    fn poll_event(&mut self) -> Option<ClientEvent>;
    fn disconnect(&mut self, now: Duration);
    fn stats(&self) -> ClientStats;
    /// Round-trip time, and share of lost packets; `None` without a connection.
    #[cfg(feature = "diagnostics")]
    fn path(&self) -> Option<(Duration, f64)>;
    /// Copies the `LocalInput` of the world to the client.
    fn take_input(&mut self, world: &World);
    /// Runs the next step, if one is due; returns whether there was one.
    fn next_step(&mut self, run: &mut dyn FnMut(&mut dyn SceneFace)) -> bool;
    fn predict(&mut self, id: ObjectId, is_predicted: bool);

    /// Appends the interpolated objects that changed with the last frame.
    fn changes(&self, changes: &mut Vec<(ObjectId, ChangeKind)>);
    fn predicted(&self, ids: &mut Vec<ObjectId>);
    fn is_predicted(&self, id: ObjectId) -> bool;
    fn is_mine(&self, id: ObjectId) -> bool;
    fn row(&self, id: ObjectId, which: Which, read: &mut dyn FnMut(Row<'_>)) -> bool;
    /// Calls `read` with the rows between which an object is interpolated, and the fraction of the
    /// way; returns whether it is.
    fn rows_around(&self, id: ObjectId, read: &mut dyn FnMut(Row<'_>, Row<'_>, f32)) -> bool;
    /// The shown part of the newest predicted tick.
    fn predicted_fraction(&self) -> f32;
    /// Whether a correction of the object still fades.
    fn is_corrected(&self, id: ObjectId) -> bool;

    fn number_of(&self, name: &str) -> Option<u8>;
    fn send_raw(&mut self, number: u8, body: &[u8], route: Route) -> Result<(), SendError>;
    fn poll_raw(&mut self, number: u8, read: &mut dyn FnMut(&[u8])) -> bool;
}

/// A state of an object on a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    /// As it is drawn: interpolated, or predicted with the offset of a correction.
    Shown,
    /// At the last tick that playback has passed.
    Held,
    /// The newest received state.
    Received,
}

/// A [`Scene`] of any input.
pub(crate) trait SceneFace {
    fn tick(&self) -> u32;
    fn is_replay(&self) -> bool;
    fn simulated(&self, ids: &mut Vec<ObjectId>);
    fn row(&self, id: ObjectId, read: &mut dyn FnMut(Row<'_>)) -> bool;
    fn set_row(&mut self, id: ObjectId, row: Row<'_>) -> Result<(), SceneError>;
    fn spawn_own_row(&mut self, ordinal: u16, row: Row<'_>) -> Result<ObjectId, SceneError>;
    fn remove(&mut self, id: ObjectId);
    /// Writes the input of the tick into the `Controls` of an entity, if the client owns it.
    fn write_controls(&self, world: &mut World, entity: Entity, id: ObjectId);
}

pub(crate) struct ServerOf<I: Input> {
    pub(crate) server: Server<I, AnyTransport>,
    pub(crate) controls: Option<ControlsQuery<I>>,
}

type ControlsQuery<I> = QueryState<(&'static OwnedBy, &'static mut Controls<I>)>;

impl<I: Input> ServerFace for ServerOf<I> {
    fn receive(&mut self, now: Duration) {
        self.server.receive(now);
    }

    fn begin_tick(&mut self, now: Duration) -> Option<u32> {
        self.server.begin_tick(now).map(|tick| tick.0)
    }

    fn tick_fraction(&self, now: Duration) -> f32 {
        self.server.tick_fraction(now) as f32
    }

    fn send(&mut self, now: Duration) {
        self.server.send(now);
    }

    fn poll_event(&mut self) -> Option<ServerEvent> {
        self.server.poll_event()
    }

    fn has_players(&self) -> bool {
        self.server.peers().next().is_some()
    }

    fn kick(&mut self, peer: PeerId, text: &str) {
        self.server.kick(peer, text);
    }

    fn stop(&mut self, now: Duration) {
        let peers: Vec<_> = self.server.peers().collect();
        peers.into_iter().for_each(|peer| self.server.kick(peer, "the server has stopped"));
        self.server.send(now);
    }

    #[cfg(feature = "diagnostics")]
    fn stats(&self, peer: PeerId) -> Option<tightwire::play::PeerPlayStats> {
        self.server.stats(peer)
    }

    fn write_controls(&mut self, world: &mut World) {
        let inputs: Vec<_> = self.server.inputs().map(|(peer, input, _)| (peer, input)).collect();
        let local = world.get_resource::<LocalInput<I>>().map(|input| input.0.clone());
        let query = self.controls.get_or_insert_with(|| QueryState::new(world));
        // The query below borrows the world, so the peers of the owners, of which there are few,
        // are collected first.
        let owners: Vec<_> = {
            let mut clients = world.query::<(Entity, &ConnectedClient)>();
            clients.iter(world).map(|(entity, client)| (entity, client.peer)).collect()
        };
        for (owner, mut controls) in query.iter_mut(world) {
            let owner = owners.iter().find(|(entity, _)| *entity == owner.0);
            let input = match owner {
                Some((_, Some(peer))) => {
                    inputs.iter().find(|(of, _)| of == peer).map(|(_, input)| *input)
                }
                Some((_, None)) => local.as_ref(),
                None => None,
            };
            if let Some(input) = input {
                controls.0.clone_from(input);
            }
        }
    }

    fn spawn_row(&mut self, row: Row<'_>) -> Result<ObjectId, SetError> {
        self.server.world().spawn_row(row)
    }

    fn set_row(&mut self, id: ObjectId, row: Row<'_>) -> Result<(), SetError> {
        self.server.world().set_row(id, row)
    }

    fn edit(
        &mut self,
        id: ObjectId,
        edit: &mut dyn FnMut(&mut RowEdit<'_>),
    ) -> Result<(), SetError> {
        let mut world = self.server.world();
        let mut row = world.edit(id)?;
        edit(&mut row);
        row.finish()
    }

    fn remove(&mut self, id: ObjectId) {
        self.server.world().remove(id);
    }

    fn set_owner(&mut self, id: ObjectId, owner: Option<PeerId>, ordinal: Option<u16>) {
        let mut world = self.server.world();
        match (owner, ordinal) {
            (Some(owner), Some(ordinal)) => world.set_spawned_owner(id, owner, ordinal),
            _ => world.set_owner(id, owner),
        }
    }

    fn set_scope(&mut self, id: ObjectId, scope: Scope) {
        self.server.world().set_scope(id, scope);
    }

    fn set_parent(&mut self, id: ObjectId, parent: Option<ObjectId>) {
        self.server.world().set_parent(id, parent);
    }

    fn set_weight(&mut self, id: ObjectId, weight: u8) {
        self.server.world().set_weight(id, weight);
    }

    fn set_rooms(&mut self, peer: PeerId, rooms: &[RoomId]) {
        self.server.world().set_rooms(peer, rooms);
    }

    fn set_team(&mut self, peer: PeerId, team: Option<TeamId>) {
        self.server.world().set_team(peer, team);
    }

    fn set_viewers(&mut self, peer: PeerId, viewers: &[[f32; 3]]) {
        self.server.world().set_viewers(peer, viewers);
    }

    fn number_of(&self, name: &str) -> Option<u8> {
        self.server.number_of(name)
    }

    fn send_raw(
        &mut self,
        to: PeerId,
        number: u8,
        body: &[u8],
        route: Route,
    ) -> Result<(), SendError> {
        self.server.send_raw(to, number, body, route)
    }

    fn poll_raw(&mut self, number: u8, read: &mut dyn FnMut(PeerId, &[u8])) -> bool {
        self.server.poll_raw(number, read).is_some()
    }

    fn as_seen_by(&self, peer: PeerId, read: &mut dyn FnMut(&dyn PastRows)) {
        self.server.as_seen_by(peer, |past| read(past));
    }
}

impl<I> PastRows for tightwire::play::Past<'_, I> {
    fn row(&self, id: ObjectId, read: &mut dyn FnMut(Row<'_>)) {
        self.with_row(id, read);
    }
}

pub(crate) struct ClientOf<I: Input>(pub(crate) Client<I, AnyTransport>);

impl<I: Input> ClientOf<I> {
    fn view(&self) -> View<'_, I> {
        self.0.world()
    }
}

impl<I: Input> ClientFace for ClientOf<I> {
    fn receive(&mut self, now: Duration) {
        self.0.receive(now);
    }

    fn send(&mut self, now: Duration) {
        self.0.send(now);
    }

    fn poll_event(&mut self) -> Option<ClientEvent> {
        self.0.poll_event()
    }

    fn disconnect(&mut self, now: Duration) {
        self.0.disconnect(now);
    }

    fn stats(&self) -> ClientStats {
        self.0.stats()
    }

    #[cfg(feature = "diagnostics")]
    fn path(&self) -> Option<(Duration, f64)> {
        let session = self.0.session();
        let path = session.path(session.server()?)?;
        Some((path.round_trip, path.loss))
    }

    fn take_input(&mut self, world: &World) {
        if let Some(input) = world.get_resource::<LocalInput<I>>() {
            self.0.input(&input.0);
        }
    }

    fn next_step(&mut self, run: &mut dyn FnMut(&mut dyn SceneFace)) -> bool {
        match self.0.next_step() {
            Some(mut scene) => {
                run(&mut scene);
                true
            }
            None => false,
        }
    }

    fn predict(&mut self, id: ObjectId, is_predicted: bool) {
        self.0.predict(id, is_predicted);
    }

    fn changes(&self, changes: &mut Vec<(ObjectId, ChangeKind)>) {
        changes.extend(self.view().changes().iter().map(|change| (change.id, change.kind)));
    }

    fn predicted(&self, ids: &mut Vec<ObjectId>) {
        ids.extend(self.view().predicted());
    }

    fn is_predicted(&self, id: ObjectId) -> bool {
        self.view().is_predicted(id)
    }

    fn is_mine(&self, id: ObjectId) -> bool {
        self.view().is_mine(id)
    }

    fn row(&self, id: ObjectId, which: Which, read: &mut dyn FnMut(Row<'_>)) -> bool {
        let view = self.view();
        match which {
            Which::Shown => view.with_row(id, read).is_some(),
            Which::Held => view.with_held_row(id, read).is_some(),
            Which::Received => view.received_row(id).map(read).is_some(),
        }
    }

    fn rows_around(&self, id: ObjectId, read: &mut dyn FnMut(Row<'_>, Row<'_>, f32)) -> bool {
        let read = |before: Row<'_>, after: Row<'_>, part: f64| read(before, after, part as f32);
        self.view().with_rows_around(id, read).is_some()
    }

    fn predicted_fraction(&self) -> f32 {
        self.view().predicted_fraction() as f32
    }

    fn is_corrected(&self, id: ObjectId) -> bool {
        self.view().correction(id) != OffsetSize::default()
    }

    fn number_of(&self, name: &str) -> Option<u8> {
        self.0.number_of(name)
    }

    fn send_raw(&mut self, number: u8, body: &[u8], route: Route) -> Result<(), SendError> {
        self.0.send_raw(number, body, route)
    }

    fn poll_raw(&mut self, number: u8, read: &mut dyn FnMut(&[u8])) -> bool {
        self.0.poll_raw(number, read).is_some()
    }
}

impl<I: Input> SceneFace for Scene<'_, I> {
    fn tick(&self) -> u32 {
        Scene::tick(self).0
    }

    fn is_replay(&self) -> bool {
        Scene::is_replay(self)
    }

    fn simulated(&self, ids: &mut Vec<ObjectId>) {
        Scene::simulated(self, ids);
    }

    fn row(&self, id: ObjectId, read: &mut dyn FnMut(Row<'_>)) -> bool {
        self.with_row(id, read).is_some()
    }

    fn set_row(&mut self, id: ObjectId, row: Row<'_>) -> Result<(), SceneError> {
        Scene::set_row(self, id, row)
    }

    fn spawn_own_row(&mut self, ordinal: u16, row: Row<'_>) -> Result<ObjectId, SceneError> {
        Scene::spawn_own_row(self, ordinal, row)
    }

    fn remove(&mut self, id: ObjectId) {
        Scene::remove(self, id);
    }

    fn write_controls(&self, world: &mut World, entity: Entity, id: ObjectId) {
        if let (Some(input), Some(mut controls)) =
            (self.input(id), world.get_mut::<Controls<I>>(entity))
        {
            controls.0.clone_from(input);
        }
    }
}
