//! What the packets of a capture mean: by the file itself, or by a schema that is given.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use tightwire::{Identity, Protection, Refused, Schema};

/// More than any schema has as JSON; a file that is named by mistake may be of any size.
const MAX_FILE: u64 = 16 << 20;

/// What the datagrams of a capture are.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Meaning {
    identity: Identity,
    /// Bytes in front of the packet that cannot be checked, since only the schema is known.
    unchecked: usize,
}

impl Meaning {
    /// By all that both sides agree on.
    pub(crate) fn of_identity(identity: Identity) -> Self {
        Self { identity, unchecked: 0 }
    }

    /// By the layout alone.
    pub(crate) fn of_schema(schema: Schema, protection: Protection<()>) -> Self {
        let unchecked = match protection {
            Protection::None | Protection::Sealed(()) => 0,
            Protection::Id => 8,
            Protection::Crc32 => 4,
        };
        Self { identity: Identity::new("", "", Protection::None, schema), unchecked }
    }

    /// From JSON, of an identity or of a schema; the protection is for the latter.
    pub(crate) fn of_json(
        text: &str,
        protection: Option<Protection<()>>,
    ) -> Result<Self, MeaningError> {
        let is_identity = serde_json::from_str::<serde_json::Value>(text)
            .map_err(MeaningError::NoJson)?
            .get("schema")
            .is_some();
        if !is_identity {
            let schema: Schema = serde_json::from_str(text).map_err(MeaningError::NoSchema)?;
            return Ok(Self::of_schema(schema, protection.unwrap_or_default()));
        }
        let identity: Identity = serde_json::from_str(text).map_err(MeaningError::NoIdentity)?;
        match protection {
            Some(protection) if protection != identity.protection() => {
                Err(MeaningError::Contradiction { given: protection, has: identity.protection() })
            }
            _ => Ok(Self::of_identity(identity)),
        }
    }

    /// The same from a file.
    pub(crate) fn read(
        file: &Path,
        protection: Option<Protection<()>>,
    ) -> Result<Self, Box<dyn Error>> {
        let name = file.display();
        let failed = |error: &dyn fmt::Display| format!("{name}: {error}");
        let mut text = String::new();
        let opened = File::open(file).map_err(|error| failed(&error))?;
        opened.take(MAX_FILE + 1).read_to_string(&mut text).map_err(|error| failed(&error))?;
        if text.len() as u64 > MAX_FILE {
            return Err(failed(&"this is larger than 16 MiB, more than any schema").into());
        }
        Ok(Self::of_json(&text, protection).map_err(|error| failed(&error))?)
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The packet in a datagram.
    pub(crate) fn packet_in<'d>(&self, datagram: &'d [u8]) -> Result<&'d [u8], Refused> {
        match datagram.get(self.unchecked..) {
            Some(packet) => self.identity.packet_in(packet),
            None => Err(Refused::TooShort { length: datagram.len(), minimum: self.unchecked }),
        }
    }
}

/// In a few words, for a heading.
impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { identity, unchecked } = self;
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

/// Why a file is neither an identity nor a schema.
#[derive(Debug)]
pub(crate) enum MeaningError {
    NoJson(serde_json::Error),
    NoSchema(serde_json::Error),
    NoIdentity(serde_json::Error),
    Contradiction { given: Protection<()>, has: Protection<()> },
}

impl fmt::Display for MeaningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoJson(error) => write!(f, "this is no JSON: {error}"),
            Self::NoSchema(error) => write!(f, "this is no schema: {error}"),
            Self::NoIdentity(error) => write!(f, "this is no identity: {error}"),
            Self::Contradiction { given, has } => {
                write!(f, "this identity has the protection {has}: leave out --protection {given}")
            }
        }
    }
}

impl Error for MeaningError {}
