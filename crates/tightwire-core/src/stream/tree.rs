//! A trace as a tree: objects, options, arrays and elements, and the operations in them.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::ops::Range;
use core::panic::Location;
use core::{iter, ptr};

use super::{ErrorKind, Op, TraceScope, Value};

/// Operations of a stream as a tree of groups and operations. `Display` draws it.
///
/// ```
/// let trace = tightwire::explain::<[Option<u8>; 2]>(&[0b1101_1010]);
/// let first = trace.root().descendants().find(|node| node.name() == "[0]").unwrap();
/// assert_eq!(first.path(), "[Option<u8>; 2][0]");
/// assert_eq!(first.bits(), 0..1);
/// println!("{trace}");            // a picture
/// println!("{trace:#}");          // the same, every element and every byte of it
/// println!("{}", trace.colored()); // for a terminal
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Trace {
    /// Nodes in the order in which they began, so that a node is followed by its descendants. There
    /// is always a root.
    nodes: Vec<Record>,
    refused: Option<usize>,
    failure: Option<(ErrorKind, u64)>,
    bytes: Vec<u8>,
}

/// A group of operations, or one operation, of a [`Trace`].
///
/// ```
/// let trace = tightwire::stream::explain_write(&[3u16, 7]);
/// let second = trace.spans().nth(1).unwrap();
/// assert_eq!(second.path(), "[u16; 2][1]");
/// assert_eq!(second.bits(), 16..32);
/// assert_eq!(second.raw(), Some(7));
/// assert_eq!(second.op().unwrap().to_string(), "int 0..=65535");
/// assert_eq!(second.value().unwrap().to_string(), "7");
/// assert_eq!(second.parent().unwrap().bit_count(), 16);
/// ```
#[derive(Clone, Copy)]
pub struct Node<'a> {
    trace: &'a Trace,
    index: usize,
}

#[derive(Clone, PartialEq, Debug)]
struct Record {
    /// Step of the path: a field's name, or an element's index in brackets. If it is empty, the
    /// node has the path of its parent.
    name: String,
    parent: usize,
    /// Index behind the last descendant.
    end: usize,
    bits: Range<u64>,
    kind: NodeKind,
}

#[derive(Clone, PartialEq, Debug)]
enum NodeKind {
    Object { type_name: String },
    Group(String),
    Element(usize),
    Operation { op: Op, value: Value, location: &'static Location<'static> },
}

/// Number of steps shown from either end of a long path. Only an attacker nests deeper than any
/// game state, and must not fill the log.
const MAX_STEPS: usize = 32;

impl Trace {
    /// Creates a trace with a root and no operations.
    pub(super) fn new(name: &str, scope: TraceScope<'_>) -> Self {
        let mut trace = Self { nodes: Vec::new(), refused: None, failure: None, bytes: Vec::new() };
        trace.push(name, 0, 0, NodeKind::of(scope));
        trace
    }

    /// The root: the object that was explained, or everything that one stream did.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        self.node(0)
    }

    /// Iterates over the operations in the order of their bits, without the groups.
    pub fn spans(&self) -> impl DoubleEndedIterator<Item = Node<'_>> {
        (0..self.nodes.len()).map(|index| self.node(index)).filter(|node| node.op().is_some())
    }

    /// Reason and bit of the first refusal; `None` if nothing was refused.
    #[must_use]
    pub fn failure(&self) -> Option<(ErrorKind, u64)> {
        self.failure
    }

    /// The packet; empty if none could be written.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The refused operation, or the group that was refused as a whole; `None` if there is no such
    /// node.
    ///
    /// ```
    /// let trace = tightwire::explain::<[bool; 9]>(&[0xff]);
    /// assert_eq!(trace.refused().unwrap().path(), "[bool; 9][8]");
    /// ```
    #[must_use]
    pub fn refused(&self) -> Option<Node<'_>> {
        self.refused.map(|index| self.node(index))
    }

    pub(super) fn set_failure(&mut self, kind: ErrorKind, bit: u64) {
        self.failure = Some((kind, bit));
    }

    pub(super) fn set_bytes(&mut self, bytes: &[u8]) {
        self.bytes = bytes.to_vec();
    }

    /// Marks a node as refused, unless another one is marked already.
    pub(super) fn blame(&mut self, index: Option<usize>) {
        self.refused = self.refused.or(index);
    }

    pub(super) fn node(&self, index: usize) -> Node<'_> {
        Node { trace: self, index }
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn last_operation(&self) -> Option<usize> {
        self.spans().next_back().map(|node| node.index)
    }

    pub(super) fn begin_group(
        &mut self,
        name: &str,
        parent: usize,
        at: u64,
        scope: TraceScope<'_>,
    ) -> usize {
        self.push(name, parent, at, NodeKind::of(scope))
    }

    pub(super) fn begin_operation(
        &mut self,
        name: &str,
        parent: usize,
        at: u64,
        op: Op,
        location: &'static Location<'static>,
    ) -> usize {
        self.push(name, parent, at, NodeKind::Operation { op, value: Value::Unit, location })
    }

    /// Ends a node at bit `at`: everything recorded since it began is inside it.
    pub(super) fn end(&mut self, index: usize, at: u64) {
        let end = self.nodes.len();
        if let Some(record) = self.nodes.get_mut(index) {
            record.bits.end = at;
            record.end = end;
        }
    }

    pub(super) fn set_value(&mut self, index: usize, of: impl FnOnce(&Op) -> Value) {
        if let Some(Record { kind: NodeKind::Operation { op, value, .. }, .. }) =
            self.nodes.get_mut(index)
        {
            *value = of(op);
        }
    }

    pub(super) fn rename(&mut self, index: usize, name: &str) {
        if let Some(record) = self.nodes.get_mut(index) {
            record.name = printable(name);
        }
    }

    fn push(&mut self, name: &str, parent: usize, at: u64, kind: NodeKind) -> usize {
        let index = self.nodes.len();
        self.nodes.push(Record {
            name: printable(name),
            parent,
            end: index + 1,
            bits: at..at,
            kind,
        });
        index
    }
}

impl<'a> Node<'a> {
    /// Step of the path: a field's name, or an element's index in brackets. It is empty for a node
    /// that stands for its group, such as the value of an option.
    #[must_use]
    pub fn name(self) -> &'a str {
        &self.record().name
    }

    /// Path of the node, such as `Player.inventory[3].count`; of more than 64 steps, the first and
    /// the last 32.
    #[must_use]
    pub fn path(self) -> String {
        let mut steps: Vec<&str> = self.ancestors().map(Node::name).collect();
        steps.retain(|step| !step.is_empty());
        steps.reverse();
        if steps.len() > 2 * MAX_STEPS {
            steps.splice(MAX_STEPS..steps.len() - MAX_STEPS, ["…"]);
        }
        let mut path = String::new();
        for step in steps {
            if !path.is_empty() && !step.starts_with('[') {
                path.push('.');
            }
            path.push_str(step);
        }
        path
    }

    /// The operation with its parameters; `None` for a group.
    #[must_use]
    pub fn op(self) -> Option<&'a Op> {
        match &self.record().kind {
            NodeKind::Operation { op, .. } => Some(op),
            _ => None,
        }
    }

    /// The value that the operation carried, or the refused value; `None` for a group.
    #[must_use]
    pub fn value(self) -> Option<&'a Value> {
        match &self.record().kind {
            NodeKind::Operation { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Source location where the serialize function calls the operation; `None` for a group.
    #[must_use]
    pub fn location(self) -> Option<&'static Location<'static>> {
        match self.record().kind {
            NodeKind::Operation { location, .. } => Some(location),
            _ => None,
        }
    }

    /// The kind of group; `None` for an operation.
    #[must_use]
    pub fn scope(self) -> Option<TraceScope<'a>> {
        match &self.record().kind {
            NodeKind::Object { type_name } => Some(TraceScope::Object { type_name }),
            NodeKind::Group(name) => Some(TraceScope::Group(name)),
            NodeKind::Element(index) => Some(TraceScope::Index(*index)),
            NodeKind::Operation { .. } => None,
        }
    }

    /// The bits of the node, up to the failure if it failed.
    #[must_use]
    pub fn bits(self) -> Range<u64> {
        self.record().bits.clone()
    }

    /// Number of bits of the node.
    #[must_use]
    pub fn bit_count(self) -> u64 {
        let Range { start, end } = self.bits();
        end.saturating_sub(start)
    }

    /// The bits of the node as a number, the first bit lowest; `None` for more than 128 bits, or
    /// without a packet, such as after a refused write.
    #[must_use]
    pub fn raw(self) -> Option<u128> {
        let Range { start, end } = self.bits();
        let mut bits = 0;
        if self.bit_count() > 128 || end > self.trace.bytes.len() as u64 * 8 {
            return None;
        }
        for (place, bit) in (start..end).enumerate() {
            let byte = self.trace.bytes.get((bit / 8) as usize)?;
            bits |= u128::from(byte >> (bit % 8) & 1) << place;
        }
        Some(bits)
    }

    /// Whether the packet was refused because of this node: see [`Trace::refused`].
    #[must_use]
    pub fn is_refused(self) -> bool {
        self.trace.refused == Some(self.index)
    }

    /// Whether this node or one of its descendants was refused.
    #[must_use]
    pub fn has_refused(self) -> bool {
        self.trace.refused.is_some_and(|refused| (self.index..self.record().end).contains(&refused))
    }

    /// The group that contains the node; `None` for the root.
    #[must_use]
    pub fn parent(self) -> Option<Node<'a>> {
        (self.index > 0).then(|| self.trace.node(self.record().parent))
    }

    /// Iterates over the direct children.
    pub fn children(self) -> impl Iterator<Item = Node<'a>> {
        let end = self.record().end;
        let within = move |index| (index < end).then(|| self.trace.node(index));
        iter::successors(within(self.index + 1), move |child| within(child.record().end))
    }

    /// Iterates over all descendants, each group before its contents.
    pub fn descendants(self) -> impl DoubleEndedIterator<Item = Node<'a>> {
        (self.index + 1..self.record().end).map(move |index| self.trace.node(index))
    }

    /// Index in the order in which the nodes began.
    pub(super) fn index(self) -> usize {
        self.index
    }

    pub(super) fn ancestors(self) -> impl Iterator<Item = Node<'a>> {
        iter::successors(Some(self), |node| node.parent())
    }

    fn record(self) -> &'a Record {
        &self.trace.nodes[self.index]
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.trace, other.trace) && self.index == other.index
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = &self.record().kind;
        f.debug_struct("Node")
            .field("path", &self.path())
            .field("bits", &self.bits())
            .field("what", kind)
            .finish()
    }
}

impl NodeKind {
    fn of(scope: TraceScope<'_>) -> Self {
        match scope {
            TraceScope::Object { type_name } => Self::Object { type_name: printable(type_name) },
            TraceScope::Group(name) => Self::Group(printable(name)),
            TraceScope::Index(index) => Self::Element(index),
        }
    }
}

/// Escapes everything that a terminal could take for a command: names may come from a packet just
/// as values do.
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\'' | '"' => printable.push(char),
            _ => {
                let _ = write!(printable, "{}", char.escape_debug());
            }
        }
    }
    printable
}
