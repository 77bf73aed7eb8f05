//! A million hostile datagrams for each protection: no panic, no allocation, each of them counted.

use allocation_counter::measure;
use tightwire::packet::{Keys, PacketError, Protection, Protocol};
use tightwire::stream::Shape;
use tightwire::{Stream, Target, Wire};

use crate::common::mutate::mutate;
use crate::common::rng::Rng;
use crate::common::volume::volume;

/// One packet with everything in it, since another variant of an enum would come without the memory
/// that the last one had.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Update {
    #[wire(varint, check = "tick")]
    tick: u32,
    kind: Kind,
    #[wire(max_len = 20)]
    name: String,
    target: Option<u16>,
    #[wire(max_len = 12, range = 0..=99)]
    counts: Vec<u8>,
    #[wire(when = self.kind != Kind::Idle, range = -100..=100)]
    aim: [i8; 2],
    #[wire(max_len = 6, check = "path")]
    path: Vec<Step>,
}

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
enum Kind {
    #[default]
    Idle,
    Walks,
    Falls,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Step {
    #[wire(range = 0..=1000)]
    x: u16,
    is_jump: bool,
    #[wire(when = self.is_jump, range = 1..=5)]
    height: u8,
}

/// Bytes that claim to be an [`Update`], so that a peer with the keys can seal them.
struct Raw(Vec<u8>);

impl Wire for Raw {
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        this.0.iter().try_for_each(|byte| stream.bits(&mut (*byte).into(), 8))
    }

    fn describe() -> Shape {
        Update::describe()
    }
}

fn inputs() -> usize {
    volume(50_000, 1_000_000)
}

/// Size of the longest packet, with the check at the end.
const LONGEST: usize = Update::MAX_BYTES + 4;

/// Returns a value with all the memory that it will ever need.
fn roomy() -> Update {
    let (name, counts) = (String::with_capacity(20), Vec::with_capacity(12));
    Update { name, counts, path: Vec::with_capacity(6), ..Update::default() }
}

fn sample(rng: &mut Rng) -> Update {
    let step = |rng: &mut Rng| {
        let height = rng.below(6) as u8;
        Step { x: rng.below(1001) as u16, is_jump: height > 0, height }
    };
    let kind = [Kind::Idle, Kind::Walks, Kind::Falls][rng.below(3)];
    let aim = if kind == Kind::Idle { [0; 2] } else { [rng.below(100) as i8, -100] };
    Update {
        tick: rng.next() as u32 >> rng.below(32),
        kind,
        name: ["", "ann", "ä€😀", "twenty letters in it"][rng.below(4)].into(),
        target: (rng.below(2) == 0).then(|| rng.next() as u16),
        counts: (0..rng.below(13)).map(|_| rng.below(100) as u8).collect(),
        aim,
        path: (0..rng.below(7)).map(|_| step(rng)).collect(),
    }
}

/// Mutates most packets, and leaves some valid, which must be read.
fn mutate_most(rng: &mut Rng, bytes: &mut Vec<u8>) {
    if rng.below(3) > 0 {
        mutate(rng, bytes);
    }
}

/// Reads without allocating, and checks that a refusal is counted.
fn read(
    protocol: &mut Protocol<Update>,
    datagram: &[u8],
    value: &mut Update,
) -> Option<PacketError> {
    let before = protocol.counters();
    let mut result = Ok(());
    let memory = measure(|| result = protocol.read(datagram, value));
    assert_eq!(memory.count_total, 0, "{result:?} of {datagram:02x?}");
    let after = protocol.counters();
    let counted = (after.read - before.read, after.refused() - before.refused());
    assert_eq!(counted, if result.is_ok() { (1, 0) } else { (0, 1) });
    result.err()
}

/// Throws mutated datagrams, and valid datagrams around mutated packets, as `enclose` makes them.
fn throw(mut protocol: Protocol<Update>, mut enclose: impl FnMut(&[u8]) -> Vec<u8>) {
    let mut rng = Rng::new(21);
    let mut plain = Protocol::<Update>::new("arena", "1.0", Protection::None);
    if protocol.identity().has_checks() {
        plain = plain.with_checks();
    }
    let (mut value, mut peer, mut buffer) = (roomy(), roomy(), [0; 256]);
    for round in 0..inputs() {
        let mut packet = plain.write(&sample(&mut rng), &mut buffer).unwrap().to_vec();
        let datagram = if round % 2 == 0 {
            let mut datagram = enclose(&packet);
            mutate_most(&mut rng, &mut datagram);
            datagram
        } else {
            mutate_most(&mut rng, &mut packet);
            enclose(&packet)
        };
        let refused = read(&mut protocol, &datagram, &mut value);
        if round % 2 == 1 {
            // The datagram is valid, so the packet alone decides; a packet longer than any need not
            // be unsealed.
            match (refused, read(&mut plain, &packet, &mut peer)) {
                (None, None) => assert_eq!(value, peer),
                (Some(PacketError::NotAuthentic), Some(_)) if packet.len() > LONGEST => {}
                (refused, alone) => assert_eq!(refused, alone, "{packet:02x?}"),
            }
        }
    }
    let counters = protocol.counters();
    assert_eq!(counters.read + counters.refused(), inputs() as u64);
    assert!(counters.read > inputs() as u64 / 4, "{counters}");
    assert!(counters.malformed > inputs() as u64 / 20, "{counters}");
    let at_the_gate = counters.wrong_protocol + counters.not_authentic + counters.too_short;
    let has_gate = protocol.identity().protection() != Protection::None;
    assert_eq!(at_the_gate > inputs() as u64 / 10, has_gate, "{counters}");
}

fn protocol(protection: Protection) -> Protocol<Update> {
    Protocol::new("arena", "1.0", protection)
}

#[test]
fn hostile_datagrams_without_protection() {
    throw(protocol(Protection::None), <[u8]>::to_vec);
}

#[test]
fn hostile_datagrams_without_protection_but_with_checks() {
    throw(protocol(Protection::None).with_checks(), <[u8]>::to_vec);
}

#[test]
fn hostile_datagrams_with_a_protocol_id() {
    let protocol = protocol(Protection::Id);
    let id = protocol.identity().id().to_le_bytes();
    throw(protocol, |packet| [&id, packet].concat());
}

#[test]
fn hostile_datagrams_with_a_checksum() {
    let protocol = protocol(Protection::Crc32);
    let id = protocol.identity().id().to_le_bytes();
    throw(protocol, |packet| [&crc32(&[&id, packet])[..], packet].concat());
}

#[test]
fn hostile_datagrams_with_a_seal() {
    let keys = (Keys::client([1; 32], [2; 32]), Keys::server([1; 32], [2; 32]));
    let mut peer = Protocol::<Raw>::new("arena", "1.0", Protection::Sealed(keys.0));
    let protocol = protocol(Protection::Sealed(keys.1));
    assert_eq!(peer.identity().id(), protocol.identity().id());
    let mut buffer = [0; 512];
    throw(protocol, |packet| peer.write(&Raw(packet.to_vec()), &mut buffer).unwrap().to_vec());
}

/// Computes the checksum bit by bit, independent of the library's code.
fn crc32(parts: &[&[u8]]) -> [u8; 4] {
    let step = |crc: u32| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    (!parts.iter().copied().flatten().fold(!0, byte)).to_le_bytes()
}
