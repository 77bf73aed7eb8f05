//! The reader of captures.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{BufReader, Read};

use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{
    OptionCode, parse_enhancedpacketblock_be, parse_enhancedpacketblock_le,
    parse_interfacedescriptionblock_be, parse_interfacedescriptionblock_le,
    parse_sectionheaderblock,
};

use super::blocks::{
    CUSTOM, FLAGS, INTERFACE, MetadataKind, PACKET, PartHead, SECTION, direction_of,
};
use super::interface::{Datagram, Interface, option, options};
use super::pcap::PCAP_PACKET;
use super::{CaptureError, Direction, Record};
use tightwire_core::packet::Identity;
use tightwire_core::stream::{ReadError, decode};
use tightwire_snapshot as snapshot;

/// Reads the datagrams of a pcapng file that a [`CaptureWriter`](crate::CaptureWriter) wrote or
/// another program captured, or of another program's pcap file.
///
/// Records come one at a time, and none is kept: memory does not grow with the file. The file may
/// be hostile. Blocks of up to 256 KiB are read, and up to 256 interfaces; the worst block takes
/// less than 16 MiB of memory while it is read, an honest one a few times its length. No file makes
/// the reader panic or loop. No [`BufReader`] is needed around `reader`.
///
/// Packets without a whole datagram are skipped and [counted](Self::skipped): other protocols,
/// fragments, truncated packets, and links other than Ethernet, raw IP, Linux cooked capture
/// (versions 1 and 2), and the loopback of BSD and macOS. Blocks of other kinds, among them packets
/// without a time, are skipped and not counted. Checksums are not verified.
///
/// ```
/// use tightwire::inspect::{Capture, CaptureWriter, Direction};
/// use tightwire::packet::Identity;
///
/// let (local, peer) = ("10.0.0.1:7777".parse()?, "10.0.0.2:4242".parse()?);
/// let mut recorder = CaptureWriter::new(Vec::new(), &Identity::default())?;
/// recorder.record(Default::default(), Direction::Sent, local, peer, b"hello")?;
/// let file = recorder.finish()?;
///
/// let mut capture = Capture::new(&file[..])?;
/// while let Some(record) = capture.next_record() {
///     let record = record?;
///     assert_eq!((record.source, record.datagram), (local, &b"hello"[..]));
/// }
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Capture<R> {
    pub(super) reader: BufReader<R>,
    /// File offset of the current block.
    pub(super) at: u64,
    /// File offset of the next block.
    pub(super) next_at: u64,
    /// Bytes of the current block, kept to reuse the memory.
    pub(super) block: Vec<u8>,
    has_ended: bool,
    /// Whether the file is of the older format, pcap: a header, then only packets.
    pub(super) is_pcap: bool,
    pub(super) is_big_endian: bool,
    pub(super) interfaces: Vec<Interface>,
    /// Identity in the current section's header; `None` if the header has none.
    identity: Option<Result<Identity, ReadError>>,
    /// Description of snapshots in the current section's header; `None` if the header has none.
    snapshots: Option<Result<snapshot::Description, ReadError>>,
    datagram: Vec<u8>,
    skipped: u64,
}

/// A record without its bytes, which are in `Capture::datagram`.
struct RecordHeader {
    time: Duration,
    direction: Option<Direction>,
    source: SocketAddr,
    destination: SocketAddr,
}

impl<R: Read> Capture<R> {
    /// Opens a capture and reads its header, which has the identity.
    ///
    /// ```
    /// use tightwire::inspect::{Capture, CaptureWriter};
    /// use tightwire::packet::Identity;
    ///
    /// let file = CaptureWriter::new(Vec::new(), &Identity::default())?.finish()?;
    /// assert!(Capture::new(&file[..])?.next_record().is_none());
    ///
    /// let refused = Capture::new(&b"hello"[..]).unwrap_err();
    /// let reason = "the block at byte 0: this is neither a pcapng nor a pcap file; \
    ///               `editcap -F pcapng` converts other captures";
    /// assert_eq!(refused.to_string(), reason);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CaptureError`] for a file that is no capture, or that ends within its header.
    pub fn new(reader: R) -> Result<Self, CaptureError> {
        let mut capture = Self {
            reader: BufReader::new(reader),
            at: 0,
            next_at: 0,
            block: Vec::new(),
            has_ended: false,
            is_pcap: false,
            is_big_endian: false,
            interfaces: Vec::new(),
            identity: None,
            snapshots: None,
            datagram: Vec::new(),
            skipped: 0,
        };
        if !capture.read_block()? {
            return Err(CaptureError::Truncated { at: 0 });
        }
        if !capture.is_pcap {
            capture.take_block()?;
        }
        Ok(capture)
    }

    /// Returns the identity of the packets' protocol, as [given to the
    /// writer](crate::CaptureWriter::new). `None` in another program's file, and where the identity
    /// was [damaged](Self::identity_error). In a file of concatenated captures, the identity is
    /// that of the last record's section.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()?.as_ref().ok()
    }

    /// Returns the error in the file's [`identity`](Self::identity), which was damaged or is
    /// hostile. `None` if the identity is valid, or the file has none. The datagrams remain
    /// readable.
    #[must_use]
    pub fn identity_error(&self) -> Option<ReadError> {
        self.identity.as_ref()?.as_ref().err().copied()
    }

    /// Returns the description of the snapshots within the packets, as [given to the
    /// writer](crate::CaptureWriter::with_snapshots). `None` without a description, and where it
    /// was [damaged](Self::snapshots_error). A description from a file may be hostile:
    /// [`snapshot::Protocol::from_description`](tightwire_snapshot::Protocol::from_description)
    /// validates it.
    #[must_use]
    pub fn snapshots(&self) -> Option<&snapshot::Description> {
        self.snapshots.as_ref()?.as_ref().ok()
    }

    /// Returns the error in the file's description of [`snapshots`](Self::snapshots). `None` if the
    /// description is valid, or the file has none.
    #[must_use]
    pub fn snapshots_error(&self) -> Option<ReadError> {
        self.snapshots.as_ref()?.as_ref().err().copied()
    }

    /// Returns the number of packets so far without a whole datagram.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Reads the next datagram; `None` at the end of the file and after an error.
    ///
    /// ```
    /// use tightwire::inspect::{Capture, CaptureWriter, Direction};
    /// use tightwire::packet::Identity;
    ///
    /// let (local, peer) = ("10.0.0.1:7777".parse()?, "10.0.0.2:4242".parse()?);
    /// let mut recorder = CaptureWriter::new(Vec::new(), &Identity::default())?;
    /// recorder.record(Default::default(), Direction::Sent, local, peer, b"hello")?;
    /// let file = recorder.finish()?;
    ///
    /// let mut capture = Capture::new(&file[..])?;
    /// assert_eq!(capture.next_record().unwrap()?.datagram, b"hello");
    /// assert!(capture.next_record().is_none());
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CaptureError::Truncated`] if the file ends within a block, and the other variants of
    /// [`CaptureError`].
    pub fn next_record(&mut self) -> Option<Result<Record<'_>, CaptureError>> {
        match self.find_datagram() {
            Ok(None) => {
                self.has_ended = true;
                None
            }
            Err(error) => {
                self.has_ended = true;
                Some(Err(error))
            }
            Ok(Some(RecordHeader { time, direction, source, destination })) => {
                let datagram = &self.datagram;
                Some(Ok(Record { time, direction, source, destination, datagram }))
            }
        }
    }

    fn find_datagram(&mut self) -> Result<Option<RecordHeader>, CaptureError> {
        while !self.has_ended && self.read_block()? {
            if let Some(origin) = self.take_block()? {
                return Ok(Some(origin));
            }
        }
        Ok(None)
    }

    /// Takes the contents of the current block. A packet's datagram goes to `self.datagram`.
    fn take_block(&mut self) -> Result<Option<RecordHeader>, CaptureError> {
        if self.is_pcap {
            return Ok(self.take_plain_packet());
        }
        match self.word(0) {
            SECTION => self.take_section().map(|()| None),
            INTERFACE => self.take_interface().map(|()| None),
            PACKET => self.take_packet(),
            _ => Ok(None),
        }
    }

    fn take_section(&mut self) -> Result<(), CaptureError> {
        let section = match parse_sectionheaderblock(&self.block) {
            Ok((_, section)) if section.major_version == 1 => section,
            Ok(_) => return Err(self.malformed("version of pcapng other than 1")),
            Err(_) => return Err(self.malformed("malformed section header")),
        };
        let custom = options(&section.options, OptionCode(CUSTOM));
        let (mut identity, mut snapshots) = (None::<Vec<u8>>, None::<Vec<u8>>);
        for value in custom {
            let Some((kind, part)) = PartHead::part_in(value, self.is_big_endian) else { continue };
            let bytes = match kind {
                MetadataKind::Identity => &mut identity,
                MetadataKind::Snapshots => &mut snapshots,
            };
            bytes.get_or_insert_default().extend_from_slice(part);
        }
        // Options and metadata may both be long: the options are freed before the metadata is
        // decoded.
        drop(section);
        self.identity = identity.map(|bytes| decode(&bytes));
        self.snapshots = snapshots.map(|bytes| decode(&bytes));
        self.interfaces.clear();
        Ok(())
    }

    fn take_interface(&mut self) -> Result<(), CaptureError> {
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(self.malformed("more than 256 interfaces"));
        }
        let parse = match self.is_big_endian {
            true => parse_interfacedescriptionblock_be,
            false => parse_interfacedescriptionblock_le,
        };
        let Ok((_, block)) = parse(&self.block) else {
            return Err(self.malformed("malformed interface description"));
        };
        self.interfaces.push(Interface::new(&block, self.is_big_endian));
        Ok(())
    }

    fn take_packet(&mut self) -> Result<Option<RecordHeader>, CaptureError> {
        let parse = match self.is_big_endian {
            true => parse_enhancedpacketblock_be,
            false => parse_enhancedpacketblock_le,
        };
        let Ok((_, block)) = parse(&self.block) else {
            return Err(self.malformed("malformed packet block"));
        };
        let Some(interface) = self.interfaces.get(block.if_id as usize) else {
            return Err(self.malformed("packet of an undescribed interface"));
        };
        let Some(datagram) = interface.datagram(block.packet_data()) else {
            self.skipped += 1;
            return Ok(None);
        };
        let flags = option(&block.options, OptionCode(FLAGS), self.is_big_endian);
        let direction = flags.map(u32::from_le_bytes).and_then(direction_of);
        let time = interface.time(u64::from(block.ts_high) << 32 | u64::from(block.ts_low));
        Ok(Some(keep(&mut self.datagram, &datagram, time, direction)))
    }

    /// Takes the current packet of a pcap file.
    fn take_plain_packet(&mut self) -> Option<RecordHeader> {
        let interface = self.interfaces.first()?;
        let packet = self.block.get(PCAP_PACKET..)?;
        let Some(datagram) = interface.datagram(packet) else {
            self.skipped += 1;
            return None;
        };
        let time = interface.time_of(self.word(0), self.word(4));
        Some(keep(&mut self.datagram, &datagram, time, None))
    }
}

/// Copies a datagram's bytes to `bytes`, and returns the rest of its record.
fn keep(
    bytes: &mut Vec<u8>,
    datagram: &Datagram<'_>,
    time: Duration,
    direction: Option<Direction>,
) -> RecordHeader {
    bytes.clear();
    bytes.extend_from_slice(datagram.bytes);
    let &Datagram { source, destination, .. } = datagram;
    RecordHeader { time, direction, source, destination }
}

/// Maximum number of interfaces: each is kept, and a file of interfaces alone must not fill the
/// memory.
const MAX_INTERFACES: usize = 256;
