//! What both sides must agree on before they understand each other.
//!
//! The protocol id also covers the protection and whether there are checks: two builds that would not
//! understand each other never have the same id. Names are left out, as in fingerprints.

use alloc::string::String;

use xxhash_rust::xxh3::Xxh3;

use super::form::{Form, check_end};
use super::{PacketError, Protection, RecordedPackets};
use crate::bytes::Packing;
use crate::schema::{Dynamic, DynamicError, Schema};
use crate::stream::{ByteStream, Stream, Target, Trace, Wire};

/// What both sides must agree on: the game, its version, how datagrams are protected, whether they
/// have checks, and the layout of every packet. All of it in one number is the
/// [protocol id](Self::id).
///
/// It can be sent, so that sides that do not agree can find out [why](Self::mismatch), and is JSON
/// with the feature `serde`. Send it to those who have shown that they are where they say, as over a
/// connection: whoever answers strangers with more than they sent can be used against others. A tool that has it reads packets without the program:
/// [`decode`](Self::decode) and [`explain`](Self::explain).
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
/// let sent = tightwire::encode(&theirs.clone(), &mut buffer)?;
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
    /// In bits and without checks. A [`Protocol`](crate::packet::Protocol) has its own; this is for tools.
    ///
    /// Game and version have up to 255 bytes, else they cannot be sent.
    #[must_use]
    pub fn new(game: &str, version: &str, protection: Protection<()>, schema: Schema) -> Self {
        let (game, version) = (game.into(), version.into());
        Self { game, version, protection, checks: false, packing: Packing::Bits, schema }
    }

    /// The same, with checks: see [`Protocol::with_checks`](crate::packet::Protocol::with_checks).
    #[must_use]
    pub fn with_checks(mut self) -> Self {
        self.checks = true;
        self
    }

    /// The same, in bits or in whole bytes: see
    /// [`Protocol::with_packing`](crate::packet::Protocol::with_packing).
    #[must_use]
    pub fn with_packing(mut self, packing: Packing) -> Self {
        self.packing = packing;
        self
    }

    /// The same, otherwise protected.
    #[must_use]
    pub(super) fn with_protection(mut self, protection: Protection<()>) -> Self {
        self.protection = protection;
        self
    }

    /// The name of the game.
    #[must_use]
    pub fn game(&self) -> &str {
        &self.game
    }

    /// The version of the game.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// How datagrams are protected; never with what keys.
    #[must_use]
    pub fn protection(&self) -> Protection<()> {
        self.protection
    }

    /// Whether packets have their checks.
    #[must_use]
    pub fn has_checks(&self) -> bool {
        self.checks
    }

    /// Whether packets are in bits or in whole bytes.
    #[must_use]
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// The layout of the packets.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// What a packet looks like, besides its layout.
    pub(super) fn form(&self) -> Form {
        Form { checks: self.checks, packing: self.packing }
    }

    /// The protocol id: 64 bits that are different when anything here is, but for names of types,
    /// fields and variants, which do not change a packet. docs/WIRE.md gives the form that is hashed.
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

    /// The packet within a recorded datagram, if the datagram is one of this protocol: what stands
    /// behind the [id](Protection::Id) or the [checksum](Protection::Crc32), which are compared. Of a
    /// [sealed](Protection::Sealed) protocol, the packet alone is recorded, as
    /// [`Protocol::unsealed`](crate::packet::Protocol::unsealed) gives it, and nothing is left to check.
    ///
    /// Each time it computes the protocol id, for which it walks the schema: of many datagrams, ask
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
    /// [`PacketError::TooShort`] and [`PacketError::WrongProtocol`], as [`Protocol::read`](crate::packet::Protocol::read)
    /// refuses it.
    pub fn packet_in<'d>(&self, datagram: &'d [u8]) -> Result<&'d [u8], PacketError> {
        self.packets().packet_in(datagram)
    }

    /// Finds the packets of many recorded datagrams.
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

    /// Reads a packet, which is a datagram without its protection, into a tree of values.
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
    /// As [`Schema::decode`].
    pub fn decode(&self, packet: &[u8]) -> Result<Dynamic, DynamicError> {
        let stream = self.form().read_stream(packet);
        match self.packing {
            Packing::Bits => self.schema.decode_from(stream, check_end),
            Packing::Bytes => self.schema.decode_from(ByteStream::new(stream), check_end),
        }
    }

    /// Reads a packet, which is a datagram without its protection, and says what every bit of it
    /// means and where and why it was refused.
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

/// A packet that is read without its type.
struct BySchema<'s>(&'s Schema);

impl Wire for BySchema<'_> {
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        this.0.serialize(&mut Dynamic::default(), stream)
    }
}

/// Another number for each change of the form that is hashed.
const FORM: u8 = 1;
