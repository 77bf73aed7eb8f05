//! Recorded scenes; `docs/SNAPSHOTS.md` has the format.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;
use tightwire::snapshot;

use super::arena::{self, Player, Projectile};
use super::classes::Classes;
use super::cubes::{self, Cube, PlayerCube};
use super::turn::Up;

/// Maximum length of a scene, in bytes: a compressed file may claim any length.
const MAX_BYTES: u64 = 1 << 30;

/// A scene, frame by frame.
pub(super) struct Scene {
    words: Vec<i32>,
    kind: Kind,
}

enum Kind {
    Cubes,
    /// An arena, with the index of each frame's first word.
    Arena(Vec<usize>),
}

/// An object of a scene.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum SceneObject {
    PlayerCube(PlayerCube),
    Cube(Cube),
    Player(Player),
    Projectile(Projectile),
}

impl Scene {
    /// Reads a file, which may be compressed.
    pub(super) fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let file = BufReader::new(
            File::open(path).map_err(|error| format!("{}: {error}", path.display()))?,
        );
        let mut bytes = Vec::new();
        if is_compressed(path) {
            let damaged = |reason: &dyn Display| format!("{}: {reason}", path.display());
            let mut decoder = StreamingDecoder::new(file).map_err(|error| damaged(&error))?;
            let unpacked = decoder.by_ref().take(MAX_BYTES).read_to_end(&mut bytes);
            unpacked.map_err(|error| damaged(&error))?;
            // The checksum covers the whole file: a file cut at the limit is not verified.
            let frame = &decoder.decoder;
            if frame.is_finished()
                && frame.get_checksum_from_data().is_some()
                && frame.get_checksum_from_data() != frame.get_calculated_checksum()
            {
                return Err(damaged(&"the checksum is wrong: the file is damaged").into());
            }
        } else {
            file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        }
        Self::new(&bytes).map_err(|reason| format!("{}: {reason}", path.display()).into())
    }

    /// Makes the scene of a file's contents.
    pub(super) fn new(bytes: &[u8]) -> Result<Self, String> {
        let (words, []) = bytes.as_chunks::<4>() else {
            return Err("not a scene: a scene is whole 32-bit words".into());
        };
        let words: Vec<i32> = words.iter().map(|word| i32::from_le_bytes(*word)).collect();
        let kind = match words.first() {
            Some(&arena::MAGIC) => Kind::Arena(arena::frames(&words)?),
            _ => Kind::Cubes,
        };
        let scene = Self { words, kind };
        match scene.kind {
            Kind::Cubes => cubes::check(&scene.words)?,
            Kind::Arena(_) => {}
        }
        Ok(scene)
    }

    /// Turns all objects, so that another axis points up.
    pub(super) fn turn(&mut self, up: Up) {
        match &self.kind {
            Kind::Cubes => cubes::turn(&mut self.words, up),
            Kind::Arena(starts) => {
                starts.iter().for_each(|&start| arena::turn(&mut self.words[start..], up));
            }
        }
    }

    pub(super) fn frames(&self) -> usize {
        match &self.kind {
            Kind::Cubes => self.words.len() / cubes::FRAME,
            Kind::Arena(starts) => starts.len(),
        }
    }

    /// Returns the first measured frame, by the rules of the recordings.
    pub(super) fn first_measured(&self) -> usize {
        match self.kind {
            Kind::Cubes => 7,
            Kind::Arena(_) => 6,
        }
    }

    /// Returns the objects of a frame, in the order of their ids.
    pub(super) fn objects(&self, frame: usize) -> Vec<(u32, SceneObject)> {
        match &self.kind {
            Kind::Cubes => cubes::objects(&self.words[frame * cubes::FRAME..][..cubes::FRAME]),
            Kind::Arena(starts) => arena::objects(&self.words[starts[frame]..]),
        }
    }

    /// Counts the objects that differ between two frames, or exist in only one of them.
    pub(super) fn changed(&self, before: usize, now: usize) -> usize {
        let (before, now) = (self.objects(before), self.objects(now));
        let before: BTreeMap<u32, SceneObject> = before.into_iter().collect();
        let same = now.iter().filter(|(id, object)| before.get(id) == Some(object)).count();
        let old = now.iter().filter(|(id, _)| before.contains_key(id)).count();
        now.len() - same + before.len() - old
    }

    /// Returns the bits of an object with the fewest bits for each field's range.
    pub(super) fn raw_bits(object: &SceneObject) -> usize {
        match object {
            SceneObject::PlayerCube(_) | SceneObject::Cube(_) => cubes::BITS,
            SceneObject::Player(_) => arena::PLAYER_BITS,
            SceneObject::Projectile(_) => arena::PROJECTILE_BITS,
        }
    }

    /// Adds the classes of the scene.
    pub(super) fn classes(&self, builder: snapshot::ProtocolBuilder) -> snapshot::ProtocolBuilder {
        match self.kind {
            Kind::Cubes => builder.class::<PlayerCube>().class::<Cube>(),
            Kind::Arena(_) => builder.class::<Player>().class::<Projectile>(),
        }
    }
}

/// Returns whether the file name is that of a scene compressed with zstd.
fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

impl SceneObject {
    pub(super) fn set(
        &mut self,
        classes: &Classes,
        sender: &mut snapshot::Sender,
        id: u32,
    ) -> Result<(), Box<dyn Error>> {
        match self {
            Self::PlayerCube(cube) => classes.set(sender, id, 0, cube),
            Self::Cube(cube) => classes.set(sender, id, 1, cube),
            Self::Player(player) => classes.set(sender, id, 0, player),
            Self::Projectile(projectile) => classes.set(sender, id, 1, projectile),
        }
    }

    /// Returns whether the receiver has exactly this object.
    pub(super) fn is_at(
        &self,
        classes: &Classes,
        receiver: &mut snapshot::Receiver,
        id: u32,
    ) -> bool {
        match self {
            Self::PlayerCube(cube) => classes.get(receiver, id, 0).as_ref() == Some(cube),
            Self::Cube(cube) => classes.get(receiver, id, 1).as_ref() == Some(cube),
            Self::Player(player) => {
                classes.get(receiver, id, 0).map(Player::in_units).as_ref() == Some(player)
            }
            Self::Projectile(projectile) => {
                classes.get(receiver, id, 1).map(Projectile::in_units).as_ref() == Some(projectile)
            }
        }
    }
}
