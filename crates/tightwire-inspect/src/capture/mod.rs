//! Captures: pcapng files of datagrams with their time and direction.

mod blocks;
mod error;
mod framing;
mod interface;
mod pcap;
mod reader;
mod writer;

pub use error::CaptureError;
pub use reader::Capture;
pub use writer::CaptureWriter;

use core::net::SocketAddr;
use core::time::Duration;

/// Direction of a datagram, as seen by the recording side.
///
/// ```
/// use tightwire::inspect::{Capture, CaptureWriter, Direction};
/// use tightwire::packet::Identity;
/// # use std::time::Duration;
///
/// let (local, peer) = ("10.0.0.1:7777".parse()?, "10.0.0.2:4242".parse()?);
/// let mut recorder = CaptureWriter::new(Vec::new(), &Identity::default())?;
/// recorder.record(Duration::ZERO, Direction::Received, local, peer, b"hello")?;
///
/// let file = recorder.finish()?;
/// let mut capture = Capture::new(&file[..])?;
/// let record = capture.next_record().unwrap()?;
/// assert_eq!(record.direction, Some(Direction::Received));
/// assert_eq!((record.source, record.destination), (peer, local));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// From the local address to the peer's.
    Sent,
    /// From the peer's address to the local one.
    Received,
}

/// A datagram of a [`Capture`], borrowed until the next record is read.
///
/// ```
/// use tightwire::inspect::{Capture, CaptureWriter, Direction};
/// use tightwire::packet::Identity;
/// use std::time::Duration;
///
/// let (local, peer) = ("10.0.0.1:7777".parse()?, "10.0.0.2:4242".parse()?);
/// let mut recorder = CaptureWriter::new(Vec::new(), &Identity::default())?;
/// recorder.record(Duration::new(1_700_000_000, 1), Direction::Sent, local, peer, b"hello")?;
///
/// let file = recorder.finish()?;
/// let mut capture = Capture::new(&file[..])?;
/// let record = capture.next_record().unwrap()?;
/// assert_eq!(record.time, Duration::new(1_700_000_000, 1));
/// assert_eq!((record.local(), record.peer()), (Some(local), Some(peer)));
/// assert_eq!(record.datagram, b"hello");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Record<'a> {
    /// Time since the Unix epoch. A time before the epoch, which only other programs write, is
    /// zero.
    pub time: Duration,
    /// Direction of the datagram; `None` if the capturing program did not record it, as most do
    /// not.
    pub direction: Option<Direction>,
    /// Address of the sender.
    pub source: SocketAddr,
    /// Address of the receiver.
    pub destination: SocketAddr,
    /// Payload of the UDP packet.
    pub datagram: &'a [u8],
}

impl Record<'_> {
    /// Returns the address of the recording side; `None` without a direction.
    ///
    /// ```
    /// # use tightwire::inspect::{Capture, CaptureWriter, Direction};
    /// # use tightwire::packet::Identity;
    /// # let (local, peer) = ("10.0.0.1:7777".parse()?, "10.0.0.2:4242".parse()?);
    /// # let mut recorder = CaptureWriter::new(Vec::new(), &Identity::default())?;
    /// # recorder.record(Default::default(), Direction::Received, local, peer, b"hello")?;
    /// # let file = recorder.finish()?;
    /// # let mut capture = Capture::new(&file[..])?;
    /// # let record = capture.next_record().unwrap()?;
    /// assert_eq!(record.direction, Some(Direction::Received));
    /// assert_eq!(record.local(), Some(record.destination));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn local(&self) -> Option<SocketAddr> {
        self.direction.map(|direction| match direction {
            Direction::Sent => self.source,
            Direction::Received => self.destination,
        })
    }

    /// Returns the address of the recording side's peer; `None` without a direction.
    ///
    /// ```
    /// # use tightwire::inspect::{Capture, CaptureWriter, Direction};
    /// # use tightwire::packet::Identity;
    /// # let (local, peer) = ("10.0.0.1:7777".parse()?, "10.0.0.2:4242".parse()?);
    /// # let mut recorder = CaptureWriter::new(Vec::new(), &Identity::default())?;
    /// # recorder.record(Default::default(), Direction::Received, local, peer, b"hello")?;
    /// # let file = recorder.finish()?;
    /// # let mut capture = Capture::new(&file[..])?;
    /// # let record = capture.next_record().unwrap()?;
    /// assert_eq!(record.direction, Some(Direction::Received));
    /// assert_eq!(record.peer(), Some(record.source));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.direction.map(|direction| match direction {
            Direction::Sent => self.destination,
            Direction::Received => self.source,
        })
    }
}
