//! X-rays: packets with the bits of each field, for pages and tools.

use std::fmt::Write as _;
use std::mem::take;

use serde::Serialize;
use tightwire_core::stream::{Op, Trace};
use tightwire_snapshot as snapshot;

/// One packet: its bytes, and the bits of each field.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct Xray {
    /// Kind of the packet, source and destination.
    pub title: String,
    /// Time of the packet, in seconds since the capture began.
    pub time: f64,
    /// Bytes of the whole packet, hexadecimal.
    pub bytes: String,
    /// Number of bits in `bytes`.
    pub bits: u64,
    /// Refusal of the packet, as a sentence with path, bit and reason; `None` if it was decoded.
    pub refused: Option<String>,
    /// Bit of `bytes` at which the packet was refused; `None` if it was decoded, or the bit is not
    /// known.
    pub refused_at: Option<u64>,
    /// Spans in the order of their bits, without overlap; together they cover the packet.
    pub spans: Vec<XraySpan>,
}

/// A run of bits that belong to one field.
#[derive(Serialize, Clone, PartialEq, Debug, Default)]
pub struct XraySpan {
    /// Path of the field in the packet, as `Player.items[1].count`.
    pub path: String,
    /// Position of the first bit; fractional where a model codes fields in less than whole bits.
    pub start: f64,
    /// Number of bits that the field takes.
    pub bits: f64,
    /// The value of the field, shortened.
    pub value: String,
    /// Arguments of the operation: `0..=100`.
    pub range: String,
    /// Name of the operation, or `header`, `check`, `coded`, `padding`.
    pub kind: String,
    /// Message, class or field that decides the span's colour.
    pub group: String,
}

/// Maximum number of spans. The remaining fields of a packet share one span: a hostile packet with
/// as many fields as bits must not freeze the page.
const MAX_SPANS: usize = 16_384;

/// Maximum length of a value, in characters: a blob may be as long as its packet.
const MAX_VALUE: usize = 160;

impl Xray {
    /// Makes the x-ray of a decoded packet. Bytes of `packet` before those of the trace, such as a
    /// checksum or a protocol id, become its header.
    #[must_use]
    pub fn of_trace(title: impl Into<String>, time: f64, packet: &[u8], trace: &Trace) -> Self {
        let before = packet.len().saturating_sub(trace.bytes().len()) as u64 * 8;
        let mut spans = Spans::new(packet.len() as u64 * 8);
        if before > 0 {
            spans.push(XraySpan {
                path: "protection".into(),
                bits: before as f64,
                kind: "header".into(),
                group: "protection".into(),
                ..XraySpan::default()
            });
        }
        for node in trace.spans() {
            let Some(op) = node.op() else { continue };
            if spans.is_full() {
                break;
            }
            let path = node.path();
            spans.push(XraySpan {
                group: group_in(&path),
                path,
                start: (before + node.bits().start) as f64,
                bits: node.bit_count() as f64,
                value: node.value().map_or(String::new(), |value| shortened(value.to_string())),
                range: range_of(op),
                kind: op.name().into(),
            });
        }
        let rest = if trace.failure().is_some() { Remainder::Unread } else { Remainder::Padding };
        Self {
            title: title.into(),
            time,
            bytes: hex(packet),
            bits: packet.len() as u64 * 8,
            refused: trace.refusal().map(|refusal| refusal.to_string()),
            refused_at: trace.failure().map(|(_, bit)| before + bit),
            spans: spans.finish(rest),
        }
    }

    /// Makes the x-ray of a snapshot that was read with a trace.
    #[must_use]
    pub fn of_snapshot(
        title: impl Into<String>,
        time: f64,
        packet: &[u8],
        trace: &snapshot::Trace,
    ) -> Self {
        let bits = packet.len() as u64 * 8;
        let mut spans = Spans::new(bits);
        spans.push_snapshot(0.0, trace);
        Self {
            title: title.into(),
            time,
            bytes: hex(packet),
            bits,
            refused: None,
            refused_at: None,
            spans: spans.finish(Remainder::Unread),
        }
    }

    /// Replaces the last `length` bytes of the field at `path` by the spans of the snapshot in
    /// them, or marks the snapshot with the reason why it could not be decoded.
    pub fn open_snapshot(
        &mut self,
        path: &str,
        length: usize,
        trace: Result<&snapshot::Trace, &str>,
    ) {
        let is_it = |span: &XraySpan| span.path == path;
        let Some(place) = self.spans.iter().position(is_it) else { return };
        let behind = self.spans.split_off(place + 1);
        let Some(whole) = self.spans.pop() else { return };
        let end = whole.start + whole.bits;
        let begin = (end - length as f64 * 8.0).max(whole.start);
        let mut spans = Spans { spans: take(&mut self.spans), at: whole.start, end };
        spans.push(XraySpan {
            path: "length".into(),
            bits: begin - whole.start,
            value: format!("{length} bytes"),
            kind: "header".into(),
            group: "snapshot".into(),
            ..whole.clone()
        });
        match trace {
            Ok(trace) => spans.push_snapshot(begin, trace),
            Err(reason) => spans.push(XraySpan {
                start: begin,
                bits: end - begin,
                value: reason.into(),
                kind: "coded".into(),
                ..whole
            }),
        }
        self.spans = spans.finish(Remainder::Unread);
        self.spans.extend(behind);
    }

    /// Makes the x-ray of bytes that could not be decoded, with the reason.
    #[must_use]
    pub fn of_bytes(
        title: impl Into<String>,
        time: f64,
        packet: &[u8],
        refused: impl Into<String>,
    ) -> Self {
        let bits = packet.len() as u64 * 8;
        Self {
            title: title.into(),
            time,
            bytes: hex(packet),
            bits,
            refused: Some(refused.into()),
            refused_at: Some(0),
            spans: Spans::new(bits).finish(Remainder::Unread),
        }
    }
}

/// Meaning of the bits after the last field.
enum Remainder {
    /// Zeros up to a whole byte.
    Padding,
    /// Bits after the one at which the packet was refused.
    Unread,
}

/// Spans in the order of their bits; gaps between them become padding.
struct Spans {
    spans: Vec<XraySpan>,
    /// Position behind the last span, in bits.
    at: f64,
    end: f64,
}

impl Spans {
    fn new(bits: u64) -> Self {
        Self { spans: Vec::new(), at: 0.0, end: bits as f64 }
    }

    fn is_full(&self) -> bool {
        self.spans.len() >= MAX_SPANS
    }

    fn push(&mut self, mut span: XraySpan) {
        let end = rounded(span.start + span.bits).clamp(self.at, self.end);
        let start = span.start.clamp(self.at, end);
        self.fill(rounded(start), "padding");
        (span.start, span.bits) = (self.at, rounded(end - self.at));
        self.at = end;
        self.spans.push(span);
    }

    /// Appends the spans of a snapshot that begins at bit `begin`.
    fn push_snapshot(&mut self, begin: f64, trace: &snapshot::Trace) {
        for span in trace.spans() {
            if self.is_full() {
                break;
            }
            let (class, field) = (span.class, span.field);
            let path = match span.object {
                Some(id) if field.is_empty() => format!("{class}[{id}]"),
                Some(id) => format!("{class}[{id}].{field}"),
                None => span.part.name().into(),
            };
            self.push(XraySpan {
                path,
                start: begin + span.start,
                bits: span.bits,
                value: shortened(span.value()),
                range: String::new(),
                kind: kind_of(span.part).into(),
                group: if class.is_empty() { "snapshot" } else { class }.into(),
            });
        }
    }

    fn fill(&mut self, until: f64, what: &str) {
        // Sums of fractions miss whole bits by a rounding error.
        if until - self.at > 1.5e-3 {
            self.spans.push(XraySpan {
                path: what.into(),
                start: self.at,
                bits: rounded(until - self.at),
                kind: "padding".into(),
                group: "padding".into(),
                ..XraySpan::default()
            });
            self.at = until;
        }
    }

    fn finish(mut self, rest: Remainder) -> Vec<XraySpan> {
        let what = match rest {
            _ if self.is_full() => "more fields than are shown",
            Remainder::Padding => "padding",
            Remainder::Unread => "not read",
        };
        self.fill(self.end, what);
        self.spans
    }
}

/// Returns the arguments of an operation as text, without its name.
fn range_of(op: &Op) -> String {
    op.to_string().strip_prefix(op.name()).unwrap_or_default().trim_start().into()
}

/// Returns the [kind](XraySpan::kind) of a part of a snapshot.
#[must_use]
pub fn kind_of(part: snapshot::TracePart) -> &'static str {
    match part {
        snapshot::TracePart::Field | snapshot::TracePart::Object => "field",
        snapshot::TracePart::Check => "check",
        snapshot::TracePart::Padding => "padding",
        _ => "header",
    }
}

/// Returns the [group](XraySpan::group) of a field: the step of its path that contains the field,
/// `Input` in `Message.Input.action`. A step that is only a number is joined to the named step
/// before it.
#[must_use]
pub fn group_in(path: &str) -> String {
    let mut steps = names_in(path);
    steps.pop();
    let is_name = |step: &String| step.chars().any(|char| !char.is_ascii_digit());
    let from = steps.iter().rposition(is_name).unwrap_or(0);
    steps[from..].join(".")
}

/// Returns the name that decides a field's colour, on pages and in terminals; `xray.js` has the
/// same rule.
#[must_use]
pub fn family(path: &str, group: &str) -> String {
    let names = names_in(path);
    let field = match names.iter().position(|name| name == group) {
        Some(at) => names.get(at + 1),
        None => names.last(),
    };
    match (field, group) {
        (field, "") => field.cloned().unwrap_or_default(),
        (Some(field), _) if field != group => format!("{group}.{field}"),
        _ => group.into(),
    }
}

/// Returns the steps of a path, without indices.
fn names_in(path: &str) -> Vec<String> {
    let steps = path.split('.').map(|step| step.split('[').next().unwrap_or(step));
    steps.filter(|step| !step.is_empty()).map(String::from).collect()
}

/// Rounds to thousandths of a bit, to drop rounding errors.
fn rounded(bits: f64) -> f64 {
    (bits * 1e3).round() / 1e3
}

fn shortened(mut value: String) -> String {
    if let Some((end, _)) = value.char_indices().nth(MAX_VALUE) {
        value.truncate(end);
        value.push('…');
    }
    value
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use tightwire_core::packet::{Identity, Protection};
    use tightwire_core::schema::Schema;
    use tightwire_core::stream::{Wire, encode};

    use super::*;

    #[derive(Wire, Default)]
    struct Item {
        #[wire(range = 0..=64)]
        count: u8,
    }

    #[derive(Wire, Default)]
    struct Player {
        #[wire(range = 0..=100)]
        health: u8,
        #[wire(max_len = 3)]
        items: Vec<Item>,
    }

    fn xray(header: &[u8], packet: &[u8]) -> Xray {
        let identity = Identity::new("arena", "1", Protection::None, Schema::of::<Player>());
        let trace = identity.explain(packet);
        Xray::of_trace("Player", 1.5, &[header, packet].concat(), &trace)
    }

    fn covers(xray: &Xray) -> bool {
        let mut at = 0.0;
        for span in &xray.spans {
            if span.start != at || span.bits < 0.0 {
                return false;
            }
            at += span.bits;
        }
        at == xray.bits as f64
    }

    #[test]
    fn spans_cover_header_fields_and_padding() {
        let mut buffer = [0; 8];
        let items = vec![Item { count: 5 }, Item { count: 64 }];
        let packet = encode(&Player { health: 77, items }, &mut buffer).unwrap_or_default();
        let xray = xray(&[1, 2, 3, 4], packet);
        assert!(covers(&xray), "{xray:#?}");
        let named: Vec<_> = xray
            .spans
            .iter()
            .map(|span| format!("{} {} {}", span.group, span.path, span.value))
            .collect();
        assert_eq!(
            named,
            [
                "protection protection ",
                "Player Player.health 77",
                "items Player.items.len 2",
                "items Player.items[0].count 5",
                "items Player.items[1].count 64",
                "padding padding ",
            ]
        );
        assert_eq!((xray.bits, xray.refused), (56, None));
        assert_eq!(xray.bytes, "010203044d0b40");
    }

    #[test]
    fn colours_are_by_names_of_the_path() {
        let named = |path: &str| family(path, &group_in(path));
        assert_eq!(named("Message.Input.action"), "Input.action");
        assert_eq!(named("Message.Input.stick[1]"), "Input.stick");
        assert_eq!(named("Packet.State.0.tick"), "State.0.tick");
        assert_eq!(named("Packet.Say.0"), "Say.0");
        assert_eq!(named("Packet"), "Packet");
        assert_eq!(family("Cube[17].body.position", "Cube"), "Cube.body");
    }

    #[test]
    fn bits_after_a_refusal_are_shown_as_not_read() {
        let xray = xray(&[], &[0xff, 0xff]);
        assert!(covers(&xray), "{xray:#?}");
        assert_eq!(xray.refused.as_deref(), Some("Player.health at bit 0: 127 is not in 0..=100"));
        assert_eq!(xray.spans.last().map(|span| span.path.as_str()), Some("not read"));
    }

    #[test]
    fn a_packet_of_too_many_fields_is_still_covered() {
        let identity =
            Identity::new("arena", "1", Protection::None, Schema::of::<[bool; 20_000]>());
        let packet = [0xff; 2500];
        let xray = Xray::of_trace("bits", 0.0, &packet, &identity.explain(&packet));
        assert!(covers(&xray));
        assert_eq!(xray.spans.len(), MAX_SPANS + 1);
    }
}
