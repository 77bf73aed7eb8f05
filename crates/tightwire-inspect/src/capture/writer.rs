//! The writer of captures.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::io::{self, Write};
use std::{format, vec};

use etherparse::PacketBuilder;

use super::Direction;
use super::blocks::{
    InterfaceBlock, MAX_DATAGRAM, MAX_METADATA, MetadataKind, PacketEnd, PacketHead, PartHead,
    SectionEnd, SectionHead,
};
use tightwire_core::packet::Identity;
use tightwire_core::stream::{Wire, encode, encode_explained, measure};
use tightwire_snapshot as snapshot;

/// Writes datagrams with their time and direction into a pcapng file.
///
/// Wireshark, tshark and every other reader of pcapng open the file: each datagram is a UDP packet
/// between the two addresses, with the headers and checksums that the network would give it. The
/// file contains the protocol's [`Identity`], which is enough to decode the packets.
///
/// Record datagrams as they travel, with their protection. Sealed datagrams would be unreadable:
/// record the plain packet that [`Protocol::unsealed`](tightwire_core::packet::Protocol::unsealed)
/// returns for each datagram that was written or read. A refused datagram has no packet. In a
/// capture whose identity says [`Sealed`](tightwire_core::packet::Protection::Sealed), every
/// datagram is a packet without protection: keep the file as safe as the packets were.
/// [`Identity::packet_in`] extracts the packet from a datagram of any protection.
///
/// Each record is one [`write_all`](Write::write_all): in a `File`, every record written before a
/// crash survives it. Use a [`BufWriter`](std::io::BufWriter) if speed matters more. Recording
/// allocates nothing once the longest datagram was recorded.
///
/// ```
/// use std::time::Duration;
/// use tightwire::Wire;
/// use tightwire::inspect::{Capture, CaptureWriter, Direction};
/// use tightwire::packet::{Protection, Protocol};
///
/// #[derive(Wire)]
/// enum Packet {
///     KeepAlive,
///     Move { #[wire(range = -100..=100)] x: i8, #[wire(range = -100..=100)] y: i8 },
/// }
///
/// let (server, client) = ("10.0.0.1:7777".parse()?, "10.0.0.2:4242".parse()?);
/// let mut protocol = Protocol::<Packet>::new("arena", "1.0", Protection::Crc32);
/// let mut recorder = CaptureWriter::new(Vec::new(), protocol.identity())?;
///
/// let mut buffer = [0; Protocol::<Packet>::MAX_BYTES];
/// let datagram = protocol.write(&Packet::Move { x: 3, y: -7 }, &mut buffer)?;
/// let now = Duration::from_secs(1_700_000_000);
/// recorder.record(now, Direction::Sent, server, client, protocol.unsealed(datagram))?;
/// let file = recorder.finish()?;
///
/// // A tool reads it, without the type.
/// let mut capture = Capture::new(&file[..])?;
/// let identity = capture.identity().ok_or("not of ours")?.clone();
/// while let Some(record) = capture.next_record() {
///     let packet = identity.packet_in(record?.datagram)?;
///     assert_eq!(identity.decode(packet)?.to_string(), "Move { x: 3, y: -7 }");
///     println!("{}", identity.explain(packet));
///     assert_eq!(identity.explain(packet).failure(), None);
/// }
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CaptureWriter<W> {
    writer: W,
    /// Buffer of the current block, kept to reuse its memory.
    block: Vec<u8>,
    /// Whether a block may be partly written: a reader would refuse every block after it.
    has_failed: bool,
}

impl<W: Write> CaptureWriter<W> {
    /// Begins a capture of a protocol's packets. `identity` is
    /// [`Protocol::identity`](tightwire_core::packet::Protocol::identity), which the file contains
    /// before the first record.
    ///
    /// ```
    /// use tightwire::inspect::CaptureWriter;
    /// use tightwire::packet::{Protection, Protocol};
    ///
    /// let protocol = Protocol::<[u8; 3]>::new("arena", "1.0", Protection::Crc32);
    /// let file = CaptureWriter::new(Vec::new(), protocol.identity())?.finish()?;
    /// assert_eq!(file[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput), and nothing is written, if the identity takes
    /// more than 245760 bytes, or cannot be encoded, for example because of too long a name. Errors
    /// of `writer`.
    pub fn new(writer: W, identity: &Identity) -> io::Result<Self> {
        Self::begin(writer, &[(MetadataKind::Identity, bytes_of("identity", identity.clone())?)])
    }

    /// Begins a capture of packets that contain snapshots, as fields of the type
    /// [`SnapshotPacket`](snapshot::SnapshotPacket). The file contains the description that decodes
    /// the snapshots.
    ///
    /// ```
    /// use tightwire::snapshot;
    /// use tightwire::inspect::{Capture, CaptureWriter};
    /// use tightwire::packet::Identity;
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u16>().build()?;
    /// let recorder = CaptureWriter::with_snapshots(Vec::new(), &Identity::default(), &protocol)?;
    /// let file = recorder.finish()?;
    ///
    /// let capture = Capture::new(&file[..])?;
    /// let again = snapshot::Protocol::from_description(capture.snapshots().unwrap())?;
    /// assert_eq!(again.fingerprint(), protocol.fingerprint());
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new). The identity and the description of the snapshots take at most 245760
    /// bytes together.
    pub fn with_snapshots(
        writer: W,
        identity: &Identity,
        snapshots: &snapshot::Protocol,
    ) -> io::Result<Self> {
        let identity = bytes_of("identity", identity.clone())?;
        let snapshots = bytes_of("description of the snapshots", snapshots.description())?;
        Self::begin(
            writer,
            &[(MetadataKind::Identity, identity), (MetadataKind::Snapshots, snapshots)],
        )
    }

    /// Begins a capture with this metadata.
    fn begin(writer: W, metadata: &[(MetadataKind, Vec<u8>)]) -> io::Result<Self> {
        let length: usize = metadata.iter().map(|(_, bytes)| bytes.len()).sum();
        if length > MAX_METADATA {
            let (what, fewer) = match metadata {
                [_] => ("identity takes", "packets"),
                _ => ("identity and the classes of snapshots take", "packets or classes"),
            };
            return Err(invalid(format!(
                "the {what} {length} bytes: a capture holds at most {MAX_METADATA}, so record with shorter \
                 names or fewer {fewer}"
            )));
        }
        let mut options = 0;
        for (_, bytes) in metadata {
            let parts = bytes.len().div_ceil(PartHead::MAX_PART);
            options += parts * PartHead::AROUND + bytes.len().next_multiple_of(4);
        }

        let mut recorder = Self { writer, block: Vec::new(), has_failed: false };
        let head = SectionHead::new(options as u32);
        recorder.append(&head)?;
        for (kind, bytes) in metadata {
            for part in bytes.chunks(PartHead::MAX_PART) {
                recorder.append(&PartHead::new(*kind, part.len()))?;
                recorder.block.extend_from_slice(part);
                recorder.pad(part.len());
            }
        }
        recorder.append(&SectionEnd::new(&head))?;
        recorder.append(&InterfaceBlock::new())?;
        recorder.write()?;
        Ok(recorder)
    }

    /// Records a datagram; `time` is since the Unix epoch.
    ///
    /// An IPv4 and an IPv6 address make an IPv6 packet with the IPv4 address
    /// [mapped](core::net::Ipv4Addr::to_ipv6_mapped). The scope of an IPv6 address is not recorded.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use tightwire::inspect::{CaptureWriter, Direction};
    /// use tightwire::packet::Identity;
    ///
    /// let mut recorder = CaptureWriter::new(Vec::new(), &Identity::default())?;
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
    /// [`InvalidInput`](io::ErrorKind::InvalidInput), and nothing is written, for a datagram of
    /// more than 65507 bytes over IPv4 or 65527 over IPv6, and for a time after the year 2554.
    /// Errors of the writer. After one, every call fails, since a reader cannot skip a partly
    /// written block.
    pub fn record(
        &mut self,
        time: Duration,
        direction: Direction,
        local: SocketAddr,
        peer: SocketAddr,
        datagram: &[u8],
    ) -> io::Result<()> {
        let Ok(nanoseconds) = u64::try_from(time.as_nanos()) else {
            return Err(invalid(
                "the time is after the year 2554, more than a capture can hold".into(),
            ));
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
            let reason = format!("a datagram of {length} bytes: UDP carries at most {most} here");
            return Err(invalid(reason));
        }

        let packet = packet.udp(source.port(), destination.port());
        let length = packet.size(datagram.len());
        let head = PacketHead::new(nanoseconds, length as u32);
        self.block.clear();
        self.append(&head)?;
        packet.write(&mut self.block, datagram).map_err(io::Error::other)?;
        self.pad(length);
        self.append(&PacketEnd::new(&head, direction))?;
        self.write()
    }

    /// Flushes the writer.
    ///
    /// ```
    /// use std::io::BufWriter;
    /// use tightwire::inspect::CaptureWriter;
    /// use tightwire::packet::Identity;
    ///
    /// let mut recorder = CaptureWriter::new(BufWriter::new(Vec::new()), &Identity::default())?;
    /// recorder.flush()?;
    /// assert_eq!(recorder.into_inner().buffer(), b"");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Flushes the writer and returns it. The file has no end mark: it is complete after every
    /// record.
    ///
    /// ```
    /// use tightwire::inspect::CaptureWriter;
    /// use tightwire::packet::Identity;
    ///
    /// let file = CaptureWriter::new(Vec::new(), &Identity::default())?.finish()?;
    /// assert_eq!(file.len(), 92);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.writer)
    }

    /// Returns a reference to the writer.
    #[must_use]
    pub fn get_ref(&self) -> &W {
        &self.writer
    }

    /// Returns the writer without a flush.
    ///
    /// ```
    /// use tightwire::inspect::CaptureWriter;
    /// use tightwire::packet::Identity;
    ///
    /// let file = CaptureWriter::new(Vec::new(), &Identity::default())?.into_inner();
    /// assert_eq!(file.len(), 92);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn into_inner(self) -> W {
        self.writer
    }

    /// Appends a structure of fixed length to the block.
    fn append<T: Wire>(&mut self, part: &T) -> io::Result<()> {
        let mut buffer = [0; 64];
        let bytes = encode(part, &mut buffer).map_err(io::Error::other)?;
        self.block.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends zeros up to a multiple of four bytes.
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

/// Time to live of a packet, as operating systems set it.
const HOPS: u8 = 64;

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// Encodes metadata for a section header; `what` names it in errors.
fn bytes_of<T: Wire>(what: &str, value: T) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; measure(&value).div_ceil(8) as usize];
    let length = match encode_explained(&value, &mut bytes) {
        Ok(packet) => packet.len(),
        Err(refused) => return Err(invalid(format!("the {what} cannot be encoded: {refused}"))),
    };
    bytes.truncate(length);
    Ok(bytes)
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}
