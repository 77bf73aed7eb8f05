//! Components that can be replicated, alone and in groups.

use bevy_ecs::component::{Component, ComponentMutability, Immutable, Mutable};
use bevy_ecs::world::EntityWorldMut;
use tightwire::Wire;

use crate::registry::Registry;

/// A component that can be replicated: every [`Component`] that is [`Wire`] and has a default.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
///
/// #[derive(Component, Wire, Default)]
/// struct Health(#[wire(range = 0..=100)] u8);
///
/// fn is_replicable<C: NetComponent>() -> bool {
///     true
/// }
/// assert!(is_replicable::<Health>());
/// ```
pub trait NetComponent: Component<Mutability: WriteMode<Self>> + Wire + Default {}

impl<C: Component<Mutability: WriteMode<C>> + Wire + Default> NetComponent for C {}

/// The way in which a component is overwritten: mutable ones in place, immutable ones by an
/// insertion.
pub trait WriteMode<C: ?Sized>: ComponentMutability {
    /// Writes a component of an entity; inserts it if the entity does not have it.
    fn write(entity: &mut EntityWorldMut<'_>, value: C);

    /// Writes a component as [`write`](Self::write) does, without marking it as changed where that
    /// is possible.
    fn write_silently(entity: &mut EntityWorldMut<'_>, value: C);
}

impl<C: Component<Mutability = Self>> WriteMode<C> for Mutable {
    fn write(entity: &mut EntityWorldMut<'_>, value: C) {
        match entity.get_mut::<C>() {
            Some(mut place) => *place = value,
            None => drop(entity.insert(value)),
        }
    }

    fn write_silently(entity: &mut EntityWorldMut<'_>, value: C) {
        use bevy_ecs::change_detection::DetectChangesMut;
        match entity.get_mut::<C>() {
            Some(mut place) => *place.bypass_change_detection() = value,
            None => drop(entity.insert(value)),
        }
    }
}

impl<C: Component<Mutability = Self>> WriteMode<C> for Immutable {
    fn write(entity: &mut EntityWorldMut<'_>, value: C) {
        entity.insert(value);
    }

    fn write_silently(entity: &mut EntityWorldMut<'_>, value: C) {
        entity.insert(value);
    }
}

/// Components that belong together: a tuple of two to eight [`NetComponent`]s.
///
/// Entities that have all of these components become objects of one class, with a model of its own.
pub trait ComponentGroup {
    /// Registers each component, and returns their places in the registry.
    #[doc(hidden)]
    fn register(registry: &mut Registrar<'_>) -> Vec<usize>;
}

/// A [`ComponentGroup`], or a component, that can be predicted: every component is [`Clone`].
pub trait PredictGroup {
    /// Keeps the history of each component, for replays.
    #[doc(hidden)]
    fn keep_history(registry: &mut Registrar<'_>);
}

/// Access to the registry of an app for the traits of this module.
#[doc(hidden)]
#[derive(Debug)]
pub struct Registrar<'r> {
    pub(crate) registry: &'r mut Registry,
    pub(crate) components: &'r mut bevy_ecs::world::World,
}

/// One component, as the parameter of a [`Registration`](crate::Registration).
#[derive(Debug)]
pub struct One<C>(core::marker::PhantomData<C>);

impl<C: Component<Mutability: WriteMode<C>> + Clone> PredictGroup for One<C> {
    fn keep_history(registry: &mut Registrar<'_>) {
        registry.keep_history::<C>();
    }
}

macro_rules! groups {
    ($($($name:ident)+;)+) => {$(
        impl<$($name: NetComponent),+> ComponentGroup for ($($name,)+) {
            fn register(registry: &mut Registrar<'_>) -> Vec<usize> {
                vec![$(registry.add_derived::<$name>(),)+]
            }
        }

        impl<$($name: NetComponent + Clone),+> PredictGroup for ($($name,)+) {
            fn keep_history(registry: &mut Registrar<'_>) {
                $(registry.keep_history::<$name>();)+
            }
        }
    )+};
}

groups! {
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}
