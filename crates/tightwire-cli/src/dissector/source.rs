//! Source of the dissector's schema: an identity, a schema, or a capture.

use std::error::Error;
use std::fs::File;
use std::path::Path;

use tightwire::bytes::Packing;
use tightwire::inspect::Capture;
use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;

use super::{Plain, Protected};
use crate::source::Source;

/// Returns the identity of the packets, and the recording side's port if the file is a capture.
pub(super) fn identity(
    file: &Path,
    plain: &Plain,
) -> Result<(Identity, Option<u16>), Box<dyn Error>> {
    let of_schema = |schema| plain.identity(schema).map(|identity| (identity, None));
    match Source::read(file)? {
        Source::Identity(identity) => {
            plain.refuse(&format!("{} is an identity", file.display()))?;
            Ok((identity, recorded_port(file)))
        }
        Source::Schema(schema) => of_schema(schema),
        Source::World(world) => of_schema(world.schema().clone()),
    }
}

/// Returns the recording side's port; `None` if the file is no capture or its first record has no
/// direction.
fn recorded_port(file: &Path) -> Option<u16> {
    let mut capture = Capture::new(File::open(file).ok()?).ok()?;
    let first = capture.next_record()?.ok()?;
    first.local().map(|address| address.port())
}

impl Plain {
    fn is_given(&self) -> bool {
        let Self { protection, game, game_version, checks, whole_bytes } = self;
        protection.is_some() || game.is_some() || game_version.is_some() || *checks || *whole_bytes
    }

    /// Refuses options that the file itself answers.
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
