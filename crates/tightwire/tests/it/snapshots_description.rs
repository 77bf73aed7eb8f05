//! Snapshot protocols as data: the same worlds, and no harm by a hostile description.

use tightwire::snapshot::{Leaving, Level};
use tightwire::{Wire, decode, encode, snapshot};

use crate::common::mutate::mutate;
use crate::common::rng::Rng;
use crate::common::volume::volume;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Ship {
    #[wire(spatial, min = -100.0, max = 100.0, resolution = 0.01)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -20.0, max = 20.0, resolution = 0.05)]
    velocity: [f32; 3],
    cloaked: bool,
    #[wire(when = !self.cloaked, range = 0..=100)]
    shield: u8,
    #[wire(max_len = 8)]
    name: String,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
enum Pickup {
    #[default]
    Health,
    Ammo {
        #[wire(range = 1..=50)]
        rounds: u8,
    },
}

fn protocol(level: Level) -> snapshot::Protocol {
    let config = snapshot::Config { level, ..snapshot::Config::default() };
    snapshot::Protocol::builder(config).class::<Ship>().class::<Pickup>().build().unwrap()
}

fn bytes_of(description: &snapshot::Description) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 16];
    encode(&description.clone(), &mut buffer).unwrap().to_vec()
}

#[test]
fn worlds_are_the_same_by_the_description() {
    for level in [Level::Packed, Level::Modeled] {
        let protocol = protocol(level);
        let described: snapshot::Description = decode(&bytes_of(&protocol.description())).unwrap();
        assert_eq!(described, protocol.description());
        let elsewhere = snapshot::Protocol::from_description(&described).unwrap();
        assert_eq!(elsewhere.fingerprint(), protocol.fingerprint());
        assert_eq!(elsewhere.description(), described);
        assert_eq!(
            [elsewhere.class_name(0), elsewhere.class_name(1)],
            [Some("Ship"), Some("Pickup")]
        );

        let mut sender = snapshot::Sender::new(&protocol);
        let client = sender.add_receiver(Leaving::Despawn);
        let mut typed = snapshot::Receiver::new(&protocol);
        let mut untyped = snapshot::Receiver::new(&elsewhere);
        let mut buffer = [0; 256];
        for tick in 1..=120u32 {
            sender.begin_tick(tick);
            for id in 0..20u32 {
                let x = ((id + tick) % 150) as f32 * 0.5;
                let ship = Ship {
                    position: [x, -x, id as f32],
                    velocity: [10.0, -10.0, 0.0],
                    cloaked: (tick / 30 + id).is_multiple_of(3),
                    shield: (tick % 100) as u8,
                    name: format!("s{}", tick / 50),
                };
                sender.set(id, &ship).unwrap();
            }
            sender.set(100, &Pickup::Ammo { rounds: 1 + (tick % 50) as u8 }).unwrap();
            let packet = sender.snapshot(client, 1200).unwrap();
            let received = typed.handle_snapshot(packet).unwrap();
            assert_eq!(untyped.handle_snapshot(packet), Ok(received));
            sender.handle_ack(client, typed.ack().unwrap());

            assert!(untyped.objects().eq(typed.objects()));
            for (id, class) in typed.objects().collect::<Vec<_>>() {
                let tree = untyped.get_dynamic(id).unwrap();
                let packet = match class {
                    0 => encode(&typed.get::<Ship>(id).unwrap(), &mut buffer),
                    _ => encode(&typed.get::<Pickup>(id).unwrap(), &mut buffer),
                };
                let schema = elsewhere.class_schema(class).unwrap();
                assert_eq!(tree, schema.decode(packet.unwrap()).unwrap());
            }
            // It has no types.
            assert_eq!(untyped.get::<Ship>(0), None);
        }
    }
}

#[test]
fn a_description_has_the_bytes_of_the_document() {
    #[derive(Wire, Default)]
    struct Door {
        open: bool,
    }
    let protocol =
        snapshot::Protocol::builder(snapshot::Config::default()).class::<Door>().build().unwrap();
    let hex: Vec<_> =
        bytes_of(&protocol.description()).iter().map(|byte| format!("{byte:02x}")).collect();
    let line = format!("→ `{}`", hex.join(" "));
    let document = include_str!("../../../../docs/WIRE.md");
    assert!(document.contains(&line), "not in docs/WIRE.md: {line}");
}

#[test]
fn hostile_descriptions_do_no_harm() {
    let mut rng = Rng::new(41);
    let samples = [protocol(Level::Packed), protocol(Level::Modeled)]
        .map(|protocol| bytes_of(&protocol.description()));
    let rounds = volume(5_000, 100_000);
    let (mut read, mut made) = (0, 0);
    for _ in 0..rounds {
        let mut bytes = samples[rng.below(2)].clone();
        mutate(&mut rng, &mut bytes);
        let Ok(description) = decode::<snapshot::Description>(&bytes) else { continue };
        read += 1;
        let Ok(protocol) = snapshot::Protocol::from_description(&description) else { continue };
        made += 1;
        let mut receiver = snapshot::Receiver::new(&protocol);
        let junk: Vec<u8> = (0..rng.below(300)).map(|_| rng.next() as u8).collect();
        let _ = receiver.handle_snapshot(&junk);
    }
    assert!(read > rounds / 50 && made > 0 && made < read, "{read} read, {made} made");
}

#[test]
fn descriptions_that_need_too_much_memory_are_refused() {
    #[derive(Wire, Default)]
    struct Nothing;
    #[derive(Wire)]
    struct Wide {
        many: [[Nothing; 256]; 250],
    }
    impl Default for Wide {
        fn default() -> Self {
            Self { many: [(); 250].map(|()| [(); 256].map(|()| Nothing)) }
        }
    }
    let config = snapshot::Config::default();
    // Each class alone is one that a game may have.
    let build = snapshot::Protocol::builder(config).class::<Wide>().class::<[Wide; 1]>().build();
    let described = build.unwrap().description();
    let refused = snapshot::Protocol::from_description(&described).unwrap_err();
    assert!(matches!(refused, snapshot::ProtocolError::TooLarge { .. }), "{refused}");

    // As many objects as the limit of cells allows.
    let config = snapshot::Config { max_objects: usize::MAX, ..config };
    let built = snapshot::Protocol::builder(config).class::<[u64; 100]>().build().unwrap();
    let protocol = snapshot::Protocol::from_description(&built.description()).unwrap();
    assert!((10_000..1_000_000).contains(&protocol.config().max_objects));

    // Another protocol than its fingerprint says.
    let mut bytes = bytes_of(&built.description());
    bytes[0] ^= 1;
    let changed: snapshot::Description = decode(&bytes).unwrap();
    let refused = snapshot::Protocol::from_description(&changed).unwrap_err();
    assert!(matches!(refused, snapshot::ProtocolError::Fingerprint { .. }), "{refused}");
    assert!(refused.to_string().contains("another version"));
}
