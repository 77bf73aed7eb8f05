//! Objects that are set by schema equal those that are set by type, byte for byte.

use tightwire::schema::{Dynamic, DynamicError, Schema};
use tightwire::snapshot::{Leaving, Level, SetError};
use tightwire::stream::{Op, Shape};
use tightwire::{Wire, encode, snapshot};

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Player {
    #[wire(spatial, min = -100.0, max = 100.0, resolution = 0.01)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -30.0, max = 30.0, resolution = 0.1)]
    velocity: [f32; 3],
    #[wire(range = 0..=100)]
    health: u8,
    armed: bool,
    #[wire(when = self.armed, range = 0..=9)]
    ammo: u8,
    #[wire(max_len = 15)]
    name: String,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
enum Door {
    #[default]
    Closed,
    Open {
        #[wire(range = 0..=90)]
        angle: u8,
    },
}

fn player(id: u32, tick: u32) -> Player {
    let armed = !(id + tick).is_multiple_of(3);
    Player {
        position: [id as f32, tick as f32 / 4.0, 1.0],
        velocity: [0.0, 15.0, 0.0],
        health: 100 - (tick as u8 % 50),
        armed,
        ammo: if armed { (tick % 10) as u8 } else { 0 },
        name: format!("player {id}"),
    }
}

fn door(tick: u32) -> Door {
    if tick.is_multiple_of(2) { Door::Closed } else { Door::Open { angle: tick as u8 % 90 } }
}

fn tree<T: Wire>(value: &mut T) -> Dynamic {
    let mut buffer = [0; 256];
    Schema::of::<T>().decode(encode(value, &mut buffer).unwrap()).unwrap()
}

fn protocols(level: Level) -> [snapshot::Protocol; 2] {
    let builder = || snapshot::Protocol::builder(snapshot::Config { level, ..Default::default() });
    [
        builder().class::<Player>().class::<Door>().build().unwrap(),
        builder()
            .class_of("Player", Schema::of::<Player>())
            .class_of("Door", Schema::of::<Door>())
            .build()
            .unwrap(),
    ]
}

#[test]
fn the_packets_are_the_same() {
    for level in [Level::Packed, Level::Modeled] {
        let protocols = protocols(level);
        assert_eq!(protocols[0].fingerprint(), protocols[1].fingerprint());
        let [mut typed, mut dynamic] = [0, 1].map(|place| snapshot::Sender::new(&protocols[place]));
        let client = typed.add_receiver(Leaving::Despawn);
        assert_eq!(dynamic.add_receiver(Leaving::Despawn), client);
        let mut receiver = snapshot::Receiver::new(&protocols[1]);
        for tick in 1..40 {
            typed.begin_tick(tick);
            dynamic.begin_tick(tick);
            for id in 0..8 {
                typed.set(id, &player(id, tick)).unwrap();
                dynamic.set_dynamic(id, 0, &tree(&mut player(id, tick))).unwrap();
            }
            typed.set(100, &door(tick)).unwrap();
            dynamic.set_dynamic(100, 1, &tree(&mut door(tick))).unwrap();
            let packet = typed.snapshot(client, 1200).unwrap().to_vec();
            assert_eq!(dynamic.snapshot(client, 1200).unwrap(), packet, "tick {tick}");
            receiver.handle_snapshot(&packet).unwrap();
            assert_eq!(receiver.get_dynamic(100), Some(tree(&mut door(tick))));
            assert_eq!(receiver.get_dynamic(3), Some(tree(&mut player(3, tick))));
            let ack = receiver.ack().unwrap();
            typed.handle_ack(client, ack);
            dynamic.handle_ack(client, ack);
        }
    }
}

#[test]
fn invalid_trees_are_refused_without_effect() {
    let [_, protocol] = protocols(Level::Packed);
    let mut sender = snapshot::Sender::new(&protocol);
    let client = sender.add_receiver(Leaving::Despawn);
    sender.begin_tick(1);
    let good = tree(&mut player(1, 1));
    let refused = sender.set_dynamic(1, 2, &good).unwrap_err();
    assert_eq!(refused, SetError::NoSuchClass { class: 2 });
    let mut hurt = good.clone();
    *hurt.get_mut("health").unwrap() = 101u64.into();
    let refused = sender.set_dynamic(1, 0, &hurt).unwrap_err();
    let sentence = "the tree was not set: Player.health at bit 75: 101 is not in 0..=100";
    assert_eq!(refused.to_string(), sentence);
    let SetError::Tree { error: DynamicError::Value(field) } = refused else { panic!("{refused}") };
    assert_eq!(field.path().as_deref(), Some("Player.health"));
    for bad in [tree(&mut door(1)), Dynamic::default(), 7u64.into()] {
        let refused = sender.set_dynamic(1, 0, &bad).unwrap_err().to_string();
        assert!(refused.contains("Player: a struct is needed, not "), "{refused}");
    }
    let mut receiver = snapshot::Receiver::new(&protocol);
    receiver.handle_snapshot(sender.snapshot(client, 1200).unwrap()).unwrap();
    assert_eq!(receiver.objects().count(), 0);
    assert_eq!(sender.set_dynamic(1, 0, &good), Err(SetError::TickFrozen));
}

#[test]
fn classes_by_schema_have_names_of_their_own_and_bounds() {
    let builder = || snapshot::Protocol::builder(snapshot::Config::default());
    let twice =
        builder().class_of("door", Schema::of::<Door>()).class_of("door", Schema::of::<u8>());
    assert!(
        matches!(twice.build(), Err(snapshot::ProtocolError::DuplicateClass { class }) if class == "door")
    );
    let beside = builder().class::<Door>().class_of("door", Schema::of::<Door>()).build();
    assert!(beside.is_ok());
    let huge = Schema::new(Shape::Array { len: 1 << 31, element: Box::new(Shape::Op(Op::Bool)) });
    let huge = builder().class_of("huge", huge.unwrap()).build().unwrap_err();
    assert!(matches!(huge, snapshot::ProtocolError::TooLarge { .. }), "{huge}");
}
