//! The claims of a token.

use core::fmt;
use core::time::Duration;

use tightwire_core::stream::Wire;

/// Claims of a connect token: client, server and expiry.
///
/// Times are whole seconds since the Unix epoch, by the clock of the backend.
///
/// ```
/// use std::time::Duration;
/// use tightwire::token::Claims;
///
/// let now = Duration::from_secs(1_800_000_000);
/// let claims = Claims::new(7, "eu-west-3", now, Duration::from_secs(60)).with_user_data(b"red team");
/// assert_eq!(claims.expires, 1_800_000_060);
/// ```
#[derive(Wire, Clone, PartialEq, Eq, Debug, Default)]
pub struct Claims {
    /// Number by which the backend knows the client.
    pub client: u64,
    /// Time at which the token was minted.
    pub minted: u64,
    /// Time from which the token is refused.
    pub expires: u64,
    /// Name of the server, at most [`MAX_SERVER`](Self::MAX_SERVER) bytes without a zero byte.
    #[wire(max_len = 255)]
    pub server: String,
    /// Further data from the backend to the server, at most [`MAX_USER_DATA`](Self::MAX_USER_DATA)
    /// bytes. The client cannot read it.
    #[wire(max_len = 512)]
    pub user_data: Vec<u8>,
}

/// Sealed contents of a token: the claims, and an id that distinguishes tokens with equal claims.
#[derive(Wire, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Contents {
    pub(super) id: u128,
    pub(super) claims: Claims,
}

impl Contents {
    /// Maximum length in bytes. `MAX_BYTES` is larger: it does not know that both length fields
    /// begin at a whole byte.
    pub(super) const LONGEST: usize =
        16 + 3 * 8 + 1 + Claims::MAX_SERVER + 2 + Claims::MAX_USER_DATA;
}

/// Error of minting a token.
///
/// ```
/// use std::time::Duration;
/// use tightwire::token::{Claims, MintError, TokenKey};
///
/// let claims = Claims::new(7, "eu-west-3", Duration::from_secs(1_800_000_000), Duration::ZERO);
/// assert_eq!(TokenKey::generate()?.mint(&claims), Err(MintError::Expired));
/// # Ok::<(), MintError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MintError {
    /// The server's name has this many bytes, more than [`Claims::MAX_SERVER`].
    ServerTooLong(usize),
    /// The server's name contains a zero byte.
    ServerHasZero,
    /// The user data has this many bytes, more than [`Claims::MAX_USER_DATA`].
    UserDataTooLong(usize),
    /// The token would be expired when minted.
    Expired,
    /// The claims do not fit into a token.
    TooLarge,
    /// The operating system provided no random numbers.
    NoRandomNumbers,
}

impl Claims {
    /// Maximum length of the server's name, in bytes.
    pub const MAX_SERVER: usize = 255;

    /// Maximum length of the user data, in bytes.
    pub const MAX_USER_DATA: usize = 512;

    /// Makes the claims of a token that is minted at `now`, since the Unix epoch, and lasts for
    /// `lifetime`. Both are cut to whole seconds.
    #[must_use]
    pub fn new(client: u64, server: &str, now: Duration, lifetime: Duration) -> Self {
        let minted = now.as_secs();
        let expires = minted.saturating_add(lifetime.as_secs());
        Self { client, minted, expires, server: server.into(), user_data: Vec::new() }
    }

    /// Adds data for the server.
    #[must_use]
    pub fn with_user_data(mut self, user_data: impl Into<Vec<u8>>) -> Self {
        self.user_data = user_data.into();
        self
    }

    pub(super) fn check(&self) -> Result<(), MintError> {
        if self.server.len() > Self::MAX_SERVER {
            Err(MintError::ServerTooLong(self.server.len()))
        } else if self.server.contains('\0') {
            Err(MintError::ServerHasZero)
        } else if self.user_data.len() > Self::MAX_USER_DATA {
            Err(MintError::UserDataTooLong(self.user_data.len()))
        } else if self.expires <= self.minted {
            Err(MintError::Expired)
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for MintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ServerTooLong(length) => {
                let most = Claims::MAX_SERVER;
                write!(f, "the server's name has {length} bytes: at most {most} are allowed")
            }
            Self::ServerHasZero => f.write_str("the server's name contains a zero byte"),
            Self::UserDataTooLong(length) => {
                let most = Claims::MAX_USER_DATA;
                write!(f, "the user data has {length} bytes: at most {most} are allowed")
            }
            Self::Expired => f.write_str(
                "the token would expire at once: give it a lifetime of a second or more",
            ),
            Self::TooLarge => f.write_str("the claims do not fit a token: shorten the user data"),
            Self::NoRandomNumbers => f.write_str("the operating system provides no random numbers"),
        }
    }
}

impl core::error::Error for MintError {}
