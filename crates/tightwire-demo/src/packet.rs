//! X-rays of received snapshots.

use std::collections::BTreeMap;

use tightwire::inspect::Xray;
use tightwire::schema::Schema;
use tightwire::snapshot;
use tightwire::stream::Shape;

use super::game::{Cube, Player};

/// Operations of the classes' fields as text, by class and field.
#[derive(Debug)]
pub(super) struct Words {
    fields: BTreeMap<String, String>,
}

impl Words {
    pub(super) fn new() -> Self {
        let mut fields = BTreeMap::new();
        for (class, schema) in [("Player", Schema::of::<Player>()), ("Cube", Schema::of::<Cube>())]
        {
            add(&mut fields, class, &schema);
        }
        Self { fields }
    }

    /// Makes the x-ray of a snapshot, given its trace.
    pub(super) fn xray(
        &self,
        title: &str,
        time: f64,
        packet: &[u8],
        trace: &snapshot::Trace,
    ) -> Xray {
        let mut xray = Xray::of_snapshot(title, time, packet, trace);
        for span in &mut xray.spans {
            let field = span.path.split_once("].").map_or("", |(_, field)| field);
            if let Some(words) = self.fields.get(&format!("{}.{field}", span.group)) {
                span.range.clone_from(words);
            }
        }
        xray
    }
}

/// Adds the bits of a snapshot to the totals by field.
pub(super) fn add_fields(fields: &mut BTreeMap<String, f64>, trace: &snapshot::Trace) {
    for total in trace.totals() {
        let name = match total.part {
            snapshot::TracePart::Field => format!("{}.{}", total.class, total.field),
            snapshot::TracePart::Objects | snapshot::TracePart::Object => "which objects".into(),
            snapshot::TracePart::Check => "check".into(),
            snapshot::TracePart::Padding => "padding".into(),
            snapshot::TracePart::Choices => "choices".into(),
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
            let xray = Words::new().xray("Snapshot", 0.0, &packet, &trace);
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
            assert!((bits - xray.bits as f64).abs() < 1e-6, "{fields:?}");
            assert!(fields["Cube.position"] > fields["Cube.awake"], "{fields:?}");
        }
    }
}
