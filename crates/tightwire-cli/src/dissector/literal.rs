//! Lua literals.

use std::fmt::Write as _;

use tightwire::stream::Number;

/// Returns a string literal. Names come from a file: no character may end the string or the line.
pub(super) fn text(text: &str) -> String {
    let mut literal = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => {
                literal.push('\\');
                literal.push(char);
            }
            // Line separators that only some editors know are escaped too.
            char if char.is_control() || matches!(char, '\u{2028}' | '\u{2029}') => {
                let mut buffer = [0; 4];
                for byte in char.encode_utf8(&mut buffer).bytes() {
                    let _ = write!(literal, "\\{byte:03}");
                }
            }
            char => literal.push(char),
        }
    }
    literal.push('"');
    literal
}

/// Returns a string literal of bytes.
pub(super) fn bytes(bytes: &[u8]) -> String {
    let escaped: String = bytes.iter().map(|byte| format!("\\{byte:03}")).collect();
    format!("\"{escaped}\"")
}

/// Returns a number literal; a table of limbs of 24 bits if a double does not hold the number.
pub(super) fn number(number: Number) -> String {
    match number {
        Number::Unsigned(number) => integer(false, number),
        Number::Signed(number) => integer(number < 0, number.unsigned_abs()),
        // A double holds every float, and `{:?}` prints enough digits to read the same value back.
        Number::Float(number) => format!("{:?}", f64::from(number)),
        Number::Double(number) => format!("{number:?}"),
        _ => String::from("0"),
    }
}

fn integer(negative: bool, magnitude: u128) -> String {
    if is_double(magnitude) {
        return format!("{}{magnitude}", if negative { "-" } else { "" });
    }
    let limbs = (0..6).map(|place| (magnitude >> (24 * place) & 0xff_ffff).to_string());
    let limbs: Vec<_> = limbs.collect();
    format!("{{ {}, negative = {negative} }}", limbs.join(", "))
}

/// Returns whether a double holds every integer up to `magnitude`.
pub(super) fn is_double(magnitude: u128) -> bool {
    magnitude <= 1 << 53
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_stay_strings() {
        assert_eq!(text("a\"\\\n\u{2028}ß"), r#""a\"\\\010\226\128\168ß""#);
        assert_eq!(bytes(&[0, 255]), r#""\000\255""#);
    }

    #[test]
    fn numbers_that_a_double_does_not_hold_are_limbs() {
        assert_eq!(number(Number::Unsigned(1 << 53)), "9007199254740992");
        assert_eq!(number(Number::Signed(-7)), "-7");
        let limbs = "{ 1, 0, 32, 0, 0, 0, negative = true }";
        assert_eq!(number(Number::Signed(-(1 << 53) - 1)), limbs);
        assert_eq!(number(Number::Float(0.1)), "0.10000000149011612");
    }
}
