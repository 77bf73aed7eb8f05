//! The server's world: all objects, who owns them, and the players.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::{
    ObjectView, Protocol, RoomId, Row, RowBuffer, RowEdit, Scope, Sender, SetError, TeamId,
};

use super::player::Player;
use crate::message::PeerId;
use crate::play::control::{Ownership, SpawnKey};
use crate::play::scene::Steppable;
use crate::play::{Class, SceneError};

/// Relevancy function of the game, for objects of [`Scope::Custom`].
pub(super) type Custom = dyn FnMut(PeerId, ObjectView<'_>) -> Option<u32> + Send + Sync;

/// The objects, their owners and the players.
pub(super) struct ServerWorld<I> {
    pub(super) sender: Sender,
    pub(super) protocol: Protocol,
    /// Owner of each object that has one, by id. Not a map of nodes, which allocates when objects
    /// come and go.
    owners: Vec<(ObjectId, PeerId)>,
    pub(super) players: BTreeMap<PeerId, Player<I>>,
    /// Changes of ownership to report to clients.
    pub(super) outbox: Vec<(PeerId, Ownership)>,
    pub(super) custom: Option<Box<Custom>>,
    /// The tick that is stepped.
    pub(super) tick: u32,
    row: RowBuffer,
    /// The buffer of [`Past`](super::Past), which is used again.
    pub(super) past_row: Mutex<RowBuffer>,
}

impl<I> ServerWorld<I> {
    pub(super) fn new(protocol: &Protocol, sender: Sender) -> Self {
        Self {
            sender,
            protocol: protocol.clone(),
            owners: Vec::new(),
            players: BTreeMap::new(),
            outbox: Vec::new(),
            custom: None,
            tick: 0,
            row: RowBuffer::default(),
            past_row: Mutex::default(),
        }
    }

    pub(super) fn owner(&self, id: ObjectId) -> Option<PeerId> {
        let place = self.owner_place(id).ok()?;
        self.owners.get(place).map(|(_, owner)| *owner)
    }

    fn owner_place(&self, id: ObjectId) -> Result<usize, usize> {
        self.owners.binary_search_by_key(&id, |(id, _)| *id)
    }

    /// Sets the owner of an object, and returns the previous one.
    fn replace_owner(&mut self, id: ObjectId, owner: Option<PeerId>) -> Option<PeerId> {
        match (self.owner_place(id), owner) {
            (Ok(place), Some(owner)) => Some(core::mem::replace(&mut self.owners[place].1, owner)),
            (Ok(place), None) => Some(self.owners.remove(place).1),
            (Err(place), Some(owner)) => {
                self.owners.insert(place, (id, owner));
                None
            }
            (Err(_), None) => None,
        }
    }

    /// The first object of a peer.
    fn first_owned(&self, peer: PeerId) -> Option<ObjectId> {
        self.owners.iter().find(|(_, owner)| *owner == peer).map(|(id, _)| *id)
    }

    fn set_owner(&mut self, id: ObjectId, owner: Option<PeerId>, spawned: Option<SpawnKey>) {
        let before = self.replace_owner(id, owner);
        if before == owner {
            return;
        }
        let receiver = owner.and_then(|owner| self.players.get(&owner)?.receiver);
        self.sender.set_owner(id, receiver);
        if let Some(before) = before {
            self.outbox.push((before, Ownership { id, is_owned: false, spawned: None }));
        }
        if let Some(owner) = owner {
            self.outbox.push((owner, Ownership { id, is_owned: true, spawned }));
        }
    }

    /// The player that a peer of the session is.
    pub(super) fn player_of(&self, connection: PeerId) -> Option<PeerId> {
        let is_it = |player: &Player<I>| player.connection == Some(connection);
        // Most players have their first connection.
        if self.players.get(&connection).is_some_and(is_it) {
            return Some(connection);
        }
        self.players.iter().find(|(_, player)| is_it(player)).map(|(peer, _)| *peer)
    }

    /// Gives a player that has connected again its objects, and its rooms.
    pub(super) fn restore(&mut self, peer: PeerId) {
        self.restore_relevancy(peer);
        let receiver = self.players.get(&peer).and_then(|player| player.receiver);
        for &(id, _) in self.owners.iter().filter(|(_, owner)| *owner == peer) {
            self.sender.set_owner(id, receiver);
            self.outbox.push((peer, Ownership { id, is_owned: true, spawned: None }));
        }
    }

    fn restore_relevancy(&mut self, peer: PeerId) {
        let Self { players, sender, .. } = self;
        let Some(player) = players.get(&peer) else { return };
        if let Some(receiver) = player.receiver {
            sender.set_rooms(receiver, &player.rooms);
            sender.set_team(receiver, player.team);
            sender.set_viewers(receiver, &player.viewers);
        }
    }

    /// Clears the ownership of a peer that has left.
    pub(super) fn clear_owned(&mut self, peer: PeerId) {
        while let Some(id) = self.first_owned(peer) {
            self.replace_owner(id, None);
            self.sender.set_owner(id, None);
        }
    }

    fn despawn(&mut self, id: ObjectId) -> Result<(), SetError> {
        // Reported, since another object may get the id later.
        if let Some(owner) = self.replace_owner(id, None) {
            self.outbox.push((owner, Ownership { id, is_owned: false, spawned: None }));
        }
        self.sender.remove(id)
    }
}

impl<I> Steppable<I> for ServerWorld<I> {
    fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    fn input(&self, id: ObjectId) -> Option<&I> {
        let owner = self.owner(id)?;
        Some(&self.players.get(&owner)?.input)
    }

    fn with_row(&self, id: ObjectId, read: &mut dyn FnMut(Row<'_>)) {
        if let Some(row) = self.sender.row(id) {
            read(row);
        }
    }

    fn is_simulated(&self, id: ObjectId) -> bool {
        self.sender.row(id).is_some()
    }

    fn simulated(&self, ids: &mut Vec<ObjectId>) {
        ids.extend(self.sender.objects_from(ObjectId(0)).map(|(id, _)| id));
    }

    fn next(&self, class: u16, from: ObjectId) -> Option<ObjectId> {
        self.sender.objects_from(from).find(|(_, of)| *of == class).map(|(id, _)| id)
    }

    fn set(&mut self, id: ObjectId, row: Row<'_>) -> Result<(), SceneError> {
        if !self.is_simulated(id) {
            return Err(SceneError::NotSimulated { id });
        }
        Ok(self.sender.set_row(id, row)?)
    }

    fn spawn(
        &mut self,
        by: ObjectId,
        ordinal: Option<u16>,
        row: Row<'_>,
    ) -> Result<ObjectId, SceneError> {
        let owner = self.owner(by);
        let player = owner.and_then(|owner| self.players.get_mut(&owner));
        let spawned = player.map(|player| {
            let (tick, next) = &mut player.spawned;
            if *tick != self.tick {
                (*tick, *next) = (self.tick, 0);
            }
            let ordinal = ordinal.unwrap_or(*next);
            *next = ordinal.saturating_add(1);
            SpawnKey { tick: self.tick, ordinal }
        });
        // After its ordinal is taken, as on the client: a spawn that fails here must not give the
        // next one another ordinal than there.
        let id = self.sender.spawn_row(row)?;
        self.set_owner(id, owner, spawned);
        Ok(id)
    }

    fn spawn_own(&mut self, _: u16, _: Row<'_>) -> Result<ObjectId, SceneError> {
        Err(SceneError::TooManySpawns)
    }

    fn remove(&mut self, id: ObjectId) {
        if let Err(error) = self.despawn(id) {
            log::warn!("object {id} was not despawned: {error}");
        }
    }
}

/// The objects of a server, for the game: made by [`Server::world`](super::Server::world).
///
/// Changes belong to the tick that is stepped, or between two ticks to the next one.
pub struct World<'w, I> {
    pub(super) world: &'w mut ServerWorld<I>,
}

impl<I> World<'_, I> {
    /// Spawns an object, and returns its id: the lowest one that no client can mistake for an
    /// earlier object.
    ///
    /// # Errors
    ///
    /// [`SetError`] if there are too many objects, or if the value cannot be sent.
    pub fn spawn<C: Class>(&mut self, value: &C) -> Result<ObjectId, SetError> {
        self.world.protocol.quantise(value, &mut self.world.row)?;
        self.world.sender.spawn_row(self.world.row.row())
    }

    /// Spawns an object of a class that is known by its schema only.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn), and if the cells are not those of a value of the class.
    pub fn spawn_row(&mut self, row: Row<'_>) -> Result<ObjectId, SetError> {
        self.world.sender.spawn_row(row)
    }

    /// Sets the state of an object; adds the object if it does not exist.
    ///
    /// # Errors
    ///
    /// [`SetError`] if the value cannot be sent, if there are too many objects, or if the id was
    /// used a short time ago and a client could mistake the object for the earlier one.
    pub fn set<C: Class>(&mut self, id: impl Into<ObjectId>, value: &C) -> Result<(), SetError> {
        self.world.sender.set(id, value)
    }

    /// Sets the state of an object by its cells.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set), and if the cells are not those of a value of the class.
    pub fn set_row(&mut self, id: impl Into<ObjectId>, row: Row<'_>) -> Result<(), SetError> {
        self.world.sender.set_row(id, row)
    }

    /// Sets the state of an object, and rounds `value` to the resolution of the wire form. A server
    /// that keeps its own world then steps from the same state as a client that predicts.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn set_rounded<C: Class>(
        &mut self,
        id: impl Into<ObjectId>,
        value: &mut C,
    ) -> Result<(), SetError> {
        let ServerWorld { protocol, row, sender, .. } = &mut *self.world;
        protocol.quantise(value, row)?;
        sender.set_row(id, row.row())?;
        // The row was made of a value of this type.
        let _ = protocol.read_row(row.row(), value);
        Ok(())
    }

    /// Despawns an object. Does nothing if there is no such object.
    pub fn remove(&mut self, id: impl Into<ObjectId>) {
        self.world.remove(id.into());
    }

    /// Despawns all objects of a peer.
    pub fn remove_owned(&mut self, peer: PeerId) {
        while let Some(id) = self.world.first_owned(peer) {
            self.world.remove(id);
        }
    }

    /// Returns an object, if it exists and is a `C`, as clients get it.
    #[must_use]
    pub fn get<C: Class>(&self, id: impl Into<ObjectId>) -> Option<C> {
        self.world.protocol.value_of(self.row(id)?)
    }

    /// Returns the cells of an object.
    #[must_use]
    pub fn row(&self, id: impl Into<ObjectId>) -> Option<Row<'_>> {
        self.world.sender.row(id)
    }

    /// Iterates over the objects of a class, in the order of ids.
    pub fn iter<C: Class>(&self) -> impl Iterator<Item = (ObjectId, C)> {
        let class = self.world.protocol.class_index::<C>();
        let objects = self.world.sender.objects_from(ObjectId(0));
        let of_class = objects.filter(move |(_, of)| Some(*of) == class);
        of_class.filter_map(|(id, _)| Some((id, self.get(id)?)))
    }

    /// Sets the owner of an object; `None` if no peer owns it. Does nothing if there is no such
    /// object. The owner gets the fields that are only for the owner, predicts the object, and
    /// steps it by its inputs.
    pub fn set_owner(&mut self, id: impl Into<ObjectId>, owner: Option<PeerId>) {
        let id = id.into();
        let owner = owner.filter(|owner| self.world.players.contains_key(owner));
        if self.world.sender.row(id).is_some() {
            self.world.set_owner(id, owner, None);
        }
    }

    /// Gives an object that has spawned in this tick to a peer that predicted the spawn, with the
    /// same ordinal: see [`Scene::spawn_own_row`](crate::play::Scene::spawn_own_row).
    pub fn set_spawned_owner(&mut self, id: impl Into<ObjectId>, owner: PeerId, ordinal: u16) {
        let id = id.into();
        if self.world.sender.row(id).is_some() && self.world.players.contains_key(&owner) {
            let spawned = SpawnKey { tick: self.world.tick, ordinal };
            self.world.set_owner(id, Some(owner), Some(spawned));
        }
    }

    /// Begins to edit the cells of an object: see [`Sender::edit`](tightwire_snapshot::Sender::edit).
    ///
    /// # Errors
    ///
    /// [`SetError::NoSuchObject`].
    pub fn edit(&mut self, id: impl Into<ObjectId>) -> Result<RowEdit<'_>, SetError> {
        self.world.sender.edit(id)
    }

    /// Returns the classes of the game.
    #[must_use]
    pub fn protocol(&self) -> &Protocol {
        &self.world.protocol
    }

    /// Returns the owner of an object; `None` if nobody owns it.
    #[must_use]
    pub fn owner(&self, id: impl Into<ObjectId>) -> Option<PeerId> {
        self.world.owner(id.into())
    }

    /// Sets the relevancy of an object.
    pub fn set_scope(&mut self, id: impl Into<ObjectId>, scope: Scope) {
        self.world.sender.set_scope(id.into(), scope);
    }

    /// Makes an object relevant only to the peers to which another one is, and to its owner; with
    /// `None`, its scope alone decides again.
    pub fn set_parent(&mut self, id: impl Into<ObjectId>, parent: Option<ObjectId>) {
        self.world.sender.set_parent(id.into(), parent);
    }

    /// Sets the weight of an object, by which its priority is multiplied.
    pub fn set_weight(&mut self, id: impl Into<ObjectId>, weight: u8) {
        self.world.sender.set_weight(id.into(), weight);
    }

    /// Sets the rooms that a peer is in, for objects of [`Scope::Room`] and
    /// [`Scope::NearInRoom`]. They stay over a lost connection.
    pub fn set_rooms(&mut self, peer: PeerId, rooms: &[RoomId]) {
        let Some(player) = self.world.players.get_mut(&peer) else { return };
        player.rooms.clear();
        player.rooms.extend_from_slice(rooms);
        self.world.restore_relevancy(peer);
    }

    /// Sets the team of a peer, for objects of [`Scope::Team`]. It stays over a lost connection.
    pub fn set_team(&mut self, peer: PeerId, team: Option<TeamId>) {
        let Some(player) = self.world.players.get_mut(&peer) else { return };
        player.team = team;
        self.world.restore_relevancy(peer);
    }

    /// Sets the positions that a peer sees the world from, in place of those of its objects; with
    /// none, those of its objects count again.
    pub fn set_viewers(&mut self, peer: PeerId, positions: &[[f32; 3]]) {
        let Some(player) = self.world.players.get_mut(&peer) else { return };
        player.viewers.clear();
        player.viewers.extend_from_slice(positions);
        self.world.restore_relevancy(peer);
    }

    /// Looks at the relevancy of all objects for a peer in this tick.
    pub fn refresh(&mut self, peer: PeerId) {
        if let Some(receiver) = self.receiver(peer) {
            self.world.sender.refresh(receiver);
        }
    }

    /// Sets the relevancy of objects of [`Scope::Custom`]: a function that returns the weight of an
    /// object for a peer, or `None` if it is not relevant.
    pub fn set_custom(
        &mut self,
        weight: impl FnMut(PeerId, ObjectView<'_>) -> Option<u32> + Send + Sync + 'static,
    ) {
        self.world.custom = Some(Box::new(weight));
    }

    fn receiver(&self, peer: PeerId) -> Option<tightwire_snapshot::ReceiverId> {
        self.world.players.get(&peer)?.receiver
    }
}

impl<I> core::fmt::Debug for World<'_, I> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("World").field("tick", &self.world.tick).finish_non_exhaustive()
    }
}
