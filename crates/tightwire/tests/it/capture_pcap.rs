//! Files of the older pcap format, and link types of other systems.
#![cfg(feature = "inspect")]

use std::time::Duration;

use etherparse::PacketBuilder;
use tightwire::inspect::{Capture, CaptureError};

/// Returns a file with a header of this magic number.
fn pcap(magic: u32, is_big_endian: bool, link: u32, packets: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let word = |word: u32| if is_big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
    let half = |half: u16| if is_big_endian { half.to_be_bytes() } else { half.to_le_bytes() };
    let mut file = [&word(magic)[..], &half(2), &half(4)].concat();
    file.extend([0, 0, 65_535, link].map(word).concat());
    for (seconds, fraction, packet) in packets {
        let length = packet.len() as u32;
        file.extend([*seconds, *fraction, length, length].map(word).concat());
        file.extend_from_slice(packet);
    }
    file
}

const MICRO: u32 = 0xa1b2_c3d4;
const NANO: u32 = 0xa1b2_3c4d;

fn udp_v4(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 2], [10, 0, 0, 1], 64).udp(4242, 7777);
    builder.write(&mut packet, payload).unwrap();
    packet
}

fn udp_v6(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(4242, 7777).write(&mut packet, payload).unwrap();
    packet
}

/// Returns the datagrams, and the number of packets without one.
fn read(file: &[u8]) -> (Vec<(Duration, Vec<u8>)>, u64) {
    let mut capture = Capture::new(file).unwrap();
    let mut datagrams = Vec::new();
    while let Some(record) = capture.next_record() {
        let record = record.unwrap();
        assert_eq!(record.direction, None);
        datagrams.push((record.time, record.datagram.to_vec()));
    }
    assert!(capture.identity().is_none() && capture.snapshots().is_none());
    (datagrams, capture.skipped())
}

#[test]
fn all_four_forms_of_pcap_are_read() {
    let (one, two) = (udp_v4(b"one"), udp_v6(b"two"));
    for is_big_endian in [false, true] {
        for (magic, times) in [(MICRO, [1_500, 7_000]), (NANO, [1, 7])] {
            let packets: [(u32, u32, &[u8]); 3] =
                [(1_700_000_000, times[0], &one), (1_700_000_001, 0, b"junk"), (2, times[1], &two)];
            let file = pcap(magic, is_big_endian, 101, &packets);
            let unit = if magic == MICRO { 1_000 } else { 1 };
            let expected = vec![
                (Duration::new(1_700_000_000, times[0] * unit), b"one".to_vec()),
                (Duration::new(2, times[1] * unit), b"two".to_vec()),
            ];
            assert_eq!(read(&file), (expected, 1), "{magic:x} {is_big_endian}");
        }
    }
}

#[test]
fn links_of_other_systems_are_read() {
    let (v4, v6) = (udp_v4(b"four"), udp_v6(b"six"));
    let sll2 = |kind: u16, packet: &[u8]| {
        let head = [&kind.to_be_bytes()[..], &[0; 2], &[0, 0, 0, 3], &[0, 1, 0, 6], &[0; 8]];
        [&head.concat()[..], packet].concat()
    };
    for (link, packets) in [
        // The address family in either byte order, with the numbers of two systems.
        (0, [[&[2, 0, 0, 0], &v4[..]].concat(), [&[0, 0, 0, 30], &v6[..]].concat()]),
        (108, [[&[0, 0, 0, 2], &v4[..]].concat(), [&[0, 0, 0, 24], &v6[..]].concat()]),
        (276, [sll2(0x0800, &v4), sll2(0x86dd, &v6)]),
        // With the flags that some programs write above the link type.
        (1 << 28 | 101, [v4.clone(), v6.clone()]),
    ] {
        let file = pcap(MICRO, false, link, &[(1, 0, &packets[0]), (2, 0, &packets[1])]);
        let (datagrams, skipped) = read(&file);
        let bytes: Vec<_> = datagrams.iter().map(|(_, bytes)| &bytes[..]).collect();
        assert_eq!((bytes, skipped), (vec![&b"four"[..], b"six"], 0), "link {link}");

        // Other protocols in such frames, frames that were cut, and unknown link types.
        let file = pcap(MICRO, false, link, &[(1, 0, &packets[0][..3]), (1, 0, b"")]);
        assert_eq!(read(&file), (vec![], 2));
        let file = pcap(MICRO, false, 147, &[(1, 0, &packets[0])]);
        assert_eq!(read(&file), (vec![], 1));
    }
    let other = [&[16, 0, 0, 0], &v4[..]].concat();
    assert_eq!(read(&pcap(MICRO, false, 0, &[(1, 0, &other)])), (vec![], 1));
    assert_eq!(read(&pcap(MICRO, false, 276, &[(1, 0, &sll2(0x0806, &v4))])), (vec![], 1));
}

#[test]
fn a_pcap_file_that_ends_early_says_where() {
    let packet = udp_v4(b"one");
    let file = pcap(NANO, true, 101, &[(1, 0, &packet), (2, 0, &packet)]);
    let second = 24 + 16 + packet.len();
    for length in 1..file.len() {
        let refused = match Capture::new(&file[..length]) {
            Err(refused) => refused,
            Ok(mut capture) => loop {
                match capture.next_record() {
                    Some(Ok(_)) => {}
                    Some(Err(refused)) => break refused,
                    None => {
                        assert!(length == 24 || length == second, "{length}");
                        break CaptureError::Truncated { at: length as u64 };
                    }
                }
            },
        };
        let block = [second, 24, 0].into_iter().find(|start| *start <= length).unwrap();
        let CaptureError::Truncated { at } = refused else { panic!("{length}: {refused}") };
        assert_eq!(at, block as u64, "{length}");
    }
}

#[test]
fn invalid_pcap_files_are_refused_with_a_reason() {
    let reason = |file: &[u8]| match Capture::new(file) {
        Err(refused) => refused.to_string(),
        Ok(mut capture) => capture.next_record().unwrap().unwrap_err().to_string(),
    };
    let mut file = pcap(MICRO, false, 1, &[]);
    file[4] = 9;
    assert_eq!(reason(&file), "the block at byte 0: version of pcap other than 2");
    let mut file = pcap(MICRO, false, 1, &[(0, 0, b"")]);
    file[24 + 8..24 + 12].fill(0xff);
    let expected = "the block at byte 24: longer than the maximum of 256 KiB";
    assert_eq!(reason(&file), expected);
    let expected = "the block at byte 0: this is neither a pcapng nor a pcap file; \
                    `editcap -F pcapng` converts other captures";
    assert_eq!(reason(b"\x1f\x8b\x08\x00"), expected);
}
