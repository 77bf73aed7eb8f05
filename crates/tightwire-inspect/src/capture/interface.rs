//! Interfaces of a capture: the link type, which locates the datagram in a packet, and the
//! resolution of times.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use etherparse::{EtherType, NetSlice, SlicedPacket, TransportSlice};
use pcap_parser::{InterfaceDescriptionBlock, Linktype, OptionCode, PcapNGOption};

use super::blocks::MAX_DATAGRAM;

/// The interface that a packet was captured on.
#[derive(Debug)]
pub(super) struct Interface {
    link: Linktype,
    /// Units of a packet's time per second.
    units: u128,
    /// Seconds to add to every time.
    offset: i64,
}

/// A datagram with its source and destination.
pub(super) struct Datagram<'a> {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) bytes: &'a [u8],
}

impl Interface {
    pub(super) fn new(block: &InterfaceDescriptionBlock<'_>, is_big_endian: bool) -> Self {
        let resolution = block.if_tsresol;
        let exponent = u32::from(resolution & 0x7f);
        let units = match resolution & 0x80 {
            // An exponent too large for `u128` makes every time zero, saturated or not.
            0 => 10u128.saturating_pow(exponent),
            _ => 1 << exponent,
        };
        let offset = option(&block.options, OptionCode::IfTsoffset, is_big_endian);
        Self { link: block.linktype, units, offset: offset.map_or(0, i64::from_le_bytes) }
    }

    /// Returns the interface of a pcap file, whose times are seconds and fractions.
    pub(super) fn plain(link: Linktype, units: u32) -> Self {
        Self { link, units: units.into(), offset: 0 }
    }

    /// Returns the time since the Unix epoch of a packet in a pcap file.
    pub(super) fn time_of(&self, seconds: u32, fraction: u32) -> Duration {
        self.time(u64::from(seconds) * self.units as u64 + u64::from(fraction))
    }

    /// Returns the time since the Unix epoch, clamped to the range of `Duration`.
    pub(super) fn time(&self, units: u64) -> Duration {
        const SECOND: i128 = 1_000_000_000;
        let nanoseconds = u128::from(units) * SECOND as u128 / self.units;
        let nanoseconds = nanoseconds as i128 + i128::from(self.offset) * SECOND;
        let Ok(nanoseconds) = u128::try_from(nanoseconds) else { return Duration::ZERO };
        match u64::try_from(nanoseconds / SECOND as u128) {
            Ok(seconds) => Duration::new(seconds, (nanoseconds % SECOND as u128) as u32),
            Err(_) => Duration::MAX,
        }
    }

    /// Returns the UDP datagram in a packet; `None` for other protocols, fragments and truncated
    /// packets. Checksums are not verified: the network card computes them after most programs have
    /// captured a packet.
    pub(super) fn datagram<'a>(&self, packet: &'a [u8]) -> Option<Datagram<'a>> {
        let packet = match self.link {
            Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => SlicedPacket::from_ip(packet),
            Linktype::ETHERNET => SlicedPacket::from_ethernet(packet),
            Linktype::LINUX_SLL => SlicedPacket::from_linux_sll(packet),
            Linktype::LINUX_SLL2 => {
                let (head, packet) = packet.split_first_chunk::<20>()?;
                let kind = u16::from_be_bytes([head[0], head[1]]);
                SlicedPacket::from_ether_type(EtherType(kind), packet)
            }
            Linktype::NULL | Linktype::LOOP => {
                let (family, packet) = packet.split_first_chunk()?;
                // The family is in the byte order of the capturing machine, which may differ from
                // the file's.
                let families = [u32::from_be_bytes(*family), u32::from_le_bytes(*family)];
                if !families.iter().any(|family| IP_FAMILIES.contains(family)) {
                    return None;
                }
                SlicedPacket::from_ip(packet)
            }
            _ => return None,
        };
        let packet = packet.ok()?;
        let (source, destination): (IpAddr, IpAddr) = match packet.net? {
            NetSlice::Ipv4(ip) => {
                let header = ip.header();
                (header.source_addr().into(), header.destination_addr().into())
            }
            NetSlice::Ipv6(ip) => {
                let header = ip.header();
                (header.source_addr().into(), header.destination_addr().into())
            }
            NetSlice::Arp(_) => return None,
        };
        let Some(TransportSlice::Udp(udp)) = packet.transport else { return None };
        let bytes = udp.payload();
        // A length of zero in both headers means a jumbogram, which no UDP socket sends.
        (bytes.len() <= MAX_DATAGRAM).then(|| Datagram {
            source: SocketAddr::new(source, udp.source_port()),
            destination: SocketAddr::new(destination, udp.destination_port()),
            bytes,
        })
    }
}

/// Address families: IPv4, and IPv6 as Linux, Windows, NetBSD, FreeBSD and macOS number it.
const IP_FAMILIES: [u32; 6] = [2, 10, 23, 24, 28, 30];

/// Returns the values of the options with this code.
pub(super) fn options<'a>(
    options: &'a [PcapNGOption<'_>],
    code: OptionCode,
) -> impl Iterator<Item = &'a [u8]> {
    // Bytes after the end-of-options mark are no options.
    let options = options.iter().take_while(|option| option.code != OptionCode::EndOfOpt);
    let options = options.filter(move |option| option.code == code);
    options.filter_map(|option| option.as_bytes().ok())
}

/// Returns the value of an option of `N` bytes, lowest byte first; `None` if the option is absent
/// or has another length.
pub(super) fn option<const N: usize>(
    options: &[PcapNGOption<'_>],
    code: OptionCode,
    is_big_endian: bool,
) -> Option<[u8; N]> {
    let value = self::options(options, code).next()?;
    let mut value: [u8; N] = value.try_into().ok()?;
    if is_big_endian {
        value.reverse();
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(units: u128, offset: i64) -> Interface {
        Interface { link: Linktype::RAW, units, offset }
    }

    #[test]
    fn times_use_resolution_and_offset() {
        assert_eq!(interface(1_000_000, 0).time(1_500_000), Duration::from_millis(1500));
        assert_eq!(interface(1 << 10, -1).time(3 << 9), Duration::from_millis(500));
        assert_eq!(interface(1, 7).time(3), Duration::from_secs(10));
        assert_eq!(interface(u128::MAX, 0).time(u64::MAX), Duration::ZERO);
    }

    #[test]
    fn times_out_of_range_are_clamped() {
        assert_eq!(interface(1, -8).time(7), Duration::ZERO);
        assert_eq!(interface(1, i64::MIN).time(0), Duration::ZERO);
        assert_eq!(interface(1, i64::MAX).time(u64::MAX), Duration::MAX);
    }
}
