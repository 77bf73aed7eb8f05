//! Admission of clients to a server.

use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use crate::reason::TokenError;
use crate::token::TokenGate;

/// Decides by their tokens which clients may connect to a [`Server`](crate::session::Server): a
/// [`TokenGate`], or a type of the game's own.
///
/// ```
/// use std::time::Duration;
/// use tightwire::session::{Admit, Admitted};
/// use tightwire::token::TokenError;
///
/// /// Admits every client that knows the word, any number of times.
/// struct Password(&'static str);
///
/// impl Admit for Password {
///     fn check(&mut self, token: &[u8], _: Duration) -> Result<Admitted, TokenError> {
///         let is_known = token == self.0.as_bytes();
///         is_known.then(Admitted::default).ok_or(TokenError::NotGenuine)
///     }
///
///     fn redeem(&mut self, _: &[u8], _: Duration) -> Result<(), TokenError> {
///         Ok(())
///     }
/// }
/// assert_eq!(Password("sesame").check(b"open", Duration::ZERO), Err(TokenError::NotGenuine));
/// ```
pub trait Admit: Send + Sync {
    /// Checks whether a token is valid at this time since 1970, and returns the client that it is
    /// for. Records nothing: a client that is refused for another reason can come again.
    ///
    /// # Errors
    ///
    /// [`TokenError`] with the reason why it is invalid.
    fn check(&mut self, token: &[u8], unix_now: Duration) -> Result<Admitted, TokenError>;

    /// Redeems a token that was valid a moment ago.
    ///
    /// # Errors
    ///
    /// [`TokenError`] if it cannot be redeemed.
    fn redeem(&mut self, token: &[u8], unix_now: Duration) -> Result<(), TokenError>;
}

/// Contents of a client's token.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Admitted {
    /// Number of the client, which the game's backend chose.
    pub client: u64,
    /// User data of the backend about the client.
    pub user_data: Vec<u8>,
}

impl Admit for TokenGate {
    fn check(&mut self, token: &[u8], unix_now: Duration) -> Result<Admitted, TokenError> {
        if token.is_empty() {
            return Err(TokenError::Missing);
        }
        let claims = self.check(token, unix_now)?.into_claims();
        Ok(Admitted { client: claims.client, user_data: claims.user_data })
    }

    fn redeem(&mut self, token: &[u8], unix_now: Duration) -> Result<(), TokenError> {
        let admission = self.check(token, unix_now)?;
        self.redeem(&admission)
    }
}

/// A gate that the application shares with the server, as to change the keys while the server runs:
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use tightwire::{Context, Message, Wire};
/// use tightwire::{Server, SessionConfig};
/// use tightwire::token::{TokenGate, TokenKey};
/// use tightwire::transport::InProcess;
///
/// # #[derive(Wire, Message, Default)]
/// # struct Jump;
/// let (old, new) = (TokenKey::generate()?, TokenKey::generate()?);
/// let gate = Arc::new(Mutex::new(TokenGate::new(vec![old.clone()], "eu-west-3")));
/// let (_, transport) = InProcess::pair();
/// let server = Server::<(), _>::builder(SessionConfig::new("arena", "1.0"))
///     .with_tokens(gate.clone())
///     .handle(|_: &Jump, _: &mut Context<'_, ()>| {})
///     .build(transport)?;
/// // From any thread, between two frames.
/// gate.lock().unwrap().set_keys(vec![old, new]);
/// # drop(server);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// The server waits for the lock when a client connects: hold it for a moment only, and not while
/// this thread calls the server, which would deadlock.
impl<G: Admit> Admit for Arc<Mutex<G>> {
    fn check(&mut self, token: &[u8], unix_now: Duration) -> Result<Admitted, TokenError> {
        self.lock().unwrap_or_else(PoisonError::into_inner).check(token, unix_now)
    }

    fn redeem(&mut self, token: &[u8], unix_now: Duration) -> Result<(), TokenError> {
        self.lock().unwrap_or_else(PoisonError::into_inner).redeem(token, unix_now)
    }
}

/// Admits every client, without a token.
#[derive(Debug, Default)]
pub struct OpenToAnyone {
    /// Number of admitted clients.
    count: u64,
}

impl Admit for OpenToAnyone {
    fn check(&mut self, _: &[u8], _: Duration) -> Result<Admitted, TokenError> {
        Ok(Admitted { client: self.count + 1, user_data: Vec::new() })
    }

    fn redeem(&mut self, _: &[u8], _: Duration) -> Result<(), TokenError> {
        self.count += 1;
        Ok(())
    }
}
