//! Sources of a schema: JSON of a schema, an identity or a world's schema, or a capture.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::error::Category;
use tightwire::bytes::Packing;
use tightwire::inspect::Capture;
use tightwire::packet::{Identity, Protection};
use tightwire::schema::{Class, Schema, WorldSchema};
use tightwire::stream::Shape;

use crate::files::read_limited;

/// Maximum length of a JSON file, in bytes: more than any valid schema needs, and small enough to
/// be read into memory at once.
const MAX_JSON: usize = 8 << 20;

/// Whether the packets are records of a session's messages: with their header, which says how long they
/// are.
pub(crate) fn is_session(identity: &Identity) -> bool {
    let Shape::Struct { name, fields } = identity.schema().root() else { return false };
    let header = [("number", 8), ("stage", 8), ("size", 16), ("channel", 8)];
    let is_header = fields.len() > header.len()
        && header.iter().zip(fields).all(|((name, bits), field)| {
            *field.name == **name && field.when.is_none() && field.shape.max_bits() == *bits
        });
    &**name == "Message" && is_header && identity.protection() == Protection::None
}

/// Contents of a file with a schema.
pub(crate) enum Source {
    Schema(Schema),
    Identity(Identity),
    World(WorldSchema),
}

impl Source {
    /// Reads a file; its contents decide the kind.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let refused = |reason: String| format!("{}: {reason}", path.display());
        let start = start_of(path).map_err(|error| refused(error.to_string()))?;
        match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{') => Self::of_json(&read_limited(path, MAX_JSON)?).map_err(refused),
            // A capture is recognised by its first bytes.
            Some(_) if is_capture(&start) => Self::of_capture(path).map_err(refused),
            Some(_) => Err(refused(
                "neither JSON nor a capture: a schema as JSON begins with `{`, and a capture that a \
                 `CaptureWriter` wrote has one in it"
                    .to_owned(),
            )),
            None => Err(refused("the file is empty".to_owned())),
        }
    }

    pub(crate) fn of_json(bytes: &[u8]) -> Result<Self, String> {
        let keys: BTreeMap<String, serde::de::IgnoredAny> =
            serde_json::from_slice(bytes).map_err(|error| in_words(&error))?;
        let read = if keys.contains_key("classes") {
            serde_json::from_slice(bytes).map(Self::World)
        } else if keys.contains_key("schema") {
            serde_json::from_slice(bytes).map(Self::Identity)
        } else {
            serde_json::from_slice(bytes).map(Self::Schema)
        };
        // The file was parsed as JSON above, so a remaining error is about the schema.
        read.map_err(|error| not_a_schema(&error))
    }

    fn of_capture(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let capture = Capture::new(file).map_err(|error| error.to_string())?;
        match (capture.identity(), capture.identity_error()) {
            (Some(identity), _) => Ok(Self::Identity(identity.clone())),
            (None, Some(error)) => Err(format!("the schema in this capture is damaged: {error}")),
            (None, None) => {
                Err("this capture has no schema in it: a `CaptureWriter` of Tightwire puts it \
                                 there, and captures of other programs have none"
                    .to_owned())
            }
        }
    }

    pub(crate) fn schema(&self) -> &Schema {
        match self {
            Self::Schema(schema) => schema,
            Self::Identity(identity) => identity.schema(),
            Self::World(world) => world.schema(),
        }
    }

    pub(crate) fn packing(&self) -> Packing {
        match self {
            Self::Identity(identity) => identity.packing(),
            Self::Schema(_) | Self::World(_) => Packing::Bits,
        }
    }

    /// Returns the shapes that the user declared. For a world's schema, these are its time and its
    /// classes; the rest is the same in every world.
    pub(crate) fn shapes(&self) -> Vec<Shape> {
        match self {
            Self::World(world) => {
                let time = tightwire::stream::Field::new("time", Shape::Op(world.time().clone()));
                let world_shape = Shape::Struct { name: "World".into(), fields: vec![time] };
                let class = |class: &Class| Shape::Struct {
                    name: class.name.clone(),
                    fields: class.properties.clone(),
                };
                [world_shape].into_iter().chain(world.classes().iter().map(class)).collect()
            }
            source => vec![source.schema().root().clone()],
        }
    }
}

/// Returns whether the file is a capture.
pub(crate) fn is_capture_at(path: &Path) -> bool {
    start_of(path).is_ok_and(|start| is_capture(&start))
}

fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(64).read_to_end(&mut start)?;
    Ok(start)
}

/// Returns whether a file begins as a capture: pcapng, or the older formats, which contain no
/// schema.
fn is_capture(start: &[u8]) -> bool {
    const OLD: [[u8; 4]; 4] = [
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        [0x4d, 0x3c, 0xb2, 0xa1],
    ];
    let first = start.first_chunk::<4>();
    first.is_some_and(|first| *first == [0x0a, 0x0d, 0x0d, 0x0a] || OLD.contains(first))
}

/// Describes an error in JSON with its position.
fn in_words(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Data => not_a_schema(error),
        Category::Eof => format!("the JSON is cut short: {error}"),
        Category::Syntax | Category::Io => format!("not JSON: {error}"),
    }
}

/// Describes an error in a schema, without serde's list of the thirty names that are possible.
fn not_a_schema(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once(", expected one of ") {
        Some((reason, _)) => {
            let (line, column) = (error.line(), error.column());
            format!("not a schema: {reason} at line {line} column {column}")
        }
        None => format!("not a schema: {text}"),
    }
}
