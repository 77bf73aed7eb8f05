//! Registrations of the plugins of an app, until the app is complete.

use core::any::{TypeId, type_name};

use bevy_ecs::archetype::Archetype;
use bevy_ecs::component::{Component, ComponentId};
use bevy_ecs::query::{ArchetypeFilter, FilteredAccess};
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use std::sync::Arc;

use crate::codec::{Codec, Derived};
use crate::column::{Column, ColumnOf, TypedSettings};
use crate::component::{NetComponent, Registrar, WriteMode};
use crate::history::{History, LocalState};
use crate::input::{InputKit, NoInput};
use crate::message::Channel;
use crate::part::PartScope;

/// The registered components, messages and input. The order of registrations does not matter.
#[derive(Resource)]
pub(crate) struct Registry {
    pub(crate) columns: Vec<ColumnEntry>,
    pub(crate) groups: Vec<GroupEntry>,
    pub(crate) local_state: Vec<Box<dyn LocalState>>,
    pub(crate) channels: Vec<Box<dyn Channel>>,
    pub(crate) input: Box<dyn InputKit>,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            columns: Vec::new(),
            groups: Vec::new(),
            local_state: Vec::new(),
            channels: Vec::new(),
            input: Box::new(NoInput),
        }
    }
}

/// A registered component.
pub(crate) struct ColumnEntry {
    pub(crate) column: Box<dyn Column>,
    pub(crate) type_id: TypeId,
    pub(crate) component: ComponentId,
    /// Path of the type.
    pub(crate) name: &'static str,
    pub(crate) settings: ColumnSettings,
    /// Filters of the registration of this component alone.
    pub(crate) filters: Filters,
    /// Scope of the component; `None` if it has that of its entity.
    pub(crate) part: Option<PartScope>,
}

/// Settings of a registered component.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ColumnSettings {
    /// The component is replicated on any entity, and not only with the rest of a group.
    pub(crate) is_loose: bool,
    pub(crate) audience: Audience,
    pub(crate) is_predicted: bool,
    pub(crate) is_interpolated: bool,
    /// Only the value at its insertion is replicated.
    pub(crate) is_once: bool,
    /// The component names other entities.
    pub(crate) is_mapped: bool,
    /// A function of the game interpolates the component.
    pub(crate) is_smooth: bool,
    /// The side that simulates the component rounds it to the resolution of the wire form.
    pub(crate) is_rounded: bool,
    /// Difference, in codes, up to which the component counts as predicted correctly; `None` for
    /// that of the client's configuration.
    pub(crate) tolerance: Option<u32>,
}

impl ColumnSettings {
    /// The tolerance of predictions; `None` for that of the client's configuration.
    pub(crate) fn tolerance(self) -> Option<u32> {
        // If both sides round, only noise of the computation is left.
        self.tolerance.or(self.is_rounded.then_some(1))
    }
}

/// The clients that get a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Audience {
    #[default]
    All,
    Owner,
    Others,
}

/// A group of components, by their places in the registry.
#[derive(Clone, Debug)]
pub(crate) struct GroupEntry {
    /// Components that every object of the group's class has. If there are none, since all are for
    /// some clients only, the group has no class of its own.
    pub(crate) required: Vec<usize>,
    /// All components of a group without a class.
    pub(crate) classless: Vec<usize>,
    pub(crate) optional: Vec<usize>,
    /// Components that are the rate of change of another component of the group.
    pub(crate) derivatives: Vec<(usize, usize)>,
    pub(crate) filters: Filters,
}

impl GroupEntry {
    /// The components that an entity of the group has.
    pub(crate) fn members(&self) -> &[usize] {
        if self.required.is_empty() { &self.classless } else { &self.required }
    }
}

/// Filters of a registration. Entities that pass one of them are replicated; all, if there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters(Vec<Arc<Filter>>);

impl Filters {
    pub(crate) fn push(&mut self, filter: Filter) {
        self.0.push(Arc::new(filter));
    }

    /// Adds the filters of another registration of the same components.
    pub(crate) fn merge(&mut self, other: &mut Self) {
        match self.0.is_empty() || other.0.is_empty() {
            true => self.0.clear(),
            false => self.0.append(&mut other.0),
        }
    }

    pub(crate) fn pass(&self, archetype: &Archetype) -> bool {
        let contains = |component| archetype.contains(component);
        self.0.is_empty() || self.0.iter().any(|filter| (filter.passes)(&contains))
    }

    /// Iterates over the components that decide.
    pub(crate) fn components(&self) -> impl Iterator<Item = ComponentId> {
        self.0.iter().flat_map(|filter| filter.components.iter().copied())
    }
}

/// Whether an archetype passes, given the components that it contains.
type Passes = dyn Fn(&dyn Fn(ComponentId) -> bool) -> bool + Send + Sync;

/// A filter of archetypes.
pub(crate) struct Filter {
    passes: Box<Passes>,
    /// Components that decide.
    components: Vec<ComponentId>,
}

impl Filter {
    pub(crate) fn new<F: ArchetypeFilter + 'static>(world: &mut World) -> Self {
        let state = F::init_state(world);
        let mut access = FilteredAccess::default();
        F::update_component_access(&state, &mut access);
        let components = access.with_filters().chain(access.without_filters()).collect();
        let passes = Box::new(move |contains: &dyn Fn(ComponentId) -> bool| {
            F::matches_component_set(&state, &|component| contains(component))
        });
        Self { passes, components }
    }
}

impl core::fmt::Debug for Filter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Filter").field("components", &self.components).finish_non_exhaustive()
    }
}

impl Registrar<'_> {
    /// Adds a component by a codec, and returns its place; if it was added before, the codec is
    /// that of the first registration.
    pub(crate) fn add<C, K>(&mut self, codec: K) -> usize
    where
        C: Component<Mutability: WriteMode<C>>,
        K: Codec<C>,
    {
        let type_id = TypeId::of::<C>();
        let columns = &mut self.registry.columns;
        if let Some(place) = columns.iter().position(|entry| entry.type_id == type_id) {
            return place;
        }
        columns.push(ColumnEntry {
            column: Box::new(ColumnOf::<C, K>::new(codec)),
            type_id,
            component: self.components.register_component::<C>(),
            name: type_name::<C>(),
            settings: ColumnSettings::default(),
            filters: Filters::default(),
            part: None,
        });
        columns.len() - 1
    }

    pub(crate) fn add_derived<C: NetComponent>(&mut self) -> usize {
        self.add::<C, Derived>(Derived)
    }

    /// Replaces the codec of a component.
    pub(crate) fn replace<C, K>(&mut self, codec: K)
    where
        C: Component<Mutability: WriteMode<C>>,
        K: Codec<C>,
    {
        let mut column = ColumnOf::<C, K>::new(codec);
        if let Some(typed) = self.typed::<C>() {
            column.typed = core::mem::take(typed);
        }
        if let Some(entry) = self.entry::<C>() {
            entry.column = Box::new(column);
        }
    }

    pub(crate) fn entry<C: Component>(&mut self) -> Option<&mut ColumnEntry> {
        let type_id = TypeId::of::<C>();
        self.registry.columns.iter_mut().find(|entry| entry.type_id == type_id)
    }

    /// Returns the settings of a component that depend on its type.
    pub(crate) fn typed<C: Component>(&mut self) -> Option<&mut TypedSettings<C>> {
        self.entry::<C>()?.column.as_any().downcast_mut()
    }

    pub(crate) fn keep_history<C>(&mut self)
    where
        C: Component<Mutability: WriteMode<C>> + Clone,
    {
        if let Some(typed) = self.typed::<C>() {
            typed.history = Some(History::new(C::clone));
        }
        if let Some(entry) = self.entry::<C>() {
            entry.settings.is_predicted = true;
        }
    }
}

impl core::fmt::Debug for Registry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names = self.columns.iter().map(|entry| entry.name);
        f.debug_list().entries(names).finish()
    }
}
