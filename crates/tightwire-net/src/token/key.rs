//! The key that the backend and its servers share.

use core::fmt;
use core::str::FromStr;

use chacha20poly1305::aead::inout::InOutBuf;
use chacha20poly1305::{AeadInOut, Key, KeyInit, Tag, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::claims::{Claims, Contents, MintError};
use super::sealed::{NONCE_LEN, SealedToken, TAG_LEN};
use crate::hex::HexError;
use crate::hex::{self, Hex};
use crate::reason::TokenError;

/// The key with which a game's backend seals connect tokens, and its servers open them. Clients
/// never have it.
///
/// A key is parsed from 64 hexadecimal digits. `Debug` does not show the key, and dropping a key
/// wipes its memory.
///
/// ```
/// use std::time::Duration;
/// use tightwire::token::{Claims, TokenKey};
///
/// // On the backend, which knows who the client is.
/// let key = TokenKey::generate()?;
/// let now = Duration::from_secs(1_800_000_000);
/// let claims = Claims::new(7, "eu-west-3", now, Duration::from_secs(60));
/// let token = key.mint(&claims)?;
///
/// // Its servers get the key as text, from wherever secrets are kept.
/// let servers: TokenKey = key.secret_text().parse()?;
/// assert_eq!(servers.open(token.as_bytes())?, claims);
/// assert_eq!(format!("{servers:?}"), "TokenKey(secret)");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TokenKey(Zeroizing<[u8; 32]>);

/// Associated data, authenticated and not sent: bytes sealed for another purpose or another version
/// are no token.
const DOMAIN: &[u8] = b"tightwire connect token 1";

impl TokenKey {
    /// Makes a key of these bytes, which must be random.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes.into())
    }

    /// Generates a key from the operating system's random numbers.
    ///
    /// # Errors
    ///
    /// [`MintError::NoRandomNumbers`] if the operating system provides none.
    pub fn generate() -> Result<Self, MintError> {
        let mut key = Self::from_bytes([0; 32]);
        fill(key.0.as_mut_slice())?;
        Ok(key)
    }

    /// Returns the key as 64 hexadecimal digits, to be kept secret. There is no `Display`, so that
    /// no key gets into a log by mistake.
    #[must_use]
    pub fn secret_text(&self) -> String {
        Hex(self.0.as_slice()).to_string()
    }

    /// Mints a token with these claims.
    ///
    /// A server accepts the token once. Two tokens with the same claims are different tokens.
    ///
    /// # Errors
    ///
    /// [`MintError`] if the claims are invalid.
    pub fn mint(&self, claims: &Claims) -> Result<SealedToken, MintError> {
        let (mut nonce, mut id) = ([0; NONCE_LEN], [0; 16]);
        fill(&mut nonce)?;
        fill(&mut id)?;
        let claims = claims.clone();
        self.seal(nonce, Contents { id: u128::from_le_bytes(id), claims })
    }

    /// Returns a token's claims, for tools. The token may be expired, for any server, or used: a
    /// server asks its [`TokenGate`](crate::token::TokenGate).
    ///
    /// # Errors
    ///
    /// [`TokenError::NotGenuine`] if the token was not sealed with this key.
    pub fn open(&self, token: &[u8]) -> Result<Claims, TokenError> {
        self.contents(token).map(|contents| contents.claims)
    }

    pub(super) fn contents(&self, token: &[u8]) -> Result<Contents, TokenError> {
        let genuine = || {
            let (nonce, rest) = token.split_first_chunk::<NONCE_LEN>()?;
            let (sealed, tag) = rest.split_last_chunk::<TAG_LEN>()?;
            // On the stack, with a fixed length: bytes of an unauthenticated peer allocate nothing.
            let mut contents = [0; Contents::LONGEST];
            let contents = contents.get_mut(..sealed.len())?;
            let buffer = InOutBuf::new(sealed, contents).ok()?;
            let (nonce, tag) = (&XNonce::from(*nonce), &Tag::from(*tag));
            self.cipher().decrypt_inout_detached(nonce, DOMAIN, buffer, tag).ok()?;
            tightwire_core::stream::decode(contents).ok()
        };
        genuine().ok_or(TokenError::NotGenuine)
    }

    fn seal(&self, nonce: [u8; NONCE_LEN], contents: Contents) -> Result<SealedToken, MintError> {
        contents.claims.check()?;
        let mut bytes = [0; Contents::LONGEST];
        let length = tightwire_core::stream::encode(&contents, &mut bytes).map(<[u8]>::len);
        let sealed = &mut bytes[..length.map_err(|_| MintError::TooLarge)?];
        // 24 bytes are enough for a random nonce per token: 2^80 nonces under one key collide with
        // a probability of 2^-33.
        let tag = self
            .cipher()
            .encrypt_inout_detached(&XNonce::from(nonce), DOMAIN, (&mut *sealed).into())
            .map_err(|_| MintError::TooLarge)?;
        Ok(SealedToken::new(&nonce, sealed, &tag))
    }

    /// Derives a key for another purpose, which says nothing of this one.
    pub(crate) fn derive(&self, purpose: &[u8]) -> [u8; 32] {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, self.0.as_slice());
        let mut derived = [0; 32];
        derived.copy_from_slice(ring::hmac::sign(&key, purpose).as_ref());
        derived
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&Key::from(*self.0))
    }
}

impl PartialEq for TokenKey {
    // Compares all bytes in constant time: the duration must not reveal how many are equal.
    fn eq(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(other.0.iter());
        pairs.fold(0, |differing, (one, other)| differing | (one ^ other)) == 0
    }
}

impl FromStr for TokenKey {
    type Err = HexError;

    fn from_str(text: &str) -> Result<Self, HexError> {
        hex::exactly(text, "token key").map(Self::from_bytes)
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey(secret)")
    }
}

fn fill(bytes: &mut [u8]) -> Result<(), MintError> {
    getrandom::fill(bytes).map_err(|_| MintError::NoRandomNumbers)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../../../docs/WIRE.md");

    /// Computed independently, with HChaCha20 written in Python and Python's ChaCha20-Poly1305.
    const TOKEN: &str = "404142434445464748494a4b4c4d4e4f5051525354555657b4586713b4851f71\
        e79dedd5c3f10bfd95baadc41359539a6ae3b42e090423902a2b4b0555928410\
        f6d781617dbfa985b6587ee81de0d0aaf44c0a76813dc5ac506bbefa8874a1";

    fn counted<const N: usize>(first: u8) -> [u8; N] {
        core::array::from_fn(|index| first + index as u8)
    }

    #[test]
    fn tokens_match_the_bytes_in_wire_md() {
        let key = TokenKey::from_bytes(counted(0));
        let claims = Claims {
            client: 7,
            minted: 1_800_000_000,
            expires: 1_800_000_060,
            server: "eu-west-3".into(),
            user_data: b"red".into(),
        };
        let id = u128::from_le_bytes(counted(0x60));
        let token = key.seal(counted(0x40), Contents { id, claims: claims.clone() }).unwrap();
        assert_eq!(token.to_string(), TOKEN);
        assert_eq!(key.open(token.as_bytes()), Ok(claims));

        let (_, example) = DOCUMENT.split_once("Example token").unwrap();
        let mut parts = example.split("\n\n").filter(|part| part.starts_with("    "));
        let mut bytes = || {
            let lines = parts.next().unwrap().lines().map(|line| line[4..].split("  ").next());
            lines.map(Option::unwrap).collect::<String>().replace(' ', "")
        };
        let mut contents = [0; Contents::LONGEST];
        let contents =
            tightwire_core::stream::encode(&key.contents(token.as_bytes()).unwrap(), &mut contents);
        assert_eq!(Hex(contents.unwrap()).to_string(), bytes());
        assert_eq!(token.to_string(), bytes());
        assert_eq!(SealedToken::MAX_BYTES, 850);
    }
}
