//! Records of a recording.

use core::time::Duration;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};

use crate::message::Delivery;
use tightwire_core::bytes::Packing;
use tightwire_core::packet::Identity;
use tightwire_core::stream::Wire;

use super::RecordingError;
use super::error::VERSION;
use crate::reason::Reason;
use crate::transport::{Connection, Event, NotSentError, Path};

/// First bytes of a recording; records follow.
pub(super) const MAGIC: [u8; 8] = *b"tightrec";

/// The session's configuration: the first record.
#[derive(Wire, Clone, PartialEq, Debug, Default)]
pub(super) struct RecordingHeader {
    /// Version of the format; always the first field.
    pub(super) version: u8,
    pub(super) seed: u64,
    /// Time zero of the session since the Unix epoch, in nanoseconds.
    pub(super) unix_start: u64,
    #[wire(max_len = 255)]
    pub(super) game: String,
    #[wire(max_len = 255)]
    pub(super) game_version: String,
}

/// One interaction of the session with its transport.
#[derive(Wire, Clone, PartialEq, Debug, Default)]
pub(super) enum Record {
    /// `poll_event` returned no event.
    #[default]
    Quiet,
    /// `handle_input` was called at this time.
    Input { nanos: u64 },
    /// `handle_output` was called at this time.
    Output { nanos: u64 },
    /// `poll_event` returned a connection.
    Connected { connection: u64, address: Option<Address> },
    /// `poll_event` returned a batch.
    Batch {
        from: u64,
        delivery: Delivery,
        #[wire(max_len = MAX_BATCH)]
        batch: Vec<u8>,
    },
    /// `poll_event` returned the end of a connection.
    Disconnected { connection: u64, reason: Reason },
    /// `poll_event` returned a refused connection attempt.
    Refused { address: Option<Address>, reason: Reason },
    /// `send` was called with a batch of this checksum.
    Sent { to: u64, checksum: u32, result: SendResult },
    /// `close` was called.
    Closed { connection: u64, reason: Reason },
    /// `path` was called, and its result differs from the previous one.
    Path { connection: u64, path: Option<RecordedPath> },
    /// Identity of the session's messages, for tools.
    Identity(Box<Identity>),
    /// `reconnect` was called, and did or did not begin a connection.
    Reconnected { is_begun: bool },
}

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
pub(super) enum SendResult {
    #[default]
    Taken,
    NotConnected,
    TooLarge {
        size: u64,
        limit: u64,
    },
    Full {
        backlog: u64,
    },
}

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Address {
    is_v6: bool,
    /// IP address; IPv4 addresses are in the last 4 bytes.
    ip: [u8; 16],
    port: u16,
}

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct RecordedPath {
    window: Option<u64>,
    datagram_room: u64,
    max_datagram: u64,
    max_fragmented: u64,
    round_trip: u64,
    jitter: u64,
    loss: f64,
    backlog: u64,
    dropped: u64,
    bytes_sent: u64,
    bytes_received: u64,
    packets_sent: u64,
    packets_received: u64,
}

/// Header of a record.
#[derive(Wire, Clone, Copy, Default)]
struct RecordFrameHeader {
    length: u32,
    /// Checksum of the length: a damaged length must not look like a truncated file.
    length_checksum: u32,
    checksum: u32,
}

impl RecordingHeader {
    pub(super) fn check(body: &[u8]) -> Result<Self, RecordingError> {
        match body.first() {
            Some(&version) if version != VERSION => Err(RecordingError::Version(version)),
            _ => tightwire_core::stream::decode(body)
                .map_err(|_| RecordingError::Corrupt { record: 0 }),
        }
    }
}

impl Record {
    pub(super) fn of(event: Option<&Event<'_>>) -> Self {
        let to_address = |address: &Option<SocketAddr>| address.map(Address::from);
        match event {
            None => Self::Quiet,
            Some(Event::Connected { connection, address }) => {
                Self::Connected { connection: connection.0, address: to_address(address) }
            }
            Some(Event::Batch { from, delivery, batch }) => {
                Self::Batch { from: from.0, delivery: *delivery, batch: batch.to_vec() }
            }
            Some(Event::Disconnected { connection, reason }) => {
                Self::Disconnected { connection: connection.0, reason: reason.clone() }
            }
            Some(Event::Refused { address, reason }) => {
                Self::Refused { address: to_address(address), reason: reason.clone() }
            }
        }
    }
}

impl SendResult {
    pub(super) fn of(result: Result<(), NotSentError>) -> Self {
        match result {
            Ok(()) => Self::Taken,
            Err(NotSentError::NotConnected(_)) => Self::NotConnected,
            Err(NotSentError::TooLarge { size, limit }) => {
                Self::TooLarge { size: size as u64, limit: limit as u64 }
            }
            Err(NotSentError::Full { backlog }) => Self::Full { backlog: backlog as u64 },
        }
    }

    pub(super) fn result(self, to: Connection) -> Result<(), NotSentError> {
        match self {
            Self::Taken => Ok(()),
            Self::NotConnected => Err(NotSentError::NotConnected(to)),
            Self::TooLarge { size, limit } => {
                Err(NotSentError::TooLarge { size: size as usize, limit: limit as usize })
            }
            Self::Full { backlog } => Err(NotSentError::Full { backlog: backlog as usize }),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        let mut ip = [0; 16];
        match address.ip() {
            IpAddr::V4(old) => ip[12..].copy_from_slice(&old.octets()),
            IpAddr::V6(new) => ip = new.octets(),
        }
        Self { is_v6: address.is_ipv6(), ip, port: address.port() }
    }
}

impl From<Address> for SocketAddr {
    fn from(Address { is_v6, ip, port }: Address) -> Self {
        let [.., a, b, c, d] = ip;
        if is_v6 { (ip, port).into() } else { ([a, b, c, d], port).into() }
    }
}

impl From<Path> for RecordedPath {
    fn from(path: Path) -> Self {
        Self {
            window: path.window.map(|window| window as u64),
            datagram_room: path.datagram_room as u64,
            max_datagram: path.max_datagram as u64,
            max_fragmented: path.max_fragmented as u64,
            round_trip: nanos(path.round_trip),
            jitter: nanos(path.jitter),
            loss: path.loss,
            backlog: path.backlog as u64,
            dropped: path.dropped,
            bytes_sent: path.bytes_sent,
            bytes_received: path.bytes_received,
            packets_sent: path.packets_sent,
            packets_received: path.packets_received,
        }
    }
}

impl From<RecordedPath> for Path {
    fn from(seen: RecordedPath) -> Self {
        Self {
            window: seen.window.map(|window| window as usize),
            datagram_room: seen.datagram_room as usize,
            max_datagram: seen.max_datagram as usize,
            max_fragmented: seen.max_fragmented as usize,
            round_trip: Duration::from_nanos(seen.round_trip),
            jitter: Duration::from_nanos(seen.jitter),
            loss: seen.loss,
            backlog: seen.backlog as usize,
            dropped: seen.dropped,
            bytes_sent: seen.bytes_sent,
            bytes_received: seen.bytes_received,
            packets_sent: seen.packets_sent,
            packets_received: seen.packets_received,
        }
    }
}

/// Converts a time to nanoseconds, of which `u64` holds 584 years.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Appends a record to the file.
pub(super) fn write(
    record: &mut impl Wire,
    space: &mut Vec<u8>,
    to: &mut impl Write,
) -> io::Result<()> {
    let refused = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
    space.resize(Packing::Bits.measure(record).next_multiple_of(8), 0);
    let body = tightwire_core::stream::encode(record, space).map_err(refused)?;
    let length = body.len() as u32;
    let (length_checksum, checksum) = (hash_length(length), crc32fast::hash(body));
    let frame = RecordFrameHeader { length, length_checksum, checksum };
    let mut word = [0; FRAME.next_multiple_of(8)];
    to.write_all(tightwire_core::stream::encode(&frame, &mut word).map_err(refused)?)?;
    to.write_all(body)
}

/// Reads the body of the next record; `None` if the file ends before the record does.
pub(super) fn read(
    number: u64,
    space: &mut Vec<u8>,
    from: &mut impl Read,
) -> Result<Option<()>, RecordingError> {
    let corrupt = RecordingError::Corrupt { record: number };
    space.clear();
    if from.by_ref().take(FRAME as u64).read_to_end(space)? < FRAME {
        return Ok(None);
    }
    let Ok(RecordFrameHeader { length, length_checksum, checksum }) =
        tightwire_core::stream::decode(space)
    else {
        return Err(corrupt);
    };
    if length as usize > MAX_RECORD || hash_length(length) != length_checksum {
        return Err(corrupt);
    }
    space.clear();
    // Memory is taken for bytes that were read, not for the length that the header claims.
    if from.by_ref().take(length.into()).read_to_end(space)? < length as usize {
        return Ok(None);
    }
    if crc32fast::hash(space) == checksum { Ok(Some(())) } else { Err(corrupt) }
}

fn hash_length(length: u32) -> u32 {
    crc32fast::hash(&length.to_le_bytes())
}

/// Length of a [`RecordFrameHeader`], in bytes.
const FRAME: usize = 12;

/// Maximum length of a batch, in bytes.
const MAX_BATCH: usize = 1 << 24;

/// Maximum length of a record, in bytes.
const MAX_RECORD: usize = MAX_BATCH + 4096;
