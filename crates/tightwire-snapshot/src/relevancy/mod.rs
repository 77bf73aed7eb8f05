//! Relevancy: which objects each receiver gets, by the scopes of objects.
//!
//! A receiver costs what is near it and in its rooms, not what exists: objects are found by room,
//! team, or square of a grid whose squares are as large as the radius. `always` and `custom`
//! objects are bits, 64 in a word.

mod grid;
mod parents;
mod receiver_relevancy;
mod scope;
#[cfg(test)]
mod tests;

pub(super) use receiver_relevancy::ReceiverRelevancy;
pub use scope::{RelevancyConfig, RoomId, Scope, TeamId};

use alloc::vec;
use alloc::vec::Vec;

use super::slot_set::SlotSet;
use super::store::{ChangeCursor, Store};
use super::view::View;
use super::{Protocol, Row};
use grid::{Grid, Key};
use parents::Parents;

/// Scopes and weights of all objects, and where they are.
#[derive(Debug)]
pub(super) struct Relevancy {
    config: RelevancyConfig,
    /// No class has a position of three components: the third one is ignored.
    is_flat: bool,
    /// Some scope was set to another than `Always`.
    has_scopes: bool,
    /// Some weight was set to another than 1.
    has_weights: bool,
    classes: Vec<ClassScope>,
    /// Scopes and weights of their own, by slot.
    objects: Vec<ObjectScope>,
    parents: Parents,
    always: SlotSet,
    custom: SlotSet,
    grid: Grid,
    /// End of the changes that are in the sets and the grid; `None` if they have to be built.
    cursor: Option<ChangeCursor>,
}

#[derive(Clone, Copy, Debug)]
struct ClassScope {
    scope: Scope,
    weight: u8,
}

/// Scope and weight of one object; `None` if they are those of its class.
#[derive(Clone, Copy, Debug, Default)]
struct ObjectScope {
    scope: Option<Scope>,
    weight: Option<u8>,
}

/// Factor of the weight of an object without a position or viewer: that of half the radius.
const MIDDLE: u32 = 64;

impl Relevancy {
    pub(super) fn new(protocol: &Protocol) -> Self {
        let spatial = |class| protocol.groups(class).find(|group| group.is_spatial);
        let classes = protocol.classes().len();
        let is_flat = (0..classes as u16).filter_map(spatial).all(|group| group.columns.len() < 3);
        Self {
            config: RelevancyConfig::default(),
            is_flat,
            has_scopes: false,
            has_weights: false,
            classes: vec![ClassScope { scope: Scope::Always, weight: 1 }; classes],
            objects: Vec::new(),
            parents: Parents::default(),
            always: SlotSet::default(),
            custom: SlotSet::default(),
            grid: Grid::new(),
            cursor: None,
        }
    }

    pub(super) fn set_config(&mut self, config: RelevancyConfig) {
        self.config = config.clamped();
        self.cursor = None;
    }

    /// Sets the scope of a class; returns whether there is such a class.
    pub(super) fn set_class_scope(&mut self, class: u16, scope: Scope) -> bool {
        let Some(of_class) = self.classes.get_mut(usize::from(class)) else { return false };
        of_class.scope = scope;
        self.has_scopes |= scope != Scope::Always;
        self.cursor = None;
        true
    }

    /// Sets the weight of a class; returns whether there is such a class.
    pub(super) fn set_class_weight(&mut self, class: u16, weight: u8) -> bool {
        let Some(of_class) = self.classes.get_mut(usize::from(class)) else { return false };
        of_class.weight = weight;
        self.has_weights |= weight != 1;
        true
    }

    pub(super) fn set_scope(
        &mut self,
        protocol: &Protocol,
        store: &Store,
        slot: u32,
        scope: Scope,
    ) {
        self.has_scopes |= scope != Scope::Always;
        self.object(slot).scope = Some(scope);
        self.place(protocol, store, slot);
    }

    pub(super) fn set_weight(&mut self, slot: u32, weight: u8) {
        self.has_weights |= weight != 1;
        self.object(slot).weight = Some(weight);
    }

    pub(super) fn set_parent(&mut self, slot: u32, parent: Option<u32>) {
        self.parents.set(slot, parent);
    }

    /// Forgets the scope, the weight and the parent of an object that despawned.
    pub(super) fn clear(&mut self, slot: u32) {
        self.parents.clear(slot);
        if let Some(object) = self.objects.get_mut(slot as usize) {
            *object = ObjectScope::default();
        }
    }

    pub(super) fn has_scopes(&self) -> bool {
        self.has_scopes
    }

    /// Whether the object's relevancy is decided by the application's function.
    pub(super) fn is_custom(&self, slot: u32) -> bool {
        !self.has_scopes || self.custom.contains(slot)
    }

    /// Returns the weight of an object that the application's function gave `factor`.
    pub(super) fn weighted(&self, slot: u32, class: u16, factor: u32) -> u32 {
        if !self.has_weights {
            return factor;
        }
        let own = self.objects.get(slot as usize).and_then(|object| object.weight);
        let of_class = self.classes.get(usize::from(class)).map_or(1, |class| class.weight);
        factor.saturating_mul(own.unwrap_or(of_class).into())
    }

    /// Returns the factor of an object for a receiver, 1 to 256, by its distance.
    pub(super) fn factor(&self, protocol: &Protocol, view: &View, slot: u32, row: Row<'_>) -> u32 {
        if !self.has_scopes {
            return 1;
        }
        if view.receiver_relevancy.viewpoints.is_empty() {
            return MIDDLE;
        }
        // The grid has the positions of objects with the scope `Near`.
        let position = match self.grid.key(slot) {
            Some(Key::Square { .. }) => Some(self.grid.position(slot)),
            _ => protocol.position(row),
        };
        let Some(position) = position else { return MIDDLE };
        let share =
            libm::sqrtf(view.receiver_relevancy.distance_squared(position)) / self.config.radius;
        let closeness = (1.0 - share).max(0.0);
        1 + (255.0 * closeness * closeness) as u32
    }

    /// Finds the objects that are relevant to a receiver, in sets and a grid that are up to date.
    /// Objects that became relevant, or ceased to be, are dirty. `visible` is memory for them.
    pub(super) fn update_receiver(
        &self,
        protocol: &Protocol,
        store: &Store,
        view: &mut View,
        visible: &mut SlotSet,
    ) {
        if !self.has_scopes {
            return;
        }
        let receiver_relevancy = &mut view.receiver_relevancy;
        receiver_relevancy.near.resize(store.slots());
        receiver_relevancy.visible.resize(store.slots());
        let owned = store.owners.of(view.receiver);
        if receiver_relevancy.is_due(store.tick, view.receiver.place, self.config.refresh_interval)
        {
            self.find_viewers(protocol, store, receiver_relevancy, owned);
            self.find_near(receiver_relevancy);
            receiver_relevancy.refreshed = Some(store.tick);
        }
        visible.resize(store.slots());
        for (place, word) in visible.words_mut().iter_mut().enumerate() {
            *word = self.always.word(place)
                | self.custom.word(place)
                | receiver_relevancy.near.word(place);
        }
        let mut add = |slot, _| {
            visible.set(slot, true);
        };
        let rooms = receiver_relevancy.rooms.iter().map(|room| Key::Room(room.0));
        let keys = rooms.chain(receiver_relevancy.team.map(|team| Key::Team(team.0)));
        let examined = keys.map(|key| self.grid.for_each(key, &mut add)).sum();
        receiver_relevancy.count(examined);
        for &slot in owned {
            visible.set(slot, true);
        }
        self.parents.hide(visible, owned);
        if !core::mem::replace(&mut receiver_relevancy.is_active, true) {
            // All objects were relevant until now.
            store.iter().for_each(|(_, slot)| view.set_dirty(slot, true));
        }
        let before = view.receiver_relevancy.visible.words_mut();
        for ((dirty, before), now) in view.dirty.iter_mut().zip(before).zip(visible.words()) {
            *dirty |= *before ^ now;
            *before = *now;
        }
    }

    /// Brings sets and grid up to date: applies the changes of objects since the last call.
    pub(super) fn update(&mut self, protocol: &Protocol, store: &Store) {
        if !self.has_scopes {
            return;
        }
        self.always.resize(store.slots());
        self.custom.resize(store.slots());
        match self.cursor.and_then(|cursor| store.changed_since(cursor)) {
            Some((slots, _)) => slots.for_each(|slot| self.place(protocol, store, slot)),
            None => {
                self.always.clear();
                self.custom.clear();
                self.grid.clear();
                store.iter().for_each(|(_, slot)| self.place(protocol, store, slot));
            }
        }
        self.cursor = Some(store.change_cursor());
        self.parents.update(&self.always);
    }

    /// Puts an object where its scope and its current state say.
    fn place(&mut self, protocol: &Protocol, store: &Store, slot: u32) {
        let state = store.newest(slot);
        let row = state.and_then(|state| Some(Row { class: state.class, cells: state.cells? }));
        let scope = row.and_then(|row| {
            let own = self.objects.get(slot as usize).and_then(|object| object.scope);
            own.or_else(|| self.classes.get(usize::from(row.class)).map(|class| class.scope))
        });
        let square = |room: Option<RoomId>| {
            let position = protocol.position(row?)?;
            let square = self.square(position);
            Some((Key::Square { room: room.map(|room| room.0), square }, position))
        };
        let entry = match scope {
            Some(Scope::Room(RoomId(room))) => Some((Key::Room(room), [0.0; 3])),
            Some(Scope::Team(TeamId(team))) => Some((Key::Team(team), [0.0; 3])),
            Some(Scope::Near) => square(None),
            Some(Scope::NearInRoom(room)) => square(Some(room)),
            Some(Scope::Always | Scope::Custom | Scope::Owner) | None => None,
        };
        self.always.resize(store.slots());
        self.custom.resize(store.slots());
        self.always.set(slot, scope == Some(Scope::Always));
        self.custom.set(slot, scope == Some(Scope::Custom));
        let (key, position) = entry.unzip();
        self.grid.place(slot, key, position.unwrap_or_default());
    }

    fn find_viewers(
        &self,
        protocol: &Protocol,
        store: &Store,
        receiver_relevancy: &mut ReceiverRelevancy,
        owned: &[u32],
    ) {
        receiver_relevancy.viewpoints.clear();
        if receiver_relevancy.viewers.is_empty() {
            receiver_relevancy.viewpoints.extend(owned.iter().filter_map(|&slot| {
                let state = store.newest(slot)?;
                protocol.position(Row { class: state.class, cells: state.cells? })
            }));
        } else {
            receiver_relevancy.viewpoints.extend_from_slice(&receiver_relevancy.viewers);
        }
        if self.is_flat {
            receiver_relevancy.viewpoints.iter_mut().for_each(|viewpoint| viewpoint[2] = 0.0);
        }
    }

    /// Finds the objects within the distance: those that were near and have not left, and those in
    /// the squares around each viewer.
    fn find_near(&self, receiver_relevancy: &mut ReceiverRelevancy) {
        let RelevancyConfig { radius, leave_factor, .. } = self.config;
        let leave = radius * leave_factor;
        let mut list = core::mem::take(&mut receiver_relevancy.scratch);
        list.clear();
        receiver_relevancy.count(receiver_relevancy.near_list.len());
        for place in 0..receiver_relevancy.near_list.len() {
            let slot = receiver_relevancy.near_list[place];
            let is_in_room = match self.grid.key(slot) {
                Some(Key::Square { room: Some(room), .. }) => {
                    receiver_relevancy.rooms.contains(&RoomId(room))
                }
                Some(Key::Square { room: None, .. }) => true,
                _ => false,
            };
            if !receiver_relevancy.near.contains(slot) {
                continue;
            }
            let distance = receiver_relevancy.distance_squared(self.grid.position(slot));
            if is_in_room && distance <= leave * leave {
                list.push(slot);
            } else {
                receiver_relevancy.near.set(slot, false);
            }
        }
        let mut examined = 0;
        let reach = if self.is_flat { 0..=0 } else { -1..=1 };
        for viewpoint in &receiver_relevancy.viewpoints {
            let centre = self.square(*viewpoint);
            let rooms = receiver_relevancy.rooms.iter().map(|room| Some(room.0));
            for room in core::iter::once(None).chain(rooms) {
                for x in -1..=1 {
                    for y in -1..=1 {
                        for z in reach.clone() {
                            let step = [x, y, z];
                            let square =
                                [0, 1, 2].map(|axis| centre[axis].wrapping_add(step[axis]));
                            examined +=
                                self.grid.for_each(Key::Square { room, square }, |slot, at| {
                                    let [x, y, z] =
                                        [0, 1, 2].map(|axis| at[axis] - viewpoint[axis]);
                                    if x * x + y * y + z * z <= radius * radius
                                        && !receiver_relevancy.near.set(slot, true)
                                    {
                                        list.push(slot);
                                    }
                                });
                        }
                    }
                }
            }
        }
        receiver_relevancy.count(examined);
        receiver_relevancy.scratch = core::mem::replace(&mut receiver_relevancy.near_list, list);
    }

    fn square(&self, position: [f32; 3]) -> [i32; 3] {
        // The squares are a little larger than the radius: rounding must not put an object at that
        // distance behind the next square. The cast saturates, and NaN becomes 0.
        let side = self.config.radius * 1.0001;
        position.map(|component| libm::floorf(component / side) as i32)
    }

    fn object(&mut self, slot: u32) -> &mut ObjectScope {
        let place = slot as usize;
        if self.objects.len() <= place {
            self.objects.resize(place + 1, ObjectScope::default());
        }
        &mut self.objects[place]
    }
}
