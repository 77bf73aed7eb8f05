//! `tightwire sizes`: one world in every form, from XML to the entropy-coded difference to the state before.

mod crowd;
mod delta;
mod input;
mod ladder;
mod report;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use tightwire::schema::WorldSchema;
use tightwire::{encode, measure};

use crate::terminal::Terminal;
use input::{Example, Input};
use report::Report;

/// Writes one world in every form, and says how many bytes each takes: XML, JSON, JSON and text relative to a schema, bytes,
/// bits, what changed since the state before, and that entropy-coded. Without a world of yours, it is an example.
#[derive(Args)]
pub(crate) struct Sizes {
    /// A world, as JSON with names or as XML: --write shows what that looks like.
    #[arg(requires = "schema", conflicts_with = "example")]
    world: Option<PathBuf>,
    /// The schema of the world: its classes and their properties.
    #[arg(long, requires = "world")]
    schema: Option<PathBuf>,
    /// The state before, which the receiver has: what the deltas are against.
    #[arg(long, value_name = "WORLD", requires = "world")]
    previous: Option<PathBuf>,
    /// A world that is part of this program.
    #[arg(long, value_enum, default_value = "small")]
    example: Example,
    /// Also draws the sizes, into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// For a program, as JSON.
    #[arg(long)]
    json: bool,
    /// Also writes schema.json, world.json and previous.json into this folder, to begin a world of yours with.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
}

impl Sizes {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        let input = match (&self.world, &self.schema) {
            (Some(world), Some(schema)) => {
                Input::of_files(world, schema, self.previous.as_deref())?
            }
            _ => Input::of_example(self.example)?,
        };
        if let Some(folder) = &self.write {
            write_files(folder, &input)?;
        }
        let ladder = ladder::climb(&input)?;
        let schema_bytes = schema_bytes(&input.schema)?;
        let report = Report { input, ladder, schema_bytes };
        if let Some(file) = &self.svg {
            fs::write(file, report.plot())
                .map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(if self.json { report.json() } else { report.table(Terminal::of_stdout()) })
    }
}

/// What a client gets when it connects.
fn schema_bytes(schema: &WorldSchema) -> Result<usize, Box<dyn Error>> {
    let schema = schema.clone();
    let mut buffer = vec![0; measure(&schema).div_ceil(8) as usize];
    Ok(encode(&schema, &mut buffer)?.len())
}

fn write_files(folder: &Path, input: &Input) -> Result<(), String> {
    let refused = |error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(refused)?;
    for (name, bytes) in input.files()? {
        fs::write(folder.join(name), bytes).map_err(refused)?;
    }
    Ok(())
}
