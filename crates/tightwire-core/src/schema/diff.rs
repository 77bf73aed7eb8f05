//! Differences between two schemas, in words.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::Schema;
use super::describe;
use super::fingerprint::{guard_bytes, hash, hash_block, hint_bytes};
use super::flat::Block;
use super::run::{PACKET, root_name};
use crate::stream::{Shape, Variant};

/// Every difference between two schemas, in the order of the first one's bits: why two sides do not
/// understand each other. `Display` prints a line for each.
///
/// ```
/// use tightwire::schema::Schema;
///
/// let diff = Schema::of::<[u8; 3]>().diff(&Schema::of::<[u16; 4]>());
/// let lines: Vec<_> = diff.iter().map(|difference| difference.to_string()).collect();
/// assert_eq!(lines, [
///     "packet: 3 elements here, 4 there",
///     "packet[]: range 0..=255 (8 bits) here, 0..=65535 (16 bits) there",
/// ]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diff {
    differences: Vec<Difference>,
}

/// One difference of a [`Diff`].
///
/// ```
/// use tightwire::schema::Schema;
///
/// let diff = Schema::of::<u8>().diff(&Schema::of::<i8>());
/// let difference = diff.iter().next().unwrap();
/// assert_eq!(difference.path, "packet");
/// assert_eq!(difference.here.as_deref(), Some("range 0..=255 (8 bits)"));
/// assert_eq!(difference.there.as_deref(), Some("-128..=127 (8 bits)"));
/// assert!(difference.changes_bytes());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// Path of the field, such as `Player.inventory[].count`.
    pub path: String,
    /// Aspect that is different.
    pub kind: DifferenceKind,
    /// Description on this side; `None` if only the other side has the field.
    pub here: Option<String>,
    /// Description on the other side; `None` if only this side has the field.
    pub there: Option<String>,
}

/// Aspect in which a field, or a setting, differs between two sides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// A setting of the protocol, such as its version.
    Setting,
    /// The operation, the length or the position: packets have different bits.
    Layout,
    /// The condition under which the field is sent.
    Condition,
    /// The hints for snapshots.
    Hints,
    /// Only the name: packets are the same.
    Name,
}

impl Difference {
    /// Creates a difference of this kind at this path, for protocols that consist of more than a
    /// schema.
    ///
    /// ```
    /// use tightwire::schema::{Difference, DifferenceKind};
    ///
    /// let difference = Difference::new("ticks_per_second", DifferenceKind::Setting, "60", "30");
    /// assert_eq!(difference.to_string(), "ticks_per_second: 60 here, 30 there");
    /// ```
    #[must_use]
    pub fn new(
        path: impl Into<String>,
        kind: DifferenceKind,
        here: impl Into<String>,
        there: impl Into<String>,
    ) -> Self {
        Self { path: path.into(), kind, here: Some(here.into()), there: Some(there.into()) }
    }

    /// Creates a difference for a field that only this side has.
    #[must_use]
    pub fn only_here(path: impl Into<String>, here: impl Into<String>) -> Self {
        let (path, kind) = (path.into(), DifferenceKind::Layout);
        Self { path, kind, here: Some(here.into()), there: None }
    }

    /// Creates a difference for a field that only the other side has.
    #[must_use]
    pub fn only_there(path: impl Into<String>, there: impl Into<String>) -> Self {
        let (path, kind) = (path.into(), DifferenceKind::Layout);
        Self { path, kind, here: None, there: Some(there.into()) }
    }

    /// Whether packets or snapshots have different bytes; `false` if only names differ.
    #[must_use]
    pub fn changes_bytes(&self) -> bool {
        self.kind != DifferenceKind::Name
    }

    /// Returns the difference in words, without its path: `60 here, 30 there`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let lead = match self.kind {
            DifferenceKind::Condition => "sent ",
            DifferenceKind::Hints => "for snapshots ",
            _ => "",
        };
        match (&self.here, &self.there) {
            (_, Some(there)) if self.kind == DifferenceKind::Name => {
                format!("called `{there}` there, which does not change the bytes")
            }
            (Some(here), Some(there)) => format!("{lead}{here} here, {there} there"),
            (Some(here), None) => format!("only here: {here}"),
            (None, Some(there)) => format!("only there: {there}"),
            (None, None) => "the bytes are not the same".into(),
        }
    }
}

impl Schema {
    /// Compares the schema of this side with the schema of the other.
    ///
    /// If and only if the [fingerprints](Self::fingerprint) differ, at least one difference changes
    /// the bytes.
    ///
    /// ```
    /// use tightwire::Wire;
    ///
    /// mod here {
    ///     #[derive(tightwire::Wire)]
    ///     pub struct Player {
    ///         #[wire(range = 0..=100)]
    ///         pub health: u8,
    ///     }
    /// }
    /// mod there {
    ///     #[derive(tightwire::Wire)]
    ///     pub struct Player {
    ///         #[wire(range = 0..=200)]
    ///         pub health: u8,
    ///     }
    /// }
    ///
    /// let diff = tightwire::schema::Schema::of::<here::Player>().diff(&tightwire::schema::Schema::of::<there::Player>());
    /// let line = "Player.health: range 0..=100 (7 bits) here, 0..=200 (8 bits) there\n";
    /// assert_eq!(diff.to_string(), line);
    /// ```
    #[must_use]
    pub fn diff(&self, there: &Self) -> Diff {
        let mut diff = Diff::default();
        let (name, other) = (root_name(self.root()), root_name(there.root()));
        if name != PACKET && other != PACKET {
            diff.name(name, name, other);
        }
        diff.shapes(name, self.root(), there.root());
        if !diff.iter().any(Difference::changes_bytes) && self.fingerprint() != there.fingerprint()
        {
            let (path, kind) = (name.to_string(), DifferenceKind::Layout);
            diff.differences.push(Difference { path, kind, here: None, there: None });
        }
        diff
    }
}

impl Diff {
    /// Whether the schemas are equal, including names.
    ///
    /// ```
    /// use tightwire::schema::Schema;
    ///
    /// assert!(Schema::of::<u8>().diff(&Schema::of::<u8>()).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }

    /// Iterates over the differences in the order of the bits.
    ///
    /// ```
    /// use tightwire::schema::Schema;
    ///
    /// let diff = Schema::of::<u8>().diff(&Schema::of::<u16>());
    /// assert!(diff.iter().any(|difference| difference.changes_bytes()));
    /// ```
    pub fn iter(&self) -> core::slice::Iter<'_, Difference> {
        self.differences.iter()
    }

    fn layout(&mut self, path: &str, here: impl Into<String>, there: impl Into<String>) {
        self.differences.push(Difference::new(path, DifferenceKind::Layout, here, there));
    }

    fn name(&mut self, path: &str, here: &str, there: &str) {
        if here != there && !here.is_empty() && !there.is_empty() {
            self.differences.push(Difference::new(path, DifferenceKind::Name, here, there));
        }
    }

    fn shapes(&mut self, path: &str, here: &Shape, there: &Shape) {
        match (here, there) {
            (Shape::Op(a), Shape::Op(b)) if hash(here) != hash(there) => {
                let (a, b) = describe::operations(a, b);
                self.layout(path, a, b);
            }
            (Shape::Enum { variants: a, .. }, Shape::Enum { variants: b, .. }) => {
                self.enums(path, (here, a), (there, b));
            }
            (Shape::Option(a), Shape::Option(b)) => self.inside(path, a, b),
            (Shape::Array { len: a, element }, Shape::Array { len: b, element: other }) => {
                if a != b {
                    self.layout(path, describe::elements(*a), b.to_string());
                }
                self.inside(&format!("{path}[]"), element, other);
            }
            (Shape::List { max_len: a, element }, Shape::List { max_len: b, element: other }) => {
                if a != b {
                    let (a, b) = (describe::list_bound(*a), describe::list_bound(*b));
                    self.layout(path, a, b);
                }
                self.inside(&format!("{path}[]"), element, other);
            }
            (Shape::Struct { .. }, _) | (_, Shape::Struct { .. }) => {
                self.inside(path, here, there);
            }
            _ if hash(here) != hash(there) => {
                let (a, b) = (describe::shape(here), describe::shape(there));
                self.layout(path, a, b);
            }
            _ => {}
        }
    }

    fn inside(&mut self, path: &str, here: &Shape, there: &Shape) {
        self.blocks(path, &Block::of(here), &Block::of(there));
    }

    fn enums(
        &mut self,
        path: &str,
        (here, a): (&Shape, &[Variant]),
        (there, b): (&Shape, &[Variant]),
    ) {
        let blocks = |variants: &'_ [Variant]| -> Vec<u64> {
            variants.iter().map(|variant| hash_block(&Block::of_fields(&variant.fields))).collect()
        };
        let (a_hashes, b_hashes) = (blocks(a), blocks(b));
        let names = |variants: &[Variant]| -> Vec<String> {
            variants.iter().map(|variant| variant.name.to_string()).collect()
        };
        let (a_names, b_names) = (names(a), names(b));
        let matches = if hash(here) == hash(there) {
            in_order(a.len(), b.len())
        } else {
            if a.len() != b.len() {
                let (a, b) = (describe::variants(a.len()), describe::variants(b.len()));
                self.layout(path, a, b);
            }
            let is_same = |i: usize, j: usize| i == j && a_hashes[i] == b_hashes[j];
            matched(&a_names, &b_names, is_same)
        };
        for (ordinal, variant) in a.iter().enumerate() {
            let path = format!("{path}.{}", variant.name);
            let Some(other) = matches[ordinal] else {
                self.differences.push(Difference::only_here(path, format!("variant {ordinal}")));
                continue;
            };
            if other != ordinal {
                self.layout(&path, format!("variant {ordinal}"), format!("variant {other}"));
            }
            self.name(&path, &variant.name, &b[other].name);
            let (a, b) = (&variant.fields, &b[other].fields);
            self.blocks(&path, &Block::of_fields(a), &Block::of_fields(b));
        }
        for ordinal in missing(&matches, b.len()) {
            let path = format!("{path}.{}", b[ordinal].name);
            self.differences.push(Difference::only_there(path, format!("variant {ordinal}")));
        }
    }

    fn blocks(&mut self, path: &str, here: &Block<'_>, there: &Block<'_>) {
        let (a, b) = (&here.items, &there.items);
        let names =
            |block: &Block<'_>| -> Vec<_> { block.items.iter().map(|i| i.path.clone()).collect() };
        let is_equal = hash_block(here) == hash_block(there);
        let matches = if is_equal {
            in_order(a.len(), b.len())
        } else {
            matched(&names(here), &names(there), |i, j| hash(a[i].shape) == hash(b[j].shape))
        };
        let moved = if is_equal { vec![false; a.len()] } else { moved(&matches) };
        for (index, item) in a.iter().enumerate() {
            let path = joined(path, &item.path);
            let Some(place) = matches[index] else {
                self.differences.push(Difference::only_here(path, describe::shape(item.shape)));
                continue;
            };
            let other = &b[place];
            self.name(&path, &item.path, &other.path);
            if moved[index] {
                let (a, b) = (position(here, index), position(there, place));
                self.layout(&path, a, b);
            }
            let translate = |place: usize| matches.get(place).copied().flatten();
            if !is_equal && guard_bytes(here, item, &translate) != guard_bytes(there, other, &Some)
            {
                let (a, b) = (describe::sent(here, item), describe::sent(there, other));
                // With the same words, the difference is in a field that the condition names, and
                // is reported there.
                if a != b {
                    self.differences.push(Difference::new(&path, DifferenceKind::Condition, a, b));
                }
            }
            if !is_equal && hint_bytes(here, item, &translate) != hint_bytes(there, other, &Some) {
                let (a, b) = (describe::hints(item), describe::hints(other));
                if a != b {
                    self.differences.push(Difference::new(&path, DifferenceKind::Hints, a, b));
                }
            }
            self.shapes(&path, item.shape, other.shape);
        }
        for place in missing(&matches, b.len()) {
            let path = joined(path, &b[place].path);
            self.differences.push(Difference::only_there(path, describe::shape(b[place].shape)));
        }
    }
}

impl<'a> IntoIterator for &'a Diff {
    type Item = &'a Difference;
    type IntoIter = core::slice::Iter<'a, Difference>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|difference| writeln!(f, "{difference}"))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.in_words())
    }
}

/// Matches each name of `here` to an index of `there`: to the same name, or for a name that only
/// one side has, to the item at the same position if it is the same.
fn matched(
    here: &[String],
    there: &[String],
    is_same: impl Fn(usize, usize) -> bool,
) -> Vec<Option<usize>> {
    let mut places: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
    for (place, name) in there.iter().enumerate() {
        places.entry(name).or_default().push_back(place);
    }
    let mut matches: Vec<Option<usize>> =
        here.iter().map(|name| places.get_mut(name.as_str())?.pop_front()).collect();
    let mut is_free = vec![true; there.len()];
    matches.iter().flatten().for_each(|&place| is_free[place] = false);
    for index in 0..here.len() {
        let place = match index.checked_sub(1) {
            Some(before) => matches[before].map(|place| place + 1),
            None => Some(0),
        };
        if let (None, Some(place)) = (matches[index], place)
            && is_free.get(place) == Some(&true)
            && is_same(index, place)
        {
            matches[index] = Some(place);
            is_free[place] = false;
        }
    }
    matches
}

/// Matches each item to the one at the same index. Equal hashes imply equal lengths, unless an
/// attacker made the hashes collide.
fn in_order(here: usize, there: usize) -> Vec<Option<usize>> {
    (0..here).map(|place| (place < there).then_some(place)).collect()
}

/// Indices of the other side that match nothing on this side.
fn missing(matches: &[Option<usize>], count: usize) -> impl Iterator<Item = usize> + use<> {
    let mut is_missing = vec![true; count];
    matches.iter().flatten().for_each(|&place| is_missing[place] = false);
    (0..count).filter(move |&place| is_missing[place])
}

/// Marks the fewest items that changed their order: all but the longest ascending sequence.
fn moved(matches: &[Option<usize>]) -> Vec<bool> {
    // For each length of an ascending sequence, the index of the end with the lowest position.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; matches.len()];
    for (index, place) in matches.iter().enumerate() {
        let Some(place) = place else { continue };
        let length = ends.partition_point(|&end| matches[end].is_some_and(|end| end < *place));
        before[index] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut is_moved: Vec<_> = matches.iter().map(Option::is_some).collect();
    let mut next = ends.last().copied();
    while let Some(index) = next {
        is_moved[index] = false;
        next = before[index];
    }
    is_moved
}

fn position(block: &Block<'_>, index: usize) -> String {
    match index.checked_sub(1) {
        Some(before) => format!("after `{}`", block.items[before].path),
        None => "first".to_string(),
    }
}

fn joined(path: &str, name: &str) -> String {
    if name.is_empty() { path.into() } else { format!("{path}.{name}") }
}
