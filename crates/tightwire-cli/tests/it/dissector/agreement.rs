//! Whether tshark and the library say the same of a datagram.

use tightwire::packet::Identity;
use tightwire::stream::{ErrorKind, Node, Number, Op, Trace, Value};

use super::tshark::Item;

/// Compares every field of a datagram: its name, its bits, its operation and its value; and the
/// refusal, if there is one.
pub(crate) fn assert_agrees(identity: &Identity, prefix: &str, datagram: &[u8], item: &Item) {
    let refused = |name: &str| item.show(&format!("{prefix}.refused{name}"));
    let packet = match identity.packet_in(datagram) {
        Ok(packet) => packet,
        Err(gate) => {
            assert_eq!(refused(""), Some(gate.to_string()));
            assert_eq!(expert(item), Some(gate.to_string()));
            assert_eq!(item.show(&format!("{prefix}.data")).map(unhex), Some(datagram.to_vec()));
            assert!(lines(item).is_empty());
            return;
        }
    };
    let trace = identity.explain(packet);
    assert_eq!(trace.failure().is_none(), identity.decode(packet).is_ok());
    let before = datagram.len() - packet.len();
    let spans: Vec<_> = trace.spans().collect();
    let lines = lines(item);
    for (span, line) in spans.iter().zip(&lines) {
        assert_line(*span, line, prefix, before);
    }
    assert_eq!(lines.len(), spans.len(), "{trace:#}\n{item:#?}");

    assert_eq!(refused(""), trace.refusal().map(|refusal| refusal.to_string()));
    assert_eq!(refused(".field"), trace.refused().map(|node| unescaped(&node.path())));
    assert_eq!(refused(".bit"), trace.failure().map(|(_, bit)| bit.to_string()));
    assert_eq!(refused(".reason"), trace.failure().map(|(kind, _)| reason(kind)));
    assert_eq!(expert(item), trace.refusal().map(|refusal| refusal.to_string()));
    assert_rest(&trace, item, prefix, packet);
}

/// Checks that undescribed parts are bytes.
fn assert_rest(trace: &Trace, item: &Item, prefix: &str, packet: &[u8]) {
    let rest = item.show(&format!("{prefix}.undescribed")).map(unhex);
    match trace.failure() {
        Some((ErrorKind::Undescribed, bit)) => {
            assert_eq!(rest.as_deref(), packet.get(bit as usize / 8..));
        }
        _ => assert_eq!(rest, None),
    }
}

/// The lines of operations: they end with their bits.
fn lines(item: &Item) -> Vec<&Item> {
    let is_line = |item: &&Item| {
        let words = item.label.rsplit_once("; bit ").map(|(_, bits)| bits);
        words.is_some_and(|bits| bits.ends_with(" bits)") || bits.ends_with(" bit)"))
    };
    item.all().into_iter().filter(is_line).collect()
}

fn expert(item: &Item) -> Option<String> {
    item.show("_ws.expert.message")
}

fn assert_line(span: Node<'_>, line: &Item, prefix: &str, before: usize) {
    let (op, path) = (span.op().unwrap(), span.path());
    let (bits, count) = (span.bits(), span.bit_count());
    let plural = if count == 1 { "" } else { "s" };
    let end = format!(" ({op}; bit {}, {count} bit{plural})", bits.start);
    let head = line.label.strip_suffix(&end);
    let head = head.unwrap_or_else(|| panic!("{path}: {:?} does not end with {end:?}", line.label));
    let last_step = path.rfind(['.', '[']).map_or(&*path, |at| path[at..].trim_matches('.'));
    let value = head.strip_prefix(last_step);
    let value = value.unwrap_or_else(|| panic!("{path}: {head:?} does not begin with its name"));
    let value = value.strip_prefix(": ");

    if span.is_refused() {
        // What is refused is no value of the field, and only shown.
        assert_eq!(line.filter, "_ws.lua.text", "{path}");
        let expected = span.value().map(ToString::to_string).filter(|text| !text.is_empty());
        assert_eq!(value.map(ToString::to_string), expected, "{path}");
        return;
    }
    let filter = line.filter.trim_end_matches(|char: char| char.is_ascii_digit());
    let filter = filter.strip_suffix('_').unwrap_or(&line.filter);
    assert_eq!(filter, format!("{prefix}.{}", filter_of(&path)), "{path}");
    assert_value(&path, op, span, value, line);

    let first = before + bits.start as usize / 8;
    let last = before + (bits.end as usize).div_ceil(8);
    match op {
        // These are the bytes alone, and the line of a variant has its fields too.
        Op::Bytes { .. } | Op::Pod { .. } | Op::Blob { .. } => {
            assert_eq!(line.bytes.0 + line.bytes.1, last, "{path}");
        }
        Op::Enumerate { .. } => assert_eq!(line.bytes.0, first, "{path}"),
        _ if count == 0 => assert_eq!(line.bytes.1, 0, "{path}"),
        _ => assert_eq!(line.bytes, (first, last - first), "{path}"),
    }
}

fn assert_value(path: &str, op: &Op, span: Node<'_>, shown: Option<&str>, line: &Item) {
    let Some(carried) = span.value().filter(|value| **value != Value::Unit) else {
        return assert_eq!(shown, None, "{path}");
    };
    let shown = shown.unwrap_or_else(|| panic!("{path} has no value in {:?}", line.label));
    match carried {
        Value::Bool(value) => {
            assert_eq!(shown, value.to_string(), "{path}");
            assert_eq!(line.show, u8::from(*value).to_string(), "{path}");
        }
        Value::Number(Number::Float(value)) => assert_float(path, *value, shown),
        Value::Number(Number::Double(value)) => {
            let read: f64 = shown.parse().unwrap();
            assert!(read.to_bits() == value.to_bits() || read.is_nan() && value.is_nan(), "{path}");
        }
        Value::Number(number) => {
            let raw = match op {
                Op::Fixed { fraction_bits, .. } => {
                    let (raw, real) = shown.split_once(" = ").unwrap();
                    let real: f64 = real.parse().unwrap();
                    let exact: f64 = raw.parse::<f64>().unwrap() / 2f64.powi(*fraction_bits as i32);
                    assert_eq!(real, exact, "{path}");
                    raw
                }
                _ => shown,
            };
            assert_eq!(raw, number.to_string(), "{path}");
            assert_eq!(line.show, number.to_string(), "{path}");
        }
        Value::Vector(components) => {
            assert_eq!(line.inside.len(), components.len(), "{path}");
            for (component, part) in components.iter().zip(&line.inside) {
                assert_float(path, *component, part.label.split_once(": ").unwrap().1);
                assert!(part.filter.starts_with(&line.filter), "{path}");
            }
        }
        Value::Text(text) => {
            // Wireshark escapes unprintable characters irreversibly.
            if !text.chars().any(char::is_control) {
                assert_eq!(line.show, *text, "{path}");
            }
            assert_shortened(path, shown, &quoted(text));
        }
        Value::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(line.value, hex, "{path}");
            assert_shortened(path, shown, &hex);
        }
        // A plain enumerate has no names.
        Value::Name(name) if name.is_empty() => {
            assert_eq!(shown, span.raw().unwrap().to_string(), "{path}");
            assert_eq!(line.show, shown, "{path}");
        }
        Value::Name(name) => {
            assert_eq!(shown, name, "{path}");
            assert_eq!(line.show, span.raw().unwrap().to_string(), "{path}");
        }
        other => panic!("{path}: no schema reads {other:?}"),
    }
}

/// The same bits: the text has as many digits as that needs.
fn assert_float(path: &str, value: f32, shown: &str) {
    let read: f32 = shown.parse().unwrap();
    let same = read.to_bits() == value.to_bits() || read.is_nan() && value.is_nan();
    assert!(same, "{path}: {shown} is not {value}");
}

/// Long values are cut off on their line.
fn assert_shortened(path: &str, shown: &str, whole: &str) {
    match shown.strip_suffix('…') {
        Some(beginning) if whole.len() > 100 => assert!(whole.starts_with(beginning), "{path}"),
        _ => assert_eq!(shown, whole, "{path}"),
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            char if char.is_ascii_control() => quoted += &format!("\\x{:02x}", u32::from(char)),
            char => quoted.push(char),
        }
    }
    quoted + "\""
}

/// `Player.stickPosition[3].x` as `player.stick_position.x`.
fn filter_of(path: &str) -> String {
    let mut filter = String::new();
    let (mut is_index, mut after_small) = (false, false);
    for char in path.chars() {
        is_index = char == '[' || is_index && char != ']';
        if is_index || char == ']' {
            continue;
        }
        if after_small && char.is_ascii_uppercase() {
            filter.push('_');
        }
        after_small = char.is_ascii_lowercase() || char.is_ascii_digit();
        filter.push(match char {
            '.' => '.',
            _ if char.is_ascii_alphanumeric() => char.to_ascii_lowercase(),
            _ => '_',
        });
    }
    filter
}

/// `OutOfRange` as `out_of_range`.
fn reason(kind: ErrorKind) -> String {
    filter_of(&format!("{kind:?}"))
}

/// Wireshark shows a backslash as it is.
fn unescaped(text: &str) -> String {
    text.to_owned()
}

fn unhex(show: String) -> Vec<u8> {
    let digits: Vec<_> = show.bytes().filter(|byte| *byte != b':').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}
