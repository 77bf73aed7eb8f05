//! Traces of random worlds: they cover every packet, and reading with them is reading.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::model::Model;
use crate::random_worlds::{
    self, Dice, Known, MOST, any_layout, damaged, learn, mention, said, volume,
};
use crate::{Config, Level, body};

const LEVELS: [Level; 2] = [Level::Packed, Level::Modeled];

/// Byte at which the body begins in these packets.
const AT: usize = 3;

/// Reads the body of a packet after a header of some bits.
fn read_traced(
    protocol: &Protocol,
    packet: &[u8],
    known: &Known,
    model: &mut Model,
    mentions: &mut Mentions,
    trace: &mut Trace,
) -> Result<u16, ReadError> {
    trace.begin(protocol, packet);
    trace.record.mark(0.0, Mark::Number);
    trace.record.end((8 * AT - 5) as f64);
    let tracing = Some((&mut trace.record, AT));
    let read = body::read(protocol, &packet[AT..], mentions, known, model, tracing);
    trace.keep(None, mentions);
    read
}

/// Checks that each span begins where the one before ends, at a bit of the packet; returns the last
/// end.
fn end_of(trace: &Trace, packet: &[u8]) -> f64 {
    let mut end = 0.0;
    for span in trace.spans() {
        assert_eq!(span.start, end, "{span:?}");
        assert!(span.bits > 0.0 || span.bits == 0.0 && span.part == TracePart::Field);
        end = span.start + span.bits;
    }
    assert!(end <= (8 * packet.len()) as f64);
    end
}

/// Writes and reads the packets of a random world.
fn packets(
    level: Level,
    seed: u64,
    mut check: impl FnMut(&mut Dice, &Protocol, &[u8], &Known, &Model, &Trace),
) {
    let dice = &mut Dice(random_worlds::seed(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let layouts = (0..1 + dice.below(3)).map(|_| any_layout(dice)).collect();
    let config = Config { level, max_objects: MOST, ..Config::default() };
    let protocol = Protocol::of_layouts(config, layouts);
    let (mut known, mut model) = (Known::default(), Model::new(&protocol));
    let (mut mentions, mut again) = (Mentions::default(), Mentions::default());
    let mut trace = Trace::new();
    for _ in 0..20 {
        mention(dice, &protocol, &known, &mut mentions);
        let (mut written, mut read) = (model.clone(), model.clone());
        let mut bytes = Vec::new();
        let memory = &mut Vec::new();
        let most = 1 << 17;
        assert!(body::write(
            &protocol,
            &mut mentions,
            &known,
            &mut written,
            &mut bytes,
            memory,
            most
        ));
        let packet = [&[0; AT], &bytes[..]].concat();
        let read = read_traced(&protocol, &packet, &known, &mut read, &mut again, &mut trace);
        assert!(read.is_ok(), "{read:?}");
        assert_eq!(said(&again), said(&mentions), "seed {seed}");
        check(dice, &protocol, &packet, &known, &model, &trace);
        model = written;
        learn(dice, &mut known, &mentions);
    }
}

#[test]
fn spans_cover_every_packet() {
    let worlds = volume(25, 400);
    for (level, seed) in
        LEVELS.into_iter().flat_map(|level| (0..worlds).map(move |seed| (level, seed)))
    {
        packets(level, seed, |_, protocol, packet, _, _, trace| {
            assert_eq!(end_of(trace, packet), (8 * packet.len()) as f64, "{level:?} {seed}");
            let total: f64 = trace.totals().iter().map(|total| total.bits).sum();
            assert!((total - (8 * packet.len()) as f64).abs() < 1e-6);
            let padding = trace.spans().filter(|span| span.part == TracePart::Padding);
            assert!(padding.map(|span| span.bits).all(|bits| bits < 8.0));
            // At this level every present group takes bits.
            for (place, mention) in trace.list.iter().enumerate() {
                let layout = &protocol.classes()[usize::from(mention.class)].layout;
                let cells = &trace.cells[mention.start..][..mention.columns];
                let there = (0..layout.groups.len())
                    .filter(|&group| mention.columns > 0 && layout.is_present(group, cells))
                    .map(|group| layout.fields.path(layout.fields.of_group(group)));
                let told = trace.spans().filter(|span| span.begun.object == place);
                let told = told.filter(|span| span.part == TracePart::Field);
                if level == Level::Modeled {
                    assert!(told.map(|span| span.field).eq(there), "{level:?} {seed}");
                }
            }
        });
    }
}

#[test]
fn a_refused_packet_is_traced_up_to_the_refusal() {
    let worlds = volume(6, 60);
    let (mut mentions, mut trace) = (Mentions::default(), Trace::new());
    for level in LEVELS {
        let mut refused = 0;
        for seed in 0..worlds {
            packets(level, seed, |dice, protocol, packet, known, model, _| {
                for _ in 0..3 {
                    let packet = [&packet[..AT], &damaged(dice, &packet[AT..])].concat();
                    let model = &mut model.clone();
                    let read =
                        read_traced(protocol, &packet, known, model, &mut mentions, &mut trace);
                    end_of(&trace, &packet);
                    trace.spans().for_each(|span| drop(span.value()));
                    refused += usize::from(read.is_err());
                }
            });
        }
        assert!(refused > 50, "{level:?}: {refused}");
    }
}
