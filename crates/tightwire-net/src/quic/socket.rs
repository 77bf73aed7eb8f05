//! Sockets, which carry the packets of an endpoint.

use core::time::Duration;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};

use super::Filter;
#[cfg(any(target_os = "linux", target_os = "android"))]
use super::bpf;

/// The carrier of the packets of a [`Quic`](crate::quic::Quic) endpoint: a [`Udp`] socket, or a
/// [`SimulatedSocket`](crate::quic::SimulatedSocket).
pub trait Socket {
    /// Passes each packet that has come by `now` to `take`, until that returns `false`; packets
    /// that the system returned together are all passed.
    fn receive(&mut self, now: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool);

    /// Sends packets to one address. `false` if there is no room for them now.
    fn send(&mut self, now: Duration, packets: &Packets<'_>) -> bool;

    /// Returns the local address.
    fn address(&self) -> SocketAddr;

    /// Returns the number of packets that can be sent at once.
    fn max_packets(&self) -> usize {
        1
    }

    /// Whether a packet that is too large for the path is lost, and not fragmented.
    fn finds_mtu(&self) -> bool;

    /// Drops packets that a filter does not pass from now on, as far as that costs less than
    /// receiving them. `false` if it cannot: then it is not called again.
    fn set_filter(&mut self, filter: &Filter) -> bool {
        let _ = filter;
        false
    }

    /// Returns the time at which the next packet comes; `None` if it is not known.
    fn next_time(&self) -> Option<Duration> {
        None
    }
}

/// A received packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Source address.
    pub from: SocketAddr,
    /// Local address that it was sent to; `None` if it is not known.
    pub to: Option<IpAddr>,
    /// The two bits of explicit congestion notification.
    pub congestion: u8,
    /// The bytes of the packet.
    pub bytes: &'a [u8],
}

/// Packets to be sent to one address.
#[derive(Clone, Copy, Debug)]
pub struct Packets<'a> {
    /// Destination address.
    pub to: SocketAddr,
    /// Local address that they are sent from; `None` if it does not matter.
    pub from: Option<IpAddr>,
    /// The two bits of explicit congestion notification.
    pub congestion: u8,
    /// The bytes of all packets, one after the other.
    pub bytes: &'a [u8],
    /// Size of each packet but the last, which may be smaller, in bytes.
    pub size: usize,
}

/// A UDP socket, with the system calls for many packets at once where there are some.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    address: SocketAddr,
    buffers: Vec<Vec<u8>>,
}

impl Udp {
    /// Opens a socket for a server, which receives from many clients.
    ///
    /// # Errors
    ///
    /// The error of the system.
    pub fn server(address: SocketAddr) -> io::Result<Self> {
        Self::open(address, BATCH_SIZE)
    }

    /// Opens a socket for a client of a server at this address.
    ///
    /// # Errors
    ///
    /// The error of the system.
    pub fn client(server: SocketAddr) -> io::Result<Self> {
        let any: IpAddr = if server.is_ipv4() {
            std::net::Ipv4Addr::UNSPECIFIED.into()
        } else {
            std::net::Ipv6Addr::UNSPECIFIED.into()
        };
        Self::open((any, 0).into(), CLIENT_BATCH.min(BATCH_SIZE))
    }

    fn open(address: SocketAddr, batch: usize) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&socket).into())?;
        // The largest buffer that the system permits: packets of a whole frame must fit.
        for bytes in [4 << 20, 1 << 20, 256 << 10] {
            if state.set_recv_buffer_size((&socket).into(), bytes).is_ok() {
                break;
            }
        }
        let _ = state.set_send_buffer_size((&socket).into(), 1 << 20);
        let length = 1500 * state.gro_segments();
        let address = socket.local_addr()?;
        // Not clones of one buffer: only used pages take memory, and most packets are small.
        let buffers = (0..batch).map(|_| vec![0; length]).collect();
        Ok(Self { socket, state, address, buffers })
    }
}

impl Socket for Udp {
    fn receive(&mut self, _: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        let Self { socket, state, buffers, .. } = self;
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let batch = buffers.len();
        loop {
            let mut each = buffers.iter_mut();
            let mut slices: [_; BATCH_SIZE] = core::array::from_fn(|_| {
                io::IoSliceMut::new(each.next().map_or(&mut [], Vec::as_mut_slice))
            });
            // An error concerns an earlier packet, or means that no packet waits.
            let count = match state.recv((&*socket).into(), &mut slices[..batch], &mut metas) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => continue,
                Err(_) => return,
            };
            let mut wants_more = true;
            for (meta, buffer) in metas.iter().zip(buffers.iter()).take(count) {
                let congestion = meta.ecn.map_or(0, |ecn| ecn as u8);
                for bytes in buffer[..meta.len].chunks(meta.stride.max(1)) {
                    let packet = Packet { from: meta.addr, to: meta.dst_ip, congestion, bytes };
                    wants_more &= take(packet);
                }
            }
            // The system returns all waiting packets: no further call is needed.
            if !wants_more || (count < batch && RECEIVES_ALL_WAITING) {
                return;
            }
        }
    }

    fn send(&mut self, _: Duration, packets: &Packets<'_>) -> bool {
        let transmit = Transmit {
            destination: packets.to,
            ecn: quinn_udp::EcnCodepoint::from_bits(packets.congestion),
            contents: packets.bytes,
            segment_size: (packets.size < packets.bytes.len()).then_some(packets.size),
            // With one local address, the system needs no source address.
            src_ip: packets.from.filter(|_| self.address.ip().is_unspecified()),
        };
        match self.state.try_send((&self.socket).into(), &transmit) {
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            Ok(()) => true,
        }
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn set_filter(&mut self, filter: &Filter) -> bool {
        bpf::attach(&self.socket, filter).is_ok()
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn max_packets(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn finds_mtu(&self) -> bool {
        !self.state.may_fragment()
    }
}

/// Number of packets that a client receives per system call: a frame brings one or two, and with
/// more room, the same call shows that no more wait.
const CLIENT_BATCH: usize = 4;

/// Whether the system returns all waiting packets in one call, as far as there is room.
const RECEIVES_ALL_WAITING: bool = cfg!(any(target_os = "linux", target_os = "android"));
