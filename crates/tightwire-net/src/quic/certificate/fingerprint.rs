//! Fingerprints of certificates.

use core::fmt;
use core::str::FromStr;

use crate::hex::HexError;
use crate::hex::{self, Hex};

/// Fingerprint of a [`Certificate`](crate::quic::Certificate): SHA-256 of the server's own
/// certificate as DER, as browsers and `openssl x509 -fingerprint -sha256` show it.
///
/// It is public. A client that has it needs no authority to authenticate the server:
/// [`Trust::Pinned`](crate::quic::Trust::Pinned). It is written as 64 hexadecimal digits; colons
/// between them are read too.
///
/// ```
/// use tightwire::quic::Fingerprint;
///
/// let fingerprint: Fingerprint = ["AB"; 32].join(":").parse()?;
/// assert_eq!(fingerprint.to_string(), "ab".repeat(32));
/// # Ok::<(), tightwire::token::HexError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    pub(super) fn of(certificate: &[u8]) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = HexError;

    fn from_str(text: &str) -> Result<Self, HexError> {
        const WHAT: &str = "fingerprint";
        // 32 pairs, and 31 colons between them.
        let bytes = text.as_bytes();
        let has_colons = bytes.iter().skip(2).step_by(3).all(|&byte| byte == b':');
        if bytes.len() == 95 && has_colons && text.is_ascii() {
            let digits = text.chars().enumerate().filter(|(index, _)| index % 3 != 2);
            let digits: String = digits.map(|(_, digit)| digit).collect();
            hex::exactly(&digits, WHAT).map(Self).map_err(HexError::between_colons)
        } else {
            hex::exactly(text, WHAT).map(Self)
        }
    }
}
