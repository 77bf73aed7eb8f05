//! Filters, by which a socket drops packets before they cost the game time.

use std::net::{IpAddr, SocketAddr};

use super::ids::KeyedHash;

/// The packets that a server does not read in any case, for a [`Socket`](crate::quic::Socket) that
/// can drop them earlier, at best in the operating system: packets that are not QUIC or go to no
/// connection of this server, all packets from addresses that flood it, and during a flood of
/// unconnected addresses most packets that are not from connected addresses.
///
/// A [`Udp`](crate::quic::Udp) socket does so on Linux. It is optional: the server drops them
/// itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Filter {
    pub(super) ids: KeyedHash,
    pub(super) addresses: KeyedHash,
    /// Hashes of addresses whose packets are all dropped, in ascending order.
    pub(super) silenced: Vec<u32>,
    pub(super) unconnected: Option<Unconnected>,
}

/// Limit of packets from unknown addresses: only a share of them passes.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Unconnected {
    /// Share of the packets, in 2^-32.
    pub(super) share: u32,
    /// Hashes of the connected addresses, in ascending order.
    pub(super) connected: Vec<u32>,
}

/// Returns an address and a port as words.
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
