//! Inputs: the local player's, and those of each entity's owner.

use core::marker::PhantomData;

use bevy_ecs::component::Component;
use bevy_ecs::lifecycle::Remove;
use bevy_ecs::observer::On;
use bevy_ecs::resource::Resource;
use bevy_ecs::system::Query;
use bevy_ecs::world::World;
use tightwire::play::{ClientConfig, Game, Input, PlayError, ServerConfig};

use crate::face::{AnyGate, AnyTransport, ClientFace, ClientOf, ServerFace, ServerOf};
use crate::owner::{LocalClient, OwnedBy};

/// Input of the local player in this frame: a resource that the game writes in
/// [`NetworkSet::WriteInput`](crate::NetworkSet::WriteInput).
///
/// ```
/// use bevy_app::prelude::*;
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
///
/// #[derive(Wire, Clone, Default)]
/// struct Steer(#[wire(range = -1..=1)] i8);
/// impl Input for Steer {}
///
/// fn read_keys(mut input: ResMut<LocalInput<Steer>>) {
///     **input = Steer(1);
/// }
///
/// App::new()
///     .add_input::<Steer>()
///     .add_systems(RunFixedMainLoop, read_keys.in_set(NetworkSet::WriteInput));
/// ```
#[derive(Resource, Clone, PartialEq, Debug, Default)]
pub struct LocalInput<I: Send + Sync + 'static>(pub I);

/// Input of the client that owns the entity, in this tick. An entity that loses its owner gets the
/// default.
///
/// The side with authority inserts the component. It is replicated only to the owner, which
/// predicts with its own inputs.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
///
/// #[derive(Wire, Clone, Default)]
/// struct Steer(#[wire(range = -1..=1)] i8);
/// #[derive(Component)]
/// struct Heading(f32);
///
/// fn turn(mut ships: Query<(&mut Heading, &Controls<Steer>)>) {
///     for (mut heading, input) in &mut ships {
///         heading.0 += 0.05 * f32::from(input.0.0);
///     }
/// }
/// # bevy_ecs::system::assert_is_system(turn);
/// ```
#[derive(Component, Clone, PartialEq, Debug, Default)]
pub struct Controls<I: Send + Sync + 'static>(pub I);

/// Lets go of the keys that the owner of an entity held.
pub(crate) fn release_controls<I: Input>(
    removed: On<'_, '_, Remove, OwnedBy>,
    mut all: Query<'_, '_, &mut Controls<I>>,
) {
    if let Ok(mut controls) = all.get_mut(removed.entity) {
        controls.0 = I::default();
    }
}

macro_rules! derefs {
    ($($name:ident)+) => {$(
        impl<I: Send + Sync + 'static> core::ops::Deref for $name<I> {
            type Target = I;

            fn deref(&self) -> &I {
                &self.0
            }
        }

        impl<I: Send + Sync + 'static> core::ops::DerefMut for $name<I> {
            fn deref_mut(&mut self) -> &mut I {
                &mut self.0
            }
        }
    )+};
}

derefs!(LocalInput Controls);

/// Makes servers and clients with the input of the game.
pub(crate) trait InputKit: Send + Sync {
    fn serve(
        &self,
        game: Game,
        config: ServerConfig,
        gate: AnyGate,
        transport: AnyTransport,
    ) -> Result<Box<dyn ServerFace>, PlayError>;

    fn connect(
        &self,
        game: Game,
        config: ClientConfig,
        token: &[u8],
        transport: AnyTransport,
    ) -> Result<Box<dyn ClientFace>, PlayError>;

    /// Describes the game for captures of its packets.
    #[cfg(feature = "inspect")]
    fn describe(
        &self,
        game: Game,
        config: &tightwire::snapshot::Config,
    ) -> Result<tightwire::play::GameDescription, PlayError>;

    /// Writes the input of the local player into the `Controls` of its entities.
    fn write_local_controls(&self, world: &mut World);

    /// Returns the name of the input type; `None` without one.
    fn name(&self) -> Option<&'static str>;
}

/// A game without input.
pub(crate) struct NoInput;

/// A game with the input `I`.
pub(crate) struct TypedInput<I>(pub(crate) PhantomData<fn() -> I>);

fn serve<I: Input>(
    game: Game<I>,
    config: ServerConfig,
    gate: AnyGate,
    transport: AnyTransport,
) -> Result<Box<dyn ServerFace>, PlayError> {
    let server = game.serve(config, gate, transport)?;
    Ok(Box::new(ServerOf { server, controls: None }))
}

fn connect<I: Input>(
    game: Game<I>,
    config: ClientConfig,
    token: &[u8],
    transport: AnyTransport,
) -> Result<Box<dyn ClientFace>, PlayError> {
    Ok(Box::new(ClientOf(game.connect(config, token, transport)?)))
}

impl InputKit for NoInput {
    fn serve(
        &self,
        game: Game,
        config: ServerConfig,
        gate: AnyGate,
        transport: AnyTransport,
    ) -> Result<Box<dyn ServerFace>, PlayError> {
        serve(game, config, gate, transport)
    }

    fn connect(
        &self,
        game: Game,
        config: ClientConfig,
        token: &[u8],
        transport: AnyTransport,
    ) -> Result<Box<dyn ClientFace>, PlayError> {
        connect(game, config, token, transport)
    }

    #[cfg(feature = "inspect")]
    fn describe(
        &self,
        game: Game,
        config: &tightwire::snapshot::Config,
    ) -> Result<tightwire::play::GameDescription, PlayError> {
        game.describe(config)
    }

    fn write_local_controls(&self, _: &mut World) {}

    fn name(&self) -> Option<&'static str> {
        None
    }
}

impl<I: Input> InputKit for TypedInput<I> {
    fn serve(
        &self,
        game: Game,
        config: ServerConfig,
        gate: AnyGate,
        transport: AnyTransport,
    ) -> Result<Box<dyn ServerFace>, PlayError> {
        serve(game.input::<I>(), config, gate, transport)
    }

    fn connect(
        &self,
        game: Game,
        config: ClientConfig,
        token: &[u8],
        transport: AnyTransport,
    ) -> Result<Box<dyn ClientFace>, PlayError> {
        connect(game.input::<I>(), config, token, transport)
    }

    #[cfg(feature = "inspect")]
    fn describe(
        &self,
        game: Game,
        config: &tightwire::snapshot::Config,
    ) -> Result<tightwire::play::GameDescription, PlayError> {
        game.input::<I>().describe(config)
    }

    fn write_local_controls(&self, world: &mut World) {
        let Some(input) = world.get_resource::<LocalInput<I>>().map(|input| input.0.clone()) else {
            return;
        };
        let mut local =
            world.query_filtered::<bevy_ecs::entity::Entity, bevy_ecs::query::With<LocalClient>>();
        let Some(local) = local.iter(world).next() else { return };
        let mut controls = world.query::<(&OwnedBy, &mut Controls<I>)>();
        for (owner, mut controls) in controls.iter_mut(world) {
            if owner.0 == local {
                controls.0.clone_from(&input);
            }
        }
    }

    fn name(&self) -> Option<&'static str> {
        Some(core::any::type_name::<I>())
    }
}
