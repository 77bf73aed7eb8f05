//! A capture: a server records its datagrams, and a tool without the types decodes them.

use std::error::Error;
use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tightwire::Wire;
use tightwire::inspect::{Capture, CaptureWriter, Direction};
use tightwire::packet::{Keys, Protection, Protocol};

#[derive(Wire, Default, Clone, PartialEq, Debug)]
enum Packet {
    #[default]
    KeepAlive,
    Move {
        #[wire(range = -100..=100)]
        x: i8,
        #[wire(range = -100..=100)]
        y: i8,
    },
    Chat {
        #[wire(max_len = 100)]
        text: String,
    },
}

fn main() -> Result<(), Box<dyn Error>> {
    // Wireshark opens the file, too.
    let name = format!("tightwire-example-{}.pcapng", std::process::id());
    let path = std::env::temp_dir().join(name);
    let replayed = record(&path).and_then(|()| replay(&path));
    std::fs::remove_file(&path)?;

    let expected = ["Move { x: 3, y: -7 }", r#"Chat { text: "gg" }"#, "KeepAlive"];
    assert_eq!(replayed?, expected);
    Ok(())
}

/// Records the input and output of the server.
fn record(path: &Path) -> Result<(), Box<dyn Error>> {
    let (server_address, client_address): (SocketAddr, SocketAddr) =
        ("10.0.0.1:7777".parse()?, "10.0.0.2:4242".parse()?);
    // The game's backend draws both keys at random for each connection.
    let (to_server, to_client) = ([1; 32], [2; 32]);
    let seal = |keys| Protocol::<Packet>::new("arena", "1.0", Protection::Sealed(keys));
    let mut client = seal(Keys::client(to_server, to_client));
    let mut server = seal(Keys::server(to_server, to_client));

    let mut recorder = CaptureWriter::new(File::create(path)?, server.identity())?;
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut buffer = [0; Protocol::<Packet>::MAX_BYTES];
    let mut received = Packet::default();
    for packet in [Packet::Move { x: 3, y: -7 }, Packet::Chat { text: "gg".into() }] {
        let datagram = client.write(&packet, &mut buffer)?;
        server.read(datagram, &mut received)?;
        // A sealed datagram cannot be decrypted later, so the packet in it is recorded.
        let bytes = server.unsealed(datagram);
        recorder.record(now()?, Direction::Received, server_address, client_address, bytes)?;
    }
    let datagram = server.write(&Packet::KeepAlive, &mut buffer)?;
    let bytes = server.unsealed(datagram);
    recorder.record(now()?, Direction::Sent, server_address, client_address, bytes)?;
    recorder.finish()?;
    Ok(())
}

/// Decodes the capture as a tool does: all it needs is in the file.
fn replay(path: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut capture = Capture::new(File::open(path)?)?;
    let identity =
        capture.identity().ok_or("the capture does not say what its packets are")?.clone();
    println!("{} {}, {}", identity.game(), identity.version(), identity.protection());

    let mut start: Option<Duration> = None;
    let mut packets = Vec::new();
    while let Some(record) = capture.next_record() {
        let record = record?;
        let time = record.time.saturating_sub(*start.get_or_insert(record.time));
        let direction = match record.direction {
            Some(Direction::Sent) => "->",
            Some(Direction::Received) => "<-",
            None => "--",
        };
        let packet = identity.decode(identity.packet_in(record.datagram)?)?;
        println!("{time:>10.1?} {direction} {packet}");
        packets.push(packet.to_string());
    }
    Ok(packets)
}
