//! Datagrams: accepted ones, and refusals at each gate.

use allocation_counter::measure;
use tightwire::bytes::Packing;
use tightwire::packet::{Counters, PacketError, PacketWriteError, Protection, Protocol};
use tightwire::stream::{ErrorKind, ReadError, Shape, WriteError};
use tightwire::{Stream, Target, Wire, at};

use crate::common::figures::say;
use crate::common::game::{PROTECTIONS, Packet, Pair, client_keys, protection_with};
use crate::common::rng::Rng;
use crate::common::volume::volume;

/// Number of inputs: all, or a twentieth.
fn executions(full: usize) -> usize {
    volume(full / 20, full)
}

#[test]
fn every_packet_arrives_as_it_was() {
    let mut rng = Rng::new(1);
    for protection in PROTECTIONS {
        for mut pair in [
            Pair::new(protection),
            Pair::new(protection).with_checks(),
            Pair::new(protection).with_packing(Packing::Bytes),
            Pair::new(protection).with_packing(Packing::Bytes).with_checks(),
        ] {
            let mut read = Packet::default();
            for _ in 0..executions(10_000) {
                let mut packet = Packet::random(&mut rng);
                let datagram = pair.sent(&mut packet);
                assert_eq!(pair.server.read(&datagram, &mut read), Ok(()));
                assert_eq!(read, packet);
            }
            let counters = pair.server.counters();
            assert_eq!((counters.read, counters.refused()), (executions(10_000) as u64, 0));
            assert_eq!(pair.client.counters().written, counters.read);
        }
    }
}

#[test]
fn each_protection_costs_what_it_says() {
    let size = |protection| Pair::new(protection).sent(&mut Packet::KeepAlive).len();
    assert_eq!(PROTECTIONS.map(size), [1, 1 + 8, 1 + 4, 1 + 17]);
    let size = |protection| Pair::new(protection).with_checks().sent(&mut Packet::KeepAlive).len();
    assert_eq!(PROTECTIONS.map(size), [5, 5 + 8, 5 + 4, 5 + 17]);

    // The sequence number takes as few bytes as possible.
    let mut pair = Pair::new(Protection::Sealed(()));
    let lengths: Vec<_> = (0..20_000).map(|_| pair.sent(&mut Packet::KeepAlive).len()).collect();
    assert!(lengths[..128].iter().all(|length| *length == 18));
    assert!(lengths[128..16_384].iter().all(|length| *length == 19));
    assert!(lengths[16_384..].iter().all(|length| *length == 20));
}

#[test]
fn a_set_of_one_packet_needs_no_bits_for_its_type() {
    #[derive(Wire, Default)]
    enum Only {
        #[default]
        Nothing,
    }
    let mut protocol = Protocol::<Only>::new("arena", "1.0", Protection::Crc32);
    let mut buffer = [0; 64];
    assert_eq!(protocol.write(&Only::Nothing, &mut buffer).unwrap().len(), 4);
}

#[test]
fn every_flipped_bit_and_every_truncation_is_refused() {
    let mut rng = Rng::new(2);
    let packets = volume(200, 4000);
    for protection in [Protection::Crc32, Protection::Sealed(())] {
        let mut pair = Pair::new(protection);
        let (mut bytes, mut flips, mut truncations) = (0, 0, 0);
        let mut read = Packet::default();
        for _ in 0..packets {
            let mut datagram = pair.sent(&mut Packet::random(&mut rng));
            bytes += datagram.len();
            for bit in 0..datagram.len() * 8 {
                datagram[bit / 8] ^= 1 << (bit % 8);
                assert!(pair.server.read(&datagram, &mut read).is_err(), "bit {bit}");
                datagram[bit / 8] ^= 1 << (bit % 8);
                flips += 1;
            }
            for length in 0..datagram.len() {
                assert!(pair.server.read(&datagram[..length], &mut read).is_err());
                truncations += 1;
            }
            // The mutations did not spoil the datagram itself.
            assert_eq!(pair.server.read(&datagram, &mut read), Ok(()));
        }
        let counters = pair.server.counters();
        assert_eq!(counters.refused(), flips + truncations);
        assert_eq!(counters.malformed + counters.trailing_data, 0);
        say(&format!(
            "{protection}: {packets} packets of {bytes} bytes, {flips} flipped bits and \
             {truncations} truncations: {counters}"
        ));
    }
}

#[test]
fn random_datagrams_are_refused_and_take_no_memory() {
    for protection in [Protection::Id, Protection::Crc32, Protection::Sealed(())] {
        let mut rng = Rng::new(3);
        let mut server = Pair::new(protection).server;
        let mut packet = Packet::default();
        let mut garbage = [0; 1200];
        let count = executions(1_000_000);
        let info = measure(|| {
            for _ in 0..count {
                // Most are short, so that there are many; some are whole datagrams.
                let most = if rng.below(16) == 0 { 1200 } else { 64 };
                let length = rng.below(most + 1);
                let garbage = &mut garbage[..length];
                garbage.chunks_mut(8).for_each(|chunk| {
                    chunk.copy_from_slice(&rng.next().to_le_bytes()[..chunk.len()]);
                });
                assert!(server.read(garbage, &mut packet).is_err());
            }
        });
        let counters = server.counters();
        assert_eq!(counters.refused(), count as u64);
        assert_eq!(info.count_total, 0);
        say(&format!("{protection}: {count} random datagrams: {counters}; 0 allocations"));
    }
}

#[test]
fn writing_and_reading_take_no_memory() {
    let mut buffer = [0; Protocol::<Packet>::MAX_BYTES];
    for protection in PROTECTIONS {
        let mut pair = Pair::new(protection).with_checks();
        let (packet, mut read) = (Packet::large(), Packet::large());
        let info = measure(|| {
            for _ in 0..1000 {
                let datagram = pair.client.write(&packet, &mut buffer).unwrap();
                pair.server.read(datagram, &mut read).unwrap();
                assert!(pair.server.read(&datagram[..20], &mut read).is_err());
            }
        });
        assert_eq!(info.count_total, 0, "{protection}");
        // The last refusal may have left the value half read.
        let datagram = pair.client.write(&packet, &mut buffer).unwrap();
        pair.server.read(datagram, &mut read).unwrap();
        assert_eq!(read, packet);
    }
}

#[test]
fn each_gate_counts_what_it_refuses() {
    let mut read = Packet::default();
    let mut pair = Pair::new(Protection::Id);
    let mut datagram = pair.sent(&mut Packet::KeepAlive);
    assert_eq!(datagram[..8], pair.server.identity().id().to_le_bytes());
    assert_eq!(
        pair.server.read(&datagram[..7], &mut read),
        Err(PacketError::TooShort { length: 7, minimum: 8 })
    );
    assert_eq!(
        pair.server.read(&datagram[..8], &mut read),
        Err(PacketError::Malformed(ReadError { kind: ErrorKind::UnexpectedEnd, bit: 0 }))
    );
    datagram.push(0);
    assert_eq!(pair.server.read(&datagram, &mut read), Err(PacketError::TrailingData { bit: 2 }));
    datagram[3] ^= 1;
    assert_eq!(pair.server.read(&datagram, &mut read), Err(PacketError::WrongProtocol));
    let counters = pair.server.counters();
    let expected = "0 written, 0 read, 4 refused \
                    (1 too short, 1 wrong protocol, 1 malformed, 1 trailing data)";
    assert_eq!(counters.to_string(), expected);
    assert_eq!(pair.client.counters().to_string(), "1 written, 0 read, 0 refused");
    assert_ne!(counters, Counters::default());
}

/// Bytes that pass for packets of another type: from a peer that has the key and the protocol id,
/// and violates the protocol.
#[derive(Clone)]
struct Forged(Vec<u8>);

impl Wire for Forged {
    const MAX_BITS: u64 = 8 * 4096;

    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let length = this.0.len();
        stream.bytes(at!(this.0[..length]))
    }

    fn describe() -> Shape {
        Packet::describe()
    }
}

/// Returns a datagram with these bytes in it that passes the gate.
fn forged(protection: Protection<()>, packet: &[u8]) -> Vec<u8> {
    let protection = protection_with(protection, client_keys());
    let mut forger = Protocol::<Forged>::new("arena", "1.0", protection);
    let mut buffer = [0; Protocol::<Forged>::MAX_BYTES];
    forger.write(&Forged(packet.to_vec()), &mut buffer).unwrap().to_vec()
}

#[test]
fn packets_that_pass_the_gate_are_still_validated() {
    let mut buffer = [0; 4096];
    let packet = tightwire::encode(&Packet::KeepAlive, &mut buffer).unwrap();
    let mut longer = packet.to_vec();
    longer.push(0);
    for protection in PROTECTIONS {
        let answer = |bytes: &[u8]| {
            let mut read = Packet::default();
            Pair::new(protection).server.read(&forged(protection, bytes), &mut read)
        };
        assert_eq!(answer(packet), Ok(()));
        assert_eq!(answer(&longer), Err(PacketError::TrailingData { bit: 2 }));
        assert_eq!(answer(&[0b100]), Err(PacketError::TrailingData { bit: 2 }));
        let ended = ReadError { kind: ErrorKind::UnexpectedEnd, bit: 0 };
        assert_eq!(answer(&[]), Err(PacketError::Malformed(ended)));
        let longer_than_any = match protection {
            Protection::Sealed(()) => PacketError::NotAuthentic,
            _ => PacketError::TrailingData { bit: 2 },
        };
        assert_eq!(answer(&[0; 4096]), Err(longer_than_any));
    }
}

#[test]
fn an_explained_refusal_names_the_field() {
    // A state whose first body has a health of 127.
    let mut buffer = [0; 4096];
    let packet = tightwire::encode(&Packet::large(), &mut buffer).unwrap();
    let trace = tightwire::explain::<Packet>(packet);
    let health = trace.spans().find(|span| span.path().ends_with("bodies[0].health")).unwrap();
    let (path, at) = (health.path(), health.bits().start);
    let mut bytes = packet.to_vec();
    (at..at + 7).for_each(|bit| bytes[bit as usize / 8] |= 1 << (bit % 8));

    for protection in PROTECTIONS {
        let mut server = Pair::new(protection).server;
        let datagram = forged(protection, &bytes);
        let refused = server.read_explained(&datagram, &mut Packet::default()).unwrap_err();
        let expected = ReadError { kind: ErrorKind::OutOfRange, bit: at };
        assert_eq!(refused.refused(), PacketError::Malformed(expected), "{protection}");
        let sentence = format!("malformed: {path} at bit {at}: 127 is not in 0..=100");
        assert_eq!(refused.to_string(), sentence);
        assert_eq!(server.counters().malformed, 1);

        let refused = server.read_explained(&[], &mut Packet::default()).unwrap_err();
        // Where there is a gate, the packet did not get further.
        assert_eq!(refused.field().is_some(), protection == Protection::None);
    }
}

/// A type whose two sides do not agree, although they have the same name.
#[derive(Default, Clone, PartialEq, Debug)]
struct Skewed<const BITS: u32>;

impl<const BITS: u32> Wire for Skewed<BITS> {
    const MAX_BITS: u64 = 96;

    fn serialize<S: Stream>(
        _: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.bits(&mut 0u64, BITS)?;
        stream.named("players").check("players")
    }

    fn describe() -> Shape {
        Shape::Opaque { name: "Skewed".into(), max_bits: 96 }
    }
}

#[test]
fn checks_catch_a_desync_and_name_the_section() {
    let mut writer = Protocol::<Skewed<8>>::new("arena", "1.0", Protection::Crc32).with_checks();
    let mut reader = Protocol::<Skewed<9>>::new("arena", "1.0", Protection::Crc32).with_checks();
    let mut buffer = [0; 64];
    let datagram = writer.write(&Skewed, &mut buffer).unwrap();
    let refused = reader.read_explained(datagram, &mut Skewed).unwrap_err();
    let sentence = "malformed: Skewed<9>.players at bit 9: a serialization check failed: the sender \
                    writes other fields than are read (check \"players\")";
    assert_eq!(refused.to_string(), sentence);
    let expected = ReadError { kind: ErrorKind::CheckFailed, bit: 9 };
    assert_eq!(refused.refused(), PacketError::Malformed(expected));

    // A protocol without checks does not notice.
    let mut writer = Protocol::<Skewed<8>>::new("arena", "1.0", Protection::Crc32);
    let mut reader = Protocol::<Skewed<6>>::new("arena", "1.0", Protection::Crc32);
    let datagram = writer.write(&Skewed, &mut buffer).unwrap();
    assert_eq!(datagram.len(), 4 + 1);
    assert_eq!(reader.read(datagram, &mut Skewed), Ok(()));
}

#[test]
fn a_protocol_with_checks_does_not_understand_one_without() {
    let mut read = Packet::default();
    for protection in [Protection::Id, Protection::Crc32, Protection::Sealed(())] {
        let mut with = Pair::new(protection).with_checks();
        let mut without = Pair::new(protection);
        let datagram = with.sent(&mut Packet::KeepAlive);
        assert!(without.server.read(&datagram, &mut read).is_err());
        let datagram = without.sent(&mut Packet::KeepAlive);
        assert!(with.server.read(&datagram, &mut read).is_err());
        assert_eq!(with.server.counters().malformed, 0, "the gate refuses it");
    }
}

#[test]
fn whole_bytes_can_be_read_by_eye_and_are_another_protocol() {
    let mut read = Packet::default();
    for protection in [Protection::Id, Protection::Crc32, Protection::Sealed(())] {
        let mut plain = Pair::new(protection);
        let mut bytes = Pair::new(protection).with_packing(Packing::Bytes);
        let mut input = Packet::Input { sequence: 0x0102, x: -1, y: 2, fire: true };
        let datagram = bytes.sent(&mut input);
        if protection == Protection::Id {
            assert_eq!(datagram[8..], [1, 2, 1, 0xff, 2, 1]);
        }
        assert!(plain.server.read(&datagram, &mut read).is_err());
        assert_eq!(bytes.server.read(&datagram, &mut read), Ok(()));
        assert_eq!(read, input);
        let mismatch = plain.server.identity().mismatch(bytes.server.identity()).unwrap();
        let lines: Vec<_> = mismatch.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["packing: bits here, whole bytes there"]);
    }
}

#[test]
fn a_buffer_that_is_too_small_is_refused_and_says_what_is_needed() {
    for protection in PROTECTIONS {
        let mut pair = Pair::new(protection).with_checks();
        let whole = pair.sent(&mut Packet::large()).len();
        for length in 0..whole {
            let mut buffer = vec![0; length];
            let refused = pair.client.write(&Packet::large(), &mut buffer).unwrap_err();
            let PacketWriteError::Packet(WriteError::Full { needed_bits, capacity_bits }) = refused
            else {
                panic!("{refused}");
            };
            assert_eq!((needed_bits.div_ceil(8), capacity_bits / 8), (whole as u64, length as u64));
        }
        let mut buffer = vec![0; whole];
        let datagram = pair.client.write(&Packet::large(), &mut buffer).unwrap();
        assert_eq!(pair.server.read(datagram, &mut Packet::default()), Ok(()), "{protection}");
        assert_eq!(pair.client.counters().written, 2);
    }
}

#[test]
fn a_refused_write_names_the_field_in_every_form() {
    for protection in PROTECTIONS {
        let plain = Pair::new(protection);
        let pairs = [plain.with_checks(), Pair::new(protection).with_packing(Packing::Bytes)];
        for mut pair in pairs {
            let bad = Packet::Input { sequence: 1, x: 101, y: 0, fire: false };
            let mut buffer = [0; 2 * Protocol::<Packet>::MAX_BYTES];
            let refused = pair.client.write_explained(&bad, &mut buffer).unwrap_err();
            let field = refused.field().unwrap();
            assert_eq!(field.path().as_deref(), Some("Packet.Input.x"), "{refused}");
            assert!(refused.to_string().ends_with(": 101 is not in -100..=100"), "{refused}");
            // The first field without room, whatever stands before and behind the packet.
            let whole = pair.sent(&mut Packet::large()).len();
            let refused = pair.client.write_explained(&Packet::large(), &mut buffer[..whole - 1]);
            let refused = refused.unwrap_err();
            assert!(refused.field().is_some_and(|field| field.path().is_some()), "{refused}");
            assert!(refused.to_string().contains("(full at Packet"), "{refused}");
            let good = pair.client.write_explained(&Packet::KeepAlive, &mut buffer).unwrap();
            assert_eq!(pair.server.read(good, &mut Packet::default()), Ok(()));
        }
    }
}

#[test]
fn a_value_that_is_not_allowed_is_not_sent() {
    for protection in PROTECTIONS {
        let mut pair = Pair::new(protection);
        let mut bad = Packet::Input { sequence: 1, x: 101, y: 0, fire: false };
        let mut buffer = [0; Protocol::<Packet>::MAX_BYTES];
        let refused = pair.client.write(&bad, &mut buffer).unwrap_err();
        let expected = WriteError::Value { kind: ErrorKind::OutOfRange, bit: 18 };
        assert_eq!(refused, PacketWriteError::Packet(expected));
        let sentence = "Packet.Input.x at bit 18: 101 is not in -100..=100";
        assert_eq!(expected.explain(&bad).to_string(), sentence);
        let explained = pair.client.write_explained(&bad, &mut buffer).unwrap_err();
        assert_eq!(explained.to_string(), format!("not written: {sentence}"));
        assert_eq!(explained.refused(), refused);
        // The next datagram is not affected.
        let datagram = pair.client.write(&Packet::KeepAlive, &mut buffer).unwrap();
        assert_eq!(pair.server.read(datagram, &mut bad), Ok(()));
        assert_eq!(bad, Packet::KeepAlive);
    }
}
