//! X-rays of received snapshots.

use std::collections::BTreeMap;

use tightwire::inspect::{Xray, XraySpan};
use tightwire::message::FRAME_PREFIX;
use tightwire::schema::Schema;
use tightwire::snapshot;
use tightwire::stream::Shape;

use super::game::{Cube, Player};

/// Operations of the classes' fields as text, by class and field.
#[derive(Debug)]
pub(super) struct FieldOps {
    fields: BTreeMap<String, String>,
}

impl FieldOps {
    pub(super) fn new() -> Self {
        let mut fields = BTreeMap::new();
        for (class, schema) in [("Player", Schema::of::<Player>()), ("Cube", Schema::of::<Cube>())]
        {
            add(&mut fields, class, &schema);
        }
        Self { fields }
    }

    /// Makes the x-ray of a frame with a snapshot, given its trace.
    pub(super) fn xray(
        &self,
        title: &str,
        time: f64,
        frame: &[u8],
        trace: &snapshot::Trace,
    ) -> Xray {
        let (prefix, packet) = frame.split_at(frame.len().min(FRAME_PREFIX + PLAY_HEADER));
        let mut xray = Xray::of_snapshot(title, time, packet, trace);
        let prefix_bits = prefix.len() as u64 * 8;
        for span in &mut xray.spans {
            span.start += prefix_bits as f64;
            let field = span.path.split_once("].").map_or("", |(_, field)| field);
            if let Some(ops) = self.fields.get(&format!("{}.{field}", span.group)) {
                span.range.clone_from(ops);
            }
        }
        xray.spans.splice(..0, prefix_spans(prefix));
        let hex = prefix.iter().map(|byte| format!("{byte:02x}"));
        xray.bytes.insert_str(0, &hex.collect::<String>());
        xray.bits += prefix_bits;
        xray
    }
}

/// Bytes of the play layer's header, behind the prefix of the frame.
pub(super) const PLAY_HEADER: usize = 2;

/// Returns the spans before a snapshot: the frame's size and number, and the header
/// that tells the client how early its inputs arrive.
fn prefix_spans(prefix: &[u8]) -> Vec<XraySpan> {
    let &[size_low, size_high, number, header_low, header_high] = prefix else { return Vec::new() };
    let size = u16::from_le_bytes([size_low, size_high]);
    let header = u16::from_le_bytes([header_low, header_high]);
    let (has_input, is_exact) = (header & 1 == 1, header >> 15 == 1);
    let (ahead, margin) = (i32::from(header >> 1 & 127) - 64, i32::from(header >> 8 & 127) - 64);
    let margin = match margin {
        -64 => "no new input".into(),
        eighths => format!("{} ticks", f64::from(eighths) / 8.0),
    };
    let fields = [
        ("size", 16, format!("{size} bytes"), ""),
        ("frame", 8, number.to_string(), "8 is a snapshot"),
        ("has_input", 1, has_input.to_string(), ""),
        ("newest_input", 7, format!("{ahead:+} ticks"), "after the tick of the snapshot"),
        ("input_margin", 7, margin, "the latest input came so early"),
        ("owned_exact", 1, is_exact.to_string(), "the client's own objects are up to date"),
    ];
    let mut start = 0;
    let spans = fields.into_iter().map(|(name, bits, value, range)| {
        start += bits;
        XraySpan {
            path: name.into(),
            start: f64::from(start - bits),
            bits: bits.into(),
            value,
            range: range.into(),
            kind: "header".into(),
            group: "play".into(),
        }
    });
    spans.collect()
}

/// Adds the bits of a snapshot to the totals by field.
pub(super) fn add_fields(fields: &mut BTreeMap<String, f64>, trace: &snapshot::Trace) {
    for total in trace.totals() {
        let name = match total.part {
            snapshot::TracePart::Field => format!("{}.{}", total.class, total.field),
            snapshot::TracePart::Objects | snapshot::TracePart::Object => "which objects".into(),
            snapshot::TracePart::Check => "check".into(),
            snapshot::TracePart::Padding => "padding".into(),
            snapshot::TracePart::Modes => "modes".into(),
            _ => "header".into(),
        };
        *fields.entry(name).or_default() += total.bits;
    }
}

fn add(words: &mut BTreeMap<String, String>, class: &str, schema: &Schema) {
    let Shape::Struct { fields, .. } = schema.root() else { return };
    for field in fields {
        if let Shape::Op(op) = &field.shape {
            // The x-ray already names the field: the operation with its range tells more.
            words.insert(format!("{class}.{}", field.name), op.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use tightwire::snapshot::{self, Leaving, Level};

    use super::*;
    use crate::game;

    #[test]
    fn every_bit_of_a_snapshot_is_for_something() {
        for level in [Level::Packed, Level::Modeled] {
            let protocol = game::protocol(level).unwrap_or_else(|error| unreachable!("{error}"));
            let mut sender = snapshot::Sender::new(&protocol);
            let client = sender.add_receiver(Leaving::Despawn);
            sender.begin_tick(1);
            for id in 0..20u32 {
                let position = [id as f32, 2.0, 0.16];
                let rotation = [0.0, 0.0, 0.0, 1.0];
                let cube = Cube { position, rotation, awake: id % 2 == 0 };
                assert_eq!(sender.set(id, &cube), Ok(()));
            }
            let packet = sender.snapshot(client, 1000).map(<[u8]>::to_vec).unwrap_or_default();
            let mut trace = snapshot::Trace::new();
            let received =
                snapshot::Receiver::new(&protocol).handle_snapshot_traced(&packet, &mut trace);
            assert!(received.is_ok());
            let frame = [&[200, 0, 8, 0x87, 0xcc], &packet[..]].concat();
            let xray = FieldOps::new().xray("Snapshot", 0.0, &frame, &trace);
            let values: Vec<_> = xray.spans.iter().take(6).map(|span| &span.value[..]).collect();
            assert_eq!(values, ["200 bytes", "8", "true", "+3 ticks", "1.5 ticks", "true"]);
            let end = xray.spans.iter().fold(0.0, |at, span| {
                assert!((span.start - at).abs() < 1e-6, "{span:?}");
                span.start + span.bits
            });
            assert!((end - xray.bits as f64).abs() < 1e-6, "{end}");
            let position = xray.spans.iter().find(|span| span.path == "Cube[7].position");
            let Some(position) = position else { unreachable!("{:#?}", xray.spans) };
            assert!(position.value.contains('7'), "{position:?}");
            assert!(position.range.contains("31.9"), "{position:?}");
            let mut fields = BTreeMap::new();
            add_fields(&mut fields, &trace);
            let bits: f64 = fields.values().sum();
            assert!((bits + 40.0 - xray.bits as f64).abs() < 1e-6, "{fields:?}");
            assert!(fields["Cube.position"] > fields["Cube.awake"], "{fields:?}");
        }
    }
}
