//! What a capture says of an interface: how to find a datagram in its packets, and their time.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use etherparse::{EtherType, NetSlice, SlicedPacket, TransportSlice};
use pcap_parser::{InterfaceDescriptionBlock, Linktype, OptionCode, PcapNGOption};

use super::blocks::MAX_DATAGRAM;

/// The interface that a packet was captured on.
#[derive(Debug)]
pub(super) struct Interface {
    link: Linktype,
    /// Of the time, in a second.
    units: u128,
    /// Seconds to add to every time.
    offset: i64,
}

/// A datagram and who sent it to whom.
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
            // Beyond what a number holds, every time is zero either way.
            0 => 10u128.saturating_pow(exponent),
            _ => 1 << exponent,
        };
        let offset = option(&block.options, OptionCode::IfTsoffset, is_big_endian);
        Self { link: block.linktype, units, offset: offset.map_or(0, i64::from_le_bytes) }
    }

    /// Of a link whose times are seconds and fractions.
    pub(super) fn plain(link: Linktype, units: u32) -> Self {
        Self { link, units: units.into(), offset: 0 }
    }

    /// Since the Unix epoch, of such a link.
    pub(super) fn time_of(&self, seconds: u32, fraction: u32) -> Duration {
        self.time(u64::from(seconds) * self.units as u64 + u64::from(fraction))
    }

    /// Since the Unix epoch; the nearest that a duration can be, if it is not one.
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

    /// What UDP carries in a packet: nothing in one of another protocol, in a fragment, or in a
    /// packet that was cut. Checksums are not looked at: the network card computes them after most
    /// programs have captured a packet.
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
                // In the byte order of the machine that captured it, which may be another than the file's.
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
        // A length of zero in both headers is a jumbogram, which no UDP socket sends.
        (bytes.len() <= MAX_DATAGRAM).then(|| Datagram {
            source: SocketAddr::new(source, udp.source_port()),
            destination: SocketAddr::new(destination, udp.destination_port()),
            bytes,
        })
    }
}

/// IPv4, and IPv6 as Linux, Windows, NetBSD, FreeBSD and macOS number it.
const IP_FAMILIES: [u32; 6] = [2, 10, 23, 24, 28, 30];

/// The values of the options with this code.
pub(super) fn options<'a>(
    options: &'a [PcapNGOption<'_>],
    code: OptionCode,
) -> impl Iterator<Item = &'a [u8]> {
    // What follows the end of the options is no option.
    let options = options.iter().take_while(|option| option.code != OptionCode::EndOfOpt);
    let options = options.filter(move |option| option.code == code);
    options.filter_map(|option| option.as_bytes().ok())
}

/// The value of an option of `N` bytes, the lowest first, if it is there.
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
    fn times_are_what_resolution_and_offset_say() {
        assert_eq!(interface(1_000_000, 0).time(1_500_000), Duration::from_millis(1500));
        assert_eq!(interface(1 << 10, -1).time(3 << 9), Duration::from_millis(500));
        assert_eq!(interface(1, 7).time(3), Duration::from_secs(10));
        assert_eq!(interface(u128::MAX, 0).time(u64::MAX), Duration::ZERO);
    }

    #[test]
    fn times_that_no_duration_holds_are_the_nearest() {
        assert_eq!(interface(1, -8).time(7), Duration::ZERO);
        assert_eq!(interface(1, i64::MIN).time(0), Duration::ZERO);
        assert_eq!(interface(1, i64::MAX).time(u64::MAX), Duration::MAX);
    }
}
