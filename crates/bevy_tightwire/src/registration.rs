//! A registered component or group, and its settings.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use bevy_app::App;
use bevy_ecs::change_detection::Mut;
use bevy_ecs::component::{Component, Mutable};
use bevy_ecs::query::ArchetypeFilter;
use tightwire::snapshot::Scope;

use crate::codec::Mapped;
use crate::component::{NetComponent, PredictGroup, Registrar};
use crate::part::{PartScope, observe_scopes};
use crate::registry::{Audience, ColumnSettings, Filter, Registry};

/// A registered component or group, whose settings these methods change. It derefs to the [`App`],
/// so that calls can be chained.
pub struct Registration<'a, G> {
    pub(crate) app: &'a mut App,
    pub(crate) places: Vec<usize>,
    pub(crate) group: Option<usize>,
    pub(crate) typed: PhantomData<fn() -> G>,
}

/// Calls `run` with the registry, which is created if the plugin was not added yet.
pub(crate) fn with_registry<R>(app: &mut App, run: impl FnOnce(&mut Registrar<'_>) -> R) -> R {
    app.init_resource::<Registry>();
    app.world_mut().resource_scope(|world, mut registry: Mut<'_, Registry>| {
        run(&mut Registrar { registry: &mut registry, components: world })
    })
}

/// Returns the registration of one component, which is replicated on any entity.
pub(crate) fn one<C>(app: &mut App, place: usize) -> Registration<'_, C> {
    let registration = Registration { app, places: vec![place], group: None, typed: PhantomData };
    registration.set(|settings| settings.is_loose = true)
}

impl<G> Registration<'_, G> {
    pub(crate) fn set(self, set: impl Fn(&mut ColumnSettings)) -> Self {
        with_registry(self.app, |registrar| {
            for &place in &self.places {
                set(&mut registrar.registry.columns[place].settings);
            }
        });
        self
    }

    /// Predicts the components on entities that a client owns: its fixed systems step them, and the
    /// server corrects them.
    pub fn predict(self) -> Self
    where
        G: PredictGroup,
    {
        with_registry(self.app, G::keep_history);
        self
    }

    /// Interpolates numbers, vectors, angles and rotations of the components between snapshots. A
    /// component that is not interpolated changes when playback reaches the tick of the change.
    /// Predicted components are interpolated between the last two ticks, and their corrections
    /// fade. Where the authority is, nothing is interpolated: a host sees the values of the last tick.
    pub fn interpolate(self) -> Self {
        self.set(|settings| settings.is_interpolated = true)
    }

    /// Sets the difference, in codes of the resolution, up to which continuous values of the
    /// components count as predicted correctly. Without this, the tolerance of the client's
    /// configuration, which is 2 by default.
    pub fn tolerance(self, codes: u32) -> Self {
        self.set(|settings| settings.tolerance = Some(codes))
    }

    /// Rounds the components to the resolution of their wire form after each tick, on the server
    /// and where they are predicted. Both sides then start each tick from equal bits, and a
    /// simulation that computes the same on both sides is never corrected. The tolerance is 1,
    /// unless [`tolerance`](Self::tolerance) sets another.
    ///
    /// Rounding writes into components that a physics engine may own, and motion slower than half
    /// of the resolution per tick stands still. Components that are immutable or contain entities
    /// are not rounded.
    pub fn rounded(self) -> Self {
        self.set(|settings| settings.is_rounded = true)
    }

    /// Replicates the components only to the owner of an entity.
    pub fn owner_only(self) -> Self {
        self.set(|settings| settings.audience = Audience::Owner)
    }

    /// Replicates the components to everybody but the owner of an entity.
    pub fn except_owner(self) -> Self {
        self.set(|settings| settings.audience = Audience::Others)
    }

    /// Adds an optional component to the group: an entity of the group may have it or not. If this
    /// is not the registration of a group, the component is replicated on any entity.
    pub fn optional<C: NetComponent>(self) -> Self {
        with_registry(self.app, |registrar| {
            let place = registrar.add_derived::<C>();
            match self.group {
                Some(group) => registrar.registry.groups[group].optional.push(place),
                None => registrar.registry.columns[place].settings.is_loose = true,
            }
        });
        self
    }

    /// Replicates the components only on entities that pass a filter, such as `With<Player>` or
    /// `Or<(With<Player>, Without<Hidden>)>`. An entity that passes, or no longer passes, since
    /// other components were inserted or removed, gets or loses the components on clients.
    ///
    /// Called several times, one of the filters has to pass; a tuple of filters passes if each does.
    pub fn only_if<F: ArchetypeFilter + 'static>(self) -> Self {
        with_registry(self.app, |registrar| {
            let filter = Filter::new::<F>(registrar.components);
            match self.group {
                Some(group) => registrar.registry.groups[group].filters.push(filter),
                None => {
                    if let Some(&place) = self.places.first() {
                        registrar.registry.columns[place].filters.push(filter);
                    }
                }
            }
        });
        self
    }

    /// Declares that `V` is the rate of change per second of `P`, both of them components of this
    /// group: a velocity of a position, for example. The model then predicts `P` from `V`, and
    /// playback interpolates `P` along a curve. Ignored if this is not the registration of a group.
    pub fn derivative<V: NetComponent, P: NetComponent>(self) -> Self {
        with_registry(self.app, |registrar| {
            let pair = (registrar.add_derived::<V>(), registrar.add_derived::<P>());
            if let Some(group) = self.group {
                registrar.registry.groups[group].derivatives.push(pair);
            }
        });
        self
    }
}

impl<C: Component> Registration<'_, C> {
    /// Gives the component a scope of its own: it is on the clients to which both it and its entity
    /// are relevant. A [`NetScopeOf`](crate::NetScopeOf) on an entity is the scope of the component
    /// there; systems insert and remove it.
    ///
    /// The component is an object beside that of its entity, and may arrive some ticks apart from
    /// it if the budget is short. It is not predicted. For a component of the owner,
    /// [`owner_only`](Self::owner_only) takes fewer bytes.
    pub fn scope(self, scope: Scope) -> Self {
        with_registry(self.app, |registrar| {
            if let Some(entry) = registrar.entry::<C>() {
                entry.part = Some(PartScope::new::<C>(scope));
            }
        });
        observe_scopes::<C>(self.app);
        self
    }
}

impl<C: Component<Mutability = Mutable>> Registration<'_, C> {
    /// Interpolates the component by a function of the game, from the first value to the second by
    /// a fraction from 0 to 1. It gets whole components, so the result is not rounded to the
    /// resolution of the wire form, as that of [`interpolate`](Self::interpolate) is: for coarse
    /// resolutions, and for motion along other curves.
    ///
    /// While a correction fades, the component is shown as `interpolate` shows it.
    ///
    /// ```
    /// use bevy_app::App;
    /// use bevy_ecs::prelude::*;
    /// use bevy_tightwire::prelude::*;
    ///
    /// #[derive(Component, Wire, Default)]
    /// struct Height(#[wire(min = 0.0, max = 100.0, resolution = 1.0)] f32);
    ///
    /// let mut app = App::new();
    /// app.add_plugins(TightwirePlugins::new("game", "1.0"));
    /// app.replicate::<Height>().interpolate_with(|a, b, part| Height(a.0 + part * (b.0 - a.0)));
    /// ```
    pub fn interpolate_with(self, between: fn(&C, &C, f32) -> C) -> Self {
        with_registry(self.app, |registrar| {
            if let Some(typed) = registrar.typed::<C>() {
                typed.between = Some(between);
            }
        });
        self.set(|settings| (settings.is_interpolated, settings.is_smooth) = (true, true))
    }
}

impl<C: NetComponent + Clone> Registration<'_, C> {
    /// Maps the entities in the component, which are its fields with `#[entities]`. A client writes
    /// the component once it has all of these entities.
    pub fn map_entities(self) -> Self {
        with_registry(self.app, |registrar| registrar.replace::<C, Mapped>(Mapped));
        self.set(|settings| settings.is_mapped = true)
    }
}

impl<G> Deref for Registration<'_, G> {
    type Target = App;

    fn deref(&self) -> &App {
        self.app
    }
}

impl<G> DerefMut for Registration<'_, G> {
    fn deref_mut(&mut self) -> &mut App {
        self.app
    }
}

impl<G> core::fmt::Debug for Registration<'_, G> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Registration").field("places", &self.places).finish_non_exhaustive()
    }
}
