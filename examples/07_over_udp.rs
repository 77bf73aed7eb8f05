//! Datagrams over real UDP: a server accepts only its client's.

use std::net::UdpSocket;
use std::time::Duration;

use tightwire::Wire;
use tightwire::packet::{Keys, PacketError, Protection, Protocol};

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server_socket = UdpSocket::bind("127.0.0.1:0")?;
    server_socket.set_read_timeout(Some(Duration::from_secs(5)))?;
    let client_socket = UdpSocket::bind("127.0.0.1:0")?;
    client_socket.connect(server_socket.local_addr()?)?;
    let stranger = UdpSocket::bind("127.0.0.1:0")?;

    // The game's backend draws both keys at random for each connection.
    let (to_server, to_client) = ([1; 32], [2; 32]);
    let seal = |keys| Protocol::<Packet>::new("arena", "1.0", Protection::Sealed(keys));
    let mut client = seal(Keys::client(to_server, to_client));
    let mut server = seal(Keys::server(to_server, to_client));

    let mut buffer = [0; Protocol::<Packet>::MAX_BYTES];
    for packet in [Packet::Move { x: 3, y: -7 }, Packet::Chat { text: "gg".into() }] {
        let datagram = client.write(&packet, &mut buffer)?;
        // An attacker on the path sends the datagram with a flipped bit, and replays it afterwards.
        let mut altered = datagram.to_vec();
        altered[5] ^= 1;
        stranger.send_to(&altered, server_socket.local_addr()?)?;
        client_socket.send(datagram)?;
        stranger.send_to(datagram, server_socket.local_addr()?)?;
    }

    // The server's loop: a hostile datagram is only counted.
    let mut packet = Packet::default();
    let mut received = [0; 1500];
    for _ in 0..6 {
        let (length, from) = server_socket.recv_from(&mut received)?;
        match server.read(&received[..length], &mut packet) {
            Ok(()) => println!("{length} bytes from {from}: {packet:?}"),
            Err(refused) => println!("{length} bytes from {from} refused: {refused}"),
        }
    }
    println!("{}", server.counters());
    assert_eq!(packet, Packet::Chat { text: "gg".into() });
    assert_eq!((server.counters().read, server.counters().refused()), (2, 4));

    // A client of the next version is refused, and both sides can list the differences.
    let next =
        Protocol::<u8>::new("arena", "1.1", Protection::Sealed(Keys::client([3; 32], [4; 32])));
    let mismatch = server.identity().mismatch(next.identity()).ok_or("the same")?;
    print!("{mismatch}");
    assert!(mismatch.to_string().contains(r#"version: "1.0" here, "1.1" there"#));
    assert_eq!(
        server.read(&[], &mut packet),
        Err(PacketError::TooShort { length: 0, minimum: 17 })
    );
    Ok(())
}
