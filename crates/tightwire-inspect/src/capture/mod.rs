//! Captures: datagrams with their time and direction in a pcapng file, which any tool opens.

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

/// Which way a datagram went, as seen by the one who recorded it.
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

/// A datagram of a [`Capture`], as long as the capture does not move on.
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
    /// Since the Unix epoch. A time before it, which only other programs write, is zero.
    pub time: Duration,
    /// Which way it went; nothing if the program that captured it did not say, as most do.
    pub direction: Option<Direction>,
    /// Who sent it.
    pub source: SocketAddr,
    /// For whom it was.
    pub destination: SocketAddr,
    /// What UDP carried.
    pub datagram: &'a [u8],
}

impl Record<'_> {
    /// The address of the one who recorded, where the direction tells it.
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

    /// The address of the other one, where the direction tells it.
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
