//! Snapshots from a hostile sender.

#[path = "../../../crates/tightwire/tests/common/moving.rs"]
pub(crate) mod moving;

use moving::{Body, Sign, set_objects};
use tightwire::snapshot::{self, Level, Received};

const MOST: usize = 24;

/// A receiver that got some honest snapshots, and the next honest ones.
struct Scene {
    receiver: snapshot::Receiver,
    next: Vec<Vec<u8>>,
}

/// Makes a world after some ticks, of which some snapshots were lost.
fn scene(level: Level, lost: u8) -> Scene {
    let config = snapshot::Config { level, max_objects: MOST, ..snapshot::Config::default() };
    let builder = snapshot::Protocol::builder(config).class::<Body>().class::<Sign>();
    let Ok(protocol) = builder.build() else { unreachable!("the classes are fine") };
    let mut sender = snapshot::Sender::new(&protocol);
    let mut receiver = snapshot::Receiver::new(&protocol);
    let id = sender.add_receiver(Default::default());
    let mut next = Vec::new();
    for tick in 1..=14u32 {
        sender.begin_tick(tick);
        assert!(set_objects(&mut sender, tick).is_ok());
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

/// Returns everything that the application can see.
fn contents(receiver: &mut snapshot::Receiver) -> (Option<Received>, String) {
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

/// Gives a receiver any bytes and mutated honest packets as snapshots. Each is repeated with a
/// corrected check, since a hostile sender can compute it.
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
            // The header is honest, with its usual length.
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
        if let Err(snapshot::ReceiveError::Check { at, computed, .. }) = handled {
            assert_eq!(before, contents(&mut receiver), "a refused snapshot changes nothing");
            packet[at..at + 2].copy_from_slice(&computed.to_le_bytes());
            handled = receiver.handle_snapshot(&packet);
            assert!(!matches!(handled, Err(snapshot::ReceiveError::Check { .. })), "{handled:?}");
        }
        let after = contents(&mut receiver);
        if handled.is_err() {
            assert_eq!(before, after, "a refused snapshot changes nothing");
        }
        before = after;
    }
}
