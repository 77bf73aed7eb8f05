//! Snapshots from a hostile sender.

use tightwire::{
    Level, Received, SnapshotConfig, SnapshotError, SnapshotProtocol, SnapshotReceiver,
    SnapshotSender, Wire,
};

/// Everything that moves.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Body {
    #[wire(spatial, reference, min = -50.0, max = 50.0, resolution = 0.01)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -20.0, max = 20.0, resolution = 0.05)]
    velocity: [f32; 3],
    #[wire(smallest_three = 9)]
    rotation: [f32; 4],
    #[wire(wraps, range = 0..=359)]
    heading: u16,
    at_rest: bool,
    #[wire(when = !self.at_rest, range = 0..=100)]
    speed: u8,
    owner: Option<u16>,
}

/// Everything that is said.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
enum Sign {
    #[default]
    Blank,
    Text {
        #[wire(max_len = 12)]
        text: String,
        size: f32,
    },
    Numbers(#[wire(max_len = 5, range = -3..=3)] Vec<i8>),
}

const MOST: usize = 24;

/// A receiver that got some honest snapshots, and the honest next ones.
struct Scene {
    receiver: SnapshotReceiver,
    next: Vec<Vec<u8>>,
}

/// A world after some ticks, of which some snapshots were lost.
fn scene(level: Level, lost: u8) -> Scene {
    let config = SnapshotConfig { level, max_objects: MOST, ..SnapshotConfig::default() };
    let builder = SnapshotProtocol::builder(config).class::<Body>().class::<Sign>();
    let Ok(protocol) = builder.build() else { unreachable!("the classes are fine") };
    let mut sender = SnapshotSender::new(&protocol);
    let mut receiver = SnapshotReceiver::new(&protocol);
    let id = sender.add_receiver(Default::default());
    let mut next = Vec::new();
    for tick in 1..=14u32 {
        sender.begin_tick(tick);
        for object in 0..8u32 {
            let way = (tick * (object + 1)) as f32 * 0.07;
            let mut body = Body {
                position: [way, -way, object as f32],
                velocity: [4.2 * (object + 1) as f32 / 2.0, -4.2, 0.0],
                rotation: [way.min(1.0), 0.1, 0.2, 0.9],
                heading: ((tick * 30 + object) % 360) as u16,
                at_rest: object % 3 == 0,
                speed: if object % 3 == 0 { 0 } else { object as u8 },
                owner: (tick % 4 == object % 4).then_some(tick as u16),
            };
            let _ = sender.set(object, &mut body);
        }
        let text = format!("tick {tick}");
        let mut sign = match tick % 3 {
            0 => Sign::Blank,
            1 => Sign::Text { text, size: tick as f32 },
            _ => Sign::Numbers(vec![1, -2, 3]),
        };
        let _ = sender.set(100 + tick / 5, &mut sign);
        if tick % 6 == 0 {
            let _ = sender.remove(tick % 8);
        }
        let Some(packet) = sender.snapshot(id, 1000) else { continue };
        if tick > 10 {
            next.push(packet.to_vec());
        } else if lost >> (tick % 8) & 1 == 0 || tick < 3 {
            assert!(receiver.handle_snapshot(packet).is_ok());
            if let Some(ack) = receiver.ack().filter(|_| tick % 2 == 0) {
                sender.handle_ack(id, ack);
            }
        }
    }
    Scene { receiver, next }
}

/// All that the application can see.
fn contents(receiver: &mut SnapshotReceiver) -> (Option<Received>, String) {
    use core::fmt::Write;
    let mut contents = String::new();
    let ids: Vec<_> = receiver.objects().collect();
    assert!(ids.len() <= MOST);
    for (id, class) in ids {
        let body = receiver.get::<Body>(id);
        let sign = receiver.get::<Sign>(id);
        let _ = write!(contents, "{id} {class} {body:?} {sign:?};");
    }
    (receiver.newest(), contents)
}

/// Gives a receiver whatever comes: as it is, and as changes of honest packets; and again with the
/// check that it should have, since a hostile sender computes that as well as anybody.
pub(crate) fn snapshots(data: &[u8]) {
    let Some((&[choice, lost], mut data)) = data.split_first_chunk::<2>() else { return };
    let level = if choice & 1 == 0 { Level::Packed } else { Level::Modeled };
    let Scene { mut receiver, next } = scene(level, lost);
    let mut before = contents(&mut receiver);
    while let Some((&[kind, length], rest)) = data.split_first_chunk::<2>() {
        let (changes, rest) = rest.split_at(usize::from(length).min(rest.len()));
        data = rest;
        let honest = &next[usize::from(kind >> 2) % next.len()];
        let mut packet = match kind & 3 {
            0 => changes.to_vec(),
            // The header is honest, as long as it usually is.
            1 => honest.iter().take(5).chain(changes).copied().collect(),
            _ => {
                let mut packet = honest.clone();
                for change in changes.chunks_exact(2) {
                    let place = usize::from(change[0]) * packet.len() / 256;
                    packet[place] ^= change[1];
                }
                packet
            }
        };
        let mut handled = receiver.handle_snapshot(&packet);
        if let Err(SnapshotError::Check { at, computed, .. }) = handled {
            assert_eq!(before, contents(&mut receiver), "a refused snapshot changes nothing");
            packet[at..at + 2].copy_from_slice(&computed.to_le_bytes());
            handled = receiver.handle_snapshot(&packet);
            assert!(!matches!(handled, Err(SnapshotError::Check { .. })), "{handled:?}");
        }
        let after = contents(&mut receiver);
        if handled.is_err() {
            assert_eq!(before, after, "a refused snapshot changes nothing");
        }
        before = after;
    }
}
