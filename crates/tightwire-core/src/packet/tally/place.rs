//! The fields of a layout that packets had, with their counts and sizes.

use alloc::string::String;
use alloc::vec::Vec;

use super::kind::KindBy;
use crate::stream::{Shape, Value, printable};

/// A field of the layout, or a group of fields, with its count and size in a
/// [`Tally`](crate::packet::Tally).
///
/// ```
/// # use tightwire::packet::{Identity, Protection, Tally};
/// # use tightwire::schema::Schema;
/// let identity = Identity::new("arena", "1.0", Protection::None, Schema::of::<[u8; 3]>());
/// let mut tally = Tally::new(&identity);
/// tally.count(&[7, 8, 9])?;
/// let element = tally.places().last().unwrap();
/// assert_eq!(element.path(), "packet[]");
/// assert_eq!((element.count(), element.bits()), (3, 24));
/// assert_eq!(element.parent().unwrap().path(), "packet");
/// # Ok::<(), tightwire::stream::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    places: &'a Places,
    index: usize,
}

/// All places of a tally.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The packet first, and each node behind its parent.
    nodes: Vec<PlaceNode>,
    kind_by: KindBy,
    pub(super) kinds: Vec<String>,
    /// Index of the last packet's kind; `None` if the kind is not known yet.
    pub(super) kind: Option<usize>,
    pub(super) watched: Vec<(usize, Value)>,
    filter: Option<Vec<String>>,
    /// Bits of the last packet by node; they count only after the whole packet was read.
    taken: Vec<(usize, u64)>,
    /// Open groups; kept for its memory.
    pub(super) open: Vec<usize>,
    failed_at: Option<usize>,
}

#[derive(Clone, Debug)]
struct PlaceNode {
    name: String,
    parent: usize,
    children: Vec<usize>,
    /// Child that stands for every element of an array; `None` if there is none yet.
    element: Option<usize>,
    /// Index of the next child, if the children come in the same order as before.
    cursor: usize,
    count: u64,
    bits: u64,
    /// Kind of the packets that have this node; `None` if the node does not decide it.
    kind: Option<usize>,
    /// Whether the node's value, the name of a variant, is the kind of the packet.
    names_kind: bool,
    is_watched: bool,
}

/// Step of a path that stands for every element of an array.
const ELEMENT: &str = "[]";

impl Places {
    pub(super) const ROOT: usize = 0;

    pub(super) fn new(name: &str, shape: &Shape) -> Self {
        let mut places = Self {
            nodes: Vec::new(),
            kind_by: KindBy::of(shape),
            kinds: alloc::vec![printable(name)],
            kind: None,
            watched: Vec::new(),
            filter: None,
            taken: Vec::new(),
            open: Vec::new(),
            failed_at: None,
        };
        places.add(Self::ROOT, name);
        places
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Place<'_>> {
        (0..self.nodes.len()).map(|index| Place { places: self, index })
    }

    pub(super) fn get(&self, index: usize) -> Option<Place<'_>> {
        (index < self.nodes.len()).then_some(Place { places: self, index })
    }

    pub(super) fn begin_packet(&mut self) {
        self.kind = None;
        self.failed_at = None;
        self.open.clear();
        self.taken.clear();
        self.watched.clear();
        self.begin_group(Self::ROOT);
    }

    /// Counts the last packet.
    pub(super) fn accept(&mut self) {
        for (index, bits) in self.taken.drain(..) {
            let node = &mut self.nodes[index];
            node.count += 1;
            node.bits += bits;
        }
    }

    pub(super) fn refused_at(&self) -> Place<'_> {
        Place { places: self, index: self.failed_at.unwrap_or(Self::ROOT) }
    }

    pub(super) fn refuse(&mut self, index: usize) {
        self.failed_at.get_or_insert(index);
    }

    pub(super) fn watch(&mut self, steps: &str) {
        let name_of = |step: &str| step.split('[').next().map(String::from);
        self.filter = Some(steps.split('.').filter_map(name_of).collect());
        for index in 0..self.nodes.len() {
            self.nodes[index].is_watched = self.is_wanted(index);
        }
    }

    pub(super) fn element_of(&mut self, parent: usize) -> usize {
        if let Some(element) = self.nodes[parent].element {
            return element;
        }
        let element = self.child(parent, ELEMENT);
        self.nodes[parent].element = Some(element);
        element
    }

    /// Returns the child with this name.
    #[inline]
    pub(super) fn child(&mut self, parent: usize, name: &str) -> usize {
        let PlaceNode { children, cursor, .. } = &self.nodes[parent];
        if let Some(&child) = children.get(*cursor)
            && self.nodes[child].name == *name
        {
            self.nodes[parent].cursor += 1;
            return child;
        }
        self.other_child(parent, name)
    }

    /// Restarts at the first child: all elements of an array have the same children.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn begin_group(&mut self, index: usize) {
        self.nodes[index].cursor = 0;
    }

    /// Like [`child`](Self::child), for a child out of order.
    fn other_child(&mut self, parent: usize, name: &str) -> usize {
        let PlaceNode { children, cursor, .. } = &self.nodes[parent];
        let find = |name: &str| {
            let is_it = |place: &usize| self.nodes[children[*place]].name == *name;
            // The search starts at the cursor: if only a field was left out, the child is near.
            let (before, behind) = (0..*cursor.min(&children.len()), *cursor..children.len());
            behind.chain(before).find(is_it)
        };
        match find(name).or_else(|| find(&printable(name))) {
            Some(place) => {
                let child = children[place];
                self.nodes[parent].cursor = place + 1;
                child
            }
            None => self.add(parent, name),
        }
    }

    /// Sets the kind of the packet, if this node decides it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pass(&mut self, index: usize) {
        if self.kind.is_none() {
            self.kind = self.nodes[index].kind;
        }
    }

    /// Records an operation of `bits` bits.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn take(&mut self, index: usize, bits: u64, value: impl FnOnce() -> Value) {
        let PlaceNode { is_watched, names_kind, .. } = self.nodes[index];
        if is_watched || (names_kind && self.kind.is_none()) {
            self.keep(index, value());
        }
        self.taken.push((index, bits));
    }

    fn keep(&mut self, index: usize, value: Value) {
        let PlaceNode { is_watched, names_kind, .. } = self.nodes[index];
        if let (true, None, Value::Name(name)) = (names_kind, self.kind, &value) {
            let find = |name: &str| self.kinds.iter().position(|kind| *kind == *name);
            self.kind = find(name).or_else(|| find(&printable(name))).or_else(|| {
                self.kinds.push(printable(name));
                Some(self.kinds.len() - 1)
            });
        }
        if is_watched {
            self.watched.push((index, value));
        }
    }

    fn add(&mut self, parent: usize, name: &str) -> usize {
        let index = self.nodes.len();
        let mut node = PlaceNode {
            name: printable(name),
            parent,
            children: Vec::new(),
            element: None,
            cursor: 0,
            count: 0,
            bits: 0,
            kind: self.nodes.get(parent).and_then(|parent| parent.kind),
            names_kind: false,
            is_watched: false,
        };
        let is_direct = index != Self::ROOT && parent == Self::ROOT;
        match &self.kind_by {
            KindBy::Field(fields) if is_direct && fields.contains(&node.name) => {
                node.kind = Some(self.kinds.len());
                self.kinds.push(node.name.clone());
            }
            KindBy::Variant(Some(field)) => node.names_kind = is_direct && *field == node.name,
            KindBy::Variant(None) => node.names_kind = index == Self::ROOT,
            KindBy::Nothing | KindBy::Field(_) => {}
        }
        self.nodes.push(node);
        self.nodes[index].is_watched = self.is_wanted(index);
        if index != Self::ROOT {
            let parent = &mut self.nodes[parent];
            parent.children.push(index);
            parent.cursor = parent.children.len();
        }
        index
    }

    fn is_wanted(&self, index: usize) -> bool {
        let Some(filter) = &self.filter else { return false };
        let place = Place { places: self, index };
        let mut steps = place.steps();
        steps.retain(|step| *step != ELEMENT);
        steps.windows(filter.len()).any(|window| window.iter().eq(filter.iter()))
    }
}

impl<'a> Place<'a> {
    /// Index of the place, which never changes.
    #[must_use]
    pub fn index(self) -> usize {
        self.index
    }

    /// The group that contains this place; `None` for the packet.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        let index = self.node().parent;
        (self.index != Places::ROOT).then_some(Self { index, ..self })
    }

    /// Path of the place, such as `Player.inventory[].count`.
    #[must_use]
    pub fn path(self) -> String {
        let mut path = String::new();
        for step in self.steps() {
            if !path.is_empty() && step != ELEMENT {
                path.push('.');
            }
            path.push_str(step);
        }
        path
    }

    /// Number of operations at this place.
    #[must_use]
    pub fn count(self) -> u64 {
        self.node().count
    }

    /// Number of bits of these operations, without the places inside.
    #[must_use]
    pub fn bits(self) -> u64 {
        self.node().bits
    }

    /// Whether the values of this place are [watched](crate::packet::Tally::watch).
    #[must_use]
    pub fn is_watched(self) -> bool {
        self.node().is_watched
    }

    fn steps(self) -> Vec<&'a str> {
        let outwards = core::iter::successors(Some(self), |place| place.parent());
        let mut steps: Vec<_> = outwards.map(|place| place.node().name.as_str()).collect();
        steps.reverse();
        steps
    }

    fn node(self) -> &'a PlaceNode {
        &self.places.nodes[self.index]
    }
}
