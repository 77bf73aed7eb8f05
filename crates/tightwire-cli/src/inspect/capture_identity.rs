//! Identity of a capture's packets: from the capture itself, or from a given schema.

use std::fmt;

use tightwire::packet::{Identity, PacketError, Protection, RecordedPackets};
use tightwire::schema::Schema;
use tightwire::stream::Shape;

use crate::source::Source;

/// Identity by which the datagrams of a capture are decoded.
#[derive(Clone, Debug)]
pub(crate) struct CaptureIdentity {
    identity: Identity,
    packets: RecordedPackets,
    /// Bytes before the packet that cannot be verified, since only the schema is known.
    unchecked: usize,
}

impl CaptureIdentity {
    /// Decodes by an identity, which verifies the protection.
    pub(crate) fn of_identity(identity: Identity) -> Self {
        Self { packets: identity.packets(), identity, unchecked: 0 }
    }

    /// Decodes by a schema alone.
    pub(crate) fn of_schema(schema: Schema, protection: Protection<()>) -> Self {
        let unchecked = match protection {
            Protection::None | Protection::Sealed(()) => 0,
            Protection::Id => 8,
            Protection::Crc32 => 4,
        };
        let identity = Identity::new("", "", Protection::None, schema);
        Self { unchecked, ..Self::of_identity(identity) }
    }

    /// Decodes by a file; `protection` is for a file that has only the schema.
    pub(crate) fn of_source(
        source: Source,
        protection: Option<Protection<()>>,
    ) -> Result<Self, String> {
        let identity = match source {
            Source::Schema(schema) => {
                return Ok(Self::of_schema(schema, protection.unwrap_or_default()));
            }
            Source::World(world) => {
                return Ok(Self::of_schema(world.schema().clone(), protection.unwrap_or_default()));
            }
            Source::Identity(identity) => identity,
        };
        match (protection, identity.protection()) {
            (Some(given), has) if given != has => Err(format!(
                "this identity has the protection {has}: leave out --protection {given}"
            )),
            _ => Ok(Self::of_identity(identity)),
        }
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Describes the packets and bytes of the capture, for comparisons with other tools.
    pub(crate) fn counted(&self) -> &'static str {
        const HEADER: [&str; 4] = ["number", "stage", "size", "channel"];
        let is_session = match self.identity.schema().root() {
            Shape::Struct { name, fields } => {
                **name == *"Message" && fields.iter().take(4).map(|field| &*field.name).eq(HEADER)
            }
            _ => false,
        };
        match is_session {
            true => "messages as recorded, without what encryption, UDP and IP add",
            false => "datagrams as recorded, without what UDP and IP add",
        }
    }

    /// Returns the packet in a datagram.
    pub(crate) fn packet_in<'d>(&self, datagram: &'d [u8]) -> Result<&'d [u8], PacketError> {
        match datagram.get(self.unchecked..) {
            Some(packet) => self.packets.packet_in(packet),
            None => Err(PacketError::TooShort { length: datagram.len(), minimum: self.unchecked }),
        }
    }
}

/// Writes the identity in a few words, for a heading.
impl fmt::Display for CaptureIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { identity, unchecked, .. } = self;
        match (identity.game(), unchecked) {
            ("", 0) => f.write_str("by schema"),
            ("", bytes) => write!(f, "by schema, {bytes} bytes before each packet not checked"),
            (game, _) => {
                let (game, version) = (game.escape_debug(), identity.version().escape_debug());
                write!(f, "{game} {version}, protection {}", identity.protection())
            }
        }
    }
}
