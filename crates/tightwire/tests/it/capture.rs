//! Captures: recorded packets are read back, by us and by other tools.
#![cfg(feature = "inspect")]

use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::time::Duration;

use tightwire::inspect::{Capture, CaptureError, CaptureWriter, Direction};

use crate::common::datagrams::{Datagram, datagrams, read, record, small, tanks};

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn datagrams_come_back_as_they_were_recorded() {
    let datagrams = datagrams(1, 4000);
    let file = record(&tanks("1.3"), &datagrams);
    let (identity, read, end) = read(&file);
    assert!(end.is_ok(), "{end:?}");
    assert_eq!(identity, Some(tanks("1.3")));
    assert_eq!(read.len(), datagrams.len());
    for (read, datagram) in read.iter().zip(&datagrams) {
        assert_eq!(read, datagram);
    }
    let lengths = datagrams.iter().map(|datagram| datagram.bytes.len());
    assert_eq!((lengths.clone().min(), lengths.max()), (Some(0), Some(65527)));
}

#[test]
fn datagrams_too_large_for_udp_are_not_recorded() {
    let (v4, v6) = (address("10.0.0.1:1"), address("[fe80::1]:1"));
    let mut recorder = CaptureWriter::new(Vec::new(), &tanks("1.3")).unwrap();
    let too_long = vec![0; 65_528];
    let late = Duration::from_nanos(u64::MAX) + Duration::from_nanos(1);
    for (time, peer, datagram) in [
        (Duration::ZERO, v4, &too_long[..65_508]),
        (Duration::ZERO, v6, &too_long),
        (late, v4, &[]),
    ] {
        for direction in [Direction::Sent, Direction::Received] {
            let refused = recorder.record(time, direction, v4, peer, datagram).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        }
    }
    assert_eq!(recorder.finish().unwrap(), record(&tanks("1.3"), &[]));
}

#[test]
fn an_ipv4_and_an_ipv6_address_are_both_ipv6_in_the_file() {
    let (local, peer) = (address("10.0.0.1:7777"), address("[2001:db8::1]:4242"));
    let mut recorder = CaptureWriter::new(Vec::new(), &tanks("1.3")).unwrap();
    recorder.record(Duration::ZERO, Direction::Sent, local, peer, b"one").unwrap();
    recorder.record(Duration::ZERO, Direction::Received, local, peer, b"two").unwrap();
    let (_, read, _) = read(&recorder.finish().unwrap());
    for datagram in read {
        assert_eq!(datagram.local, address("[::ffff:10.0.0.1]:7777"));
        assert_eq!(datagram.peer, peer);
    }
}

#[test]
fn recording_takes_no_memory_in_the_steady_state() {
    /// A writer that takes everything.
    struct Null(u64);

    impl Write for Null {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let datagrams = datagrams(2, 2000);
    let mut recorder = CaptureWriter::new(Null(0), &tanks("1.3")).unwrap();
    let longest = datagrams.iter().max_by_key(|datagram| datagram.bytes.len()).unwrap();
    longest.record(&mut recorder);
    let info = allocation_counter::measure(|| {
        for datagram in &datagrams {
            datagram.record(&mut recorder);
        }
    });
    assert_eq!(info.count_total, 0);
    assert!(recorder.into_inner().0 > 10_000_000);
}

#[test]
fn reading_takes_little_memory_however_long_the_capture_is() {
    let datagrams = datagrams(3, 2000);
    let file = record(&tanks("1.3"), &datagrams);
    assert!(file.len() > 10_000_000);
    let info = allocation_counter::measure(|| {
        let mut capture = Capture::new(&file[..]).unwrap();
        while let Some(record) = capture.next_record() {
            assert!(record.is_ok());
        }
    });
    assert!(info.bytes_max < 400_000, "{} bytes", info.bytes_max);
    // The parser's list of a packet's options.
    assert!(info.count_total < datagrams.len() as u64 + 50, "{}", info.count_total);
}

#[test]
fn each_record_is_one_write() {
    #[derive(Default)]
    struct Writes(Vec<usize>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut recorder = CaptureWriter::new(Writes::default(), &tanks("1.3")).unwrap();
    for datagram in small() {
        datagram.record(&mut recorder);
    }
    assert_eq!(recorder.finish().unwrap().0, [100, 76, 96, 92]);
}

#[test]
fn nothing_follows_a_block_that_was_not_written_whole() {
    /// A writer that fails once after this many bytes.
    struct Full(usize, Vec<u8>);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let length = bytes.len().min(self.0);
            self.0 = if length < bytes.len() { usize::MAX } else { self.0 - length };
            self.1.extend_from_slice(&bytes[..length]);
            if length == 0 { Err(ErrorKind::StorageFull.into()) } else { Ok(length) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    // The header, and nothing of the first record.
    let mut recorder = CaptureWriter::new(Full(100, Vec::new()), &tanks("1.3")).unwrap();
    let [first, second, _] = small();
    let mut try_record = |datagram: &Datagram| {
        let Datagram { time, direction, local, peer, bytes } = datagram;
        recorder.record(*time, *direction, *local, *peer, bytes).unwrap_err().to_string()
    };
    try_record(&first);
    let reason = "an earlier record was not written whole: begin another capture";
    assert_eq!(try_record(&second), reason);
    assert_eq!(recorder.finish().unwrap().1, record(&tanks("1.3"), &[]));
}

#[test]
fn every_prefix_gives_its_whole_records_and_says_where_it_ends() {
    let datagrams = small();
    let file = record(&tanks("1.3"), &datagrams);
    // Ends of the blocks: the section header, the interface, each packet.
    let ends = [68, 100, 176, 272, 364];
    assert_eq!(file.len(), 364);
    for length in 0..=file.len() {
        let whole = ends.iter().filter(|&&end| end <= length);
        let start = whole.clone().next_back().copied().unwrap_or(0);
        let (identity, read, end) = read(&file[..length]);
        assert_eq!(identity.is_some(), length >= 68, "{length}");
        assert_eq!(read, datagrams[..whole.count().saturating_sub(2)], "{length}");
        match end {
            Ok(()) => assert!(ends.contains(&length), "{length}"),
            Err(CaptureError::Truncated { at }) => {
                assert_eq!(at, start as u64, "{length}");
                assert!(!ends.contains(&length), "{length}");
            }
            Err(other) => panic!("{length}: {other}"),
        }
    }
}

#[test]
fn any_byte_may_be_any_other() {
    let datagrams = small();
    let file = record(&tanks("1.3"), &datagrams);
    let mut refused = 0;
    for place in 0..file.len() {
        for change in 1..=255 {
            let mut file = file.clone();
            file[place] ^= change;
            let (_, read, end) = read(&file);
            assert!(read.len() <= 3);
            if let Err(error) = end {
                refused += 1;
                let at = match error {
                    CaptureError::Truncated { at } | CaptureError::Malformed { at, .. } => at,
                    other => panic!("{other}"),
                };
                assert!(at <= file.len() as u64);
            }
        }
    }
    assert!(refused > 255 * 50, "{refused}");
}

#[test]
fn readers_that_fail_are_named_as_such() {
    /// A reader that gives the bytes, and then an error.
    struct Broken<'a>(&'a [u8]);

    impl io::Read for Broken<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer) {
                Ok(0) => Err(ErrorKind::ConnectionReset.into()),
                other => other,
            }
        }
    }

    let file = record(&tanks("1.3"), &small());
    let mut capture = Capture::new(Broken(&file[..200])).unwrap();
    assert!(capture.next_record().unwrap().is_ok());
    let refused = capture.next_record().unwrap().unwrap_err();
    assert!(matches!(refused, CaptureError::Io { at: 176, .. }), "{refused}");
    assert!(capture.next_record().is_none());
}

#[test]
fn the_document_has_the_bytes_of_a_small_capture() {
    let file = record(&tanks("1.3"), &small()[..1]);
    let hex = "
        0a 0d 0d 0a 44 00 00 00 4d 3c 2b 1a 01 00 00 00 ff ff ff ff ff ff ff ff
        ad 0b 20 00 d9 7e 00 00 74 69 67 68 74 77 69 72 65 00 00 00
        05 74 61 6e 6b 73 03 31 2e 33 40 02 08 00 ff 01 00 00 00 00 44 00 00 00
        01 00 00 00 20 00 00 00 65 00 00 00 00 00 00 00
        09 00 01 00 09 00 00 00 00 00 00 00 20 00 00 00
        06 00 00 00 4c 00 00 00 00 00 00 00 fe 9c 97 17 15 cd 85 3d 20 00 00 00 20 00 00 00
        45 00 00 20 00 00 40 00 40 11 26 cb 0a 00 00 02 0a 00 00 01
        10 92 1e 61 00 0c e4 11 66 69 72 65
        02 00 04 00 01 00 00 00 00 00 00 00 4c 00 00 00";
    assert_eq!(file, bytes(hex));
    const DOCUMENT: &str = include_str!("../../../../docs/WIRE.md");
    let (_, example) = DOCUMENT.split_once("Example capture").unwrap();
    let example = example.split("\n## ").next().unwrap();
    let lines = example.lines().filter_map(|line| line.strip_prefix("    ")?.split("  ").next());
    assert_eq!(bytes(&lines.collect::<Vec<_>>().join(" ")), file);
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}
