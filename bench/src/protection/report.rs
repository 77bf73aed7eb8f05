//! The table, and its summary in sentences.

use super::{NAME, Row};

pub fn print(rows: &[Row], rounds: usize) {
    println!("{NAME}: datagrams of rigid bodies, of inputs and of messages ({rounds} rounds)");
    println!("{:<10}{:<20}{:>10}{:>12}{:>9}  of", "part", "per datagram", "bytes", "ns", "x");
    for row in rows {
        let Row { part, task, bytes, ns, ratio, to } = row;
        println!("{part:<10}{task:<20}{bytes:>10.1}{ns:>12.1}{ratio:>9.3}  {to}");
    }
    for part in ["bodies", "inputs"] {
        let percent = |task| 100.0 * ratio(rows, part, task);
        println!(
            "{part}: the checksum alone is {:.1}% of writing; writing with it takes {:.1}% more",
            percent("crc32 alone"),
            percent("write Crc32") - 100.0
        );
    }
    println!();
}

fn ratio(rows: &[Row], part: &str, task: &str) -> f64 {
    let row = rows.iter().find(|row| row.part == part && row.task == task);
    row.expect("each part has all tasks").ratio
}

/// Formats a row as JSON; names need no escapes.
pub fn json(row: &Row) -> String {
    let Row { part, task, bytes, ns, ratio, to } = row;
    format!(
        concat!(
            r#"{{"packet":"{}","part":"{}","task":"{}","bytes":{:.2},"ns":{:.2},"#,
            r#""ratio":{:.4},"to":"{}"}}"#
        ),
        NAME, part, task, bytes, ns, ratio, to
    )
}
