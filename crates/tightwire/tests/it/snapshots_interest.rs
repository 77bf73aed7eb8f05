//! Relevancy by the values of objects, and playback of objects that cease to be relevant.

use std::time::Duration;

use tightwire::schema::Dynamic;
use tightwire::snapshot::{Leaving, Level, ObjectView, Playback, PlaybackConfig};
use tightwire::{Wire, snapshot};

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
struct Tank {
    #[wire(spatial, min = -500.0, max = 500.0, resolution = 0.001)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -60.0, max = 60.0, resolution = 0.01)]
    velocity: [f32; 3],
}

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
struct Flag {
    team: u8,
}

fn protocol(level: Level) -> snapshot::Protocol {
    let config = snapshot::Config { level, ..snapshot::Config::default() };
    snapshot::Protocol::builder(config).class::<Tank>().class::<Flag>().build().unwrap()
}

/// Returns a tank that drives along x, 30 m/s.
fn tank(tick: u32) -> Tank {
    Tank { position: [tick as f32 * 0.5, 7.0, 0.0], velocity: [30.0, 0.0, 0.0] }
}

#[test]
fn interest_sees_the_value_of_this_tick() {
    for level in [Level::Packed, Level::Modeled] {
        let protocol = protocol(level);
        let mut sender = snapshot::Sender::new(&protocol);
        let mut receiver = snapshot::Receiver::new(&protocol);
        let client = sender.add_receiver(Leaving::Despawn);
        for tick in 1..=100u32 {
            sender.begin_tick(tick);
            for id in 0..20 {
                sender.set(id, &tank(tick + 10 * id)).unwrap();
            }
            sender.set(99, &Flag { team: (tick / 50) as u8 }).unwrap();
            let mut asked = 0;
            let near = |object: ObjectView<'_>| {
                asked += 1;
                let (mut read, mut flag) = (Tank::default(), Flag::default());
                if object.class == protocol.class_index::<Flag>().unwrap() {
                    assert_eq!(object.get::<Tank>(), None);
                    assert_eq!(object.read(&mut read), Ok(false));
                    assert_eq!(object.read(&mut flag), Ok(true));
                    let Some(Dynamic::Struct { fields, .. }) = object.get_dynamic() else {
                        panic!("a flag is a struct");
                    };
                    assert_eq!(fields[0].1, Dynamic::from(u64::from(flag.team)));
                    return (flag.team > 0).then_some(9);
                }
                let tank = object.get::<Tank>()?;
                let expected = self::tank(tick + 10 * object.id.0);
                assert!((tank.position[0] - expected.position[0]).abs() < 0.002, "{tank:?}");
                (tank.position[0] < 60.0).then_some(1)
            };
            let packet = sender.snapshot_with(client, 4000, near).unwrap();
            assert!(receiver.handle_snapshot(packet).unwrap().is_complete);
            assert!(asked >= 20, "{asked}");
            sender.handle_ack(client, receiver.ack().unwrap());
            let expected: Vec<_> = (0..20).filter(|id| tick + 10 * id < 120).collect();
            let seen: Vec<_> = receiver.iter::<Tank>().map(|(id, _)| id.0).collect();
            assert_eq!(seen, expected, "tick {tick}");
            assert_eq!(receiver.get::<Flag>(99).is_some(), tick >= 50);
        }
    }
}

/// Returns the shown x of an object at times after a tick, while snapshots come every sixth tick.
fn leaves(after: u32, mut step: impl FnMut(&mut snapshot::Sender, u32)) -> Vec<(f64, f32)> {
    let protocol = protocol(Level::Modeled);
    let mut sender = snapshot::Sender::new(&protocol);
    let mut receiver = snapshot::Receiver::new(&protocol);
    let client = sender.add_receiver(Leaving::Despawn);
    let mut playback = Playback::new(&protocol, PlaybackConfig::default());
    let mut shown = Vec::new();
    for tick in 1..=150u32 {
        let now = Duration::from_secs(1) / 60 * tick;
        sender.begin_tick(tick);
        step(&mut sender, tick);
        if tick.is_multiple_of(6) {
            let near = |object: ObjectView<'_>| {
                let [x, ..] = object.get::<Tank>()?.position;
                (x < 40.0).then_some(1)
            };
            let packet = sender.snapshot_with(client, 1000, near).unwrap();
            receiver.handle_snapshot(packet).unwrap();
            sender.handle_ack(client, receiver.ack().unwrap());
            playback.handle_snapshot(now, &receiver);
        }
        playback.advance(now);
        let time = playback.time().unwrap_or_default();
        if let Some(tank) = playback.get::<Tank>(7).filter(|_| time > f64::from(after)) {
            shown.push((time, tank.position[0]));
        }
    }
    shown
}

#[test]
fn objects_extrapolate_until_they_lose_relevancy() {
    // The tank is at 40 metres in tick 80: the snapshot of tick 78 has it, that of 84 despawns it.
    let shown = leaves(78, |sender, tick| sender.set(7, &tank(tick)).unwrap());
    assert!(shown.len() >= 4, "{shown:?}");
    for (time, x) in shown {
        assert!(time < 84.0, "gone since tick 84, shown at {time}");
        assert!((f64::from(x) - time * 0.5).abs() < 0.01, "at {x} in tick {time}");
    }
}

#[test]
fn removed_objects_extrapolate_until_they_despawn() {
    let shown = leaves(36, |sender, tick| match tick {
        ..38 => sender.set(7, &tank(tick)).unwrap(),
        _ => sender.remove(7).unwrap(),
    });
    assert!(shown.len() >= 4, "{shown:?}");
    for (time, x) in shown {
        assert!(time < 42.0 && (f64::from(x) - time * 0.5).abs() < 0.01, "at {x} in tick {time}");
    }
}

/// A wheel that spins in place has a velocity, and does not move.
#[test]
fn resting_objects_are_not_extrapolated() {
    let shown = leaves(36, |sender, tick| match tick {
        ..55 => sender.set(7, &tank(tick.min(30))).unwrap(),
        _ => sender.remove(7).unwrap(),
    });
    assert!(shown.iter().any(|(time, _)| *time > 55.0), "{shown:?}");
    assert!(shown.iter().all(|(_, x)| (x - 15.0).abs() < 0.002), "{shown:?}");
}
