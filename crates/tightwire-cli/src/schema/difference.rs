//! Differences between two schemas.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use tightwire::schema::Difference;

use crate::source::Source;
use crate::terminal::{Colour, Terminal, counted, safe};

/// All differences between two files.
pub(super) struct Differences {
    list: Vec<Difference>,
}

impl Differences {
    pub(super) fn between(here: &Source, there: &Source) -> Self {
        let layout = here.schema().diff(there.schema());
        let (Source::Identity(here), Source::Identity(there)) = (here, there) else {
            return Self { list: layout.iter().cloned().collect() };
        };
        // Differences that change the protocol come first; they include those of the layout.
        let mismatch = here.mismatch(there);
        let mut list: Vec<_> =
            mismatch.iter().flat_map(|mismatch| mismatch.iter()).cloned().collect();
        list.extend(layout.iter().filter(|difference| !difference.changes_bytes()).cloned());
        Self { list }
    }

    pub(super) fn change_bytes(&self) -> bool {
        self.list.iter().any(|difference| difference.changes_bytes())
    }

    pub(super) fn text(&self, [here, there]: [&Path; 2], terminal: Terminal) -> String {
        let mut text = format!("here:  {}\nthere: {}\n\n", here.display(), there.display());
        for difference in &self.list {
            let colour = if difference.changes_bytes() { Colour::Red } else { Colour::Dim };
            let path = terminal.paint(colour, &safe(&difference.path));
            let _ = writeln!(text, "  {path}: {}", safe(&difference.in_words()));
        }
        let changes = self.list.iter().filter(|difference| difference.changes_bytes()).count();
        let names = self.list.len() - changes;
        text += match (changes, names) {
            (0, 0) => "The same, names and all.".to_owned(),
            (0, _) => "\nOnly names differ: the bytes are the same.".to_owned(),
            (changes, 0) => {
                format!("\nThe bytes are not the same: {}.", counted(changes as u64, "difference"))
            }
            (changes, names) => format!(
                "\nThe bytes are not the same: {}, and {} of names only.",
                counted(changes as u64, "difference"),
                counted(names as u64, "difference"),
            ),
        }
        .as_str();
        text + "\n"
    }

    pub(super) fn json(&self) -> String {
        let difference = |difference: &Difference| {
            json!({
                "path": difference.path,
                "what": difference.in_words(),
                "here": difference.here,
                "there": difference.there,
                "changes_bytes": difference.changes_bytes(),
            })
        };
        let list: Vec<_> = self.list.iter().map(difference).collect();
        format!("{:#}\n", json!({"changes_bytes": self.change_bytes(), "differences": list}))
    }
}
