//! Components with a scope of their own: each is an object beside that of its entity, since
//! relevancy is a question about objects.

use core::marker::PhantomData;
use core::ops::Range;

use bevy_app::App;
use bevy_ecs::component::Component;
use bevy_ecs::lifecycle::{Insert, Remove};
use bevy_ecs::observer::On;
use bevy_ecs::prelude::ResMut;
use bevy_ecs::world::EntityRef;
use tightwire::snapshot::{Protocol, Scope};
use tightwire::stream::{Field, Number, Op, Shape};
use tightwire::{FloatRange, ObjectId};

use crate::classes::is_set;
use crate::server::Collector;

/// The clients to which a component of an entity is relevant, on that entity: instead of the scope
/// of its [registration](crate::Registration::scope).
///
/// ```
/// use bevy_app::App;
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
///
/// #[derive(Component, Wire, Default)]
/// struct Orders(u8);
///
/// fn betray(spies: Query<Entity, With<Orders>>, mut commands: Commands) {
///     for spy in &spies {
///         commands.entity(spy).insert(NetScopeOf::<Orders>::new(Scope::Always));
///     }
/// }
///
/// let mut app = App::new();
/// app.add_plugins(TightwirePlugins::new("game", "1.0"));
/// app.replicate::<Orders>().scope(Scope::Team(TeamId(1)));
/// # bevy_ecs::system::assert_is_system(betray);
/// ```
#[derive(Component)]
#[component(immutable)]
pub struct NetScopeOf<C: Component> {
    scope: Scope,
    typed: PhantomData<fn() -> C>,
}

impl<C: Component> NetScopeOf<C> {
    /// Creates the scope of the component `C`.
    #[must_use]
    pub fn new(scope: Scope) -> Self {
        Self { scope, typed: PhantomData }
    }

    /// Returns the scope.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }
}

impl<C: Component> core::fmt::Debug for NetScopeOf<C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("NetScopeOf").field(&self.scope).finish()
    }
}

/// The scope of a component, which is a part of its entities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartScope {
    /// The scope where the entity has none for the component.
    default: Scope,
    of: fn(EntityRef<'_>) -> Option<Scope>,
}

impl PartScope {
    pub(crate) fn new<C: Component>(default: Scope) -> Self {
        Self { default, of: |entity| entity.get::<NetScopeOf<C>>().map(NetScopeOf::scope) }
    }

    pub(crate) fn of(self, entity: EntityRef<'_>) -> Scope {
        (self.of)(entity).unwrap_or(self.default)
    }
}

/// Notes the entities whose [`NetScopeOf`] a component changes.
pub(crate) fn observe_scopes<C: Component>(app: &mut App) {
    app.add_observer(
        |inserted: On<'_, '_, Insert, NetScopeOf<C>>, mut all: ResMut<'_, Collector>| {
            all.handle_scope(inserted.entity);
        },
    );
    app.add_observer(
        |removed: On<'_, '_, Remove, NetScopeOf<C>>, mut all: ResMut<'_, Collector>| {
            all.handle_scope(removed.entity);
        },
    );
}

/// Places of the cells of a part that are not those of its component.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PartCells {
    /// The object of the entity.
    of: usize,
    /// Columns of the flag "has a position" and of the position; `None` if no component of the app has one.
    position: Option<(usize, Range<usize>)>,
}

impl PartCells {
    /// Returns the fields of a part before its component. `axes` is the number of components of the
    /// app's positions; 0 if there are none.
    ///
    /// The position is that of the entity, for scopes of distance. It is a field for the owner of a
    /// part, and a part that is near has none: nobody gets it.
    pub(crate) fn fields(axes: usize) -> Vec<Field> {
        let (min, max) = (Number::Unsigned(0), Number::Unsigned(u128::from(u32::MAX >> 12)));
        let mut fields = vec![Field::new(OF, Shape::Op(Op::Int { min, max }))];
        if axes > 0 {
            let range = FloatRange::new(-REACH, REACH, STEP);
            let mut near = Field::new(NEAR, Shape::Op(Op::Bits { width: 1 }));
            let vector = Shape::Op(Op::CompressedVector { dimensions: axes, range });
            let mut at = Field::new(AT, vector);
            at.when = Some(is_set(NEAR, 1));
            at.hints.spatial = true;
            (near.hints.owner, at.hints.owner) = (true, true);
            fields.extend([near, at]);
        }
        fields
    }

    /// Finds the cells in a class; `None` if it is not that of a part.
    pub(crate) fn find(protocol: &Protocol, class: u16) -> Option<Self> {
        let columns = |name| protocol.field_columns(class, name);
        let position = columns(NEAR).zip(columns(AT)).map(|(near, at)| (near.start, at));
        Some(Self { of: columns(OF)?.start, position })
    }

    /// Returns the object of the part's entity.
    pub(crate) fn owner(&self, cells: &[u32]) -> Option<ObjectId> {
        cells.get(self.of).copied().map(ObjectId)
    }

    pub(crate) fn set_owner(&self, cells: &mut [u32], id: ObjectId) {
        if let Some(cell) = cells.get_mut(self.of) {
            *cell = id.0;
        }
    }

    /// Calls `put` with the cells of a position; with `None`, that there is none.
    pub(crate) fn put_position(
        &self,
        position: Option<[f32; 3]>,
        mut put: impl FnMut(Range<usize>, &[u32]),
    ) {
        let Some((near, at)) = &self.position else { return };
        let code = |axis: f32| ((axis.clamp(-REACH, REACH) + REACH) / STEP).round() as u32;
        let cells = position.map_or([0; 3], |position| position.map(code));
        put(*near..near + 1, &[u32::from(position.is_some())]);
        put(at.clone(), cells.get(..at.len()).unwrap_or(&[]));
    }
}

/// Names of the fields of a part.
const OF: &str = "of";
const NEAR: &str = "near";
const AT: &str = "at";

/// Returns whether a field belongs to the bookkeeping of a part, not to a component.
#[cfg(feature = "inspect")]
pub(crate) fn is_part_field(field: &str) -> bool {
    [OF, NEAR, AT].contains(&field)
}

/// Range and resolution of a position, of which only distances matter.
const REACH: f32 = 65536.0;
const STEP: f32 = 1.0 / 64.0;
