//! The stream that records the operations of another one.
//!
//! A trace is one list of groups and operations in the order in which they begin, each with its
//! parent and the index behind its last descendant. Walking the list needs no recursion, however
//! deep a malicious packet nests. Names are escaped when they are recorded, values when they are
//! shown.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::panic::Location;

use super::int::sign_extended;
use super::{ErrorKind, Number, Op, RawStream, Trace, TraceScope, Value};

/// Runs another stream and records every operation: its parameters, its name or source location,
/// its bits and its value.
///
/// [`explain`](crate::stream::explain) and [`explain_write`](crate::stream::explain_write) are the
/// shorter way to a trace.
///
/// ```
/// use tightwire::Stream;
/// use tightwire::stream::{ReadStream, TraceStream};
///
/// let mut stream = TraceStream::new(ReadStream::new(&[0b1_1001101]));
/// stream.named("health").int(&mut 0u8, 0..=100)?;
/// stream.named("alive").bool(&mut false)?;
/// let (_, trace) = stream.into_parts();
/// let alive = trace.spans().nth(1).unwrap();
/// assert_eq!(alive.path(), "alive");
/// assert_eq!(alive.bits(), 7..8);
/// assert_eq!(alive.value().unwrap().to_string(), "true");
/// # Ok::<(), tightwire::stream::ReadError>(())
/// ```
#[derive(Debug)]
pub struct TraceStream<S> {
    inner: S,
    trace: Trace,
    /// Open groups, and the current operation.
    open: Vec<Open>,
    name: Option<String>,
    /// Whether the stream had failed before the current operation.
    had_failed: bool,
    /// Bits taken by the current operation, up to 128, and their number. They are kept because a
    /// refused value does not reach its destination.
    taken: (u128, u32),
}

#[derive(Debug, Default)]
struct Open {
    node: usize,
    /// Index of the only operation so far in an option or element, if the operation is nameless: it
    /// shares the path of its scope.
    alone: Option<usize>,
}

impl<S: RawStream> TraceStream<S> {
    /// Creates a stream that records every operation on `inner`.
    #[must_use]
    pub fn new(inner: S) -> Self {
        Self::with_root(inner, "", TraceScope::Group("packet"))
    }

    /// Like [`new`](Self::new), with an object of type `type_name` as the root.
    pub(super) fn of_object(inner: S, type_name: &str) -> Self {
        Self::with_root(inner, &short_type_name(type_name), TraceScope::Object { type_name })
    }

    fn with_root(inner: S, name: &str, scope: TraceScope<'_>) -> Self {
        Self {
            inner,
            trace: Trace::new(name, scope),
            open: Vec::new(),
            name: None,
            had_failed: false,
            taken: (0, 0),
        }
    }

    /// Returns the inner stream and the trace.
    #[must_use]
    pub fn into_parts(mut self) -> (S, Trace) {
        while !self.open.is_empty() {
            self.leave();
        }
        self.trace.end(0, self.inner.position());
        if let Some((kind, bit)) = self.inner.failure() {
            self.trace.set_failure(kind, bit);
        }
        (self.inner, self.trace)
    }

    /// Index of the innermost open node.
    fn parent(&self) -> usize {
        self.open.last().map_or(0, |open| open.node)
    }

    /// Whether a nameless operation shares the path of its scope: an operation called by this
    /// crate, or the only one in an option or an element. A second nameless operation gives both of
    /// them their source lines.
    fn stands_for_its_scope(&mut self, location: &Location<'_>) -> bool {
        if is_own(location) {
            return true;
        }
        let next = self.trace.len();
        let Some(open) = self.open.last_mut() else { return false };
        if matches!(self.trace.node(open.node).scope(), Some(TraceScope::Object { .. })) {
            return false;
        }
        let Some(first) = open.alone else {
            open.alone = Some(next);
            return true;
        };
        let first_node = self.trace.node(first);
        if let (Some(op), Some(location)) = (first_node.op(), first_node.location())
            && first_node.name().is_empty()
        {
            self.trace.rename(first, &source_name(op, location));
        }
        false
    }

    /// Whether a nameless object shares the path of the element or option that it is in.
    fn stands_for_an_element(&self) -> bool {
        for outer in self.trace.node(self.parent()).ancestors() {
            match outer.scope() {
                Some(TraceScope::Index(_) | TraceScope::Group("option")) => return true,
                _ if !outer.name().is_empty() => return false,
                _ => {}
            }
        }
        false
    }
}

impl<S: RawStream> RawStream for TraceStream<S> {
    type Error = S::Error;
    type Access = S::Access;
    const PACKS: bool = S::PACKS;

    fn has_checks(&self) -> bool {
        self.inner.has_checks()
    }

    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), S::Error> {
        self.inner.raw_bits(value, width)?;
        let (bits, count) = self.taken;
        let above = u128::from(*value).checked_shl(count).unwrap_or(0);
        self.taken = (bits | above, count.saturating_add(width));
        Ok(())
    }

    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), S::Error> {
        self.inner.raw_unary(zeros, limit)
    }

    fn raw_align(&mut self) -> Result<(), S::Error> {
        self.inner.raw_align()
    }

    fn raw_bytes<'s>(&'s mut self, source: &'s [u8], length: usize) -> Result<&'s [u8], S::Error> {
        self.inner.raw_bytes(source, length)
    }

    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), S::Error> {
        // The application refuses a value after its operation has ended.
        let first = self.failure().is_none();
        if first && kind == ErrorKind::Custom {
            self.name = None;
            self.trace.blame(self.trace.last_operation());
        } else if first && self.trace.node(self.parent()).op().is_none() {
            // No operation is running: a group such as an array is refused as a whole.
            self.trace.blame(Some(self.parent()));
        }
        self.inner.refuse_at(kind, bit)
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }

    fn remaining(&self) -> u64 {
        self.inner.remaining()
    }

    fn failure(&self) -> Option<(ErrorKind, u64)> {
        self.inner.failure()
    }

    fn name_next(&mut self, name: &str) {
        self.name = Some(name.into());
    }

    fn name_place(&mut self, name: &'static str) {
        self.name.get_or_insert_with(|| name.into());
    }

    #[track_caller]
    fn begin(&mut self, op: Op) {
        let location = Location::caller();
        let name = match self.name.take() {
            Some(name) => name,
            None if self.stands_for_its_scope(location) => String::new(),
            None => source_name(&op, location),
        };
        self.had_failed = self.failure().is_some();
        self.taken = (0, 0);
        let (parent, start) = (self.parent(), self.position());
        let node = self.trace.begin_operation(&name, parent, start, op, location);
        self.open.push(Open { node, alone: None });
    }

    fn end(&mut self, value: impl FnOnce() -> Value) {
        let (failure, taken, node) = (self.failure(), self.taken, self.parent());
        self.leave();
        if !self.had_failed && failure.is_some() {
            self.trace.blame(Some(node));
        }
        self.trace.set_value(node, |op| match failure {
            Some((ErrorKind::OutOfRange, _)) if S::READING => refused_value(op, taken, S::PACKS),
            Some(_) if S::READING => Value::Unit,
            _ => value(),
        });
    }

    fn enter(&mut self, scope: TraceScope<'_>) {
        let name = match (self.name.take(), scope) {
            (Some(name), _) => name,
            (None, TraceScope::Index(index)) => format!("[{index}]"),
            (None, TraceScope::Object { type_name }) if !self.stands_for_an_element() => {
                short_type_name(type_name)
            }
            (None, TraceScope::Object { .. } | TraceScope::Group(_)) => String::new(),
        };
        let (parent, start) = (self.parent(), self.position());
        let node = self.trace.begin_group(&name, parent, start, scope);
        self.open.push(Open { node, alone: None });
    }

    fn leave(&mut self) {
        if let Some(Open { node, .. }) = self.open.pop() {
            self.trace.end(node, self.inner.position());
        }
    }
}

/// Returns the name of a type without module paths, also in its type parameters.
pub(super) fn short_type_name(name: &str) -> String {
    let is_in_path = |char: char| char.is_alphanumeric() || "_:".contains(char);
    let mut short = String::with_capacity(name.len());
    for part in name.split_inclusive(|char| !is_in_path(char)) {
        short.push_str(&part[part.rfind("::").map_or(0, |colons| colons + 2)..]);
    }
    short
}

/// Returns the name of a nameless operation: its source location.
fn source_name(op: &Op, location: &Location<'_>) -> String {
    let file = location.file().rsplit(['/', '\\']).next().unwrap_or_default();
    format!("{}@{file}:{}", op.name(), location.line())
}

/// Whether the operation was called by this crate, which adds nothing to the path.
fn is_own(location: &Location<'_>) -> bool {
    let own_folder = file!().trim_end_matches("trace.rs");
    location.file().starts_with(own_folder)
}

/// Returns the value that a reader refused, from the bits taken and their number: for an integer
/// the smallest value plus the offset, or without packing the integer itself.
fn refused_value(op: &Op, (bits, width): (u128, u32), packs: bool) -> Value {
    match op {
        Op::Int { min: Number::Signed(min), .. } if !packs && *min < 0 => {
            Value::Number(Number::Signed(sign_extended(bits, width)))
        }
        Op::Int { min: Number::Signed(_), .. } if !packs => {
            Value::Number(Number::Signed(i128::try_from(bits).unwrap_or(i128::MAX)))
        }
        Op::Int { .. } if !packs => Value::Number(Number::Unsigned(bits)),
        Op::Int { min: Number::Unsigned(min), .. } => {
            Value::Number(Number::Unsigned(min.saturating_add(bits)))
        }
        Op::Int { min: Number::Signed(min), .. } => {
            Value::Number(Number::Signed(min.saturating_add_unsigned(bits)))
        }
        // The length, the ordinal or the code.
        Op::String { .. }
        | Op::WideString { .. }
        | Op::Blob { .. }
        | Op::Enumerate { .. }
        | Op::CompressedFloat(_) => Value::Number(Number::Unsigned(bits)),
        _ => Value::Unit,
    }
}
