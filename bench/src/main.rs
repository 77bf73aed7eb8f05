//! Benchmarks of Tightwire and its peers on the same packets: see README.md.

mod codecs;
mod counting;
mod data;
mod harness;
mod network;
mod packets;
mod protection;
mod quantise;
mod schemas;
mod system;
mod world;

use harness::{Length, Row, measure};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

struct Table {
    name: &'static str,
    about: &'static str,
    measure: fn(Length) -> (Vec<Row>, usize),
    /// Check that runs before the measurement: the packet's schema agrees with its type.
    check: fn(&str),
}

const TABLES: [Table; 10] = [
    Table {
        name: "bodies",
        about: "one packet of 1000 rigid bodies, quantised by the bit-level codecs",
        measure: |length| measure(codecs::bodies(), data::bodies, length),
        check: |name| schemas::check(name, data::bodies),
    },
    Table {
        name: "bodies_raw",
        about: "one packet of 1000 rigid bodies, raw floats for all codecs",
        measure: |length| measure(codecs::bodies_raw(), data::bodies_raw, length),
        check: |name| schemas::check(name, data::bodies_raw),
    },
    Table {
        name: "inputs",
        about: "256 player inputs, each a packet",
        measure: |length| measure(codecs::inputs(), data::inputs, length),
        check: |name| schemas::check(name, data::inputs),
    },
    Table {
        name: "buttons",
        about: "the same inputs with an array of 12 bools",
        measure: |length| measure(codecs::buttons(), data::buttons, length),
        check: |name| schemas::check(name, data::buttons),
    },
    Table {
        name: "places",
        about: "128 packets with one type in several places",
        measure: |length| measure(codecs::places(), data::places, length),
        check: |name| schemas::check(name, data::places),
    },
    Table {
        name: "messages",
        about: "1000 mixed small messages, each a packet",
        measure: |length| measure(codecs::messages(), data::messages, length),
        check: |name| schemas::check(name, data::messages),
    },
    Table {
        name: "indices_2000",
        about: "4 packets, each 2000 sorted indices of 4096 with a byte",
        measure: |length| measure(codecs::indices(), data::indices_2000, length),
        check: |name| schemas::check(name, data::indices_2000),
    },
    Table {
        name: "indices_32",
        about: "128 packets, each 32 sorted indices of 4096 with a byte",
        measure: |length| measure(codecs::indices(), data::indices_32, length),
        check: |name| schemas::check(name, data::indices_32),
    },
    Table {
        name: "plain",
        about: "one packet of 1000 plain structs of 32 bytes",
        measure: |length| measure(codecs::plain(), data::plain, length),
        check: |name| schemas::check(name, data::plain),
    },
    Table {
        name: "bits",
        about: "one packet of 32768 raw fields of 1 to 32 bits",
        measure: |length| measure(codecs::bits(), data::bits, length),
        // Widths that are known only at run time have no declaration.
        check: |_| {},
    },
];

struct Options {
    length: Length,
    json: bool,
    /// Table to measure; `None` for all.
    packet: Option<String>,
}

fn main() {
    let options = parse(std::env::args().skip(1)).unwrap_or_else(|message| {
        let names: Vec<_> = names().collect();
        eprintln!("{message}\nusage: tightwire-bench [--quick] [--json] [--packet NAME]");
        eprintln!("packets: {}", names.join(", "));
        std::process::exit(2);
    });
    let is_wanted = |name: &str| options.packet.as_ref().is_none_or(|packet| packet == name);
    let mut objects = Vec::new();
    for table in TABLES.iter().filter(|table| is_wanted(table.name)) {
        (table.check)(table.name);
        let (rows, rounds) = (table.measure)(options.length);
        if options.json {
            objects.extend(rows.iter().map(|row| json(table, row)));
        } else {
            print(table, &rows, rounds);
        }
    }
    if is_wanted(protection::NAME) {
        let (rows, rounds) = protection::measure(options.length);
        if options.json {
            objects.extend(rows.iter().map(protection::json));
        } else {
            protection::print(&rows, rounds);
        }
    }
    if is_wanted(system::NAME) {
        objects.append(&mut system::run(options.length, options.json));
    }
    if is_wanted(network::NAME) {
        objects.append(&mut network::run(options.length, options.json));
    }
    if is_wanted(world::NAME) {
        objects.append(&mut world::run(options.length, options.json));
    }
    if options.json {
        println!("[\n{}\n]", objects.join(",\n"));
    }
}

/// Returns the names that `--packet` accepts.
fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| table.name).chain([
        protection::NAME,
        system::NAME,
        network::NAME,
        world::NAME,
    ])
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options =
        Options { length: Length::Time(Duration::from_secs(9)), json: false, packet: None };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => options.length = Length::Rounds(16),
            "--json" => options.json = true,
            "--packet" => {
                let name = args.next().unwrap_or_default();
                if !names().any(|known| known == name) {
                    return Err(format!("no packet {name:?}"));
                }
                options.packet = Some(name);
            }
            _ => return Err(format!("unknown argument {arg:?}")),
        }
    }
    Ok(options)
}

fn print(table: &Table, rows: &[Row], rounds: usize) {
    println!("{}: {} ({rounds} rounds)", table.name, table.about);
    println!(
        "{:<20}{:>10}{:>12}{:>12}{:>9}{:>9}{:>10}{:>10}",
        "per packet", "bytes", "write ns", "read ns", "write x", "read x", "w allocs", "r allocs"
    );
    for row in rows {
        println!(
            "{:<20}{:>10.1}{:>12.1}{:>12.1}{:>9.2}{:>9.2}{:>10.2}{:>10.2}",
            row.codec,
            row.bytes,
            row.write_ns,
            row.read_ns,
            row.write_ratio,
            row.read_ratio,
            row.write_allocations,
            row.read_allocations
        );
    }
    println!();
}

/// Formats a row as JSON; names need no escapes.
fn json(table: &Table, row: &Row) -> String {
    format!(
        concat!(
            r#"{{"packet":"{}","codec":"{}","bytes":{:.2},"write_ns":{:.2},"read_ns":{:.2},"#,
            r#""write_ratio":{:.4},"read_ratio":{:.4},"#,
            r#""write_allocations":{:.4},"read_allocations":{:.4}}}"#
        ),
        table.name,
        row.codec,
        row.bytes,
        row.write_ns,
        row.read_ns,
        row.write_ratio,
        row.read_ratio,
        row.write_allocations,
        row.read_allocations
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One round of every table: defects show before anything is timed.
    const BRIEF: Length = Length::Rounds(1);

    #[test]
    fn every_codec_reads_what_it_wrote_and_every_schema_agrees() {
        for table in &TABLES {
            (table.check)(table.name);
            let (rows, _) = (table.measure)(BRIEF);
            assert!(rows.len() > 1, "{} has no peers", table.name);
        }
    }

    #[test]
    fn every_protection_lets_its_own_datagrams_in() {
        assert!(!protection::measure(BRIEF).0.is_empty());
    }

    #[test]
    fn every_message_system_delivers() {
        assert!(!system::run(BRIEF, true).is_empty());
    }

    #[test]
    fn every_network_delivers() {
        assert!(!network::run(BRIEF, true).is_empty());
    }

    #[test]
    fn every_world_reaches_its_receivers() {
        assert_eq!(world::run(BRIEF, true).len(), 4);
    }
}
