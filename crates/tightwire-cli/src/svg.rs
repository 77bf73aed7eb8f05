//! Bar plots as SVG.

use std::fmt::Write as _;

/// One bar of a plot.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) value: f64,
    /// Text behind the bar, usually the value with its unit.
    pub(crate) text: String,
    /// Whether the bar is one of Tightwire's, not of a comparison.
    pub(crate) is_ours: bool,
}

/// Height of a bar with the space below it; `TOP` is where the first bar begins.
const STEP: usize = 34;
const TOP: usize = 52;

/// Width of the picture; `LETTER` is that of the widest letter, since text cannot be measured
/// without its font.
const WIDTH: f64 = 760.0;
const LETTER: f64 = 8.4;

/// Draws bars below each other under a title, as a whole SVG file.
pub(crate) fn bar_plot(title: &str, bars: &[Bar]) -> String {
    let most = bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let height = TOP + 12 + bars.len() * STEP;
    let widest = |text: fn(&Bar) -> &str| {
        bars.iter().map(|bar| text(bar).chars().count()).max().unwrap_or(0) as f64 * LETTER
    };
    // Labels end where bars begin, and the longest bar leaves room for its text.
    let labels = (16.0 + widest(|bar| &bar.label)).min(WIDTH / 2.0);
    let longest = (WIDTH - labels - 30.0 - widest(|bar| &bar.text)).max(100.0);
    let title = escaped(title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 {height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"14\">\n\
         <title>{title}</title>\n\
         <rect width=\"760\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"16\" y=\"30\" font-size=\"17\" fill=\"#222\">{title}</text>\n",
    );
    for (place, bar) in bars.iter().enumerate() {
        let y = TOP + place * STEP;
        let width = (bar.value / most * longest).clamp(1.0, longest);
        let colour = if bar.is_ours { "#1f7a5c" } else { "#b8bfc6" };
        let (label, text) = (escaped(&bar.label), escaped(&bar.text));
        let _ = write!(
            svg,
            "<text x=\"{labels:.1}\" y=\"{}\" text-anchor=\"end\" fill=\"#222\">{label}</text>\n\
             <rect x=\"{:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"22\" fill=\"{colour}\"/>\n\
             <text x=\"{:.1}\" y=\"{}\" fill=\"#222\">{text}</text>\n",
            y + 16,
            labels + 8.0,
            labels + 14.0 + width,
            y + 16,
        );
    }
    svg + "</svg>\n"
}

/// Escapes text for XML, so that it cannot become markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Most control characters are not allowed in XML, escaped or not.
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_stays_text() {
        let bar = Bar { label: "<script>\0".into(), value: 7.0, text: "\"&".into(), is_ours: true };
        let svg = bar_plot("a < b", &[bar]);
        assert!(svg.contains(">&lt;script&gt;\u{fffd}</text>") && svg.contains(">&quot;&amp;<"));
        assert!(!svg.contains("<script>") && svg.contains("a &lt; b"));
    }

    #[test]
    fn bars_are_in_proportion() {
        let bar = |value| Bar { label: String::new(), value, text: String::new(), is_ours: false };
        let svg = bar_plot("", &[bar(10.0), bar(5.0), bar(0.0)]);
        let widths: Vec<_> = svg
            .split("width=\"")
            .skip(2)
            .filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok())
            .collect();
        assert_eq!((widths[0], widths[2]), (2.0 * widths[1], 1.0));
    }

    #[test]
    fn the_label_behind_the_longest_bar_fits_the_picture() {
        let text = "1,234,567 (100.0%)".to_owned();
        let bar = Bar { label: "delta, entropy-coded".into(), value: 1.0, text, is_ours: false };
        let svg = bar_plot("", &[bar]);
        let last = svg.rsplit("<text x=\"").next().unwrap();
        let start: f64 = last.split('"').next().unwrap().parse().unwrap();
        assert!(start + 18.0 * LETTER <= WIDTH, "{start}");
    }
}
