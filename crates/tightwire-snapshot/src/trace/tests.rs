//! Traces of random worlds: they cover every packet, and reading with them is reading.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::model::Model;
use crate::random_worlds::{
    self, FakeBaseline, MAX_OBJECTS, Rng, any_layout, apply, contents, damaged, random_updates,
    volume,
};
use crate::{Config, PacketLevel, body};

/// The levels of a stream of packets; `None` if they change at random.
const LEVELS: [Option<PacketLevel>; 3] =
    [Some(PacketLevel::Packed), Some(PacketLevel::Modeled), None];

/// Byte at which the body begins in these packets.
const AT: usize = 3;

/// Reads the body of a packet after a header of some bits.
fn read_traced(
    (protocol, level): (&Protocol, PacketLevel),
    packet: &[u8],
    baseline: &FakeBaseline,
    model: &mut Model,
    updates: &mut ObjectUpdates,
    trace: &mut Trace,
) -> Result<u16, ReadError> {
    trace.begin(protocol, packet);
    trace.record.mark(0.0, Mark::Number);
    trace.record.end((8 * AT - 5) as f64);
    let tracing = Some((&mut trace.record, AT));
    let read = body::read((protocol, level), &packet[AT..], updates, baseline, model, tracing);
    trace.keep(None, updates);
    read
}

/// Checks that each span begins where the one before ends, at a bit of the packet; returns the last
/// end.
fn end_of(trace: &Trace, packet: &[u8]) -> f64 {
    let mut end = 0.0;
    for span in trace.spans() {
        // Lengths are differences of fractional positions, which round.
        assert!((span.start - end).abs() < 1e-9, "{span:?} {end}");
        assert!(span.bits > 0.0 || span.bits == 0.0 && span.part == TracePart::Field);
        end = span.start + span.bits;
    }
    assert!(end <= (8 * packet.len()) as f64);
    end
}

/// Writes and reads the packets of a random world.
fn packets(
    level: Option<PacketLevel>,
    seed: u64,
    mut check: impl FnMut(&mut Rng, (&Protocol, PacketLevel), &[u8], &FakeBaseline, &Model, &Trace),
) {
    let rng = &mut Rng(random_worlds::seed(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let layouts = (0..1 + rng.below(3)).map(|_| any_layout(rng)).collect();
    let config = Config { max_objects: MAX_OBJECTS, ..Config::default() };
    let protocol = Protocol::of_layouts(config, layouts);
    let (mut baseline, mut model) = (FakeBaseline::default(), Model::default());
    let (mut updates, mut again) = (ObjectUpdates::default(), ObjectUpdates::default());
    let mut trace = Trace::new();
    for _ in 0..20 {
        let any = if rng.is_one_in(2) { PacketLevel::Packed } else { PacketLevel::Modeled };
        let form = (&protocol, level.unwrap_or(any));
        random_updates(rng, &protocol, &baseline, &mut updates);
        let (mut written, mut read) = (model.clone(), model.clone());
        let mut bytes = Vec::new();
        let memory = &mut Vec::new();
        let most = 1 << 17;
        assert!(body::write(form, &mut updates, &baseline, &mut written, &mut bytes, memory, most));
        let packet = [&[0; AT], &bytes[..]].concat();
        let read = read_traced(form, &packet, &baseline, &mut read, &mut again, &mut trace);
        assert!(read.is_ok(), "{read:?}");
        assert_eq!(contents(&again), contents(&updates), "seed {seed}");
        check(rng, form, &packet, &baseline, &model, &trace);
        model = written;
        apply(rng, &mut baseline, &updates);
    }
}

#[test]
fn spans_cover_every_packet() {
    let worlds = volume(25, 400);
    for (level, seed) in
        LEVELS.into_iter().flat_map(|level| (0..worlds).map(move |seed| (level, seed)))
    {
        packets(level, seed, |_, (protocol, coded), packet, _, _, trace| {
            assert_eq!(end_of(trace, packet), (8 * packet.len()) as f64, "{level:?} {seed}");
            let total: f64 = trace.totals().iter().map(|total| total.bits).sum();
            assert!((total - (8 * packet.len()) as f64).abs() < 1e-6);
            let padding = trace.spans().filter(|span| span.part == TracePart::Padding);
            assert!(padding.map(|span| span.bits).all(|bits| bits < 8.0));
            // At this level every present group takes bits.
            for (place, update) in trace.list.iter().enumerate() {
                let layout = &protocol.classes()[usize::from(update.class)].layout;
                let cells = &trace.cells[update.start..][..update.columns];
                let there = (0..layout.groups.len())
                    .filter(|&group| update.columns > 0 && layout.is_present(group, cells))
                    .map(|group| layout.fields.path(layout.fields.of_group(group)));
                let summary = trace.spans().filter(|span| span.starts.object == place);
                let summary = summary.filter(|span| span.part == TracePart::Field);
                if coded == PacketLevel::Modeled {
                    assert!(summary.map(|span| span.field).eq(there), "{level:?} {seed}");
                }
            }
        });
    }
}

#[test]
fn a_refused_packet_is_traced_up_to_the_refusal() {
    let worlds = volume(6, 60);
    let (mut updates, mut trace) = (ObjectUpdates::default(), Trace::new());
    for level in LEVELS {
        let mut refused = 0;
        for seed in 0..worlds {
            packets(level, seed, |rng, form, packet, baseline, model, _| {
                for _ in 0..3 {
                    let packet = [&packet[..AT], &damaged(rng, &packet[AT..])].concat();
                    let model = &mut model.clone();
                    let read =
                        read_traced(form, &packet, baseline, model, &mut updates, &mut trace);
                    end_of(&trace, &packet);
                    trace.spans().for_each(|span| drop(span.value()));
                    refused += usize::from(read.is_err());
                }
            });
        }
        assert!(refused > 50, "{level:?}: {refused}");
    }
}
