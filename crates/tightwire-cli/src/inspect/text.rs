//! Formatting of the views: colours, sparklines, units and shortened paths.

use std::io::{self, IsTerminal};

use crate::terminal::Terminal;

/// Colours and width of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Paint {
    pub(crate) colored: bool,
    /// Columns of the terminal; `None` elsewhere, where no line is cut.
    pub(crate) columns: Option<usize>,
}

/// Width of a view without a terminal, in columns.
const COLUMNS: usize = 100;

impl Paint {
    pub(crate) const PLAIN: Self = Self { colored: false, columns: None };

    /// Returns the colours and width of standard output.
    pub(crate) fn for_stdout() -> Self {
        let terminal = Terminal::of_stdout();
        Self {
            colored: terminal.is_coloured(),
            columns: io::stdout().is_terminal().then(|| terminal.width()),
        }
    }

    /// Returns the same width without colours.
    pub(crate) fn plain(self) -> Self {
        Self { colored: false, ..self }
    }

    /// Returns the columns of the whole view.
    pub(crate) fn width(self) -> usize {
        self.columns.unwrap_or(COLUMNS).max(40)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.styled("2", text)
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.styled("1", text)
    }

    pub(crate) fn refused(self, text: &str) -> String {
        self.styled("1;31", text)
    }

    /// Paints a text in the colour with this number.
    pub(crate) fn numbered(self, number: usize, text: &str) -> String {
        const COLORS: [&str; 5] = ["36", "33", "32", "35", "94"];
        self.styled(COLORS[number % COLORS.len()], text)
    }

    fn styled(self, code: &str, text: &str) -> String {
        match self.colored {
            true if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.into(),
        }
    }
}

/// Draws heights as a line of block characters.
pub(crate) fn sparkline(heights: &[u64], width: usize) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let columns = width.min(heights.len());
    if columns == 0 {
        return String::new();
    }
    let column = |at: usize| {
        let from = at * heights.len() / columns;
        let to = ((at + 1) * heights.len() / columns).max(from + 1);
        heights[from..to].iter().sum::<u64>() as f64 / (to - from) as f64
    };
    let columns: Vec<f64> = (0..columns).map(column).collect();
    let most = columns.iter().copied().fold(0.0, f64::max);
    let level = |height: &f64| match most {
        0.0 => LEVELS[0],
        most => LEVELS[((height / most * 7.0).round() as usize).min(7)],
    };
    columns.iter().map(level).collect()
}

/// Formats bytes with a unit.
pub(crate) fn bytes(bytes: f64) -> String {
    for (unit, size) in [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] {
        if bytes >= size {
            return format!("{:.*} {unit}", usize::from(bytes < 100.0 * size), bytes / size);
        }
    }
    format!("{bytes:.0} B")
}

/// Formats seconds with a unit.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        ..0.0995 => format!("{:.1} ms", seconds * 1e3),
        ..120.0 => format!("{seconds:.1} s"),
        ..7200.0 => format!("{:.1} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Cuts a path to its last `most` characters.
pub(crate) fn shortened_path(path: &str, most: usize) -> String {
    let length = path.chars().count();
    match length <= most {
        true => path.into(),
        false => ['…'].into_iter().chain(path.chars().skip(length + 1 - most)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        let sizes = [0.0, 999.0, 1000.0, 123_456.0, 1.5e9].map(bytes);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "123 kB", "1.5 GB"]);
        let times = [0.0166, 1.0, 600.0, 36_000.0].map(duration);
        assert_eq!(times, ["16.6 ms", "1.0 s", "10.0 min", "10.0 h"]);
    }

    #[test]
    fn heights_are_relative_to_the_highest() {
        assert_eq!(sparkline(&[0, 7, 14], 9), "▁▅█");
        assert_eq!(sparkline(&[0; 100], 4), "▁▁▁▁");
    }

    #[test]
    fn long_paths_lose_their_beginning() {
        assert_eq!(shortened_path("World.players[].health", 10), "…[].health");
        assert_eq!(shortened_path("health", 10), "health");
    }
}
