//! The last packets of connections that this side has closed.
//!
//! QUIC sends the packet that closes a connection once, and a silent peer would never hear the reason:
//! it is sent seven times within about a second.

use core::time::Duration;
use std::net::{IpAddr, SocketAddr};

use super::socket::{Packets, Socket};

/// Sends the packet that says why a connection was closed a few times more.
///
/// QUIC sends it once, and again whenever something comes; but a peer that has nothing to say sends
/// nothing, and if the packet was lost learns no more than that it was forgotten.
#[derive(Debug, Default)]
pub(super) struct Farewells {
    waiting: Vec<Farewell>,
}

#[derive(Debug)]
struct Farewell {
    to: SocketAddr,
    from: Option<IpAddr>,
    bytes: Vec<u8>,
    next: Duration,
    /// Until the one after that; doubles each time.
    pause: Duration,
}

impl Farewells {
    /// The packet was sent.
    pub(super) fn add(&mut self, packet: Packets<'_>, now: Duration) {
        if self.waiting.len() < MOST {
            let Packets { to, from, bytes, .. } = packet;
            let (bytes, next) = (bytes.to_vec(), now.saturating_add(FIRST_PAUSE));
            self.waiting.push(Farewell { to, from, bytes, next, pause: FIRST_PAUSE * 2 });
        }
    }

    pub(super) fn send(&mut self, socket: &mut impl Socket, now: Duration) {
        self.waiting.retain_mut(|farewell| {
            if farewell.next > now {
                return true;
            }
            let Farewell { to, from, bytes, .. } = farewell;
            let size = bytes.len();
            // One that finds no room is as good as lost.
            let _ = socket.send(now, &Packets { to: *to, from: *from, congestion: 0, bytes, size });
            farewell.next = now.saturating_add(farewell.pause);
            farewell.pause *= 2;
            farewell.pause <= LAST_PAUSE
        });
    }

    pub(super) fn next_time(&self) -> Option<Duration> {
        self.waiting.iter().map(|farewell| farewell.next).min()
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_millis(1280);
/// Whoever makes many connections end cannot make more of this.
const MOST: usize = 256;
