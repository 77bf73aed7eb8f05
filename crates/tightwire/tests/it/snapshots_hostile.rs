//! A million hostile snapshots for each level: no panic, a refused one changes nothing, and an
//! accepted one leaves a world that can be read.

use tightwire::snapshot::{Level, Received};
use tightwire::{ObjectId, snapshot};

use crate::common::figures::say;
use crate::common::moving::{Body, Sign, set_objects};
use crate::common::mutate::mutate;
use crate::common::rng::Rng;
use crate::common::volume::volume;

fn inputs() -> usize {
    volume(50_000, 1_000_000)
}

const MOST: usize = 24;

/// The honest snapshots that a receiver got, and those that it could get next.
struct Scene {
    protocol: snapshot::Protocol,
    past: Vec<Vec<u8>>,
    next: Vec<Vec<u8>>,
}

/// Everything that the application can see.
type Contents = (Option<Received>, Option<snapshot::Ack>, Vec<(ObjectId, Body, Sign)>);

impl Scene {
    /// Creates some ticks of a world, with every third snapshot lost.
    fn new(level: Level) -> Self {
        let config = snapshot::Config { level, max_objects: MOST, ..snapshot::Config::default() };
        let builder = snapshot::Protocol::builder(config).class::<Body>().class::<Sign>();
        let protocol = builder.build().unwrap();
        let mut sender = snapshot::Sender::new(&protocol);
        let mut receiver = snapshot::Receiver::new(&protocol);
        let id = sender.add_receiver(Default::default());
        let (mut past, mut next) = (Vec::new(), Vec::new());
        for tick in 1..=14 {
            sender.begin_tick(tick);
            set_objects(&mut sender, tick).unwrap();
            let packet = sender.snapshot(id, 1000).unwrap().to_vec();
            if tick > 9 {
                next.push(packet);
            } else if tick % 3 != 0 {
                receiver.handle_snapshot(&packet).unwrap();
                past.push(packet);
                sender.handle_ack(id, receiver.ack().unwrap());
            }
        }
        Self { protocol, past, next }
    }

    fn receiver(&self) -> snapshot::Receiver {
        let mut receiver = snapshot::Receiver::new(&self.protocol);
        for packet in &self.past {
            receiver.handle_snapshot(packet).unwrap();
        }
        receiver
    }

    fn hostile(&self, rng: &mut Rng) -> Vec<u8> {
        let mut packet = self.next[rng.below(self.next.len())].clone();
        match rng.below(8) {
            0 => packet = (0..rng.below(80)).map(|_| rng.next() as u8).collect(),
            // The header is honest, at its usual length.
            1 => {
                let kept = 3 + rng.below(4);
                packet.truncate(kept);
                packet.extend((0..rng.below(80)).map(|_| rng.next() as u8));
            }
            2 => mutate(rng, &mut packet),
            // Only the bytes behind the header and the check, so that they are read.
            3 | 4 => {
                let mut body = packet.split_off(packet.len().min(6));
                mutate(rng, &mut body);
                packet.append(&mut body);
            }
            _ => {
                for _ in 0..=rng.below(3) {
                    let place = rng.below(packet.len().saturating_sub(6)) + 6;
                    if let Some(byte) = packet.get_mut(place) {
                        *byte ^= 1 << rng.below(8);
                    }
                }
            }
        }
        packet
    }
}

/// Reads every object as its class.
fn contents(receiver: &mut snapshot::Receiver) -> Contents {
    let objects: Vec<_> = receiver.objects().collect();
    assert!(objects.len() <= MOST);
    let read = |(id, class)| {
        let (mut body, mut sign) = (Body::default(), Sign::default());
        match class {
            0 => assert_eq!(receiver.read(id, &mut body), Ok(true)),
            _ => assert_eq!(receiver.read(id, &mut sign), Ok(true)),
        }
        (id, body, sign)
    };
    let objects = objects.into_iter().map(read).collect();
    (receiver.newest(), receiver.ack(), objects)
}

fn attack(level: Level) {
    let scene = Scene::new(level);
    let mut rng = Rng::new(level as u64);
    let mut receiver = scene.receiver();
    let honest = contents(&mut receiver);
    let (mut accepted, mut repaired, mut longest) = (0, 0, 0);
    for _ in 0..inputs() {
        let mut packet = scene.hostile(&mut rng);
        let mut handled = receiver.handle_snapshot(&packet);
        if let Err(snapshot::ReceiveError::Check { at, computed, .. }) = handled {
            // A hostile sender can compute the check too.
            packet[at..at + 2].copy_from_slice(&computed.to_le_bytes());
            repaired += 1;
            handled = receiver.handle_snapshot(&packet);
            assert!(!matches!(handled, Err(snapshot::ReceiveError::Check { .. })), "{handled:?}");
        }
        let after = contents(&mut receiver);
        match handled {
            Ok(received) => {
                assert_eq!(after.0, Some(received));
                accepted += 1;
                longest = longest.max(after.2.len());
                receiver = scene.receiver();
            }
            Err(_) => assert_eq!(after, honest, "a refused snapshot changes nothing"),
        }
    }
    for packet in &scene.next {
        receiver.handle_snapshot(packet).expect("an honest snapshot after all that");
    }
    assert!(repaired > inputs() / 20, "few were read to their end: {repaired}");
    assert!(accepted > inputs() / 20, "few were accepted: {accepted}");
    say(&format!(
        "{level:?}: {} hostile snapshots, {repaired} with the right check, {accepted} \
         accepted, up to {longest} objects",
        inputs()
    ));
}

#[test]
fn hostile_snapshots_are_refused_or_leave_a_world() {
    attack(Level::Packed);
    attack(Level::Modeled);
}
