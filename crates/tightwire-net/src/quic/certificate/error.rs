//! What is wrong with a certificate, for people.

use core::fmt;

/// Why a certificate, its key or what a client trusts cannot be used, and what to do about it.
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
    /// There is no certificate in what this is.
    NoCertificate(&'static str),
    /// There is no private key.
    NoKey,
    /// This is no PEM any more.
    Damaged(&'static str),
    /// This is PEM or DER of something else.
    Unreadable {
        /// What it should be.
        what: &'static str,
        /// What the library that reads it says.
        why: String,
    },
    /// The private key belongs to another certificate.
    OtherKey,
    /// A client that trusts nobody.
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
