//! `tightwire dissector`: writes a Wireshark dissector for the packets of a protocol.
//!
//! The schema becomes a Lua table, which the Lua runtime beside it walks as the library does, so
//! the wire form is declared in one place only. The dissector is the only second reader of the
//! format, since Wireshark runs Lua. Tests compare every field and refusal with the library's.

mod condition;
mod filter;
mod literal;
mod operation;
mod shapes;
mod source;

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tightwire::bytes::Packing;
use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;
use tightwire::stream::Shape;

use filter::filter_name;
use literal::{bytes, text};
use shapes::Shapes;

use crate::source::is_session;

/// Writes a Wireshark dissector in Lua for the packets of a protocol to standard output: fields
/// with names, values and ranges, and the reasons of refused packets.
///
/// Copy it into Wireshark's folder for personal plugins, or: tshark -X lua_script:game.lua -r
/// CAPTURE
#[derive(Args)]
pub(crate) struct Dissector {
    /// Schema of the packets: an identity or a schema as JSON, or a capture that Tightwire
    /// recorded.
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// UDP port of the server; by default the recording side's port in a capture.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Prefix of the filters; by default the name of the game.
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    plain: Plain,
}

/// Properties that an identity has and a plain schema lacks.
#[derive(Args)]
pub(crate) struct Plain {
    /// Protection of datagrams, if FILE is a schema.
    #[arg(long, value_enum)]
    protection: Option<Protected>,
    /// Name of the game, if FILE is a schema: a part of the protocol id.
    #[arg(long)]
    game: Option<String>,
    /// Version of the game, if FILE is a schema: a part of the protocol id.
    #[arg(long, value_name = "VERSION")]
    game_version: Option<String>,
    /// Whether packets have checks, if FILE is a schema.
    #[arg(long)]
    checks: bool,
    /// Whether packets are in whole bytes, if FILE is a schema.
    #[arg(long)]
    whole_bytes: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Protected {
    None,
    Id,
    Crc32,
}

impl Dissector {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        let (identity, recorded_port) = source::identity(&self.schema, &self.plain)?;
        let port = self.port.or(recorded_port);
        let port = port.ok_or("give the UDP port of the server with --port")?;
        let name = filter_name(self.name.as_deref().unwrap_or(identity.game()));
        let shapes = Shapes::of(&identity);
        for note in &shapes.undescribed {
            eprintln!("tightwire: {note}");
        }
        if identity.protection() == Protection::Sealed(()) {
            eprintln!(
                "tightwire: the packets of this protocol are sealed: only captures of the recorder, \
                 which hold them after decryption, can be read"
            );
        }
        if is_session(&identity) {
            eprintln!(
                "tightwire: these are messages of a session, which are encrypted on their way: the \
                 dissector reads captures that the session wrote itself, and leaves other packets of \
                 port {port} to Wireshark"
            );
        }
        let mut lua = String::new();
        write!(lua, "{HEAD}")?;
        description(&mut lua, &identity, &name, port, &shapes)?;
        lua += &shapes.lua;
        for part in RUNTIME {
            write!(lua, "\n{part}")?;
        }
        Ok(lua)
    }
}

const HEAD: &str = "\
-- A Wireshark dissector, written by `tightwire dissector`: do not edit it, write it again.
-- First comes the schema of the packets, then the code that reads them.

";

/// Lua files of the runtime, in the order of their dependencies.
const RUNTIME: [&str; 8] = [
    include_str!("lua/wide.lua"),
    include_str!("lua/floats.lua"),
    include_str!("lua/text.lua"),
    include_str!("lua/reader.lua"),
    include_str!("lua/operations.lua"),
    include_str!("lua/conditions.lua"),
    include_str!("lua/walk.lua"),
    include_str!("lua/protocol.lua"),
];

fn description(
    lua: &mut String,
    identity: &Identity,
    name: &str,
    port: u16,
    shapes: &Shapes,
) -> Result<(), Box<dyn Error>> {
    let protection = match identity.protection() {
        Protection::None => "none",
        Protection::Id => "id",
        Protection::Crc32 => "crc32",
        Protection::Sealed(()) => "sealed",
    };
    let packing = match identity.packing() {
        Packing::Bits => "bits",
        Packing::Bytes => "bytes",
        other => return Err(format!("packets in {other:?} cannot be dissected").into()),
    };
    let title = format!("{} {}", identity.game(), identity.version());
    writeln!(lua, "local description = {{")?;
    writeln!(lua, "    name = {},", text(name))?;
    writeln!(lua, "    title = {},", text(&format!("{} (Tightwire)", shown(title.trim()))))?;
    writeln!(lua, "    column = {},", text(&shown(identity.game())))?;
    writeln!(lua, "    port = {port},")?;
    writeln!(lua, "    protection = {},", text(protection))?;
    writeln!(lua, "    id = {},", bytes(&identity.id().to_le_bytes()))?;
    writeln!(lua, "    packing = {},", text(packing))?;
    writeln!(lua, "    is_session = {},", is_session(identity))?;
    if let Some(check) = shapes.end_check {
        writeln!(lua, "    end_check = {check},")?;
    }
    writeln!(lua, "    root = {},", shapes.root)?;
    writeln!(lua, "    root_name = {},", text(&shown(root_name(identity.schema()))))?;
    writeln!(lua, "}}\n")?;
    Ok(())
}

/// Name of the whole packet where nothing else names it.
fn root_name(schema: &Schema) -> &str {
    match schema.root() {
        Shape::Struct { name, .. } | Shape::Enum { name, .. } | Shape::Opaque { name, .. } => name,
        _ => "packet",
    }
}

/// Escapes characters that a terminal could interpret, as traces do.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\'' | '"' => shown.push(char),
            _ => shown.extend(char.escape_debug()),
        }
    }
    shown
}
