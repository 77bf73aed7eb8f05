//! Counters of datagrams, by the check that refused them.

use core::fmt;

use super::PacketError;

/// Counts of the datagrams of a [`Protocol`](crate::packet::Protocol), by outcome.
///
/// ```
/// use tightwire::packet::{Protection, Protocol};
///
/// let mut protocol = Protocol::<bool>::new("arena", "1.0", Protection::Crc32);
/// for garbage in [&[][..], &[1, 2], &[1, 2, 3, 4, 5]] {
///     assert!(protocol.read(garbage, &mut false).is_err());
/// }
/// let counters = protocol.counters();
/// assert_eq!((counters.refused(), counters.too_short, counters.wrong_protocol), (3, 2, 1));
/// assert_eq!(counters.to_string(), "0 written, 0 read, 3 refused (2 too short, 1 wrong protocol)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Counters {
    /// Datagrams returned by `write`.
    pub written: u64,
    /// Datagrams accepted by `read`.
    pub read: u64,
    /// Datagrams refused as [`PacketError::TooShort`].
    pub too_short: u64,
    /// Datagrams refused as [`PacketError::WrongProtocol`].
    pub wrong_protocol: u64,
    /// Datagrams refused as [`PacketError::Replayed`].
    pub replayed: u64,
    /// Datagrams refused as [`PacketError::NotAuthentic`].
    pub not_authentic: u64,
    /// Datagrams refused as [`PacketError::Malformed`].
    pub malformed: u64,
    /// Datagrams refused as [`PacketError::TrailingData`].
    pub trailing_data: u64,
}

impl Counters {
    /// Number of all refused datagrams.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.gates().iter().map(|(_, count)| count).sum()
    }

    /// Counts a refusal and returns it.
    #[cold]
    pub(super) fn count(&mut self, refused: PacketError) -> PacketError {
        *match refused {
            PacketError::TooShort { .. } => &mut self.too_short,
            PacketError::WrongProtocol => &mut self.wrong_protocol,
            PacketError::Replayed { .. } => &mut self.replayed,
            PacketError::NotAuthentic => &mut self.not_authentic,
            PacketError::Malformed(_) => &mut self.malformed,
            PacketError::TrailingData { .. } => &mut self.trailing_data,
        } += 1;
        refused
    }

    fn gates(&self) -> [(&'static str, u64); 6] {
        [
            ("too short", self.too_short),
            ("wrong protocol", self.wrong_protocol),
            ("replayed", self.replayed),
            ("not authentic", self.not_authentic),
            ("malformed", self.malformed),
            ("trailing data", self.trailing_data),
        ]
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} written, {} read, {} refused", self.written, self.read, self.refused())?;
        let mut before = " (";
        for (gate, count) in self.gates().into_iter().filter(|(_, count)| *count > 0) {
            write!(f, "{before}{count} {gate}")?;
            before = ", ";
        }
        if before == ", " { f.write_str(")") } else { Ok(()) }
    }
}
