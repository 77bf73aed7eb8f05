//! Capabilities of the terminal, bars made of letters, and text that is safe to print.

use std::env;
use std::io::{self, IsTerminal};

/// Width and colours of an output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    width: usize,
    is_coloured: bool,
}

/// Colours that are readable on light and on dark backgrounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Colour {
    Dim,
    Bold,
    Red,
    Green,
    Blue,
    Cyan,
}

/// Width of an output without a known one, in columns.
const WIDTH: usize = 100;

impl Terminal {
    /// Returns the capabilities of standard output. `COLUMNS` is the width where the terminal does
    /// not report one. Colours are off without a terminal, and with `NO_COLOR`:
    /// <https://no-color.org>.
    pub(crate) fn of_stdout() -> Self {
        let is_unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let asked = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let is_terminal = io::stdout().is_terminal();
        let seen = terminal_size::terminal_size().filter(|_| is_terminal);
        let width = seen.map(|(width, _)| usize::from(width.0)).or(asked).unwrap_or(WIDTH);
        Self { width: width.clamp(40, 400), is_coloured: is_terminal && !is_unwanted }
    }

    /// Returns the width of a line, in letters.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Returns whether colours are supported and wanted.
    pub(crate) fn is_coloured(&self) -> bool {
        self.is_coloured
    }

    /// Paints the text in a colour, where colours are on.
    pub(crate) fn paint(&self, colour: Colour, text: &str) -> String {
        if !self.is_coloured || text.is_empty() {
            return text.to_owned();
        }
        let code = match colour {
            Colour::Dim => 2,
            Colour::Bold => 1,
            Colour::Red => 31,
            Colour::Green => 32,
            Colour::Blue => 34,
            Colour::Cyan => 36,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Draws a bar of up to `width` letters, in steps of an eighth of one. A share above zero is always
/// visible.
pub(crate) fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let least = usize::from(share > 0.0 && width > 0);
    let eighths = ((share * width as f64 * 8.0).round() as usize).max(least);
    let mut bar = "█".repeat(eighths / 8);
    bar += EIGHTHS[eighths % 8];
    bar
}

/// Formats a number with separated thousands, as `12,345`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number of things, as `1 bit` or `2 bits`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// Escapes characters that a terminal could take for a command, and those that change the order of
/// letters. For text from files and peers.
pub(crate) fn safe(text: &str) -> String {
    let is_unsafe = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_unsafe(letter) {
            safe.extend(letter.escape_unicode());
        } else {
            safe.push(letter);
        }
    }
    safe
}

/// Cuts a text to at most `width` letters, with a mark where it was cut.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Wraps words into lines of at most `width` letters, indented by `indent`.
pub(crate) fn wrapped(words: &str, indent: usize, width: usize) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in words.split(' ') {
        let letters = word.chars().count();
        if column > 0 && column + 1 + letters <= width {
            text.push(' ');
            column += 1 + letters;
        } else {
            let is_first = text.is_empty();
            text += if is_first { "" } else { "\n" };
            text += &" ".repeat(indent);
            column = indent + letters;
        }
        text.push_str(word);
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_by_eighths_and_are_never_too_long() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(0.0001, 3), "▏");
        assert_eq!(bar(0.0, 3), "");
        assert_eq!(bar(7.0, 3), "███");
        assert_eq!(bar(f64::NAN, 3), "");
        assert_eq!(bar(1.0, 0), "");
    }

    #[test]
    fn numbers_are_for_people() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(counted(1, "bit"), "1 bit");
        assert_eq!(counted(2000, "bit"), "2,000 bits");
    }

    #[test]
    fn nothing_from_outside_commands_the_terminal() {
        assert_eq!(safe("a\x1b[31m\u{202e}b\n"), "a\\u{1b}[31m\\u{202e}b\\u{a}");
        assert_eq!(safe("Größe"), "Größe");
    }

    #[test]
    fn long_text_is_cut_at_letters() {
        assert_eq!(cut("Größe", 5), "Größe");
        assert_eq!(cut("Größen", 5), "Größ…");
    }

    #[test]
    fn words_are_wrapped_and_long_ones_kept() {
        assert_eq!(wrapped("a bc def", 2, 6), "  a bc\n  def\n");
        assert_eq!(wrapped("abcdefghi j", 1, 4), " abcdefghi\n j\n");
    }

    #[test]
    fn colours_are_left_out_where_nobody_sees_them() {
        let mut terminal = Terminal { width: 80, is_coloured: false };
        assert_eq!(terminal.paint(Colour::Red, "no"), "no");
        terminal.is_coloured = true;
        assert_eq!(terminal.paint(Colour::Red, "no"), "\x1b[31mno\x1b[0m");
    }
}
