//! The identity in a capture: kept whole, distinguished from damage, and used.
#![cfg(feature = "inspect")]

use std::io::ErrorKind;
use std::time::Duration;

use tightwire::Wire;
use tightwire::bits::BitWriter;
use tightwire::inspect::{Capture, CaptureWriter, Direction};
use tightwire::packet::{Identity, Keys, Protection, Protocol};

use crate::common::datagrams::{read, record, small, tanks};
use crate::common::identities::identity_of;

#[test]
fn any_identity_comes_back() {
    // Lengths around that of an option, and the longest.
    for length in [400, 401, 402, 403, 65_515, 65_516, 65_517, 131_032, 131_033, 245_760] {
        let identity = identity_of(length);
        let file = record(&identity, &small());
        let (read_identity, records, end) = read(&file);
        assert_eq!(read_identity, Some(identity), "{length}");
        assert_eq!(records, small(), "{length}");
        assert!(end.is_ok(), "{length}");
        let options = length.div_ceil(65_516);
        let header = u32::from_le_bytes([file[4], file[5], file[6], file[7]]) as usize;
        assert_eq!(header, 32 + 20 * options + length.next_multiple_of(4), "{length}");
    }
}

#[test]
fn identities_that_no_file_holds_are_refused_and_nothing_is_written() {
    let mut file = Vec::new();
    let mut refusal = |identity: &Identity| {
        let refused = CaptureWriter::new(&mut file, identity).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        assert!(file.is_empty());
        refused.to_string()
    };
    let sentence = "the identity takes 245761 bytes: a capture holds at most 245760, so record with \
                    shorter names or fewer packets";
    assert_eq!(refusal(&identity_of(245_761)), sentence);
    let schema = tightwire::schema::Schema::of::<u8>;
    let game = Identity::new(&"x".repeat(256), "1.3", Protection::None, schema());
    let sentence = "the identity cannot be encoded: Identity.game at bit 0: 256 bytes are too many \
                    (string up to 255)";
    assert_eq!(refusal(&game), sentence);
}

#[test]
fn damage_to_the_identity_leaves_the_datagrams() {
    let whole = record(&tanks("1.3"), &small());
    let place = whole.windows(12).position(|bytes| bytes == b"tightwire\0\0\0").unwrap() + 12;
    let (mut damaged, mut others) = (0, 0);
    for place in place..place + 16 {
        for bit in 0..8 {
            let mut file = whole.clone();
            file[place] ^= 1 << bit;
            let mut capture = Capture::new(&file[..]).unwrap();
            assert_ne!(capture.identity(), Some(&tanks("1.3")));
            assert_ne!(capture.identity().is_some(), capture.identity_error().is_some());
            match capture.identity_error() {
                Some(error) => {
                    assert!(error.bit <= 16 * 8);
                    damaged += 1;
                }
                None => others += 1,
            }
            let mut records = 0;
            while let Some(record) = capture.next_record() {
                assert_eq!(record.unwrap().datagram, small()[records].bytes);
                records += 1;
            }
            assert_eq!(records, 3);
        }
    }
    assert!(damaged > 20 && others > 20, "{damaged} damaged, {others} others");
}

#[test]
fn captures_that_follow_one_another_have_an_identity_each() {
    let [first, second, third] = small();
    let one = record(&tanks("1"), &[first.clone(), second.clone()]);
    let mut file = [one, record(&tanks("2"), std::slice::from_ref(&third))].concat();
    // And the header of another program's section.
    file.extend(*b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0");
    file.extend(*b"\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0");
    let mut capture = Capture::new(&file[..]).unwrap();
    assert_eq!(capture.identity(), Some(&tanks("1")));
    for (datagram, version) in [(first, "1"), (second, "1"), (third, "2")] {
        assert_eq!(capture.next_record().unwrap().unwrap().datagram, datagram.bytes);
        assert_eq!(capture.identity(), Some(&tanks(version)));
    }
    assert!(capture.next_record().is_none());
    assert_eq!((capture.identity(), capture.identity_error()), (None, None));
}

#[derive(Wire)]
enum Packet {
    KeepAlive,
    Move {
        #[wire(range = -100..=100)]
        x: i8,
    },
}

#[test]
fn a_capture_of_any_protocol_is_read_without_its_type() {
    let protections: [(fn() -> Protection, usize); 4] = [
        (|| Protection::None, 0),
        (|| Protection::Id, 8),
        (|| Protection::Crc32, 4),
        (|| Protection::Sealed(Keys::client([1; 32], [2; 32])), 0),
    ];
    let (local, peer) = ("10.0.0.1:7777".parse().unwrap(), "10.0.0.2:4242".parse().unwrap());
    let mut buffer = [0; Protocol::<Packet>::MAX_BYTES];
    for (protection, overhead) in protections {
        let mut protocol = Protocol::<Packet>::new("tanks", "1.3", protection()).with_checks();
        let mut recorder = CaptureWriter::new(Vec::new(), protocol.identity()).unwrap();
        for packet in [Packet::KeepAlive, Packet::Move { x: -7 }] {
            let datagram = protocol.write(&packet, &mut buffer).unwrap();
            let datagram = protocol.unsealed(datagram);
            recorder.record(Duration::ZERO, Direction::Sent, local, peer, datagram).unwrap();
        }

        let file = recorder.finish().unwrap();
        let mut capture = Capture::new(&file[..]).unwrap();
        let identity = capture.identity().unwrap().clone();
        assert_eq!(&identity, protocol.identity());
        for (expected, length) in [("KeepAlive", 5), ("Move { x: -7 }", 6)] {
            let datagram = capture.next_record().unwrap().unwrap().datagram;
            assert_eq!(datagram.len(), overhead + length);
            let packet = identity.packet_in(datagram).unwrap();
            assert_eq!(identity.decode(packet).unwrap().to_string(), expected);
        }
        assert!(capture.next_record().is_none());
    }
}

#[test]
fn hostile_identities_take_a_stated_amount_of_memory() {
    /// A text of no bytes, which no name may be.
    const EMPTY: (u64, u32) = (0, 0);
    const MANY: (u64, u32) = (0x7f_ffff, 24);
    let boolean = [(0, 3), (1, 5)];
    // No protection, no checks, bits, and a struct of many fields: each with nested values, with
    // nested conditions, with the longest path, with an endless path, with nothing.
    let head = [EMPTY, EMPTY, (0, 4), (1, 3), EMPTY, MANY];
    let field = |parts: &[(u64, u32)]| [&[EMPTY][..], parts, &boolean].concat();
    let hostile = [
        field(&[&[(0, 1)][..], &[(3, 3); 30]].concat()),
        field(&[&[(1, 1)][..], &[(6, 4); 23], &[(1, 4), (0, 1)]].concat()),
        field(&[&[(1, 1), (0, 4), (32, 8)][..], &[EMPTY; 32]].concat()),
        field(&[&[(1, 1), (0, 4), MANY][..], &[EMPTY; 1 << 18]].concat()),
        field(&[(0, 1)]),
    ];
    let whole = record(&identity_of(245_760), &small());
    let mut worst = 0;
    for parts in hostile {
        let mut bytes = vec![0; 245_760];
        let mut writer = BitWriter::new(&mut bytes);
        let mut parts = head.iter().chain(parts.iter().cycle());
        while !writer.has_overflowed() {
            match *parts.next().unwrap() {
                EMPTY => {
                    writer.write_bits(0, 8);
                    writer.align();
                }
                (value, width) => writer.write_bits(value, width),
            }
        }
        let mut file = whole.clone();
        for (index, part) in bytes.chunks(65_516).enumerate() {
            file[24 + 65_536 * index + 20..][..part.len()].copy_from_slice(part);
        }
        let info = allocation_counter::measure(|| {
            let mut capture = Capture::new(&file[..]).unwrap();
            assert!(capture.identity_error().is_some());
            assert!(capture.next_record().unwrap().is_ok());
        });
        worst = worst.max(info.bytes_max);
        assert!(info.bytes_max < 16 << 20, "{} bytes", info.bytes_max);
    }
    assert!(worst > 8 << 20, "{worst} bytes: say less in the documentation");
}
