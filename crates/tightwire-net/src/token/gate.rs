//! The server's side: each token is taken once.
//!
//! A token is checked first and redeemed last, so that a client that finds a server full can come again
//! with it.

use core::time::Duration;
use std::collections::BTreeSet;

use super::claims::{Claims, Contents};
use super::key::TokenKey;
use crate::reason::TokenError;

/// Takes connect tokens at a server: genuine, in time, for this server, and each once.
///
/// * [`check`](Self::check) says whether a token is good. Nothing is remembered, so a client that is
///   refused for another reason, as a server that is full, can come again with the same token.
/// * [`redeem`](Self::redeem) takes it. From then on it is used.
///
/// What was used is remembered until it would have expired anyway, in bounded memory. A server that was
/// started again has forgotten it: see [`refuse_minted_before`](Self::refuse_minted_before).
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
    /// When each token that was taken expires, and its id. The time is as authentic as the id, and
    /// in this order those that can be forgotten come first.
    used: BTreeSet<(u64, u128)>,
    /// The last time of those that were forgotten. Should the clock go back, what expires by then
    /// cannot be told from what was used.
    forgotten: u64,
    /// Tokens that were made in this second or before are refused.
    refused: Option<u64>,
}

/// The limits of a [`TokenGate`].
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
    /// The used tokens that are remembered, of about 50 bytes each. When there are as many, and none
    /// has expired, every token is refused as [`TokenError::TooMany`]. 65536 unless stated.
    pub max_remembered: usize,
    /// The longest that a token may still last when it comes, an hour unless stated. One that lasts
    /// longer would have to be remembered as long, and is refused as [`TokenError::TooLong`]. The
    /// backend's clock may be a minute ahead.
    pub max_lifetime: Duration,
}

/// A token that [`TokenGate::check`] has found to be good, and that is not taken yet.
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

/// The tokens that are forgotten at once. More than the one that is added, so that memory drains; few,
/// so that no client has to wait for thousands of others.
const FORGOTTEN_AT_ONCE: usize = 8;

/// How far the backend's clock may be ahead.
const AHEAD: Duration = Duration::from_secs(60);

impl TokenGate {
    /// For the server of this name, with tokens that one of these keys has sealed.
    ///
    /// There are two keys while they are changed: first every server gets the new one as well, then
    /// the backend seals with it, and when the last token of the old one has expired, that one goes.
    #[must_use]
    pub fn new(keys: Vec<TokenKey>, server: &str) -> Self {
        Self {
            keys,
            server: server.into(),
            config: TokenGateConfig::default(),
            used: BTreeSet::new(),
            forgotten: 0,
            refused: None,
        }
    }

    /// With other limits.
    #[must_use]
    pub fn with_config(mut self, config: TokenGateConfig) -> Self {
        self.config = config;
        self
    }

    /// From now on with these keys. What was used is still remembered.
    pub fn set_keys(&mut self, keys: Vec<TokenKey>) {
        self.keys = keys;
    }

    /// Refuses tokens that were made before `start`, or within the same second, as
    /// [`TokenError::Expired`].
    ///
    /// A server that was started again does not know which tokens were used before. Called with the
    /// time since the Unix epoch at which it started, no token that could have been used then is taken;
    /// clients that wait ask for a new one. If the backend's clock can be ahead of the server's, add by
    /// how much.
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

    /// Whether a token is good at `now`, since the Unix epoch. It is not taken by that.
    ///
    /// # Errors
    ///
    /// [`TokenError`] says why it is not. A token that is not genuine costs no memory, and as much time
    /// as it takes to authenticate its bytes with each key.
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

    /// Takes a token that was checked: nobody else connects with it.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if it was taken since it was checked, or cannot be remembered any more. There is
    /// no error if nothing was redeemed between the two.
    pub fn redeem(&mut self, admission: &Admission) -> Result<(), TokenError> {
        self.check_unused(admission)?;
        self.used.insert(admission.key());
        Ok(())
    }

    /// How many used tokens are remembered.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.used.len()
    }

    fn check_unused(&self, admission: &Admission) -> Result<(), TokenError> {
        if admission.claims().expires <= self.forgotten {
            Err(TokenError::Expired)
        } else if self.used.contains(&admission.key()) {
            Err(TokenError::Used)
        } else if self.used.len() >= self.config.max_remembered {
            Err(TokenError::TooMany)
        } else {
            Ok(())
        }
    }

    /// Forgets some of the tokens that have expired.
    fn forget(&mut self, now: Duration) {
        for _ in 0..FORGOTTEN_AT_ONCE {
            let expired = |(expires, _): &&(u64, u128)| Duration::from_secs(*expires) <= now;
            let Some(&(expires, _)) = self.used.first().filter(expired) else { return };
            self.used.pop_first();
            self.forgotten = expires;
        }
    }
}

impl Default for TokenGateConfig {
    fn default() -> Self {
        Self { max_remembered: 65536, max_lifetime: Duration::from_secs(3600) }
    }
}

impl Admission {
    /// What the token says.
    #[must_use]
    pub fn claims(&self) -> &Claims {
        &self.0.claims
    }

    /// What the token says.
    #[must_use]
    pub fn into_claims(self) -> Claims {
        self.0.claims
    }

    fn key(&self) -> (u64, u128) {
        (self.0.claims.expires, self.0.id)
    }
}
