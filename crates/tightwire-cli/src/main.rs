//! The tool `tightwire`: without arguments it shows a world of cubes that travels to several clients.

mod datagrams;
mod demo;
mod dissector;
mod files;
mod inspect;
mod picture;
mod schema;
mod shell;
mod sizes;
mod snapshot_bench;
mod snapshot_cost;
mod snapshot_scene;
mod source;
mod svg;
mod terminal;
mod token;
mod xray;

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// See what travels. Without a command: the demo.
#[derive(Parser)]
#[command(name = "tightwire", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    Inspect(inspect::Inspect),
    Sizes(sizes::Sizes),
    #[command(subcommand)]
    Schema(schema::SchemaCommand),
    Dissector(dissector::Dissector),
    /// One packet, drawn bit by bit, and what happens to it on the way.
    Picture,
    #[command(subcommand)]
    Token(token::TokenCommand),
    #[command(subcommand)]
    Certificate(token::CertificateCommand),
    SnapshotBench(snapshot_bench::SnapshotBench),
    SnapshotCost(snapshot_cost::SnapshotCost),
    SnapshotScene(snapshot_scene::SnapshotScene),
    Completions(shell::Completions),
    Man(shell::Manual),
}

fn main() -> ExitCode {
    let demo = || Arguments::parse_from(["tightwire", "demo"]).command;
    let result = match Arguments::parse().command.or_else(demo) {
        None => Ok(String::new()),
        Some(Command::Demo(command)) => command.run(),
        Some(Command::Inspect(command)) => command.run(),
        Some(Command::Sizes(command)) => command.run(),
        Some(Command::Schema(command)) => return command.run(),
        Some(Command::Dissector(command)) => command.run(),
        Some(Command::Picture) => picture::example(),
        Some(Command::Token(command)) => command.run(),
        Some(Command::Certificate(command)) => command.run(),
        Some(Command::SnapshotBench(command)) => command.run(),
        Some(Command::SnapshotCost(command)) => command.run(),
        Some(Command::SnapshotScene(command)) => command.run(),
        Some(Command::Completions(command)) => command.run(),
        Some(Command::Man(command)) => command.run(),
    };
    match result.and_then(print) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tightwire: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A reader that has seen enough, as `head`, is no error.
fn print(text: String) -> Result<(), Box<dyn Error>> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
