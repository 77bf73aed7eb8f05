//! Traces of snapshots, from packet to text.

use tightwire::snapshot::{Leaving, Level};
use tightwire::{Wire, snapshot};

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Item {
    #[wire(range = 1..=99)]
    count: u8,
    sharp: bool,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
enum Doing {
    #[default]
    Nothing,
    Flying {
        #[wire(range = 0..=500)]
        height: u16,
    },
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Player {
    #[wire(spatial, min = -128.0, max = 127.5, resolution = 0.5)]
    position: [f32; 3],
    #[wire(max_len = 9)]
    name: String,
    #[wire(max_len = 4)]
    inventory: Vec<Item>,
    doing: Doing,
    target: Option<u16>,
    best: Option<Item>,
    score: i64,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Door {
    open: bool,
}

fn protocol(level: Level) -> snapshot::Protocol {
    let config = snapshot::Config { level, ..snapshot::Config::default() };
    snapshot::Protocol::builder(config).class::<Door>().class::<Player>().build().unwrap()
}

const LEVELS: [Level; 2] = [Level::Packed, Level::Modeled];

fn player(tick: u32) -> Player {
    let moved = (tick % 70) as f32;
    Player {
        position: [1.5 * moved, -moved, 0.5],
        name: if tick < 30 { "Ada" } else { "Grace" }.into(),
        inventory: vec![Item { count: 7, sharp: tick.is_multiple_of(9) }; tick as usize / 5 % 4],
        doing: if (tick / 3).is_multiple_of(2) {
            Doing::Flying { height: 40 }
        } else {
            Doing::Nothing
        },
        target: (tick / 7).is_multiple_of(2).then_some(12),
        best: (tick / 8).is_multiple_of(2).then_some(Item { count: 3, sharp: true }),
        score: -1000 * i64::from(tick / 20),
    }
}

/// Sends packets of sixty ticks, some of which are lost, to two receivers, one of which traces.
fn run(level: Level, mut each: impl FnMut(u32, &[u8], &snapshot::Trace)) {
    let protocol = protocol(level);
    let mut sender = snapshot::Sender::new(&protocol);
    let client = sender.add_receiver(Leaving::Despawn);
    let mut plain = snapshot::Receiver::new(&protocol);
    let mut traced = snapshot::Receiver::new(&protocol);
    let mut trace = snapshot::Trace::new();
    for tick in 1..60 {
        sender.begin_tick(tick);
        for id in 0..5 {
            sender.set(id, &player(tick + id)).unwrap();
        }
        sender.set(5, &Door { open: tick % 8 == 0 }).unwrap();
        let packet = sender.snapshot(client, 4000).unwrap();
        if tick % 7 == 3 {
            continue;
        }
        let received = plain.handle_snapshot(packet);
        assert_eq!(traced.handle_snapshot_traced(packet, &mut trace), received);
        each(tick, packet, &trace);
        assert_eq!(plain.changes(), traced.changes());
        assert_eq!(
            traced.handle_snapshot_traced(packet, &mut trace),
            Err(snapshot::ReceiveError::Late)
        );
        assert_eq!(plain.handle_snapshot(packet), Err(snapshot::ReceiveError::Late));
        sender.handle_ack(client, traced.ack().unwrap());
    }
    // Its whole state: the world, the models, the packets.
    assert_eq!(format!("{:?}", ReceiverState(&plain)), format!("{:?}", ReceiverState(&traced)));
}

/// The whole state of a receiver.
#[derive(Debug)]
#[allow(dead_code)]
struct ReceiverState<'r>(&'r snapshot::Receiver);

#[test]
fn a_traced_receiver_is_as_another_one_and_spans_cover_its_packets() {
    for level in LEVELS {
        run(level, |tick, packet, trace| {
            let mut end = 0.0;
            for span in trace.spans() {
                assert_eq!(span.start, end, "{level:?} {tick}");
                end += span.bits;
                end = if level == Level::Packed { end.round() } else { span.start + span.bits };
            }
            assert_eq!(end, 8.0 * packet.len() as f64, "{level:?} {tick}");
            let totals = trace.totals();
            let total: f64 = totals.iter().map(|total| total.bits).sum();
            assert!((total - end).abs() < 1e-6);
            assert_eq!(totals.iter().map(|total| total.spans).sum::<usize>(), trace.spans().len());
        });
    }
}

#[test]
fn a_field_has_the_value_that_the_object_has() {
    for level in LEVELS {
        let mut seen = std::collections::BTreeMap::<String, usize>::new();
        run(level, |tick, _, trace| {
            for span in trace.spans().filter(|span| span.part == snapshot::TracePart::Field) {
                *seen.entry(format!("{}.{}", span.class, span.field)).or_default() += 1;
                if span.class == "Door" {
                    assert_eq!(span.value(), (tick % 8 == 0).to_string());
                    continue;
                }
                let player = player(tick + span.object.unwrap().0);
                let expected = match span.field {
                    "position" => format!("{:?}", player.position),
                    "name" => format!("{:?}", player.name),
                    "inventory.len()" => player.inventory.len().to_string(),
                    "doing" if player.doing == Doing::Nothing => "Nothing".into(),
                    "doing" => "Flying".into(),
                    "doing.Flying.height" => "40".into(),
                    "target" => format!("{:?}", player.target),
                    "best" if player.best.is_some() => "Some".into(),
                    "best" => "None".into(),
                    "best.count" => "3".into(),
                    "best.sharp" => "true".into(),
                    "score" => player.score.to_string(),
                    field if field.ends_with("].count") => "7".into(),
                    field if field.ends_with("].sharp") => player.inventory[0].sharp.to_string(),
                    field => panic!("no field {field}"),
                };
                let value = span.value();
                // Steps of half a metre are exact.
                assert_eq!(value.replace(".0", ""), expected.replace(".0", ""), "{}", span.field);
            }
        });
        for field in ["Player.position", "Player.name", "Player.inventory[2].count", "Door.open"] {
            assert!(seen.contains_key(field), "{level:?}: {field} in {seen:?}");
        }
    }
}

#[test]
fn the_first_packet_says_what_its_parts_are() {
    run(Level::Packed, |tick, packet, trace| {
        if tick > 2 {
            return;
        }
        let parts: Vec<_> = trace.spans().map(|span| (span.part, span.value())).collect();
        let value =
            |part| parts.iter().find(|(other, _)| *other == part).map(|(_, value)| &**value);
        assert_eq!(value(snapshot::TracePart::Tick), Some(&*tick.to_string()));
        assert_eq!(value(snapshot::TracePart::Number), Some(&*format!("{tick}, complete")));
        assert_eq!(
            value(snapshot::TracePart::Baseline),
            Some(if tick == 1 { "none" } else { "1" })
        );
        assert_eq!(value(snapshot::TracePart::Acked), (tick == 2).then_some("1 of 1"));
        assert_eq!(value(snapshot::TracePart::Objects), Some(if tick == 1 { "6" } else { "5" }));
        let check = trace.spans().find(|span| span.part == snapshot::TracePart::Check).unwrap();
        let at = check.start as usize / 8;
        let sum = u16::from_le_bytes([packet[at], packet[at + 1]]);
        assert_eq!((check.bits, check.value()), (16.0, format!("{sum:#06x}")));
    });
}

#[test]
fn a_refused_packet_is_traced_up_to_the_refusal() {
    for level in LEVELS {
        let protocol = protocol(level);
        let mut sender = snapshot::Sender::new(&protocol);
        let client = sender.add_receiver(Leaving::Despawn);
        sender.begin_tick(1);
        (0..5).for_each(|id| sender.set(id, &player(id)).unwrap());
        let packet = sender.snapshot(client, 4000).unwrap().to_vec();
        let mut trace = snapshot::Trace::new();
        let mut whole = snapshot::Trace::new();
        snapshot::Receiver::new(&protocol).handle_snapshot_traced(&packet, &mut whole).unwrap();
        let mut most = 0;
        for len in 0..packet.len() {
            let mut receiver = snapshot::Receiver::new(&protocol);
            receiver.handle_snapshot_traced(&packet[..len], &mut trace).unwrap_err();
            let spans = trace.spans().len();
            // As in the whole packet, except near the cut: a decoder looks ahead.
            let is_whole = |bit: f64| bit < (8 * len) as f64 - 64.0;
            for (span, expected) in trace.spans().zip(whole.spans()) {
                if !is_whole(expected.start + expected.bits) {
                    break;
                }
                assert_eq!((span.part, span.object), (expected.part, expected.object), "{len}");
                assert_eq!((span.class, span.field), (expected.class, expected.field), "{len}");
                assert_eq!((span.start, span.bits), (expected.start, expected.bits), "{len}");
            }
            assert!(trace.spans().all(|span| span.start < (8 * len) as f64), "{level:?} {len}");
            assert!(trace.spans().all(|span| span.start + span.bits <= (8 * len) as f64));
            most = most.max(spans);
        }
        assert!(most > 20, "{level:?}: {most}");
        // Another packet, and nothing is left of the last.
        snapshot::Receiver::new(&protocol).handle_snapshot_traced(&packet, &mut trace).unwrap();
        assert_eq!(format!("{:?}", trace.totals()), format!("{:?}", whole.totals()));
    }
}
