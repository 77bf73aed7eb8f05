//! One type of messages or events, in one direction.

use core::any::type_name;
use core::time::Duration;

use bevy_ecs::entity::{Entity, MapEntities};
use bevy_ecs::prelude::{With, World};
use bevy_time::{Real, Time};
use tightwire::message::{Delivery, Route};
use tightwire::schema::Schema;
use tightwire::{ObjectId, PeerId};

use super::port::Port;
use super::{Channel, FromClient, NetData, Outlet, Recipients, ToClients, When};
use crate::client::EntityMap;
use crate::codec::WireEntities;
use crate::face::{ClientFace, ServerFace};
use crate::owner::{ConnectedClient, LocalClient};
use crate::server::{Clients, Collector, NetSlot, Replicated};
use crate::step::NetTick;

/// Maps the entities in a clone of a message to those on the wire, or back.
pub(crate) struct Mapping<M>(fn(&M, &mut WireEntities<'_>) -> M);

impl<M> Clone for Mapping<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Mapping<M> {}

impl<M: MapEntities + Clone> Mapping<M> {
    pub(crate) fn new() -> Self {
        Self(|message, entities| {
            let mut message = message.clone();
            message.map_entities(entities);
            message
        })
    }
}

/// The parts that both directions have.
struct Body<M> {
    delivery: Delivery,
    mapping: Option<Mapping<M>>,
    number: Option<u8>,
    buffer: Vec<u8>,
}

impl<M: NetData> Body<M> {
    fn new(delivery: Delivery, mapping: Option<Mapping<M>>) -> Self {
        Self { delivery, mapping, number: None, buffer: Vec::new() }
    }

    fn encode(&mut self, message: &M) -> Option<&[u8]> {
        let most = usize::try_from(M::MAX_BITS.div_ceil(8)).unwrap_or(usize::MAX);
        self.buffer.resize(most.min(MAX_BYTES).next_multiple_of(8), 0);
        match tightwire::encode_explained(message, &mut self.buffer) {
            Ok(body) => Some(body),
            Err(error) => {
                log::error!("`{}` is not sent: {error}", type_name::<M>());
                None
            }
        }
    }

    fn decode(body: &[u8]) -> Option<M> {
        let mut message = M::default();
        tightwire::decode_into(body, &mut message).ok()?;
        Some(message)
    }
}

/// Largest size of a message, in bytes; larger ones are assets.
const MAX_BYTES: usize = 1 << 20;

/// Time for which a message waits for the entities that it names.
const HOLD: Duration = Duration::from_secs(2);

/// Messages of clients to the server.
pub(crate) struct ClientChannel<M, P> {
    body: Body<M>,
    port: P,
}

impl<M: NetData, P> ClientChannel<M, P> {
    pub(crate) fn new(delivery: Delivery, mapping: Option<Mapping<M>>, port: P) -> Self {
        Self { body: Body::new(delivery, mapping), port }
    }
}

impl<M: NetData, P: Port<M, FromClient<M>>> Channel for ClientChannel<M, P> {
    fn declaration(&self) -> (&'static str, Schema) {
        (type_name::<FromClient<M>>(), Schema::of::<M>())
    }

    fn flush(&mut self, world: &mut World, mut outlet: Outlet<'_>) {
        let name = self.declaration().0;
        let Self { body, port } = self;
        let mut local = Vec::new();
        port.take(world, &mut |world, message| match &mut outlet {
            Outlet::Client(client) => {
                body.number = client.number_of(name);
                let map = world.resource::<EntityMap>();
                let mut map = |entity| map.map(entity);
                let mut entities = WireEntities::new(&mut map);
                let mapped = body.mapping.map(|mapping| (mapping.0)(message, &mut entities));
                let route = Route::from(body.delivery);
                let number = body.number;
                if let (Some(bytes), Some(number)) =
                    (body.encode(mapped.as_ref().unwrap_or(message)), number)
                    && let Err(error) = client.send_raw(number, bytes, route)
                {
                    log::warn!("`{}` is not sent: {error}", type_name::<M>());
                }
            }
            // Encoded and decoded, so that the message is rounded as it would be over the wire.
            _ => local.extend(copy(body, message)),
        });
        if let Some(client) = local_client(world).filter(|_| !local.is_empty()) {
            for message in local {
                port.hand_out(world, FromClient { client, message });
            }
        }
    }

    fn receive_from_clients(&mut self, world: &mut World, server: &mut dyn ServerFace) {
        let Some(number) = server.number_of(self.declaration().0) else { return };
        let mut arrived = Vec::new();
        while server.poll_raw(number, &mut |peer, body| {
            arrived.push((peer, Body::<M>::decode(body)));
        }) {}
        for (peer, message) in arrived {
            let client = world.resource::<Clients>().entity(peer);
            let (Some(client), Some(mut message)) = (client, message) else { continue };
            if let Some(mapping) = self.body.mapping {
                let collector = world.resource::<Collector>();
                let mut map = |wire| collector.entity_of(ObjectId::of_wire_entity(wire)?);
                message = (mapping.0)(&message, &mut WireEntities::new(&mut map));
            }
            self.port.hand_out(world, FromClient { client, message });
        }
    }
}

/// Messages of the server to clients.
pub(crate) struct ServerChannel<M: Send + Sync + 'static, P> {
    body: Body<M>,
    port: P,
    /// Messages that name entities which this client does not have yet, with the time until which
    /// they wait.
    waiting: Vec<(Duration, M)>,
    /// Messages that name entities which get their objects with the next tick, with the tick of their
    /// writing.
    unsent: Vec<(u32, ToClients<M>)>,
}

impl<M: NetData, P> ServerChannel<M, P> {
    pub(crate) fn new(delivery: Delivery, mapping: Option<Mapping<M>>, port: P) -> Self {
        let body = Body::new(delivery, mapping);
        Self { body, port, waiting: Vec::new(), unsent: Vec::new() }
    }
}

impl<M: NetData, P: Port<ToClients<M>, M>> Channel for ServerChannel<M, P> {
    fn declaration(&self) -> (&'static str, Schema) {
        (type_name::<ToClients<M>>(), Schema::of::<M>())
    }

    fn flush(&mut self, world: &mut World, mut outlet: Outlet<'_>) {
        let name = self.declaration().0;
        let Self { body, port, unsent, .. } = self;
        let mut local = Vec::new();
        let earlier = core::mem::take(unsent);
        let tick = world.resource::<NetTick>().tick;
        if let Outlet::Server(server) = &mut outlet {
            body.number = server.number_of(name);
            for (written, sent) in earlier {
                let is_late = tick > written;
                if !unsent.is_empty() || !send(world, &mut **server, body, &sent, is_late) {
                    unsent.push((written, sent));
                }
            }
        }
        port.take(world, &mut |world, sent| {
            let here = local_client(world);
            if here.is_some_and(|here| sent.to.contains(here)) && sent.to != Recipients::Remote {
                local.extend(copy(body, &sent.message));
            }
            // Those that were written later do not overtake it.
            if let Outlet::Server(server) = &mut outlet
                && (!unsent.is_empty() || !send(world, &mut **server, body, sent, false))
            {
                let copy = copy(body, &sent.message);
                let again = |message| (tick, ToClients { to: sent.to, when: sent.when, message });
                unsent.extend(copy.map(again));
            }
        });
        for message in local {
            port.hand_out(world, message);
        }
    }

    fn forget_waiting(&mut self) {
        self.waiting.clear();
        self.unsent.clear();
    }

    fn receive_from_server(&mut self, world: &mut World, client: &mut dyn ClientFace) {
        let Some(number) = client.number_of(self.declaration().0) else { return };
        let now = world.resource::<Time<Real>>().elapsed();
        let mut arrived = Vec::new();
        while client.poll_raw(number, &mut |body| arrived.extend(Body::<M>::decode(body))) {}
        let Some(mapping) = self.body.mapping else {
            return arrived.into_iter().for_each(|message| self.port.hand_out(world, message));
        };
        let until = now.saturating_add(HOLD);
        let mut all = core::mem::take(&mut self.waiting);
        all.extend(arrived.into_iter().map(|message| (until, message)));
        for (until, message) in all {
            let map = world.resource::<EntityMap>();
            let mut map = |entity| map.map(entity);
            let mut entities = WireEntities::new(&mut map);
            let mapped = (mapping.0)(&message, &mut entities);
            match entities.missing() {
                Some(_) if now < until => self.waiting.push((until, message)),
                _ => self.port.hand_out(world, mapped),
            }
        }
    }
}

/// Copies a message by its wire form, since messages need not be `Clone`.
fn copy<M: NetData>(body: &mut Body<M>, message: &M) -> Option<M> {
    match body.mapping {
        // Entities stay those of this world.
        Some(mapping) => {
            let mut same = Some;
            Some((mapping.0)(message, &mut WireEntities::new(&mut same)))
        }
        None => Body::<M>::decode(body.encode(message)?),
    }
}

/// Sends a message to its recipients. Returns `false` if it is to be sent after the next tick, when an
/// entity of it has an object; with `is_late` it is sent in any case.
fn send<M: NetData>(
    world: &mut World,
    server: &mut dyn ServerFace,
    body: &mut Body<M>,
    sent: &ToClients<M>,
    is_late: bool,
) -> bool {
    let Some(number) = body.number else { return true };
    let collector = world.resource::<Collector>();
    let mut is_early = false;
    let mut id_of = |entity: Entity| {
        let entity = world.get_entity(entity).ok()?;
        let slot = entity.get::<NetSlot>();
        is_early |= slot.is_none() && entity.contains::<Replicated>();
        collector.id_of(*slot?)
    };
    let route = Route::from(body.delivery);
    let route = match sent.when {
        When::Now => route,
        When::InStep => route.at_tick(world.resource::<NetTick>().tick),
        When::At(tick) => route.at_tick(tick),
        When::With(entity) => id_of(entity).map_or(route, |id| route.with_object(id)),
    };
    let mut map = |entity| id_of(entity)?.to_wire_entity();
    let mut entities = WireEntities::new(&mut map);
    let mapped = body.mapping.map(|mapping| (mapping.0)(&sent.message, &mut entities));
    if is_early && !is_late {
        return false;
    }
    let Some(bytes) = body.encode(mapped.as_ref().unwrap_or(&sent.message)) else { return true };
    let peer = |entity, client: &ConnectedClient| -> Option<PeerId> {
        client.peer.filter(|_| sent.to.contains(entity))
    };
    let mut clients = world.query::<(Entity, &ConnectedClient)>();
    let peers = clients.iter(world).filter_map(|(entity, client)| peer(entity, client));
    for to in peers {
        if let Err(error) = server.send_raw(to, number, bytes, route) {
            log::warn!("`{}` is not sent: {error}", type_name::<M>());
        }
    }
    true
}

impl Recipients {
    fn contains(self, client: Entity) -> bool {
        match self {
            Self::All | Self::Remote => true,
            Self::One(one) => client == one,
            Self::Except(one) => client != one,
        }
    }
}

/// The client entity of the local player, on the side with authority.
fn local_client(world: &mut World) -> Option<Entity> {
    let mut local = world.query_filtered::<Entity, (With<LocalClient>, With<ConnectedClient>)>();
    local.iter(world).next()
}
