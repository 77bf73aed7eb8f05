//! The server's side: each token is redeemed once.
//!
//! A token is checked first and redeemed last, so that a client that finds the server full can come
//! again with the same token.

use core::time::Duration;
use std::collections::BTreeSet;

use super::claims::{Claims, Contents};
use super::key::TokenKey;
use crate::reason::TokenError;

/// Admits clients by connect token: genuine, not expired, for this server, and redeemed once.
///
/// * [`check`](Self::check) validates a token. The gate remembers nothing, so a client that is
///   refused for another reason, such as a full server, can come again with the same token.
/// * [`redeem`](Self::redeem) marks a token as used.
///
/// Used tokens are remembered until they expire, in bounded memory. A restarted server has
/// forgotten them: see [`refuse_minted_before`](Self::refuse_minted_before).
///
/// ```
/// use std::time::Duration;
/// use tightwire::token::{Claims, TokenError, TokenGate, TokenKey};
///
/// let key = TokenKey::generate()?;
/// let now = Duration::from_secs(1_800_000_000);
/// let token = key.mint(&Claims::new(7, "eu-west-3", now, Duration::from_secs(60)))?;
///
/// let mut gate = TokenGate::new(vec![key], "eu-west-3");
/// let admission = gate.check(token.as_bytes(), now)?;
/// assert_eq!(admission.claims().client, 7);
/// gate.redeem(&admission)?;
/// assert_eq!(gate.check(token.as_bytes(), now), Err(TokenError::Used));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TokenGate {
    keys: Vec<TokenKey>,
    server: String,
    config: TokenGateConfig,
    /// Expiry and id of each used token. The expiry is as authentic as the id, and in this order
    /// the tokens that can be forgotten come first.
    used: BTreeSet<(u64, u128)>,
    /// Latest expiry of the forgotten tokens. If the clock goes back, tokens that expire by this
    /// time are refused, since they may have been used.
    latest_evicted_expiry: u64,
    /// Second up to which minted tokens are refused; `None` for no limit.
    refused: Option<u64>,
}

/// Limits of a [`TokenGate`].
///
/// ```
/// use tightwire::token::{TokenGate, TokenGateConfig, TokenKey};
///
/// let config = TokenGateConfig { max_remembered: 1000, ..TokenGateConfig::default() };
/// let gate = TokenGate::new(vec![TokenKey::generate()?], "eu-west-3").with_config(config);
/// assert_eq!(gate.remembered(), 0);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenGateConfig {
    /// Maximum number of remembered used tokens, about 50 bytes each. When it is reached and none
    /// has expired, every token is refused as [`TokenError::TooMany`].
    /// Default: 65,536.
    pub max_remembered: usize,
    /// Maximum remaining lifetime of a token when it arrives. A token that lasts longer would have
    /// to be remembered as long, and is refused as [`TokenError::TooLong`]. The backend's clock may
    /// be a minute ahead.
    /// Default: 3,600 s.
    pub max_lifetime: Duration,
}

/// A token that [`TokenGate::check`] found valid, and that is not redeemed yet.
///
/// ```
/// use std::time::Duration;
/// use tightwire::token::{Claims, TokenGate, TokenKey};
///
/// let key = TokenKey::generate()?;
/// let now = Duration::from_secs(1_800_000_000);
/// let claims = Claims::new(7, "eu-west-3", now, Duration::from_secs(60));
/// let token = key.mint(&claims)?;
///
/// let admission = TokenGate::new(vec![key], "eu-west-3").check(token.as_bytes(), now)?;
/// assert_eq!(admission.claims(), &claims);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admission(Contents);

/// Maximum number of tokens forgotten at once. More than the one that is added, so that memory
/// drains; few, so that no client waits for thousands of others.
const MAX_EVICTED: usize = 8;

/// Tolerance for a backend's clock that is ahead.
const AHEAD: Duration = Duration::from_secs(60);

impl TokenGate {
    /// Makes a gate for the server of this name and tokens sealed with one of these keys.
    ///
    /// Keys are rotated with two of them: first every server gets the new key as well, then the
    /// backend seals with it, and the old key is removed when its last token has expired.
    #[must_use]
    pub fn new(keys: Vec<TokenKey>, server: &str) -> Self {
        Self {
            keys,
            server: server.into(),
            config: TokenGateConfig::default(),
            used: BTreeSet::new(),
            latest_evicted_expiry: 0,
            refused: None,
        }
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_config(mut self, config: TokenGateConfig) -> Self {
        self.config = config;
        self
    }

    /// Replaces the keys. Used tokens are still remembered.
    pub fn set_keys(&mut self, keys: Vec<TokenKey>) {
        self.keys = keys;
    }

    /// Refuses tokens that were minted before `start`, or within the same second, as
    /// [`TokenError::Expired`].
    ///
    /// A restarted server does not know which tokens were used before. Call this with the time of
    /// its start, since the Unix epoch: then no token that could have been used before is accepted,
    /// and waiting clients ask for a new one. If the backend's clock can be ahead of the server's,
    /// add the difference.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tightwire::token::{Claims, TokenError, TokenGate, TokenKey};
    ///
    /// let key = TokenKey::generate()?;
    /// let minute = Duration::from_secs(60);
    /// let start = Duration::from_secs(1_800_000_000);
    /// let before = key.mint(&Claims::new(7, "eu-west-3", start, minute))?;
    /// let after = key.mint(&Claims::new(7, "eu-west-3", start + Duration::from_secs(1), minute))?;
    ///
    /// let mut gate = TokenGate::new(vec![key], "eu-west-3");
    /// gate.refuse_minted_before(start);
    /// let now = start + Duration::from_secs(2);
    /// assert_eq!(gate.check(before.as_bytes(), now), Err(TokenError::Expired));
    /// assert!(gate.check(after.as_bytes(), now).is_ok());
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn refuse_minted_before(&mut self, start: Duration) {
        self.refused = self.refused.max(Some(start.as_secs()));
    }

    /// Validates a token at `now`, since the Unix epoch, without redeeming it.
    ///
    /// # Errors
    ///
    /// [`TokenError`] for a token that is not valid. A token that is not genuine costs no memory,
    /// and the time to authenticate its bytes with each key.
    pub fn check(&mut self, token: &[u8], now: Duration) -> Result<Admission, TokenError> {
        let opened = self.keys.iter().find_map(|key| key.contents(token).ok());
        let admission = Admission(opened.ok_or(TokenError::NotGenuine)?);
        let claims = admission.claims();
        let expires = Duration::from_secs(claims.expires);
        if expires.saturating_sub(now) > self.config.max_lifetime.saturating_add(AHEAD) {
            return Err(TokenError::TooLong);
        }
        if expires <= now || self.refused.is_some_and(|refused| claims.minted <= refused) {
            return Err(TokenError::Expired);
        }
        if claims.server != self.server {
            return Err(TokenError::WrongServer);
        }
        self.forget(now);
        self.check_unused(&admission)?;
        Ok(admission)
    }

    /// Redeems a token that was checked: no other client can connect with it.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if the token was redeemed since it was checked, or cannot be remembered.
    /// There is no error if no token was redeemed between the two calls.
    pub fn redeem(&mut self, admission: &Admission) -> Result<(), TokenError> {
        self.check_unused(admission)?;
        self.used.insert(admission.key());
        Ok(())
    }

    /// Returns the number of remembered used tokens.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.used.len()
    }

    fn check_unused(&self, admission: &Admission) -> Result<(), TokenError> {
        if admission.claims().expires <= self.latest_evicted_expiry {
            Err(TokenError::Expired)
        } else if self.used.contains(&admission.key()) {
            Err(TokenError::Used)
        } else if self.used.len() >= self.config.max_remembered {
            Err(TokenError::TooMany)
        } else {
            Ok(())
        }
    }

    /// Forgets some of the expired tokens.
    fn forget(&mut self, now: Duration) {
        for _ in 0..MAX_EVICTED {
            let expired = |(expires, _): &&(u64, u128)| Duration::from_secs(*expires) <= now;
            let Some(&(expires, _)) = self.used.first().filter(expired) else { return };
            self.used.pop_first();
            self.latest_evicted_expiry = expires;
        }
    }
}

impl Default for TokenGateConfig {
    fn default() -> Self {
        Self { max_remembered: 65536, max_lifetime: Duration::from_secs(3600) }
    }
}

impl Admission {
    /// Returns the token's claims.
    #[must_use]
    pub fn claims(&self) -> &Claims {
        &self.0.claims
    }

    /// Returns the token's claims.
    #[must_use]
    pub fn into_claims(self) -> Claims {
        self.0.claims
    }

    fn key(&self) -> (u64, u128) {
        (self.0.claims.expires, self.0.id)
    }
}

#[cfg(test)]
mod documented {
    use super::*;

    #[test]
    fn every_config_field_documents_its_default() {
        crate::limits::check_documented(include_str!("gate.rs"), &TokenGateConfig::default());
    }
}
