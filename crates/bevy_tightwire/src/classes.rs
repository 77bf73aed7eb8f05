//! From components to snapshot classes.
//!
//! There is a class for each group, and one for entities without a group. An entity is one object.
//! The class of a group has the components of the group, and, with a presence mask, all other
//! components that such an entity may have. So spawn, relevancy, owner and prediction are those of
//! one object, and a change of several components is atomic.

use core::ops::Range;

use bevy_ecs::archetype::{Archetype, ArchetypeId};
use bevy_ecs::component::ComponentId;
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use std::collections::HashMap;
use tightwire::schema::Schema;
use tightwire::snapshot::{Config, LayoutError, Protocol, ProtocolError};
use tightwire::stream::{Binary, Condition, Field, Number, Op, Shape};

use crate::part::PartCells;
use crate::registry::{Audience, ColumnEntry, GroupEntry, Registry};

/// The classes of an app, and the components that they are made of.
#[derive(Resource)]
pub(crate) struct Replication {
    pub(crate) columns: Vec<ColumnEntry>,
    pub(crate) classes: Vec<Class>,
    pub(crate) protocol: Protocol,
    groups: Vec<GroupEntry>,
    claims: HashMap<ArchetypeId, Claim>,
    by_component: HashMap<ComponentId, usize>,
    /// Columns whose replication depends on a component, by the filters of their registrations.
    filtered: HashMap<ComponentId, Vec<usize>>,
}

/// A class of objects.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) name: String,
    pub(crate) schema: Schema,
    kind: Kind,
    /// Places of further cells, if the objects of the class are parts of entities.
    pub(crate) part: Option<PartCells>,
    /// Place of each component in the row, by its place in [`Replication::columns`]; `None` if
    /// objects of the class cannot have it.
    pub(crate) fields: Vec<Option<Place>>,
    /// Names of the fields of predicted components, and their tolerances; `None` for that of the
    /// client's configuration.
    pub(crate) predicted: Vec<(String, Option<u32>)>,
    /// One of the components is interpolated.
    pub(crate) is_interpolated: bool,
    /// A function of the game interpolates one of the components.
    pub(crate) is_smooth: bool,
    pub(crate) width: usize,
}

/// The objects of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Entities that have all components of a group.
    Group(usize),
    /// Entities without a group.
    Rest,
    /// A component with a scope of its own.
    Part(usize),
}

/// The place of a component in the rows of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) cells: Range<usize>,
    pub(crate) presence: Presence,
}

/// Tells whether an object has a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Presence {
    /// Every object of the class has the component.
    Always,
    /// A bit of a cell says whether the object has the component.
    Bit { cell: usize, bit: u32 },
}

impl Place {
    /// Returns the cells of the component in a row; `None` if the object does not have it.
    pub(crate) fn in_row<'r>(&self, row: &'r [u32]) -> Option<&'r [u32]> {
        if let Presence::Bit { cell, bit } = self.presence
            && row.get(cell)? & bit == 0
        {
            return None;
        }
        row.get(self.cells.clone())
    }
}

/// The class of the entities of an archetype, and the components of it that are replicated.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) class: u16,
    /// Places in [`Replication::columns`], in order.
    pub(crate) columns: Vec<usize>,
    /// Places of the components that are objects of their own.
    pub(crate) parts: Vec<usize>,
}

impl Replication {
    /// Makes the classes of everything that was registered.
    pub(crate) fn new(
        registry: &mut Registry,
        world: &mut World,
        config: Config,
    ) -> Result<Self, ProtocolError> {
        let mut columns = core::mem::take(&mut registry.columns);
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by_key(|&place| columns[place].name);
        let mut sorted_place = vec![0; columns.len()];
        for (sorted, &place) in order.iter().enumerate() {
            sorted_place[place] = sorted;
        }
        columns.sort_by_key(|entry| entry.name);
        let mut groups: Vec<_> = registry.groups.drain(..).collect();
        for group in &mut groups {
            for place in group.required.iter_mut().chain(&mut group.optional) {
                *place = sorted_place[*place];
            }
            for (of, base) in &mut group.derivatives {
                (*of, *base) = (sorted_place[*of], sorted_place[*base]);
            }
            group.required.sort_unstable();
            // Only the owner may learn whether the component is present.
            let is_for_all = |place: &usize| {
                columns[*place].settings.audience == Audience::All && columns[*place].part.is_none()
            };
            let (required, more) = group.required.iter().partition(|place| is_for_all(place));
            let more: Vec<usize> = more;
            group.required = required;
            if group.required.is_empty() {
                group.classless.clone_from(&more);
            }
            group.optional.extend(more);
        }
        // The group with the most components claims first.
        groups
            .sort_by(|a, b| (b.required.len(), a.members()).cmp(&(a.required.len(), b.members())));
        groups.dedup_by(|later, first| {
            let is_same = later.members() == first.members();
            if is_same {
                first.filters.merge(&mut later.filters);
                first.optional.append(&mut later.optional);
                first.derivatives.append(&mut later.derivatives);
            }
            is_same
        });

        let mut widths = Vec::new();
        for entry in &mut columns {
            widths.push(entry.column.prepare(world, config)?);
        }
        let names = field_names(&columns);
        let has_class = |group: &usize| !groups[*group].required.is_empty();
        let kinds = (0..groups.len()).filter(has_class).map(Some).chain([None]);
        let mut classes: Vec<_> =
            kinds.map(|group| Class::declare(&columns, &names, &groups, group)).collect();
        let axes = columns.iter().map(|entry| entry.column.position_axes()).max().unwrap_or(0);
        let parts = (0..columns.len()).filter(|&place| columns[place].part.is_some());
        classes.extend(parts.map(|place| Class::declare_part(&columns, &names, place, axes)));
        classes.sort_by(|a, b| a.name.cmp(&b.name));
        let mut builder = Protocol::builder(config);
        for class in &classes {
            builder = builder.class_of(&class.name, class.schema.clone());
        }
        let protocol = builder.build()?;
        for (index, class) in (0u16..).zip(&mut classes) {
            class.find_places(&protocol, index, &names, &widths)?;
            let of_class = columns.iter().zip(&class.fields).filter(|(_, place)| place.is_some());
            let settings = of_class.map(|(entry, _)| entry.settings);
            class.is_interpolated = settings.clone().any(|settings| settings.is_interpolated);
            class.is_smooth = settings.clone().any(|settings| settings.is_smooth);
        }
        let by_component =
            columns.iter().enumerate().map(|(place, entry)| (entry.component, place)).collect();
        let mut filtered: HashMap<_, Vec<usize>> = HashMap::new();
        for (place, entry) in columns.iter().enumerate() {
            for component in entry.filters.components() {
                filtered.entry(component).or_default().push(place);
            }
        }
        for group in &groups {
            for component in group.filters.components() {
                filtered.entry(component).or_default().extend(group.members());
            }
            // Without a class, which changes with the loss of a component, the others go one by one.
            for &place in &group.classless {
                let others = filtered.entry(columns[place].component).or_default();
                others.extend(&group.classless);
            }
        }
        let claims = HashMap::new();
        Ok(Self { columns, classes, protocol, groups, claims, by_component, filtered })
    }

    /// Returns the columns whose replication depends on a component.
    pub(crate) fn filtered_by(&self, component: ComponentId) -> &[usize] {
        self.filtered.get(&component).map_or(&[], Vec::as_slice)
    }

    /// Iterates over the components on which filters depend.
    pub(crate) fn deciding_components(&self) -> impl Iterator<Item = ComponentId> {
        self.filtered.keys().copied()
    }

    /// Returns the names of the fields of components.
    #[cfg(feature = "inspect")]
    pub(crate) fn names(&self) -> Vec<String> {
        field_names(&self.columns)
    }

    /// Returns whether a field is a presence mask or bookkeeping of a part, not a component.
    #[cfg(feature = "inspect")]
    pub(crate) fn is_mask(field: &str) -> bool {
        crate::part::is_part_field(field)
            || [Audience::All, Audience::Owner, Audience::Others].iter().any(|audience| {
                let number = field.strip_prefix(mask_name(*audience));
                number.is_some_and(|number| number.parse::<u8>().is_ok())
            })
    }

    /// Returns the place of a component; `None` if it is not registered.
    pub(crate) fn place_of(&self, component: ComponentId) -> Option<usize> {
        self.by_component.get(&component).copied()
    }

    /// Returns the class and the replicated components of the entities of an archetype.
    pub(crate) fn claim(&mut self, archetype: &Archetype) -> &Claim {
        let Self { columns, classes, groups, claims, .. } = self;
        claims.entry(archetype.id()).or_insert_with(|| {
            let has = |place: &usize| archetype.contains(columns[*place].component);
            let is_complete = |group: &GroupEntry| {
                group.members().iter().all(has) && group.filters.pass(archetype)
            };
            let complete: Vec<_> =
                (0..groups.len()).filter(|&group| is_complete(&groups[group])).collect();
            let group = complete.iter().copied().find(|&group| !groups[group].required.is_empty());
            let kind = group.map_or(Kind::Rest, Kind::Group);
            let class = classes.iter().position(|class| class.kind == kind).unwrap_or(0);
            let is_sent = |place: &usize| {
                let of_group = |&group: &usize| {
                    let GroupEntry { required, optional, .. } = &groups[group];
                    required.contains(place) || optional.contains(place)
                };
                has(place)
                    && (classes[class].fields[*place].is_some() || columns[*place].part.is_some())
                    && (columns[*place].settings.is_loose
                        && columns[*place].filters.pass(archetype)
                        || complete.iter().any(of_group))
            };
            let sent = (0..columns.len()).filter(is_sent);
            let (parts, columns) = sent.partition(|&place| columns[place].part.is_some());
            Claim { class: class as u16, columns, parts }
        })
    }

    /// Returns the class of a component with a scope of its own, and its index.
    pub(crate) fn part_class(&self, column: usize) -> Option<(u16, &Class)> {
        let mut classes = (0u16..).zip(&self.classes);
        classes.find(|(_, class)| class.kind == Kind::Part(column))
    }
}

impl Class {
    /// Declares the class of a group, or with `None` that of entities without a group.
    fn declare(
        columns: &[ColumnEntry],
        names: &[String],
        groups: &[GroupEntry],
        group: Option<usize>,
    ) -> Self {
        let required = group.map_or(&[][..], |group| &groups[group].required);
        let is_optional = |place: usize| {
            if required.contains(&place) || columns[place].part.is_some() {
                return false;
            }
            if columns[place].settings.is_loose {
                return true;
            }
            // Entities can have the components of several groups that share none.
            groups.iter().enumerate().any(|(other, entry)| {
                let is_own = Some(other) == group;
                let is_beside = (group.is_some() || entry.required.is_empty())
                    && !entry.required.iter().any(|place| required.contains(place));
                is_own && entry.optional.contains(&place)
                    || is_beside
                        && (entry.required.contains(&place) || entry.optional.contains(&place))
            })
        };
        let mut fields = Vec::new();
        for audience in [Audience::All, Audience::Owner, Audience::Others] {
            let is_it = |place: &usize| {
                is_optional(*place) && columns[*place].settings.audience == audience
            };
            let places: Vec<_> = (0..columns.len()).filter(is_it).collect();
            for (number, places) in places.chunks(MASK_BITS).enumerate() {
                let mask = format!("{}{number}", mask_name(audience));
                let shape = Shape::Op(Op::Bits { width: places.len() as u32 });
                fields.push(field(&mask, shape, audience));
                for (bit, &place) in places.iter().enumerate() {
                    let shape = columns[place].column.shape();
                    let mut field = field(&names[place], shape, audience);
                    field.when = Some(is_set(&mask, 1 << bit));
                    fields.push(field);
                }
            }
        }
        let derivatives = group.map_or(&[][..], |group| &groups[group].derivatives);
        for &place in required {
            let mut field = field(&names[place], columns[place].column.shape(), Audience::All);
            let base =
                derivatives.iter().find(|(of, base)| *of == place && required.contains(base));
            field.hints.derivative_of = base.map(|&(_, base)| names[base].as_str().into());
            fields.push(field);
        }
        let of_group: Vec<_> = required.iter().map(|&place| names[place].as_str()).collect();
        let name = if of_group.is_empty() { REST.to_string() } else { of_group.join("+") };
        let predicted = (0..columns.len())
            .filter(|&place| columns[place].settings.is_predicted)
            .filter(|&place| required.contains(&place) || is_optional(place))
            .map(|place| (names[place].clone(), columns[place].settings.tolerance()))
            .collect();
        let kind = group.map_or(Kind::Rest, Kind::Group);
        Self { predicted, ..Self::new(name, kind, fields, columns.len()) }
    }

    /// Declares the class of a component with a scope of its own. `axes` is the number of components
    /// of positions.
    fn declare_part(columns: &[ColumnEntry], names: &[String], place: usize, axes: usize) -> Self {
        let mut fields = PartCells::fields(axes);
        fields.push(field(&names[place], columns[place].column.shape(), Audience::All));
        let name = format!("{PART}{}", names[place]);
        Self::new(name, Kind::Part(place), fields, columns.len())
    }

    fn new(name: String, kind: Kind, fields: Vec<Field>, columns: usize) -> Self {
        let shape = Shape::Struct { name: name.as_str().into(), fields };
        let schema = Schema::new(shape).unwrap_or_default();
        let fields = vec![None; columns];
        let (predicted, part) = (Vec::new(), None);
        let (is_interpolated, is_smooth) = (false, false);
        Self { name, schema, kind, part, fields, predicted, is_interpolated, is_smooth, width: 0 }
    }

    /// Finds the cells of each component.
    fn find_places(
        &mut self,
        protocol: &Protocol,
        index: u16,
        names: &[String],
        widths: &[usize],
    ) -> Result<(), ProtocolError> {
        self.width = protocol.columns(index);
        if let Kind::Part(_) = self.kind {
            self.part = PartCells::find(protocol, index);
        }
        let Shape::Struct { fields, .. } = self.schema.root() else { return Ok(()) };
        let mut mask = 0;
        let mut bit = 0;
        for field in fields {
            let cells = protocol.field_columns(index, &field.name).unwrap_or(0..0);
            let Some(place) = names.iter().position(|name| **name == *field.name) else {
                (mask, bit) = (cells.start, 1u32);
                continue;
            };
            if cells.len() != widths[place] {
                let (path, reason) = (field.name.to_string(), "it has another layout in a class");
                let error = LayoutError { path, reason: reason.into() };
                return Err(ProtocolError::Layout { class: self.name.clone(), error });
            }
            let presence = match field.when {
                Some(_) => Presence::Bit { cell: mask, bit },
                None => Presence::Always,
            };
            bit = bit.wrapping_shl(1);
            self.fields[place] = Some(Place { cells, presence });
        }
        Ok(())
    }
}

/// Number of components whose presence is in one cell.
const MASK_BITS: usize = 32;

/// Name of the class of entities that have no whole group.
const REST: &str = "rest";

/// Beginning of the name of the class of a component with a scope of its own.
const PART: &str = "part ";

fn mask_name(audience: Audience) -> &'static str {
    match audience {
        Audience::All => "has",
        Audience::Owner => "owner_has",
        Audience::Others => "others_have",
    }
}

fn field(name: &str, shape: Shape, audience: Audience) -> Field {
    let mut field = Field::new(name, shape);
    field.hints.owner = audience == Audience::Owner;
    field.hints.others = audience == Audience::Others;
    field
}

/// The condition that a bit of a mask is set.
pub(crate) fn is_set(mask: &str, bit: u64) -> Condition {
    let bits = [Condition::Field(vec![mask.into()]), number(bit)];
    let common = Condition::Binary(Binary::BitAnd, Box::new(bits));
    Condition::Binary(Binary::NotEqual, Box::new([common, number(0)]))
}

fn number(number: u64) -> Condition {
    Condition::Number(Number::Unsigned(number.into()))
}

/// Returns the names of the fields of components: short, unless two types have the same.
fn field_names(columns: &[ColumnEntry]) -> Vec<String> {
    let short = |name: &'static str| match name.contains('<') {
        true => name,
        false => name.rsplit("::").next().unwrap_or(name),
    };
    let name = |entry: &ColumnEntry| {
        let alike = columns.iter().filter(|other| short(other.name) == short(entry.name));
        if alike.count() > 1 { entry.name } else { short(entry.name) }.to_string()
    };
    columns.iter().map(name).collect()
}
