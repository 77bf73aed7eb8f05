//! Hints see through newtypes: the same layout, the same snapshots, the same fingerprints as
//! without them.

use std::time::Duration;

use tightwire::schema::Schema;
use tightwire::snapshot::{Leaving, Level, Playback, PlaybackConfig};
use tightwire::{Wire, snapshot};

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
struct Plain {
    #[wire(spatial, min = -500.0, max = 500.0, resolution = 0.001)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -60.0, max = 60.0, resolution = 0.01)]
    velocity: [f32; 3],
    #[wire(wraps, range = 0..=359)]
    heading: u16,
    #[wire(derivative_of = heading, range = -90..=90)]
    turn: i8,
}

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
struct Position(#[wire(min = -500.0, max = 500.0, resolution = 0.001)] [f32; 3]);

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
struct Metres {
    per_second: Speed,
}

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
struct Speed(#[wire(min = -60.0, max = 60.0, resolution = 0.01)] [f32; 3]);

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
struct Degrees(#[wire(range = 0..=359)] u16);

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
struct Turn(#[wire(range = -90..=90)] i8);

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
struct Wrapped {
    #[wire(spatial)]
    position: Position,
    #[wire(derivative_of = position)]
    velocity: Metres,
    #[wire(wraps)]
    heading: Degrees,
    #[wire(derivative_of = heading)]
    turn: Turn,
}

fn plain(tick: u32) -> Plain {
    let seconds = tick as f32 / 60.0;
    Plain {
        position: [30.0 * seconds, 100.0 - 20.0 * seconds, 2.0 * (seconds * 3.0).sin()],
        velocity: [30.0, -20.0, 6.0 * (seconds * 3.0).cos()],
        heading: (tick % 360) as u16,
        turn: 60,
    }
}

fn wrapped(tick: u32) -> Wrapped {
    let Plain { position, velocity, heading, turn } = plain(tick);
    Wrapped {
        position: Position(position),
        velocity: Metres { per_second: Speed(velocity) },
        heading: Degrees(heading),
        turn: Turn(turn),
    }
}

fn protocol<T: Wire + 'static>(level: Level) -> snapshot::Protocol {
    let config = snapshot::Config { level, ..snapshot::Config::default() };
    snapshot::Protocol::builder(config).class::<T>().build().unwrap()
}

/// The packets of two seconds, and where an object is shown between two of the last snapshots and
/// after them.
fn packets<T: Wire + Default + 'static>(
    level: Level,
    object: impl Fn(u32) -> T,
    x: impl Fn(T) -> f32,
) -> (Vec<Vec<u8>>, Vec<f32>) {
    let protocol = protocol::<T>(level);
    let mut sender = snapshot::Sender::new(&protocol);
    let client = sender.add_receiver(Leaving::Despawn);
    let mut receiver = snapshot::Receiver::new(&protocol);
    let mut playback = Playback::new(&protocol, PlaybackConfig::default());
    let (mut packets, mut shown) = (Vec::new(), Vec::new());
    for tick in 1..=120 {
        let now = Duration::from_secs(1) / 60 * tick;
        sender.begin_tick(tick);
        for id in 0..5u32 {
            sender.set(id, &object(tick + 40 * id)).unwrap();
        }
        if tick.is_multiple_of(4) {
            let packet = sender.snapshot(client, 1000).unwrap();
            packets.push(packet.to_vec());
            receiver.handle_snapshot(packet).unwrap();
            sender.handle_ack(client, receiver.ack().unwrap());
            playback.handle_snapshot(now, &receiver);
        }
        playback.advance(now);
        shown.extend(playback.get::<T>(3).map(&x));
    }
    (packets, shown)
}

#[test]
fn newtypes_change_nothing() {
    assert_eq!(Schema::of::<Plain>().fingerprint(), Schema::of::<Wrapped>().fingerprint());
    for level in [Level::Packed, Level::Modeled] {
        let fingerprints =
            [protocol::<Plain>(level).fingerprint(), protocol::<Wrapped>(level).fingerprint()];
        assert_eq!(fingerprints[0], fingerprints[1]);
        let bare = packets(level, plain, |plain| plain.position[0]);
        let packed = packets(level, wrapped, |wrapped| wrapped.position.0[0]);
        assert_eq!(bare, packed, "{level:?}");
    }
}

/// A predicting velocity saves bytes.
#[test]
fn a_newtype_of_a_velocity_predicts() {
    #[derive(Wire, Default, Clone, Copy)]
    struct Unrelated {
        #[wire(spatial)]
        position: Position,
        velocity: Metres,
        #[wire(wraps)]
        heading: Degrees,
        turn: Turn,
    }
    let unrelated = |tick| {
        let Wrapped { position, velocity, heading, turn } = wrapped(tick);
        Unrelated { position, velocity, heading, turn }
    };
    let bytes = |(packets, _): (Vec<Vec<u8>>, _)| packets.iter().map(Vec::len).sum::<usize>();
    let with = bytes(packets(Level::Packed, wrapped, |wrapped| wrapped.position.0[0]));
    let without = bytes(packets(Level::Packed, unrelated, |wrapped| wrapped.position.0[0]));
    assert!(with < without, "{with} bytes with `derivative_of`, {without} without");
}
