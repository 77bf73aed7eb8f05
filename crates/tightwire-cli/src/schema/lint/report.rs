//! Advice as text and JSON.

use std::fmt::Write as _;

use serde_json::json;

use super::statistics::FieldStatistics;
use super::{Advice, Saving};
use crate::terminal::{Colour, Terminal, counted, thousands, wrapped};

pub(crate) fn text(
    advice: &[Advice],
    seen: Option<&FieldStatistics>,
    terminal: Terminal,
) -> String {
    let mut text = String::new();
    if let Some(seen) = seen {
        let all = counted(seen.packets + seen.refused, "packet");
        let _ = match seen.refused {
            0 => writeln!(text, "The capture has {all}.\n"),
            _ => writeln!(
                text,
                "The capture has {all}, of which {} are of its schema.\n",
                thousands(seen.packets)
            ),
        };
    }
    for piece in advice {
        let saves = terminal.paint(Colour::Green, &saving(piece));
        let path = terminal.paint(Colour::Bold, &piece.path);
        let _ = writeln!(text, "{path}: {saves}");
        text += &wrapped(&piece.what, 4, terminal.width());
    }
    match advice.len() {
        0 => text += "Nothing to advise on.\n",
        count => {
            // The sum has only savings that every packet gets: variants, fields with a condition
            // and list elements are not in every packet.
            let is_in_all = |piece: &&Advice| piece.is_always_sent && !piece.is_in_list;
            let always = advice.iter().filter(is_in_all).map(|piece| match piece.saves {
                Saving::Always(bits) => bits.saturating_mul(piece.times),
                Saving::UpTo(_) | Saving::OnAverage(_) => 0,
            });
            let bits = always.fold(0, u64::saturating_add);
            let pieces =
                if count == 1 { "One piece".to_owned() } else { format!("{count} pieces") };
            let _ = write!(text, "\n{pieces} of advice");
            if bits > 0 {
                let _ = write!(text, "; guaranteed savings per packet: {}", counted(bits, "bit"));
            }
            text += ".\n";
        }
    }
    text
}

fn saving(advice: &Advice) -> String {
    let mut text = match advice.saves {
        Saving::Always(bits) => format!("saves {}", counted(bits, "bit")),
        Saving::UpTo(bits) => format!("saves up to {}", counted(bits, "bit")),
        Saving::OnAverage(bits) => format!("saves {bits:.1} bits on average"),
    };
    if advice.times > 1 {
        let _ = write!(text, ", {} times", thousands(advice.times));
    }
    if advice.is_in_list {
        text += ", for each element";
    }
    text
}

pub(crate) fn json(advice: &[Advice]) -> String {
    let piece = |piece: &Advice| {
        let (bits, when) = match piece.saves {
            Saving::Always(bits) => (bits as f64, "always"),
            Saving::UpTo(bits) => (bits as f64, "up_to"),
            Saving::OnAverage(bits) => (bits, "on_average"),
        };
        json!({
            "path": piece.path,
            "rule": piece.rule,
            "what": piece.what,
            "saves_bits": bits,
            "saves": when,
            "times": piece.times,
            "for_each_element": piece.is_in_list,
            "in_every_packet": piece.is_always_sent && !piece.is_in_list,
        })
    };
    format!("{:#}\n", json!({"advice": advice.iter().map(piece).collect::<Vec<_>>()}))
}
