//! The network layer, while it is out of the world: code of the game runs meanwhile, and its commands
//! may need the network layer.

use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;

type Command = Box<dyn FnOnce(&mut World) + Send + Sync>;

/// Commands that wait until the network layer is back in the world.
#[derive(Resource, Default)]
pub(crate) struct Deferred {
    /// The network layer is out of the world.
    is_taken: bool,
    commands: Vec<Command>,
}

/// Calls `run` with the running server or client, which is out of the world meanwhile.
pub(crate) fn with_taken<S: Resource>(world: &mut World, run: impl FnOnce(&mut World, &mut S)) {
    let Some(mut side) = world.remove_resource::<S>() else { return };
    deferring(world, |world| {
        run(world, &mut side);
        world.insert_resource(side);
    });
}

/// Calls `run`, then the commands that were deferred meanwhile.
pub(crate) fn deferring(world: &mut World, run: impl FnOnce(&mut World)) {
    world.resource_mut::<Deferred>().is_taken = true;
    run(world);
    let deferred = core::mem::take(&mut *world.resource_mut::<Deferred>());
    deferred.commands.into_iter().for_each(|command| command(world));
}

/// Runs a command that needs the network layer: at once, or when it is back in the world.
pub(crate) fn run_or_defer(
    world: &mut World,
    command: impl FnOnce(&mut World) + Send + Sync + 'static,
) {
    match world.get_resource_mut::<Deferred>() {
        Some(mut deferred) if deferred.is_taken => deferred.commands.push(Box::new(command)),
        _ => command(world),
    }
}
