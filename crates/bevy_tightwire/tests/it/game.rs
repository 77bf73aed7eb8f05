//! Components of the tests, and helpers.

use std::time::Duration;

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;

#[derive(Component, Wire, Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Position(
    #[wire(spatial, min = -500.0, max = 500.0, resolution = 0.01)] pub(crate) [f32; 2],
);

#[derive(Component, Wire, Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Heading(#[wire(wraps, min = 0.0, max = 360.0, resolution = 0.1)] pub(crate) f32);

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Health(#[wire(range = 0..=100)] pub(crate) u8);

#[derive(Component, Wire, Clone, PartialEq, Eq, Debug, Default)]
#[component(storage = "SparseSet")]
pub(crate) struct Label(#[wire(max_len = 20)] pub(crate) String);

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Bullet;

pub(crate) fn net(clients: usize, game: fn(&mut App)) -> TestNet {
    TestNet::print_warnings();
    TestNet::new(TestNet::bad_link(), 7, clients, game)
}

pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// All values of a component in a world.
pub(crate) fn all<C: Component + Clone>(app: &mut App) -> Vec<C> {
    let world = app.world_mut();
    world.query::<&C>().iter(world).cloned().collect()
}

pub(crate) fn count<C: Component>(app: &mut App) -> usize {
    let world = app.world_mut();
    world.query::<&C>().iter(world).count()
}

/// The only entity with a component.
pub(crate) fn only<C: Component>(app: &mut App) -> Entity {
    let world = app.world_mut();
    world.query_filtered::<Entity, With<C>>().single(world).unwrap()
}

impl Position {
    /// The position in hundredths, which is the resolution of the wire.
    pub(crate) fn rounded(self) -> [i32; 2] {
        self.0.map(|axis| (axis * 100.0).round() as i32)
    }
}

/// The rounded positions of a world.
pub(crate) fn positions(app: &mut App) -> Vec<[i32; 2]> {
    all::<Position>(app).into_iter().map(Position::rounded).collect()
}

/// The entity of a client that stands for an entity of the server.
pub(crate) fn remote(net: &TestNet, client: usize, entity: Entity) -> Option<Entity> {
    net.entity_on_client(client, entity)
}
