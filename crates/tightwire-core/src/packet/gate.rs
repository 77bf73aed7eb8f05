//! Protection around a packet in a datagram, which keeps other datagrams out.

use alloc::boxed::Box;
use core::fmt;

use crc32fast::Hasher;

use super::seal::{Seal, TAG_LEN};
use super::{Identity, Keys, PacketError, PacketWriteError};
use tightwire_derive::Wire;

/// Protection of datagrams: chosen for a [`Protocol`](crate::packet::Protocol), the same on both
/// sides.
///
/// `Protection<()>` is the choice without the keys, as in an [`Identity`](crate::packet::Identity).
#[derive(Wire, Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Protection<K = Keys> {
    /// No protection, in 0 bytes: inside a transport that protects datagrams itself.
    #[default]
    None,
    /// The [protocol id](crate::packet::Identity::id) in front, in 8 bytes: keeps out other games
    /// and other versions. Damaged bytes are not detected.
    Id,
    /// A checksum over the protocol id and the packet, in 4 bytes: keeps out other games, other
    /// versions and damage. It does not keep out attackers: anyone who knows the game can compute
    /// it.
    Crc32,
    /// Encrypted and authenticated with ChaCha20-Poly1305, in 17 bytes, and more as the sequence
    /// number grows: keeps out everyone without the keys, and replayed datagrams. Packets have at
    /// most 65535 bytes.
    Sealed(K),
}

/// A protection with its state.
#[derive(Debug)]
pub(super) enum Gate {
    None,
    Id([u8; 8]),
    /// Checksum state after the protocol id.
    Crc32(Hasher),
    Sealed(Box<Seal>),
}

impl<K> Protection<K> {
    /// Returns the same protection without its keys.
    pub(super) fn without_keys(&self) -> Protection<()> {
        match self {
            Self::None => Protection::None,
            Self::Id => Protection::Id,
            Self::Crc32 => Protection::Crc32,
            Self::Sealed(_) => Protection::Sealed(()),
        }
    }
}

impl Protection<()> {
    /// Protections in the order of their numbers in a protocol id, with their names.
    const ALL: [(Self, &'static str); 4] = [
        (Self::None, "None"),
        (Self::Id, "Id"),
        (Self::Crc32, "Crc32"),
        (Self::Sealed(()), "Sealed"),
    ];

    pub(super) fn ordinal(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Id => 1,
            Self::Crc32 => 2,
            Self::Sealed(()) => 3,
        }
    }
}

impl fmt::Display for Protection<()> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL[usize::from(self.ordinal())].1)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Protection<()> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Protection<()> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = alloc::string::String::deserialize(deserializer)?;
        let found = Self::ALL.into_iter().find(|(_, known)| *known == name);
        let names = "None, Id, Crc32 or Sealed";
        found.map(|(protection, _)| protection).ok_or_else(|| {
            serde::de::Error::invalid_value(serde::de::Unexpected::Str(&name), &names)
        })
    }
}

/// Extracts the packets of many recorded datagrams, like [`Identity::packet_in`]: the protocol id,
/// which depends on the whole schema, is computed once.
///
/// ```
/// use tightwire::packet::{Protection, Protocol, PacketError};
///
/// let mut protocol = Protocol::<[u8; 3]>::new("arena", "1.0", Protection::Crc32);
/// let mut buffer = [0; 64];
/// let datagram = protocol.write(&[7, 8, 9], &mut buffer)?.to_vec();
///
/// let packets = protocol.identity().packets();
/// assert_eq!(packets.packet_in(&datagram)?, [7, 8, 9]);
/// assert_eq!(packets.packet_in(b"hello there"), Err(PacketError::WrongProtocol));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RecordedPackets {
    gate: Recorded,
}

/// Bytes before a packet in a recorded datagram.
#[derive(Clone, Debug)]
enum Recorded {
    Nothing,
    Id([u8; 8]),
    Crc32(Hasher),
}

impl RecordedPackets {
    pub(super) fn new(identity: &Identity) -> Self {
        let gate = match identity.protection() {
            // For a sealed protocol, only the packet is recorded.
            Protection::None | Protection::Sealed(()) => Recorded::Nothing,
            Protection::Id => Recorded::Id(identity.id().to_le_bytes()),
            Protection::Crc32 => Recorded::Crc32(hasher_of(identity.id())),
        };
        Self { gate }
    }

    /// Returns the packet within a recorded datagram: see [`Identity::packet_in`].
    ///
    /// ```
    /// use tightwire::packet::Identity;
    ///
    /// assert_eq!(Identity::default().packets().packet_in(b"all of it")?, b"all of it");
    /// # Ok::<(), tightwire::packet::PacketError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PacketError::TooShort`] and [`PacketError::WrongProtocol`].
    pub fn packet_in<'d>(&self, datagram: &'d [u8]) -> Result<&'d [u8], PacketError> {
        match &self.gate {
            Recorded::Nothing => Ok(datagram),
            Recorded::Id(id) => strip_protection(datagram, |_| *id),
            Recorded::Crc32(hasher) => {
                strip_protection(datagram, |packet| checksum(hasher, packet))
            }
        }
    }
}

impl Gate {
    /// Creates a gate for packets of at most `max_packet` bytes.
    pub(super) fn new(protection: Protection, id: u64, max_packet: usize) -> Self {
        match protection {
            Protection::None => Self::None,
            Protection::Id => Self::Id(id.to_le_bytes()),
            Protection::Crc32 => Self::Crc32(hasher_of(id)),
            Protection::Sealed(keys) => Self::Sealed(Seal::new(keys, id, max_packet)),
        }
    }

    /// Changes the protocol id and the largest size of packets in bytes.
    pub(super) fn change(&mut self, id: u64, max_packet: usize) {
        match self {
            Self::None => {}
            Self::Id(bytes) => *bytes = id.to_le_bytes(),
            Self::Crc32(hasher) => *hasher = hasher_of(id),
            Self::Sealed(seal) => seal.change(id, max_packet),
        }
    }

    /// Number of bytes before and behind the next packet that is written.
    #[inline]
    pub(super) fn overhead(&self) -> (usize, usize) {
        match self {
            Self::None => (0, 0),
            Self::Id(id) => (id.len(), 0),
            Self::Crc32(_) => (CRC_LEN, 0),
            Self::Sealed(seal) => (seal.header_len(), TAG_LEN),
        }
    }

    /// Completes a datagram that already contains the packet; the packet of a sealed datagram is in
    /// the seal.
    #[inline]
    pub(super) fn close(&mut self, datagram: &mut [u8]) -> Result<(), PacketWriteError> {
        match self {
            Self::None => {}
            Self::Id(id) => datagram[..id.len()].copy_from_slice(id),
            Self::Crc32(hasher) => {
                let (crc, packet) = datagram.split_at_mut(CRC_LEN);
                crc.copy_from_slice(&checksum(hasher, packet));
            }
            Self::Sealed(seal) => seal.seal(datagram)?,
        }
        Ok(())
    }

    /// Returns the packet in a datagram, if the protection accepts it.
    #[inline]
    pub(super) fn open<'a>(&'a mut self, datagram: &'a [u8]) -> Result<&'a [u8], PacketError> {
        match self {
            Self::None => Ok(datagram),
            Self::Id(id) => strip_protection(datagram, |_| *id),
            Self::Crc32(hasher) => strip_protection(datagram, |packet| checksum(hasher, packet)),
            Self::Sealed(seal) => seal.open(datagram),
        }
    }

    /// Returns the packet in an accepted datagram; if it is sealed, the last packet that was
    /// opened.
    pub(super) fn packet_in<'a>(&'a self, datagram: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Sealed(seal) => seal.packet(),
            _ => datagram.get(self.overhead().0..).unwrap_or_default(),
        }
    }
}

const CRC_LEN: usize = 4;

/// Returns the packet behind its protection, which must equal `expected`.
#[inline]
fn strip_protection<const N: usize>(
    datagram: &[u8],
    expected: impl FnOnce(&[u8]) -> [u8; N],
) -> Result<&[u8], PacketError> {
    match datagram.split_first_chunk() {
        Some((came, packet)) if *came == expected(packet) => Ok(packet),
        Some(_) => Err(PacketError::WrongProtocol),
        None => Err(PacketError::TooShort { length: datagram.len(), minimum: N }),
    }
}

fn hasher_of(protocol_id: u64) -> Hasher {
    let mut hasher = Hasher::new();
    hasher.update(&protocol_id.to_le_bytes());
    hasher
}

fn checksum(protocol_id: &Hasher, packet: &[u8]) -> [u8; CRC_LEN] {
    let mut hasher = protocol_id.clone();
    hasher.update(packet);
    hasher.finalize().to_le_bytes()
}
