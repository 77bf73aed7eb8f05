//! The world that is measured, its schema, and its previous state.

use std::path::Path;

use clap::ValueEnum;
use tightwire::schema::{Representation, World, WorldError, WorldSchema};

use super::crowd;
use crate::files::read_limited;
use crate::source::Source;
use crate::terminal::safe;

/// Maximum length of a world's file, in bytes.
const MAX_WORLD_FILE: usize = 64 << 20;

/// A world to be measured.
pub(super) struct MeasuredWorld {
    /// Description of the world, for a title.
    pub(super) name: String,
    pub(super) schema: WorldSchema,
    pub(super) world: World,
    pub(super) previous: Option<World>,
    /// Description of the baseline, in words.
    pub(super) before: String,
}

/// Built-in worlds.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Example {
    /// A player, a grunt and a weapon.
    Small,
    /// A thousand objects, a quarter of which changed.
    Large,
}

impl MeasuredWorld {
    pub(super) fn of_example(example: Example) -> Result<Self, String> {
        match example {
            Example::Small => {
                let schema = schema_of(include_bytes!("../../worlds/articles.schema.json"))?;
                let world = |bytes: &[u8]| {
                    World::read(Representation::Json, bytes, &schema).map_err(|e| e.to_string())
                };
                let previous = world(include_bytes!("../../worlds/articles.previous.json"))?;
                let world = world(include_bytes!("../../worlds/articles.json"))?;
                Ok(Self {
                    name: "The example world of the articles".to_owned(),
                    schema,
                    world,
                    previous: Some(previous),
                    before:
                        "the state a tenth of a second before: the player moved, the grunt was \
                             hit, the weapon fired"
                            .to_owned(),
                })
            }
            Example::Large => {
                let schema = schema_of(include_bytes!("../../worlds/crowd.schema.json"))?;
                let quantised = |world: World| world.quantised(&schema).map_err(|e| e.to_string());
                let [previous, world] = crowd::states();
                let (previous, world) = (quantised(previous)?, quantised(world)?);
                let same = world.objects().iter().filter(|object| {
                    previous.get(object.id()).is_some_and(|before| before == *object)
                });
                let changed = world.objects().len() - same.count();
                Ok(Self {
                    name: "A battle".to_owned(),
                    schema,
                    previous: Some(previous),
                    before: format!(
                        "the state a tenth of a second before, since which {changed} objects changed"
                    ),
                    world,
                })
            }
        }
    }

    pub(super) fn of_files(
        world: &Path,
        schema: &Path,
        previous: Option<&Path>,
    ) -> Result<Self, String> {
        let read = match Source::read(schema)? {
            Source::World(schema) => schema,
            _ => {
                return Err(format!(
                    "{}: the schema of packets, not of a world, which has `classes`; `tightwire \
                     sizes --write FOLDER` writes one to begin with",
                    schema.display()
                ));
            }
        };
        let before = match previous {
            Some(previous) => format!("{}", previous.display()),
            None => {
                "nothing, so that every object is new: --previous names the state before".into()
            }
        };
        Ok(Self {
            name: safe(&world.display().to_string()),
            world: read_world(world, &read)?,
            previous: previous.map(|previous| read_world(previous, &read)).transpose()?,
            before: safe(&before),
            schema: read,
        })
    }

    /// Returns the files of a world to start from: names and contents.
    pub(super) fn files(&self) -> Result<Vec<(&'static str, Vec<u8>)>, String> {
        let write = |world: &World| {
            world.write(Representation::Json, &self.schema).map_err(|error| error.to_string())
        };
        let schema = serde_json::to_vec_pretty(&self.schema).map_err(|error| error.to_string())?;
        let mut files = vec![("schema.json", schema), ("world.json", write(&self.world)?)];
        if let Some(previous) = &self.previous {
            files.push(("previous.json", write(previous)?));
        }
        Ok(files)
    }
}

fn schema_of(bytes: &[u8]) -> Result<WorldSchema, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

/// Reads a world as JSON with names, or as XML.
fn read_world(path: &Path, schema: &WorldSchema) -> Result<World, String> {
    let bytes = read_limited(path, MAX_WORLD_FILE)?;
    let representation = match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'<') => Representation::Xml,
        Some(_) => Representation::Json,
        None => return Err(format!("{}: the file is empty", path.display())),
    };
    World::read(representation, &bytes, schema).map_err(|error| {
        let advice = match error {
            WorldError::Text { .. } => "",
            _ => " (it is no world of this schema)",
        };
        format!("{}: {}{advice}", path.display(), safe(&error.to_string()))
    })
}
