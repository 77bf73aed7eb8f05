//! What the bits of a snapshot were for.
//!
//! The code that reads a packet says what it is [at](marks), and a tracing [stream](stream) or decoder
//! [records](record) the bit where that was. So a trace is of the decoder that everybody uses, which
//! costs it nothing where nobody listens. [Values](value) are looked up later, if anybody asks.

mod marks;
mod record;
mod stream;
#[cfg(test)]
mod tests;
mod value;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;

use super::Protocol;
use super::header::{Header, Told};
use super::mention::{Mention, Mentions};
use super::protocol::ClassLayout;
use record::Begun;
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::{ReadError, ReadStream};
use value::Decoded;

pub(super) use marks::{Mark, Marked};
pub(super) use record::Record;

/// What every bit of a snapshot was for:
/// [`handle_snapshot_traced`](crate::Receiver::handle_snapshot_traced) fills it, and fills it
/// anew for the next packet, in the same memory.
///
/// At the level [`Packed`](crate::Level::Packed) a field takes whole bits. At the level
/// [`Modeled`](crate::Level::Modeled) it takes a fraction, since what was to be expected is less than
/// a bit: the spans are as long as what the field told.
///
/// ```
/// use tightwire::{snapshot, Wire};
/// use tightwire::snapshot::Leaving;
///
/// #[derive(Wire)]
/// struct Player {
///     #[wire(range = 0..=100)]
///     health: u8,
///     name: Option<u16>,
/// }
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<Player>().build()?;
/// let mut sender = snapshot::Sender::new(&protocol);
/// let client = sender.add_receiver(Leaving::Despawn);
/// sender.begin_tick(1);
/// sender.set(7, &Player { health: 90, name: Some(3) })?;
/// let packet = sender.snapshot(client, 1000).unwrap();
///
/// let (mut receiver, mut trace) = (snapshot::Receiver::new(&protocol), snapshot::Trace::default());
/// receiver.handle_snapshot_traced(packet, &mut trace)?;
/// let health = trace.spans().find(|span| span.field == "health").unwrap();
/// assert_eq!((health.class, health.object), ("Player", Some(7.into())));
/// assert_eq!(health.value(), "90");
/// let bits: f64 = trace.spans().map(|span| span.bits).sum();
/// assert_eq!(bits.round() as usize, 8 * packet.len());
///
/// let fields = trace.totals().into_iter().filter(|total| total.part == snapshot::TracePart::Field);
/// assert_eq!(fields.map(|total| total.field).collect::<Vec<_>>(), ["health", "name"]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Trace {
    protocol: Option<Protocol>,
    pub(super) record: Record,
    header: Header,
    check: Option<u16>,
    /// What the packet says of objects, as far as it was read.
    list: Vec<Mention>,
    cells: Vec<u32>,
    /// The object whose values were asked for last: mostly the next ones are of the same.
    decoded: RefCell<Decoded>,
}

/// What a part of a snapshot is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum TracePart {
    /// The number of the snapshot, and whether it is complete.
    Number,
    /// The snapshot that this one is relative to.
    Base,
    /// The tick.
    Tick,
    /// Which earlier snapshots arrived.
    Known,
    /// The check of all that follows.
    Check,
    /// How fields are predicted. Only of the level [`Packed`](crate::Level::Packed).
    Choices,
    /// Which objects the snapshot is about, and which of them are gone.
    Objects,
    /// Of an object: its class, or which of its fields changed. Only of the level
    /// [`Packed`](crate::Level::Packed).
    Object,
    /// A field of an object.
    Field,
    /// What is left of a byte.
    Padding,
}

/// Adjacent bits of a snapshot that belong together.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct TraceSpan<'t> {
    /// What they are about.
    pub part: TracePart,
    /// The object, of [`Object`](TracePart::Object) and [`Field`](TracePart::Field).
    pub object: Option<ObjectId>,
    /// The name of the object's class, else empty.
    pub class: &'t str,
    /// The path of the field within the class, as `inventory[3].count`; `inventory.len()` is the length
    /// of a list. Empty if the span is of no field, or the class has none.
    pub field: &'t str,
    /// The first bit, from the beginning of the packet.
    pub start: f64,
    /// How many there are: none if other spans say everything, as of a `bool` that changed.
    pub bits: f64,
    begun: Begun,
    trace: &'t Trace,
}

/// What a field took, or another part of a snapshot, in all objects together.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct TraceTotal<'t> {
    /// What it is about.
    pub part: TracePart,
    /// The name of the class, of [`Object`](TracePart::Object) and
    /// [`Field`](TracePart::Field), else empty.
    pub class: &'t str,
    /// The path of the field within the class, else empty.
    pub field: &'t str,
    /// How many bits it took.
    pub bits: f64,
    /// How many spans these are of.
    pub spans: usize,
}

impl Trace {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The spans in the order of their bits: each begins where the one before ends, and the last ends
    /// with the packet, or where that was refused.
    ///
    /// What an arithmetic coder says last may take up to 8 bits more than there are, since it leaves out
    /// zeros at the end: such spans are shown as long as the packet has bits.
    pub fn spans(&self) -> impl ExactSizeIterator<Item = TraceSpan<'_>> {
        let begun = &self.record.begun;
        begun.iter().enumerate().map(|(index, &span)| {
            let end = begun.get(index + 1).map_or(self.record.end, |next| next.start);
            let (object, class, field) = self.names(&span);
            let (start, bits) = (span.start, end - span.start);
            TraceSpan {
                part: span.part,
                object,
                class,
                field,
                start,
                bits,
                begun: span,
                trace: self,
            }
        })
    }

    /// What each field of each class took, and what the other parts did, in the order of the
    /// declarations.
    #[must_use]
    pub fn totals(&self) -> Vec<TraceTotal<'_>> {
        let mut totals = BTreeMap::new();
        for span in self.spans() {
            let class = self.mention(&span.begun).map_or(0, |mention| mention.class);
            let key = (span.part, class, if span.class.is_empty() { 0 } else { span.begun.field });
            let TraceSpan { part, class, field, .. } = span;
            let total = totals.entry(key);
            let total = total.or_insert(TraceTotal { part, class, field, bits: 0.0, spans: 0 });
            total.bits += span.bits;
            total.spans += 1;
        }
        totals.into_values().collect()
    }

    /// Forgets the packet before.
    pub(super) fn begin(&mut self, protocol: &Protocol, packet: &[u8]) {
        self.protocol = Some(protocol.clone());
        self.record.begin(packet.len());
        self.header = Header::default();
        self.check = None;
        self.list.clear();
        self.cells.clear();
        self.decoded.get_mut().forget();
    }

    /// Reads a header, and keeps it.
    pub(super) fn read_header(
        &mut self,
        header: &mut Header,
        stream: &mut ReadStream<'_>,
        newest: u32,
        told: impl Fn(u32) -> Option<Told>,
    ) -> Result<(), ReadError> {
        let read = header.serialize(&mut self.record.stream(stream, 0), newest, told);
        self.record.end(stream.position() as f64);
        if read.is_err() {
            self.record.refuse();
        }
        self.header.clone_from(header);
        read
    }

    /// Keeps what was read of objects.
    pub(super) fn keep(&mut self, check: Option<u16>, mentions: &Mentions) {
        self.check = check;
        self.list.clone_from(&mentions.list);
        self.cells.clone_from(&mentions.cells);
    }

    fn names(&self, span: &Begun) -> (Option<ObjectId>, &str, &str) {
        let Some(mention) = self.mention(span) else { return (None, "", "") };
        // Of what was refused before its class was known, nothing is.
        let class = self.class(mention).filter(|class| mention.has_cells_of(class));
        let class_name = class.map_or("", |class| class.declared.schema.name());
        let is_field = span.part == TracePart::Field;
        let field =
            class.filter(|_| is_field).map_or("", |class| class.layout.fields.path(span.field));
        (Some(mention.id), class_name, field)
    }

    /// What is said of the object that a span is of.
    fn mention(&self, span: &Begun) -> Option<&Mention> {
        let is_of_an_object = matches!(span.part, TracePart::Object | TracePart::Field);
        self.list.get(span.object).filter(|_| is_of_an_object)
    }

    fn class(&self, mention: &Mention) -> Option<&ClassLayout> {
        self.protocol.as_ref()?.classes().get(usize::from(mention.class))
    }
}

impl TraceSpan<'_> {
    /// What the bits say, for people: of a field its value, as the class's own text.
    #[must_use]
    pub fn value(&self) -> String {
        self.trace.value(&self.begun)
    }
}

impl TracePart {
    /// In a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Base => "base",
            Self::Tick => "tick",
            Self::Known => "known",
            Self::Check => "check",
            Self::Choices => "choices",
            Self::Objects => "objects",
            Self::Object => "object",
            Self::Field => "field",
            Self::Padding => "padding",
        }
    }
}

impl fmt::Display for TracePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for TraceSpan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceSpan")
            .field("part", &self.part)
            .field("object", &self.object)
            .field("class", &self.class)
            .field("field", &self.field)
            .field("start", &self.start)
            .field("bits", &self.bits)
            .field("value", &self.value())
            .finish()
    }
}
