//! Where the description of the packets comes from: an identity, a schema, or a capture.

use std::error::Error;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use tightwire::{Capture, Identity, Packing, Protection, Schema};

use super::{Plain, Protected};

/// What the packets are, by what the file is; of a capture, also the port of who recorded it.
pub(super) fn identity(
    file: &Path,
    plain: &Plain,
) -> Result<(Identity, Option<u16>), Box<dyn Error>> {
    let shown = file.display();
    let opened = || File::open(file).map_err(|error| format!("{shown}: {error}"));
    let mut start = Vec::new();
    opened()?.take(MAX_JSON + 1).read_to_end(&mut start).map_err(|e| format!("{shown}: {e}"))?;
    if start.starts_with(&PCAPNG) {
        plain.refuse(&format!("{shown} is a capture"))?;
        let mut capture = Capture::new(opened()?).map_err(|error| format!("{shown}: {error}"))?;
        return match (capture.identity().cloned(), capture.identity_error()) {
            (Some(identity), _) => {
                let first = capture.next_record().and_then(Result::ok);
                let local = first.and_then(|record| record.local());
                Ok((identity, local.map(|address| address.port())))
            }
            (None, Some(error)) => {
                Err(format!("{shown}: what it says of its packets is damaged: {error}").into())
            }
            (None, None) => Err(format!(
                "{shown}: the capture is not of Tightwire's recorder, and does not say what its \
                 packets are: give the schema or the identity as JSON"
            )
            .into()),
        };
    }
    if PCAP.iter().any(|magic| start.starts_with(magic)) {
        return Err(format!(
            "{shown}: a capture of this form does not say what its packets are: give the schema or \
             the identity as JSON"
        )
        .into());
    }
    if start.len() as u64 > MAX_JSON {
        return Err(format!("{shown}: longer than 16 MiB, more than a schema can have").into());
    }
    let identity = from_json(&start, plain).map_err(|error| format!("{shown}: {error}"))?;
    Ok((identity, None))
}

fn from_json(json: &[u8], plain: &Plain) -> Result<Identity, Box<dyn Error>> {
    let value: serde_json::Value = serde_json::from_slice(json)
        .map_err(|error| format!("neither a capture nor JSON: {error}"))?;
    if value.get("schema").is_some() {
        plain.refuse("it is an identity")?;
        let identity = serde_json::from_slice(json);
        return identity.map_err(|error| format!("not an identity: {error}").into());
    }
    let schema: Schema = serde_json::from_slice(json)
        .map_err(|error| format!("neither an identity nor a schema: {error}"))?;
    plain.identity(schema)
}

impl Plain {
    fn is_given(&self) -> bool {
        let Self { protection, game, game_version, checks, whole_bytes } = self;
        protection.is_some() || game.is_some() || game_version.is_some() || *checks || *whole_bytes
    }

    /// Nothing of this is for what says it itself.
    fn refuse(&self, what: &str) -> Result<(), Box<dyn Error>> {
        match self.is_given() {
            true => Err(format!(
                "{what}, which says itself how packets are protected and what the game is: leave out \
                 --protection, --game, --game-version, --checks and --whole-bytes"
            )
            .into()),
            false => Ok(()),
        }
    }

    fn identity(&self, schema: Schema) -> Result<Identity, Box<dyn Error>> {
        let protection = match self.protection {
            Some(Protected::None) => Protection::None,
            Some(Protected::Id) => Protection::Id,
            Some(Protected::Crc32) => Protection::Crc32,
            None => {
                return Err("a schema does not say how datagrams are protected: give \
                            --protection none, id or crc32"
                    .into());
            }
        };
        let has_id = protection != Protection::None;
        if has_id && (self.game.is_none() || self.game_version.is_none()) {
            return Err(
                "the protocol id is made of the schema, the game and its version: give --game \
                        and --game-version, as the program does"
                    .into(),
            );
        }
        let game = self.game.as_deref().unwrap_or("game");
        let version = self.game_version.as_deref().unwrap_or("");
        let packing = if self.whole_bytes { Packing::Bytes } else { Packing::Bits };
        let identity = Identity::new(game, version, protection, schema).with_packing(packing);
        Ok(if self.checks { identity.with_checks() } else { identity })
    }
}

/// How a pcapng file begins.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// How older captures begin: in either byte order, with microseconds or nanoseconds.
const PCAP: [[u8; 4]; 4] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
];

/// More than the longest schema takes.
const MAX_JSON: u64 = 16 << 20;
