//! Errors of certificates.

use core::fmt;

use crate::transport::Cause;

/// Reason why a certificate, its key or a client's trust cannot be used, and the remedy.
///
/// ```
/// use tightwire::quic::Certificate;
///
/// let refused = Certificate::from_pem("hello", "").err();
/// let said = refused.map(|refused| refused.to_string()).unwrap_or_default();
/// assert!(said.starts_with("no certificate in the server's chain"));
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
        part: &'static str,
        /// Error of the library that reads it.
        reason: Cause,
    },
    /// The private key belongs to another certificate.
    OtherKey,
    /// A client's trust is empty.
    NobodyTrusted,
    /// The operating system or the cryptographic library refused.
    Failed(Cause),
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(
                f,
                "`{}` is not a server name: use a DNS name, such as game.example.com, or an IP \
                 address",
                name.escape_debug()
            ),
            Self::NoCertificate(what) => {
                write!(f, "no certificate in {what}: the PEM needs a section `BEGIN CERTIFICATE`")
            }
            Self::NoKey => f.write_str(
                "no private key: the PEM needs a section `BEGIN PRIVATE KEY`, without a password",
            ),
            Self::Damaged(what) => {
                write!(f, "{what} is damaged: a section of the PEM has no end, or is not base64")
            }
            Self::Unreadable { part, reason } => write!(f, "{part} cannot be read: {reason}"),
            Self::OtherKey => f.write_str(
                "the private key does not match the certificate: the first certificate of the \
                 chain must be the server's own",
            ),
            Self::NobodyTrusted => f.write_str(
                "the client trusts no server: add the fingerprint of the server's certificate",
            ),
            Self::Failed(why) => write!(f, "the cryptographic library refused: {why}"),
        }
    }
}

impl core::error::Error for CertificateError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Unreadable { reason, .. } | Self::Failed(reason) => reason.source(),
            _ => None,
        }
    }
}
