//! The identity of a protocol: everything that both sides must have in common.
//!
//! The protocol id also covers the protection and whether there are checks: two builds that would
//! not understand each other never have the same id. Names are left out, as in fingerprints.

use alloc::string::String;

use xxhash_rust::xxh3::Xxh3;

use super::form::{PacketForm, check_end};
use super::{PacketError, Protection, RecordedPackets};
use crate::bytes::Packing;
use crate::schema::{Dynamic, DynamicError, Schema};
use crate::stream::{ByteStream, Stream, Target, Trace, Wire};

/// Identity of a protocol: the game, its version, the protection of datagrams, whether packets have
/// checks, and the layout of every packet. Its hash is the [protocol id](Self::id).
///
/// Two sides that do not understand each other can send their identities and find out
/// [why](Self::mismatch). With the feature `serde` an identity is also JSON. Send it only to peers
/// whose address is verified, for example over a connection: answering unverified addresses with more bytes
/// than they sent can be abused for amplification attacks. A tool with the identity reads packets
/// without the program: [`decode`](Self::decode) and [`explain`](Self::explain).
///
/// ```
/// use tightwire::packet::{Identity, Protection};
/// use tightwire::schema::Schema;
///
/// let ours = Identity::new("arena", "1.0", Protection::Crc32, Schema::of::<[u8; 3]>());
/// let theirs = Identity::new("arena", "1.1", Protection::Crc32, Schema::of::<[u8; 4]>());
/// assert_ne!(ours.id(), theirs.id());
///
/// // Theirs arrives, in a packet of its own.
/// let mut buffer = [0; 256];
/// let sent = tightwire::encode(&theirs, &mut buffer)?;
/// let received: Identity = tightwire::decode(sent)?;
/// let lines: Vec<_> = ours.mismatch(&received).unwrap().iter().map(ToString::to_string).collect();
/// assert_eq!(lines, [
///     r#"version: "1.0" here, "1.1" there"#,
///     "packet: 3 elements here, 4 there",
/// ]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Wire, Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Identity {
    #[wire(max_len = 255)]
    game: String,
    #[wire(max_len = 255)]
    version: String,
    protection: Protection<()>,
    checks: bool,
    packing: Packing,
    schema: Schema,
}

impl Identity {
    /// Creates the identity of a protocol that packs bits and has no checks. For tools: a
    /// [`Protocol`](crate::packet::Protocol) creates its own.
    ///
    /// Game and version have up to 255 bytes each; an identity with longer ones cannot be sent.
    #[must_use]
    pub fn new(game: &str, version: &str, protection: Protection<()>, schema: Schema) -> Self {
        let (game, version) = (game.into(), version.into());
        Self { game, version, protection, checks: false, packing: Packing::Bits, schema }
    }

    /// Adds checks: see [`Protocol::with_checks`](crate::packet::Protocol::with_checks).
    #[must_use]
    pub fn with_checks(mut self) -> Self {
        self.checks = true;
        self
    }

    /// Chooses between bits and whole bytes: see
    /// [`Protocol::with_packing`](crate::packet::Protocol::with_packing).
    #[must_use]
    pub fn with_packing(mut self, packing: Packing) -> Self {
        self.packing = packing;
        self
    }

    /// Changes the protection.
    #[must_use]
    pub(super) fn with_protection(mut self, protection: Protection<()>) -> Self {
        self.protection = protection;
        self
    }

    /// Name of the game.
    #[must_use]
    pub fn game(&self) -> &str {
        &self.game
    }

    /// Version of the game.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Protection of datagrams, without the keys.
    #[must_use]
    pub fn protection(&self) -> Protection<()> {
        self.protection
    }

    /// Whether packets have checks.
    #[must_use]
    pub fn has_checks(&self) -> bool {
        self.checks
    }

    /// Packing of packets: bits or whole bytes.
    #[must_use]
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// Layout of the packets.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Checks and packing, which decide the bytes of a packet together with its layout.
    pub(super) fn form(&self) -> PacketForm {
        PacketForm { checks: self.checks, packing: self.packing }
    }

    /// Protocol id: 64 bits that change with every property of the identity, except the names of
    /// types, fields and variants, which do not change a packet. docs/WIRE.md specifies the bytes
    /// that are hashed.
    ///
    /// ```
    /// use tightwire::packet::{Identity, Protection};
    /// use tightwire::schema::Schema;
    ///
    /// let identity = Identity::new("arena", "1.0", Protection::Crc32, Schema::of::<u8>());
    /// assert_eq!(identity.id(), identity.clone().id());
    /// assert_ne!(identity.id(), identity.clone().with_checks().id());
    /// ```
    #[must_use]
    pub fn id(&self) -> u64 {
        let mut hash = Xxh3::new();
        let packing = match self.packing {
            Packing::Bits => 0,
            Packing::Bytes => 1,
        };
        hash.update(&[FORM, self.protection.ordinal(), self.checks.into(), packing]);
        hash.update(&self.schema.fingerprint().to_le_bytes());
        for text in [&self.game, &self.version] {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
        hash.digest()
    }

    /// Returns the packet within a recorded datagram, if the datagram belongs to this protocol: the
    /// bytes behind the [id](Protection::Id) or the [checksum](Protection::Crc32), which are
    /// compared. For a [sealed](Protection::Sealed) protocol, only the packet is recorded, as
    /// [`Protocol::unsealed`](crate::packet::Protocol::unsealed) returns it, and there is nothing
    /// to check.
    ///
    /// Each call computes the protocol id, which walks the schema: for many datagrams, use
    /// [`packets`](Self::packets).
    ///
    /// ```
    /// use tightwire::packet::{Protection, Protocol, PacketError};
    ///
    /// let mut protocol = Protocol::<[u8; 3]>::new("arena", "1.0", Protection::Crc32);
    /// let mut buffer = [0; 64];
    /// let datagram = protocol.write(&[7, 8, 9], &mut buffer)?.to_vec();
    ///
    /// let identity = protocol.identity();
    /// let packet = identity.packet_in(&datagram)?;
    /// assert_eq!(identity.decode(packet)?.to_string(), "[7, 8, 9]");
    /// assert_eq!(identity.packet_in(b"hello there"), Err(PacketError::WrongProtocol));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PacketError::TooShort`] and [`PacketError::WrongProtocol`], as in
    /// [`Protocol::read`](crate::packet::Protocol::read).
    pub fn packet_in<'d>(&self, datagram: &'d [u8]) -> Result<&'d [u8], PacketError> {
        self.packets().packet_in(datagram)
    }

    /// Returns an extractor for the packets of many recorded datagrams.
    ///
    /// ```
    /// use tightwire::packet::{Identity, Protection};
    /// use tightwire::schema::Schema;
    ///
    /// let identity = Identity::new("arena", "1.0", Protection::Id, Schema::of::<u8>());
    /// let packets = identity.packets();
    /// let datagram = [&identity.id().to_le_bytes()[..], &[7]].concat();
    /// assert_eq!(packets.packet_in(&datagram)?, [7]);
    /// # Ok::<(), tightwire::packet::PacketError>(())
    /// ```
    #[must_use]
    pub fn packets(&self) -> RecordedPackets {
        RecordedPackets::new(self)
    }

    /// Reads a packet, without the protection of its datagram, into a tree of values.
    ///
    /// ```
    /// use tightwire::packet::{Identity, Protection};
    /// use tightwire::schema::Schema;
    ///
    /// let identity = Identity::new("arena", "1.0", Protection::None, Schema::of::<[u8; 3]>());
    /// assert_eq!(identity.decode(&[7, 8, 9])?.to_string(), "[7, 8, 9]");
    /// # Ok::<(), tightwire::schema::DynamicError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Schema::decode`].
    pub fn decode(&self, packet: &[u8]) -> Result<Dynamic, DynamicError> {
        let stream = self.form().read_stream(packet);
        match self.packing {
            Packing::Bits => self.schema.decode_from(stream, check_end),
            Packing::Bytes => self.schema.decode_from(ByteStream::new(stream), check_end),
        }
    }

    /// Reads a packet, without the protection of its datagram, and returns the meaning of every
    /// bit, and where and why the packet was refused.
    ///
    /// ```
    /// use tightwire::packet::{Identity, Protection};
    /// use tightwire::schema::Schema;
    ///
    /// let identity = Identity::new("arena", "1.0", Protection::None, Schema::of::<[u8; 3]>());
    /// assert_eq!(identity.explain(&[7, 8]).failure().unwrap().1, 16);
    /// ```
    #[must_use]
    pub fn explain(&self, packet: &[u8]) -> Trace {
        self.form().explain(packet, self.schema.name(), &mut BySchema(&self.schema))
    }
}

/// A packet that is read by its schema, without its type.
struct BySchema<'s>(&'s Schema);

impl Wire for BySchema<'_> {
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        this.0.serialize(&mut Dynamic::default(), stream)
    }
}

/// Version of the hashed bytes, increased with each change.
const FORM: u8 = 1;
