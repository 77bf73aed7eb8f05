//! `tightwire schema`: shows, compares and lints schemas.

mod difference;
mod lint;
mod show;
mod words;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::source::{Source, is_capture_at};
use crate::terminal::{Terminal, safe};
use difference::Differences;
use lint::statistics::FieldStatistics;

/// Shows, compares and lints schemas. A FILE is the JSON of a schema, of an identity or of a
/// world's schema, or a capture, which contains the schema of its packets.
#[derive(Subcommand)]
pub(crate) enum SchemaCommand {
    Show(Show),
    Diff(Diff),
    Lint(Lint),
    Export(Export),
}

/// Shows a schema as a tree, with the bits of every field and the worst case.
#[derive(Args)]
pub(crate) struct Show {
    /// A schema, an identity, a world's schema, or a capture.
    file: PathBuf,
}

/// Compares two schemas. The exit status is 1 if the bytes differ, 0 if they are the same, also
/// where only names differ, and 2 after an error.
#[derive(Args)]
pub(crate) struct Diff {
    /// A schema, an identity, a world's schema, or a capture.
    here: PathBuf,
    /// The file to compare with.
    there: PathBuf,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Advises on fields that cost more bits than they need, with the bits that each piece of advice
/// saves.
#[derive(Args)]
pub(crate) struct Lint {
    /// A schema, an identity, a world's schema, or a capture.
    file: PathBuf,
    /// Capture whose packets are examined: fields that never vary, and numbers that use a part of
    /// their range. Packets are decoded by the capture's own schema, and fields are matched by
    /// name.
    #[arg(long, value_name = "CAPTURE")]
    capture: Option<PathBuf>,
    /// Ends with exit status 1 if there is any advice.
    #[arg(long)]
    strict: bool,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Writes a schema as JSON, for example a capture's:
/// `tightwire schema export game.pcapng > schema.json`.
#[derive(Args)]
pub(crate) struct Export {
    /// A capture, or any other file with a schema.
    file: PathBuf,
    /// Writes the identity instead: the schema with the game, its version, and the protection of
    /// datagrams.
    #[arg(long)]
    identity: bool,
}

/// Output of a command, and whether its exit status is 0.
type Printed = Result<(String, bool), Box<dyn Error>>;

impl SchemaCommand {
    /// Runs the command, whose exit status is a part of its result.
    pub(crate) fn run(self) -> ExitCode {
        let result = match self {
            Self::Show(command) => command.run(),
            Self::Diff(command) => command.run(),
            Self::Lint(command) => command.run(),
            Self::Export(command) => command.run(),
        };
        match result.and_then(|(text, is_good)| crate::print(text).map(|()| is_good)) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                // The error may quote a file.
                eprintln!("tightwire: {}", safe(&error.to_string()));
                ExitCode::from(2)
            }
        }
    }
}

impl Show {
    fn run(self) -> Printed {
        Ok((show::text(&Source::read(&self.file)?, Terminal::of_stdout()), true))
    }
}

impl Diff {
    fn run(self) -> Printed {
        let (here, there) = (Source::read(&self.here)?, Source::read(&self.there)?);
        let differences = Differences::between(&here, &there);
        let text = match self.json {
            true => differences.json(),
            false => differences.text([&self.here, &self.there], Terminal::of_stdout()),
        };
        Ok((text, !differences.change_bytes()))
    }
}

impl Lint {
    fn run(self) -> Printed {
        let source = Source::read(&self.file)?;
        // A capture given as the file has packets of its own.
        let own = is_capture_at(&self.file).then_some(&self.file);
        let seen =
            self.capture.as_ref().or(own).map(|path| FieldStatistics::read(path)).transpose()?;
        let advice = lint::lint(&source, seen.as_ref());
        let text = match self.json {
            true => lint::json(&advice),
            false => lint::text(&advice, seen.as_ref(), Terminal::of_stdout()),
        };
        Ok((text, advice.is_empty() || !self.strict))
    }
}

impl Export {
    fn run(self) -> Printed {
        let source = Source::read(&self.file)?;
        let json = match (&source, self.identity) {
            (Source::Identity(identity), true) => serde_json::to_string_pretty(identity)?,
            (_, true) => {
                let file = self.file.display();
                return Err(format!("{file}: this file has a schema, but no identity").into());
            }
            (Source::World(world), false) => serde_json::to_string_pretty(world)?,
            (source, false) => serde_json::to_string_pretty(source.schema())?,
        };
        Ok((json + "\n", true))
    }
}
