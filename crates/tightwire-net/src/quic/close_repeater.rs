//! The last packets of connections that this side has closed.
//!
//! QUIC sends the packet that closes a connection once, and a silent peer would never learn the
//! reason if it was lost: it is sent seven times within about a second.

use core::time::Duration;
use std::net::{IpAddr, SocketAddr};

use super::socket::{Packets, Socket};

/// Repeats the packet with the reason why a connection was closed.
///
/// QUIC sends the packet once, and again as the response to a packet. A peer that sends nothing
/// gets no response: if the close packet was lost, it would only learn that its connection is
/// unknown.
#[derive(Debug, Default)]
pub(super) struct CloseRepeater {
    waiting: Vec<ClosePacket>,
}

#[derive(Debug)]
struct ClosePacket {
    to: SocketAddr,
    from: Option<IpAddr>,
    bytes: Vec<u8>,
    next: Duration,
    /// Interval until the repetition after the next; doubles each time.
    pause: Duration,
}

impl CloseRepeater {
    /// Adds a packet that was sent once.
    pub(super) fn add(&mut self, packet: Packets<'_>, now: Duration) {
        if self.waiting.len() < MAX_PACKETS {
            let Packets { to, from, bytes, .. } = packet;
            let (bytes, next) = (bytes.to_vec(), now.saturating_add(FIRST_PAUSE));
            self.waiting.push(ClosePacket { to, from, bytes, next, pause: FIRST_PAUSE * 2 });
        }
    }

    pub(super) fn send(&mut self, socket: &mut impl Socket, now: Duration) {
        self.waiting.retain_mut(|packet| {
            if packet.next > now {
                return true;
            }
            let ClosePacket { to, from, bytes, .. } = packet;
            let size = bytes.len();
            // A packet without room in the socket counts as lost.
            let _ = socket.send(now, &Packets { to: *to, from: *from, congestion: 0, bytes, size });
            packet.next = now.saturating_add(packet.pause);
            packet.pause *= 2;
            packet.pause <= LAST_PAUSE
        });
    }

    pub(super) fn next_time(&self) -> Option<Duration> {
        self.waiting.iter().map(|packet| packet.next).min()
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_millis(1280);
/// Largest number of packets: an attacker that makes many connections end causes no more.
const MAX_PACKETS: usize = 256;
