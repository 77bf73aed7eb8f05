//! Connect tokens: of attackers, and of a backend that seals anything.

use std::time::Duration;

use allocation_counter::measure;
use chacha20poly1305::{AeadInOut, KeyInit, XChaCha20Poly1305};
use tightwire::quic::Fingerprint;
use tightwire::token::{Claims, SealedToken, TokenError, TokenGate, TokenGateConfig, TokenKey};

const KEYS: [[u8; 32]; 2] = [[1; 32], [2; 32]];
const SERVER: &str = "arena";
/// A time within the lifetime of some tokens of the corpus.
const NOW: Duration = Duration::from_secs(1_800_000_000);

/// Checks the whole input as a token, as the sealed claims of one, and as a text.
pub(crate) fn token(data: &[u8]) {
    check_stranger(data);
    check_sealed(data);
    if let Ok(text) = str::from_utf8(data) {
        check_text(text);
    }
}

fn gate() -> TokenGate {
    TokenGate::new(KEYS.map(TokenKey::from_bytes).into(), SERVER)
}

/// Checks that a token that is not genuine is refused without an allocation; some of the corpus are
/// genuine.
fn check_stranger(data: &[u8]) {
    let mut gate = gate();
    let mut result = Err(TokenError::Missing);
    let allocated = measure(|| result = gate.check(data, NOW));
    if result == Err(TokenError::NotGenuine) {
        assert_eq!(allocated.count_total, 0);
    }
    if result.is_ok() {
        assert!(KEYS.iter().any(|key| TokenKey::from_bytes(*key).open(data).is_ok()));
    }
}

/// Checks contents that a backend with the key may have sealed, valid or not.
fn check_sealed(data: &[u8]) {
    let nonce = [3; 24];
    let mut sealed = data.to_vec();
    let cipher = XChaCha20Poly1305::new(&KEYS[0].into());
    let domain = b"tightwire connect token 1";
    let tag = cipher.encrypt_inout_detached(&nonce.into(), domain, sealed.as_mut_slice().into());
    let Ok(tag) = tag else { panic!("everything can be sealed") };
    let token = [&nonce, sealed.as_slice(), &tag].concat();

    let expected = parse(data);
    let opened = TokenKey::from_bytes(KEYS[0]).open(&token);
    assert_eq!(opened.ok(), expected);
    let mut gate = gate();
    let mut result = Err(TokenError::Missing);
    let allocated = measure(|| result = gate.check(&token, NOW));
    assert!(allocated.bytes_max <= 2048, "{} bytes", allocated.bytes_max);
    let fault = expected.as_ref().map_or(Some(TokenError::NotGenuine), fault);
    assert_eq!(result.as_ref().err().copied(), fault);
    let Ok(admission) = result else { return };
    assert_eq!(Some(admission.claims()), expected.as_ref());
    assert_eq!(gate.redeem(&admission), Ok(()));
    assert_eq!(gate.redeem(&admission), Err(TokenError::Used));
    assert_eq!(gate.check(&token, NOW).err(), Some(TokenError::Used));
}

/// Returns the expected error of a gate that remembers nothing; `None` if the token is valid.
fn fault(claims: &Claims) -> Option<TokenError> {
    let (now, most) = (NOW.as_secs(), TokenGateConfig::default().max_lifetime.as_secs());
    // The backend's clock may be a minute ahead.
    if claims.expires > now + most + 60 {
        Some(TokenError::TooLong)
    } else if claims.expires <= now {
        Some(TokenError::Expired)
    } else if claims.server != SERVER {
        Some(TokenError::WrongServer)
    } else {
        None
    }
}

/// Parses the claims by hand, byte by byte as in docs/WIRE.md.
fn parse(data: &[u8]) -> Option<Claims> {
    let (_id, rest) = data.split_first_chunk::<16>()?;
    let (client, rest) = rest.split_first_chunk()?;
    let (minted, rest) = rest.split_first_chunk()?;
    let (expires, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first()?;
    let (server, rest) = rest.split_at_checked((*length).into())?;
    let (length, user_data) = rest.split_first_chunk()?;
    let length = usize::from(u16::from_le_bytes(*length));
    let server = str::from_utf8(server).ok().filter(|server| !server.contains('\0'))?;
    (length <= 512 && user_data.len() == length).then(|| Claims {
        client: u64::from_le_bytes(*client),
        minted: u64::from_le_bytes(*minted),
        expires: u64::from_le_bytes(*expires),
        server: server.into(),
        user_data: user_data.into(),
    })
}

/// Checks that a text is refused, or printed again in lower case.
fn check_text(text: &str) {
    let lower = text.to_lowercase();
    if let Ok(token) = text.parse::<SealedToken>() {
        assert_eq!(token.to_string(), lower);
    }
    if let Ok(key) = text.parse::<TokenKey>() {
        assert_eq!(key.secret_text(), lower);
    }
    if let Ok(fingerprint) = text.parse::<Fingerprint>() {
        assert_eq!(fingerprint.to_string(), lower.replace(':', ""));
    }
}
