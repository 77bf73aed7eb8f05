//! Errors of certificates.

use core::fmt;

/// Reason why a certificate, its key or a client's trust cannot be used, and the remedy.
///
/// ```
/// use tightwire::quic::Certificate;
///
/// let refused = Certificate::from_pem("hello", "").err();
/// let said = refused.map(|refused| refused.to_string()).unwrap_or_default();
/// assert!(said.starts_with("there is no certificate in the server's chain"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CertificateError {
    /// A certificate cannot have this name.
    Name(String),
    /// The text has no certificate; the value names the text.
    NoCertificate(&'static str),
    /// The text has no private key.
    NoKey,
    /// The text is damaged PEM; the value names the text.
    Damaged(&'static str),
    /// The text is PEM or DER of something else.
    Unreadable {
        /// Name of the text.
        what: &'static str,
        /// Error of the library that reads it.
        why: String,
    },
    /// The private key belongs to another certificate.
    OtherKey,
    /// A client's trust is empty.
    NobodyTrusted,
    /// The operating system or the cryptographic library refused.
    Failed(String),
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(
                f,
                "`{}` is no name for a server: use a DNS name, as game.example.com, or an IP address",
                name.escape_debug()
            ),
            Self::NoCertificate(what) => write!(
                f,
                "there is no certificate in {what}: it should have a part `BEGIN CERTIFICATE`"
            ),
            Self::NoKey => f.write_str(
                "there is no private key: the text should have a part `BEGIN PRIVATE KEY`, and no \
                 password",
            ),
            Self::Damaged(what) => {
                write!(f, "{what} is damaged: a part of the PEM has no end, or is not base64")
            }
            Self::Unreadable { what, why } => write!(f, "{what} cannot be read: {why}"),
            Self::OtherKey => f.write_str(
                "the private key is not the one of the certificate: the first certificate of the \
                 chain must be the server's own, and the key must have been made with it",
            ),
            Self::NobodyTrusted => f.write_str(
                "this client trusts no server: give it the fingerprint of the server's certificate",
            ),
            Self::Failed(why) => write!(f, "the cryptographic library refused: {why}"),
        }
    }
}

impl core::error::Error for CertificateError {}
