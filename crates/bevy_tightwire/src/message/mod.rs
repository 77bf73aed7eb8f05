//! Bevy's messages and events, sent between server and clients.

mod channel;
mod port;

use core::ops::Deref;

use bevy_ecs::change_detection::Mut;
use bevy_ecs::entity::Entity;
use bevy_ecs::event::Event;
use bevy_ecs::message::Message;
use bevy_ecs::system::Commands;
use bevy_ecs::world::World;
use tightwire::Wire;
use tightwire::schema::Schema;

pub(crate) use channel::{ClientChannel, Mapping, ServerChannel};
use port::EventQueue;
pub(crate) use port::init_queue;
pub(crate) use port::{EventPort, MessagePort};

use crate::face::{ClientFace, ServerFace};
use crate::registry::Registry;

/// Data that can be sent: every type that is [`Wire`] and has a default.
pub trait NetData: Wire + Default + Send + Sync + 'static {}

impl<M: Wire + Default + Send + Sync + 'static> NetData for M {}

/// A message or event for clients: the side with authority writes it, and each recipient gets the
/// `M` in it.
///
/// ```
/// use bevy_app::prelude::*;
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
///
/// #[derive(Message, Wire, Default)]
/// struct RoundOver {
///     winner: u8,
/// }
///
/// fn end(mut writer: MessageWriter<ToClients<RoundOver>>) {
///     writer.write(ToClients::all(RoundOver { winner: 1 }));
/// }
/// fn show(mut reader: MessageReader<RoundOver>) {
///     reader.read().for_each(|over| println!("team {} wins", over.winner));
/// }
///
/// let mut app = App::new();
/// app.add_plugins(TightwirePlugins::new("game", "1.0"))
///     .add_server_message::<RoundOver>(Delivery::ReliableOrdered)
///     .add_systems(FixedUpdate, end.run_if(has_authority))
///     .add_systems(Update, show.run_if(has_local_player));
/// ```
#[derive(Message, Event, Clone, PartialEq, Debug)]
pub struct ToClients<M: Send + Sync + 'static> {
    /// The recipients.
    pub to: Recipients,
    /// The moment at which a client reads the message.
    pub when: When,
    /// The message.
    pub message: M,
}

impl<M: Send + Sync + 'static> ToClients<M> {
    /// Creates a message to all clients, in step with the world.
    pub fn all(message: M) -> Self {
        Self { to: Recipients::All, when: When::InStep, message }
    }

    /// Creates a message to one client, in step with the world.
    pub fn one(client: Entity, message: M) -> Self {
        Self { to: Recipients::One(client), when: When::InStep, message }
    }

    /// Creates a message to all clients but one, in step with the world.
    pub fn except(client: Entity, message: M) -> Self {
        Self { to: Recipients::Except(client), when: When::InStep, message }
    }

    /// Hands the message out as soon as it arrives, whatever tick the client shows.
    #[must_use]
    pub fn now(mut self) -> Self {
        self.when = When::Now;
        self
    }

    /// Hands the message out once the client shows `entity`.
    #[must_use]
    pub fn with(mut self, entity: Entity) -> Self {
        self.when = When::With(entity);
        self
    }
}

/// The recipients of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Recipients {
    /// All clients, the local player included.
    #[default]
    All,
    /// One client.
    One(Entity),
    /// All clients but one.
    Except(Entity),
    /// All clients but the local player.
    Remote,
}

/// The moment at which a client reads a message. By default messages are in step with the shown
/// world, since a message that overtakes the state it refers to is a common bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum When {
    /// When the client shows the tick in which the message was sent.
    #[default]
    InStep,
    /// As soon as the message arrives.
    Now,
    /// Once the client shows this entity.
    With(Entity),
    /// When the client shows this tick.
    At(u32),
}

/// A message or event of a client, on the side with authority.
///
/// It arrives as soon as it can, and is bound to no tick. What a player does at a tick belongs into the
/// [`Input`](tightwire::play::Input).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
///
/// #[derive(Message, Wire, Default)]
/// struct Say {
///     #[wire(max_len = 100)]
///     text: String,
/// }
///
/// fn hear(mut reader: MessageReader<FromClient<Say>>) {
///     for say in reader.read() {
///         println!("{}: {}", say.client, say.text);
///     }
/// }
/// # bevy_ecs::system::assert_is_system(hear);
/// ```
#[derive(Message, Event, Clone, PartialEq, Debug)]
pub struct FromClient<M: Send + Sync + 'static> {
    /// The entity of the client, with [`ConnectedClient`](crate::ConnectedClient).
    pub client: Entity,
    /// The message.
    pub message: M,
}

impl<M: Send + Sync + 'static> Deref for FromClient<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.message
    }
}

/// Commands that trigger events on the other side.
pub trait NetTriggerExt {
    /// Triggers an event as [`FromClient`] on the side with authority.
    fn client_trigger<E: Event>(&mut self, event: E);

    /// Triggers an event on its recipients.
    fn server_trigger<E: Event>(&mut self, event: ToClients<E>);
}

impl NetTriggerExt for Commands<'_, '_> {
    fn client_trigger<E: Event>(&mut self, event: E) {
        self.queue(move |world: &mut World| EventQueue::push(world, event));
    }

    fn server_trigger<E: Event>(&mut self, event: ToClients<E>) {
        self.queue(move |world: &mut World| EventQueue::push(world, event));
    }
}

/// A type of messages or events, in one direction.
pub(crate) trait Channel: Send + Sync {
    /// Name and schema of the messages.
    fn declaration(&self) -> (&'static str, Schema);

    /// Sends the messages that were written, and hands out those that are addressed to this side.
    fn flush(&mut self, world: &mut World, outlet: Outlet<'_>);

    /// Drops the messages that wait for entities of the connection that has ended.
    fn forget_waiting(&mut self) {}

    fn receive_from_clients(&mut self, _: &mut World, _: &mut dyn ServerFace) {}

    fn receive_from_server(&mut self, _: &mut World, _: &mut dyn ClientFace) {}
}

/// Destination of messages.
pub(crate) enum Outlet<'o> {
    Offline,
    Server(&'o mut dyn ServerFace),
    Client(&'o mut dyn ClientFace),
}

pub(crate) fn flush(world: &mut World, mut outlet: Outlet<'_>) {
    for_each_channel(world, |world, channel| {
        let outlet = match &mut outlet {
            Outlet::Offline => Outlet::Offline,
            Outlet::Server(server) => Outlet::Server(&mut **server),
            Outlet::Client(client) => Outlet::Client(&mut **client),
        };
        channel.flush(world, outlet);
    });
}

pub(crate) fn receive_from_clients(world: &mut World, server: &mut dyn ServerFace) {
    for_each_channel(world, |world, channel| channel.receive_from_clients(world, server));
}

pub(crate) fn receive_from_server(world: &mut World, client: &mut dyn ClientFace) {
    for_each_channel(world, |world, channel| channel.receive_from_server(world, client));
}

/// Drops the messages that wait for entities of the connection that has ended.
pub(crate) fn forget_waiting(world: &mut World) {
    for_each_channel(world, |_, channel| channel.forget_waiting());
}

fn for_each_channel(world: &mut World, mut run: impl FnMut(&mut World, &mut dyn Channel)) {
    // Observers of an event may need the registry: only the channels are taken out.
    let mut channels = core::mem::take(&mut world.resource_mut::<Registry>().channels);
    for channel in &mut channels {
        run(world, &mut **channel);
    }
    world.resource_scope(|_, mut registry: Mut<'_, Registry>| registry.channels = channels);
}
