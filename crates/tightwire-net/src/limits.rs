//! Limits that are invalid, alone or beside other limits.

use core::cmp::Ordering;
use core::fmt;
use core::time::Duration;

/// A limit that is invalid, with the bound that it breaks, and the rule that sets the bound.
///
/// ```
/// use tightwire::{Message, Wire};
/// use tightwire::message::MessengerConfig;
/// use tightwire::{Client, SessionConfig};
/// use tightwire::transport::InProcess;
///
/// #[derive(Wire, Message, Default)]
/// struct Jump;
///
/// let messenger = MessengerConfig { batch_messages: 300, ..MessengerConfig::default() };
/// let config = SessionConfig { messenger, ..SessionConfig::new("arena", "1.0") };
/// let client = Client::<(), _>::builder(config).send_only::<Jump>().build(InProcess::pair().0);
/// assert_eq!(
///     client.unwrap_err().to_string(),
///     "`peer_messages` is 512, but must be at least 600 (twice `batch_messages`)"
/// );
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct LimitError {
    /// The name of the limit.
    pub limit: &'static str,
    /// Value of the limit.
    pub value: LimitValue,
    /// Rule that sets the bound, with the name of the other limit; empty if the bound is fixed.
    pub rule: &'static str,
    /// The bound that the value breaks.
    pub bound: LimitBound,
}

/// The value of a limit.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
#[non_exhaustive]
pub enum LimitValue {
    /// A number of things, or of bytes where the limit says so.
    Number(usize),
    /// The length of a text or token, in bytes.
    Bytes(usize),
    /// A time.
    Time(Duration),
    /// A distance, a share or another number that need not be whole.
    Decimal(f64),
}

/// The bound of a limit.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum LimitBound {
    /// The limit must be at least this.
    AtLeast(LimitValue),
    /// The limit must be at most this.
    AtMost(LimitValue),
    /// The limit must be less than this.
    Below(LimitValue),
}

/// Refuses a limit that is less than `least`, which `rule` needs, or not a number.
pub(crate) fn at_least<V: Into<LimitValue> + PartialOrd>(
    limit: &'static str,
    value: V,
    rule: &'static str,
    least: V,
) -> Result<(), LimitError> {
    match value.partial_cmp(&least) {
        Some(Ordering::Greater | Ordering::Equal) => Ok(()),
        _ => Err(LimitError::new(limit, value, rule, LimitBound::AtLeast(least.into()))),
    }
}

/// Refuses a limit that is more than `most`, which `rule` sets, or not a number.
pub(crate) fn at_most<V: Into<LimitValue> + PartialOrd>(
    limit: &'static str,
    value: V,
    rule: &'static str,
    most: V,
) -> Result<(), LimitError> {
    match value.partial_cmp(&most) {
        Some(Ordering::Less | Ordering::Equal) => Ok(()),
        _ => Err(LimitError::new(limit, value, rule, LimitBound::AtMost(most.into()))),
    }
}

/// Refuses a time that is not less than the limit `other`.
#[cfg(feature = "quic")]
pub(crate) fn below(
    limit: &'static str,
    value: Duration,
    rule: &'static str,
    bound: Duration,
) -> Result<(), LimitError> {
    match value >= bound {
        true => Err(LimitError::new(limit, value, rule, LimitBound::Below(bound.into()))),
        false => Ok(()),
    }
}

/// Refuses a text or token of more than `most` bytes.
pub(crate) fn at_most_bytes(
    limit: &'static str,
    length: usize,
    most: usize,
) -> Result<(), LimitError> {
    at_most(limit, LimitValue::Bytes(length), "", LimitValue::Bytes(most))
}

impl LimitError {
    fn new(
        limit: &'static str,
        value: impl Into<LimitValue>,
        rule: &'static str,
        bound: LimitBound,
    ) -> Self {
        Self { limit, value: value.into(), rule, bound }
    }
}

impl From<usize> for LimitValue {
    fn from(number: usize) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for LimitValue {
    fn from(number: u32) -> Self {
        Self::Number(number as usize)
    }
}

impl From<Duration> for LimitValue {
    fn from(time: Duration) -> Self {
        Self::Time(time)
    }
}

impl From<f64> for LimitValue {
    fn from(number: f64) -> Self {
        Self::Decimal(number)
    }
}

/// The decimal number as a configuration says it: 0.001 and not 0.0010000000474974513.
impl From<f32> for LimitValue {
    fn from(number: f32) -> Self {
        Self::Decimal(number.to_string().parse().unwrap_or(number.into()))
    }
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, value, rule, bound } = self;
        let (relation, bound) = match bound {
            LimitBound::AtLeast(least) => ("at least", least),
            LimitBound::AtMost(most) => ("at most", most),
            LimitBound::Below(bound) => ("less than", bound),
        };
        write!(f, "`{limit}` is {value}, but must be {relation} {bound}")?;
        if rule.is_empty() { Ok(()) } else { write!(f, " ({rule})") }
    }
}

impl fmt::Display for LimitValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Bytes(bytes) => write!(f, "{bytes} bytes"),
            Self::Time(time) => write!(f, "{time:?}"),
            Self::Decimal(number) => number.fmt(f),
        }
    }
}

impl core::error::Error for LimitError {}

/// Whether a documentation says this default, behind the word: a number as it is, with its unit; a
/// variant by its name; a configuration by its type, and everything else in any words.
#[cfg(test)]
fn is_default(field: &str, value: &str, said: &str) -> bool {
    let said = said.replace(['`', '[', ']'], "");
    let mut words = said.split_whitespace();
    let Some(first) = words.next() else { return false };
    if field == "unix_start" || field == "seed" && value != "None" {
        return true;
    }
    if let Some((type_name, _)) = value.split_once(" {") {
        let mut words = said
            .lines()
            .next()
            .into_iter()
            .flat_map(|line| line.split(|c: char| !c.is_alphanumeric()));
        return words.any(|word| word == type_name);
    }
    if value.contains(['(', '[', '"']) {
        return true;
    }
    let mut first = first.replace(',', "");
    let unit = words.next().map(|unit| unit.trim_end_matches(['.', ';', ':', ',']));
    if let (Some(unit @ ("s" | "ms" | "us")), true) =
        (unit, first.ends_with(|last: char| last.is_ascii_digit()))
    {
        first.push_str(unit);
    }
    let first = first.trim_end_matches(['.', ';', ':']);
    let (_, name) = first.rsplit_once("::").unwrap_or(("", first));
    match value {
        "0ns" => name.trim_end_matches(char::is_alphabetic) == "0",
        _ => name == value,
    }
}

/// Checks that the documentation of each field of a configuration says its default.
#[cfg(test)]
pub(crate) fn check_documented(source: &str, config: &impl fmt::Debug) {
    let shown = format!("{config:#?}");
    let (name, _) = shown.split_once(" {").unwrap_or_default();
    let (_, source) = source.split_once(&format!("pub struct {name} {{")).unwrap_or_default();
    let fields = shown.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(": "));
    let mut count = 0;
    for (field, value) in fields.filter(|(field, _)| !field.starts_with(' ')) {
        let (before, _) = source.split_once(&format!("    pub {field}:")).unwrap_or_default();
        let doc = before.rsplit_once("\n    pub ").map_or(before, |(_, doc)| doc);
        let (_, said) = doc.split_once("Default: ").unwrap_or_default();
        let value = value.trim_end_matches(',');
        assert!(is_default(field, value, said), "{name}::{field} is {value}: {doc}");
        count += 1;
    }
    assert!(count > 1, "{shown}");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tightwire_snapshot as snapshot;

    use super::*;
    use crate::link::LinkConfig;
    use crate::play::{ObjectConfig, TimeConfig};

    #[test]
    fn every_config_field_documents_its_default() {
        check_documented(include_str!("link.rs"), &LinkConfig::default());
        check_documented(include_str!("play/game.rs"), &ObjectConfig::default());
        check_documented(include_str!("play/time/config.rs"), &TimeConfig::default());
        let text = include_str!("../../tightwire-snapshot/src/config.rs");
        check_documented(text, &snapshot::Config::default());
        let text = include_str!("../../tightwire-snapshot/src/playback.rs");
        check_documented(text, &snapshot::PlaybackConfig::default());
        let text = include_str!("../../tightwire-snapshot/src/relevancy/scope.rs");
        check_documented(text, &snapshot::RelevancyConfig::default());
    }

    #[test]
    fn a_documented_default_is_the_whole_value() {
        let told = |value, said| is_default("field", value, said);
        for (value, said) in [
            ("1024", "1,024."),
            ("8.0", "8.0."),
            ("500ms", "500 ms."),
            ("120s", "120 s; with 0, a\n    /// lost connection is the end."),
            ("None", "`None`: only objects"),
            ("Despawn", "[`Leaving::Despawn`]."),
            ("Config {", "[`Config::default`](snapshot::Config::default), with room"),
            ("0ns", "0 s."),
        ] {
            assert!(told(value, said), "{value}: {said}");
        }
        for (value, said) in [
            ("10", "1,024."),
            ("8.0", "8."),
            ("500ms", "500 s."),
            ("5s", "5 ms."),
            ("Despawn", "[`Leaving::Freeze`]."),
            ("Config {", "[`TimeConfig`]."),
            ("true", "false."),
            ("Bits", ""),
        ] {
            assert!(!told(value, said), "{value}: {said}");
        }
    }

    #[test]
    fn a_refused_limit_has_both_numbers() {
        let said = |error: Result<(), LimitError>| error.unwrap_err().to_string();
        assert_eq!(said(at_least("a", 1usize, "", 2)), "`a` is 1, but must be at least 2");
        assert_eq!(said(at_most("a", 3usize, "b", 2)), "`a` is 3, but must be at most 2 (b)");
        assert_eq!(
            said(at_most_bytes("name", 300, 255)),
            "`name` is 300 bytes, but must be at most 255 bytes"
        );
        assert_eq!((at_least("a", 2usize, "", 2), at_most("a", 2usize, "", 2)), (Ok(()), Ok(())));
        assert_eq!(
            said(at_least("a", -1.0f32, "", 0.001)),
            "`a` is -1, but must be at least 0.001"
        );
        assert_eq!(said(at_most("a", f64::NAN, "", 1.0)), "`a` is NaN, but must be at most 1");
    }
}
