//! Limits that are too small, alone or beside other limits.

use core::fmt;

/// A limit that is too small, with its minimum, and the limit that the minimum follows from.
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
/// let messenger = MessengerConfig { batch_messages: 1000, ..MessengerConfig::default() };
/// let config = SessionConfig { messenger, ..SessionConfig::new("arena", "1.0") };
/// let client = Client::<(), _>::builder(config).send_only::<Jump>().build(InProcess::pair().0);
/// assert_eq!(
///     client.unwrap_err().to_string(),
///     "`peer_messages` is 512, but must be at least 2000 (twice `batch_messages`)"
/// );
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LimitError {
    /// Name of the limit that is too small.
    pub limit: &'static str,
    /// Value of the limit.
    pub value: usize,
    /// Rule that `min` follows from, with the name of the other limit; empty if there is none.
    pub rule: &'static str,
    /// Smallest valid value of the limit.
    pub min: usize,
}

/// Refuses a limit that is below `min`, which follows from `rule`.
pub(crate) fn at_least(
    limit: &'static str,
    value: usize,
    rule: &'static str,
    min: usize,
) -> Result<(), LimitError> {
    if value < min { Err(LimitError { limit, value, rule, min }) } else { Ok(()) }
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, value, rule, min } = self;
        write!(f, "`{limit}` is {value}, but must be at least {min}")?;
        if rule.is_empty() { Ok(()) } else { write!(f, " ({rule})") }
    }
}

impl core::error::Error for LimitError {}

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
        // Values that are not numbers are described in words.
        let is_number = value.starts_with(|first: char| first.is_ascii_digit());
        let is_fixed = is_number && !["unix_start", "seed"].contains(&field);
        let plain: String = said.chars().filter(|char| !", ".contains(*char)).collect();
        let is_told = plain.starts_with(value.trim_end_matches(',')) || !is_fixed;
        assert!(!said.is_empty() && is_told, "{name}::{field} is {value}: {doc}");
        count += 1;
    }
    assert!(count > 1, "{shown}");
}
