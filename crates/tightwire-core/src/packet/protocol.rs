//! Packets to datagrams, and back.
//!
//! Checks are left out by the stream at run time: one compiled serialize function serves protocols
//! with and without them. Therefore a check ends a run of merged fields, and a type with a check
//! has no fixed width.

use alloc::sync::Arc;
use core::any::type_name;
use core::fmt;
use core::marker::PhantomData;

use super::form::END_CHECK_LEN;
use super::gate::Gate;
use super::refused::{ExplainedPacketError, ExplainedPacketWriteError};
use super::{Counters, Identity, Keys, PacketError, PacketWriteError, Protection};
use crate::bytes::Packing;
use crate::schema::Schema;
use crate::stream::{ErrorKind, ExplainedError, ReadError, Wire, WriteError};

/// Turns packets into datagrams and back, and refuses every datagram of another protocol.
///
/// `P` is the set of the game's packets: an enum with
/// [`#[derive(Wire)]`](derive@crate::stream::Wire), sent as the ordinal of the variant in the
/// fewest bits, then its fields. A set of one packet needs no bits for the ordinal.
///
/// Both sides create a protocol from the same game, version, protection and packets. It works in
/// the caller's buffers and allocates only when it is created. A refusal does not affect the
/// datagrams after it.
///
/// One protocol serves any number of peers, unless it is sealed: then each peer has its own, see
/// [`sealed`](Self::sealed).
///
/// ```
/// use tightwire::Wire;
/// use tightwire::packet::{Protection, Protocol, PacketError};
///
/// #[derive(Wire, Default, PartialEq, Debug)]
/// enum Packet {
///     #[default]
///     KeepAlive,
///     Move { #[wire(range = -100..=100)] x: i8, #[wire(range = -100..=100)] y: i8 },
///     Chat { #[wire(max_len = 100)] text: String },
/// }
///
/// let mut client = Protocol::<Packet>::new("arena", "1.0", Protection::Crc32);
/// let mut server = Protocol::<Packet>::new("arena", "1.0", Protection::Crc32);
///
/// let mut buffer = [0; Protocol::<Packet>::MAX_BYTES];
/// let datagram = client.write(&Packet::Move { x: 3, y: -7 }, &mut buffer)?;
/// assert_eq!(datagram.len(), 4 + 3);
///
/// let mut packet = Packet::default();
/// server.read(datagram, &mut packet)?;
/// match packet {
///     Packet::Move { x, y } => assert_eq!((x, y), (3, -7)),
///     Packet::KeepAlive | Packet::Chat { .. } => unreachable!(),
/// }
///
/// let mut next_version = Protocol::<Packet>::new("arena", "1.1", Protection::Crc32);
/// assert_eq!(next_version.read(datagram, &mut packet), Err(PacketError::WrongProtocol));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Protocol<P> {
    identity: Arc<Identity>,
    id: u64,
    gate: Gate,
    counters: Counters,
    packets: PhantomData<fn(&mut P)>,
}

impl<P: Wire> Protocol<P> {
    /// Largest size of a datagram in bytes, with any protection: the length of a buffer on the
    /// stack. It does not compile for packets without a worst case.
    pub const MAX_BYTES: usize = P::MAX_BYTES + END_CHECK_LEN + 10 + 16;

    /// Creates the protocol of a game, without checks. Game and version have up to 255 bytes.
    ///
    /// Computing the protocol id walks the schema and allocates: call this once, not per packet.
    #[must_use]
    pub fn new(game: &str, version: &str, protection: Protection) -> Self {
        let identity = Identity::new(game, version, protection.without_keys(), Schema::of::<P>());
        let id = identity.id();
        Self::of(identity.into(), id, protection)
    }

    fn of(identity: Arc<Identity>, id: u64, protection: Protection) -> Self {
        let gate = Gate::new(protection, id, identity.form().max_packet::<P>());
        Self { identity, id, gate, counters: Counters::default(), packets: PhantomData }
    }

    /// Adds serialization checks: the [`check`](crate::stream::Stream::check)s of the packets, and
    /// one at the end of each packet. They reveal the section that the two sides serialize
    /// differently, and cost 4 bytes each. A protocol without checks leaves all of them out.
    ///
    /// Both sides must have the same setting: it is part of the protocol id.
    ///
    /// ```
    /// use tightwire::packet::{Protection, Protocol};
    ///
    /// let mut protocol = Protocol::<u16>::new("arena", "1.0", Protection::None).with_checks();
    /// let mut buffer = [0; 64];
    /// assert_eq!(protocol.write(&7, &mut buffer)?.len(), 2 + 4);
    /// # Ok::<(), tightwire::packet::PacketWriteError>(())
    /// ```
    #[must_use]
    pub fn with_checks(mut self) -> Self {
        let identity = Identity::clone(&self.identity).with_checks();
        self.set_identity(identity);
        self
    }

    /// Chooses between the fewest bits, the default, and whole bytes, for debugging with a hex
    /// dump. Datagrams in whole bytes can be longer than [`MAX_BYTES`](Self::MAX_BYTES).
    ///
    /// Both sides must have the same setting: it is part of the protocol id.
    ///
    /// ```
    /// use tightwire::bytes::Packing;
    /// use tightwire::packet::{Protection, Protocol};
    ///
    /// let protocol = Protocol::<(bool, Option<u8>)>::new("arena", "1.0", Protection::None);
    /// let mut protocol = protocol.with_packing(Packing::Bytes);
    /// let mut buffer = [0; 64];
    /// assert_eq!(protocol.write(&(true, Some(7)), &mut buffer)?, [1, 1, 7]);
    /// # Ok::<(), tightwire::packet::PacketWriteError>(())
    /// ```
    #[must_use]
    pub fn with_packing(mut self, packing: Packing) -> Self {
        let identity = Identity::clone(&self.identity).with_packing(packing);
        self.set_identity(identity);
        self
    }

    fn set_identity(&mut self, identity: Identity) {
        self.id = identity.id();
        // The gate is changed and not replaced, since a seal must keep its sequence numbers.
        self.gate.change(self.id, identity.form().max_packet::<P>());
        self.identity = identity.into();
    }

    /// Creates the same protocol, sealed for one peer, with its own counters. The identity is
    /// shared.
    ///
    /// ```
    /// use tightwire::packet::{Keys, Protection, Protocol};
    ///
    /// let keys = |peer| Keys::server([peer; 32], [peer + 1; 32]);
    /// let first = Protocol::<u16>::new("arena", "1.0", Protection::Sealed(keys(1)));
    /// let second = first.sealed(keys(3));
    /// assert_eq!(first.identity().id(), second.identity().id());
    /// ```
    #[must_use]
    pub fn sealed(&self, keys: Keys) -> Self {
        let (mut identity, mut id) = (self.identity.clone(), self.id);
        if identity.protection() != Protection::Sealed(()) {
            identity = Identity::clone(&identity).with_protection(Protection::Sealed(())).into();
            id = identity.id();
        }
        Self::of(identity, id, Protection::Sealed(keys))
    }

    /// Identity of the protocol, which must be the same on both sides.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Counts of the datagrams so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Writes `packet` into `buffer` and returns the datagram.
    ///
    /// ```
    /// use tightwire::packet::{Protection, Protocol};
    ///
    /// let mut protocol = Protocol::<u16>::new("arena", "1.0", Protection::Id);
    /// let mut buffer = [0; 64];
    /// assert_eq!(protocol.write(&7, &mut buffer)?.len(), 8 + 2);
    /// let refused = protocol.write(&7, &mut buffer[..9]).unwrap_err();
    /// let sentence = "the buffer of 9 bytes is too small, the packet needs 10: give it a larger one";
    /// assert_eq!(refused.to_string(), sentence);
    /// # Ok::<(), tightwire::packet::PacketWriteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PacketWriteError`] if the buffer is too small, a value is out of its range, or the keys
    /// are used up; a sealed protocol then uses no sequence number.
    #[inline]
    pub fn write<'b>(
        &mut self,
        packet: &P,
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], PacketWriteError> {
        let form = self.identity.form();
        let (before, behind) = self.gate.overhead();
        let (overhead, capacity) = (before + behind, buffer.len());
        // A seal has its own memory for the packet, where the packet stays readable.
        let target = match &mut self.gate {
            Gate::Sealed(seal) => seal.packet_mut(),
            _ => buffer.get_mut(before..).unwrap_or_default(),
        };
        let room = capacity.saturating_sub(overhead).min(target.len());
        let length = match form.encode(packet, &mut target[..room]) {
            Ok(packet) => overhead + packet.len(),
            Err(WriteError::Full { needed_bits, .. })
                if room < capacity.saturating_sub(overhead) =>
            {
                let length = needed_bits.div_ceil(8) as usize;
                return Err(PacketWriteError::TooLong { length, limit: room });
            }
            Err(refused) => return Err(with_overhead(refused, overhead, capacity)),
        };
        let Some(datagram) = buffer.get_mut(..length) else {
            let refused = WriteError::Full { needed_bits: 0, capacity_bits: 0 };
            return Err(with_overhead(refused, length, capacity));
        };
        self.gate.close(datagram)?;
        self.counters.written += 1;
        Ok(datagram)
    }

    /// Like [`write`](Self::write), with an error that names the field. A packet that is refused is
    /// written again, slowly and with allocations.
    ///
    /// ```
    /// use tightwire::packet::{Protection, Protocol};
    ///
    /// let mut protocol = Protocol::<[u16; 2]>::new("arena", "1.0", Protection::Crc32);
    /// let refused = protocol.write_explained(&[1, 2], &mut [0; 6]).unwrap_err();
    /// let path = refused.field().and_then(|field| field.path());
    /// assert_eq!(path.as_deref(), Some("[u16; 2][1]"));
    /// ```
    ///
    /// # Errors
    ///
    /// [`ExplainedPacketWriteError`] as [`write`](Self::write).
    pub fn write_explained<'b>(
        &mut self,
        packet: &P,
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], ExplainedPacketWriteError> {
        let capacity = buffer.len();
        self.write(packet, buffer).map_err(|refused| self.explain_write(refused, packet, capacity))
    }

    #[cold]
    fn explain_write(
        &self,
        refused: PacketWriteError,
        packet: &P,
        capacity: usize,
    ) -> ExplainedPacketWriteError {
        let (before, behind) = self.gate.overhead();
        let room = capacity.saturating_sub(before + behind);
        let (kind, bit) = match refused {
            PacketWriteError::Packet(WriteError::Value { kind, bit }) => (kind, bit),
            PacketWriteError::Packet(WriteError::Full { .. }) => (ErrorKind::Full, room as u64 * 8),
            _ => return ExplainedPacketWriteError::new(refused, None),
        };
        let trace = self.identity.form().explain_write(packet, type_name::<P>(), room);
        ExplainedPacketWriteError::new(refused, Some(ExplainedError::new(kind, bit, trace)))
    }

    /// Reads a datagram into `packet`, whose strings and arrays keep their memory. After a refusal
    /// the packet is unchanged or partly read.
    ///
    /// # Errors
    ///
    /// [`PacketError`] for anything but a complete valid datagram of this protocol.
    #[inline]
    pub fn read(&mut self, datagram: &[u8], packet: &mut P) -> Result<(), PacketError> {
        let form = self.identity.form();
        let bytes = match self.gate.open(datagram) {
            Ok(bytes) => bytes,
            Err(refused) => return Err(self.counters.count(refused)),
        };
        if let Err(refused) = form.decode(bytes, packet) {
            return Err(self.counters.count(PacketError::packet(refused)));
        }
        self.counters.read += 1;
        Ok(())
    }

    /// Like [`read`](Self::read), with an error that names the field. A datagram that passes the
    /// protection and is then refused is read again, slowly and with allocations.
    ///
    /// # Errors
    ///
    /// [`ExplainedPacketError`] for anything but a complete valid datagram of this protocol.
    pub fn read_explained(
        &mut self,
        datagram: &[u8],
        packet: &mut P,
    ) -> Result<(), ExplainedPacketError>
    where
        P: Default,
    {
        self.read(datagram, packet).map_err(|refused| self.explain(refused, datagram))
    }

    #[cold]
    fn explain(&self, refused: PacketError, datagram: &[u8]) -> ExplainedPacketError
    where
        P: Default,
    {
        let (kind, bit) = match refused {
            PacketError::Malformed(ReadError { kind, bit }) => (kind, bit),
            _ => return ExplainedPacketError::new(refused, None),
        };
        let bytes = self.gate.packet_in(datagram);
        let trace = self.identity.form().explain(bytes, type_name::<P>(), &mut P::default());
        ExplainedPacketError::new(refused, Some(ExplainedError::new(kind, bit, trace)))
    }

    /// Returns the bytes that a capture should record for a datagram that was written or read. If
    /// it is sealed, these are the packet alone: the datagram must be the last that was written or
    /// read, and the result is empty if it was refused. Otherwise they are the datagram itself.
    ///
    /// ```
    /// use tightwire::packet::{Keys, Protection, Protocol};
    ///
    /// let keys = Keys::client([1; 32], [2; 32]);
    /// let mut client = Protocol::<u16>::new("arena", "1.0", Protection::Sealed(keys));
    /// let mut buffer = [0; 64];
    /// let datagram = client.write(&7, &mut buffer)?;
    /// assert_eq!(client.unsealed(datagram), [7, 0]);
    /// # Ok::<(), tightwire::packet::PacketWriteError>(())
    /// ```
    #[must_use]
    pub fn unsealed<'a>(&'a self, datagram: &'a [u8]) -> &'a [u8] {
        match &self.gate {
            Gate::Sealed(seal) => seal.packet(),
            _ => datagram,
        }
    }
}

impl<P> fmt::Debug for Protocol<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protocol")
            .field("game", &self.identity.game())
            .field("version", &self.identity.version())
            .field("id", &format_args!("{:016x}", self.id))
            .field("gate", &self.gate)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// Converts an error of the packet into one of the whole datagram, in a buffer of `capacity` bytes.
#[cold]
fn with_overhead(refused: WriteError, overhead: usize, capacity: usize) -> PacketWriteError {
    PacketWriteError::Packet(match refused {
        WriteError::Full { needed_bits, .. } => WriteError::Full {
            needed_bits: needed_bits + overhead as u64 * 8,
            capacity_bits: capacity as u64 * 8,
        },
        refused => refused,
    })
}
