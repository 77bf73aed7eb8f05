//! Bytes as hexadecimal digits: keys, tokens and fingerprints as people and JSON carry them.

use core::fmt;

/// Error for a text that is not the expected hexadecimal digits: another length, or a character
/// that is no digit.
///
/// The error does not repeat the text, which may be a secret.
///
/// ```
/// use tightwire::quic::Fingerprint;
///
/// let refused = "12 34".parse::<Fingerprint>().err();
/// let text = refused.map(|refused| refused.to_string());
/// assert_eq!(text.as_deref(), Some("character 3 is not a hexadecimal digit: a fingerprint is 64 of them"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HexError {
    /// Name of the expected value, as "a fingerprint".
    value_name: &'static str,
    kind: HexErrorKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HexErrorKind {
    /// Position of the first character that is no digit, from 1.
    Digit {
        position: usize,
        expected: Expected,
    },
    Length {
        digits: usize,
        expected: Expected,
    },
}

impl HexError {
    /// Returns the error for a text with a colon between each two digits, whose positions are
    /// larger.
    pub(crate) fn between_colons(mut self) -> Self {
        if let HexErrorKind::Digit { position, .. } = &mut self.kind {
            *position += (*position - 1) / 2;
        }
        self
    }
}

/// Expected number of digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expected {
    Exactly(usize),
    AtMost(usize),
}

/// Writes two digits for each byte, in lower case.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Decodes a text of exactly `2 * N` digits, of either case.
pub(crate) fn exactly<const N: usize>(
    text: &str,
    value_name: &'static str,
) -> Result<[u8; N], HexError> {
    let mut bytes = [0; N];
    let expected = Expected::Exactly(2 * N);
    let length = decode(text, &mut bytes, value_name, expected)?;
    if length == N { Ok(bytes) } else { Err(wrong_length(text, value_name, expected)) }
}

/// Decodes a text of at most `bytes.len()` bytes, and returns their number.
pub(crate) fn at_most(
    text: &str,
    bytes: &mut [u8],
    value_name: &'static str,
) -> Result<usize, HexError> {
    let expected = Expected::AtMost(2 * bytes.len());
    decode(text, bytes, value_name, expected)
}

fn decode(
    text: &str,
    bytes: &mut [u8],
    value_name: &'static str,
    expected: Expected,
) -> Result<usize, HexError> {
    if let Some(position) = text.chars().position(|digit| !digit.is_ascii_hexdigit()) {
        let kind = HexErrorKind::Digit { position: position + 1, expected };
        return Err(HexError { value_name, kind });
    }
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() || pairs.len() > bytes.len() {
        return Err(wrong_length(text, value_name, expected));
    }
    for ([high, low], byte) in pairs.iter().zip(bytes) {
        *byte = value(*high) << 4 | value(*low);
    }
    Ok(pairs.len())
}

/// Returns the value of a hexadecimal digit.
fn value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20).wrapping_sub(b'a' - 10),
    }
}

fn wrong_length(text: &str, value_name: &'static str, expected: Expected) -> HexError {
    HexError { value_name, kind: HexErrorKind::Length { digits: text.len(), expected } }
}

impl fmt::Display for HexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value_name, kind } = self;
        match kind {
            HexErrorKind::Digit { position, expected } => {
                write!(
                    f,
                    "character {position} is not a hexadecimal digit: a {value_name} is {expected}"
                )
            }
            HexErrorKind::Length { digits, expected } => {
                write!(f, "{digits} hexadecimal digits: a {value_name} is {expected}")
            }
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(digits) => write!(f, "{digits} of them"),
            Self::AtMost(digits) => write!(f, "an even number of them, at most {digits}"),
        }
    }
}

impl core::error::Error for HexError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trips_in_either_case() {
        let bytes: [u8; 256] = core::array::from_fn(|byte| byte as u8);
        let text = Hex(&bytes).to_string();
        assert_eq!(exactly(&text, "test"), Ok(bytes));
        assert_eq!(exactly(&text.to_uppercase(), "test"), Ok(bytes));
    }

    #[test]
    fn invalid_text_is_refused_with_its_fault() {
        let text = |text| exactly::<2>(text, "test").map_err(|refused| refused.to_string());
        assert_eq!(text("12"), Err("2 hexadecimal digits: a test is 4 of them".into()));
        assert_eq!(text("123"), Err("3 hexadecimal digits: a test is 4 of them".into()));
        assert_eq!(text("123456"), Err("6 hexadecimal digits: a test is 4 of them".into()));
        let digit = "character 2 is not a hexadecimal digit: a test is 4 of them";
        for bad in ["1g34", "1:34", "1é4", "1/34", "1@34", "1`34"] {
            assert_eq!(text(bad), Err(digit.into()), "{bad}");
        }
    }
}
