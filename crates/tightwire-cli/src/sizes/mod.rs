//! `tightwire sizes`: one world in every representation, from XML to entropy-coded deltas.

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
use input::{Example, MeasuredWorld};
use report::SizeReport;

/// Writes one world in every representation, and prints the bytes of each: XML, JSON, JSON and text
/// relative to a schema, bytes, bits, the delta against the previous state, and the delta
/// entropy-coded. Without a world, measures an example.
#[derive(Args)]
pub(crate) struct Sizes {
    /// World to measure, as JSON with names or as XML: --write shows the format.
    #[arg(requires = "schema", conflicts_with = "example")]
    world: Option<PathBuf>,
    /// Schema of the world: its classes and their properties.
    #[arg(long, requires = "world")]
    schema: Option<PathBuf>,
    /// Previous state of the world, which the receiver has acked: the baseline of the deltas.
    #[arg(long, value_name = "WORLD", requires = "world")]
    previous: Option<PathBuf>,
    /// Built-in world to measure.
    #[arg(long, value_enum, default_value = "small")]
    example: Example,
    /// Draws the sizes into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Writes schema.json, world.json and previous.json into this folder, to start a world of your
    /// own.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
}

impl Sizes {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        let input = match (&self.world, &self.schema) {
            (Some(world), Some(schema)) => {
                MeasuredWorld::of_files(world, schema, self.previous.as_deref())?
            }
            _ => MeasuredWorld::of_example(self.example)?,
        };
        if let Some(folder) = &self.write {
            write_files(folder, &input)?;
        }
        let ladder = ladder::climb(&input)?;
        let schema_bytes = schema_bytes(&input.schema)?;
        let report = SizeReport { input, ladder, schema_bytes };
        if let Some(file) = &self.svg {
            fs::write(file, report.plot())
                .map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(if self.json { report.json() } else { report.table(Terminal::of_stdout()) })
    }
}

/// Returns the bytes of the schema, which a client gets when it connects.
fn schema_bytes(schema: &WorldSchema) -> Result<usize, Box<dyn Error>> {
    let schema = schema.clone();
    let mut buffer = vec![0; measure(&schema).div_ceil(8) as usize];
    Ok(encode(&schema, &mut buffer)?.len())
}

fn write_files(folder: &Path, input: &MeasuredWorld) -> Result<(), String> {
    let refused = |error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(refused)?;
    for (name, bytes) in input.files()? {
        fs::write(folder.join(name), bytes).map_err(refused)?;
    }
    Ok(())
}
