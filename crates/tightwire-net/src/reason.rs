//! Why a connection ended, or never began.

use core::fmt::{self, Write as _};

use tightwire_core::stream::Wire;

/// Why a connection ended, or never began. Both ends are told.
///
/// It is [`Wire`](trait@Wire): a [`Transport`](crate::transport::Transport) sends it in at most
/// [`MAX_BYTES`](Self::MAX_BYTES). Its texts come from the other side: they are shown with what is no
/// printable character escaped.
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
    /// The client left. It says so itself.
    #[default]
    Left,
    /// Nothing came from the other side for too long.
    TimedOut,
    /// The server has as many clients as it takes.
    Full,
    /// The server does not want more connections now, or not from this address.
    Busy,
    /// The server asked the client to leave.
    Kicked(#[wire(max_len = 240)] String),
    /// The server stops.
    ShuttingDown,
    /// The two sides do not speak the same protocol. Says what differs, as the one who is told sees
    /// it.
    Mismatch(#[wire(max_len = 900)] String),
    /// The connect token was refused.
    Token(TokenError),
    /// The server's certificate was refused.
    Certificate(#[wire(max_len = 240)] String),
    /// The other side does not keep up with what is sent to it.
    TooSlow,
    /// The other side did what the protocol does not allow.
    Violation(#[wire(max_len = 240)] String),
    /// The other side does not know this connection any more: it was started again.
    Forgotten,
    /// The network or the other side's transport failed.
    Failed(#[wire(max_len = 240)] String),
}

/// Why a connect token was refused.
#[derive(Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum TokenError {
    /// There was none, and the server wants one.
    #[default]
    Missing,
    /// It is no token, or it was not sealed with the key of this server's backend.
    NotGenuine,
    /// Its time is over.
    Expired,
    /// It is for another server.
    WrongServer,
    /// Somebody has connected with it already.
    Used,
    /// The server remembers as many used tokens as it can, and could not tell whether this one is.
    TooMany,
    /// It lasts longer than the server remembers used tokens.
    TooLong,
}

impl Reason {
    /// The most bytes that it takes.
    pub const MAX_BYTES: usize = 1000;

    /// The server asked the client to leave; the first 240 bytes of `text` are said.
    #[must_use]
    pub fn kicked(text: &str) -> Self {
        Self::Kicked(cut(text, 240))
    }

    /// The two sides do not speak the same protocol; the first 900 bytes of `text` are said.
    #[must_use]
    pub fn mismatch(text: &str) -> Self {
        Self::Mismatch(cut(text, 900))
    }

    /// The certificate was refused, and why.
    #[must_use]
    pub fn certificate(text: &str) -> Self {
        Self::Certificate(cut(text, 240))
    }

    /// The other side broke the protocol, and how.
    #[must_use]
    pub fn violation(text: &str) -> Self {
        Self::Violation(cut(text, 240))
    }

    /// The network failed, and how.
    #[must_use]
    pub fn failed(text: &str) -> Self {
        Self::Failed(cut(text, 240))
    }

    /// As a transport sends it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [0; Self::MAX_BYTES];
        // Somebody may have made the text too long.
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

    /// As it was sent; [`Failed`](Self::Failed) if nobody can read it.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let unreadable = || Self::Failed("a reason that this side cannot read".into());
        tightwire_core::stream::decode(bytes).unwrap_or_else(|_| unreadable())
    }
}

/// As much of a text as has so many bytes.
fn cut(text: &str, most: usize) -> String {
    let end = (0..=most.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    text[..end.unwrap_or(0)].into()
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, text) = match self {
            Self::Left => ("left", None),
            Self::TimedOut => ("timed out: nothing came from the other side", None),
            Self::Full => ("the server is full", None),
            Self::Busy => ("the server takes no more connections now, or from this address", None),
            Self::Kicked(text) => ("kicked", Some(text)),
            Self::ShuttingDown => ("the server stops", None),
            Self::Mismatch(text) => ("another protocol", Some(text)),
            Self::Token(fault) => return fault.fmt(f),
            Self::Certificate(text) => ("the server's certificate was refused", Some(text)),
            Self::TooSlow => ("too slow: more was sent than arrives", None),
            Self::Violation(text) => ("broke the protocol", Some(text)),
            Self::Forgotten => ("the other side was started again and forgot this", None),
            Self::Failed(text) => ("the connection failed", Some(text)),
        };
        f.write_str(what)?;
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(()) };
        f.write_str(": ")?;
        // It may come from the other side, and is shown in terminals: only quotes are harmless.
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
            Self::TooMany => "the server remembers too many tokens to take this one: try later",
            Self::TooLong => {
                "the connect token lasts longer than the server remembers tokens: the backend must make \
                 shorter ones, or its clock is wrong"
            }
        })
    }
}

impl core::error::Error for Reason {}
impl core::error::Error for TokenError {}
