//! A token as it travels.

use core::fmt;
use core::str::FromStr;

use super::claims::Contents;
use crate::hex::HexError;
use crate::hex::{self, Hex};

/// A connect token as the backend gives it to a client, and the client to the server. Only who has the
/// [`TokenKey`](crate::token::TokenKey) can read it.
///
/// It is shown as hexadecimal digits, and read from them: a matchmaker can put it into JSON or an
/// address. Whoever has it can connect with it, once, so it is not for logs: `Debug` shows its length.
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

/// What stands before the sealed claims.
pub(super) const NONCE_LEN: usize = 24;

/// What stands behind them.
pub(super) const TAG_LEN: usize = 16;

impl SealedToken {
    /// The most bytes that a token has.
    pub const MAX_BYTES: usize = NONCE_LEN + Contents::LONGEST + TAG_LEN;

    pub(super) fn new(nonce: &[u8], sealed: &[u8], tag: &[u8]) -> Self {
        Self([nonce, sealed, tag].concat())
    }

    /// Bytes that claim to be a token; nothing if they are too many.
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

    /// As it is sent to a server.
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
