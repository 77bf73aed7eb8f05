//! Other programs on our captures: their view of the packets, and the identity after they copied a
//! file.
#![cfg(feature = "inspect")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};

use tightwire::inspect::{CaptureWriter, Direction};

use crate::common::datagrams::{Datagram, datagrams, read, record, small, tanks};
use crate::common::identities::identity_of;

#[test]
fn tshark_sees_what_was_recorded() {
    let mut datagrams = datagrams(4, 400);
    // tshark takes some ports for those of traceroute, and prints a note.
    for datagram in &mut datagrams {
        datagram.local.set_port(7777);
        datagram.peer.set_port(40_000 + datagram.peer.port() % 20_000);
    }
    datagrams.extend(small());
    let path = Temporary::new("tshark");
    let file = std::fs::File::create(&path.0).unwrap();
    let mut recorder = CaptureWriter::new(file, &tanks("1.3")).unwrap();
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
    let mut command = Command::new("tshark");
    command.args(["-n", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    // Otherwise random bytes to random ports are taken for all kinds of protocols.
    command.args(["-d", "udp.port==0-65535,data"]);
    command.args(["-T", "fields"]).args(fields.iter().flat_map(|field| ["-e", field]));
    let output = silent(command.arg("-r").arg(&path.0));
    let output = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.lines().count(), datagrams.len());
    for (number, (line, datagram)) in output.lines().zip(&datagrams).enumerate() {
        // The direction is printed with or without leading zeros, depending on the version.
        let line = line.replacen("0x0000000", "", 1);
        assert_eq!(line, tshark_line(number + 1, datagram));
    }
}

#[test]
fn tshark_counts_the_datagrams_and_nothing_else() {
    let path = Temporary::new("count");
    std::fs::write(&path.0, record(&tanks("1.3"), &small())).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-e", "frame.number", "-e", "frame.time_relative"]);
    let output = silent(command.arg("-r").arg(&path.0));
    let lines = "1\t0.000000000\n2\t0.000000001\n3\t0.000000002\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), lines);
}

#[test]
fn editcap_keeps_the_identity() {
    // The longest too, although editcap adds its name to the same block.
    for original in [tanks("1.3"), identity_of(245_760)] {
        let (path, copy) = (Temporary::new("editcap-from"), Temporary::new("editcap-to"));
        std::fs::write(&path.0, record(&original, &small())).unwrap();
        silent(Command::new("editcap").args([&path.0, &copy.0]));
        let (identity, read, end) = read(&std::fs::read(&copy.0).unwrap());
        assert!(end.is_ok());
        assert_eq!((identity, &read[..]), (Some(original), &small()[..]));
    }
}

#[test]
fn mergecap_keeps_the_identity_of_the_first() {
    let files = ["1.3", "1.4"].map(|version| (version, Temporary::new(version)));
    for (version, file) in &files {
        std::fs::write(&file.0, record(&tanks(version), &small())).unwrap();
    }
    let merged = Temporary::new("mergecap");
    let mut command = Command::new("mergecap");
    command.arg("-w").args([&merged.0, &files[0].1.0, &files[1].1.0]);
    silent(&mut command);
    let (identity, read, end) = read(&std::fs::read(&merged.0).unwrap());
    assert!(end.is_ok());
    assert_eq!(identity, Some(tanks("1.3")));
    // In the order of their times.
    let twice = small().into_iter().flat_map(|datagram| [datagram.clone(), datagram]);
    assert_eq!(read, twice.collect::<Vec<_>>());
}

/// Runs a program that must print no errors.
fn silent(command: &mut Command) -> Output {
    let output = command.output();
    let output = output.expect("it is not there: `./ci.sh test` installs it with tshark");
    let complaints = String::from_utf8_lossy(&output.stderr);
    let mut complaints = complaints.lines().filter(|line| !line.starts_with("Running as user"));
    assert_eq!(complaints.next(), None);
    assert!(output.status.success());
    output
}

/// A file of this process, removed on drop.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        let name = format!("tightwire-{name}-{}.pcapng", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // The file may not exist.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns the line that tshark should print for a datagram.
fn tshark_line(number: usize, datagram: &Datagram) -> String {
    let Datagram { time, direction, local, peer, bytes } = datagram;
    let (flags, source, destination) = match direction {
        Direction::Received => (1, peer, local),
        Direction::Sent => (2, local, peer),
    };
    // One of the two columns is empty; and IPv6 has no checksum of its own.
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
