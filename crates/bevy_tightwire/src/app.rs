//! Registration of an app's replicated components and resources, its messages, events and input.

use core::any::type_name;
use core::marker::PhantomData;

use bevy_app::App;
use bevy_ecs::component::{Component, Mutable};
use bevy_ecs::entity::MapEntities;
use bevy_ecs::event::Event;
use bevy_ecs::message::Message;
use bevy_ecs::resource::Resource;
use tightwire::message::Delivery;
use tightwire::play::Input;

use crate::codec::{Codec, Derived, Marker};
use crate::component::{ComponentGroup, NetComponent, WriteMode};
use crate::history::History;
use crate::input::{Controls, LocalInput, TypedInput, release_controls};
use crate::message::{
    Channel, ClientChannel, EventPort, FromClient, Mapping, MessagePort, NetData, ServerChannel,
    ToClients, init_queue,
};
use crate::registration::{Registration, one, with_registry};
use crate::registry::{Filters, GroupEntry};
use crate::resource::{self, ResourceCodec, ResourceCopy};

/// Registration of components, messages and the input. Both sides register the same; the order does
/// not matter, and several plugins of a game may register the same type. The settings of a component
/// that is registered twice add up; its codec, and the delivery of a message, are those of the first
/// registration.
///
/// ```
/// use bevy_app::App;
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
///
/// #[derive(Component, Wire, Default, Clone)]
/// struct Position(#[wire(spatial, min = -500.0, max = 500.0, resolution = 0.01)] [f32; 2]);
/// #[derive(Component, Wire, Default)]
/// struct Health(#[wire(range = 0..=100)] u8);
///
/// let mut app = App::new();
/// app.add_plugins(TightwirePlugins::new("game", "1.0"));
/// app.replicate::<Position>().predict().interpolate();
/// app.replicate::<Health>().owner_only();
/// ```
pub trait NetAppExt {
    /// Replicates a component on every [`Replicated`](crate::Replicated) entity that has it, or
    /// declares a tuple of components that belong together. Entities that have all of these are
    /// objects of a class of their own, which takes fewer bytes where the entities of each group
    /// change in their own way.
    ///
    /// A component that is only in tuples is replicated only with the whole of one; register it
    /// alone too if it may come alone.
    fn replicate<G: ComponentGroup>(&mut self) -> Registration<'_, G>;

    /// Replicates a component by a [`Codec`]: for components of other crates.
    fn replicate_as<C, K>(&mut self, codec: K) -> Registration<'_, C>
    where
        C: Component<Mutability: WriteMode<C>>,
        K: Codec<C>;

    /// Replicates the value that a component has when it is inserted, and no later change.
    fn replicate_once<C: NetComponent>(&mut self) -> Registration<'_, C>;

    /// Replicates a resource from the server to the clients, which insert, change and remove it as the
    /// server does. When a connection ends, they keep the last value.
    ///
    /// All clients get it, and it is not predicted: what needs a scope or interpolation is a component of
    /// an entity.
    fn replicate_resource<R>(&mut self) -> &mut Self
    where
        R: Resource<Mutability = Mutable> + NetData + Clone;

    /// Restores a component that is not replicated before ticks are replayed: for example a
    /// cooldown that only this client needs.
    fn rollback<C>(&mut self) -> &mut Self
    where
        C: Component<Mutability: WriteMode<C>> + Clone;

    /// Sets the type of the players' input. An app has one input type.
    fn add_input<I: Input>(&mut self) -> &mut Self;

    /// Sends messages `M` of clients to the server, which reads [`FromClient`]. Register a type for
    /// one direction only: a client would send the messages that it receives back to the server.
    ///
    /// A message that is written before the client is connected is not sent, and a system of a tick that
    /// writes one needs `run_if(not(is_replaying))`, or replays would send it again.
    fn add_client_message<M: Message + NetData>(&mut self, delivery: Delivery) -> &mut Self;

    /// Sends [`ToClients`] messages of the server to clients, which read `M`.
    fn add_server_message<M: Message + NetData>(&mut self, delivery: Delivery) -> &mut Self;

    /// Like [`add_client_message`](Self::add_client_message), for messages that contain entities:
    /// each is mapped to the server's entity.
    fn add_mapped_client_message<M>(&mut self, delivery: Delivery) -> &mut Self
    where
        M: Message + NetData + MapEntities + Clone;

    /// Like [`add_server_message`](Self::add_server_message), for messages that contain entities: a
    /// client reads the message once it has all of them.
    fn add_mapped_server_message<M>(&mut self, delivery: Delivery) -> &mut Self
    where
        M: Message + NetData + MapEntities + Clone;

    /// Sends events `E` of clients to the server, which observes [`FromClient`]: see
    /// [`client_trigger`](crate::NetTriggerExt::client_trigger).
    fn add_client_event<E: Event + NetData>(&mut self, delivery: Delivery) -> &mut Self;

    /// Sends events of the server to clients, which observe `E`: see
    /// [`server_trigger`](crate::NetTriggerExt::server_trigger).
    fn add_server_event<E>(&mut self, delivery: Delivery) -> &mut Self
    where
        E: for<'a> Event<Trigger<'a>: Default> + NetData;

    /// Like [`add_client_event`](Self::add_client_event), for events that contain entities: each is
    /// mapped to the server's entity.
    fn add_mapped_client_event<E>(&mut self, delivery: Delivery) -> &mut Self
    where
        E: Event + NetData + MapEntities + Clone;

    /// Like [`add_server_event`](Self::add_server_event), for events that contain entities: a
    /// client observes the event once it has all of them. An [`EntityEvent`](bevy_ecs::event::EntityEvent)
    /// is observed at the client's entity.
    fn add_mapped_server_event<E>(&mut self, delivery: Delivery) -> &mut Self
    where
        E: for<'a> Event<Trigger<'a>: Default> + NetData + MapEntities + Clone;
}

fn add_channel(app: &mut App, channel: impl Channel + 'static) {
    with_registry(app, |registrar| {
        let channels = &mut registrar.registry.channels;
        let (name, _) = channel.declaration();
        if channels.iter().any(|other| other.declaration().0 == name) {
            return log::warn!("`{name}` is registered twice: the first registration counts");
        }
        channels.push(Box::new(channel));
    });
}

impl NetAppExt for App {
    fn replicate<G: ComponentGroup>(&mut self) -> Registration<'_, G> {
        let (places, group) = with_registry(self, |registrar| {
            let places = G::register(registrar);
            if !G::IS_GROUP {
                return (places, None);
            }
            let groups = &mut registrar.registry.groups;
            groups.push(GroupEntry {
                required: places.clone(),
                classless: Vec::new(),
                optional: Vec::new(),
                derivatives: Vec::new(),
                filters: Filters::default(),
            });
            (places, Some(groups.len() - 1))
        });
        let registration = Registration { app: self, places, group, typed: PhantomData };
        registration.set(|settings| settings.is_loose |= !G::IS_GROUP)
    }

    fn replicate_as<C, K>(&mut self, codec: K) -> Registration<'_, C>
    where
        C: Component<Mutability: WriteMode<C>>,
        K: Codec<C>,
    {
        let place = with_registry(self, |registrar| registrar.add::<C, K>(codec));
        one(self, place).set(|settings| settings.is_mapped = true)
    }

    fn replicate_once<C: NetComponent>(&mut self) -> Registration<'_, C> {
        let place = with_registry(self, |registrar| registrar.add::<C, Derived>(Derived));
        one(self, place).set(|settings| settings.is_once = true)
    }

    fn replicate_resource<R>(&mut self) -> &mut Self
    where
        R: Resource<Mutability = Mutable> + NetData + Clone,
    {
        let (is_new, place) = with_registry(self, |registrar| {
            let is_new = registrar.entry::<ResourceCopy<R>>().is_none();
            (is_new, registrar.add::<ResourceCopy<R>, _>(ResourceCodec))
        });
        if is_new {
            one::<ResourceCopy<R>>(self, place);
            resource::build::<R>(self);
        }
        self
    }

    fn rollback<C>(&mut self) -> &mut Self
    where
        C: Component<Mutability: WriteMode<C>> + Clone,
    {
        with_registry(self, |registrar| {
            registrar.registry.local_state.push(Box::new(History::<C>::new(C::clone)));
        });
        self
    }

    fn add_input<I: Input>(&mut self) -> &mut Self {
        let place = with_registry(self, |registrar| {
            if let Some(name) = registrar.registry.input.name() {
                if name != type_name::<I>() {
                    log::error!("the input is `{name}` already: `{}` is ignored", type_name::<I>());
                }
                return None;
            }
            registrar.registry.input = Box::new(TypedInput::<I>(PhantomData));
            Some(registrar.add::<Controls<I>, _>(Marker::<Controls<I>>(PhantomData)))
        });
        if let Some(place) = place {
            // Only the owner has inputs to predict with.
            one::<Controls<I>>(self, place).owner_only();
            self.add_observer(release_controls::<I>);
        }
        self.init_resource::<LocalInput<I>>()
    }

    fn add_client_message<M: Message + NetData>(&mut self, delivery: Delivery) -> &mut Self {
        let port = MessagePort::<M, FromClient<M>>::default();
        add_channel(self, ClientChannel::<M, _>::new(delivery, None, port));
        self.add_message::<M>().add_message::<FromClient<M>>()
    }

    fn add_server_message<M: Message + NetData>(&mut self, delivery: Delivery) -> &mut Self {
        let port = MessagePort::<ToClients<M>, M>::default();
        add_channel(self, ServerChannel::<M, _>::new(delivery, None, port));
        self.add_message::<M>().add_message::<ToClients<M>>()
    }

    fn add_mapped_client_message<M>(&mut self, delivery: Delivery) -> &mut Self
    where
        M: Message + NetData + MapEntities + Clone,
    {
        let port = MessagePort::<M, FromClient<M>>::default();
        add_channel(self, ClientChannel::new(delivery, Some(Mapping::<M>::new()), port));
        self.add_message::<M>().add_message::<FromClient<M>>()
    }

    fn add_mapped_server_message<M>(&mut self, delivery: Delivery) -> &mut Self
    where
        M: Message + NetData + MapEntities + Clone,
    {
        let port = MessagePort::<ToClients<M>, M>::default();
        add_channel(self, ServerChannel::new(delivery, Some(Mapping::<M>::new()), port));
        self.add_message::<M>().add_message::<ToClients<M>>()
    }

    fn add_client_event<E: Event + NetData>(&mut self, delivery: Delivery) -> &mut Self {
        let port = EventPort::<E, FromClient<E>>::default();
        add_channel(self, ClientChannel::<E, _>::new(delivery, None, port));
        init_queue::<E>(self.world_mut());
        self
    }

    fn add_server_event<E>(&mut self, delivery: Delivery) -> &mut Self
    where
        E: for<'a> Event<Trigger<'a>: Default> + NetData,
    {
        let port = EventPort::<ToClients<E>, E>::default();
        add_channel(self, ServerChannel::<E, _>::new(delivery, None, port));
        init_queue::<ToClients<E>>(self.world_mut());
        self
    }

    fn add_mapped_client_event<E>(&mut self, delivery: Delivery) -> &mut Self
    where
        E: Event + NetData + MapEntities + Clone,
    {
        let port = EventPort::<E, FromClient<E>>::default();
        add_channel(self, ClientChannel::new(delivery, Some(Mapping::<E>::new()), port));
        init_queue::<E>(self.world_mut());
        self
    }

    fn add_mapped_server_event<E>(&mut self, delivery: Delivery) -> &mut Self
    where
        E: for<'a> Event<Trigger<'a>: Default> + NetData + MapEntities + Clone,
    {
        let port = EventPort::<ToClients<E>, E>::default();
        add_channel(self, ServerChannel::new(delivery, Some(Mapping::<E>::new()), port));
        init_queue::<ToClients<E>>(self.world_mut());
        self
    }
}
