//! Writes a capture.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io::{self, Write};

use etherparse::PacketBuilder;

use super::Direction;
use super::blocks::{
    DescriptionBlock, InterfaceBlock, MAX_DATAGRAM, PacketEnd, PacketHead, SectionBlock,
};
use crate::stream::{Wire, encode};

/// Writes datagrams with their time and direction into a pcapng file.
///
/// Wireshark, tshark and whatever else reads pcapng open it: each datagram is a UDP packet between
/// the two addresses, with the headers and checksums that the network would give it. What the
/// packets mean is in the file too: see [`new`](Self::new).
///
/// Each record is one [`write_all`](Write::write_all): in a `File`, what was recorded before the
/// program crashes is there afterwards. Give it a [`BufWriter`](std::io::BufWriter) if speed matters
/// more. Wireshark lists the description as the first packet, one without a time.
/// Recording takes no memory once the longest datagram was seen.
///
/// ```
/// use std::time::Duration;
/// use tightwire::{Capture, Direction, Recorder};
///
/// let (server, client) = ("10.0.0.1:7777".parse()?, "10.0.0.2:4242".parse()?);
/// let mut recorder = Recorder::new(Vec::new(), b"tanks 1.3")?;
/// let noon = Duration::from_secs(1_700_000_000);
/// recorder.record(noon, Direction::Received, server, client, b"fire")?;
/// recorder.record(noon + Duration::from_nanos(1), Direction::Sent, server, client, b"boom")?;
///
/// let file = recorder.finish()?;
/// let mut capture = Capture::new(&file[..])?;
/// assert_eq!(capture.description(), Some(&b"tanks 1.3"[..]));
/// let mut datagrams = Vec::new();
/// while let Some(record) = capture.next_record() {
///     datagrams.push(record?.datagram.to_vec());
/// }
/// assert_eq!(datagrams, [b"fire", b"boom"]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recorder<W> {
    writer: W,
    /// The block at hand; kept for its memory.
    block: Vec<u8>,
    /// Whether a block may be half-written: nothing that follows it could be read.
    has_failed: bool,
}

impl<W: Write> Recorder<W> {
    /// Begins a capture, with a description of what is recorded: any bytes, up to 262112 of them.
    /// A reader has them before the first record.
    ///
    /// ```
    /// use tightwire::{Recorder, Wire};
    ///
    /// #[derive(Wire)]
    /// struct Player {
    ///     #[wire(range = 0..=100)]
    ///     health: u8,
    /// }
    ///
    /// let mut buffer = [0; 256];
    /// let schema = tightwire::encode(&mut tightwire::schema::<Player>(), &mut buffer)?;
    /// let file = Recorder::new(Vec::new(), schema)?.finish()?;
    /// assert_eq!(file[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the description is too long; what the
    /// writer returns.
    pub fn new(writer: W, description: &[u8]) -> io::Result<Self> {
        if description.len() > DescriptionBlock::MAX_LENGTH {
            return Err(invalid("the description is longer than 262112 bytes"));
        }
        let mut recorder = Self { writer, block: Vec::new(), has_failed: false };
        let mut head = DescriptionBlock::new(description.len() as u32);
        recorder.append(&mut SectionBlock::new())?;
        // Before the description: `editcap` copies no file that begins with a block it does not know.
        recorder.append(&mut InterfaceBlock::new())?;
        recorder.append(&mut head)?;
        recorder.block.extend_from_slice(description);
        recorder.pad(description.len());
        recorder.append(&mut head.length())?;
        recorder.write()?;
        Ok(recorder)
    }

    /// Records a datagram: `time` is that since the Unix epoch.
    ///
    /// An IPv4 and an IPv6 address make an IPv6 packet, in which the first is
    /// [mapped](core::net::Ipv4Addr::to_ipv6_mapped). The scope of an IPv6 address is not recorded.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use tightwire::{Direction, Recorder};
    ///
    /// let mut recorder = Recorder::new(Vec::new(), b"")?;
    /// let (local, peer) = ("[::1]:7777".parse()?, "[::1]:4242".parse()?);
    /// let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    /// recorder.record(now, Direction::Sent, local, peer, b"hello")?;
    ///
    /// let refused = recorder.record(now, Direction::Sent, local, peer, &[0; 70_000]).unwrap_err();
    /// assert_eq!(refused.to_string(), "a datagram of 70000 bytes: UDP carries at most 65527 here");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput), and nothing is written, for a datagram of more
    /// than 65507 bytes over IPv4 or 65527 over IPv6, and for a time after the year 2554. What the
    /// writer returns; nothing more is recorded after that, since nobody could read it behind a
    /// block that is not whole.
    pub fn record(
        &mut self,
        time: Duration,
        direction: Direction,
        local: SocketAddr,
        peer: SocketAddr,
        datagram: &[u8],
    ) -> io::Result<()> {
        let Ok(nanoseconds) = u64::try_from(time.as_nanos()) else {
            return Err(invalid("the time is after the year 2554, more than a capture can hold"));
        };
        let (source, destination) = match direction {
            Direction::Sent => (local, peer),
            Direction::Received => (peer, local),
        };
        let (packet, most) = match (source.ip(), destination.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let ip = PacketBuilder::ipv4(source.octets(), destination.octets(), HOPS);
                (ip, MAX_DATAGRAM - 20)
            }
            (source, destination) => {
                let (source, destination) = (mapped(source), mapped(destination));
                (PacketBuilder::ipv6(source.octets(), destination.octets(), HOPS), MAX_DATAGRAM)
            }
        };
        if datagram.len() > most {
            let length = datagram.len();
            let reason =
                alloc::format!("a datagram of {length} bytes: UDP carries at most {most} here");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }

        let packet = packet.udp(source.port(), destination.port());
        let length = packet.size(datagram.len());
        let mut head = PacketHead::new(nanoseconds, length as u32);
        self.block.clear();
        self.append(&mut head)?;
        packet.write(&mut self.block, datagram).map_err(io::Error::other)?;
        self.pad(length);
        self.append(&mut PacketEnd::new(&head, direction))?;
        self.write()
    }

    /// Flushes the writer.
    ///
    /// ```
    /// let mut recorder = tightwire::Recorder::new(std::io::BufWriter::new(Vec::new()), b"")?;
    /// recorder.flush()?;
    /// assert_eq!(recorder.into_inner().buffer(), b"");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What the writer returns.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Flushes the writer and returns it. The file has no end mark: it is whole after every record.
    ///
    /// ```
    /// let file = tightwire::Recorder::new(Vec::new(), b"")?.finish()?;
    /// assert_eq!(file.len(), 92);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What the writer returns.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.writer)
    }

    /// The writer, as it is.
    ///
    /// ```
    /// let file = tightwire::Recorder::new(Vec::new(), b"")?.into_inner();
    /// assert_eq!(file.len(), 92);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn into_inner(self) -> W {
        self.writer
    }

    /// Adds a part of fixed length to the block.
    fn append<T: Wire>(&mut self, part: &mut T) -> io::Result<()> {
        let mut buffer = [0; 64];
        let bytes = encode(part, &mut buffer).map_err(io::Error::other)?;
        self.block.extend_from_slice(bytes);
        Ok(())
    }

    /// Zeros up to a multiple of four bytes.
    fn pad(&mut self, length: usize) {
        self.block.extend_from_slice(&[0; 3][..length.next_multiple_of(4) - length]);
    }

    fn write(&mut self) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other(
                "an earlier record was not written whole: begin another capture",
            ));
        }
        let written = self.writer.write_all(&self.block);
        self.has_failed = written.is_err();
        written
    }
}

/// What an operating system lets a packet travel.
const HOPS: u8 = 64;

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}
