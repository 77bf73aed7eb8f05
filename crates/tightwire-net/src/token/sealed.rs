//! A token as it travels.

use core::fmt;
use core::str::FromStr;

use super::claims::Contents;
use crate::hex::HexError;
use crate::hex::{self, Hex};

/// A connect token as the backend gives it to a client, and the client to the server. Only the
/// holders of the [`TokenKey`](crate::token::TokenKey) can read it.
///
/// `Display` and `FromStr` use hexadecimal digits: a matchmaker can put a token into JSON or a URL.
/// The holder of a token can connect with it, once, so it does not belong in logs: `Debug` shows
/// only its length.
///
/// ```
/// use std::time::Duration;
/// use tightwire::token::{Claims, SealedToken, TokenKey};
///
/// let claims = Claims::new(7, "eu-west-3", Duration::from_secs(1_800_000_000), Duration::from_secs(60));
/// let token = TokenKey::generate()?.mint(&claims)?;
/// let text = token.to_string();
/// assert_eq!(text.len(), 184);
/// assert_eq!(text.parse(), Ok(token));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SealedToken(Vec<u8>);

/// Length of the nonce before the sealed claims, in bytes.
pub(super) const NONCE_LEN: usize = 24;

/// Length of the tag behind the sealed claims, in bytes.
pub(super) const TAG_LEN: usize = 16;

impl SealedToken {
    /// Maximum length of a token, in bytes.
    pub const MAX_BYTES: usize = NONCE_LEN + Contents::LONGEST + TAG_LEN;

    pub(super) fn new(nonce: &[u8], sealed: &[u8], tag: &[u8]) -> Self {
        Self([nonce, sealed, tag].concat())
    }

    /// Wraps bytes that claim to be a token; `None` if they are too many.
    ///
    /// ```
    /// use tightwire::token::SealedToken;
    ///
    /// assert!(SealedToken::from_bytes(&[1; SealedToken::MAX_BYTES]).is_some());
    /// assert!(SealedToken::from_bytes(&[1; SealedToken::MAX_BYTES + 1]).is_none());
    /// ```
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= Self::MAX_BYTES).then(|| Self(bytes.into()))
    }

    /// Returns the token's bytes, for the server.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for SealedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

impl FromStr for SealedToken {
    type Err = HexError;

    fn from_str(text: &str) -> Result<Self, HexError> {
        let mut bytes = [0; Self::MAX_BYTES];
        let length = hex::at_most(text, &mut bytes, "connect token")?;
        Ok(Self(bytes[..length].into()))
    }
}

impl fmt::Debug for SealedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealedToken({} bytes)", self.0.len())
    }
}
