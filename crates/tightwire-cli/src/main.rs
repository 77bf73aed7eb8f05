//! The tool `tightwire`: inspects packets, and makes keys, tokens and certificates for operators.

mod datagrams;
mod dissector;
mod files;
mod inspect;
mod picture;
mod schema;
mod shell;
mod sizes;
mod snapshot_bench;
mod snapshot_cost;
mod source;
mod svg;
mod terminal;
mod token;

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Inspects, measures and documents Tightwire packets.
#[derive(Parser)]
#[command(name = "tightwire", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Inspect(inspect::Inspect),
    Sizes(sizes::Sizes),
    #[command(subcommand)]
    Schema(schema::SchemaCommand),
    Dissector(dissector::Dissector),
    /// Draws one packet bit by bit, and shows how bad ones are refused.
    Picture,
    #[command(subcommand)]
    Token(token::TokenCommand),
    #[command(subcommand)]
    Certificate(token::CertificateCommand),
    SnapshotBench(snapshot_bench::SnapshotBench),
    SnapshotCost(snapshot_cost::SnapshotCost),
    Completions(shell::Completions),
    Man(shell::Manual),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Inspect(command) => command.run(),
        Command::Sizes(command) => command.run(),
        Command::Schema(command) => return command.run(),
        Command::Dissector(command) => command.run(),
        Command::Picture => picture::example(),
        Command::Token(command) => command.run(),
        Command::Certificate(command) => command.run(),
        Command::SnapshotBench(command) => command.run(),
        Command::SnapshotCost(command) => command.run(),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    };
    match result.and_then(print) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tightwire: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints to standard output. A closed pipe, as from `head`, is no error.
fn print(text: String) -> Result<(), Box<dyn Error>> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
