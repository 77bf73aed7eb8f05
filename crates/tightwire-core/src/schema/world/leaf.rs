//! Single values as text, for XML, JSON and the compact text.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use crate::stream::{FloatRange, Number, Op, RawStream, RunError, Value, WriteStream, run_op};

/// Kind of value that an operation carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Nothing,
    Bool,
    Unsigned,
    Signed,
    Float,
    Double,
    /// A number of floats.
    Floats(usize),
    Text,
    Bytes,
}

impl Kind {
    pub(super) fn of(op: &Op) -> Self {
        match *op {
            Op::Bool => Self::Bool,
            Op::Int { min: Number::Signed(_), .. }
            | Op::Fixed { min: Number::Signed(_), .. }
            | Op::Varint { signed: true, .. } => Self::Signed,
            Op::Bits { .. }
            | Op::Int { .. }
            | Op::Fixed { .. }
            | Op::Varint { .. }
            | Op::Enumerate { .. } => Self::Unsigned,
            Op::Float | Op::CompressedFloat(_) => Self::Float,
            Op::Double => Self::Double,
            Op::Vector { dimensions } | Op::CompressedVector { dimensions, .. } => {
                Self::Floats(dimensions)
            }
            Op::Quaternion | Op::SmallestThree { .. } => Self::Floats(4),
            Op::UnitVector { .. } => Self::Floats(3),
            Op::Bytes { .. } | Op::Pod { .. } | Op::Blob { .. } => Self::Bytes,
            Op::String { .. } | Op::WideString { .. } => Self::Text,
            // The last three have no values, and do not occur in the schema of a world.
            Op::Align
            | Op::Check { .. }
            | Op::Index { .. }
            | Op::IntRelative
            | Op::Selection { .. } => Self::Nothing,
        }
    }

    pub(super) fn expected(self) -> String {
        match self {
            Self::Nothing => "nothing".to_string(),
            Self::Bool => "true or false".to_string(),
            Self::Unsigned => "an unsigned integer".to_string(),
            Self::Signed => "an integer".to_string(),
            Self::Float | Self::Double => "a number".to_string(),
            Self::Floats(count) => format!("{count} numbers"),
            Self::Text => "text".to_string(),
            Self::Bytes => "bytes as hexadecimal digits".to_string(),
        }
    }

    /// Parses a value that is neither text nor several floats.
    pub(super) fn parse(self, text: &str) -> Result<Value, String> {
        let parsed = match self {
            Self::Nothing => text.is_empty().then_some(Value::Unit),
            Self::Bool => match text {
                "true" | "1" => Some(Value::Bool(true)),
                "false" | "0" => Some(Value::Bool(false)),
                _ => None,
            },
            Self::Unsigned if is_integer(text) => {
                text.parse().ok().map(|n| Value::Number(Number::Unsigned(n)))
            }
            Self::Signed if is_integer(text.strip_prefix('-').unwrap_or(text)) => {
                text.parse().ok().map(|n| Value::Number(Number::Signed(n)))
            }
            Self::Float => parse_float(text).map(|n| Value::Number(Number::Float(n))),
            Self::Double if is_float(text) => {
                text.parse().ok().map(|n| Value::Number(Number::Double(n)))
            }
            Self::Bytes => parse_hex(text).map(Value::Bytes),
            _ => None,
        };
        parsed.ok_or_else(|| format!("{} is needed, not {}", self.expected(), shown(text)))
    }
}

/// Quotes the text that was found instead, cut to a readable length.
pub(super) fn shown(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    if short.len() < text.len() { format!("{short:?}...") } else { format!("{short:?}") }
}

pub(super) fn parse_float(text: &str) -> Option<f32> {
    if is_float(text) { text.parse().ok() } else { None }
}

/// Whether the text is an unsigned integer. The standard library also accepts a plus sign,
/// which is never written here.
fn is_integer(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the text is a float. The standard library also accepts a plus sign, and more words for
/// infinity and NaN.
fn is_float(text: &str) -> bool {
    let starts_well = text.bytes().find(|&byte| byte != b'-').is_some_and(|b| b.is_ascii_digit());
    let plain = |byte: u8| byte.is_ascii_digit() || b"-.e".contains(&byte);
    starts_well && text.bytes().all(plain) || matches!(text, "inf" | "-inf")
}

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    text.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the fewest digits that read back to the same number.
pub(super) fn number(number: Number) -> String {
    let (plain, scientific) = match number {
        Number::Unsigned(_) | Number::Signed(_) => return number.to_string(),
        Number::Float(float) => (float.to_string(), format!("{float:e}")),
        Number::Double(double) => (double.to_string(), format!("{double:e}")),
    };
    if scientific.len() < plain.len() { scientific } else { plain }
}

/// Returns the value, if its operation allows it.
pub(super) fn checked(op: &Op, mut value: Value) -> Result<Value, String> {
    /// Size in bytes of a vector of the most components, and a word to end with.
    const ROOM: usize = 4 * crate::stream::MAX_DIMENSIONS + 8;
    let length = match (op, &value) {
        (Op::String { max_len }, Value::Text(text)) => Some((text.len(), *max_len)),
        (Op::WideString { max_len }, Value::Text(text)) => {
            Some((text.encode_utf16().count(), *max_len))
        }
        (Op::Blob { max_len }, Value::Bytes(bytes)) => Some((bytes.len(), *max_len)),
        (Op::Bytes { len } | Op::Pod { size: len }, Value::Bytes(bytes)) => {
            match bytes.len() == *len {
                true => Some((0, 0)),
                false => return Err(format!("{len} bytes are needed, not {}", bytes.len())),
            }
        }
        _ => None,
    };
    match length {
        Some((length, most)) if length > most => {
            return Err(format!("{length} are more than the {most} of `{op}`"));
        }
        Some(_) => return Ok(value),
        None => {}
    }
    // Checked here, since these numbers are mistakes of a person or a file; a writer would clamp
    // them to the range.
    if let (Op::CompressedFloat(range) | Op::CompressedVector { range, .. }, false) =
        (op, in_range(op, &value))
    {
        return Err(format!("{value} is not in {}..={}", range.min(), range.max()));
    }
    let mut buffer = [0; ROOM];
    let mut stream = WriteStream::new(&mut buffer);
    match run_op(&mut stream, op, &mut value) {
        Ok(()) => match stream.failure() {
            None => Ok(value),
            Some((kind, _)) => Err(format!("{value} is no value of `{op}`: {kind}")),
        },
        Err(RunError::Mismatch(needed)) => Err(format!("{needed} is needed for `{op}`")),
        Err(RunError::Stream(never)) => match never {},
        Err(RunError::NoContext) => Err(format!("`{op}` depends on what only the program knows")),
    }
}

fn in_range(op: &Op, value: &Value) -> bool {
    let within = |range: &FloatRange, number: f32| {
        // The top of the range may be a rounding error above the declared maximum.
        let top = range.max().max(range.dequantise(range.max_code()));
        (range.min()..=top).contains(&number)
    };
    match (op, value) {
        (Op::CompressedFloat(range), Value::Number(Number::Float(number))) => {
            within(range, *number)
        }
        (Op::CompressedVector { range, .. }, Value::Vector(components)) => {
            components.iter().all(|number| within(range, *number))
        }
        _ => true,
    }
}

/// Escapes text to one line that XML can hold, with a backslash before `special`.
pub(super) fn escape(text: &str, special: char, out: &mut String) {
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\u{fffe}' | '\u{ffff}' => push_code(character, out),
            _ if character.is_control() => push_code(character, out),
            _ => {
                if character == special {
                    out.push('\\');
                }
                out.push(character);
            }
        }
    }
}

fn push_code(character: char, out: &mut String) {
    let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
}

/// Reverses [`escape`].
pub(super) fn unescape(text: &str, special: char) -> Result<String, String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('\\') {
        plain.push_str(&rest[..place]);
        let escaped = &rest[place + 1..];
        let mut characters = escaped.chars();
        rest = match characters.next() {
            Some(character) if character == '\\' || character == special => {
                plain.push(character);
                characters.as_str()
            }
            Some('u') => {
                let code = escaped.strip_prefix("u{").and_then(|code| code.split_once('}'));
                let character = code.and_then(|(digits, rest)| {
                    let code = u32::from_str_radix(digits, 16).ok()?;
                    Some((char::from_u32(code).filter(|_| !digits.starts_with('+'))?, rest))
                });
                let Some((character, rest)) = character else {
                    return Err(format!("{} is no escaped character", shown(&rest[place..])));
                };
                plain.push(character);
                rest
            }
            _ => return Err(format!("{} is no escaped character", shown(&rest[place..]))),
        };
    }
    plain.push_str(rest);
    Ok(plain)
}
