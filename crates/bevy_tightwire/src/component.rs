//! Components that can be replicated, alone and in groups.

use bevy_ecs::bundle::{Bundle, DynamicBundle};
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

    /// Swaps a component of an entity with a value, if it can be changed in place; returns whether
    /// it was.
    fn swap(entity: &mut EntityWorldMut<'_>, value: &mut C) -> bool;
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

    fn swap(entity: &mut EntityWorldMut<'_>, value: &mut C) -> bool {
        let place = entity.get_mut::<C>();
        place.map(|mut place| core::mem::swap(&mut *place, value)).is_some()
    }
}

impl<C: Component<Mutability = Self>> WriteMode<C> for Immutable {
    fn write(entity: &mut EntityWorldMut<'_>, value: C) {
        entity.insert(value);
    }

    fn write_silently(entity: &mut EntityWorldMut<'_>, value: C) {
        entity.insert(value);
    }

    fn swap(_: &mut EntityWorldMut<'_>, _: &mut C) -> bool {
        false
    }
}

/// A [`NetComponent`], or a tuple of two to twelve of them, which belong together.
///
/// Entities that have all components of a tuple become objects of one class, with a model of its
/// own.
pub trait ComponentGroup: Bundle {
    /// `true` for a tuple of components, which gets a class of its own; `false` for one component.
    #[doc(hidden)]
    const IS_GROUP: bool;

    /// Registers each component, and returns their places in the registry.
    #[doc(hidden)]
    fn register(registry: &mut Registrar<'_>) -> Vec<usize>;
}

/// A component, or a [`ComponentGroup`], that can be predicted: every component is [`Clone`].
pub trait PredictGroup: Bundle {
    /// Keeps the history of each component, for replays.
    #[doc(hidden)]
    fn keep_history(registry: &mut Registrar<'_>);
}

impl<G: Bundle + Members<<G as DynamicBundle>::Effect>> ComponentGroup for G {
    const IS_GROUP: bool = G::IS_TUPLE;

    fn register(registry: &mut Registrar<'_>) -> Vec<usize> {
        G::register_members(registry)
    }
}

impl<G: Bundle + Histories<<G as DynamicBundle>::Effect>> PredictGroup for G {
    fn keep_history(registry: &mut Registrar<'_>) {
        G::keep_histories(registry);
    }
}

/// Registration of a component, or of each one of a tuple.
///
/// To the compiler, Bevy might make tuples components one day, so no trait can be implemented for
/// every component and for tuples of them. `Kind` keeps the implementations apart: it is the
/// `Effect` of the bundle, which is `()` for a component, and a tuple for a tuple.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be replicated",
    label = "neither a replicable component nor a tuple of two to twelve",
    note = "a component is replicable if it derives `Component`, `Wire` and `Default`; components of \
            other crates are registered by `replicate_as`"
)]
pub trait Members<Kind> {
    const IS_TUPLE: bool;

    fn register_members(registry: &mut Registrar<'_>) -> Vec<usize>;
}

/// History of a component, or of each one of a tuple. `Kind` is that of [`Members`].
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be predicted",
    label = "not `Clone`",
    note = "the values of the last ticks are kept, so each component has to be `Clone`"
)]
pub trait Histories<Kind> {
    fn keep_histories(registry: &mut Registrar<'_>);
}

/// Access to the registry of an app for the traits of this module.
#[doc(hidden)]
#[derive(Debug)]
pub struct Registrar<'r> {
    pub(crate) registry: &'r mut Registry,
    pub(crate) components: &'r mut bevy_ecs::world::World,
}

impl<C: NetComponent> Members<()> for C {
    const IS_TUPLE: bool = false;

    fn register_members(registry: &mut Registrar<'_>) -> Vec<usize> {
        vec![registry.add_derived::<C>()]
    }
}

impl<C: Component<Mutability: WriteMode<C>> + Clone> Histories<()> for C {
    fn keep_histories(registry: &mut Registrar<'_>) {
        registry.keep_history::<C>();
    }
}

/// The `Effect` of a component, which is none.
macro_rules! no_effect {
    ($name:ident) => {
        ()
    };
}

macro_rules! groups {
    ($($($name:ident)+;)+) => {$(
        impl<$($name: NetComponent),+> Members<($(no_effect!($name),)+)> for ($($name,)+) {
            const IS_TUPLE: bool = true;

            fn register_members(registry: &mut Registrar<'_>) -> Vec<usize> {
                vec![$(registry.add_derived::<$name>(),)+]
            }
        }

        impl<$($name: NetComponent + Clone),+> Histories<($(no_effect!($name),)+)> for ($($name,)+) {
            fn keep_histories(registry: &mut Registrar<'_>) {
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
    A B C D E F G H I;
    A B C D E F G H I J;
    A B C D E F G H I J K;
    A B C D E F G H I J K L;
}
