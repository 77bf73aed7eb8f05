//! Sources and destinations of messages in a world: Bevy's messages, or triggers.

use core::marker::PhantomData;

use bevy_ecs::event::Event;
use bevy_ecs::message::{Message, MessageCursor, Messages};
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;

/// Messages or events of an app: takes those that systems have written, of type `O`, and hands out
/// received ones, of type `A`.
pub(crate) trait Port<O, A>: Send + Sync + 'static {
    /// Calls `take` for everything that was written since the last call.
    fn take(&mut self, world: &mut World, take: &mut dyn FnMut(&mut World, &O));

    /// Hands a received message or event to the world.
    fn hand_out(&mut self, world: &mut World, arrived: A);
}

/// Messages: they are read with a cursor and not drained, so that local systems still see them.
pub(crate) struct MessagePort<O: Message, A> {
    cursor: MessageCursor<O>,
    arrived: PhantomData<fn() -> A>,
}

impl<O: Message, A> Default for MessagePort<O, A> {
    fn default() -> Self {
        Self { cursor: MessageCursor::default(), arrived: PhantomData }
    }
}

impl<O: Message, A: Message> Port<O, A> for MessagePort<O, A> {
    fn take(&mut self, world: &mut World, take: &mut dyn FnMut(&mut World, &O)) {
        // Out of the world meanwhile, since `take` needs the world.
        let Some(messages) = world.remove_resource::<Messages<O>>() else { return };
        for message in self.cursor.read(&messages) {
            take(world, message);
        }
        world.insert_resource(messages);
    }

    fn hand_out(&mut self, world: &mut World, arrived: A) {
        world.write_message(arrived);
    }
}

/// Events: triggered by commands, observed on the other side.
pub(crate) struct EventPort<O, A>(PhantomData<fn() -> (O, A)>);

impl<O, A> Default for EventPort<O, A> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

/// Events that wait for the end of the frame.
#[derive(Resource)]
pub(crate) struct EventQueue<E: Send + Sync + 'static>(Vec<E>);

impl<E: Send + Sync + 'static> EventQueue<E> {
    pub(crate) fn push(world: &mut World, event: E) {
        match world.get_resource_mut::<Self>() {
            Some(mut queue) => queue.0.push(event),
            None => log::error!(
                "`{}` is not sent: register it by `add_client_event` or `add_server_event`",
                core::any::type_name::<E>()
            ),
        }
    }
}

impl<O, A> Port<O, A> for EventPort<O, A>
where
    O: Send + Sync + 'static,
    A: for<'a> Event<Trigger<'a>: Default>,
{
    fn take(&mut self, world: &mut World, take: &mut dyn FnMut(&mut World, &O)) {
        let queue = world.get_resource_mut::<EventQueue<O>>();
        let events = queue.map(|mut queue| core::mem::take(&mut queue.0)).unwrap_or_default();
        events.iter().for_each(|event| take(world, event));
    }

    fn hand_out(&mut self, world: &mut World, arrived: A) {
        world.trigger(arrived);
    }
}

/// Makes room for events that are sent.
pub(crate) fn init_queue<E: Send + Sync + 'static>(world: &mut World) {
    if !world.contains_resource::<EventQueue<E>>() {
        world.insert_resource(EventQueue::<E>(Vec::new()));
    }
}
