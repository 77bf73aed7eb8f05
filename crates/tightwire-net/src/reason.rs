//! Reasons why a connection ended or was refused.

use core::fmt::{self, Write as _};

use tightwire_core::stream::Wire;

/// Reason why a connection ended or was refused. Both ends get it.
///
/// It is the cause of an [error](core::error::Error) where a connection was refused or lost, but a
/// connection also ends without one: therefore it is a reason, and not called an error.
///
/// A reason is [`Wire`](trait@Wire): a [`Transport`](crate::transport::Transport) sends it in at
/// most [`MAX_BYTES`](Self::MAX_BYTES). Its texts come from the other side, so `Display` escapes
/// all characters that are not printable.
///
/// ```
/// use tightwire::transport::Reason;
///
/// let reason = Reason::kicked("spamming\n");
/// assert_eq!(reason.to_string(), r"kicked: spamming\n");
/// assert_eq!(Reason::from_bytes(&reason.to_bytes()), reason);
/// ```
#[derive(Wire, Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Reason {
    /// The client left by its own choice.
    #[default]
    Left,
    /// The other side was silent for too long.
    TimedOut,
    /// The server has the maximum number of clients.
    Full,
    /// The server accepts no more connections now, or none from this address.
    Busy,
    /// The server removed the client, with a text for the player.
    Kicked(#[wire(max_len = 240)] String),
    /// The server shuts down.
    ShuttingDown,
    /// The two sides do not speak the same protocol. The text lists the differences, as seen by the
    /// side that gets it. It is text and no data, since the other side may be of any version; two
    /// protocols that are both here have the list:
    /// [`Identity::mismatch`](tightwire_core::packet::Identity::mismatch) and
    /// [`Description::diff`](tightwire_snapshot::Description::diff).
    Mismatch(#[wire(max_len = 900)] String),
    /// The connect token was refused.
    Token(TokenError),
    /// The server's certificate was refused, with the cause.
    Certificate(#[wire(max_len = 240)] String),
    /// The other side does not keep up with the messages sent to it.
    TooSlow,
    /// The other side violated the protocol, with the violation.
    Violation(#[wire(max_len = 240)] String),
    /// The server restarted, and does not know this connection.
    Forgotten,
    /// The network or the other side's transport failed, with the cause.
    Failed(#[wire(max_len = 240)] String),
    /// The same client connected again, and this connection made way.
    Replaced,
}

/// Reason why a connect token was refused.
#[derive(Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum TokenError {
    /// The client sent no token, and the server requires one.
    #[default]
    Missing,
    /// The token is malformed, or was not sealed with the key of this server's backend.
    NotGenuine,
    /// The token has expired.
    Expired,
    /// The token is for another server.
    WrongServer,
    /// The token was redeemed before.
    Used,
    /// The server remembers the maximum number of used tokens, and could not tell whether this one
    /// is used.
    TooMany,
    /// The token lasts longer than the server remembers used tokens.
    TooLong,
    /// The client of the token is connected already, and the server lets it connect once.
    AlreadyConnected,
}

impl Reason {
    /// Maximum length of an encoded reason, in bytes.
    pub const MAX_BYTES: usize = 1000;

    /// Makes [`Kicked`](Self::Kicked), with the first 240 bytes of `text`.
    #[must_use]
    pub fn kicked(text: &str) -> Self {
        Self::Kicked(cut(text, 240))
    }

    /// Makes [`Mismatch`](Self::Mismatch), with the first 900 bytes of `text`.
    #[must_use]
    pub fn mismatch(text: &str) -> Self {
        Self::Mismatch(cut(text, 900))
    }

    /// Makes [`Certificate`](Self::Certificate), with the first 240 bytes of `text`.
    #[must_use]
    pub fn certificate(text: &str) -> Self {
        Self::Certificate(cut(text, 240))
    }

    /// Makes [`Violation`](Self::Violation), with the first 240 bytes of `text`.
    #[must_use]
    pub fn violation(text: &str) -> Self {
        Self::Violation(cut(text, 240))
    }

    /// Makes [`Failed`](Self::Failed), with the first 240 bytes of `text`.
    #[must_use]
    pub fn failed(text: &str) -> Self {
        Self::Failed(cut(text, 240))
    }

    /// Encodes the reason for a transport.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [0; Self::MAX_BYTES];
        // The variants are public: a caller may have made the text too long.
        let short = match self {
            Self::Kicked(text) => Self::kicked(text),
            Self::Mismatch(text) => Self::mismatch(text),
            Self::Certificate(text) => Self::certificate(text),
            Self::Violation(text) => Self::violation(text),
            Self::Failed(text) => Self::failed(text),
            other => other.clone(),
        };
        tightwire_core::stream::encode(&short, &mut bytes).map_or_else(|_| Vec::new(), Vec::from)
    }

    /// Decodes a reason; [`Failed`](Self::Failed) if the bytes are malformed.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let unreadable = || Self::Failed("the reason of the other side is malformed".into());
        tightwire_core::stream::decode(bytes).unwrap_or_else(|_| unreadable())
    }
}

/// Cuts a text to at most `most` bytes.
fn cut(text: &str, most: usize) -> String {
    let end = (0..=most.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    text[..end.unwrap_or(0)].into()
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, text) = match self {
            Self::Left => ("the client disconnected", None),
            Self::TimedOut => ("timed out: nothing was received from the other side", None),
            Self::Full => ("the server is full", None),
            Self::Busy => {
                ("the server accepts no more connections now, or none from this address", None)
            }
            Self::Kicked(text) => ("kicked", Some(text)),
            Self::ShuttingDown => ("the server is shutting down", None),
            Self::Mismatch(text) => ("protocol mismatch", Some(text)),
            Self::Token(fault) => return fault.fmt(f),
            Self::Certificate(text) => ("the server's certificate was refused", Some(text)),
            Self::TooSlow => ("disconnected: the backlog did not shrink in time", None),
            Self::Violation(text) => ("protocol violation", Some(text)),
            Self::Forgotten => ("the server restarted and does not know this connection", None),
            Self::Failed(text) => ("the connection failed", Some(text)),
            Self::Replaced => ("replaced: the same client connected again", None),
        };
        f.write_str(what)?;
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(()) };
        f.write_str(": ")?;
        // The text may come from the other side and be shown in a terminal: of the escaped
        // characters, only quotes are harmless.
        text.chars().try_for_each(|char| match char {
            '"' | '\'' => f.write_char(char),
            char => write!(f, "{}", char.escape_debug()),
        })
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "a connect token is needed: ask the game's backend for one",
            Self::NotGenuine => {
                "the connect token is not genuine: it was sealed with another key, or changed"
            }
            Self::Expired => "the connect token has expired: ask for a new one",
            Self::WrongServer => "the connect token is for another server",
            Self::Used => "the connect token was used already: ask for a new one",
            Self::TooMany => "the server remembers too many redeemed tokens: try again later",
            Self::TooLong => {
                "the connect token is valid for longer than the server remembers tokens: mint \
                 shorter ones, or check the backend's clock"
            }
            Self::AlreadyConnected => {
                "the client of the connect token is connected already: disconnect it there first"
            }
        })
    }
}

impl core::error::Error for Reason {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Token(error) => Some(error),
            _ => None,
        }
    }
}

impl core::error::Error for TokenError {}
