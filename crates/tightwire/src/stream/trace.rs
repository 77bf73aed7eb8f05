//! The stream that tells what another one does.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::ops::Range;
use core::panic::Location;

use super::{ErrorKind, Number, Op, RawStream, Scope, Value};

/// Runs another stream and records every operation: what it was, what it is called or where in
/// the source it stands, which bits it took and what value it carried.
///
/// [`explain`](crate::explain) and [`explain_write`](crate::explain_write) are the short way.
///
/// ```
/// use tightwire::{ReadStream, Stream, TraceStream};
///
/// let mut stream = TraceStream::new(ReadStream::new(&[0b1_1001101]));
/// stream.named("health").int(&mut 0u8, 0..=100)?;
/// stream.named("alive").bool(&mut false)?;
/// let (_, trace) = stream.into_parts();
/// assert_eq!(trace.spans()[1].path, "alive");
/// assert_eq!(trace.spans()[1].bits, 7..8);
/// assert_eq!(trace.spans()[1].value.to_string(), "true");
/// # Ok::<(), tightwire::ReadError>(())
/// ```
#[derive(Debug)]
pub struct TraceStream<S> {
    inner: S,
    trace: Trace,
    /// The path of the scopes that are open.
    path: String,
    scopes: Vec<OpenScope>,
    name: Option<String>,
    /// Whether the stream had failed before the operation that runs.
    had_failed: bool,
    /// The bits that the operation has taken and how many those are, up to 128: a refused value
    /// does not reach its destination.
    taken: (u128, u32),
}

#[derive(Debug, Default)]
struct OpenScope {
    /// The length of the path outside.
    outside: usize,
    is_object: bool,
    /// The operation without a name that is taken for the option or the element itself, as long
    /// as it is the only one.
    alone: Option<usize>,
}

/// What a stream did, operation by operation. `Display` draws it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    spans: Vec<Span>,
    failure: Option<(ErrorKind, u64)>,
    bytes: Vec<u8>,
}

/// One operation of a [`Trace`].
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Span {
    /// The names that lead to the value, as in `Player.inventory[3].count`.
    pub path: String,
    /// The operation with its parameters.
    pub op: Op,
    /// The bits that it took; up to where it failed, if it did.
    pub bits: Range<u64>,
    /// The value; the refused one, if it was refused.
    pub value: Value,
    /// Whether it was refused.
    pub refused: bool,
    /// Where the serialize function calls the operation.
    pub location: &'static Location<'static>,
}

impl<S: RawStream> TraceStream<S> {
    /// Records what `inner` does from now on.
    #[must_use]
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            trace: Trace::default(),
            path: String::new(),
            scopes: Vec::new(),
            name: None,
            had_failed: false,
            taken: (0, 0),
        }
    }

    /// The stream that did the work, and what it did.
    #[must_use]
    pub fn into_parts(self) -> (S, Trace) {
        let failure = self.inner.failure();
        (self.inner, Trace { failure, ..self.trace })
    }

    /// Whether an operation without a name is known by the path of its scope: one of ours, or the
    /// only one in an option or an element. A second one gives both their source lines.
    fn stands_for_its_scope(&mut self, location: &Location<'_>) -> bool {
        if is_own(location) {
            return true;
        }
        let spans = &mut self.trace.spans;
        match self.scopes.last_mut() {
            None | Some(OpenScope { is_object: true, .. }) => false,
            Some(OpenScope { alone: Some(first), .. }) => {
                if let Some(span) = spans.get_mut(*first)
                    && span.path == self.path
                {
                    let _ = write!(span.path, ".{}", source_name(&span.op, span.location));
                }
                false
            }
            Some(scope) => {
                scope.alone = Some(spans.len());
                true
            }
        }
    }

    /// Adds a step to the path, and returns the length to come back to.
    fn enter_step(&mut self, step: fmt::Arguments<'_>) -> usize {
        let length = self.path.len();
        let _ = self.path.write_fmt(step);
        length
    }

    /// The same for a name, with a dot between it and what stands before.
    fn enter_name(&mut self, name: &str) -> usize {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.enter_step(format_args!("{dot}{name}"))
    }
}

impl Trace {
    /// The operations in the order of their bits.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// What was refused first, and at which bit.
    #[must_use]
    pub fn failure(&self) -> Option<(ErrorKind, u64)> {
        self.failure
    }

    /// The packet; empty if none could be written.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The operation that was refused, if the failure was one operation's.
    #[must_use]
    pub fn refused_span(&self) -> Option<&Span> {
        self.spans.iter().find(|span| span.refused)
    }

    pub(super) fn set_failure(&mut self, kind: ErrorKind, bit: u64) {
        self.failure = Some((kind, bit));
    }

    pub(super) fn set_bytes(&mut self, bytes: &[u8]) {
        self.bytes = bytes.to_vec();
    }
}

impl<S: RawStream> RawStream for TraceStream<S> {
    type Error = S::Error;
    const WRITING: bool = S::WRITING;
    const READING: bool = S::READING;

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
        // The application refuses what it has just read, when that operation is over.
        if kind == ErrorKind::Custom && self.failure().is_none() {
            self.name = None;
            if let Some(span) = self.trace.spans.last_mut() {
                span.refused = true;
            }
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

    #[track_caller]
    fn begin(&mut self, op: Op) {
        let location = Location::caller();
        let outside = match self.name.take() {
            Some(name) => self.enter_name(&name),
            None if self.stands_for_its_scope(location) => self.path.len(),
            None => self.enter_name(&source_name(&op, location)),
        };
        self.scopes.push(OpenScope { outside, ..OpenScope::default() });
        self.had_failed = self.failure().is_some();
        self.taken = (0, 0);
        let start = self.position();
        let (path, bits) = (self.path.clone(), start..start);
        let span = Span { path, op, bits, value: Value::Unit, refused: false, location };
        self.trace.spans.push(span);
    }

    fn end(&mut self, value: impl FnOnce() -> Value) {
        self.leave();
        let (failure, end) = (self.failure(), self.position());
        if let Some(span) = self.trace.spans.last_mut() {
            span.bits.end = end;
            span.refused = !self.had_failed && failure.is_some();
            span.value = match failure {
                Some((ErrorKind::OutOfRange, _)) if S::READING => {
                    refused_value(&span.op, self.taken.0)
                }
                Some(_) if S::READING => Value::Unit,
                _ => value(),
            };
        }
    }

    fn enter(&mut self, scope: Scope<'_>) {
        let outside = match (self.name.take(), scope) {
            (Some(name), _) => self.enter_name(&name),
            (None, Scope::Index(index)) => self.enter_step(format_args!("[{index}]")),
            // The element of an array is known by its index.
            (None, Scope::Object { type_name }) if !self.path.ends_with(']') => {
                self.enter_name(short_type_name(type_name))
            }
            (None, Scope::Object { .. } | Scope::Group(_)) => self.path.len(),
        };
        let is_object = matches!(scope, Scope::Object { .. });
        self.scopes.push(OpenScope { outside, is_object, alone: None });
    }

    fn leave(&mut self) {
        let scope = self.scopes.pop().unwrap_or_default();
        self.path.truncate(scope.outside);
    }
}

/// The name of a type without the modules it stands in, its parameters included.
pub(super) fn short_type_name(name: &str) -> &str {
    let modules = name.split(['<', '[', '(']).next().unwrap_or(name);
    &name[modules.rfind("::").map_or(0, |colons| colons + 2)..]
}

/// What an operation without a name is called: where it stands in the source.
fn source_name(op: &Op, location: &Location<'_>) -> String {
    let file = location.file().rsplit(['/', '\\']).next().unwrap_or_default();
    alloc::format!("{}@{file}:{}", op.name(), location.line())
}

/// Whether an operation was called by one of ours, which adds nothing to the path.
fn is_own(location: &Location<'_>) -> bool {
    let own_folder = file!().trim_end_matches("trace.rs");
    location.file().starts_with(own_folder)
}

/// What a reader would have got, had it been in range.
fn refused_value(op: &Op, bits: u128) -> Value {
    match op {
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
