//! Snapshots from a hostile sender.

#[path = "../../../crates/tightwire/tests/common/moving.rs"]
pub(crate) mod moving;

use std::cell::RefCell;
use std::collections::BTreeMap;

use moving::{Body, Sign, set_objects};
use tightwire::snapshot::{Level, Received};
use tightwire::{ObjectId, snapshot};

const MOST: usize = 24;

/// The snapshots whose loss makes another scene, a bit each: few enough that all scenes are kept.
const LOST: u8 = 0b1010_1010;

/// A receiver that got some honest snapshots, these, and the honest next ones.
///
/// To make one takes a hundred times as long as to read a packet, so each is kept. A refused
/// snapshot changes nothing; after one that was accepted, the receiver starts over with the same
/// snapshots.
struct Scene {
    receiver: snapshot::Receiver,
    past: Vec<Vec<u8>>,
    next: Vec<Vec<u8>>,
    contents: Contents,
}

/// All that the application can see.
type Contents = (Option<Received>, Vec<(ObjectId, u16, Option<Body>, Option<Sign>)>);

thread_local! {
    static SCENES: RefCell<BTreeMap<(bool, u8), Scene>> = const { RefCell::new(BTreeMap::new()) };
}

impl Scene {
    /// A world after some ticks, of which some snapshots were lost.
    fn new(level: Level, lost: u8) -> Self {
        let config = snapshot::Config { level, max_objects: MOST, ..snapshot::Config::default() };
        let builder = snapshot::Protocol::builder(config).class::<Body>().class::<Sign>();
        let Ok(protocol) = builder.build() else { unreachable!("the classes are fine") };
        let mut sender = snapshot::Sender::new(&protocol);
        let mut receiver = snapshot::Receiver::new(&protocol);
        let id = sender.add_receiver(Default::default());
        let (mut past, mut next) = (Vec::new(), Vec::new());
        for tick in 1..=14u32 {
            sender.begin_tick(tick);
            assert!(set_objects(&mut sender, tick).is_ok());
            let Some(packet) = sender.snapshot(id, 1000) else { continue };
            if tick > 10 {
                next.push(packet.to_vec());
            } else if lost >> (tick % 8) & 1 == 0 || tick < 3 {
                past.push(packet.to_vec());
                assert!(receiver.handle_snapshot(packet).is_ok());
                if let Some(ack) = receiver.ack().filter(|_| tick % 2 == 0) {
                    sender.handle_ack(id, ack);
                }
            }
        }
        let contents = contents(&receiver);
        Self { receiver, past, next, contents }
    }

    /// Restores the receiver, whatever it accepted.
    fn restore(&mut self) {
        self.receiver.resync();
        assert_eq!(self.receiver.ack(), None);
        for packet in &self.past {
            assert!(self.receiver.handle_snapshot(packet).is_ok(), "an honest snapshot");
        }
        assert_eq!(contents(&self.receiver), self.contents, "after a new beginning");
    }
}

fn contents(receiver: &snapshot::Receiver) -> Contents {
    let object = |(id, class)| match class {
        0 => (id, class, receiver.get::<Body>(id), None),
        _ => (id, class, None, receiver.get::<Sign>(id)),
    };
    let objects: Vec<_> = receiver.objects().map(object).collect();
    assert!(objects.len() <= MOST);
    (receiver.newest(), objects)
}

/// Gives a receiver the input as a packet, and as changes of honest packets. Each is repeated with
/// a correct check, since a hostile sender can compute it too.
pub(crate) fn snapshots(data: &[u8]) {
    let Some((&[choice, lost], data)) = data.split_first_chunk::<2>() else { return };
    let (is_packed, lost) = (choice & 1 == 0, lost & LOST);
    SCENES.with_borrow_mut(|scenes| {
        let scene = scenes.entry((is_packed, lost)).or_insert_with(|| {
            Scene::new(if is_packed { Level::Packed } else { Level::Modeled }, lost)
        });
        if attack(scene, data) {
            scene.restore();
        }
    });
}

/// Whether the receiver accepted anything.
fn attack(scene: &mut Scene, mut data: &[u8]) -> bool {
    let Scene { receiver, next, contents: before, .. } = scene;
    let (mut accepted, mut before) = (false, before.clone());
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
        if let Err(snapshot::ReceiveError::Check { at, computed, .. }) = handled {
            assert_eq!(before, contents(receiver), "a refused snapshot changes nothing");
            packet[at..at + 2].copy_from_slice(&computed.to_le_bytes());
            handled = receiver.handle_snapshot(&packet);
            assert!(!matches!(handled, Err(snapshot::ReceiveError::Check { .. })), "{handled:?}");
        }
        let after = contents(receiver);
        if handled.is_err() {
            assert_eq!(before, after, "a refused snapshot changes nothing");
        }
        accepted |= handled.is_ok();
        before = after;
    }
    accepted
}
