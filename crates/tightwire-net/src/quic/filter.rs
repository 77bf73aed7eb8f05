//! What a socket can drop before it takes the time of the game.

use std::net::{IpAddr, SocketAddr};

use super::ids::KeyedHash;

/// Which packets a server does not read in any case, for a [`Socket`](crate::quic::Socket) that can drop them
/// sooner, at best in the operating system: whatever is not QUIC or goes to no connection of this
/// server, all that comes from addresses that flood it, and while strangers do, most of what does not
/// come from those who are connected.
///
/// A [`Udp`](crate::quic::Udp) socket does so on Linux. There is no need to: the server drops them itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Filter {
    pub(super) ids: KeyedHash,
    pub(super) addresses: KeyedHash,
    /// The hashes of addresses of which nothing passes, in ascending order.
    pub(super) loud: Vec<u32>,
    pub(super) strangers: Option<Strangers>,
}

/// Of all that does not come from known addresses only a share passes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Strangers {
    /// In 2^-32.
    pub(super) share: u32,
    /// The hashes of the known addresses, in ascending order.
    pub(super) known: Vec<u32>,
}

/// An address and a port as words.
pub(super) fn words(address: &SocketAddr) -> impl Iterator<Item = u32> + use<> {
    // An IPv4 address is one too where a socket for IPv6 says it in its own way.
    let (words, count) = match address.ip().to_canonical() {
        IpAddr::V4(ip) => ([ip.to_bits(), 0, 0, 0], 1),
        IpAddr::V6(ip) => {
            let bits = ip.to_bits();
            ([96, 64, 32, 0].map(|shift| (bits >> shift) as u32), 4)
        }
    };
    words.into_iter().take(count).chain([u32::from(address.port())])
}
