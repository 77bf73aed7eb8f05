//! Datagrams over real UDP, among them forged and replayed ones.

use std::error::Error;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use tightwire::packet::{Keys, Protection, Protocol};

use crate::picture::Player;

/// Number of datagrams of each kind. Few enough for the socket's buffer, which is not read
/// meanwhile.
const COUNT: usize = 50;

/// Sends datagrams from a client and an attacker, and returns the server's counters as text.
pub(crate) fn example(player: &Player) -> Result<String, Box<dyn Error>> {
    let socket = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let (server_socket, client_socket, attacker) = (socket()?, socket()?, socket()?);
    let address = server_socket.local_addr()?;
    server_socket.set_read_timeout(Some(Duration::from_secs(5)))?;

    let seal = |keys| Protocol::<Player>::new("arena", "1.0", Protection::Sealed(keys));
    let mut client = seal(Keys::client([1; 32], [2; 32]));
    let mut server = seal(Keys::server([1; 32], [2; 32]));
    let player = player.clone();
    let mut buffer = [0; Protocol::<Player>::MAX_BYTES];
    let mut received = Player::default();
    let mut largest = 0;
    let mut incoming = [0; 1500];
    for round in 0..COUNT {
        let datagram = client.write(&player, &mut buffer)?;
        largest = largest.max(datagram.len());
        let mut altered = datagram.to_vec();
        altered[1 + round % (datagram.len() - 1)] ^= 1 << (round % 8);
        attacker.send_to(&altered, address)?;
        client_socket.send_to(datagram, address)?;
        attacker.send_to(datagram, address)?;
        for _ in 0..3 {
            let length = server_socket.recv(&mut incoming)?;
            // A server only counts refused datagrams.
            let _ = server.read(&incoming[..length], &mut received);
        }
    }

    let mut text = String::new();
    writeln!(
        text,
        "Over UDP, a sealed player takes {largest} bytes. Before each datagram an attacker sends a copy"
    )?;
    writeln!(
        text,
        "with one bit flipped, and afterwards the datagram again. The server counts:\n"
    )?;
    writeln!(text, "  {}\n", server.counters())?;
    writeln!(text, "A client of another version is refused, and both sides can say why:\n")?;
    let next = Keys::client([3; 32], [4; 32]);
    let next = Protocol::<next_version::Player>::new("arena", "1.1", Protection::Sealed(next));
    if let Some(mismatch) = server.identity().mismatch(next.identity()) {
        mismatch.to_string().lines().try_for_each(|line| writeln!(text, "  {line}"))?;
    }
    Ok(text)
}

mod next_version {
    /// A player of the next version, with a larger range of health.
    #[derive(tightwire::Wire)]
    pub(super) struct Player {
        #[wire(range = 0..=200)]
        health: u8,
        #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
        position: [f32; 3],
        #[wire(smallest_three = 10)]
        orientation: [f32; 4],
        at_rest: bool,
        #[wire(when = !self.at_rest, min = -32.0, max = 32.0, resolution = 0.01)]
        velocity: [f32; 3],
        #[wire(max_len = 31)]
        name: String,
    }
}
