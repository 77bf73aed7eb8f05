//! Traces: which field each bit of a snapshot belongs to.
//!
//! The code that reads a packet sets [marks](marks), and a tracing [stream](stream) or decoder
//! [records](record) the bit of each. A trace is therefore made by the decoder that everyone uses,
//! and costs that decoder nothing when there is no trace. [Values](value) are decoded later, on
//! demand.

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

use super::header::{Header, HeaderSummary};
use super::protocol::ClassLayout;
use super::update::{ObjectUpdate, ObjectUpdates};
use super::{Level, Protocol};
use record::SpanStart;
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::{ReadError, ReadStream};
use value::Decoded;

pub(super) use marks::{Mark, Marked};
pub(super) use record::SpanRecord;

/// The part of a snapshot that each bit belongs to. Filled by
/// [`handle_snapshot_traced`](crate::Receiver::handle_snapshot_traced), which reuses its memory for
/// the next packet.
///
/// At the level [`Packed`](crate::Level::Packed) a field takes whole bits. At the level
/// [`Modeled`](crate::Level::Modeled) it takes a fraction, since an expected value takes less than
/// a bit: the length of a span is the information in the field.
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
    pub(super) record: SpanRecord,
    header: Header,
    check: Option<u16>,
    /// Updates, as far as they were read.
    list: Vec<ObjectUpdate>,
    cells: Vec<u32>,
    /// The object whose value was asked for last: mostly the next call is for the same one.
    decoded: RefCell<Decoded>,
}

/// Kind of a part of a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum TracePart {
    /// Sequence number of the snapshot, whether it is complete, and its level.
    Number,
    /// The baseline packet.
    Baseline,
    /// The tick.
    Tick,
    /// Acks of earlier snapshots.
    Acked,
    /// The check over the header, the body and the baseline.
    Check,
    /// Prediction modes of fields. Only at the level [`Packed`](crate::Level::Packed).
    Modes,
    /// Ids of the updated objects, and which of them have despawned.
    Objects,
    /// Class of an object, or flags of its fields that changed. Only at the level
    /// [`Packed`](crate::Level::Packed).
    Object,
    /// A field of an object.
    Field,
    /// Bits up to the end of a byte.
    Padding,
}

/// Adjacent bits of a snapshot that belong together.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct TraceSpan<'t> {
    /// The part that the bits belong to.
    pub part: TracePart,
    /// The object of [`Object`](TracePart::Object) and [`Field`](TracePart::Field); `None` for
    /// other parts.
    pub object: Option<ObjectId>,
    /// Name of the object's class; empty for other parts.
    pub class: &'t str,
    /// Path of the field within the class, as `inventory[3].count`; `inventory.len()` is the length
    /// of a list. Empty if the span is of no field, or the class has no fields.
    pub field: &'t str,
    /// First bit, from the beginning of the packet.
    pub start: f64,
    /// Number of bits; zero if other spans tell the value already, such as for a `bool` that changed.
    pub bits: f64,
    starts: SpanStart,
    trace: &'t Trace,
}

/// Sum of the bits of a field, or of another part of a snapshot, over all objects.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct TraceTotal<'t> {
    /// The part that the bits belong to.
    pub part: TracePart,
    /// Name of the class of [`Object`](TracePart::Object) and [`Field`](TracePart::Field); empty
    /// for other parts.
    pub class: &'t str,
    /// Path of the field within the class; empty for other parts.
    pub field: &'t str,
    /// Number of bits.
    pub bits: f64,
    /// Number of spans.
    pub spans: usize,
}

impl Trace {
    /// Creates an empty trace.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Iterates over the spans in the order of their bits: each begins where the one before ends,
    /// and the last ends with the packet, or at the refusal.
    ///
    /// The last symbols of an arithmetic coder may have up to 8 bits more than the packet, since
    /// the coder leaves out zeros at the end: such spans end with the packet.
    pub fn spans(&self) -> impl ExactSizeIterator<Item = TraceSpan<'_>> {
        let starts = &self.record.starts;
        starts.iter().enumerate().map(|(index, &span)| {
            let end = starts.get(index + 1).map_or(self.record.end, |next| next.start);
            let (object, class, field) = self.names(&span);
            let (start, bits) = (span.start, end - span.start);
            TraceSpan {
                part: span.part,
                object,
                class,
                field,
                start,
                bits,
                starts: span,
                trace: self,
            }
        })
    }

    /// Returns the sums for each field of each class, and for the other parts, in the order of the
    /// declarations.
    #[must_use]
    pub fn totals(&self) -> Vec<TraceTotal<'_>> {
        let mut totals = BTreeMap::new();
        for span in self.spans() {
            let class = self.update(&span.starts).map_or(0, |update| update.class);
            let key = (span.part, class, if span.class.is_empty() { 0 } else { span.starts.field });
            let TraceSpan { part, class, field, .. } = span;
            let total = totals.entry(key);
            let total = total.or_insert(TraceTotal { part, class, field, bits: 0.0, spans: 0 });
            total.bits += span.bits;
            total.spans += 1;
        }
        totals.into_values().collect()
    }

    /// Returns the level of the snapshot, which is never [`Level::Auto`].
    #[must_use]
    pub fn level(&self) -> Level {
        self.header.level.into()
    }

    /// Begins the trace of a packet.
    pub(super) fn begin(&mut self, protocol: &Protocol, packet: &[u8]) {
        self.protocol = Some(protocol.clone());
        self.record.begin(packet.len());
        self.header = Header::default();
        self.check = None;
        self.list.clear();
        self.cells.clear();
        self.decoded.get_mut().clear();
    }

    /// Reads a header, and keeps it.
    pub(super) fn read_header(
        &mut self,
        header: &mut Header,
        stream: &mut ReadStream<'_>,
        newest: u32,
        summary: impl Fn(u32) -> Option<HeaderSummary>,
    ) -> Result<(), ReadError> {
        let read = header.serialize(&mut self.record.stream(stream, 0), newest, summary);
        self.record.end(stream.position() as f64);
        if read.is_err() {
            self.record.refuse();
        }
        self.header.clone_from(header);
        read
    }

    /// Keeps the updates that were read.
    pub(super) fn keep(&mut self, check: Option<u16>, updates: &ObjectUpdates) {
        self.check = check;
        self.list.clone_from(&updates.list);
        self.cells.clone_from(&updates.cells);
    }

    fn names(&self, span: &SpanStart) -> (Option<ObjectId>, &str, &str) {
        let Some(update) = self.update(span) else { return (None, "", "") };
        // An object that was refused before its class was read has no names.
        let class = self.class(update).filter(|class| update.has_cells_of(class));
        let class_name = class.map_or("", |class| class.declared.schema.name());
        let is_field = span.part == TracePart::Field;
        let field =
            class.filter(|_| is_field).map_or("", |class| class.layout.fields.path(span.field));
        (Some(update.id), class_name, field)
    }

    /// Returns the update that a span belongs to.
    fn update(&self, span: &SpanStart) -> Option<&ObjectUpdate> {
        let has_object = matches!(span.part, TracePart::Object | TracePart::Field);
        self.list.get(span.object).filter(|_| has_object)
    }

    fn class(&self, update: &ObjectUpdate) -> Option<&ClassLayout> {
        self.protocol.as_ref()?.classes().get(usize::from(update.class))
    }
}

impl TraceSpan<'_> {
    /// Returns the value of the bits as text; for a field, in the text form of its class.
    #[must_use]
    pub fn value(&self) -> String {
        self.trace.value(&self.starts)
    }
}

impl TracePart {
    /// Returns the name of the part, one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Baseline => "baseline",
            Self::Tick => "tick",
            Self::Acked => "acked",
            Self::Check => "check",
            Self::Modes => "modes",
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
