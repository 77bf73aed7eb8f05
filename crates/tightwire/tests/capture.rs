//! Captures: what is recorded is read back, by us and by others.
#![cfg(feature = "capture")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common {
    pub(crate) mod datagrams;
    pub(crate) mod rng;
}

use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::time::Duration;

use common::datagrams::{Datagram, datagrams, read, record, small};
use tightwire::{Capture, CaptureError, Direction, Recorder};

const DESCRIPTION: &[u8] = b"tanks 1.3";

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn datagrams_come_back_as_they_were_recorded() {
    let datagrams = datagrams(1, 4000);
    let file = record(DESCRIPTION, &datagrams);
    let (description, read, end) = read(&file);
    assert!(end.is_ok(), "{end:?}");
    assert_eq!(description.as_deref(), Some(DESCRIPTION));
    assert_eq!(read.len(), datagrams.len());
    for (read, datagram) in read.iter().zip(&datagrams) {
        assert_eq!(read, datagram);
    }
    let lengths = datagrams.iter().map(|datagram| datagram.bytes.len());
    assert_eq!((lengths.clone().min(), lengths.max()), (Some(0), Some(65527)));
}

#[test]
fn any_description_comes_back() {
    for length in [0, 1, 2, 3, 4, 5, 1000, 262_112] {
        let description = vec![7; length];
        let file = Recorder::new(Vec::new(), &description).unwrap().finish().unwrap();
        assert_eq!(Capture::new(&file[..]).unwrap().description(), Some(&description[..]));
    }
    let mut file = Vec::new();
    let refused = Recorder::new(&mut file, &[7; 262_113]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert!(file.is_empty());
}

#[test]
fn what_udp_cannot_carry_is_refused_and_nothing_is_written() {
    let (v4, v6) = (address("10.0.0.1:1"), address("[fe80::1]:1"));
    let mut recorder = Recorder::new(Vec::new(), DESCRIPTION).unwrap();
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
    assert_eq!(recorder.finish().unwrap(), record(DESCRIPTION, &[]));
}

#[test]
fn an_ipv4_and_an_ipv6_address_are_both_ipv6_in_the_file() {
    let (local, peer) = (address("10.0.0.1:7777"), address("[2001:db8::1]:4242"));
    let mut recorder = Recorder::new(Vec::new(), DESCRIPTION).unwrap();
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
    /// Takes whatever comes.
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
    let mut recorder = Recorder::new(Null(0), DESCRIPTION).unwrap();
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
    let file = record(DESCRIPTION, &datagrams);
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

    let mut recorder = Recorder::new(Writes::default(), DESCRIPTION).unwrap();
    for datagram in small() {
        datagram.record(&mut recorder);
    }
    assert_eq!(recorder.finish().unwrap().0, [104, 76, 96, 92]);
}

#[test]
fn nothing_follows_a_block_that_was_not_written_whole() {
    /// Full after so many bytes, and then never again.
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
    let mut recorder = Recorder::new(Full(104, Vec::new()), DESCRIPTION).unwrap();
    let [first, second, _] = small();
    let mut try_record = |datagram: &Datagram| {
        let Datagram { time, direction, local, peer, bytes } = datagram;
        recorder.record(*time, *direction, *local, *peer, bytes).unwrap_err().to_string()
    };
    try_record(&first);
    let reason = "an earlier record was not written whole: begin another capture";
    assert_eq!(try_record(&second), reason);
    assert_eq!(recorder.finish().unwrap().1, record(DESCRIPTION, &[]));
}

#[test]
fn every_prefix_gives_its_whole_records_and_says_where_it_ends() {
    let datagrams = small();
    let file = record(DESCRIPTION, &datagrams);
    // Where a block ends: after the section, the interface, the description, each packet.
    let ends = [28, 60, 104, 180, 276, 368];
    assert_eq!(file.len(), 368);
    for length in 0..=file.len() {
        let whole = ends.iter().filter(|&&end| end <= length);
        let start = whole.clone().next_back().copied().unwrap_or(0);
        let (description, read, end) = read(&file[..length]);
        assert_eq!(description.is_some(), length >= 104, "{length}");
        assert_eq!(read, datagrams[..whole.count().saturating_sub(3)], "{length}");
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
    let file = record(DESCRIPTION, &datagrams);
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
fn captures_may_follow_one_another_in_a_file() {
    let [first, second, third] = small();
    let one = record(b"one", &[first.clone(), second.clone()]);
    let file = [one, record(b"two", std::slice::from_ref(&third))].concat();
    let mut capture = Capture::new(&file[..]).unwrap();
    for (datagram, description) in [(first, b"one"), (second, b"one"), (third, b"two")] {
        assert_eq!(capture.next_record().unwrap().unwrap().datagram, datagram.bytes);
        assert_eq!(capture.description(), Some(&description[..]));
    }
    assert!(capture.next_record().is_none());
}

#[test]
fn readers_that_fail_are_named_as_such() {
    /// Gives the bytes, and then an error.
    struct Broken<'a>(&'a [u8]);

    impl io::Read for Broken<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer) {
                Ok(0) => Err(ErrorKind::ConnectionReset.into()),
                other => other,
            }
        }
    }

    let file = record(DESCRIPTION, &small());
    let mut capture = Capture::new(Broken(&file[..200])).unwrap();
    assert!(capture.next_record().unwrap().is_ok());
    let refused = capture.next_record().unwrap().unwrap_err();
    assert!(matches!(refused, CaptureError::Io { at: 180, .. }), "{refused}");
    assert!(capture.next_record().is_none());
}

#[test]
fn the_document_has_the_bytes_of_a_small_capture() {
    let file = record(DESCRIPTION, &small()[..1]);
    let hex = "
        0a 0d 0d 0a 1c 00 00 00 4d 3c 2b 1a 01 00 00 00 ff ff ff ff ff ff ff ff 1c 00 00 00
        01 00 00 00 20 00 00 00 65 00 00 00 00 00 00 00
        09 00 01 00 09 00 00 00 00 00 00 00 20 00 00 00
        ad 0b 00 00 2c 00 00 00 d9 7e 00 00 74 69 67 68 74 77 69 72 65 00 00 00 09 00 00 00
        74 61 6e 6b 73 20 31 2e 33 00 00 00 2c 00 00 00
        06 00 00 00 4c 00 00 00 00 00 00 00 fe 9c 97 17 15 cd 85 3d 20 00 00 00 20 00 00 00
        45 00 00 20 00 00 40 00 40 11 26 cb 0a 00 00 02 0a 00 00 01
        10 92 1e 61 00 0c e4 11 66 69 72 65
        02 00 04 00 01 00 00 00 00 00 00 00 4c 00 00 00";
    assert_eq!(file, bytes(hex));
    const DOCUMENT: &str = include_str!("../../../docs/WIRE.md");
    let (_, example) = DOCUMENT.split_once("Example capture").unwrap();
    let lines = example.lines().filter_map(|line| line.strip_prefix("    ")?.split("  ").next());
    assert_eq!(bytes(&lines.collect::<Vec<_>>().join(" ")), file);
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

#[test]
fn tshark_sees_what_was_recorded() {
    let mut datagrams = datagrams(4, 400);
    // tshark takes some ports for those of traceroute, and says so.
    for datagram in &mut datagrams {
        datagram.local.set_port(7777);
        datagram.peer.set_port(40_000 + datagram.peer.port() % 20_000);
    }
    datagrams.extend(small());
    let path = temporary("tshark");
    let file = std::fs::File::create(&path).unwrap();
    let mut recorder = Recorder::new(file, DESCRIPTION).unwrap();
    for datagram in &datagrams {
        datagram.record(&mut recorder);
    }
    recorder.finish().unwrap();

    let fields = [
        "frame.number",
        "frame.time_epoch",
        "frame.packet_flags_direction",
        "ip.src",
        "ipv6.src",
        "ip.dst",
        "ipv6.dst",
        "udp.srcport",
        "udp.dstport",
        "ip.checksum.status",
        "udp.checksum.status",
        "_ws.expert.message",
        "udp.payload",
    ];
    let mut command = std::process::Command::new("tshark");
    command.args(["-n", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    // Random bytes to random ports would else be taken for all kinds of protocols.
    command.args(["-d", "udp.port==0-65535,data"]);
    // The description is a frame too, the first.
    command.args(["-Y", "udp"]);
    command.args(["-T", "fields"]).args(fields.iter().flat_map(|field| ["-e", field]));
    let output = command.arg("-r").arg(&path).output();
    let output = output.expect("tshark is not there: `./ci.sh test` installs it");
    std::fs::remove_file(&path).unwrap();

    let complaints = String::from_utf8(output.stderr).unwrap();
    let mut complaints = complaints.lines().filter(|line| !line.starts_with("Running as user"));
    assert_eq!(complaints.next(), None);
    assert!(output.status.success());
    let output = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.lines().count(), datagrams.len());
    for (number, (line, datagram)) in output.lines().zip(&datagrams).enumerate() {
        // The direction is printed with or without leading zeros, depending on the version.
        let line = line.replacen("0x0000000", "", 1);
        assert_eq!(line, tshark_line(number + 2, datagram));
    }
}

#[test]
fn editcap_keeps_the_description() {
    let (path, copy) = (temporary("editcap-from"), temporary("editcap-to"));
    std::fs::write(&path, record(DESCRIPTION, &small())).unwrap();
    let output = std::process::Command::new("editcap").args([&path, &copy]).output();
    let output = output.expect("editcap is not there: `./ci.sh test` installs it with tshark");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let (description, read, end) = read(&std::fs::read(&copy).unwrap());
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&copy).unwrap();
    assert!(end.is_ok());
    assert_eq!((description.as_deref(), &read[..]), (Some(DESCRIPTION), &small()[..]));
}

/// A file of this process.
fn temporary(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("tightwire-{name}-{}.pcapng", std::process::id()))
}

/// What tshark should print for a datagram.
fn tshark_line(number: usize, datagram: &Datagram) -> String {
    let Datagram { time, direction, local, peer, bytes } = datagram;
    let (flags, source, destination) = match direction {
        Direction::Received => (1, peer, local),
        Direction::Sent => (2, local, peer),
    };
    // Of two columns, one is empty; and IPv6 has no checksum of its own.
    let (before, after, ip_status) =
        if source.is_ipv4() { ("", "\t", "1") } else { ("\t", "", "") };
    let column = |address: &SocketAddr| format!("{before}{}{after}", address.ip());
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [
        number.to_string(),
        format!("{}.{:09}", time.as_secs(), time.subsec_nanos()),
        format!("{flags}"),
        column(source),
        column(destination),
        source.port().to_string(),
        destination.port().to_string(),
        ip_status.to_owned(),
        "1".to_owned(),
        String::new(),
        hex,
    ]
    .join("\t")
}
