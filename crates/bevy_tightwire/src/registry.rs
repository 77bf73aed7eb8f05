//! Registrations of the plugins of an app, until the app is complete.

use core::any::{TypeId, type_name};

use bevy_ecs::component::{Component, ComponentId};
use bevy_ecs::resource::Resource;

use crate::codec::{Codec, Derived};
use crate::column::{Column, ColumnOf};
use crate::component::{NetComponent, Registrar, WriteMode};
use crate::history::{History, LocalState};
use crate::input::{InputKit, NoInput};
use crate::message::Channel;

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
    pub(crate) required: Vec<usize>,
    pub(crate) optional: Vec<usize>,
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
        let type_id = TypeId::of::<C>();
        let entry = self.registry.columns.iter_mut().find(|entry| entry.type_id == type_id);
        if let Some(entry) = entry {
            entry.column = Box::new(ColumnOf::<C, K>::new(codec));
        }
    }

    pub(crate) fn keep_history<C>(&mut self)
    where
        C: Component<Mutability: WriteMode<C>> + Clone,
    {
        let type_id = TypeId::of::<C>();
        let entry = self.registry.columns.iter_mut().find(|entry| entry.type_id == type_id);
        if let Some(entry) = entry {
            entry.settings.is_predicted = true;
            if let Some(history) = entry.column.as_any().downcast_mut::<Option<History<C>>>() {
                *history = Some(History::new(C::clone));
            }
        }
    }
}

impl core::fmt::Debug for Registry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names = self.columns.iter().map(|entry| entry.name);
        f.debug_list().entries(names).finish()
    }
}
